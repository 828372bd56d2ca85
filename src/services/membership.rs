//! People unknown to the store in a channel: the platform is asked about each once a day.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_core::event::{ChannelKind, ChannelRef};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_platform::{Directory, PlatformError};
use chatkeep_store::{Member, MembershipCheck, PresenceEvidence, PresenceEvidenceKind};
use chatkeep_workers::log_failure;
use tokio::time::Instant;
use tracing::debug;

use super::ServiceError;
use super::access::AccessService;

/// Interval between two questions about somebody who was not in the channel.
const ASK_AGAIN: Duration = Duration::from_hours(24);
/// The same where the bot was not in the chat: it may be back soon.
const ASK_AGAIN_WITHOUT_BOT: Duration = Duration::from_mins(10);
/// Maximum time to wait for what another request learns.
const OTHERS: Duration = Duration::from_secs(5);
/// Interval of looking for it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl AccessService {
    /// Makes somebody a member whom the platform knows in the channel. Does not ask about unknown
    /// channels or about the 1:1 chats of other people.
    pub(super) async fn ask_platform(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Option<Member>, ServiceError> {
        let Some(known) = self.store.channels().channel(channel).await? else {
            return Ok(None);
        };
        let Ok(directory) = self.bots.of_channel(&known.bot) else {
            return Ok(None);
        };
        let foreign = known.kind == ChannelKind::User && channel.on_platform() != user.as_str();
        if foreign {
            return Ok(None);
        }
        let (now, members) = (self.clock.now(), self.store.members());
        match members.claim_membership_check(channel, user, now, ASK_AGAIN).await? {
            MembershipCheck::Claimed => {}
            MembershipCheck::UnderWay => return self.asked_by_others(channel, user).await,
            MembershipCheck::Done => return Ok(None),
        }
        let channel = ChannelRef { id: channel.clone(), kind: known.kind };
        match directory.platform().profile(&channel, user).await {
            Ok(profile) => {
                let item = PresenceEvidence {
                    channel: channel.clone(),
                    platform: known.platform,
                    bot: known.bot,
                    at: now,
                    kind: PresenceEvidenceKind::Present(user.clone()),
                };
                self.store.members().record_presence(&[item], now).await?;
                let seen = (channel.id.clone(), Some(profile));
                let profiles = BTreeMap::from([(user.clone(), seen)]);
                members.save_fetched_profiles(&profiles, self.clock.now()).await?;
            }
            Err(PlatformError::NotFound) => {
                let early = ASK_AGAIN.saturating_sub(ASK_AGAIN_WITHOUT_BOT);
                let is_settled = has_bot(directory, &channel).await;
                let asked_at = if is_settled { now } else { now.minus(early) };
                let members = self.store.members();
                members.settle_membership_check(&channel.id, user, asked_at).await?;
                return Ok(None);
            }
            Err(error) => {
                log_failure!(
                    warn,
                    &error,
                    code = error.code(),
                    "the platform cannot say who is in a channel"
                );
                self.store.members().release_membership_check(&channel.id, user).await?;
                return Ok(None);
            }
        }
        Ok(self.store.members().member(&channel.id, user).await?)
    }

    /// Waits for what another request learns from the platform, as pages ask for several things at once.
    async fn asked_by_others(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Option<Member>, ServiceError> {
        let end = Instant::now() + OTHERS;
        loop {
            let member = self.store.members().member(channel, user).await?;
            if member.is_some() || Instant::now() >= end {
                return Ok(member);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Returns whether the platform says that the bot is in a chat now. Where it is not, nobody is
/// known.
async fn has_bot(directory: &Directory, channel: &ChannelRef) -> bool {
    // What the platform says of a person is all that it says of their own chat.
    if channel.kind == ChannelKind::User {
        return true;
    }
    match directory.current_summary(channel).await {
        Ok(summary) => summary.is_some(),
        Err(error) => {
            debug!(code = error.code(), "the platform cannot say whether the bot is in a chat");
            false
        }
    }
}
