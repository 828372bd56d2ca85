//! Hints for a model that queries as it would elsewhere.

use chatkeep_index::search::Habit;

use super::error::echo;

/// Returns what to write instead of words that are filters or operators of other search engines.
pub(super) fn of(query: &str) -> Vec<String> {
    Habit::of(query).into_iter().map(hint).collect()
}

fn hint(habit: Habit<'_>) -> String {
    let word = echo(habit.word());
    let instead = match habit {
        Habit::Channel(_) => "is no filter: give channelId",
        Habit::Sender(_) => "is no filter: write from:name, or give senderId",
        Habit::Since(_) => "is no filter: write after:2026-01-31, or give from",
        Habit::Until(_) => "is no filter: write before:2026-01-31, or give to",
        Habit::Day(_) => "is no filter: give from and to, or write after: and before:",
        Habit::Operator("OR") => "is no operator: search for each of the words alone",
        Habit::Operator("AND") => "is no operator: all words are needed anyway",
        Habit::Operator(_) => "is no operator: -word excludes a word",
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
            ("a OR b", "search for each"),
            ("a AND b", "needed anyway"),
            ("a NOT b", "-word excludes"),
            ("ma*", "needs no *"),
        ] {
            let hints = of(query);
            assert!(hints.len() == 1 && hints[0].contains(remedy), "{query}: {hints:?}");
        }
        assert_eq!(sentences(&of("lunch from:Ann")), "");
    }
}
