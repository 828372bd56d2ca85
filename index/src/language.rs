//! Language detection of texts, as far as their scripts allow.

use crate::script::{Class, is_ideograph, is_kana};

/// Number of Han characters without kana that Japanese seldom reaches.
const HAN_ALONE: usize = 6;

/// Minimum number of words in Latin letters that count; fewer (names, loanwords) occur everywhere.
const WORDS: usize = 3;

/// A set of languages, or of groups of languages that scripts cannot distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Languages(u8);

impl Languages {
    /// Written with spaces: English, and all others that are none of the following.
    const SPACED: Self = Self(1);
    const CHINESE: Self = Self(2);
    const JAPANESE: Self = Self(4);
    const KOREAN: Self = Self(8);
    /// Written without spaces, and none of these: Thai, Lao, Khmer, …
    const UNSPACED: Self = Self(16);
    /// Chinese or Japanese: a few characters of Han, and nothing else.
    const HAN: Self = Self(32);

    /// Returns the languages that folded `text` may be in; none if its script does not show it.
    /// Words in Latin letters say nothing beside letters of another script.
    pub(crate) fn of(text: &str) -> Self {
        let (mut han, mut sure) = (0, Self::default());
        for c in text.chars() {
            match Class::of(c) {
                Class::Hangul => sure = sure.or(Self::KOREAN),
                // Chinese borrows this one kana.
                Class::Unspaced if is_han(c) || c == 'の' => han += 1,
                Class::Unspaced if is_kana(c) => sure = sure.or(Self::JAPANESE),
                Class::Unspaced => sure = sure.or(Self::UNSPACED),
                Class::Word | Class::Space | Class::Symbol => {}
            }
        }
        let words = || text.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
        match (sure == Self::default(), han) {
            (false, _) => sure,
            (true, 0) if words().count() >= WORDS => Self::SPACED,
            (true, 0) => Self::default(),
            (true, ..=HAN_ALONE) => Self::HAN,
            (true, _) => Self::CHINESE,
        }
    }

    /// Returns the union of both.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the two may be in the same language.
    pub(crate) const fn meet(self, other: Self) -> bool {
        self.0 == 0 || other.0 == 0 || self.0 & other.0 != 0
    }

    /// Returns the union of the languages of these texts.
    pub(crate) fn all(texts: &[Self]) -> Self {
        texts.iter().fold(Self::default(), |all, &text| all.or(text))
    }

    /// Returns the languages of a text among texts of languages `around`: Han is Chinese if any of
    /// them is.
    pub(crate) const fn among(self, around: Self) -> Self {
        let is_chinese = around.has(Self::CHINESE) || !around.has(Self::JAPANESE);
        self.with_han_as(if is_chinese { Self::CHINESE } else { Self::JAPANESE })
    }

