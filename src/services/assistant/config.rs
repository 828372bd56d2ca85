//! Settings of the assistant and their changes.

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{
    AssistantConfig, KeywordMatch, NoMatchScope, QaMode, Strictness, TriggerConfig, WelcomeConfig,
    limits,
};
use chatkeep_core::id::ChannelId;
use chatkeep_core::plan::Plan;
use chatkeep_index::is_blank;
use chatkeep_store::{Setting, SettingVersions};
use chatkeep_view::pseudonyms::Mask;

use super::super::input::{keywords, text};
use super::super::{FieldPath, Nullable, ServiceError};
use super::{AssistantService, SettingsAccess};

/// A day: a longer cooldown would be a switched-off rule.
const MAX_COOLDOWN: u32 = 86_400;
/// Refusal of a link to nowhere.
const NO_ADDRESS: &str =
    "cannot be true: chatkeep has no public address; its operator sets it as api.base_url";

/// Settings of the assistant.
#[derive(Clone, Debug)]
pub struct AssistantSettings {
    /// Version of the settings, which changes may name.
    pub version: i64,
    /// The settings.
    pub config: AssistantConfig,
    /// Mode in effect under the plan of the channel's owner.
    pub effective_mode: QaMode,
    /// True if the plan of the channel's owner includes semantic mode.
    pub semantic: bool,
}

/// Change of the settings; absent values are unchanged.
#[derive(Clone, Debug, Default)]
pub struct AssistantChange {
    /// Master switch: while false, the bot never replies.
    pub enabled: Option<bool>,
    /// Questions and answers.
    pub qa: Option<QaChange>,
    /// The welcome of new members.
    pub welcome: Option<WelcomeChange>,
    /// The group rules.
    pub rules: Option<TriggerChange>,
    /// The link to the channel's page.
    pub link: Option<TriggerChange>,
}

/// Change of the question-and-answer settings; absent values are unchanged.
#[derive(Clone, Debug, Default)]
pub struct QaChange {
    /// Enables questions and answers.
    pub enabled: Option<bool>,
    /// Matching mode; `semantic` requires the plan `pro`.
    pub mode: Option<QaMode>,
    /// Reply when no rule matches.
    pub no_match_reply: Nullable<String>,
    /// Messages that get the reply of no match.
    pub no_match_scope: Option<NoMatchScope>,
    /// Method of matching keywords.
    pub keyword_match: Option<KeywordMatch>,
    /// Certainty that a reply of the tolerant modes requires.
    pub strictness: Option<Strictness>,
    /// Cooldown of a rule in seconds, at most a day.
    pub cooldown_seconds: Option<u32>,
}

/// Change of the welcome settings; absent values are unchanged.
#[derive(Clone, Debug, Default)]
pub struct WelcomeChange {
    /// Enables the welcome.
    pub enabled: Option<bool>,
    /// Welcome text.
    pub message: Option<String>,
}

/// Change of the settings of a reply that certain words trigger; absent values are unchanged.
#[derive(Clone, Debug, Default)]
pub struct TriggerChange {
    /// Enables the reply; the link only where the service has a public address.
    pub enabled: Option<bool>,
    /// Words that make the bot send it.
    pub trigger_keywords: Option<Vec<String>>,
}

impl AssistantSettings {
    /// Returns the settings as a reader may see them.
    #[must_use]
    pub fn shown(self, mask: &Mask) -> Self {
        Self { config: mask.show(self.config).into_row(), ..self }
    }
}

impl AssistantService {
    /// Returns the address that the bot gives to people of the channel; `None` where the service has no
    /// public one.
    pub fn link(&self, access: &SettingsAccess) -> Option<String> {
        self.assistants.link_of(access.channel())
    }

