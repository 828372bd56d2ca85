//! Tests of rules against stored messages: `GET …/assistant/unanswered` and `POST
//! …/assistant/backtest`.
//!
//! Both read stored messages and score them on each request, so new rules and unsent messages take
//! effect at once; a channel without backup has no history.

mod backtest;
mod unanswered;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use chatkeep_core::id::ChannelId;
use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MessageFilter, StoredMessage};
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
use crate::services::FieldPath;

/// Access for admins, whose keys must also have `read:messages`.
type History = ChannelAccess<Admin, ReadMessages>;

/// Maximum number of newest messages examined, give or take one page.
const MESSAGES: usize = 20_000;
/// Maximum duration of a request's scan, give or take one page.
const TIME: Duration = Duration::from_secs(10);
/// Messages read from the store at once.
const PAGE: u32 = 500;
/// Default number of days.
const DAYS: u32 = 30;
/// Maximum number of days.
const MAX_DAYS: u32 = 365;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// A message of a person, and its text.
type Said = (StoredMessage, String);

/// Number of days of history.
struct Days(u32);

impl Default for Days {
    fn default() -> Self {
        Self(DAYS)
    }
}

impl<'de> Deserialize<'de> for Days {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("must be a whole number"))
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

/// Returns the beginning of the period, within the key's bounds.
fn since(
    api: &Api,
    access: &History,
    (field, days): (FieldPath, u32),
) -> Result<Timestamp, ApiError> {
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(ApiError::invalid_value(field, format_args!("must be from 1 to {MAX_DAYS}")));
    }
    let from = Timestamp::from_millis(api.clock.now().millis() - i64::from(days) * DAY);
    Ok(access.not_before().map_or(from, |earliest| earliest.max(from)))
}

/// Scan of stored messages, page by page from the newest.
struct Look<'a> {
    api: &'a Api,
    channel: &'a ChannelId,
    filter: MessageFilter,
    /// Messages given out so far.
    scanned: usize,
    ends: Instant,
    /// True once everything since the beginning was returned.
    complete: bool,
}

impl<'a> Look<'a> {
    fn back(api: &'a Api, channel: &'a ChannelId, from: Timestamp) -> Self {
        let filter = MessageFilter {
            from: Some(from),
            kind: Some(MessageType::Text),
            limit: PAGE,
            ..MessageFilter::default()
        };
        Self { api, channel, filter, scanned: 0, ends: Instant::now() + TIME, complete: false }
    }

    /// Returns the next page, newest first, until nothing is left or a limit is reached.
    async fn next(&mut self) -> Result<Option<Vec<Said>>, ApiError> {
        let enough = self.scanned >= MESSAGES || Instant::now() >= self.ends;
        if self.complete || enough {
            return Ok(None);
        }
        let page = self.api.store.messages().list(self.channel, &self.filter).await?;
        self.complete = page.next.is_none();
        self.filter.after = page.next;
        let said: Vec<_> = page.messages.into_iter().filter_map(text_of).collect();
        self.scanned += said.len();
        Ok(Some(said))
    }
}

fn text_of(message: StoredMessage) -> Option<Said> {
    let text = match &message.content {
        Some(Content::Text { text, .. }) if !message.is_bot => text.clone(),
        _ => return None,
    };
    Some((message, text))
}
