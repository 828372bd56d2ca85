//! Deletion guard: refuses content of deleted times, of erased people, and of those who opted out.

use std::collections::{BTreeSet, HashMap};

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::MessageChange;
use chatkeep_core::time::Timestamp;

use super::super::StoreError;
use super::super::channels::channel_keys;
use super::super::db::Tx;
use super::ChannelChange;
use super::sql::BulkKey;
use crate::opt_outs::{OptOuts, remembered};
use crate::query::query_as;

const DELETED: &str = "
    SELECT channel_id, deleted_before FROM channels
    WHERE deleted_before > 0 AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))";
const ERASED: &str = "
    SELECT channel_id, user_id, erased_at FROM erased_people
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1))";

/// Deletions and erasures in the channels of a batch, and opt-outs of its authors.
#[derive(Debug, Default)]
pub(super) struct DeletionGuard {
    deleted: HashMap<ChannelId, Timestamp>,
    erased: HashMap<(ChannelId, UserId), Timestamp>,
    opt_outs: OptOuts,
    /// Messages that are never to be stored: edited ones, and those of channels with a deletion, which
    /// may have removed what is known of a message that was unsent before it came.
    never: BTreeSet<(ChannelId, MessageId)>,
}

impl DeletionGuard {
    pub(super) async fn of(
        tx: &mut Tx,
        channels: &BTreeSet<&ChannelId>,
        changes: &[ChannelChange],
    ) -> Result<Self, StoreError> {
        let channels: Vec<ChannelId> = channels.iter().map(|id| (*id).clone()).collect();
        let keys = channel_keys(&channels)?;
        let deleted: Vec<(String, i64)> = tx.fetch_all(query_as(DELETED).bind(&keys)).await?;
        let erased: Vec<(String, String, i64)> = tx.fetch_all(query_as(ERASED).bind(&keys)).await?;
        let deleted = deleted.into_iter().map(|(c, at)| (c.into(), Timestamp::from_millis(at)));
        let erased =
            erased.into_iter().map(|(c, u, at)| ((c.into(), u.into()), Timestamp::from_millis(at)));
        let opt_outs =
            OptOuts::load(tx, changes.iter().filter_map(|item| author(&item.change))).await?;
        let deleted: HashMap<ChannelId, Timestamp> = deleted.collect();
        let may_be_known = changes.iter().filter(|item| match item.change {
            MessageChange::Received(_) => deleted.contains_key(&item.channel),
            MessageChange::Edited { .. } => true,
            MessageChange::Unsent { .. } => false,
        });
        let may_be_known: Vec<_> = may_be_known
            .map(|item| BulkKey { c: item.channel.as_str(), m: Some(item.message.as_str()) })
            .collect();
        let never = remembered(tx, &may_be_known).await?;
        Ok(Self { deleted, erased: erased.collect(), opt_outs, never })
    }

    /// Returns `true` for content whose author had opted out when they wrote it.
    pub(super) fn opted_out(&self, item: &ChannelChange) -> bool {
        let at = match &item.change {
            MessageChange::Received(message) => message.at,
            MessageChange::Edited { at, .. } => *at,
            MessageChange::Unsent { .. } => return false,
        };
        !self.opt_outs.is_empty()
            && author(&item.change)
                .is_some_and(|author| self.opt_outs.refuse(&item.channel, author, at))
    }

    /// Returns `true` for a late delivery from a deleted time or by an erased person.
    pub(super) fn refuse(&self, item: &ChannelChange) -> bool {
        if self.deleted.is_empty() && self.erased.is_empty() && self.never.is_empty() {
            return false;
        }
        let deleted = |at| self.deleted.get(&item.channel).is_some_and(|before| at < *before);
        let erased = |author: Option<&UserId>, at| {
            let person = author.map(|author| (item.channel.clone(), author.clone()));
            let erased = person.and_then(|person| self.erased.get(&person));
            erased.is_some_and(|before| at < *before)
        };
        let never = || self.never.contains(&(item.channel.clone(), item.message.clone()));
        match &item.change {
            // Those of people who opted out are known by their ids, too, and are counted elsewhere.
            MessageChange::Received(message) => {
                deleted(message.at)
                    || erased(message.sender.as_ref(), message.at)
                    || (!self.opted_out(item) && never())
            }
            // Nothing is edited before it is sent; storing the edit would leave content without a
            // message, which no later deletion would reach.
            MessageChange::Edited { at, by, .. } => {
                deleted(*at) || erased(by.as_ref(), *at) || never()
            }
            MessageChange::Unsent { .. } => false,
        }
    }
}

/// Returns the person who wrote the content of a change; `None` for a retraction, and for the bot.
fn author(change: &MessageChange) -> Option<&UserId> {
    match change {
        MessageChange::Received(message) if !message.is_bot => message.sender.as_ref(),
        MessageChange::Edited { by, .. } => by.as_ref(),
        MessageChange::Received(_) | MessageChange::Unsent { .. } => None,
    }
}
