//! Traditional and Simplified Chinese as one: a character of either script folds to the Simplified
//! form, so that a search in one matches text in the other.
//!
//! One character becomes one character, so positions stay what they are. The table is generated
//! (`tools/han_variants.py`) from `OpenCC`'s character dictionary.

use std::sync::LazyLock;

/// Two lines: Traditional characters, and at the same positions their Simplified forms.
const VARIANTS: &str = include_str!("han_variants.txt");

/// Range of characters that the table covers: ideographs of the Basic Multilingual Plane.
const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

/// Form of each character from [`FIRST`] to [`LAST`]; 0 if it does not change.
static FORMS: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let mut forms = vec![0; (LAST - FIRST + 1) as usize];
    let mut lines = VARIANTS.lines();
    let (from, to) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    for (from, to) in from.chars().zip(to.chars()) {
        let form = forms.get_mut(u32::from(from).wrapping_sub(FIRST) as usize);
        if let (Some(form), Ok(to)) = (form, u16::try_from(u32::from(to))) {
            *form = to;
        }
    }
    forms
});

/// Returns the Simplified form of a Traditional character; any other character unchanged.
///
/// ```
/// use chatkeep_index::fold::han::simplified;
/// assert_eq!("開發時間".chars().map(simplified).collect::<String>(), "开发时间");
/// ```
#[inline]
pub fn simplified(c: char) -> char {
    if !(FIRST..=LAST).contains(&u32::from(c)) {
        return c;
    }
    match FORMS.get((u32::from(c) - FIRST) as usize) {
        None | Some(0) => c,
        Some(&form) => char::from_u32(u32::from(form)).unwrap_or(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::search::fold_for_search;
    use crate::script::Class;

    #[test]
    fn both_scripts_fold_to_one() {
        let folded = |text: &str| text.chars().map(simplified).collect::<String>();
        for (traditional, simple) in [
            ("請問營業時間", "请问营业时间"),
            ("臺灣大學", "台湾大学"),
            ("頭髮乾了", "头发干了"),
            ("這裡有個麵店", "这里有个面店"),
            ("体育館で", "体育馆で"),
        ] {
            assert_eq!(folded(traditional), folded(simple), "{traditional}");
        }
        assert_eq!(folded("ひらがな kana 한글 ไทย 🎉"), "ひらがな kana 한글 ไทย 🎉");
    }

    #[test]
    fn every_form_is_folded_text_of_the_same_kind_and_folds_no_further() {
        let mut changed = 0;
        for c in '\u{3400}'..='\u{9fff}' {
            let form = simplified(c);
            if form == c {
                continue;
            }
            changed += 1;
            assert_eq!(simplified(form), form, "{c}");
            assert_eq!(Class::of(form), Class::Unspaced, "{c}");
            assert_eq!(fold_for_search(&form.to_string()), form.to_string(), "{c}");
        }
        assert!(changed > 2_500, "{changed}");
    }
}
