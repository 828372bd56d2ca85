//! Words of a query without what people put around them: brackets, and the signs that name a person
//! or a topic, which a text may have or not.

use crate::fold::is_end_mark;

/// Brackets, each with its partner. Those that quote a phrase are none.
const BRACKETS: [(char, char); 10] = [
    ('(', ')'),
    ('（', '）'),
    ('[', ']'),
    ('［', '］'),
    ('{', '}'),
    ('｛', '｝'),
    ('【', '】'),
    ('《', '》'),
    ('〈', '〉'),
    ('〔', '〕'),
];

/// Signs before a word.
const SIGNS: [char; 4] = ['@', '＠', '#', '＃'];

/// Returns a word without brackets at its ends whose partner is not inside of it, and without a sign
/// before its first letter; the word itself if nothing of meaning would be left.
pub(super) fn bare(word: &str) -> &str {
    let mut bare = word;
    for (open, close) in BRACKETS {
        bare = without(bare, open, close);
    }
    if let Some(rest) = bare.strip_prefix(SIGNS)
        // `#1` is no word that begins with 1.
        && rest.starts_with(char::is_alphabetic)
    {
        bare = rest;
    }
    if bare.contains(char::is_alphanumeric) { bare } else { word }
}

fn without(word: &str, open: char, close: char) -> &str {
    if let Some(rest) = word.strip_prefix(open) {
        return match rest.split_once(close) {
            None => rest,
            Some((inside, after)) if after.chars().all(is_end_mark) => inside,
            Some(_) => word,
        };
    }
    let end = word.trim_end_matches(is_end_mark).strip_suffix(close);
    end.filter(|rest| !rest.contains(open)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_word_goes_and_what_is_in_it_stays() {
        for (word, expected) in [
            ("@Grace", "Grace"),
            ("＠林語晴", "林語晴"),
            ("#NID11", "NID11"),
            ("(kickoff)", "kickoff"),
            ("(kickoff)?", "kickoff"),
            ("(kickoff", "kickoff"),
            ("time),", "time"),
            ("[公告]", "公告"),
            ("【公告】停水", "【公告】停水"),
            ("（@แม่）", "แม่"),
            ("f(x)", "f(x)"),
            ("(a)b(c)", "(a)b(c)"),
            ("C++", "C++"),
            ("#1", "#1"),
            ("@", "@"),
            (":)", ":)"),
            ("()", "()"),
            ("ann@example.com", "ann@example.com"),
            ("+1", "+1"),
        ] {
            assert_eq!(bare(word), expected, "{word}");
        }
    }
}
