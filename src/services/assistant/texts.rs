//! The welcome message and the group rules.

use chatkeep_core::assistant::{AssistantConfig, SettingText, limits};
use chatkeep_core::id::ChannelId;
use chatkeep_store::{Setting, SettingVersions};

use super::super::input::text;
use super::super::{FieldPath, ServiceError};
use super::{AssistantService, SettingRevision, SettingsAccess};

/// A text of the settings.
#[derive(Clone, Debug)]
pub(crate) struct VersionedText {
    /// Version of the text, which changes may name.
    pub(crate) version: i64,
    /// Last change of the text.
    pub(crate) revision: SettingRevision,
    /// The text; empty when none is set.
    pub(crate) text: String,
}

impl AssistantService {
    /// Returns the welcome message.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(crate) async fn welcome(
        &self,
        access: &SettingsAccess,
    ) -> Result<VersionedText, ServiceError> {
        self.versioned(access.channel(), self.store.assistant().welcome(access.channel()).await?)
            .await
    }

    /// Sets the welcome message, which stands in `field` of the request, if it has one of the
    /// `expected` versions.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a text that is too long, [`ServiceError::Stale`] for another
    /// version.
    pub(crate) async fn set_welcome(
        &self,
        access: &SettingsAccess,
        (field, message): (FieldPath, String),
        expected: Option<&[i64]>,
    ) -> Result<VersionedText, ServiceError> {
        let message = text(field, message, 0, limits::TEXT)?;
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
    pub(crate) async fn group_rules(
        &self,
        access: &SettingsAccess,
    ) -> Result<VersionedText, ServiceError> {
        self.versioned(
            access.channel(),
            self.store.assistant().group_rules(access.channel()).await?,
        )
        .await
    }

    /// Sets the group rules, which stand in `field` of the request, if they have one of the
    /// `expected` versions.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a text that is too long, [`ServiceError::Stale`] for another
    /// version.
    pub(crate) async fn set_group_rules(
        &self,
        access: &SettingsAccess,
        (field, content): (FieldPath, String),
        expected: Option<&[i64]>,
    ) -> Result<VersionedText, ServiceError> {
        let content = text(field, content, 0, limits::TEXT)?;
        let (channel, now) = (access.channel(), self.clock.now());
        let user = access.user();
        if !self.store.assistant().set_group_rules(channel, &content, expected, user, now).await? {
            return Err(ServiceError::Stale);
        }
        self.reload(channel).await;
        self.group_rules(access).await
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
