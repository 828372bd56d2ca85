//! Settings of the assistant. Every change raises the channel's `version` in the same transaction,
//! so that a worker detects with one small read that its compiled state is outdated.

/// Expression for the version after a change at the time `$at`, in milliseconds since 1970: at least
/// that time, so that it is never one that the database gave before and has lost since.
macro_rules! next_version {
    ($at:literal) => {
        concat!(
            "CASE WHEN version < CAST(",
            $at,
            " AS BIGINT) THEN CAST(",
            $at,
            " AS BIGINT)
                  ELSE version + 1 END"
        )
    };
}

/// Builds the statement that reads the settings of a channel.
macro_rules! settings {
    () => {
        "SELECT config, welcome_at, welcome_by, rules_text, rules_at, rules_by, qa_at, qa_by,
                config_v, welcome_v, rules_v, qa_v
         FROM assistants WHERE channel_id = $1"
    };
}

mod edit;
mod rules;

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{AssistantConfig, Revision, SettingText};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;

use edit::{Edit, change_config, locked, save_group_rules};
pub use rules::{RuleChange, RuleChanged};

use super::{AssistantStore, StoreError, parsed};
use crate::query::query_as;

#[derive(Debug, sqlx_macros::FromRow)]
struct AssistantRow {
    config: String,
    welcome_at: Option<i64>,
    welcome_by: Option<String>,
    rules_text: String,
    rules_at: Option<i64>,
    rules_by: Option<String>,
    qa_at: Option<i64>,
    qa_by: Option<String>,
    config_v: i64,
    welcome_v: i64,
    rules_v: i64,
    qa_v: i64,
}

const READ: &str = settings!();
const VERSION: &str = "
    SELECT a.version,
           (SELECT u.plan FROM members m JOIN users u ON u.user_id = m.user_id
            WHERE m.channel_id = a.channel_id AND m.role = 'owner' ORDER BY m.user_id LIMIT 1)
    FROM assistants a WHERE a.channel_id = $1";

/// Settings object with its version, which rises with every change of it; 0 while nothing was ever
/// set.
#[derive(Clone, Debug)]
pub struct Setting<T> {
    /// Version of the object.
    pub version: i64,
    /// Settings object.
    pub value: T,
}

/// Versions of the switches and of the welcome text, which is one of them.
#[derive(Clone, Copy, Debug)]
pub struct SettingVersions {
    /// Version of all switches.
    pub config: i64,
    /// Version of the welcome text.
    pub welcome: i64,
}

/// Versions that a caller may replace; `None` for any.
pub type IfMatch<'a> = Option<&'a [i64]>;

fn fits(version: i64, if_match: IfMatch<'_>) -> bool {
    if_match.is_none_or(|versions| versions.contains(&version))
}

/// Short fingerprint of an assistant's inputs: while it is the same, so is the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssistantState {
    /// Version of the settings.
    pub version: i64,
    /// Plan of the channel's owner; `None` while it has no owner.
    pub plan: Option<Plan>,
}

