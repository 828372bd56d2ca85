//! Parsing of arguments. They come from a model, so they are parsed leniently where the meaning is
//! clear, and rejected with a remedy where it is not.

use chatkeep_search::Sort;
use chatkeep_services::LIMIT;
use chatkeep_services::decode::whole;
use chatkeep_services::digest::MAX_DAYS;
use chatkeep_store::Order;
use rmcp::schemars::{self, JsonSchema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::error::ToolError;

/// Maximum length of an id, a name or a link, in bytes.
const MAX_NAME: usize = 1_000;
/// Default number of rows.
const ROWS: u32 = 20;
/// Default and maximum number of messages on each side of a message.
const NEIGHBOURS: (u32, u32) = (10, 50);

/// Order by time, in the words of REST.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum TimeOrder {
    Desc,
    Asc,
}

impl From<TimeOrder> for Order {
    fn from(order: TimeOrder) -> Self {
        match order {
            TimeOrder::Desc => Self::Descending,
            TimeOrder::Asc => Self::Ascending,
        }
    }
}

/// Order of hits, in the words of REST.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum HitOrder {
    Relevance,
    Newest,
}

impl From<HitOrder> for Sort {
    fn from(order: HitOrder) -> Self {
        match order {
            HitOrder::Relevance => Self::Relevance,
            HitOrder::Newest => Self::Newest,
        }
    }
}

/// Returns the default number of rows.
pub(super) const fn rows() -> u32 {
    ROWS
}

/// Returns the default number of messages on each side of a message.
pub(super) const fn neighbours() -> u32 {
    NEIGHBOURS.0
}

/// Deserialises an argument; an empty one counts as absent.
pub(super) fn filled<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(value)?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// Checks the length of an id, a name or a link: it is compared with many.
///
/// # Errors
/// Returns an error that names the argument.
pub(super) fn short(argument: &'static str, text: &str) -> Result<(), ToolError> {
    if text.len() <= MAX_NAME {
        return Ok(());
    }
    Err(ToolError::invalid(argument, "is longer than any id, name or link"))
}

/// Deserialises an argument that must be given.
pub(super) fn required<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let text = Option::<String>::deserialize(value)?;
    text.map(|text| text.trim().to_owned()).ok_or_else(|| D::Error::custom("is missing"))
}

/// Deserialises a maximum number of rows.
pub(super) fn limit<'de, D: Deserializer<'de>>(value: D) -> Result<u32, D::Error> {
    match whole(value) {
        Ok(None) => Ok(ROWS),
        Ok(Some(limit)) if (1..=LIMIT.1).contains(&limit) => Ok(limit),
        _ => Err(D::Error::custom("must be a whole number from 1 to 100")),
    }
}

/// Deserialises a number of messages on one side of a message.
pub(super) fn side<'de, D: Deserializer<'de>>(value: D) -> Result<u32, D::Error> {
    match whole(value) {
        Ok(None) => Ok(NEIGHBOURS.0),
        Ok(Some(count)) if count <= NEIGHBOURS.1 => Ok(count),
        _ => Err(D::Error::custom("must be a whole number from 0 to 50")),
    }
}

/// Deserialises a number of characters.
pub(super) fn count<'de, D: Deserializer<'de>>(value: D) -> Result<usize, D::Error> {
    let whole = whole(value)?.unwrap_or_default();
    usize::try_from(whole).map_err(|_| D::Error::custom("must be a whole number from 0 on"))
}

/// Deserialises a number of days.
pub(super) fn days<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    match whole(value) {
        Ok(None) => Ok(None),
        Ok(Some(days)) if (1..=MAX_DAYS).contains(&days) => Ok(Some(days)),
        _ => Err(D::Error::custom("must be a whole number from 1 to 31")),
    }
}

/// Deserialises a switch; an absent one is off.
pub(super) fn switch<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Option::<bool>::deserialize(value).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::get_messages::MessagesArguments;
    use chatkeep_services::ServiceError;
    use chatkeep_services::decode::arguments as read;

    fn why(arguments: Value) -> String {
        match read::<MessagesArguments>(arguments) {
            Err(ServiceError::Invalid { field: Some(field), why, .. }) => {
                format!("{} {why}", field.text())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_left_empty_is_not_given() {
        let given = read::<MessagesArguments>(json!({
            "channelId": "C1", "date": "", "from": null, "to": " ", "limit": 3.0
        }));
        let given = given.unwrap();
        assert!(given.date.is_none() && given.from.is_none() && given.to.is_none());
        assert_eq!(given.limit, 3);
        let bare = read::<MessagesArguments>(json!({"channelId": "C1", "limit": null}));
        assert_eq!(bare.unwrap().limit, ROWS);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for limit in [json!(0), json!(101), json!("20"), json!(-1), json!(1.5)] {
            let why = why(json!({"channelId": "C1", "limit": limit}));
            assert_eq!(why, "/limit limit must be a whole number from 1 to 100");
        }
        for missing in [json!({}), json!({"channelId": null})] {
            assert_eq!(why(missing), "/channelId channelId is missing");
        }
        let number = why(json!({"channelId": 17}));
        assert_eq!(number, "/channelId channelId must be a string: put it in quotes");
        let unknown = why(json!({"channelId": "C1", "channel": "C1"}));
        assert!(unknown.contains("channel is unknown: allowed are channelId, date"), "{unknown}");
        let nul = why(json!({"channelId": "C1", "senderId": "a\0b"}));
        assert!(nul.contains("senderId") && nul.contains("U+0000"), "{nul}");
    }
}