    /// Replaces Han, where nothing else in the text is Chinese or Japanese, by `language`.
    const fn with_han_as(self, language: Self) -> Self {
        let known = Self(self.0 & !Self::HAN.0);
        let tells = known.has(Self::CHINESE) || known.has(Self::JAPANESE);
        if self.has(Self::HAN) && !tells { known.or(language) } else { known }
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the first of several that is not written with spaces.
    const fn first(self) -> Self {
        let unspaced = self.0 & !Self::SPACED.0;
        let of = if unspaced == 0 { self.0 } else { unspaced };
        Self(of & of.wrapping_neg())
    }
}

/// Resolves Han alone to Chinese or Japanese, whichever more of the other texts are.
pub(crate) fn settle(texts: &mut [Languages]) {
    let (chinese, japanese) = (Languages::CHINESE.or(Languages::HAN), Languages::JAPANESE);
    let is_japanese = |text: &Languages| text.has(japanese);
    let is_chinese = |text: &Languages| text.has(chinese) && !text.has(japanese);
    let count = |is: &dyn Fn(&Languages) -> bool| texts.iter().filter(|text| is(text)).count();
    let mostly_japanese = count(&is_japanese) > count(&is_chinese);
    let han = if mostly_japanese { Languages::JAPANESE } else { Languages::CHINESE };
    for text in texts {
        *text = text.with_han_as(han);
    }
}

/// Returns a number from 0 up for each text, the same for texts in the same language. A text in
/// several goes with the one that is not written with spaces; an undetected one gets 0.
pub(crate) fn groups(texts: &[Languages]) -> Vec<usize> {
    let mut found: Vec<Languages> = Vec::new();
    let group = |text: &Languages| {
        if *text == Languages::default() {
            return 0;
        }
        let first = text.first();
        found.iter().position(|&known| known == first).unwrap_or_else(|| {
            found.push(first);
            found.len() - 1
        })
    };
    texts.iter().map(group).collect()
}

/// Returns whether it is a Han character, or repeats or stands for one.
fn is_han(c: char) -> bool {
    is_ideograph(c) || matches!(c, '\u{3005}'..='\u{3007}' | '\u{2e80}'..='\u{2fdf}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Vec<Languages> {
        let mut all: Vec<_> = texts.iter().map(|text| Languages::of(text)).collect();
        settle(&mut all);
        all
    }

    #[test]
    fn scripts_tell_languages_apart() {
        let texts =
            ["停車場在哪裡", "駐車場はどこ", "주차장이 어디예요", "จอดรถที่ไหน", "where to park"];
        for (at, one) in of(&texts).into_iter().enumerate() {
            for (other, two) in of(&texts).into_iter().enumerate() {
                assert_eq!(one.meet(two), at == other, "{at} {other}");
            }
        }
        for text in ["", "123", "?!", "😀", "wifi", "check in"] {
            assert!(of(&texts).iter().all(|&other| Languages::of(text).meet(other)), "{text}");
        }
    }

    #[test]
    fn a_foreign_word_does_not_change_the_language() {
        assert_eq!(Languages::of("wifi รหัสอะไร"), Languages::UNSPACED);
        assert_eq!(Languages::of("wi-fi 密碼"), Languages::HAN);
        assert_eq!(Languages::of("営業時間は 9"), Languages::JAPANESE);
        assert_eq!(Languages::of("我の家"), Languages::HAN);
    }

    #[test]
    fn han_alone_is_what_stands_around_it() {
        assert_eq!(of(&["駐車場", "どこ", "いくら"]), [Languages::JAPANESE; 3]);
        assert_eq!(of(&["地址", "停車", "いくら"])[..2], [Languages::CHINESE; 2]);
        assert_eq!(of(&["商品可以退嗎", "換貨"]), [Languages::CHINESE; 2]);
        let (han, japanese) = (Languages::HAN, Languages::JAPANESE);
        assert_eq!(han.among(japanese), japanese);
        assert_eq!(han.among(japanese.or(Languages::CHINESE)), Languages::CHINESE);
        assert_eq!(japanese.among(Languages::CHINESE), japanese);
    }

    #[test]
    fn a_whole_is_in_the_languages_of_its_parts_in_any_order() {
        let whole = |parts: [&str; 3]| {
            let mut whole = [Languages::all(&parts.map(Languages::of))];
            settle(&mut whole);
            whole[0]
        };
        let both = Languages::CHINESE.or(Languages::SPACED);
        assert_eq!(whole(["停車", "where to park", "可以停車嗎"]), both);
        assert_eq!(whole(["where to park", "停車", "可以停車嗎"]), both);
        assert_eq!(whole(["駐車場", "どこ", "123"]), Languages::JAPANESE);
        assert_eq!(whole(["どこ", "ที่ไหน", "駐車場"]), Languages::JAPANESE.or(Languages::UNSPACED));
    }

    #[test]
    fn texts_are_grouped_by_language() {
        assert_eq!(groups(&of(&["停車", "where to park", "地址", "เวลา"])), [0, 1, 0, 2]);
        assert_eq!(groups(&of(&["123", "where to park", "地址"])), [0, 0, 1]);
        let both = Languages::CHINESE.or(Languages::SPACED);
        assert_eq!(groups(&[Languages::SPACED, both, Languages::CHINESE]), [0, 1, 1]);
        assert!(groups(&[]).is_empty());
    }
}
