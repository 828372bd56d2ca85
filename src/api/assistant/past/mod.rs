//! The stored history as a test of the rules: `GET …/assistant/unanswered` and
//! `POST …/assistant/backtest` (contract section 6).
//!
//! Both read what people said and rate it anew. So a rule that was added, and a message that was
//! taken back, count at once; and a channel that is not kept has no history to look at.

mod backtest;
mod unanswered;

use std::borrow::Cow;

use chatkeep_core::id::ChannelId;
use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::store::{MessageFilter, StoredMessage};
use chatkeep_core::time::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub(in crate::api) use backtest::backtest;
pub(in crate::api) use unanswered::unanswered;

use crate::api::Api;
use crate::api::auth::{Admin, ChannelAccess, ReadMessages};
use crate::api::error::ApiError;

/// Whoever may change the rules may see what people asked, with a key that may read messages.
type History = ChannelAccess<Admin, ReadMessages>;

/// Messages that are looked at, at most; the newest.
const MESSAGES: usize = 2_000;
/// Messages read from the store at once.
const PAGE: u32 = 500;
/// Days that are looked at when the caller does not say.
const DAYS: u32 = 30;
/// Days that are looked at, at most.
const MAX_DAYS: u32 = 365;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Days to look back.
struct Days(u32);

impl Default for Days {
    fn default() -> Self {
        Self(DAYS)
    }
}

impl<'de> Deserialize<'de> for Days {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("days must be a whole number"))
    }
}

impl PartialSchema for Days {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX_DAYS))
            .default(Some(DAYS.into()))
            .into()
    }
}

impl ToSchema for Days {}

/// From when on the caller may and wants to look.
fn since(api: &Api, access: &History, days: u32) -> Result<Timestamp, ApiError> {
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(ApiError::invalid("days", format!("days is from 1 to {MAX_DAYS}")));
    }
    let from = Timestamp::from_millis(api.clock.now().millis() - i64::from(days) * DAY);
    Ok(access.not_before().map_or(from, |earliest| earliest.max(from)))
}

/// What people wrote since then, the newest first.
async fn said(
    api: &Api,
    channel: &ChannelId,
    from: Timestamp,
) -> Result<Vec<(StoredMessage, String)>, ApiError> {
    let mut filter = MessageFilter {
        from: Some(from),
        kind: Some(MessageType::Text),
        limit: PAGE,
        ..MessageFilter::default()
    };
    let mut said = Vec::new();
    while said.len() < MESSAGES {
        let page = api.store.messages(channel, &filter).await?;
        said.extend(page.messages.into_iter().filter_map(text_of));
        if page.next.is_none() {
            break;
        }
        filter.after = page.next;
    }
    said.truncate(MESSAGES);
    Ok(said)
}

fn text_of(message: StoredMessage) -> Option<(StoredMessage, String)> {
    let text = match &message.content {
        Some(Content::Text { text, .. }) if !message.is_bot => text.clone(),
        _ => return None,
    };
    Some((message, text))
}
