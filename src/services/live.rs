//! News of a channel while somebody looks at it: new messages, and changes of earlier ones. Told at
//! once in the process that stores them, and within seconds in the others.

use std::slice;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::MessageId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    Bookmark, FeedReader, MessageFilter, OutboxEventKind, OutboxPosition, Store, StoredMessage,
};
use chatkeep_view::pseudonyms::Masked;
use futures_util::{Stream, stream};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages};
use super::user_permits::{UserPermit, UserPermits};

/// Maximum number of followers in one process.
const FOLLOWERS: usize = 256;
/// Maximum number of them that are the same user: windows of their browsers.
const FOLLOWERS_OF_USER: usize = 32;
/// Interval of looking for messages that other processes stored.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Pause before news are announced, in which more of them are gathered.
const PAUSE: Duration = Duration::from_millis(300);
/// Maximum number of changed messages in one item.
const CHANGES: u32 = 100;
/// Time after which a follower has to come again, which checks their session anew.
const MAX_STREAM_TIME: Duration = Duration::from_mins(10);

/// News of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// True if there are new messages.
    pub newer: bool,
    /// Messages that were edited or unsent, or whose file arrived or is lost.
    pub changed: Vec<MessageId>,
    /// True if nobody knows any more what changed: everything that is shown may have.
    pub stale: bool,
    /// Position at which a later follower goes on.
    pub place: FollowerPlace,
}

impl News {
    fn is_some(&self) -> bool {
        self.newer || self.stale || !self.changed.is_empty()
    }
}

/// Position of a follower: in what is logged, and the newest message. For pages that follow from
/// when they were made, and for followers who come again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowerPlace {
    logged: OutboxPosition,
    /// [`mark`] of the newest message.
    newest: Option<String>,
}

impl FollowerPlace {
    /// Position that nobody has been at: whoever comes from there knows nothing.
    const UNKNOWN: Self = Self { logged: OutboxPosition(i64::MAX, i64::MAX), newest: None };

    /// Returns it as text, in which there are letters, digits, `-`, `_` and `.` alone.
    pub fn text(&self) -> String {
        let OutboxPosition(tx, seq) = self.logged;
        match &self.newest {
            Some(newest) => format!("{tx}_{seq}_{newest}"),
            None => format!("{tx}_{seq}"),
        }
    }

    /// Returns the position of a text; an unknown one for anything else.
    pub fn parse(text: &str) -> Self {
        Self::parsed(text).unwrap_or(Self::UNKNOWN)
    }

    fn parsed(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '_');
        let (tx, seq) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let newest = parts.next().map(str::to_owned);
        let sound = |mark: &String| {
            mark.bytes().all(|one| one.is_ascii_alphanumeric() || matches!(one, b'-' | b'.'))
        };
        newest
            .as_ref()
            .is_none_or(sound)
            .then_some(Self { logged: OutboxPosition(tx, seq), newest })
    }

    /// Returns the position of a page that ends with that message.
    #[must_use]
    pub fn after(self, newest: Option<&Masked<StoredMessage>>) -> Self {
        Self { newest: newest.map(|message| mark(message)), ..self }
    }
}

/// Returns what tells a message from others: not its id, which may have any characters. It is the
/// same in every process and version.
fn mark(message: &StoredMessage) -> String {
    mark_of(&message.id, message.sent_at)
}

fn mark_of(id: &MessageId, sent_at: Timestamp) -> String {
    let digest = Sha256::digest(id.as_str());
    format!("{}.{}", sent_at.millis(), hex::encode(&digest[..8]))
}

/// Following of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveService {
    store: Store,
    permits: UserPermits,
    /// Cancelled when the process stops.
    stop: CancellationToken,
}

/// A follower of a channel.
struct Follower {
    live: LiveService,
    access: ChannelAccess<Member, ReadMessages>,
    logged: watch::Receiver<u64>,
    /// [`mark`] of the newest message that was announced.
    announced: Option<String>,
    /// Last change that was announced.
    place: Bookmark,
    /// True if the position of the one who comes again is no longer known.
    stale: bool,
    until: Instant,
    _permit: UserPermit,
}

impl LiveService {
    pub(super) fn new(store: Store) -> Self {
        let (permits, stop) =
            (UserPermits::new(FOLLOWERS, FOLLOWERS_OF_USER), CancellationToken::new());
        Self { store, permits, stop }
    }

