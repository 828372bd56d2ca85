//! Groups from which nothing comes: their names and pictures grow old, and the bot may have been removed
//! while no event could be received.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_core::id::ChannelId;
use chatkeep_core::profile::ChannelSummary;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::Bots;
use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind, QuietGroup, Store, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::cursor::Cursor;
use super::names::{NameFetcher, STALE};
use super::plausibility::Responses;
use crate::periodic::{FirstRun, JobFailure, JobScope, PeriodicJob};

/// Maximum number of groups that are asked about in one run.
const PAGE: u32 = 1_000;

/// Asks the platform once a day about groups from which nothing comes.
#[derive(Debug)]
pub struct QuietGroups {
    names: NameFetcher,
    groups: Cursor<ChannelId>,
    clock: SharedClock,
}

impl QuietGroups {
    /// Creates the job.
    pub fn new(store: Store, bots: Bots, clock: SharedClock) -> Self {
        let names = NameFetcher::new(store, bots, SharedClock::clone(&clock));
        Self { names, groups: Cursor::new(PAGE), clock }
    }

    /// Asks about the next groups, saves what they are called now, and records that the bot has left
    /// those that the platform does not know. Returns the number of these.
    async fn look(&self) -> Result<usize, StoreError> {
        let (store, now) = (&self.names.store, self.clock.now());
        let (after, before) = (self.groups.get(), now.minus(STALE));
        let groups = store.channels().quiet_groups(before, after.as_ref(), PAGE).await?;
        self.groups.pass(&groups, |group| group.channel.id.clone());
        let asked = groups.iter().map(|group| self.ask(group)).collect();
        let told = self.names.in_time(asked).await;
        let mut of_bots: BTreeMap<&str, Responses<&QuietGroup>> = BTreeMap::new();
        let mut summaries = BTreeMap::new();
        for group in &groups {
            let Some(summary) = told.get(&group.channel.id) else { continue };
            let of_bot = of_bots.entry(&group.bot).or_default();
            match summary {
                Some(summary) => {
                    of_bot.known += 1;
                    summaries.insert(group.channel.id.clone(), summary.clone());
                }
                None => of_bot.gone.push(group),
            }
        }
        store.channels().save_summaries(&summaries, self.clock.now()).await?;
        let gone = of_bots.into_iter().flat_map(|(bot, of_bot)| of_bot.plausible(bot));
        let gone: Vec<_> = gone.map(left).collect();
        store.members().record_presence(&gone, self.clock.now()).await?;
        Ok(gone.len())
    }

    async fn ask(&self, group: &QuietGroup) -> Option<(ChannelId, Option<ChannelSummary>)> {
        let id = &group.channel.id;
        let directory = self.names.directory_of(&group.bot, id.as_str())?;
        match directory.current_summary(&group.channel).await {
            Ok(summary) => Some((id.clone(), summary)),
            Err(error) => {
                self.names.gave_up(&group.bot, id.as_str(), &error);
                None
            }
        }
    }
}

/// Returns evidence that the bot has left a group at some time after it was seen there last.
fn left(group: &QuietGroup) -> PresenceEvidence {
    PresenceEvidence {
        channel: group.channel.clone(),
        platform: group.platform,
        bot: group.bot.clone(),
        at: Timestamp::from_millis(group.seen_at.millis().saturating_add(1)),
        kind: PresenceEvidenceKind::BotLeft,
    }
}

impl PeriodicJob for QuietGroups {
    const NAME: &'static str = "quiet_groups";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "cannot ask about groups from which nothing comes";
    const SCOPE: JobScope = JobScope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Later;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.look()).await.transpose()? {
            None | Some(0) => {}
            Some(groups) => info!(
                groups,
                "the bot has left these groups, and no event said so: their coverage has a gap from the \
                 last event on"
            ),
        }
        Ok(())
    }
}
