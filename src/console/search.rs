//! Search in a channel, with filters as chips.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::UserId;
use chatkeep_core::message::MessageType;
use chatkeep_i18n::{Language, Value};
use chatkeep_search::{SearchResult, Sort};
use chatkeep_services::ServiceError;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::search::{SearchPage, SearchQuery};
use chatkeep_view::when::When;
use chrono::NaiveDate;
use serde::Deserialize;
use url::form_urlencoded;

use super::Console;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::form::count;
use super::frame::{Frame, rendered};
use super::labels::{context_path, hue, initial, kind_key, name_of, picture_of, summary};
use super::text::{Piece, matched};
use super::visitor::{Asked, Visitor};

/// Results of a page.
const LIMIT: u32 = 25;
/// Maximum length of a snippet in characters.
const SNIPPET: usize = 160;

/// Form of the search. Empty fields of a form count as absent.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SearchForm {
    #[serde(default)]
    q: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    sender: String,
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    cursor: String,
}

#[derive(Template)]
#[template(path = "console/search.html", whitespace = "minimize")]
struct ResultPage {
    frame: Frame,
    channel: Heading,
    form: SearchForm,
    kinds: Vec<Choice>,
    people: Vec<Choice>,
    chips: Vec<Chip>,
    newest_first: bool,
    /// Sentence about the results; `None` before the first search.
    count: Option<String>,
    /// Sentence about an invalid search.
    wrong: Option<String>,
    unknown: Vec<String>,
    hits: Vec<HitRow>,
    next: Option<String>,
}

/// Choice in a list.
struct Choice {
    value: String,
    label: String,
    chosen: bool,
}

/// Filter in effect, with the address of the search without it.
struct Chip {
    label: String,
    remove: String,
    href: String,
}

/// Result of a search.
struct HitRow {
    href: String,
    name: String,
    initial: String,
    /// True for a message of the bot.
    bot: bool,
    hue: u8,
    picture: Option<String>,
    when: String,
    datetime: String,
    pieces: Vec<Piece>,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(form): Asked<SearchForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let language = visitor.language;
    let names = names(&console, &access, &form.sender, language).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Search).await?;
    let (found, wrong) = match form.query() {
        None if form.q.trim().is_empty() => (None, None),
        None => (None, Some("search-bad")),
        Some(query) => match console.services.search.in_channel(&access, &query).await {
            Ok(page) => (Some(page), None),
            Err(ServiceError::Invalid { .. }) => (None, Some("search-bad")),
            Err(ServiceError::Unavailable) => (None, Some("search-away")),
            Err(error) => return Err(error.into()),
        },
    };
    let chosen = |kind: &MessageType| kind.name() == form.kind;
    let kinds = MessageType::ALL.into_iter().filter(|kind| *kind != MessageType::Other);
    let page = ResultPage {
        frame: visitor.frame(language.text("search-label")),
        kinds: kinds
            .map(|kind| Choice {
                value: kind.name().to_owned(),
                label: language.text(kind_key(kind)),
                chosen: chosen(&kind),
            })
            .collect(),
        chips: form.chips(&channel.path, &names, dates),
        people: names,
        newest_first: form.sort == "newest",
        count: found.as_ref().map(|page| count_text(page, language)),
        wrong: wrong.map(|key| language.text(key)),
        unknown: found.as_ref().map(|page| unknown(page, language)).unwrap_or_default(),
        next: found.as_ref().and_then(|page| {
            let next = SearchForm { cursor: page.next.clone()?, ..form.clone() };
            Some(next.address(&channel.path))
        }),
        hits: found.map(|page| hits(page.hits, dates)).unwrap_or_default(),
        channel,
        form,
    };
    rendered(&page)
}

fn count_text(page: &SearchPage, language: Language) -> String {
    let text = if page.is_total_exact { "search-results" } else { "search-results-at-least" };
    language.format(text, &[("count", count(page.total))])
}

fn unknown(page: &SearchPage, language: Language) -> Vec<String> {
    let text = |name| language.format("search-unknown", &[("name", Value::from(name))]);
    page.unknown_names.iter().map(text).collect()
}

/// Returns the people whose messages can be searched for, by name; `chosen` is one's id.
async fn names(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    chosen: &str,
    language: Language,
) -> Result<Vec<Choice>, PageError> {
    let channels = std::slice::from_ref(access.without_reading());
    let people = console.services.members.names(&access.caller, channels).await?;
    let choice = |(user, name): (UserId, Option<String>)| Choice {
        chosen: user.as_str() == chosen,
        value: user.into_string(),
        label: name.unwrap_or_else(|| language.text("name-unknown")),
    };
    let mut people: Vec<_> = people.into_iter().map(choice).collect();
    people.sort_by(|one, other| one.label.cmp(&other.label));
    Ok(people)
}

fn hits(found: Vec<SearchResult>, dates: Dates) -> Vec<HitRow> {
    let row = |hit: SearchResult| {
        let message = &hit.message;
        let name = name_of(message, dates.language);
        let colour = message.sender.as_ref().map_or("bot", |sender| sender.id.as_str());
        let marks: Vec<_> =
            hit.snippet.highlights.iter().map(|mark| (mark.start, mark.end)).collect();
        let mut pieces = matched(&hit.snippet.text, &marks);
        if pieces.is_empty() {
            pieces.push(Piece::Plain(summary(message, dates.language)));
        }
        HitRow {
            href: context_path(&message.channel, &message.id),
            initial: initial(&name),
            bot: message.is_bot,
            hue: hue(colour),
            picture: picture_of(message),
            name,
            when: dates.moment(message.sent_at),
            datetime: message.sent_at.to_string(),
            pieces,
        }
    };
    found.into_iter().map(row).collect()
}

/// Returns the day that a field of the form names; `None` for an empty one.
fn day(text: &str) -> Option<NaiveDate> {
    text.parse().ok()
}

impl SearchForm {
    /// Returns the search of the form; `None` without words and for invalid dates.
    fn query(&self) -> Option<SearchQuery> {
        if self.q.trim().is_empty() {
            return None;
        }
        let time = |text: &str| match text {
            "" => Some(None),
            text => Some(Some(When::parse(&day(text)?.to_string())?)),
        };
        Some(SearchQuery {
            text: self.q.clone(),
            zone: None,
            from: time(&self.from)?,
            to: time(&self.to)?,
            sender: (!self.sender.is_empty()).then(|| UserId::from(self.sender.as_str())),
            kind: MessageType::parse(&self.kind),
            sort: if self.sort == "newest" { Sort::Newest } else { Sort::Relevance },
            limit: LIMIT,
            cursor: (!self.cursor.is_empty()).then(|| self.cursor.clone()),
            snippet: SNIPPET,
        })
    }

    /// Returns the address of the search.
    fn address(&self, channel: &str) -> String {
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
    fn chips(&self, channel: &str, people: &[Choice], dates: Dates) -> Vec<Chip> {
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
