//! Hints for a model that queries as it would elsewhere.

use chatkeep_core::time::Timestamp;
use chatkeep_index::search::Habit;
use chatkeep_search::ParsedQuery;
use chatkeep_services::search::SearchQuery;
use chatkeep_view::when::When;
use chrono_tz::Tz;

use super::error::echo;
use super::time::AnswerZone;

/// Maximum number of time zones in a hint.
const ZONES: usize = 3;

/// Hint for a search that asks for words in pictures.
const WORDLESS: &str = "Pictures, videos and sounds have no words: search for the words alone and look \
    around the hits with get_context, or for type:image alone with from and to.";

/// Hint for a search for anything.
const ANYTHING: &str = "* is an ordinary character, not a wildcard: from:NAME, type:image or after:2026-01-31 alone \
    finds and counts all of it; get_messages lists all messages.";

/// Returns what to write instead of words that are filters or operators of other search engines.
pub(super) fn of(query: &str) -> Vec<String> {
    if query.trim() == "*" {
        return vec![ANYTHING.to_owned()];
    }
    Habit::of(query).into_iter().map(hint).collect()
}

/// Returns why nothing holds all of a query, where that cannot be otherwise.
pub(super) fn of_nothing(query: &SearchQuery, zone: AnswerZone) -> Option<String> {
    let parsed = ParsedQuery::parse(&query.text, zone.0).ok()?;
    parsed.wants_words_of_media().then(|| WORDLESS.to_owned())
}

/// Returns what to do where days were read in the zone of none of the channels, and would be others in
/// one of theirs.
pub(super) fn of_zone(query: &SearchQuery, zone: AnswerZone, zones: &[Tz]) -> Option<String> {
    let AnswerZone(read) = zone;
    let times = |zone| times_in(query, zone);
    if zones.contains(&read) || zones.iter().all(|other| times(*other) == times(read)) {
        return None;
    }
    let names: Vec<_> = zones.iter().take(ZONES).map(|zone| zone.name()).collect();
    let more = if zones.len() > ZONES { " …" } else { "" };
    let names = names.join(", ");
    let read = zone.name();
    Some(format!(
        "Days were read in {read}, which is the zone of no channel ({names}{more}): give timeZone."
    ))
}

/// Returns all limits of a search in time, as they are read in a zone.
fn times_in(query: &SearchQuery, zone: Tz) -> [Option<Timestamp>; 4] {
    let at = |when: Option<When>| when.and_then(|when| when.within(zone));
    let parsed = ParsedQuery::parse(&query.text, zone);
    let (after, before) = parsed.map_or((None, None), |parsed| parsed.times());
    [at(query.from), at(query.to), after, before]
}

fn hint(habit: Habit<'_>) -> String {
    let word = echo(habit.word());
    let instead = match habit {
        Habit::Channel(_) => "is not a filter: give channelId",
        Habit::Sender(_) => "is not a filter: write from:name, or give senderId",
        Habit::Since(_) => "is not a filter: write after:2026-01-31, or give from",
        Habit::Until(_) => "is not a filter: write before:2026-01-31, or give to",
        Habit::Day(_) => "is not a filter: give from and to, or write after: and before:",
        Habit::Mention(_) => "is not a filter: get_overview lists mentions of the last 31 days",
        Habit::State(_) => "is not a filter: get_overview lists open questions, edits and mentions",
        Habit::Order(_) => "is not a filter: give sort",
        Habit::Operator("OR") => "is not an operator: search for each of the words alone",
        Habit::Operator("AND") => "is not an operator: all words are needed anyway",
        Habit::Operator(_) => "is not an operator: -word excludes a word",
        Habit::Star(_) => "needs no *: a word is also found as the beginning of a longer one",
    };
    format!("{word} {instead}. It was searched for as a word.")
}

/// Formats hints for a text; nothing without any.
pub(super) fn sentences(hints: &[String]) -> String {
    hints.iter().flat_map(|hint| [" ", hint.as_str()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_habit_has_its_remedy() {
        for (query, remedy) in [
            ("in:Dragons", "give channelId"),
            ("sender:Ann", "write from:name"),
            ("since:monday", "write after:"),
            ("until:monday", "write before:"),
            ("on:monday", "give from and to"),
            ("mentions:me", "get_overview lists"),
            ("@me", "get_overview lists"),
            ("is:unread", "get_overview lists"),
            ("sort:new", "give sort"),
            ("a OR b", "search for each"),
            ("a AND b", "needed anyway"),
            ("a NOT b", "-word excludes"),
            ("ma*", "needs no *"),
            (" * ", "not a wildcard"),
        ] {
            let hints = of(query);
            assert!(hints.len() == 1 && hints[0].contains(remedy), "{query}: {hints:?}");
        }
        assert_eq!(sentences(&of("lunch from:Ann")), "");
    }
}
