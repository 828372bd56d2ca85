//! Tests of rules against stored messages.
//!
//! Stored messages are read and scored on each request, so new rules and unsent messages take
//! effect at once; a channel without backup has no history.

mod backtest;
mod comparison;
mod comparison_run;
mod figures;
mod stepwise;
mod unanswered;

use std::time::{Duration, Instant};

use chatkeep_core::id::ChannelId;
use chatkeep_core::message::MessageType;
use chatkeep_core::time::{DAY, Timestamp};
use chatkeep_store::{MessageFilter, Store, StoredMessage};

pub use backtest::{BacktestChange, BacktestDraft, BacktestRequest, BacktestResult, GivenReply};
pub use comparison::{
    ComparedAnswer, ComparedMessage, Comparison, ComparisonRequest, Difference, RuleEdit,
};
pub(crate) use figures::Figures;
pub use figures::{AssistantFigures, UnansweredFigures};
pub(crate) use stepwise::Examinations;
pub use stepwise::Progress;
pub use unanswered::{UnansweredQuestion, UnansweredQuestions};

use super::super::access::{Admin, ChannelAccess, ReadMessages};
use super::super::{FieldPath, ServiceError};
use super::AssistantService;

/// Access for admins, whose keys must also have `read:messages`.
pub type HistoryAccess = ChannelAccess<Admin, ReadMessages>;

/// Default number of days.
pub const DAYS: u32 = 30;
/// Maximum number of days.
pub const MAX_DAYS: u32 = 365;
/// Maximum number of newest messages examined, give or take one page.
const MESSAGES: usize = 20_000;
/// Maximum duration of a request's scan, give or take one page.
const TIME: Duration = Duration::from_secs(10);
/// Messages read from the store at once.
const PAGE: u32 = 500;

/// A message of a person, and the words that they typed.
type Said = (StoredMessage, String);

impl AssistantService {
    /// Returns the beginning of the period, within the key's bounds.
    ///
    /// # Errors
    /// Returns an error for a reader of pseudonyms, who would learn texts as they are, or which of
    /// them have a word, and for a wrong number of days.
    fn since(
        &self,
        access: &HistoryAccess,
        (field, days): (FieldPath, u32),
    ) -> Result<Timestamp, ServiceError> {
        access.caller.sees_people()?;
        if !(1..=MAX_DAYS).contains(&days) {
            let why = format_args!("must be from 1 to {MAX_DAYS}");
            return Err(ServiceError::invalid_value(field, why));
        }
        let from = self.clock.now().minus(DAY * days);
        Ok(access.not_before().map_or(from, |earliest| earliest.max(from)))
    }
}

/// Scan of stored messages, page by page from the newest.
#[derive(Debug)]
struct HistoryScan {
    store: Store,
    channel: ChannelId,
    filter: MessageFilter,
    /// Beginning of the period, and the present end of what is left of it.
    period: (Timestamp, Timestamp),
    /// Time of the newest message that may be examined.
    newest: Timestamp,
    /// Messages given out so far.
    scanned: usize,
    ends: Instant,
    /// True once a page was read since the scan began or went on.
    moved: bool,
    /// True once everything since the beginning was returned.
    complete: bool,
}

impl HistoryScan {
    /// Begins a scan from `now` back to `from`.
    fn back(store: &Store, channel: &ChannelId, from: Timestamp, now: Timestamp) -> Self {
        let filter = MessageFilter {
            from: Some(from),
            kind: Some(MessageType::Text),
            limit: PAGE,
            ..MessageFilter::default()
        };
        Self {
            store: store.clone(),
            channel: channel.clone(),
            filter,
            period: (from, now),
            newest: now,
            scanned: 0,
            ends: Instant::now() + TIME,
            moved: false,
            complete: false,
        }
    }

    /// Returns the next page, newest first, until nothing is left or a limit is reached.
    async fn next(&mut self) -> Result<Option<Vec<Said>>, ServiceError> {
        if self.is_finished() || (self.moved && Instant::now() >= self.ends) {
            return Ok(None);
        }
        self.moved = true;
        let page = self.store.messages().list(&self.channel, &self.filter).await?;
        self.complete = page.next.is_none();
        self.filter.after = page.next;
        if let Some(oldest) = page.messages.last() {
            self.period.1 = self.period.1.min(oldest.sent_at);
        }
        let said: Vec<_> = page.messages.into_iter().filter_map(text_of).collect();
        self.scanned += said.len();
        Ok(Some(said))
    }

    /// Lets the scan go on for that time, and by one page at least.
    fn go_on(&mut self, time: Duration) {
        self.moved = false;
        self.ends = Instant::now() + time;
    }

    /// Returns true when nothing is left, or as many messages as may be were examined.
    const fn is_finished(&self) -> bool {
        self.complete || self.scanned >= MESSAGES
    }

    /// Returns the examined part of the period in percent, at most 99 while it goes on.
    fn percent(&self) -> u8 {
        let (from, reached) = self.period;
        let past = self.newest.millis().saturating_sub(reached.millis()).max(0);
        let whole = self.newest.millis().saturating_sub(from.millis()).max(1);
        let of_time = past.saturating_mul(100) / whole;
        let of_messages = i64::try_from(self.scanned * 100 / MESSAGES).unwrap_or(100);
        u8::try_from(of_time.max(of_messages).clamp(0, 99)).unwrap_or(99)
    }
}

fn text_of(message: StoredMessage) -> Option<Said> {
    let words = message.content.as_ref().filter(|_| !message.is_bot)?.typed_words()?;
    let words = words.into_owned();
    Some((message, words))
}
