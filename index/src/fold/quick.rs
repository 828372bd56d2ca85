//! Folding by table of the characters that chats are made of. All other characters take the slow
//! path through the normaliser.

/// Folding of one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It stays as it is.
    Keep,
    /// It stays, but marks must stand in the order of their combining class (given).
    Mark(u8),
    /// It becomes this one.
    To(char),
    /// It becomes this text.
    Text(&'static str),
    /// It is white space.
    Space,
    /// It is invisible and removed.
    Drop,
    /// It needs the normaliser.
    Slow,
}

/// Returns the folding of `c`, provided that no neighbour is [`Step::Slow`].
#[inline]
pub(super) fn step(c: char) -> Step {
    match c {
        'A'..='Z' => Step::To(c.to_ascii_lowercase()),
        ' ' | '\t'..='\r' | '\u{3000}' => Step::Space,
        '\0'..='\u{7f}'
        | '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' // Han
        | '\u{3001}'..='\u{3003}' | '\u{3005}'..='\u{3020}' // CJK punctuation
        | '\u{3041}'..='\u{3096}' | '\u{309d}' | '\u{309e}' // hiragana
        | '\u{30a1}'..='\u{30fe}' // katakana
        | '\u{3105}'..='\u{312f}' // bopomofo
        | '\u{ac00}'..='\u{d7a3}' // Hangul syllables
        | '\u{0e01}'..='\u{0e32}' | '\u{0e34}'..='\u{0e37}' // Thai
        | '\u{0e3f}'..='\u{0e47}' | '\u{0e4c}'..='\u{0e5b}'
        | '\u{2013}' | '\u{2014}' | '\u{22ef}' // dashes, midline ellipsis
        | '\u{2600}'..='\u{27bf}' // symbols
        | '\u{1f300}'..='\u{1f6ff}' | '\u{1f900}'..='\u{1faff}' // emoji
            => Step::Keep,
        '\u{ff01}'..='\u{ff5e}' => Step::To(halfwidth(c)),
        '\u{0e38}' | '\u{0e39}' => Step::Mark(103),
        '\u{0e3a}' => Step::Mark(9),
        '\u{0e48}'..='\u{0e4b}' => Step::Mark(107),
        '\u{0e33}' => Step::Text("\u{0e4d}\u{0e32}"),
        '…' => Step::Text("..."),
        '‘' | '’' => Step::To('\''),
        '“' | '”' => Step::To('"'),
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' => Step::Drop,
        _ => Step::Slow,
    }
}

/// State after a Thai vowel e: another one makes it the vowel ae. No mark has these classes.
const AFTER_E: u8 = u8::MAX;
/// State after a Thai nikhahit: tone marks stand before it.
const AFTER_NIKHAHIT: u8 = u8::MAX - 1;

/// Returns the combining class that the next mark may not fall below, after `c` and its `step`, or
/// one of the states above; `None` if characters are out of order, which only the slow path sorts.
#[inline]
pub(super) fn next_mark(mark: u8, c: char, step: Step) -> Option<u8> {
    match step {
        Step::Mark(class) if mark == AFTER_E => Some(class),
        Step::Mark(class) if class < mark => None,
        Step::Mark(class) => Some(class),
        Step::Drop => Some(mark),
        _ => match c {
            '\u{e40}' if mark == AFTER_E => None,
            '\u{e40}' => Some(AFTER_E),
            '\u{e4d}' => Some(AFTER_NIKHAHIT),
            _ => Some(0),
        },
    }
}

/// Returns the length in bytes of the prefix of `text` that folding leaves as it is, and the state
/// that it ends in (see [`next_mark`]).
#[inline]
pub(super) fn folded_prefix(text: &str) -> (usize, u8) {
    let mut mark = 0;
    let mut after_space = true;
    for (at, c) in text.char_indices() {
        let step = step(c);
        let single_space = c == ' ' && !after_space;
        let kept = matches!(step, Step::Keep | Step::Mark(_)) || single_space;
        match next_mark(mark, c, step) {
            Some(next) if kept => mark = next,
            _ => return (at, mark),
        }
        after_space = single_space;
    }
    (text.len(), mark)
}

/// Returns the ASCII form, in lower case, of a full-width character from U+FF01 to U+FF5E.
#[inline]
fn halfwidth(c: char) -> char {
    char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c).to_ascii_lowercase()
}

/// Returns the straight form of quotation marks, which phones curl by themselves.
#[inline]
pub(super) fn straight_quote(c: char) -> char {
    match c {
        '‘' | '’' | 'ʼ' => '\'',
        '“' | '”' => '"',
        c => c,
    }
}

/// Returns Unicode's `Default_Ignorable_Code_Point`: whether `c` is normally invisible.
#[inline]
pub(crate) fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::{fold_chars, fold_fully};
    use crate::script::combining_class;

    #[test]
    fn the_table_says_what_the_normaliser_says() {
        for c in char::MIN..=char::MAX {
            let full: String = fold_chars(std::iter::once(c)).collect();
            let step = step(c);
            match step {
                Step::Keep => assert_eq!(full, c.to_string()),
                Step::To(to) => assert_eq!(full, to.to_string()),
                Step::Text(text) => assert_eq!(full, text),
                Step::Drop => assert_eq!(full, ""),
                Step::Space => assert_eq!(fold_fully(&format!("a{c}b")), "a b"),
                Step::Mark(_) | Step::Slow => {}
            }
            let class = if let Step::Mark(class) = step { class } else { 0 };
            if step != Step::Slow {
                assert_eq!(combining_class(c), class, "{c:?}");
            }
        }
    }
}
