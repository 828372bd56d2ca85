//! Words of the pages: names of modes, of matching, of strictness and of scopes.

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode, Strictness};
use chatkeep_i18n::{Language, Value};

/// Returns the key of a mode's name.
pub(crate) const fn mode_key(mode: QaMode) -> &'static str {
    match mode {
        QaMode::Keyword => "qa-mode-keyword",
        QaMode::Fuzzy => "qa-mode-fuzzy",
        QaMode::Semantic => "qa-mode-semantic",
    }
}

/// Returns the key of the name of a matching of keywords.
pub(crate) const fn match_key(keyword_match: KeywordMatch) -> &'static str {
    match keyword_match {
        KeywordMatch::Exact => "overview-match-exact",
        KeywordMatch::Contains => "overview-match-contains",
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

/// Returns the key of the name of a scope of the reply when nothing matches.
pub(crate) const fn scope_key(scope: NoMatchScope) -> &'static str {
    match scope {
        NoMatchScope::Always => "overview-scope-always",
        NoMatchScope::Addressed => "overview-scope-addressed",
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
