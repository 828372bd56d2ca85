//! Plain form of a text, in which names and numbers are found however they are written: as the
//! search index folds it, with digits and dashes of one kind.

use std::ops::Range;

use chatkeep_index::ascii_digit;
use chatkeep_index::fold::search::SearchText;
use chatkeep_index::script::Class;

/// Mark that encloses a character as a key.
const KEYCAP: char = '\u{20e3}';
/// Mark that chooses the form of an emoji.
const VARIANT: char = '\u{fe0f}';

/// Text in its plain form. Each of its characters stands for a part of the original, and what folds
/// together, such as a letter and its accent, is never separated.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) chars: Vec<char>,
    /// Bytes of the original that each character stands for.
    origins: Vec<Range<usize>>,
}

impl Plain {
    pub(super) fn of(text: &str) -> Self {
        let folded = SearchText::simplified(text);
        let mut starts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        starts.push(text.len());
        let mut plain = Self { chars: Vec::new(), origins: Vec::new() };
        for (index, c) in folded.as_str().chars().enumerate() {
            let origin = folded.original(index..index + 1);
            let origin = starts[origin.start]..starts[origin.end];
            match plain.origins.last_mut() {
                // A keycap is its digit.
                Some(last) if matches!(c, KEYCAP | VARIANT) => last.end = origin.end,
                _ => {
                    plain.chars.push(plain_char(c));
                    plain.origins.push(origin);
                }
            }
        }
        plain.part_lines(text);
        plain
    }

    /// Restores the ends of lines and cells, which no number spans.
    fn part_lines(&mut self, text: &str) {
        for (index, c) in self.chars.iter_mut().enumerate().filter(|(_, c)| **c == ' ') {
            let end = self.origins.get(index + 1).map_or(text.len(), |next| next.start);
            if text[self.origins[index].start..end].contains(['\n', '\r', '\t']) {
                *c = '\n';
            }
        }
    }

    /// Returns the bytes of the original that a range of characters stands for.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        match self.origins.get(range.clone()) {
            Some([first, .., last]) => first.start..last.end,
            Some([only]) => only.clone(),
            _ => 0..0,
        }
    }

    /// Returns the characters that stand for any part of a range of bytes of the original.
    pub(super) fn chars_of(&self, bytes: &Range<usize>) -> Range<usize> {
        let start = self.origins.partition_point(|origin| origin.end <= bytes.start);
        let end = self.origins.partition_point(|origin| origin.start < bytes.end);
        start..end.max(start)
    }

    /// Returns the character at an index.
    pub(super) fn at(&self, index: usize) -> Option<char> {
        self.chars.get(index).copied()
    }

    /// Returns the character before an index.
    pub(super) fn before(&self, index: usize) -> Option<char> {
        self.at(index.checked_sub(1)?)
    }

    pub(super) fn text(&self) -> String {
        self.chars.iter().collect()
    }
}

/// Returns the plain form of a text on its own.
pub(super) fn plain(text: &str) -> String {
    Plain::of(text).text()
}

fn plain_char(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => ascii_digit(other),
    }
}

/// Returns true for a letter or digit of a script whose words nothing grows onto.
pub(super) fn is_spaced(c: char) -> bool {
    Class::of(c) == Class::Word
}

/// Returns true for a letter of a script in which words follow each other without spaces, or whose
/// particles follow words so: Han, kana, Hangul, Thai and others.
pub(super) fn is_unspaced(c: char) -> bool {
    Class::of(c).is_substring_script()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_stands_for_its_original() {
        let text = "Ａnn\u{200b}é　๐９👍";
        let plain = Plain::of(text);
        assert_eq!(plain.text(), "anne 09👍");
        let range = plain.original(&(1..4));
        assert_eq!(&text[range.clone()], "nn\u{200b}é");
        assert_eq!(plain.chars_of(&range), 1..4);
        assert_eq!(&text[plain.original(&(5..8))], "๐９👍");
        assert_eq!((plain.before(0), plain.before(1), plain.at(99)), (None, Some('a'), None));
    }

    #[test]
    fn what_folds_together_is_never_separated() {
        let text = "x e\u{301}ﾊﾟ…\u{202a}y";
        let plain = Plain::of(text);
        assert_eq!(plain.text(), "x eパ...y");
        let original = |range| &text[plain.original(&range)];
        assert_eq!(original(2..3), "e\u{301}");
        assert_eq!(original(3..4), "ﾊﾟ");
        assert_eq!(original(5..6), "…\u{202a}");
        assert_eq!(original(7..8), "y");
        // Any part of a character is all of it.
        let accent = text.find('\u{301}').unwrap();
        assert_eq!(plain.chars_of(&(accent..accent + 1)), 2..3);
        assert_eq!(plain.chars_of(&(0..text.len())), 0..8);
    }

    #[test]
    fn spellings_of_a_name_have_one_plain_form() {
        for (one, other) in [
            ("タナカ", "ﾀﾅｶ"),
            ("José", "Jose\u{301}"),
            ("Ann", "A\u{202e}n\u{2066}n\u{2069}"),
            ("陳小姐", "陈小姐"),
            ("김민수", "\u{1100}\u{1175}\u{11b7}\u{1106}\u{1175}\u{11ab}\u{1109}\u{116e}"),
        ] {
            assert_eq!(plain(one), plain(other), "{one}");
        }
        assert_eq!(plain("1 \n2  3\t4"), "1\n2 3\n4");
    }
}
