//! Settings of the assistant. Every change raises the channel's `version` in the same transaction,
//! so that a worker detects with one small read that its compiled state is outdated.

mod rules;

use chatkeep_core::assistant::{AssistantConfig, Revision, SettingText};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;

pub use rules::{RuleChange, RuleChanged};

use super::activity_log::{ChangeKind, NewChange, log_change, log_settings};
use super::db::{Sql, Tx, locking};
use super::{AssistantStore, StoreError, parsed};
use crate::query::{query, query_as};

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

const READ: &str = "
    SELECT config, welcome_at, welcome_by, rules_text, rules_at, rules_by, qa_at, qa_by,
           config_v, welcome_v, rules_v, qa_v
    FROM assistants WHERE channel_id = $1";
const LOCK: Sql = locking!(
    "SELECT config, welcome_at, welcome_by, rules_text, rules_at, rules_by, qa_at, qa_by,
            config_v, welcome_v, rules_v, qa_v
     FROM assistants WHERE channel_id = $1"
);
const VERSION: &str = "
    SELECT a.version,
           (SELECT u.plan FROM members m JOIN users u ON u.user_id = m.user_id
            WHERE m.channel_id = a.channel_id AND m.role = 'owner' ORDER BY m.user_id LIMIT 1)
    FROM assistants a WHERE a.channel_id = $1";
const CREATE: &str = "
    INSERT INTO assistants (channel_id, config) VALUES ($1, $2)
    ON CONFLICT (channel_id) DO NOTHING";
const SET_CONFIG: &str = "
    UPDATE assistants SET config = $2, version = version + 1, config_v = config_v + 1
    WHERE channel_id = $1";
/// The welcome text is part of the switches, too.
const SET_WELCOME: &str = "
    UPDATE assistants SET config = $2, welcome_at = $3, welcome_by = $4, version = version + 1,
                          config_v = config_v + 1, welcome_v = welcome_v + 1
    WHERE channel_id = $1";
