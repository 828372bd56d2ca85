//! Members who can read a group and from whom nothing comes: they may have left it while no event
//! could be received.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{Bots, PlatformError};
use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind, QuietMember, Store, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::cursor::Cursor;
use super::names::{NameFetcher, STALE};
use super::plausibility::Responses;
use crate::periodic::{FirstRun, JobFailure, JobScope, PeriodicJob};

/// Maximum number of people and groups that are asked about in one run.
const PAGE: u32 = 1_000;

/// Asks the platform once a day about members who can read a group and from whom nothing comes.
#[derive(Debug)]
pub struct QuietMembers {
    names: NameFetcher,
    members: Cursor<(UserId, ChannelId)>,
    clock: SharedClock,
}

impl QuietMembers {
    /// Creates the job.
    pub fn new(store: Store, bots: Bots, clock: SharedClock) -> Self {
        let names = NameFetcher::new(store, bots, SharedClock::clone(&clock));
        Self { names, members: Cursor::new(PAGE), clock }
    }

    /// Asks about the next members, and records that those have left whom the platform does not
    /// know in their group. Returns their number.
    async fn look(&self) -> Result<usize, StoreError> {
        let (store, before) = (&self.names.store, self.clock.now().minus(STALE));
        let after = self.members.get();
        let members = store.members().quiet_members(before, after.as_ref(), PAGE).await?;
        self.members.pass(&members, key);
        let asked = members.iter().map(|member| self.ask(member)).collect();
        let told = self.names.in_time(asked).await;
        let is_unknown = |member: &&QuietMember| told.get(&key(member)) == Some(&false);
        let unknown = members.iter().filter(is_unknown).collect();
        let with_bot = self.groups_with_bot(unknown).await;
        let mut of_bots: BTreeMap<&str, Responses<&QuietMember>> = BTreeMap::new();
        let mut confirmed = Vec::new();
        for member in &members {
            let Some(is_there) = told.get(&key(member)) else { continue };
            let of_bot = of_bots.entry(&member.bot).or_default();
            if *is_there {
                of_bot.known += 1;
                confirmed.push((member.channel.id.clone(), member.user.clone()));
            } else if with_bot.contains(&member.channel.id) {
                of_bot.gone.push(member);
            }
        }
        store.members().confirm_members(&confirmed, self.clock.now()).await?;
        let gone = of_bots.into_iter().flat_map(|(bot, of_bot)| of_bot.plausible(bot));
        let gone: Vec<_> = gone.map(left).collect();
        store.members().record_presence(&gone, self.clock.now()).await?;
        Ok(gone.len())
    }

    /// Returns the groups of these members in which the bot still is. They are asked about after
    /// their members, and never from the cache: nobody is known where the bot is not.
    async fn groups_with_bot(&self, members: Vec<&QuietMember>) -> BTreeSet<ChannelId> {
        let groups: BTreeMap<_, _> =
            members.into_iter().map(|member| (&member.channel.id, member)).collect();
        let asked = groups.into_values().map(|member| self.ask_about_group(member)).collect();
        let told = self.names.in_time(asked).await;
        told.into_iter().filter(|(_, has_bot)| *has_bot).map(|(id, _)| id).collect()
    }

    /// Asks whether the bot is in the group of a member; `None` where the platform cannot say.
    async fn ask_about_group(&self, member: &QuietMember) -> Option<(ChannelId, bool)> {
        let id = &member.channel.id;
        let directory = self.names.directory_of(&member.bot, id.as_str())?;
        match directory.current_summary(&member.channel).await {
            Ok(summary) => Some((id.clone(), summary.is_some())),
            Err(error) => {
                self.names.gave_up(&member.bot, id.as_str(), &error);
                None
            }
        }
    }

    /// Asks whether the platform knows a member in their group; `None` where it cannot say.
    async fn ask(&self, member: &QuietMember) -> Option<((UserId, ChannelId), bool)> {
        let id = member.channel.id.as_str();
        let directory = self.names.directory_of(&member.bot, id)?;
        match directory.platform().profile(&member.channel, &member.user).await {
            Ok(_) => Some((key(member), true)),
            Err(PlatformError::NotFound) => Some((key(member), false)),
            Err(error) => {
                self.names.gave_up(&member.bot, id, &error);
                None
            }
        }
    }
}

fn key(member: &QuietMember) -> (UserId, ChannelId) {
    (member.user.clone(), member.channel.id.clone())
}

/// Returns evidence that somebody has left a group at some time after they were seen there last.
fn left(member: &QuietMember) -> PresenceEvidence {
    PresenceEvidence {
        channel: member.channel.clone(),
        platform: member.platform,
        bot: member.bot.clone(),
        at: Timestamp::from_millis(member.seen_at.millis().saturating_add(1)),
        kind: PresenceEvidenceKind::Left(member.user.clone()),
    }
}

impl PeriodicJob for QuietMembers {
    const NAME: &'static str = "quiet_members";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "cannot ask about members from whom nothing comes";
    const SCOPE: JobScope = JobScope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Later;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.look()).await.transpose()? {
            None | Some(0) => {}
            Some(members) => {
                info!(members, "these members have left their groups, and no event said so");
            }
        }
        Ok(())
    }
}