    /// Returns the settings.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn settings(
        &self,
        access: &SettingsAccess,
    ) -> Result<AssistantSettings, ServiceError> {
        let plan = self.store.members().owner_plan(access.channel()).await?;
        let setting = self.store.assistant().assistant_setting(access.channel()).await?;
        Ok(AssistantSettings::new(setting, plan))
    }

    /// Changes the settings if they have one of the `expected` versions; any version without.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad value, or for enabling the link without a public address
    /// of the service, [`ServiceError::PlanRequired`] for a new mode that the owner's plan does not
    /// include, [`ServiceError::Stale`] for another version.
    #[boxed]
    pub async fn change_settings(
        &self,
        access: &SettingsAccess,
        change: AssistantChange,
        expected: Option<&[i64]>,
    ) -> Result<AssistantSettings, ServiceError> {
        let channel = access.channel();
        let plan = self.store.members().owner_plan(channel).await?;
        let change = self.checked_change(channel, change, plan, expected);
        let now = self.clock.now();
        let changed = self
            .store
            .assistant()
            .change_assistant_config(channel, access.user(), now, change)
            .await?;
        self.reload(channel).await;
        Ok(AssistantSettings::new(changed?, plan))
    }

    /// Returns the change of a channel's settings that refuses what may not be, and another version
    /// than the `expected` ones.
    pub(super) fn checked_change(
        &self,
        channel: &ChannelId,
        change: AssistantChange,
        plan: Option<Plan>,
        expected: Option<&[i64]>,
    ) -> impl FnOnce(AssistantConfig, SettingVersions) -> Result<AssistantConfig, ServiceError>
    {
        move |config, versions| {
            let (mode, had_link) = (config.qa.mode, config.link.enabled);
            // Errors that apply to every version are reported first.
            let changed = change.applied_to(config)?;
            // A link from before the public address was removed may stay: nothing is said.
            if changed.link.enabled && !had_link && self.assistants.link_of(channel).is_none() {
                let field = FieldPath::body("/assistant/link/enabled");
                return Err(ServiceError::invalid_value(field, NO_ADDRESS));
            }
            // A mode from before a downgrade may stay: it runs as another one.
            if changed.qa.mode != mode && changed.qa.mode.under(plan) != changed.qa.mode {
                return Err(ServiceError::PlanRequired);
            }
            if expected.is_some_and(|expected| !expected.contains(&versions.config)) {
                return Err(ServiceError::Stale);
            }
            Ok(changed)
        }
    }
}

impl AssistantSettings {
    /// Returns the settings under the plan of the channel's owner.
    pub(crate) fn new(setting: Setting<AssistantConfig>, plan: Option<Plan>) -> Self {
        let effective_mode = setting.value.qa.mode.under(plan);
        let semantic = QaMode::Semantic.under(plan) == QaMode::Semantic;
        Self { version: setting.version, config: setting.value, effective_mode, semantic }
    }
}

impl AssistantChange {
    fn applied_to(self, mut config: AssistantConfig) -> Result<AssistantConfig, ServiceError> {
        set(&mut config.enabled, self.enabled);
        if let Some(qa) = self.qa {
            qa.apply(&mut config)?;
        }
        if let Some(welcome) = self.welcome {
            welcome.apply(&mut config.welcome)?;
        }
        if let Some(rules) = self.rules {
            rules.apply(&mut config.rules, "/assistant/rules/triggerKeywords")?;
        }
        if let Some(link) = self.link {
            link.apply(&mut config.link, "/assistant/link/triggerKeywords")?;
        }
        Ok(config)
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

impl QaChange {
    fn apply(self, config: &mut AssistantConfig) -> Result<(), ServiceError> {
        let qa = &mut config.qa;
        if self.cooldown_seconds.is_some_and(|seconds| seconds > MAX_COOLDOWN) {
            let field = FieldPath::body("/assistant/qa/cooldownSeconds");
            let why = format_args!("must be at most {MAX_COOLDOWN}");
            return Err(ServiceError::invalid_value(field, why));
        }
        if let Nullable::To(reply) = self.no_match_reply {
            let field = FieldPath::body("/assistant/qa/noMatchReply");
            let checked = reply.map(|reply| text(field, reply, 0, limits::ANSWER));
            // Nobody can be sent a blank text.
            qa.no_match_reply = checked.transpose()?.filter(|reply| !is_blank(reply));
        }
        set(&mut qa.enabled, self.enabled);
        set(&mut qa.mode, self.mode);
        set(&mut qa.no_match_scope, self.no_match_scope);
        set(&mut qa.keyword_match, self.keyword_match);
        set(&mut qa.strictness, self.strictness);
        set(&mut qa.cooldown_seconds, self.cooldown_seconds);
        Ok(())
    }
}

impl WelcomeChange {
    fn apply(self, welcome: &mut WelcomeConfig) -> Result<(), ServiceError> {
        set(&mut welcome.enabled, self.enabled);
        if let Some(message) = self.message {
            let field = FieldPath::body("/assistant/welcome/message");
            welcome.message = text(field, message, 0, limits::TEXT)?;
        }
        Ok(())
    }
}

impl TriggerChange {
    /// Applies the change to the settings whose keywords are that field.
    fn apply(self, trigger: &mut TriggerConfig, field: &'static str) -> Result<(), ServiceError> {
        set(&mut trigger.enabled, self.enabled);
        if let Some(words) = self.trigger_keywords {
            trigger.trigger_keywords =
                keywords(FieldPath::body(field), words, 0, limits::TRIGGERS)?;
        }
        Ok(())
    }
}