const SET_RULES: &str = "
    UPDATE assistants SET rules_text = $2, rules_at = $3, rules_by = $4, version = version + 1,
                          rules_v = rules_v + 1
    WHERE channel_id = $1";
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
    pub async fn assistant_state(
        self,
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
    pub async fn assistant_config(
        self,
        channel: &ChannelId,
    ) -> Result<AssistantConfig, StoreError> {
        Ok(self.assistant_setting(channel).await?.value)
    }

    /// Returns a channel's switches with their version.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn assistant_setting(
        self,
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
        self,
        channel: &ChannelId,
        by: &UserId,
        now: Timestamp,
        change: impl FnOnce(AssistantConfig, SettingVersions) -> Result<AssistantConfig, E> + Send,
    ) -> Result<Result<Setting<AssistantConfig>, E>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row = locked(&mut tx, channel).await?;
        let changed = change_config(&mut tx, &row, (channel, by, now), change).await?;
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
        self,
        channel: &ChannelId,
        by: &UserId,
        now: Timestamp,
        change: impl FnOnce(AssistantConfig, SettingVersions) -> Result<AssistantConfig, E> + Send,
        (group_rules, if_match): (&str, IfMatch<'_>),
    ) -> Result<Result<bool, E>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row = locked(&mut tx, channel).await?;
        if let Err(refusal) = change_config(&mut tx, &row, (channel, by, now), change).await? {
            return Ok(Err(refusal));
        }
        if !fits(row.rules_v, if_match) {
            return Ok(Ok(false));
        }
        save_group_rules(&mut tx, &row, (channel, by, now), group_rules).await?;
        tx.commit().await?;
        Ok(Ok(true))
    }

    /// Returns the welcome text.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn welcome(self, channel: &ChannelId) -> Result<Setting<SettingText>, StoreError> {
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
    pub async fn group_rules(
        self,
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
    pub async fn set_group_rules(
        self,
        channel: &ChannelId,
        text: &str,
        if_match: IfMatch<'_>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row = locked(&mut tx, channel).await?;
        if !fits(row.rules_v, if_match) {
            return Ok(false);
        }
        save_group_rules(&mut tx, &row, (channel, by, now), text).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn assistant_row(self, channel: &ChannelId) -> Result<Option<AssistantRow>, StoreError> {
        Ok(self.store.db.fetch_optional(query_as(READ).bind(channel.as_str())).await?)
    }
}

/// Returns the channel's settings row, created if missing, locked until the transaction ends.
async fn locked(tx: &mut Tx, channel: &ChannelId) -> Result<AssistantRow, StoreError> {
    let defaults = serde_json::to_string(&AssistantConfig::default())?;
    tx.execute(query(CREATE).bind(channel.as_str()).bind(&defaults)).await?;
    Ok(tx.fetch_one(query_as(LOCK).bind(channel.as_str())).await?)
}

/// Change of a channel's settings: the channel, its author and its time.
type Edit<'a> = (&'a ChannelId, &'a UserId, Timestamp);

/// Changes and logs the switches of `row` in the transaction; the refusal of `change` if it refuses.
async fn change_config<E>(
    tx: &mut Tx,
    row: &AssistantRow,
    (channel, by, now): Edit<'_>,
    change: impl FnOnce(AssistantConfig, SettingVersions) -> Result<AssistantConfig, E>,
) -> Result<Result<Setting<AssistantConfig>, E>, StoreError> {
    let before = config_of(row, channel)?;
    let versions = SettingVersions { config: row.config_v, welcome: row.welcome_v };
    let value = match change(before.clone(), versions) {
        Ok(config) => config,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if value == before {
        return Ok(Ok(Setting { version: row.config_v, value }));
    }
    save_config(tx, channel, by, now, &before, &value).await?;
    let values = (serde_json::to_value(&before)?, serde_json::to_value(&value)?);
    log_settings(tx, (channel, by), (&values.0, &values.1), now).await?;
    Ok(Ok(Setting { version: row.config_v + 1, value }))
}

/// Sets and logs the group-rules text in the transaction, if it is another than that of `row`.
async fn save_group_rules(
    tx: &mut Tx,
    row: &AssistantRow,
    (channel, by, now): Edit<'_>,
    text: &str,
) -> Result<(), StoreError> {
    if row.rules_text == text {
        return Ok(());
    }
    let (c, at) = (channel.as_str(), now.millis());
    tx.execute(query(SET_RULES).bind(c).bind(text).bind(at).bind(by.as_str())).await?;
    let change = NewChange {
        channel,
        by,
        kind: ChangeKind::GroupRules,
        subject: None,
        before: Some(&row.rules_text),
        after: Some(text),
    };
    log_change(tx, change, now).await
}

async fn save_config(
    tx: &mut Tx,
    channel: &ChannelId,
    by: &UserId,
    now: Timestamp,
    before: &AssistantConfig,
    config: &AssistantConfig,
) -> Result<(), StoreError> {
    let json = serde_json::to_string(config)?;
    let c = channel.as_str();
    if before.welcome.message == config.welcome.message {
        tx.execute(query(SET_CONFIG).bind(c).bind(&json)).await?;
    } else {
        let (at, by) = (now.millis(), by.as_str());
        tx.execute(query(SET_WELCOME).bind(c).bind(&json).bind(at).bind(by)).await?;
    }
    Ok(())
}

fn config_of(row: &AssistantRow, channel: &ChannelId) -> Result<AssistantConfig, StoreError> {
    let config = serde_json::from_str(&row.config).ok();
    parsed(config, "assistants", "config", channel.as_str())
}

fn revision(at: Option<i64>, by: Option<String>) -> Revision {
    Revision { updated_at: at.map(Timestamp::from_millis), updated_by: by.map(UserId::new) }
}
