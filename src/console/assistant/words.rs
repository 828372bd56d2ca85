//! Words of the pages: names of modes, of matching and of strictness, in texts, forms and addresses.

use chatkeep_core::assistant::{KeywordMatch, QaMode, Strictness};
use chatkeep_i18n::{Language, Value};

/// All modes, in the order in which they are offered.
pub(crate) const MODES: [QaMode; 3] = [QaMode::Keyword, QaMode::Fuzzy, QaMode::Semantic];

/// All ways of matching keywords, in the order in which they are offered.
pub(crate) const MATCHES: [KeywordMatch; 2] = [KeywordMatch::Exact, KeywordMatch::Contains];

/// All degrees of strictness, in the order in which they are offered.
pub(crate) const STRICTNESSES: [Strictness; 3] =
    [Strictness::Careful, Strictness::Balanced, Strictness::Eager];

/// Returns the key of a mode's name.
pub(crate) const fn mode_key(mode: QaMode) -> &'static str {
    match mode {
        QaMode::Keyword => "qa-mode-keyword",
        QaMode::Fuzzy => "qa-mode-fuzzy",
        QaMode::Semantic => "qa-mode-semantic",
    }
}

/// Returns a mode as forms and addresses name it.
pub(crate) const fn mode_name(mode: QaMode) -> &'static str {
    match mode {
        QaMode::Keyword => "keyword",
        QaMode::Fuzzy => "fuzzy",
        QaMode::Semantic => "semantic",
    }
}

/// Returns the key of the name of a matching of keywords.
pub(crate) const fn match_key(keyword_match: KeywordMatch) -> &'static str {
    match keyword_match {
        KeywordMatch::Exact => "overview-match-exact",
        KeywordMatch::Contains => "overview-match-contains",
    }
}

/// Returns a matching of keywords as forms and addresses name it.
pub(crate) const fn match_name(keyword_match: KeywordMatch) -> &'static str {
    match keyword_match {
        KeywordMatch::Exact => "exact",
        KeywordMatch::Contains => "contains",
    }
}

/// Returns the key of the name of a strictness.
pub(crate) const fn strictness_key(strictness: Strictness) -> &'static str {
    match strictness {
        Strictness::Careful => "overview-strictness-careful",
        Strictness::Balanced => "overview-strictness-balanced",
        Strictness::Eager => "overview-strictness-eager",
    }
}

/// Returns a strictness as forms and addresses name it.
pub(crate) const fn strictness_name(strictness: Strictness) -> &'static str {
    match strictness {
        Strictness::Careful => "careful",
        Strictness::Balanced => "balanced",
        Strictness::Eager => "eager",
    }
}

/// Returns the sentence about a present value that somebody else set.
pub(crate) fn now(value: &str, language: Language) -> String {
    language.format("form-now", &[("value", Value::from(value))])
}

/// Returns a cooldown in the largest unit that divides it.
pub(crate) fn duration(seconds: u32, language: Language) -> String {
    let (key, count) = match seconds {
        0 => return language.text("overview-cooldown-none"),
        seconds if seconds % 3_600 == 0 => ("overview-hours", seconds / 3_600),
        seconds if seconds % 60 == 0 => ("overview-minutes", seconds / 60),
        seconds => ("overview-seconds", seconds),
    };
    language.format(key, &[("count", i64::from(count).into())])
}
