//! Words of the pages: names of modes and of matching, in texts, forms and addresses.

use chatkeep_core::assistant::{KeywordMatch, QaMode};
use chatkeep_i18n::{Language, Value};

/// All modes, in the order in which they are offered.
pub(super) const MODES: [QaMode; 3] = [QaMode::Keyword, QaMode::Fuzzy, QaMode::Semantic];

/// Returns the key of a mode's name.
pub(super) const fn mode_key(mode: QaMode) -> &'static str {
    match mode {
        QaMode::Keyword => "qa-mode-keyword",
        QaMode::Fuzzy => "qa-mode-fuzzy",
        QaMode::Semantic => "qa-mode-semantic",
    }
}

/// Returns a mode as forms and addresses name it.
pub(super) const fn mode_name(mode: QaMode) -> &'static str {
    match mode {
        QaMode::Keyword => "keyword",
        QaMode::Fuzzy => "fuzzy",
        QaMode::Semantic => "semantic",
    }
}

/// Returns the key of the name of a matching of keywords.
pub(super) const fn match_key(keyword_match: KeywordMatch) -> &'static str {
    match keyword_match {
        KeywordMatch::Exact => "overview-match-exact",
        KeywordMatch::Contains => "overview-match-contains",
    }
}

/// Returns a matching of keywords as forms and addresses name it.
pub(super) const fn match_name(keyword_match: KeywordMatch) -> &'static str {
    match keyword_match {
        KeywordMatch::Exact => "exact",
        KeywordMatch::Contains => "contains",
    }
}

/// Returns the sentence about a present value that somebody else set.
pub(super) fn now(value: &str, language: Language) -> String {
    language.format("form-now", &[("value", Value::from(value))])
}
