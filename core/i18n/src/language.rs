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
        let preferred = accept_language::parse(accept_language);
        preferred.iter().find_map(|tag| Self::from_tag(tag)).unwrap_or_default()
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
        ] {
            assert_eq!(Language::preferred(header), expected, "{header:?}");
        }
        assert_eq!(Language::from_tag("TH"), Some(Language::Thai));
        assert_eq!(Language::from_tag("thx"), None);
    }
}
