//! News of a channel while somebody looks at it: new messages, and changes of earlier ones. Told at
//! once in the process that stores them, and within seconds in the others.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::id::MessageId;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{FeedReader, MessageFilter, OutboxEventKind, OutboxPosition, Store};
use futures_util::{Stream, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::ServiceError;
use super::access::{AccessService, ChannelAccess, Member, ReadMessages};

/// Maximum number of followers in one process.
const SEATS: usize = 256;
/// Interval of looking for messages that other processes stored.
const LOOK: Duration = Duration::from_secs(5);
/// Pause before news are told, in which more of them are gathered.
const PAUSE: Duration = Duration::from_millis(300);
/// Maximum number of changed messages in one item.
const CHANGES: u32 = 100;
/// Time after which a follower has to come again, which checks their session anew.
const STAY: Duration = Duration::from_mins(10);

/// News of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// True if there are new messages.
    pub(crate) newer: bool,
    /// Messages that were edited or unsent, or whose file arrived or is lost.
    pub(crate) changed: Vec<MessageId>,
    /// Position at which a later follower goes on.
    pub(crate) place: FollowerPlace,
}

/// Position of a follower in what is logged, for those who come again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FollowerPlace(OutboxPosition);

impl FollowerPlace {
    /// Returns it as text.
    pub(crate) fn text(self) -> String {
        format!("{}-{}", self.0.0, self.0.1)
    }

    /// Returns the position of a text; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (tx, seq) = text.split_once('-')?;
        Some(Self(OutboxPosition(tx.parse().ok()?, seq.parse().ok()?)))
    }
}

/// Following of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LiveService {
    store: Store,
    access: AccessService,
    seats: Arc<Semaphore>,
    /// Cancelled when the process stops.
    stop: CancellationToken,
}

/// A follower of a channel.
struct Follower {
    live: LiveService,
    access: ChannelAccess<Member, ReadMessages>,
    logged: watch::Receiver<u64>,
    /// Position of the newest message that was told.
    told: Option<(Timestamp, MessageId)>,
    /// Position up to which changes were told.
    place: OutboxPosition,
    until: Instant,
    _seat: OwnedSemaphorePermit,
}

impl LiveService {
    pub(super) fn new(store: Store, access: AccessService) -> Self {
        let (seats, stop) = (Arc::new(Semaphore::new(SEATS)), CancellationToken::new());
        Self { store, access, seats, stop }
    }

    /// Ends all streams of [`Self::follow`], because the process stops.
    pub(crate) fn close(&self) {
        self.stop.cancel();
    }

    /// Returns a stream with an item whenever the channel has news; it ends when the caller may no
    /// longer read them, when the process stops, and after ten minutes. With the position of an
    /// earlier stream, changes since then are told first.
    ///
    /// # Errors
    /// [`ServiceError::Unavailable`] when there are too many followers.
    pub(crate) async fn follow(
        &self,
        access: ChannelAccess<Member, ReadMessages>,
        since: Option<FollowerPlace>,
    ) -> Result<(FollowerPlace, impl Stream<Item = News> + use<>), ServiceError> {
        let seat = Arc::clone(&self.seats).try_acquire_owned();
        let seat = seat.map_err(|_| ServiceError::Unavailable)?;
        let logged = self.store.watch_log();
        let log = self.store.outbox().log_state().await?;
        // On PostgreSQL, what was read may be beyond the end that is told while older transactions run.
        let latest = log.limit.max(log.end).max(log.purged);
        // A position after the log's end, or one before what is still logged, means nothing.
        let since =
            since.map(|since| since.0).filter(|since| (log.purged..=latest).contains(since));
        let place = since.unwrap_or(log.end.max(log.purged));
        let told = self.newest(&access).await?;
        let until = Instant::now() + STAY;
        let live = self.clone();
        let mut follower = Follower { live, access, logged, told, place, until, _seat: seat };
        if since.is_some() {
            follower.logged.mark_changed();
        }
        let news = stream::unfold(follower, |mut follower| async move {
            let stop = follower.live.stop.clone();
            let news = stop.run_until_cancelled(follower.news()).await??;
            Some((news, follower))
        });
        Ok((FollowerPlace(place), news))
    }

    async fn newest(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
    ) -> Result<Option<(Timestamp, MessageId)>, ServiceError> {
        let filter =
            MessageFilter { from: access.not_before(), limit: 1, ..MessageFilter::default() };
        let page = self.store.messages().list(access.without_reading(), &filter).await?;
        Ok(page.messages.into_iter().next().map(|message| (message.sent_at, message.id)))
    }
}

impl Follower {
    /// Waits for news; returns `None` when there will be none.
    async fn news(&mut self) -> Option<News> {
        while Instant::now() < self.until {
            match timeout(LOOK, self.logged.changed()).await {
                Ok(Err(_)) => return None,
                // Others follow the same log: a busy one wakes nobody more often than this.
                Ok(Ok(())) => sleep(PAUSE).await,
                Err(_) => {}
            }
            self.logged.mark_unchanged();
            let caller = self.access.caller.clone();
            let role = self.live.access.role(&caller, self.access.without_reading()).await.ok()?;
            if role < Role::Member {
                return None;
            }
            let news = self.look().await.ok()?;
            if news.newer || !news.changed.is_empty() {
                return Some(news);
            }
        }
        None
    }

    /// Returns what happened since the last look.
    async fn look(&mut self) -> Result<News, ServiceError> {
        let newest = self.live.newest(&self.access).await?;
        let newer = newest != self.told;
        self.told = newest;
        let changed = self.changed().await?;
        Ok(News { newer, changed, place: FollowerPlace(self.place) })
    }

    /// Returns the messages that changed since the last look, oldest change first.
    async fn changed(&mut self) -> Result<Vec<MessageId>, ServiceError> {
        let (user, channels) = (self.access.user(), slice::from_ref(self.access.without_reading()));
        let reader = FeedReader { user, channels, not_before: self.access.not_before() };
        let page = self.live.store.outbox().outbox_events(reader, self.place, CHANGES).await?;
        self.place = page.next;
        if page.more {
            self.logged.mark_changed();
        }
        let mut changed = Vec::new();
        for event in page.outbox_events {
            let Some(subject) = event.subject.filter(|_| is_change(event.kind)) else { continue };
            let id = MessageId::new(subject);
            if !changed.contains(&id) {
                changed.push(id);
            }
        }
        Ok(changed)
    }
}

/// Returns true for events about a message that was there before.
const fn is_change(kind: OutboxEventKind) -> bool {
    matches!(
        kind,
        OutboxEventKind::MessageEdited
            | OutboxEventKind::MessageUnsent
            | OutboxEventKind::FileUploaded
            | OutboxEventKind::MediaFailed
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        let place = FollowerPlace(OutboxPosition(7, 42));
        assert_eq!(FollowerPlace::parse(&place.text()), Some(place));
        for wrong in ["", "-", "7", "7-", "a-b", "7-42-1", "99999999999999999999-1"] {
            assert_eq!(FollowerPlace::parse(wrong), None, "{wrong}");
        }
    }
}
