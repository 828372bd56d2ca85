//! Folding: the form in which two spellings of the same text are equal.
//!
//! [`fold`] applies NFKC (which also folds width), lower case, removal of characters that are
//! invisible by definition, straight quotes for curly ones, one spelling of what looks the same in
//! Thai and Lao (`thai`), and single spaces for white-space runs.
//! [`search`] adds the folds that only search needs, [`alike`] those of matching that tolerates small
//! changes, and [`han`] changes what a reader sees.

pub mod alike;
pub mod han;
#[cfg(test)]
mod laws;
mod quick;
pub mod search;
mod thai;

use std::borrow::Cow;
use std::iter;

use icu_normalizer::ComposingNormalizerBorrowed;

use quick::Step;
pub(crate) use quick::is_ignorable;

const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();

/// Returns the folded form of `text`. Folding it again changes nothing.
///
/// ```
/// assert_eq!(chatkeep_index::fold("  Ｗｉ－Ｆｉ\n ﾊﾟｽﾜｰﾄﾞ？"), "wi-fi パスワード?");
/// ```
pub fn fold(text: &str) -> String {
    fold_cow(text).into_owned()
}

/// Folds as [`fold`] does, then removes sentence marks at the end, so that `Opening hours?` equals
/// `opening hours`. Marks stay in a text of nothing else.
pub fn fold_phrase(text: &str) -> String {
    strip_marks(&fold_cow(text)).to_owned()
}

/// Folds as [`fold`] does; borrows if the text is folded already (frequent in scripts without
/// case).
#[inline]
pub fn fold_cow(text: &str) -> Cow<'_, str> {
    let (kept, mark) = quick::folded_prefix(text);
    if kept == text.len() {
        return Cow::Borrowed(text.strip_suffix(' ').unwrap_or(text));
    }
    let folded = fold_quickly(text, kept, mark).unwrap_or_else(|| fold_fully(text));
    Cow::Owned(folded)
}

/// Returns whether nothing of a text can be seen: it is empty, white space, or characters that are
/// invisible by definition.
///
/// ```
/// assert!(chatkeep_index::is_blank(" \n\u{200b}") && !chatkeep_index::is_blank("👍"));
/// ```
pub fn is_blank(text: &str) -> bool {
    fold_cow(text).trim().is_empty()
}

/// Returns `folded` without sentence marks and spaces at its end; unchanged if it has nothing else.
pub fn strip_marks(folded: &str) -> &str {
    match folded.trim_end_matches(is_end_mark) {
        "" => folded,
        stripped => stripped,
    }
}

/// Returns whether a message may end in `c` without a change of meaning.
pub(crate) fn is_end_mark(c: char) -> bool {
    matches!(
        c,
        ' ' | '?'
            | '!'
            | '.'
            | ','
            | ':'
            | ';'
            | '~'
            | '。'
            | '、'
            | '〜'
            | '〰'
            | '・'
            | '⋯'
            | '…'
            | '❓'
            | '❔'
            | '❗'
            | '❕'
            | '؟'
            | '۔'
            | '،'
            | '।'
            | '॥'
            | '។'
            | '៕'
            | '။'
            | '၊'
    )
}

/// Folds by table from byte `kept` on, which comes after a mark of class `mark`; `None` if a
/// character needs real normalisation.
fn fold_quickly(text: &str, kept: usize, mut mark: u8) -> Option<String> {
    let mut folded = String::with_capacity(text.len() + 8);
    folded.push_str(&text[..kept]);
    for c in text[kept..].chars() {
        let step = quick::step(c);
        mark = quick::next_mark(mark, c, step)?;
        match step {
            Step::Keep | Step::Mark(_) => folded.push(c),
            Step::To(c) => folded.push(c),
            Step::Text(text) => folded.push_str(text),
            Step::Space => push_space(&mut folded),
            Step::Drop => {}
            Step::Slow => return None,
        }
    }
    trim_end_space(&mut folded);
    Some(folded)
}

/// Folds any text with the normaliser.
fn fold_fully(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 8);
    for c in fold_chars(text.chars()) {
        if c.is_whitespace() {
            push_space(&mut folded);
        } else {
            folded.push(c);
        }
    }
    trim_end_space(&mut folded);
    folded
}

