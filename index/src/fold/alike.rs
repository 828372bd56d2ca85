//! Spellings that writers take for the same, as one: Traditional and Simplified Chinese, hiragana and
//! katakana (`ごみ`, `ゴミ`). For matching that tolerates small changes; neither a keyword nor a search
//! takes kana for each other.

use super::fold;
use super::han::simplified;

/// Returns the character that stands for all that are taken for the same as `c`: the Simplified form,
/// or hiragana.
///
/// ```
/// use chatkeep_index::fold::alike::alike;
/// assert_eq!("停車場ゴミー".chars().map(alike).collect::<String>(), "停车场ごみー");
/// ```
#[inline]
pub fn alike(c: char) -> char {
    match c {
        // Each has its hiragana at the same distance.
        '\u{30a1}'..='\u{30f6}' => char::from_u32(u32::from(c) - 0x60).unwrap_or(c),
        c => simplified(c),
    }
}

/// Folds as [`fold`] does, and each character to the one that stands for all alike. Characters stay in
/// their places.
pub fn fold_alike(text: &str) -> String {
    fold(text).chars().map(alike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_the_same_become_one() {
        for (one, other) in [
            ("ゴミの日", "ごみの日"),
            ("ﾒｶﾞﾈ", "めがね"),
            ("ヴァイオリン", "ゔぁいおりん"),
            ("臺北店", "台北店"),
            ("停車場在哪裡？", "停车场在哪里?"),
        ] {
            assert_eq!(fold_alike(one), fold_alike(other), "{one}");
        }
        for text in ["カー", "ラーメン・ギョーザ", "wi-fi", "น้ำ", "가"] {
            assert_eq!(fold_alike(text).chars().count(), fold(text).chars().count(), "{text}");
        }
        assert_ne!(fold_alike("ハ"), fold_alike("バ"));
    }

    #[test]
    fn folding_again_changes_nothing() {
        for c in ('\u{3040}'..='\u{30ff}').chain('\u{3400}'..='\u{9fff}') {
            assert_eq!(alike(alike(c)), alike(c), "{c}");
        }
    }
}
