//! Arguments of the tools. They come from a model, so they are parsed leniently where the meaning
//! is clear, and rejected with a remedy where it is not.

use chatkeep_core::id::ChannelId;
use chatkeep_store::MemberStatus;
use chrono::NaiveDate;
use rmcp::schemars::{self, JsonSchema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::decode::whole;
use crate::services::{FieldPath, LIMIT, ServiceError};
use crate::when::When;

/// Default number of rows.
const ROWS: u32 = 20;

/// `list_channels`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ListChannels {
    /// nextCursor of the previous page.
    #[serde(default, deserialize_with = "filled")]
    pub(super) cursor: Option<String>,
}

/// `get_messages`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GetMessages {
    /// Channel id from `list_channels`.
    pub(super) channel_id: String,
    /// Only that day (YYYY-MM-DD) in the channel's time zone.
    #[serde(default, deserialize_with = "filled")]
    pub(super) date: Option<String>,
    /// Sent at or after this time: 2026-01-31T08:00:00Z, or 2026-01-31 for the day's start.
    #[serde(default, deserialize_with = "filled")]
    pub(super) from: Option<String>,
    /// Sent before this time; same form as from.
    #[serde(default, deserialize_with = "filled")]
    pub(super) to: Option<String>,
    /// Sent by this person: a userId.
    #[serde(default, deserialize_with = "filled")]
    pub(super) sender_id: Option<String>,
    /// Maximum rows. 1 returns a long message in full.
    #[serde(default = "rows", deserialize_with = "limit")]
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: u32,
    /// nextCursor of the previous page; all else unchanged.
    #[serde(default, deserialize_with = "filled")]
    pub(super) cursor: Option<String>,
}

/// `search_messages`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SearchMessages {
    /// Words; also "a phrase", -without, from:name, type:image, has:link, has:media,
    /// before:2026-01-31, after:2026-01-01.
    #[schemars(length(min = 1, max = 200))]
    pub(super) query: String,
    /// Search only this channel; without it, all of them.
    #[serde(default, deserialize_with = "filled")]
    pub(super) channel_id: Option<String>,
    /// Sent at or after this time: 2026-01-31T08:00:00Z, or 2026-01-31 for the day's start.
    #[serde(default, deserialize_with = "filled")]
    pub(super) from: Option<String>,
    /// Sent before this time; same form as from.
    #[serde(default, deserialize_with = "filled")]
    pub(super) to: Option<String>,
    /// Sent by this person: a userId.
    #[serde(default, deserialize_with = "filled")]
    pub(super) sender_id: Option<String>,
    /// Maximum rows.
    #[serde(default = "rows", deserialize_with = "limit")]
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: u32,
    /// nextCursor of the previous page; all else unchanged.
    #[serde(default, deserialize_with = "filled")]
    pub(super) cursor: Option<String>,
}

/// `get_members`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GetMembers {
    /// Channel id from `list_channels`.
    pub(super) channel_id: String,
    /// Only present members (active), or former ones (left).
    #[serde(default)]
    #[schemars(with = "Option<Status>")]
    pub(super) status: Option<MemberStatus>,
    /// Maximum rows.
    #[serde(default = "rows", deserialize_with = "limit")]
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: u32,
    /// nextCursor of the previous page; all else unchanged.
    #[serde(default, deserialize_with = "filled")]
    pub(super) cursor: Option<String>,
}

/// Serialised form of [`MemberStatus`].
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "only its form is used")]
enum Status {
    Active,
    Left,
}

const fn rows() -> u32 {
    ROWS
}

/// Deserialises an argument; an empty one counts as absent.
fn filled<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(value)?;
    if text.as_ref().is_some_and(|text| text.contains('\0')) {
        return Err(D::Error::custom("contains U+0000"));
    }
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

fn limit<'de, D: Deserializer<'de>>(value: D) -> Result<u32, D::Error> {
    match whole(value) {
        Ok(None) => Ok(ROWS),
        Ok(Some(limit)) if (1..=LIMIT.1).contains(&limit) => Ok(limit),
        _ => Err(D::Error::custom("must be a whole number from 1 to 100")),
    }
}

/// Parses a channel id; an invalid one counts as unknown.
pub(super) fn channel(text: &str) -> Result<ChannelId, ServiceError> {
    let text = text.trim();
    if text.is_empty() || text.contains('\0') {
        return Err(ServiceError::PermissionDenied);
    }
    Ok(ChannelId::from(text))
}

/// Parses a day.
pub(super) fn day(field: FieldPath, text: &str) -> Result<NaiveDate, ServiceError> {
    text.parse().map_err(|_| ServiceError::invalid_value(field, "must be a day such as 2026-01-31"))
}

/// Parses a time or a day.
pub(super) fn when(field: FieldPath, text: Option<&str>) -> Result<Option<When>, ServiceError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let wrong = || ServiceError::invalid_value(field, When::refusal());
    When::parse(text).map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::decode::arguments as read;

    fn why(arguments: Value) -> String {
        match read::<GetMessages>(arguments) {
            Err(ServiceError::Invalid { field: Some(field), why, .. }) => {
                format!("{} {why}", field.text())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_left_empty_is_not_given() {
        let given = read::<GetMessages>(json!({
            "channelId": "C1", "date": "", "from": null, "to": " ", "limit": 3.0
        }));
        let given = given.unwrap();
        assert!(given.date.is_none() && given.from.is_none() && given.to.is_none());
        assert_eq!(given.limit, 3);
        let bare = read::<GetMessages>(json!({"channelId": "C1", "limit": null}));
        assert_eq!(bare.unwrap().limit, ROWS);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for limit in [json!(0), json!(101), json!("20"), json!(-1), json!(1.5)] {
            let why = why(json!({"channelId": "C1", "limit": limit}));
            assert_eq!(why, "/limit limit must be a whole number from 1 to 100");
        }
        assert_eq!(why(json!({})), "/channelId channelId is missing");
        let unknown = why(json!({"channelId": "C1", "channel": "C1"}));
        assert!(unknown.contains("channel is unknown: allowed are channelId, date"), "{unknown}");
        let nul = why(json!({"channelId": "C1", "senderId": "a\0b"}));
        assert!(nul.contains("senderId") && nul.contains("U+0000"), "{nul}");
    }
}
