//! Search in a channel, with filters as chips.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::UserId;
use chatkeep_core::message::MessageType;
use chatkeep_i18n::{Language, Value};
use chatkeep_index::search::{MAX_QUERY, Query, QueryError};
use chatkeep_search::{SearchResult, UnknownName};
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::search::SearchPage;
use chatkeep_services::{Defect, FieldPath, ServiceError};

use super::Console;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::form::count;
use super::frame::{Frame, rendered};
use super::labels::{
    PEOPLE, context_path, hue, initial, kind_key, name_of, person_name, picture_of, summary,
    visible,
};
use super::search_form::{Chip, SearchForm};
use super::text::{Piece, matched};
use super::visitor::{Asked, Visitor};

#[derive(Template)]
#[template(path = "console/search.html", whitespace = "minimize")]
struct ResultPage {
    frame: Frame,
    channel: Heading,
    form: SearchForm,
    kinds: Vec<FilterChoice>,
    people: Vec<FilterChoice>,
    chips: Vec<Chip>,
    newest_first: bool,
    /// Sentence about the results; `None` before the first search.
    count: Option<String>,
    /// Sentence about an invalid search.
    wrong: Option<String>,
    unknown: Vec<String>,
    parts: Vec<ResultPart>,
    next: Option<String>,
}

/// Results of one kind.
struct ResultPart {
    /// Heading of those that do not hold all of the query.
    heading: Option<String>,
    hits: Vec<HitRow>,
}

/// Choice in the list of a filter.
pub(super) struct FilterChoice {
    pub(super) value: String,
    pub(super) label: String,
    chosen: bool,
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
    let (found, wrong) = match form.query(language) {
        None if form.is_empty() => (None, None),
        None => (None, Some(language.text("search-bad-date"))),
        Some(query) => match console.services.search.in_channel(&access, &query).await {
            Ok(page) => (Some(page), None),
            Err(ServiceError::Invalid { defect: Defect::NoTime, .. }) => {
                (None, Some(language.text("search-bad-order")))
            }
            Err(ServiceError::Invalid { field, .. }) => {
                (None, Some(refusal(&query.text, field.as_ref(), language)))
            }
            Err(ServiceError::Unavailable) => (None, Some(language.text("search-away"))),
            Err(error) => return Err(error.into()),
        },
    };
    let chosen = |kind: &MessageType| kind.name() == form.kind;
    let kinds = MessageType::ALL.into_iter().filter(|kind| *kind != MessageType::Other);
    let count = found.as_ref().map(|page| count_text(page, language));
    let unknown = found.as_ref().map(|page| unknown(page, language)).unwrap_or_default();
    let next = found.as_ref().and_then(|page| {
        let next = SearchForm { cursor: page.next.clone()?, ..form.clone() };
        Some(next.address(&channel.path))
    });
    let parts = found.map(|page| parts(page.hits, dates)).unwrap_or_default();
    let page = ResultPage {
        frame: visitor.frame(language.text("search-label")),
        kinds: kinds
            .map(|kind| FilterChoice {
                value: kind.name().to_owned(),
                label: language.text(kind_key(kind)),
                chosen: chosen(&kind),
            })
            .collect(),
        chips: form.chips(&channel.path, &names, dates),
        people: names,
        newest_first: form.sort == "newest",
        count,
        wrong,
        unknown,
        next,
        parts,
        channel,
        form,
    };
    rendered(&page)
}

/// Returns the number of messages that hold all of the query, in words.
fn count_text(page: &SearchPage, language: Language) -> String {
    let matches = page.total.saturating_sub(page.related);
    let text = match (matches, page.related) {
        (0, 1..) => return language.text("search-none-complete"),
        _ if page.is_total_exact => "search-results",
        _ => "search-results-at-least",
    };
    language.format(text, &[("count", count(matches))])
}

fn unknown(page: &SearchPage, language: Language) -> Vec<String> {
    let text = |UnknownName { name, near }: &UnknownName| {
        let name = ("name", Value::from(name));
        if near.is_empty() {
            return language.format("search-unknown", &[name]);
        }
        let near = near.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>();
        let near = near.join(&language.text("search-or"));
        language.format("search-unknown-near", &[name, ("names", Value::from(&near))])
    };
    page.unknown_names.iter().map(text).collect()
}

/// Returns the sentence about a search that was refused.
fn refusal(text: &str, field: Option<&FieldPath>, language: Language) -> String {
    if field.map(FieldPath::text).as_deref() == Some("cursor") {
        return language.text("search-bad-page");
    }
    let field = |key, field: &str| language.format(key, &[("field", Value::from(field))]);
    let length = || language.format("search-bad-length", &[("count", count(MAX_QUERY))]);
    match Query::parse(text) {
        Err(QueryError::TooLong) => length(),
        Err(QueryError::Empty) => language.text("search-bad-empty"),
        Err(QueryError::OpenQuote) => language.text("search-bad-quote"),
        Err(QueryError::NoValue(name)) => field("search-bad-nothing", name),
        Err(QueryError::NotExcludable(name)) => field("search-bad-exclusion", name),
        Err(QueryError::BadValue { field: "type", .. }) => language.text("search-bad-type"),
        Err(QueryError::BadValue { field: "has", .. }) => language.text("search-bad-has"),
        // A date that no calendar of the channel's zone has.
        Err(QueryError::BadValue { .. }) | Ok(_) => language.text("search-bad-date"),
    }
}

/// Returns the people whose messages can be searched for, by name, and the bots; `chosen` is the id
/// of one of them.
async fn names(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    chosen: &str,
    language: Language,
) -> Result<Vec<FilterChoice>, PageError> {
    let channels = std::slice::from_ref(access.without_reading());
    let members = &console.services.members;
    let senders = members.senders(&access.caller, channels).await?;
    let people = members.latest(&channels[0], senders.people, chosen, PEOPLE).await?;
    let choice = |(user, label): (UserId, String)| FilterChoice {
        chosen: user.as_str() == chosen,
        value: user.into_string(),
        label,
    };
    let person = |(user, name): (UserId, Option<String>)| (user, person_name(name, language));
    // A bot is called so in the results.
    let bot = |(user, name): (UserId, Option<String>)| {
        let bot = language.text("bot-name");
        let named = |name: String| {
            let values = [("bot", Value::from(&bot)), ("name", Value::from(&name))];
            language.format("search-bot", &values)
        };
        (user, visible(name).map_or_else(|| bot.clone(), named))
    };
    let mut people: Vec<_> = people.into_iter().map(person).map(choice).collect();
    people.sort_by(|one, other| one.label.cmp(&other.label));
    people.extend(senders.bots.into_iter().map(bot).map(choice));
    Ok(people)
}

/// Returns the results by their kinds, those that hold all of the query first.
fn parts(found: Vec<SearchResult>, dates: Dates) -> Vec<ResultPart> {
    let (related, matches): (Vec<_>, Vec<_>) = found.into_iter().partition(|hit| hit.related);
    let heading = dates.language.text("search-related");
    [(None, matches), (Some(heading), related)]
        .into_iter()
        .filter(|(_, hits)| !hits.is_empty())
        .map(|(heading, hits)| ResultPart { heading, hits: rows(hits, dates) })
        .collect()
}

fn rows(found: Vec<SearchResult>, dates: Dates) -> Vec<HitRow> {
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
