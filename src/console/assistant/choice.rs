//! Choice of the rule that a question belongs to.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::assistant::Rule;
use chatkeep_core::id::RuleId;
use serde::Deserialize;
use url::form_urlencoded;

use super::super::Console;
use super::super::bubble::shortened;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::frame::{Frame, rendered};
use super::super::visitor::{Asked, Visitor};
use super::Section;
use crate::services::access::{Admin, WriteAssistant};
use crate::view::segment;

/// Rules of the page that chooses one.
const RULES: usize = 100;
/// Maximum length of a text in a list, in characters.
pub(super) const TEXT: usize = 240;

#[derive(Debug, Default, Deserialize)]
pub(in crate::console) struct ChoiceQuery {
    /// Keyword that is added to the chosen rule.
    #[serde(default)]
    keyword: String,
    /// Words that the rule contains.
    #[serde(default)]
    q: String,
}

#[derive(Template)]
#[template(path = "console/assistant_choice.html", whitespace = "minimize")]
struct ChoicePage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    query: ChoiceQuery,
    rules: Vec<RuleRow>,
    /// True if there are further rules than those shown.
    more: bool,
}

/// Rule to choose.
struct RuleRow {
    href: String,
    title: String,
    answer: String,
}

pub(in crate::console) async fn choose(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<ChoiceQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let rules = console.services.assistant.rules(&access).await?.rules;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Assistant).await?;
    let words = query.q.to_lowercase();
    let found = rules.iter().filter(|rule| words.is_empty() || contains(rule, &words));
    let mut found: Vec<_> = found.take(RULES + 1).collect();
    let more = found.len() > RULES;
    found.truncate(RULES);
    let at = format!("{}/assistant", channel.path);
    let row = |rule: &Rule| RuleRow {
        href: rule_link(&at, &rule.id, &query.keyword),
        title: title(rule),
        answer: shortened(&rule.answer, TEXT),
    };
    let page = ChoicePage {
        frame: visitor.frame(visitor.language.text("unanswered-choose")),
        sections: Section::Unanswered.links(&channel, &visitor),
        channel,
        rules: found.into_iter().map(row).collect(),
        more,
        query,
    };
    rendered(&page)
}

fn contains(rule: &Rule, words: &str) -> bool {
    let texts = [&rule.question, &rule.answer].into_iter().chain(&rule.keywords);
    texts.into_iter().any(|text| text.to_lowercase().contains(words))
}

/// Returns the question of a rule, or its first keywords.
pub(super) fn title(rule: &Rule) -> String {
    if rule.question.trim().is_empty() {
        shortened(&rule.keywords.join(" · "), TEXT)
    } else {
        shortened(&rule.question, TEXT)
    }
}

/// Returns the address of a rule's page with a further keyword.
pub(super) fn rule_link(at: &str, rule: &RuleId, keyword: &str) -> String {
    let query = pairs(&[("keyword", keyword)]);
    format!("{at}/rules/{}?{query}", segment(rule.as_str()))
}

/// Encodes a query.
pub(super) fn pairs(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}