impl AssistantStore<'_> {
    /// Returns the state of a channel's settings; `None` while nothing was ever set.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn assistant_state(
        &self,
        channel: &ChannelId,
    ) -> Result<Option<AssistantState>, StoreError> {
        let row: Option<(i64, Option<String>)> =
            self.store.db.fetch_optional(query_as(VERSION).bind(channel.as_str())).await?;
        let Some((version, plan)) = row.filter(|(version, _)| *version > 0) else {
            return Ok(None);
        };
        let plan = plan.map(|plan| parsed(Plan::parse(&plan), "users", "plan", channel.as_str()));
        Ok(Some(AssistantState { version, plan: plan.transpose()? }))
    }

    /// Returns a channel's switches; the defaults while nothing was ever set.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn assistant_config(
        &self,
        channel: &ChannelId,
    ) -> Result<AssistantConfig, StoreError> {
        Ok(self.assistant_setting(channel).await?.value)
    }

    /// Returns a channel's switches with their version.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn assistant_setting(
        &self,
        channel: &ChannelId,
    ) -> Result<Setting<AssistantConfig>, StoreError> {
        Ok(match self.assistant_row(channel).await? {
            Some(row) => Setting { version: row.config_v, value: config_of(&row, channel)? },
            None => Setting { version: 0, value: AssistantConfig::default() },
        })
    }

    /// Changes a channel's switches by `change`, which gets the present ones with the versions of
    /// the switches and of the welcome text, and may refuse. Without a difference it is no edit.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn change_assistant_config<E: Send>(
        &self,
        channel: &ChannelId,
        by: &UserId,
        now: Timestamp,
        change: impl FnOnce(AssistantConfig, SettingVersions) -> Result<AssistantConfig, E> + Send,
    ) -> Result<Result<Setting<AssistantConfig>, E>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row = locked(&mut tx, channel).await?;
        let changed = change_config(&mut tx, &row, Edit { channel, by, now }, change).await?;
        if changed.is_ok() {
            tx.commit().await?;
        }
        Ok(changed)
    }

    /// Changes a channel's switches as [`Self::change_assistant_config`] does, and sets the
    /// group-rules text as [`Self::set_group_rules`] does, in one transaction: both or neither.
    /// `Ok(Ok(false))` when the version of the group rules is not one of `if_match`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn change_assistant_texts<E: Send>(
        &self,
        channel: &ChannelId,
        by: &UserId,
        now: Timestamp,
        change: impl FnOnce(AssistantConfig, SettingVersions) -> Result<AssistantConfig, E> + Send,
        (group_rules, if_match): (&str, IfMatch<'_>),
    ) -> Result<Result<bool, E>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row = locked(&mut tx, channel).await?;
        if let Err(refusal) =
            change_config(&mut tx, &row, Edit { channel, by, now }, change).await?
        {
            return Ok(Err(refusal));
        }
        if !fits(row.rules_v, if_match) {
            return Ok(Ok(false));
        }
        save_group_rules(&mut tx, &row, Edit { channel, by, now }, group_rules).await?;
        tx.commit().await?;
        Ok(Ok(true))
    }

    /// Returns the welcome text.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn welcome(&self, channel: &ChannelId) -> Result<Setting<SettingText>, StoreError> {
        let Some(row) = self.assistant_row(channel).await? else {
            return Ok(Setting { version: 0, value: SettingText::default() });
        };
        let text = config_of(&row, channel)?.welcome.message;
        let value = SettingText { revision: revision(row.welcome_at, row.welcome_by), text };
        Ok(Setting { version: row.welcome_v, value })
    }

    /// Returns the group-rules text.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn group_rules(
        &self,
        channel: &ChannelId,
    ) -> Result<Setting<SettingText>, StoreError> {
        let Some(row) = self.assistant_row(channel).await? else {
            return Ok(Setting { version: 0, value: SettingText::default() });
        };
        let revision = revision(row.rules_at, row.rules_by);
        let value = SettingText { revision, text: row.rules_text };
        Ok(Setting { version: row.rules_v, value })
    }

    /// Sets the group-rules text. `false` when its version is not one of `if_match`. Setting the
    /// same text again is no edit.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn set_group_rules<'s>(
        &'s self,
        channel: &ChannelId,
        text: &str,
        if_match: IfMatch<'s>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row = locked(&mut tx, channel).await?;
        if !fits(row.rules_v, if_match) {
            return Ok(false);
        }
        save_group_rules(&mut tx, &row, Edit { channel, by, now }, text).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn assistant_row(&self, channel: &ChannelId) -> Result<Option<AssistantRow>, StoreError> {
        Ok(self.store.db.fetch_optional(query_as(READ).bind(channel.as_str())).await?)
    }
}

fn config_of(row: &AssistantRow, channel: &ChannelId) -> Result<AssistantConfig, StoreError> {
    let config = serde_json::from_str(&row.config).ok();
    parsed(config, "assistants", "config", channel.as_str())
}

fn revision(at: Option<i64>, by: Option<String>) -> Revision {
    Revision { updated_at: at.map(Timestamp::from_millis), updated_by: by.map(UserId::new) }
}
