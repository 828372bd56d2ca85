//! News of a channel while somebody looks at it: told at once in the process that stores them, and
//! within seconds in the others.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::id::MessageId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MessageFilter, Store};
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
/// Pause after news, in which more of them are gathered.
const PAUSE: Duration = Duration::from_millis(300);
/// Time after which a follower has to come again, which checks their session anew.
const STAY: Duration = Duration::from_mins(10);

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

    /// Returns a stream with an item whenever the channel has new messages; it ends when the
    /// caller may no longer read them, when the process stops, and after ten minutes.
    ///
    /// # Errors
    /// [`ServiceError::Unavailable`] when there are too many followers.
    pub(crate) async fn follow(
        &self,
        access: ChannelAccess<Member, ReadMessages>,
    ) -> Result<impl Stream<Item = ()> + use<>, ServiceError> {
        let seat = Arc::clone(&self.seats).try_acquire_owned();
        let seat = seat.map_err(|_| ServiceError::Unavailable)?;
        let logged = self.store.watch_log();
        let told = self.newest(&access).await?;
        let until = Instant::now() + STAY;
        let live = self.clone();
        let follower = Follower { live, access, logged, told, until, _seat: seat };
        Ok(stream::unfold(follower, |mut follower| async move {
            let stop = follower.live.stop.clone();
            let news = stop.run_until_cancelled(follower.news()).await?;
            news.then_some(((), follower))
        }))
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
    /// Waits for news; returns `false` when there will be none.
    async fn news(&mut self) -> bool {
        while Instant::now() < self.until {
            if let Ok(Err(_)) = timeout(LOOK, self.logged.changed()).await {
                return false;
            }
            let caller = self.access.caller.clone();
            let Ok(role) = self.live.access.role(&caller, self.access.without_reading()).await
            else {
                return false;
            };
            if role < chatkeep_core::role::Role::Member {
                return false;
            }
            match self.live.newest(&self.access).await {
                Ok(newest) if newest != self.told => {
                    self.told = newest;
                    sleep(PAUSE).await;
                    return true;
                }
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        false
    }
}
