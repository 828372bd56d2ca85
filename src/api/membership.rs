//! Membership of people whom the store does not know in a channel: the platform is queried once per
//! person.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::log_failure;
use chatkeep_core::platform::PlatformError;
use chatkeep_core::store::{Member, PresenceEvidence, PresenceEvidenceKind};

use super::Api;
use super::error::ApiError;

/// Time after which the platform is queried again about a person who was not in the channel.
const ASK_AGAIN: Duration = Duration::from_hours(24);

impl Api {
    /// Adds a person as a member when the platform confirms it. Unknown channels and other people's
    /// one-to-one chats are never queried.
    pub(super) async fn ask_platform(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Option<Member>, ApiError> {
        let Some(known) = self.store.channel(channel).await? else {
            return Ok(None);
        };
        let Ok(directory) = self.bots.of_channel(&known.bot) else {
            return Ok(None);
        };
        let foreign = known.kind == ChannelKind::User && channel.on_platform() != user.as_str();
        let now = self.clock.now();
        if foreign || !self.store.claim_membership_check(channel, user, now, ASK_AGAIN).await? {
            return Ok(None);
        }
        let channel = ChannelRef { id: channel.clone(), kind: known.kind };
        match directory.platform().profile(&channel, user).await {
            Ok(profile) => {
                let item = PresenceEvidence {
                    channel: channel.clone(),
                    platform: PlatformKind::Line,
                    bot: known.bot,
                    at: now,
                    kind: PresenceEvidenceKind::Present(user.clone()),
                };
                self.store.record_presence(&[item], now).await?;
                let profiles = BTreeMap::from([(user.clone(), Some(profile))]);
                self.store.save_profiles(&profiles, now).await?;
            }
            Err(PlatformError::NotFound) => return Ok(None),
            Err(error) => {
                log_failure!(
                    warn,
                    &error,
                    code = error.code(),
                    "the platform cannot say who is in a channel"
                );
                self.store.release_membership_check(&channel.id, user).await?;
                return Ok(None);
            }
        }
        Ok(self.store.member(&channel.id, user).await?)
    }
}
