//! Words of a query that other search engines would take for filters or operators. Here they are
//! words, so whoever typed them is told what to write.

use super::query::{field, value_of};

/// Maximum number of words that are told.
const TOLD: usize = 3;

/// Word of a query that means something elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit<'a> {
    /// A filter by channel: `in:`, `channel:`, `group:`.
    Channel(&'a str),
    /// A filter by person: `sender:`, `by:`, `author:`.
    Sender(&'a str),
    /// A begin: `since:`.
    Since(&'a str),
    /// An end: `until:`.
    Until(&'a str),
    /// A day: `on:`, `date:`.
    Day(&'a str),
    /// A filter by the person who is mentioned or meant: `mentions:`, `to:`, `@me`.
    Mention(&'a str),
    /// A state of messages: `is:`.
    State(&'a str),
    /// An order: `sort:`, `order:`.
    Order(&'a str),
    /// An operator: `OR`, `AND`, `NOT`.
    Operator(&'a str),
    /// A word with `*` at its end.
    Star(&'a str),
}

impl<'a> Habit<'a> {
    /// Returns the habits in the unquoted words of a query, the first ones.
    pub fn of(query: &'a str) -> Vec<Self> {
        let (mut habits, mut rest) = (Vec::new(), query.trim_start());
        while !rest.is_empty() && habits.len() < TOLD {
            let body = rest.strip_prefix(['-', '－']).unwrap_or(rest);
            let is_filter = field(body).is_some();
            let value = field(body).map_or(body, |(_, value)| value);
            let Ok((word, is_quoted, after)) = value_of(value) else { break };
            if !is_filter && !is_quoted {
                habits.extend(Self::in_word(word));
            }
            rest = after.trim_start();
        }
        habits
    }

    fn in_word(word: &'a str) -> Option<Self> {
        if matches!(word, "OR" | "AND" | "NOT") {
            return Some(Self::Operator(word));
        }
        if word.len() > 1 && word.ends_with('*') {
            return Some(Self::Star(word));
        }
        if word.eq_ignore_ascii_case("@me") {
            return Some(Self::Mention(word));
        }
        let (name, value) = word.split_once(':')?;
        if value.is_empty() {
            return None;
        }
        match name.to_ascii_lowercase().as_str() {
            "in" | "channel" | "group" => Some(Self::Channel(word)),
            "sender" | "by" | "author" => Some(Self::Sender(word)),
            "since" => Some(Self::Since(word)),
            "until" => Some(Self::Until(word)),
            "on" | "date" => Some(Self::Day(word)),
            "mentions" | "mention" | "to" => Some(Self::Mention(word)),
            "is" => Some(Self::State(word)),
            "sort" | "order" => Some(Self::Order(word)),
            _ => None,
        }
    }

    /// Returns the word as it was typed.
    pub const fn word(self) -> &'a str {
        match self {
            Self::Channel(word)
            | Self::Sender(word)
            | Self::Since(word)
            | Self::Until(word)
            | Self::Day(word)
            | Self::Mention(word)
            | Self::State(word)
            | Self::Order(word)
            | Self::Operator(word)
            | Self::Star(word) => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_operators_of_others_are_seen() {
        for (query, expected) in [
            ("in:Dragons pub", Some(Habit::Channel("in:Dragons"))),
            ("pub -Channel:x", Some(Habit::Channel("Channel:x"))),
            ("sender:Dave", Some(Habit::Sender("sender:Dave"))),
            ("a since:2026-11-29", Some(Habit::Since("since:2026-11-29"))),
            ("until:yesterday a", Some(Habit::Until("until:yesterday"))),
            ("on:2026-11-29", Some(Habit::Day("on:2026-11-29"))),
            ("mentions:me", Some(Habit::Mention("mentions:me"))),
            ("pub to:Ann", Some(Habit::Mention("to:Ann"))),
            ("@Me lunch", Some(Habit::Mention("@Me"))),
            ("is:unread", Some(Habit::State("is:unread"))),
            ("pub sort:newest", Some(Habit::Order("sort:newest"))),
            ("quiz OR training", Some(Habit::Operator("OR"))),
            ("match*", Some(Habit::Star("match*"))),
            // These mean what they say.
            ("\"in:Dragons OR match*\" after:2026-01-01", None),
            ("from:Ann type:image -without", None),
            ("at 10:30 https://on.example/?a=b this and or not", None),
            ("* in: to: @ @Ann - \"", None),
            ("「in:a」", None),
        ] {
            assert_eq!(Habit::of(query).first().copied(), expected, "{query}");
        }
        assert_eq!(Habit::of(&"x* ".repeat(50)).len(), TOLD);
        let words: Vec<_> = Habit::of("a AND b NOT c").into_iter().map(Habit::word).collect();
        assert_eq!(words, ["AND", "NOT"]);
    }
}
