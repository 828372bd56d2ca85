//! Form of the search: the query that it makes, its address, and its filters as chips.

use chatkeep_core::id::UserId;
use chatkeep_core::message::MessageType;
use chatkeep_i18n::{Language, Value};
use chatkeep_search::Sort;
use chatkeep_services::search::SearchQuery;
use chatkeep_view::when::When;
use chrono::NaiveDate;
use serde::Deserialize;
use url::form_urlencoded;

use super::dates::{Dates, day_of};
use super::labels::kind_key;
use super::search::FilterChoice;

/// Results of a page.
const LIMIT: u32 = 25;
/// Maximum length of a snippet in characters.
const SNIPPET: usize = 160;

/// Form of the search. Empty fields of a form count as absent.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SearchForm {
    #[serde(default)]
    pub(super) q: String,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) sender: String,
    #[serde(default)]
    pub(super) from: String,
    #[serde(default)]
    pub(super) to: String,
    #[serde(default)]
    pub(super) sort: String,
    #[serde(default)]
    pub(super) cursor: String,
}

/// Filter in effect, with the address of the search without it.
pub(super) struct Chip {
    pub(super) label: String,
    pub(super) remove: String,
    pub(super) href: String,
}

/// Returns the day that a field of the form names; `None` for an empty one.
fn day(text: &str) -> Option<NaiveDate> {
    day_of(text).ok().flatten()
}

impl SearchForm {
    /// Returns whether neither words nor filters are given.
    pub(super) fn is_empty(&self) -> bool {
        let Self { q, kind, sender, from, to, .. } = self;
        [q, kind, sender, from, to].into_iter().all(|field| field.trim().is_empty())
    }

    /// Returns the query: the words, or one of the filters in the language of queries.
    fn text(&self) -> Option<String> {
        let Self { q, kind, sender, from, to, .. } = self;
        if !q.trim().is_empty() {
            return Some(q.clone());
        }
        let filters = [("type", kind), ("from", sender), ("after", from), ("before", to)];
        let filters = filters.map(|(name, value)| (name, value.trim()));
        let filter = filters.into_iter().find(|(_, value)| !value.is_empty());
        filter.map(|(name, value)| format!("{name}:\"{value}\""))
    }

    /// Returns the search of the form; `None` without words and filters, and for invalid dates.
    pub(super) fn query(&self, language: Language) -> Option<SearchQuery> {
        let time = |text: &str| day_of(text).ok().map(|day| day.map(When::of_day));
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Some(SearchQuery {
            text: self.text()?,
            zone: None,
            from: time(&self.from)?,
            to: time(&self.to)?,
            sender: given(&self.sender).map(UserId::from),
            bot_name: Some(language.text("bot-name")),
            kind: MessageType::parse(&self.kind),
            sort: if self.sort == "newest" { Sort::Newest } else { Sort::Relevance },
            limit: LIMIT,
            cursor: given(&self.cursor),
            snippet: SNIPPET,
        })
    }

    /// Returns the address of the search.
    pub(super) fn address(&self, channel: &str) -> String {
        let Self { q, kind, sender, from, to, sort, cursor } = self;
        let fields = [
            ("q", q),
            ("type", kind),
            ("sender", sender),
            ("from", from),
            ("to", to),
            ("sort", sort),
            ("cursor", cursor),
        ];
        let filled = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(filled).finish();
        format!("{channel}/search?{query}")
    }

    /// Returns the filters in effect.
    pub(super) fn chips(&self, channel: &str, people: &[FilterChoice], dates: Dates) -> Vec<Chip> {
        let language = dates.language;
        let first = Self { cursor: String::new(), ..self.clone() };
        let chip = |label: String, without: Self| Chip {
            remove: language.format("search-remove", &[("name", Value::from(&label))]),
            href: without.address(channel),
            label,
        };
        let of_day =
            |key, day: NaiveDate| language.format(key, &[("date", Value::from(&dates.date(day)))]);
        let kind = MessageType::parse(&self.kind).map(|kind| {
            chip(language.text(kind_key(kind)), Self { kind: String::new(), ..first.clone() })
        });
        let sender = people.iter().find(|person| person.value == self.sender).map(|person| {
            chip(person.label.clone(), Self { sender: String::new(), ..first.clone() })
        });
        let from = day(&self.from).map(|day| {
            chip(of_day("search-after-date", day), Self { from: String::new(), ..first.clone() })
        });
        let to = day(&self.to).map(|day| {
            chip(of_day("search-before-date", day), Self { to: String::new(), ..first.clone() })
        });
        [kind, sender, from, to].into_iter().flatten().collect()
    }
}
