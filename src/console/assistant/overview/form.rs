//! Form of the page: as a browser sends it, and as an address carries it.

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode, Strictness};
use chatkeep_services::assistant::{
    AssistantChange, AssistantSettings, QaChange, TriggerChange, WelcomeChange,
};
use serde::Deserialize;
use url::form_urlencoded;

use super::super::super::form::query_of;
use super::super::seen::{SeenValues, state};

/// Field of the page's address with a form that was not saved.
const DRAFT: &str = "draft";

/// Form of the page. An absent switch is off.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OverviewForm {
    /// Version of the settings that the form was filled with.
    pub(super) version: i64,
    /// Values that the form was filled with.
    #[serde(default)]
    pub(super) seen: SeenValues,
    pub(super) enabled: Option<String>,
    pub(super) qa: Option<String>,
    pub(super) welcome: Option<String>,
    pub(super) rules: Option<String>,
    pub(super) mode: QaMode,
    #[serde(rename = "match")]
    pub(super) keyword_match: KeywordMatch,
    /// Absent in a page of an earlier version.
    pub(super) strictness: Option<Strictness>,
    pub(super) scope: NoMatchScope,
    pub(super) cooldown: u32,
    /// `compare` leads to what would change.
    #[serde(default, rename = "do")]
    pub(super) act: String,
}

impl OverviewForm {
    pub(in crate::assistant) fn of(settings: &AssistantSettings) -> Self {
        let config = &settings.config;
        let switch = |on: bool| on.then(|| "yes".to_owned());
        let cooldown = config.qa.cooldown_seconds.to_string();
        Self {
            version: settings.version,
            seen: SeenValues::of(&[
                ("enabled", state(config.enabled)),
                ("qa", state(config.qa.enabled)),
                ("welcome", state(config.welcome.enabled)),
                ("rules", state(config.rules.enabled)),
                ("mode", config.qa.mode.name()),
                ("match", config.qa.keyword_match.name()),
                ("strictness", config.qa.strictness.name()),
                ("scope", config.qa.no_match_scope.name()),
                ("cooldown", &cooldown),
            ]),
            enabled: switch(config.enabled),
            qa: switch(config.qa.enabled),
            welcome: switch(config.welcome.enabled),
            rules: switch(config.rules.enabled),
            mode: config.qa.mode,
            keyword_match: config.qa.keyword_match,
            strictness: Some(config.qa.strictness),
            scope: config.qa.no_match_scope,
            cooldown: config.qa.cooldown_seconds,
            act: String::new(),
        }
    }

    /// Returns the form of a page of an earlier version, which carries that version of the settings and
    /// none of their values.
    pub(in crate::assistant) fn of_version(version: i64, settings: &AssistantSettings) -> Self {
        Self { version, seen: SeenValues::default(), ..Self::of(settings) }
    }

    /// Returns the form with these values, where they are given.
    pub(in crate::assistant) fn with(
        self,
        mode: Option<QaMode>,
        keyword_match: Option<KeywordMatch>,
        strictness: Option<Strictness>,
    ) -> Self {
        Self {
            mode: mode.unwrap_or(self.mode),
            keyword_match: keyword_match.unwrap_or(self.keyword_match),
            strictness: strictness.or(self.strictness),
            ..self
        }
    }

    /// Returns the form as a value of an address, with the version and the digests that it has.
    pub(in crate::assistant) fn encoded(&self) -> String {
        let switches = [
            ("enabled", &self.enabled),
            ("qa", &self.qa),
            ("welcome", &self.welcome),
            ("rules", &self.rules),
        ];
        let on = switches.into_iter().filter(|(_, given)| given.is_some());
        form_urlencoded::Serializer::new(String::new())
            .append_pair("version", &self.version.to_string())
            .append_pair("seen", self.seen.as_str())
            .extend_pairs(on.map(|(name, _)| (name, "yes")))
            .append_pair("mode", self.mode.name())
            .append_pair("match", self.keyword_match.name())
            .extend_pairs(self.strictness.map(|one| ("strictness", one.name())))
            .append_pair("scope", self.scope.name())
            .append_pair("cooldown", &self.cooldown.to_string())
            .finish()
    }

    /// Reads what [`Self::encoded`] returned; `None` if it is no form.
    pub(in crate::assistant) fn decoded(value: &str) -> Option<Self> {
        serde_html_form::from_str(value).ok()
    }

    /// Returns the address of the page with the form filled in; `page` is the path of the page.
    pub(in crate::assistant) fn address(&self, page: &str) -> String {
        format!("{page}?{}", query_of(&[(DRAFT, &self.encoded())]))
    }

    /// Returns the form in the query of an address; `None` if it has none.
    pub(super) fn in_query(query: Option<&str>) -> Option<Self> {
        let mut pairs = form_urlencoded::parse(query?.as_bytes());
        let (_, draft) = pairs.find(|(name, _)| name == DRAFT)?;
        Self::decoded(&draft)
    }

    /// Returns the version of the settings that the form may change: the present one if its own
    /// fields are as they were when it was filled, whatever became of other settings.
    pub(super) fn version_for(&self, settings: &AssistantSettings) -> i64 {
        let is_same = Self::of(settings).seen == self.seen;
        if is_same { settings.version } else { self.version }
    }

    pub(super) fn change(&self) -> AssistantChange {
        let qa = QaChange {
            enabled: Some(self.qa.is_some()),
            mode: Some(self.mode),
            no_match_scope: Some(self.scope),
            keyword_match: Some(self.keyword_match),
            strictness: self.strictness,
            cooldown_seconds: Some(self.cooldown),
            ..QaChange::default()
        };
        let welcome =
            WelcomeChange { enabled: Some(self.welcome.is_some()), ..WelcomeChange::default() };
        let rules =
            TriggerChange { enabled: Some(self.rules.is_some()), ..TriggerChange::default() };
        AssistantChange {
            enabled: Some(self.enabled.is_some()),
            qa: Some(qa),
            welcome: Some(welcome),
            rules: Some(rules),
            link: None,
        }
    }
}
