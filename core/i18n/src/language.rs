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

    /// Returns the language with texts that has the greatest weight among these tags, the first one
    /// of several; a weight of 0 refuses a language. English for none.
    pub fn preferred<'a>(ranges: impl IntoIterator<Item = (&'a str, f32)>) -> Self {
        let (mut preferred, mut best) = (None, 0.0);
        for (tag, weight) in ranges {
            if weight > best
                && let Some(language) = Self::from_tag(tag)
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
        let english = [("en-US", 0.8), ("en", 0.7)];
        for (ranges, expected) in [
            (&[][..], Language::English),
            (&[("*", 1.0)], Language::English),
            (&[("fr", 1.0), ("de", 0.9)], Language::English),
            (&[("zh-TW", 1.0), ("zh", 0.9), english[0], english[1]], Language::TraditionalChinese),
            (&[("zh-CN", 1.0)], Language::TraditionalChinese),
            (&[("en", 0.3), ("th-TH", 0.9)], Language::Thai),
            (&[("fr", 1.0), ("ja", 0.2), ("en", 0.1)], Language::Japanese),
            (&[("fr", 1.0), ("th", 0.0)], Language::English),
            (&[("th", f32::NAN), ("ja", 0.1)], Language::Japanese),
            (&[("ja", 0.5), ("th", 0.5)], Language::Japanese),
        ] {
            assert_eq!(Language::preferred(ranges.iter().copied()), expected, "{ranges:?}");
        }
        assert_eq!(Language::from_tag("TH"), Some(Language::Thai));
        assert_eq!(Language::from_tag("thx"), None);
    }
}
