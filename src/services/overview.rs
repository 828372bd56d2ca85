//! Channels of a caller at a glance, with what needs their attention.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::plan::Usage;
use chatkeep_core::role::Scope;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{Channel, ReadAction, Store, StoredMessage, Webhook};
use chatkeep_view::pseudonyms::Masked;

use super::ServiceError;
use super::access::{ReadMessages, Scoped};
use super::account::{AccountService, AccountUsage};
use super::assistant::Figures;
use super::channels::ChannelService;
use super::webhooks::manages;

/// Age up to which a lost file is worth a note.
const RECENT: Duration = Duration::from_hours(24 * 7);

/// Page of the channels of a caller.
#[derive(Debug)]
pub struct Overview {
    /// Channels of this page, those with the newest message first.
    pub channels: Vec<ChannelOverview>,
    /// Cursor of the next page.
    pub next: Option<String>,
    /// Usage of the caller's own quota, as the account has it; `None` for a user who is not known yet.
    pub usage: Option<Usage>,
    /// The caller's webhooks that fail or were disabled automatically.
    pub failing: Vec<Webhook>,
}

/// A channel at a glance.
#[derive(Debug)]
pub struct ChannelOverview {
    /// The channel.
    pub channel: Masked<Channel>,
    /// Its newest message that the caller may read.
    pub newest: Option<Masked<StoredMessage>>,
    /// True if the channel has a backup subscription.
    pub backed_up: bool,
    /// True if every subscriber's quota is exceeded.
    pub paused: bool,
    /// True if the caller is a subscriber.
    pub subscribed: bool,
    /// Number of files of the last seven days that could not be stored.
    pub lost_files: i64,
    /// Number of questions of the last weeks that no rule answers; 0 while it is not known, and for
    /// everybody but admins.
    pub unanswered: usize,
}

/// Overviews. Cheap to clone.
#[derive(Clone, Debug)]
pub struct OverviewService {
    store: Store,
    clock: SharedClock,
    channels: ChannelService,
    accounts: AccountService,
    figures: Figures,
}

impl OverviewService {
    pub(super) const fn new(
        store: Store,
        clock: SharedClock,
        channels: ChannelService,
        accounts: AccountService,
        figures: Figures,
    ) -> Self {
        Self { store, clock, channels, accounts, figures }
    }

    /// Returns at most `limit` channels that the caller may see, with what needs their attention.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
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
        let since = self.clock.now().minus(RECENT);
        let since = caller.not_before().map_or(since, |bound| bound.max(since));
        let lost = self.store.media().lost_media(&ids, since).await?;
        let unanswered = self.unanswered(access, &ids).await?;
        let states = self.store.accounts().backup_states(&ids).await?;
        let (usage, failing) = (self.usage(access).await?, self.failing(access).await?);
        let shares = usage.iter().flat_map(|usage| &usage.channels);
        let subscribed: HashSet<_> = shares.map(|share| &share.channel).collect();
        let overview = |channel: Masked<Channel>| {
            let backup = states.get(&channel.id).copied().unwrap_or_default();
            ChannelOverview {
                newest: newest.remove(&channel.id).map(|message| caller.mask.show(message)),
                backed_up: backup.is_subscribed(),
                paused: backup.is_paused(),
                subscribed: subscribed.contains(&channel.id),
                lost_files: lost.get(&channel.id).copied().unwrap_or_default(),
                unanswered: unanswered.get(&channel.id).copied().unwrap_or_default(),
                channel,
            }
        };
        let mut overviews: Vec<_> = channels.into_iter().map(overview).collect();
        overviews.sort_by_key(|one| {
            std::cmp::Reverse(one.newest.as_ref().map(|message| message.sent_at))
        });
        Ok(Overview { channels: overviews, next, usage: usage.map(|usage| usage.total), failing })
    }

    /// Returns the known numbers of unanswered questions, where the caller may see the questions.
    async fn unanswered(
        &self,
        access: &Scoped<ReadMessages>,
        channels: &[ChannelId],
    ) -> Result<HashMap<ChannelId, usize>, ServiceError> {
        let caller = &access.caller;
        if caller.not_before().is_some() {
            return Ok(HashMap::new());
        }
        let own = self.store.members().administered(&caller.user, channels).await?;
        Ok(self.figures.of(own))
    }

    async fn usage(
        &self,
        access: &Scoped<ReadMessages>,
    ) -> Result<Option<AccountUsage>, ServiceError> {
        match self.accounts.usage(&access.caller).await {
            Ok(usage) => Ok(Some(usage)),
            Err(ServiceError::InvalidKey) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn failing(&self, access: &Scoped<ReadMessages>) -> Result<Vec<Webhook>, ServiceError> {
        if !access.caller.bounds.has(Scope::ManageWebhooks) {
            return Ok(Vec::new());
        }
        let mut webhooks = self.store.webhooks().list(&access.caller.user).await?;
        webhooks.retain(|webhook| {
            let failing = webhook.enabled && webhook.failing_since.is_some();
            (webhook.disabled.is_some() || failing) && manages(&access.caller, webhook)
        });
        Ok(webhooks)
    }
}
