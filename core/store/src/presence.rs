//! Presence of the bot in a channel: joins, leaves, and events that prove its return.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::StoreError;
use super::channels::channel_keys;
use super::coverage::{CoverageChange, note};
use super::db::Tx;
use super::presence_evidence::{PresenceEvidence, PresenceEvidenceKind};
use crate::query::{query, query_as};

/// Channels that the bot has left and not joined since, with the first event after that, and the
/// time at which anybody was last seen there.
const LEFT: &str = "
    SELECT c.channel_id, c.disabled_at, c.resumed_at,
           COALESCE((SELECT MAX(m.last_seen_at) FROM members m
                     WHERE m.channel_id = c.channel_id), 0)
    FROM channels c
    WHERE c.disabled_at > 0 AND c.disabled_at >= c.enabled_at
      AND c.channel_id IN (SELECT value ->> 'c' FROM json_each($1))
    ORDER BY c.channel_id";

const RESUME: &str = "UPDATE channels SET resumed_at = $2 WHERE channel_id = $1";

/// Evidence of the bot in one channel from a batch.
#[derive(Default)]
struct Shown {
    /// Times of events that are no leave.
    events: BTreeSet<i64>,
    /// `true` if an unknown leave came.
    left: bool,
}

/// Channel that the bot has left.
struct Left {
    at: i64,
    resumed: i64,
    seen: i64,
}

/// Records joins and leaves of bots, and events from after they left: any event signed for the bot
/// proves its presence. The channels' rows are saved, and so locked, before.
pub(super) async fn note_bots(
    tx: &mut Tx,
    evidence: &[PresenceEvidence],
) -> Result<(), StoreError> {
    let mut shown: BTreeMap<&ChannelId, Shown> = BTreeMap::new();
    for item in evidence {
        let (channel, at) = (&item.channel.id, item.at);
        let presence = match item.kind {
            PresenceEvidenceKind::BotJoined => CoverageChange::BotJoined,
            PresenceEvidenceKind::BotLeft => CoverageChange::BotLeft,
            PresenceEvidenceKind::Channel => {
                shown.entry(channel).or_default().events.insert(at.millis());
                continue;
            }
            _ => continue,
        };
        let is_new = note(tx, channel, at, presence).await?;
        if presence == CoverageChange::BotLeft {
            shown.entry(channel).or_default().left |= is_new;
        }
    }
    if shown.is_empty() {
        return Ok(());
    }
    let channels: Vec<_> = shown.keys().map(|channel| (*channel).clone()).collect();
    let keys = channel_keys(&channels)?;
    let rows: Vec<(String, i64, i64, i64)> = tx.fetch_all(query_as(LEFT).bind(&keys)).await?;
    for (channel, at, resumed, seen) in rows {
        let channel = ChannelId::from(channel);
        let left = Left { at, resumed, seen };
        let back = shown.get(&channel).and_then(|shown| left.back(shown));
        if let Some(back) = back.filter(|back| *back != resumed) {
            tx.execute(query(RESUME).bind(channel.as_str()).bind(back)).await?;
            note(tx, &channel, Timestamp::from_millis(back), CoverageChange::BotJoined).await?;
        }
    }
    Ok(())
}

impl Left {
    /// Returns the known time of the bot's return: the first event after it left. Of events that
    /// came before a late leave only the last is known.
    fn back(&self, shown: &Shown) -> Option<i64> {
        let event = shown.events.range(self.at + 1..).next().copied();
        let later = |time: i64| Some(time).filter(|time| *time > self.at);
        let seen = later(self.seen).filter(|_| shown.left);
        [event, later(self.resumed), seen].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_after_the_leave_shows_the_bot() {
        let left = Left { at: 20, resumed: 0, seen: 50 };
        let events = |times: &[i64], left| Shown { events: times.iter().copied().collect(), left };
        assert_eq!(left.back(&events(&[10, 20], false)), None);
        assert_eq!(left.back(&events(&[10, 40, 30], false)), Some(30));
        assert_eq!(left.back(&events(&[20], true)), Some(50), "the leave came late");
        let again = Left { at: 20, resumed: 30, seen: 0 };
        assert_eq!(again.back(&events(&[25], false)), Some(25));
        assert_eq!(again.back(&events(&[40], false)), Some(30));
        let left_again = Left { at: 35, resumed: 30, seen: 0 };
        assert_eq!(left_again.back(&events(&[35], true)), None);
    }
}
