//! Switches and choices of the form, with the present values where they differ.

use chatkeep_core::assistant::{AssistantConfig, KeywordMatch, NoMatchScope, QaMode, Strictness};
use chatkeep_i18n::Language;
use chatkeep_services::assistant::AssistantSettings;

use super::super::seen::state;
use super::super::words::{duration, match_key, mode_key, now, scope_key, strictness_key};
use super::OverviewForm;

/// Usual cooldowns, in seconds.
const COOLDOWNS: [u32; 8] = [0, 10, 30, 60, 300, 900, 3_600, 86_400];

/// Switch of the form.
pub(super) struct Switch {
    pub(super) name: &'static str,
    pub(super) label: String,
    pub(super) hint: String,
    pub(super) on: bool,
    /// Present state, where somebody else changed it.
    pub(super) now: Option<String>,
}

/// Values of one field of the form.
pub(super) struct Choices {
    pub(super) name: &'static str,
    pub(super) label: String,
    pub(super) options: Vec<Choice>,
    /// Present value, where somebody else changed it.
    pub(super) now: Option<String>,
}

/// Value of a field.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) hint: String,
    pub(super) chosen: bool,
    /// False for what the plan does not include.
    pub(super) possible: bool,
}

/// Returns the switches, the master switch first.
pub(super) fn switches(
    form: &OverviewForm,
    config: &AssistantConfig,
    language: Language,
) -> [Switch; 4] {
    let switch = |name, keys: (&str, &str), given: &Option<String>, present: bool| {
        let on = given.is_some();
        let value = language.text(if present { "overview-on" } else { "overview-off" });
        Switch {
            name,
            label: language.text(keys.0),
            hint: language.text(keys.1),
            on,
            now: (on != present && form.seen.lacks(name, state(present)))
                .then(|| now(&value, language)),
        }
    };
    [
        switch(
            "enabled",
            ("overview-enabled", "overview-enabled-hint"),
            &form.enabled,
            config.enabled,
        ),
        switch("qa", ("overview-qa", "overview-qa-hint"), &form.qa, config.qa.enabled),
        switch(
            "welcome",
            ("overview-welcome", "overview-welcome-hint"),
            &form.welcome,
            config.welcome.enabled,
        ),
        switch(
            "rules",
            ("overview-group-rules", "overview-group-rules-hint"),
            &form.rules,
            config.rules.enabled,
        ),
    ]
}

/// Returns the modes.
pub(super) fn modes(
    form: &OverviewForm,
    settings: &AssistantSettings,
    language: Language,
) -> Choices {
    let present = settings.config.qa.mode;
    let choice = |mode: QaMode| Choice {
        value: mode.name().to_owned(),
        label: language.text(mode_key(mode)),
        hint: language.text(match mode {
            QaMode::Keyword => "qa-mode-keyword-hint",
            QaMode::Fuzzy => "qa-mode-fuzzy-hint",
            QaMode::Semantic if settings.semantic => "qa-mode-semantic-hint",
            QaMode::Semantic => "qa-mode-semantic-pro",
        }),
        chosen: mode == form.mode,
        possible: mode != QaMode::Semantic || settings.semantic || present == mode,
    };
    Choices {
        name: "mode",
        label: language.text("overview-mode"),
        options: QaMode::ALL.into_iter().map(choice).collect(),
        now: (present != form.mode && form.seen.lacks("mode", present.name()))
            .then(|| now(&language.text(mode_key(present)), language)),
    }
}

/// Returns the methods of matching keywords.
pub(super) fn matches(
    form: &OverviewForm,
    config: &AssistantConfig,
    language: Language,
) -> Choices {
    let present = config.qa.keyword_match;
    let option = |value: KeywordMatch, hint| Choice {
        value: value.name().to_owned(),
        label: language.text(match_key(value)),
        hint: language.text(hint),
        chosen: value == form.keyword_match,
        possible: true,
    };
    Choices {
        name: "match",
        label: language.text("overview-match"),
        options: vec![
            option(KeywordMatch::Exact, "overview-match-exact-hint"),
            option(KeywordMatch::Contains, "overview-match-contains-hint"),
        ],
        now: (present != form.keyword_match && form.seen.lacks("match", present.name()))
            .then(|| now(&language.text(match_key(present)), language)),
    }
}

/// Returns the degrees of strictness.
pub(super) fn strictnesses(
    form: &OverviewForm,
    config: &AssistantConfig,
    language: Language,
) -> Choices {
    let present = config.qa.strictness;
    let chosen = form.strictness.unwrap_or(present);
    let option = |value: Strictness| Choice {
        value: value.name().to_owned(),
        label: language.text(strictness_key(value)),
        hint: language.text(match value {
            Strictness::Careful => "overview-strictness-careful-hint",
            Strictness::Balanced => "overview-strictness-balanced-hint",
            Strictness::Eager => "overview-strictness-eager-hint",
        }),
        chosen: value == chosen,
        possible: true,
    };
    Choices {
        name: "strictness",
        label: language.text("overview-strictness"),
        options: Strictness::ALL.into_iter().map(option).collect(),
        now: (present != chosen && form.seen.lacks("strictness", present.name()))
            .then(|| now(&language.text(strictness_key(present)), language)),
    }
}

/// Returns the messages that get the reply of no match.
pub(super) fn scopes(form: &OverviewForm, config: &AssistantConfig, language: Language) -> Choices {
    let present = config.qa.no_match_scope;
    let option = |value: NoMatchScope, hint| Choice {
        value: value.name().to_owned(),
        label: language.text(scope_key(value)),
        hint: language.text(hint),
        chosen: value == form.scope,
        possible: true,
    };
    Choices {
        name: "scope",
        label: language.text("overview-scope"),
        options: vec![
            option(NoMatchScope::Addressed, "overview-scope-addressed-hint"),
            option(NoMatchScope::Always, "overview-scope-always-hint"),
        ],
        now: (present != form.scope && form.seen.lacks("scope", present.name()))
            .then(|| now(&language.text(scope_key(present)), language)),
    }
}

/// Returns the cooldowns.
pub(super) fn cooldowns(
    form: &OverviewForm,
    config: &AssistantConfig,
    language: Language,
) -> Choices {
    let present = config.qa.cooldown_seconds;
    let mut seconds: Vec<_> = COOLDOWNS.into_iter().chain([present, form.cooldown]).collect();
    seconds.sort_unstable();
    seconds.dedup();
    let option = |value: u32| Choice {
        value: value.to_string(),
        label: duration(value, language),
        hint: String::new(),
        chosen: value == form.cooldown,
        possible: true,
    };
    Choices {
        name: "cooldown",
        label: language.text("overview-cooldown"),
        options: seconds.into_iter().map(option).collect(),
        now: (present != form.cooldown && form.seen.lacks("cooldown", &present.to_string()))
            .then(|| now(&duration(present, language), language)),
    }
}