/// Returns the folded characters of `chars`, with white space unchanged.
///
/// Normalised twice: lower case and the removal of invisible characters can bring together what
/// composes (`H` + macron below has no composed form, `h` + macron below has).
fn fold_chars(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let visible = NFKC
        .normalize_iter(chars)
        .flat_map(lower)
        .filter(|&c| !quick::is_ignorable(c))
        .map(quick::straight_quote);
    NFKC.normalize_iter(thai::respelled(visible))
}

/// Returns the lower case of a character, independent of its neighbours: final sigma and sharp s as
/// case folding has them.
fn lower(c: char) -> impl Iterator<Item = char> {
    let (first, second) = match c {
        'ß' | 'ẞ' => ('s', Some('s')),
        'ς' => ('σ', None),
        _ => {
            let mut lower = c.to_lowercase();
            (lower.next().unwrap_or(c), lower.next())
        }
    };
    iter::once(first).chain(second)
}

/// Appends a space, unless the text is empty or has one at its end.
fn push_space(folded: &mut String) {
    if !folded.is_empty() && !folded.ends_with(' ') {
        folded.push(' ');
    }
}

fn trim_end_space(folded: &mut String) {
    if folded.ends_with(' ') {
        folded.pop();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_the_same_text_fold_to_one() {
        for (text, folded) in [
            ("ＡＢＣ１２３", "abc123"),
            ("ﾊﾟｽﾜｰﾄﾞ", "パスワード"),
            ("パスワード", "パスワード"),
            ("  營業\u{3000}\n時間 ", "營業 時間"),
            ("Straße ΣΊΣΥΦΟΣ", "strasse σίσυφοσ"),
            ("don’t “stop”", "don't \"stop\""),
            ("ทำ", "ท\u{e4d}า"),
            ("หมู่\u{200b}บ้าน", "หมู่บ้าน"),
            ("한글", "한글"),
            ("❤\u{fe0f}", "❤"),
            ("H\u{331}", "ẖ"),
            ("wait…", "wait..."),
            ("", ""),
            (" \n ", ""),
        ] {
            assert_eq!(fold(text), folded, "{text:?}");
        }
        assert_eq!(fold("한글"), fold("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"));
    }

    #[test]
    fn text_that_is_folded_already_is_borrowed() {
        for text in ["opening hours", "營業時間", "คู่มือ", "안녕 하세요", "パスワード?"]
        {
            assert!(matches!(fold_cow(text), Cow::Borrowed(_)), "{text}");
        }
        assert!(matches!(fold_cow("one space after "), Cow::Borrowed("one space after")));
    }

    #[test]
    fn sentence_marks_at_the_end_mean_nothing() {
        for text in
            ["Hours", "hours?", "HOURS ?!", "hours。", "hours……", "ｈｏｕｒｓ！？", "hours~"]
        {
            assert_eq!(fold_phrase(text), "hours", "{text}");
        }
        assert_eq!(fold_phrase("營業時間嗎？"), "營業時間嗎");
        assert_eq!(fold_phrase("c++"), "c++");
        assert_eq!(fold_phrase("？！"), "?!", "nothing else in it");
        assert_eq!(fold_phrase("v1.5"), "v1.5");
    }

    #[test]
    fn folding_any_character_twice_changes_nothing() {
        for c in char::MIN..=char::MAX {
            let once = fold(&format!("x{c}y"));
            assert_eq!(fold(&once), once, "{c:?}");
        }
    }

    /// Generates characters of every kind that the quick path and the full one could disagree on.
    pub(super) fn mixed_text() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![
                any::<char>(),
                proptest::char::range('\0', '\u{7f}'),
                proptest::char::range('\u{e01}', '\u{e5b}'),
                proptest::char::range('\u{300}', '\u{330}'),
                proptest::char::range('\u{1100}', '\u{11ff}'),
                proptest::char::range('\u{3000}', '\u{318f}'),
                proptest::char::range('\u{ac00}', '\u{ac80}'),
                proptest::char::range('\u{ff00}', '\u{ffef}'),
                proptest::char::range('\u{2000}', '\u{206f}'),
            ],
            0..12,
        )
        .prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn the_quick_path_agrees_with_the_full_one(text in mixed_text()) {
            prop_assert_eq!(fold_cow(&text).into_owned(), fold_fully(&text));
        }

        #[test]
        fn folding_twice_changes_nothing(text in mixed_text()) {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
