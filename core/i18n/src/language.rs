//! Supported languages, and the choice among them.

/// Language of the texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese in traditional characters.
    TraditionalChinese,
    /// Japanese.
    Japanese,
    /// Thai.
    Thai,
}

impl Language {
    /// Every language, in the order in which a choice shows them.
    pub const ALL: [Self; 4] =
        [Self::TraditionalChinese, Self::English, Self::Japanese, Self::Thai];

    /// Returns the BCP 47 tag.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::TraditionalChinese => "zh-Hant",
            Self::Japanese => "ja",
            Self::Thai => "th",
        }
    }

    /// Returns the tags by which to ask an identity provider for pages in the language, the
    /// preferred one first: some know Chinese by its region only.
    pub const fn ui_locales(self) -> &'static str {
        match self {
            Self::TraditionalChinese => "zh-TW zh-Hant",
            other => other.tag(),
        }
    }

    /// Returns the name of the language in the language itself.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::TraditionalChinese => "繁體中文",
            Self::Japanese => "日本語",
            Self::Thai => "ไทย",
        }
    }

    /// Returns the language of a BCP 47 tag, whatever its script or region; `None` for languages
    /// without texts.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        let is = |language: &Self| {
            let own = language.tag().split('-').next().unwrap_or_default();
            primary.eq_ignore_ascii_case(own)
        };
        Self::ALL.into_iter().find(is)
    }

    /// Returns the most preferred language of an `Accept-Language` header that has texts; English
    /// for none.
    pub fn preferred(accept_language: &str) -> Self {
        let (mut preferred, mut best) = (None, 0.0);
        for range in accept_language.split(',') {
            let (tag, weight) = range.split_once(';').map_or((range, 1.0), |(tag, weight)| {
                let weight = weight.trim().strip_prefix("q=").unwrap_or_default();
                (tag, weight.parse().unwrap_or(0.0_f32))
            });
            // Neither zero, which refuses a language, nor a weight that is no number is greater.
            if weight > best
                && let Some(language) = Self::from_tag(tag.trim())
            {
                (preferred, best) = (Some(language), weight);
            }
        }
        preferred.unwrap_or_default()
    }

    /// Returns the year as people count it: in Thailand from 543 BC.
    pub const fn year(self, gregorian: i32) -> i32 {
        match self {
            Self::Thai => gregorian + 543,
            _ => gregorian,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_preferred_language_with_texts_is_chosen() {
        for (header, expected) in [
            ("", Language::English),
            ("*", Language::English),
            ("fr, de;q=0.9", Language::English),
            ("zh-TW,zh;q=0.9,en-US;q=0.8,en;q=0.7", Language::TraditionalChinese),
            ("zh-CN", Language::TraditionalChinese),
            ("en;q=0.3, th-TH;q=0.9", Language::Thai),
            ("fr, ja;q=0.2, en;q=0.1", Language::Japanese),
            (";;q=,,\u{0}", Language::English),
            ("fr, th;q=0", Language::English),
            ("th;q=nan, ja;q=0.1", Language::Japanese),
            ("ja;q=0.5, th;q=0.5", Language::Japanese),
            ("th;q=x", Language::English),
            ("ja ; q=0.2, th; q=0.3", Language::Thai),
        ] {
            assert_eq!(Language::preferred(header), expected, "{header:?}");
        }
        // More ranges than a sort by insertion takes, without a consistent order of weights.
        let ranges = (0..24).map(|n| if n % 2 == 0 { "fr;q=nan" } else { "ja;q=0.5" });
        let header = ranges.collect::<Vec<_>>().join(", ");
        assert_eq!(Language::preferred(&header), Language::Japanese);
        assert_eq!(Language::from_tag("TH"), Some(Language::Thai));
        assert_eq!(Language::from_tag("thx"), None);
    }
}
