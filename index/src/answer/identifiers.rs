//! Identifiers: the numbers and single letters that tell one thing from another of its kind, such
//! as `3年級` and `4年級`, `A棟` and `B棟`, `plan b`. Another one is no typo.

use crate::script::{Class, is_kana};

/// Words of one letter that are no identifiers in a text of words with spaces: also those that
/// stand for longer ones in chats.
const WORDS: [&str; 7] = ["a", "i", "k", "n", "r", "u", "w"];

/// Maximum number of phrases of a rule that are compared with each other.
const COMPARED: usize = 50;

/// The identifiers of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identifiers(Box<[Box<str>]>);

impl Identifiers {
    /// Finds those of a folded text.
    pub(crate) fn of(folded: &str) -> Self {
        let mut found: Vec<Box<str>> = words(folded).filter_map(Word::identifier).collect();
        found.sort_unstable();
        found.dedup();
        Self(found.into())
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether two texts are about different things: each has an identifier that the other
    /// lacks.
    pub(crate) fn conflict(&self, other: &Self) -> bool {
        let lacks =
            |of: &Self, all: &Self| of.0.iter().any(|one| all.0.binary_search(one).is_err());
        lacks(self, other) && lacks(other, self)
    }

    /// Returns whether the phrases of a rule name different things: then they are examples, and
    /// others may be meant as well.
    pub(crate) fn vary(phrases: &[Self]) -> bool {
        let phrases = &phrases[..phrases.len().min(COMPARED)];
        let conflicts =
            |(at, one): (usize, &Self)| phrases[..at].iter().any(|two| one.conflict(two));
        phrases.iter().enumerate().any(conflicts)
    }

    /// Returns the memory on the heap in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.0) + self.0.iter().map(|one| one.len()).sum::<usize>()
    }
}

/// Returns a folded text with a space in place of each of its identifiers.
pub(crate) fn without_identifiers(folded: &str) -> String {
    let mut rest = String::with_capacity(folded.len());
    let mut end = 0;
    for word in words(folded).filter(|word| word.identifier().is_some()) {
        rest.push_str(&folded[end..word.start]);
        rest.push(' ');
        end = word.start + word.text.len();
    }
    rest.push_str(&folded[end..]);
    rest
}

/// A word of ASCII letters and digits.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    /// First byte in the folded text.
    start: usize,
    /// `true` if a script without spaces is right beside it.
    is_attached: bool,
}

impl Word<'_> {
    /// Returns the identifier: a number without its zeros and its ordinal suffix, or a letter.
    fn identifier(self) -> Option<Box<str>> {
        let digits = self.text.len() - self.text.trim_start_matches(is_digit).len();
        if digits == 0 {
            let is_letter = self.text.len() == 1;
            let is_word = !self.is_attached && WORDS.contains(&self.text);
            return (is_letter && !is_word).then(|| self.text.into());
        }
        let (number, suffix) = self.text.split_at(digits);
        let number = number.trim_start_matches('0');
        // `2nd` is 2, and `3f` is another floor than `3b`.
        Some(if suffix.len() == 1 { format!("{number}{suffix}") } else { number.to_owned() }.into())
    }
}

const fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn words(folded: &str) -> impl Iterator<Item = Word<'_>> {
    let is_end = |c: char| !c.is_ascii_alphanumeric();
    let mut start = 0;
    folded.split_inclusive(is_end).filter_map(move |piece| {
        let at = start;
        start += piece.len();
        let text = piece.trim_end_matches(is_end);
        let beside = |c: Option<char>| c.is_some_and(|c| Class::of(c).is_substring_script());
        let (before, after) = (&folded[..at], &folded[at + text.len()..]);
        let is_attached = beside(before.chars().next_back()) || beside(after.chars().next());
        // A word that goes on in other letters, as `über` does, is none of these, nor is the `s` of
        // `what's`.
        let is_part = |c: Option<char>| {
            let goes_on = |c: char| c == '\'' || c == '’' || Class::of(c) == Class::Word;
            c.is_some_and(|c| !c.is_ascii_alphanumeric() && goes_on(c))
        };
        let is_whole = !is_part(before.chars().next_back()) && !is_part(after.chars().next());
        let is_sign = text.len() == 1 && is_part_of_sign(before, text, after);
        (!text.is_empty() && is_whole && !is_sign).then_some(Word { text, start: at, is_attached })
    })
}

/// Returns whether a single character belongs to an emoticon (`:D`, `<3`, `T_T`), to laughter after
/// Japanese, or to a word with a hyphen (`T-shirt`, `Q&A`).
fn is_part_of_sign(before: &str, text: &str, after: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let is_face = before.ends_with([':', ';', '=', '<', '_']) || after.starts_with('_');
    let joined = after.strip_prefix(['-', '&']).is_some_and(|rest| rest.starts_with(is_letter))
        || before.strip_suffix('&').is_some_and(|rest| rest.ends_with(is_letter));
    let laughs = text == "w" && before.ends_with(is_kana);
    is_face || laughs || (joined && text.starts_with(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fold_phrase;

    fn of(text: &str) -> Vec<String> {
        Identifiers::of(&fold_phrase(text)).0.iter().map(|one| one.clone().into_string()).collect()
    }

    #[test]
    fn numbers_and_single_letters_are_identifiers() {
        for (text, identifiers) in [
            ("3年級家長會", &["3"][..]),
            ("Ａ棟電梯 ３樓", &["3", "a"]),
            ("plan b", &["b"]),
            ("I have a plan", &[]),
            ("2nd team, room 07", &["2", "7"]),
            ("7-11", &["11", "7"]),
            ("wifi über x", &["x"]),
            ("what's that", &[]),
            ("how r u", &[]),
            ("家長會幾點 :D <3 T_T", &[]),
            ("T-shirt, Q&A", &[]),
            ("いつw", &[]),
            ("plan-b", &["b"]),
            ("room 3b", &["3b"]),
            ("é9", &[]),
            ("早安", &[]),
            ("", &[]),
        ] {
            assert_eq!(of(text), identifiers, "{text}");
        }
        assert_eq!(without_identifiers("a棟 3樓 wifi b"), " 棟  樓 wifi  ");
    }

    #[test]
    fn texts_conflict_where_each_has_what_the_other_lacks() {
        let conflict = |a: &str, b: &str| Identifiers::of(a).conflict(&Identifiers::of(b));
        for (a, b) in [("3樓", "2樓"), ("5年3班", "5年2班"), ("plan c", "plan b"), ("11月", "10月")]
        {
            assert!(conflict(a, b) && conflict(b, a), "{a} {b}");
        }
        for (a, b) in [("3樓 5人", "3樓"), ("樓", "3樓"), ("3樓", "3f 3樓"), ("早", "安")]
        {
            assert!(!conflict(a, b) && !conflict(b, a), "{a} {b}");
        }
        let vary = |texts: &[&str]| {
            Identifiers::vary(&texts.iter().map(|text| Identifiers::of(text)).collect::<Vec<_>>())
        };
        assert!(vary(&["in 5 minutes", "timer", "in 10 minutes"]));
        assert!(!vary(&["3樓", "3樓 電梯", "電梯"]) && !vary(&[]));
    }
}
