//! Choice of the rule that a question belongs to.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::assistant::Rule;
use chatkeep_core::id::RuleId;
use chatkeep_services::access::{Admin, WriteAssistant};
use chatkeep_services::assistant::RuleQuery;
use chatkeep_view::segment;
use serde::Deserialize;

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::form::query_of;
use super::super::frame::{Frame, rendered};
use super::super::labels::shortened;
use super::super::origin::rule_name;
use super::super::visitor::{Asked, Visitor};
use super::Section;
use super::rules::rules_path;

/// Maximum length of a text in a list, in characters.
pub(super) const TEXT: usize = 240;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ChoiceQuery {
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

pub(crate) async fn choose(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<ChoiceQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let wanted = RuleQuery { text: query.q.clone(), ..RuleQuery::default() };
    let found = console.services.assistant.find_rules(&access, wanted).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Assistant).await?;
    let path = rules_path(access.channel());
    let row = |rule: &Rule| RuleRow {
        href: rule_link(&path, &rule.id, &query.keyword),
        title: rule_name(rule, visitor.language),
        answer: shortened(&rule.answer, TEXT),
    };
    let page = ChoicePage {
        frame: visitor.frame(visitor.language.text("unanswered-choose")),
        sections: Section::Unanswered.links(&channel, &visitor),
        channel,
        rules: found.rules.iter().map(row).collect(),
        more: found.has_more,
        query,
    };
    rendered(&page)
}

/// Returns the address of a rule's form with a further keyword; `rules` is the path of the rules.
pub(super) fn rule_link(rules: &str, rule: &RuleId, keyword: &str) -> String {
    let query = query_of(&[("keyword", keyword)]);
    format!("{rules}/{}?{query}", segment(rule.as_str()))
}
