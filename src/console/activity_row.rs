//! Rows of an activity log, as people read them.

use std::collections::HashMap;

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode, Strictness};
use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::grants::client_name;
use chatkeep_store::{ActivityChange, ActivityRead, Actor, ChangeKind, ReadAction, Reader};

use super::assistant::words::{duration, match_key, mode_key, scope_key, strictness_key};
use super::dates::Dates;
use super::labels::{hue, initial, person_name, visible};

/// Names of people by id.
pub(super) type PeopleNames = HashMap<UserId, Option<String>>;

/// Row of the log.
#[derive(Default)]
pub(super) struct LogRow {
    /// Day before the row, where another one begins.
    pub(super) day: Option<String>,
    pub(super) name: String,
    pub(super) initial: String,
    pub(super) hue: u8,
    /// Key or program that somebody read by.
    pub(super) by: Option<String>,
    /// Action of the row.
    pub(super) what: String,
    /// Time of a change.
    pub(super) time: Option<(String, String)>,
    /// Number of requests of a read.
    pub(super) times: Option<String>,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

/// Returns the key of the name of a kind of changes.
pub(super) const fn kind_key(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Assistant => "tab-assistant",
        ChangeKind::Rule => "assistant-rules",
        ChangeKind::GroupRules => "texts-rules",
        ChangeKind::Role => "person-role",
        ChangeKind::Retention => "settings-retention",
        ChangeKind::TimeZone => "settings-zone",
        ChangeKind::EarlierTexts => "settings-earlier",
        ChangeKind::Subscription => "settings-backup",
        ChangeKind::Deletion => "log-deletions",
        ChangeKind::Erasure => "log-erasures",
    }
}

/// Returns the key of the name of an action.
pub(super) const fn action_key(action: ReadAction) -> &'static str {
    match action {
        ReadAction::List => "log-read-list",
        ReadAction::Search => "log-read-search",
        ReadAction::Open => "log-read-open",
        ReadAction::Media => "log-read-media",
        ReadAction::Export => "log-read-export",
        ReadAction::Events => "log-read-events",
        ReadAction::History => "log-read-history",
    }
}

/// Returns the key of the name of an assistant's setting; `None` for one without a name.
fn setting_key(path: &str) -> Option<&'static str> {
    Some(match path {
        "enabled" => "overview-enabled",
        "qa.enabled" => "overview-qa",
        "qa.mode" => "overview-mode",
        "qa.noMatchReply" => "texts-no-match",
        "qa.noMatchScope" => "overview-scope",
        "qa.keywordMatch" => "overview-match",
        "qa.strictness" => "overview-strictness",
        "qa.cooldownSeconds" => "overview-cooldown",
        "welcome.enabled" | "welcome.message" => "texts-welcome",
        "rules.enabled" => "overview-group-rules",
        "rules.triggerKeywords" => "texts-rules-words",
        "link.enabled" => "texts-link",
        "link.triggerKeywords" => "log-link-words",
        _ => return None,
    })
}

/// Returns the value of an assistant's setting as its page shows it.
fn setting_value(path: &str, value: String, language: Language) -> String {
    let key = match (path, value.as_str()) {
        (path, "true") if path.ends_with("enabled") => "overview-on",
        (path, "false") if path.ends_with("enabled") => "overview-off",
        ("qa.mode", name) => match QaMode::parse(name) {
            Some(mode) => mode_key(mode),
            None => return value,
        },
        ("qa.keywordMatch", name) => match KeywordMatch::parse(name) {
            Some(one) => match_key(one),
            None => return value,
        },
        ("qa.strictness", name) => match Strictness::parse(name) {
            Some(one) => strictness_key(one),
            None => return value,
        },
        ("qa.noMatchScope", name) => match NoMatchScope::parse(name) {
            Some(scope) => scope_key(scope),
            None => return value,
        },
        ("qa.cooldownSeconds", seconds) => {
            let Ok(seconds) = seconds.parse::<u32>() else { return value };
            return duration(seconds, language);
        }
        (path, list) if path.ends_with("triggerKeywords") => {
            let words: Vec<String> = serde_json::from_str(list).unwrap_or_default();
            return if words.is_empty() && list != "[]" {
                value
            } else {
                words.join(&language.text("list-comma"))
            };
        }
        _ => return value,
    };
    language.text(key)
}

impl LogRow {
    fn of(actor: Actor, what: String, language: Language) -> Self {
        let hue = hue(actor.user.as_str());
        let name = person_name(actor.display_name, language);
        let initial = initial(&name);
        Self { name, initial, hue, what, ..Self::default() }
    }

