//! Tests of rules against stored messages.
//!
//! Stored messages are read and scored on each request, so new rules and unsent messages take
//! effect at once; a channel without backup has no history.

mod backtest;
mod unanswered;

use std::time::{Duration, Instant};

use chatkeep_core::id::ChannelId;
use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MessageFilter, Store, StoredMessage};

pub(crate) use backtest::{
    BacktestChange, BacktestDraft, BacktestRequest, BacktestResult, GivenReply,
};
pub(crate) use unanswered::{UnansweredQuestion, UnansweredQuestions};

use super::super::access::{Admin, ChannelAccess, ReadMessages};
use super::super::{FieldPath, ServiceError};
use super::AssistantService;

/// Access for admins, whose keys must also have `read:messages`.
pub(crate) type HistoryAccess = ChannelAccess<Admin, ReadMessages>;

/// Default number of days.
pub(crate) const DAYS: u32 = 30;
/// Maximum number of days.
pub(crate) const MAX_DAYS: u32 = 365;
/// Maximum number of newest messages examined, give or take one page.
const MESSAGES: usize = 20_000;
/// Maximum duration of a request's scan, give or take one page.
const TIME: Duration = Duration::from_secs(10);
/// Messages read from the store at once.
const PAGE: u32 = 500;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// A message of a person, and its text.
type Said = (StoredMessage, String);

impl AssistantService {
    /// Returns the beginning of the period, within the key's bounds.
    fn since(
        &self,
        access: &HistoryAccess,
        (field, days): (FieldPath, u32),
    ) -> Result<Timestamp, ServiceError> {
        if !(1..=MAX_DAYS).contains(&days) {
            let why = format_args!("must be from 1 to {MAX_DAYS}");
            return Err(ServiceError::invalid_value(field, why));
        }
        let from = Timestamp::from_millis(self.clock.now().millis() - i64::from(days) * DAY);
        Ok(access.not_before().map_or(from, |earliest| earliest.max(from)))
    }
}

/// Scan of stored messages, page by page from the newest.
struct HistoryScan<'a> {
    store: &'a Store,
    channel: &'a ChannelId,
    filter: MessageFilter,
    /// Messages given out so far.
    scanned: usize,
    ends: Instant,
    /// True once everything since the beginning was returned.
    complete: bool,
}

impl<'a> HistoryScan<'a> {
    /// Begins a scan back to `from`.
    fn back(store: &'a Store, channel: &'a ChannelId, from: Timestamp) -> Self {
        let filter = MessageFilter {
            from: Some(from),
            kind: Some(MessageType::Text),
            limit: PAGE,
            ..MessageFilter::default()
        };
        Self { store, channel, filter, scanned: 0, ends: Instant::now() + TIME, complete: false }
    }

    /// Returns the next page, newest first, until nothing is left or a limit is reached.
    async fn next(&mut self) -> Result<Option<Vec<Said>>, ServiceError> {
        let enough = self.scanned >= MESSAGES || Instant::now() >= self.ends;
        if self.complete || enough {
            return Ok(None);
        }
        let page = self.store.messages().list(self.channel, &self.filter).await?;
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
