//! Changes of a channel's settings and their log, in the transaction that locks the settings.

use chatkeep_core::assistant::AssistantConfig;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::{AssistantRow, Setting, SettingVersions, config_of};
use crate::StoreError;
use crate::activity_log::{ChangeKind, NewChange, log_change, log_settings};
use crate::db::{Sql, Tx, locking};
use crate::query::{query, query_as};

const LOCK: Sql = locking!(settings!());
const CREATE: &str = "
    INSERT INTO assistants (channel_id, config) VALUES ($1, $2)
    ON CONFLICT (channel_id) DO NOTHING";
const SET_CONFIG: &str = concat!(
    "UPDATE assistants SET config = $2, config_v = config_v + 1, version = ",
    next_version!("$3"),
    " WHERE channel_id = $1"
);
/// The welcome text is part of the switches, too.
const SET_WELCOME: &str = concat!(
    "UPDATE assistants SET config = $2, welcome_at = $3, welcome_by = $4, config_v = config_v + 1,
                           welcome_v = welcome_v + 1, version = ",
    next_version!("$3"),
    " WHERE channel_id = $1"
);
const SET_RULES: &str = concat!(
    "UPDATE assistants SET rules_text = $2, rules_at = $3, rules_by = $4, rules_v = rules_v + 1,
                           version = ",
    next_version!("$3"),
    " WHERE channel_id = $1"
);

/// Returns the channel's settings row, created if missing, locked until the transaction ends.
pub(super) async fn locked(tx: &mut Tx, channel: &ChannelId) -> Result<AssistantRow, StoreError> {
    let defaults = serde_json::to_string(&AssistantConfig::default())?;
    tx.execute(query(CREATE).bind(channel.as_str()).bind(&defaults)).await?;
    Ok(tx.fetch_one(query_as(LOCK).bind(channel.as_str())).await?)
}

/// Change of a channel's settings.
#[derive(Clone, Copy)]
pub(super) struct Edit<'a> {
    pub(super) channel: &'a ChannelId,
    /// Author.
    pub(super) by: &'a UserId,
    pub(super) now: Timestamp,
}

/// Changes and logs the switches of `row` in the transaction; the refusal of `change` if it refuses.
pub(super) async fn change_config<E>(
    tx: &mut Tx,
    row: &AssistantRow,
    edit: Edit<'_>,
    change: impl FnOnce(AssistantConfig, SettingVersions) -> Result<AssistantConfig, E>,
) -> Result<Result<Setting<AssistantConfig>, E>, StoreError> {
    let Edit { channel, by, now } = edit;
    let before = config_of(row, channel)?;
    let versions = SettingVersions { config: row.config_v, welcome: row.welcome_v };
    let value = match change(before.clone(), versions) {
        Ok(config) => config,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if value == before {
        return Ok(Ok(Setting { version: row.config_v, value }));
    }
    save_config(tx, edit, &before, &value).await?;
    let values = (serde_json::to_value(&before)?, serde_json::to_value(&value)?);
    log_settings(tx, (channel, by), (&values.0, &values.1), now).await?;
    Ok(Ok(Setting { version: row.config_v + 1, value }))
}

/// Sets and logs the group-rules text in the transaction, if it is another than that of `row`.
pub(super) async fn save_group_rules(
    tx: &mut Tx,
    row: &AssistantRow,
    Edit { channel, by, now }: Edit<'_>,
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
    Edit { channel, by, now }: Edit<'_>,
    before: &AssistantConfig,
    config: &AssistantConfig,
) -> Result<(), StoreError> {
    let json = serde_json::to_string(config)?;
    let (c, at, by) = (channel.as_str(), now.millis(), by.as_str());
    if before.welcome.message == config.welcome.message {
        tx.execute(query(SET_CONFIG).bind(c).bind(&json).bind(at)).await?;
    } else {
        tx.execute(query(SET_WELCOME).bind(c).bind(&json).bind(at).bind(by)).await?;
    }
    Ok(())
}