    /// Creates the row of a change.
    pub(super) fn of_change(change: ActivityChange, (dates, names): (Dates, &PeopleNames)) -> Self {
        let (language, at) = (dates.language, change.at);
        let person = change.subject.as_deref().map(UserId::from);
        let person = person.and_then(|person| names.get(&person).cloned()).flatten();
        let what = shown_change(&change, person, dates);
        let shown = |value| {
            let value = shown_value(change.kind, change.subject.as_deref(), value, language);
            visible(value)
        };
        let (before, after) = (shown(change.before), shown(change.after));
        let time = Some((at.to_string(), dates.time(at)));
        Self { time, before, after, ..Self::of(change.by, what, language) }
    }

    /// Creates the row of a read.
    pub(super) fn of_read(read: ActivityRead, language: Language) -> Self {
        let name = client_name(&read.reader_name.unwrap_or_default(), language);
        let named = |key| Some(language.format(key, &[("name", Value::from(&name))]));
        let by = match read.reader {
            Reader::Person => None,
            Reader::Key(_) => named("log-key"),
            Reader::Program(_) => named("log-program"),
            Reader::Others => Some(language.text("log-others")),
        };
        let times = Some(language.format("log-times", &[("count", read.requests.into())]));
        let what = language.text(action_key(read.action));
        Self { by, times, ..Self::of(read.by, what, language) }
    }
}

/// Returns the sentence about a change; `person` is the name of the one that it is about.
fn shown_change(change: &ActivityChange, person: Option<String>, dates: Dates) -> String {
    let language = dates.language;
    let person = person_name(person, language);
    let about = |key| language.format(key, &[("name", Value::from(&person))]);
    match change.kind {
        ChangeKind::Assistant => {
            let path = change.subject.as_deref().unwrap_or_default();
            setting_key(path).map_or_else(|| path.to_owned(), |key| language.text(key))
        }
        ChangeKind::Rule => language.text(match (&change.before, &change.after) {
            (None, _) => "log-rule-added",
            (_, None) => "log-rule-deleted",
            _ => "log-rule-changed",
        }),
        ChangeKind::Role => about("log-role"),
        ChangeKind::Erasure => about("log-erased"),
        ChangeKind::Deletion => {
            let before = change.after.as_deref().and_then(Timestamp::parse);
            let date = before.map(|before| dates.moment(before)).unwrap_or_default();
            language.format("log-deleted", &[("date", Value::from(&date))])
        }
        ChangeKind::Subscription => language.text(match change.after {
            Some(_) => "log-subscribed",
            None => "log-unsubscribed",
        }),
        kind => language.text(kind_key(kind)),
    }
}

/// Returns a value of a change as people read it; `None` where the sentence says it.
fn shown_value(
    kind: ChangeKind,
    subject: Option<&str>,
    value: Option<String>,
    language: Language,
) -> Option<String> {
    match kind {
        ChangeKind::Assistant => {
            value.map(|value| setting_value(subject.unwrap_or_default(), value, language))
        }
        ChangeKind::Role => value.map(|role| language.text(&format!("role-{role}"))),
        ChangeKind::Retention => Some(match value.and_then(|days| days.parse::<i64>().ok()) {
            Some(days) => language.format("log-days", &[("count", days.into())]),
            None => language.text("log-never"),
        }),
        ChangeKind::EarlierTexts => value
            .map(|keep| language.text(if keep == "true" { "overview-on" } else { "overview-off" })),
        ChangeKind::Rule | ChangeKind::GroupRules | ChangeKind::TimeZone => value,
        ChangeKind::Subscription | ChangeKind::Deletion | ChangeKind::Erasure => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_settings_are_told_in_words() {
        let shown =
            |path: &str, value: &str| setting_value(path, value.to_owned(), Language::English);
        assert_ne!(shown("welcome.enabled", "true"), "true");
        assert_eq!(shown("welcome.message", "true"), "true", "somebody's words");
        assert_eq!(shown("qa.mode", "fuzzy"), Language::English.text("qa-mode-fuzzy"));
        assert_eq!(
            shown("qa.keywordMatch", "exact"),
            Language::English.text("overview-match-exact")
        );
        assert_eq!(shown("qa.mode", "other"), "other");
        let words = Language::TraditionalChinese;
        let words = setting_value("rules.triggerKeywords", r#"["一","二"]"#.to_owned(), words);
        assert_eq!(words, "一、二");
    }
}