    /// Ends all streams of [`Self::follow`], because the process stops.
    pub fn close(&self) {
        self.stop.cancel();
    }

    /// Returns the present position, for a page that is about to be made.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn place(&self) -> Result<FollowerPlace, ServiceError> {
        let log = self.store.outbox().log_state().await?;
        Ok(FollowerPlace { logged: log.newest().at, newest: None })
    }

    /// Returns a stream with an item whenever the channel has news; it ends when the caller may no
    /// longer read them or has signed out, when the process stops, and after ten minutes. With the
    /// position of a page or of an earlier stream, news since then come first.
    ///
    /// # Errors
    /// [`ServiceError::Unavailable`] when there are too many followers, or too many of this user.
    pub async fn follow(
        &self,
        access: ChannelAccess<Member, ReadMessages>,
        since: Option<FollowerPlace>,
    ) -> Result<(FollowerPlace, impl Stream<Item = News> + use<>), ServiceError> {
        let permit = self.permits.take(access.user()).ok_or(ServiceError::Unavailable)?;
        let logged = self.store.watch_log();
        let log = self.store.outbox().log_state().await?;
        // A position after the log's end, or one before what is still logged, means nothing.
        let known = |since: &FollowerPlace| (log.purged..=log.latest()).contains(&since.logged);
        let again = since.is_some();
        let since = since.filter(known);
        let stale = again && since.is_none();
        let (place, announced) = match since {
            Some(since) => (since.logged.into(), since.newest),
            None => (log.newest(), self.newest(&access).await?),
        };
        let until = Instant::now() + MAX_STREAM_TIME;
        let live = self.clone();
        let begin = FollowerPlace { logged: place.at, newest: announced.clone() };
        let mut follower =
            Follower { live, access, logged, announced, place, stale, until, _permit: permit };
        if again {
            follower.logged.mark_changed();
        }
        let news = stream::unfold(follower, |mut follower| async move {
            let stop = follower.live.stop.clone();
            let news = stop.run_until_cancelled(follower.news()).await??;
            Some((news, follower))
        });
        Ok((begin, news))
    }

    async fn newest(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
    ) -> Result<Option<String>, ServiceError> {
        let filter =
            MessageFilter { from: access.not_before(), limit: 1, ..MessageFilter::default() };
        let page = self.store.messages().list(access.without_reading(), &filter).await?;
        Ok(page.messages.first().map(mark))
    }
}

impl Follower {
    /// Waits for news; returns `None` when there will be none.
    async fn news(&mut self) -> Option<News> {
        while Instant::now() < self.until {
            match timeout(POLL_INTERVAL, self.logged.changed()).await {
                Ok(Err(_)) => return None,
                // Others follow the same log: a busy one wakes nobody more often than this.
                Ok(Ok(())) => sleep(PAUSE).await,
                Err(_) => {}
            }
            self.logged.mark_unchanged();
            self.access.still_granted().await.ok()?;
            let news = self.look().await.ok()?;
            if news.is_some() {
                return Some(news);
            }
        }
        None
    }

    /// Returns what happened since the last look.
    async fn look(&mut self) -> Result<News, ServiceError> {
        let newest = self.live.newest(&self.access).await?;
        let newer = newest != self.announced;
        self.announced = newest;
        let changed = self.changed().await?;
        let place = FollowerPlace { logged: self.place.at, newest: self.announced.clone() };
        Ok(News { newer, changed, stale: std::mem::take(&mut self.stale), place })
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
    fn the_mark_of_a_message_never_changes() {
        let mark = mark_of(&MessageId::from("m1"), Timestamp::from_millis(-5));
        assert_eq!(mark, "-5.ca0df2c95aa144c1");
    }

    #[test]
    fn positions_are_read_as_they_are_written() {
        let logged = OutboxPosition(7, 42);
        for newest in [None, Some("-5.ab3".to_owned())] {
            let place = FollowerPlace { logged, newest };
            assert_eq!(FollowerPlace::parse(&place.text()), place);
        }
        for wrong in ["", "_", "7", "7_", "a_b", "7-42", "7_42_a\nb", "99999999999999999999_1"] {
            assert_eq!(FollowerPlace::parse(wrong), FollowerPlace::UNKNOWN, "{wrong}");
        }
    }
}
