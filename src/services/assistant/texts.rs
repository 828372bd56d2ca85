//! The welcome message and the group rules.

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{AssistantConfig, SettingText, limits};
use chatkeep_core::event::ChannelRef;
use chatkeep_core::id::ChannelId;
use chatkeep_store::{Setting, SettingVersions};
use chatkeep_workers::assistant::Newcomers;

use super::super::input::text;
use super::super::{FieldPath, ServiceError};
use super::{AssistantChange, AssistantService, SettingRevision, SettingsAccess};

/// A text of the settings.
#[derive(Clone, Debug)]
pub struct VersionedText {
    /// Version of the text, which changes may name.
    pub version: i64,
    /// Last change of the text.
    pub revision: SettingRevision,
    /// The text; empty when none is set.
    pub text: String,
}

/// Text of a request.
#[derive(Clone, Debug)]
pub struct FieldText {
    /// Field that it stands in.
    pub field: FieldPath,
    pub text: String,
}

/// Versions of what is changed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextVersions {
    pub settings: i64,
    pub group_rules: i64,
}

impl FieldText {
    fn checked(self) -> Result<String, ServiceError> {
        text(self.field, self.text, 0, limits::TEXT)
    }
}

impl VersionedText {
    /// Returns it if it has one of these versions.
    fn expected(self, versions: Option<&[i64]>) -> Result<Self, ServiceError> {
        let is_stale = versions.is_some_and(|versions| !versions.contains(&self.version));
        if is_stale { Err(ServiceError::Stale) } else { Ok(self) }
    }
}

impl AssistantService {
    /// Returns the welcome message.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn welcome(&self, access: &SettingsAccess) -> Result<VersionedText, ServiceError> {
        self.versioned(access.channel(), self.store.assistant().welcome(access.channel()).await?)
            .await
    }

    /// Sets the welcome message if it has one of the `expected` versions; `None` leaves it as it is.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a text that is too long, [`ServiceError::Stale`] for another
    /// version.
    #[boxed]
    pub async fn set_welcome(
        &self,
        access: &SettingsAccess,
        message: Option<FieldText>,
        expected: Option<&[i64]>,
    ) -> Result<VersionedText, ServiceError> {
        let Some(message) = message else {
            return self.welcome(access).await?.expected(expected);
        };
        let message = message.checked()?;
        let change = |mut config: AssistantConfig, versions: SettingVersions| {
            if expected.is_some_and(|expected| !expected.contains(&versions.welcome)) {
                return Err(ServiceError::Stale);
            }
            config.welcome.message = message;
            Ok(config)
        };
        let (channel, now) = (access.channel(), self.clock.now());
        self.store
            .assistant()
            .change_assistant_config(channel, access.user(), now, change)
            .await??;
        self.reload(channel).await;
        self.welcome(access).await
    }

    /// Returns the group rules.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn group_rules(
        &self,
        access: &SettingsAccess,
    ) -> Result<VersionedText, ServiceError> {
        self.versioned(
            access.channel(),
            self.store.assistant().group_rules(access.channel()).await?,
        )
        .await
    }

    /// Sets the group rules if they have one of the `expected` versions; `None` leaves them as they
    /// are.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a text that is too long, [`ServiceError::Stale`] for another
    /// version.
    #[boxed]
    pub async fn set_group_rules(
        &self,
        access: &SettingsAccess,
        content: Option<FieldText>,
        expected: Option<&[i64]>,
    ) -> Result<VersionedText, ServiceError> {
        let Some(content) = content else {
            return self.group_rules(access).await?.expected(expected);
        };
        let content = content.checked()?;
        let (channel, now) = (access.channel(), self.clock.now());
        let user = access.user();
        if !self.store.assistant().set_group_rules(channel, &content, expected, user, now).await? {
            return Err(ServiceError::Stale);
        }
        self.reload(channel).await;
        self.group_rules(access).await
    }

    /// Changes settings and the group rules at once if both have the `expected` versions.
    ///
    /// # Errors
    /// Those of [`Self::change_settings`] and [`Self::set_group_rules`].
    #[boxed]
    pub async fn change_texts(
        &self,
        access: &SettingsAccess,
        change: AssistantChange,
        content: FieldText,
        expected: TextVersions,
    ) -> Result<(), ServiceError> {
        let content = content.checked()?;
        let channel = access.channel();
        let plan = self.store.members().owner_plan(channel).await?;
        let (settings, version) = ([expected.settings], [expected.group_rules]);
        let change = self.checked_change(channel, change, plan, Some(&settings));
        let group_rules = (content.as_str(), Some(version.as_slice()));
        let now = self.clock.now();
        let store = self.store.assistant();
        let changed = store
            .change_assistant_texts(channel, access.user(), now, change, group_rules)
            .await??;
        if !changed {
            return Err(ServiceError::Stale);
        }
        self.reload(channel).await;
        Ok(())
    }

    /// Returns the welcome that `template` would make for somebody with that name.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn welcome_preview(
        &self,
        access: &SettingsAccess,
        template: &str,
        name: Option<String>,
    ) -> Result<String, ServiceError> {
        let channel = self.store.channels().channel(access.channel()).await?;
        let channel = channel.ok_or(ServiceError::PermissionDenied)?;
        let compiled = self.compiled(access.channel()).await?;
        let newcomers = Newcomers { names: name.into_iter().collect(), others: false };
        let place = ChannelRef { id: channel.id, kind: channel.kind };
        let text = self
            .assistants
            .welcome_text(&compiled, template, newcomers, channel.name, &place)
            .await?;
        Ok(text)
    }

    async fn versioned(
        &self,
        channel: &ChannelId,
        setting: Setting<SettingText>,
    ) -> Result<VersionedText, ServiceError> {
        let SettingText { revision, text } = setting.value;
        let revision = self.revision(channel, revision).await?;
        Ok(VersionedText { version: setting.version, revision, text })
    }
}
