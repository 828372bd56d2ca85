//! Channels of a caller at a glance, with what needs their attention.

use std::time::Duration;

use chatkeep_core::plan::Usage;
use chatkeep_core::role::Scope;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Channel, ReadAction, Store, StoredMessage, Webhook};

use super::ServiceError;
use super::access::{ReadMessages, Scoped};
use super::channels::ChannelService;

/// Age up to which a lost file is worth a note.
const RECENT: Duration = Duration::from_hours(7 * 24);

/// Page of the channels of a caller.
#[derive(Debug)]
pub(crate) struct Overview {
    /// Channels, those with the newest message first.
    pub(crate) channels: Vec<ChannelOverview>,
    /// Cursor of the next page.
    pub(crate) next: Option<String>,
    /// Usage of the caller's own quota; `None` for a user who is not known yet.
    pub(crate) usage: Option<Usage>,
    /// The caller's webhooks that fail or were disabled automatically.
    pub(crate) failing: Vec<Webhook>,
}

/// A channel at a glance.
#[derive(Debug)]
pub(crate) struct ChannelOverview {
    /// The channel.
    pub(crate) channel: Channel,
    /// Its newest message that the caller may read.
    pub(crate) newest: Option<StoredMessage>,
    /// True if the channel has a backup subscription.
    pub(crate) backed_up: bool,
    /// True if every subscriber's quota is exceeded.
    pub(crate) paused: bool,
    /// Number of files of the last seven days that could not be stored.
    pub(crate) lost_files: i64,
}

/// Overviews. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OverviewService {
    store: Store,
    clock: SharedClock,
    channels: ChannelService,
}

impl OverviewService {
    pub(super) const fn new(store: Store, clock: SharedClock, channels: ChannelService) -> Self {
        Self { store, clock, channels }
    }

    /// Returns at most `limit` channels that the caller may see, with what needs their attention.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    pub(crate) async fn page(
        &self,
        access: &Scoped<ReadMessages>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Overview, ServiceError> {
        let caller = &access.caller;
        let (channels, next) = self.channels.page(caller, limit, cursor).await?;
        let ids: Vec<_> = channels.iter().map(|channel| channel.id.clone()).collect();
        let mut newest = self.store.messages().newest_messages(&ids).await?;
        newest.retain(|_, message| caller.bounds.reads(message.sent_at));
        access.record(newest.keys(), ReadAction::List);
        let since = Timestamp::from_millis(0)
            .max(self.before(RECENT))
            .max(caller.not_before().unwrap_or(Timestamp::from_millis(0)));
        let lost = self.store.media().lost_media(&ids, since).await?;
        let mut overviews = Vec::with_capacity(channels.len());
        for channel in channels {
            let (backed_up, paused) = self.store.accounts().backup_state(&channel.id).await?;
            overviews.push(ChannelOverview {
                newest: newest.remove(&channel.id),
                backed_up,
                paused,
                lost_files: lost.get(&channel.id).copied().unwrap_or_default(),
                channel,
            });
        }
        overviews.sort_by_key(|one| {
            std::cmp::Reverse(one.newest.as_ref().map(|message| message.sent_at))
        });
        let (usage, failing) = (self.usage(access).await?, self.failing(access).await?);
        Ok(Overview { channels: overviews, next, usage, failing })
    }

    fn before(&self, age: Duration) -> Timestamp {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.clock.now().millis().saturating_sub(age))
    }

    async fn usage(&self, access: &Scoped<ReadMessages>) -> Result<Option<Usage>, ServiceError> {
        let user = &access.caller.user;
        let Some(known) = self.store.accounts().user(user).await? else {
            return Ok(None);
        };
        let total = self.store.accounts().usage(user).await?.total();
        Ok(Some(Usage::new(total, known.plan)))
    }

    async fn failing(&self, access: &Scoped<ReadMessages>) -> Result<Vec<Webhook>, ServiceError> {
        if !access.caller.bounds.has(Scope::ManageWebhooks) {
            return Ok(Vec::new());
        }
        let mut webhooks = self.store.webhooks().list(&access.caller.user).await?;
        webhooks.retain(|webhook| {
            webhook.disabled.is_some() || (webhook.enabled && webhook.failing_since.is_some())
        });
        Ok(webhooks)
    }
}
