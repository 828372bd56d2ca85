//! The rules of a chat as a table.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use chatkeep_core::assistant::Rule;
use chatkeep_core::heavy::CALLERS;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::assistant::{
    FoundRules, KeywordWarning, KeywordWarningKind, RuleOrder, RuleQuery, SettingsAccess,
};
use chatkeep_view::channel_path;
use serde::Deserialize;

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink, dates};
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{count, query_of};
use super::super::frame::{Frame, rendered};
use super::super::visitor::{Asked, Visitor};
use super::Section;
use super::csv::table;

/// Choice of rules in the address of the page. Pages of single rules carry it back.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RulesQuery {
    q: String,
    sort: String,
    page: usize,
}

#[derive(Template)]
#[template(path = "console/rules.html", whitespace = "minimize")]
struct RulesPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    path: String,
    query: RulesQuery,
    orders: Vec<OrderChoice>,
    count: String,
    total: usize,
    rules: Vec<RuleRow>,
    previous: Option<String>,
    next: Option<String>,
}

/// Choice of an order.
struct OrderChoice {
    value: &'static str,
    label: String,
    chosen: bool,
}

/// A rule in the table.
struct RuleRow {
    id: String,
    href: String,
    keywords: Vec<String>,
    question: String,
    answer: String,
    hits: String,
    changed: (String, String),
    warnings: Vec<String>,
}

impl RulesQuery {
    fn order(&self) -> RuleOrder {
        match self.sort.as_str() {
            "hits" => RuleOrder::Hits,
            "changed" => RuleOrder::Changed,
            _ => RuleOrder::Oldest,
        }
    }

    /// Returns a path with the choice of rules on that page.
    fn on(&self, path: &str, page: usize) -> String {
        let page = if page > 0 { page.to_string() } else { String::new() };
        let pairs = [("q", self.q.trim()), ("sort", self.sort.as_str()), ("page", page.as_str())];
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let query = query_of(&pairs.collect::<Vec<_>>());
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }

    /// Returns a path with the choice of rules.
    pub(super) fn at(&self, path: &str) -> String {
        self.on(path, self.page)
    }

    /// Returns a path with a choice that begins with the rule that changed last.
    pub(super) fn newest(path: &str) -> String {
        Self { sort: "changed".to_owned(), ..Self::default() }.at(path)
    }
}

/// Returns the path of the rules of a channel.
pub(super) fn rules_path(channel: &ChannelId) -> String {
    format!("{}/assistant/rules", channel_path(channel))
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<RulesQuery>,
) -> Result<Response, PageError> {
    let access: SettingsAccess = visitor.channel(&console, &channel).await?;
    let heading = Heading::of_page(&console, &visitor, &access, Tab::Assistant).await?;
    let wanted = RuleQuery { text: query.q.clone(), order: query.order(), page: query.page };
    let found = console.services.assistant.find_rules(&access, wanted).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let (path, language) = (rules_path(access.channel()), visitor.language);
    rendered(&RulesPage {
        frame: visitor.frame(language.text("assistant-rules")),
        sections: Section::Rules.links(&heading, &visitor),
        channel: heading,
        orders: orders(&query, language),
        count: counted("rules-count", found.found, language),
        total: found.total,
        previous: query.page.checked_sub(1).map(|page| query.on(&path, page)),
        next: found.has_more.then(|| query.on(&path, query.page.saturating_add(1))),
        rules: rows(found, &path, &query, &dates),
        path,
        query,
    })
}

/// Serves the rules as a table for spreadsheets.
pub(super) async fn file(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let access: SettingsAccess = visitor.channel(&console, &channel).await?;
    let book = console.services.assistant.rules(&access).await?;
    let table = CALLERS.run(move || table(&book.rules)).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"rules.csv\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    Ok((headers, table).into_response())
}

fn orders(query: &RulesQuery, language: Language) -> Vec<OrderChoice> {
    let orders = [
        ("", "rules-sort-oldest", RuleOrder::Oldest),
        ("hits", "rules-sort-hits", RuleOrder::Hits),
        ("changed", "rules-sort-changed", RuleOrder::Changed),
    ];
    let choice = |(value, key, order)| OrderChoice {
        value,
        label: language.text(key),
        chosen: order == query.order(),
    };
    orders.map(choice).into()
}

fn rows(found: FoundRules, path: &str, query: &RulesQuery, dates: &Dates) -> Vec<RuleRow> {
    let warnings = found.warnings;
    let row = |rule: Rule| RuleRow {
        href: query.at(&format!("{path}/{}", rule.id)),
        warnings: warnings_about(&rule, &warnings, dates.language),
        hits: counted("rules-hits", rule.hit_count, dates.language),
        changed: (rule.changed_at.to_string(), changed(rule.changed_at, dates)),
        id: rule.id.into_string(),
        keywords: rule.keywords,
        question: rule.question,
        answer: rule.answer,
    };
    found.rules.into_iter().map(row).collect()
}

/// Returns the words about the time of a rule's last change.
fn changed(at: Timestamp, dates: &Dates) -> String {
    let date = dates.brief(at);
    dates.language.format("rules-changed", &[("date", Value::from(&date))])
}

/// Returns the sentences about keywords of a rule that will not do what its editor thinks.
pub(super) fn warnings_about(
    rule: &Rule,
    warnings: &[KeywordWarning],
    language: Language,
) -> Vec<String> {
    let own = warnings.iter().filter(|warning| warning.rule_ids.contains(&rule.id));
    let sentence = |warning: &KeywordWarning| {
        let key = match warning.kind {
            KeywordWarningKind::IsTrigger => "rules-warning-trigger",
            KeywordWarningKind::Short => "rules-warning-short",
            KeywordWarningKind::Shared if warning.rule_ids.first() == Some(&rule.id) => {
                "rules-warning-first"
            }
            KeywordWarningKind::Shared => "rules-warning-later",
        };
        language.format(key, &[("word", Value::from(&warning.keyword))])
    };
    own.map(sentence).collect()
}

/// Formats a number with the text of a key.
pub(super) fn counted(key: &str, number: impl TryInto<i64>, language: Language) -> String {
    language.format(key, &[("count", count(number))])
}
