//! Pages of the assistant of a chat, for its admins.
//!
//! A page's template extends `console/assistant.html`, which shows `sections`: the links to all of
//! these pages.

mod choice;
mod columns;
mod csv;
mod idle;
mod import;
mod overview;
mod rule;
mod rule_form;
mod rules;
mod seen;
mod switch;
#[cfg(test)]
mod tests;
mod texts;
mod try_it;
mod unanswered;
pub(super) mod words;
mod wrong_reply;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;

use super::Console;
use super::channel::{Heading, TabLink};
use super::visitor::Visitor;

/// Page of the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Switches and the mode.
    Overview,
    /// Rules: questions and answers.
    Rules,
    /// Simulated replies to a text.
    Try,
    /// Replies that a change would have given in the past.
    Switch,
    /// Questions that no rule answered.
    Unanswered,
    /// Welcome, group rules, and the reply when nothing matches.
    Texts,
}

/// Returns the routes of the pages.
pub(super) fn router() -> Router<Console> {
    Router::new()
        .route("/c/{channel}/assistant", get(overview::page).post(overview::save))
        .route("/c/{channel}/assistant/switch", get(switch::page).post(switch::switch))
        .route("/c/{channel}/assistant/unanswered", get(unanswered::page))
        .route("/c/{channel}/assistant/unanswered/rule", get(choice::choose))
        .route("/c/{channel}/assistant/texts", get(texts::page).post(texts::save))
        .route("/c/{channel}/assistant/rules", get(rules::page))
        .route("/c/{channel}/assistant/rules.csv", get(rules::file))
        .route("/c/{channel}/assistant/rules/new", get(rule::add_page).post(rule::add))
        .route(
            "/c/{channel}/assistant/rules/import",
            get(import::page).post(import::take).layer(DefaultBodyLimit::max(import::MAX_BYTES)),
        )
        .route("/c/{channel}/assistant/rules/{rule}", get(rule::edit_page).post(rule::edit))
        .route("/c/{channel}/assistant/try", get(try_it::page).post(try_it::tried))
}

impl Section {
    const ALL: [Self; 6] =
        [Self::Overview, Self::Rules, Self::Try, Self::Switch, Self::Unanswered, Self::Texts];

    /// Returns the key of its name and its path below the channel's.
    const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Overview => ("assistant-overview", "/assistant"),
            Self::Rules => ("assistant-rules", "/assistant/rules"),
            Self::Try => ("assistant-try", "/assistant/try"),
            Self::Switch => ("assistant-switch", "/assistant/switch"),
            Self::Unanswered => ("assistant-unanswered", "/assistant/unanswered"),
            Self::Texts => ("assistant-texts", "/assistant/texts"),
        }
    }

    /// Returns the links to all pages from this one.
    fn links(self, channel: &Heading, visitor: &Visitor) -> Vec<TabLink> {
        let link = |section: Self| {
            let (key, path) = section.parts();
            let href = format!("{}{path}", channel.path);
            TabLink { href, label: visitor.language.text(key), current: section == self }
        };
        Self::ALL.into_iter().map(link).collect()
    }
}
