//! Joins and leaves of people: each has one event, in whatever batches and order they come.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;

use super::StoreError;
use super::db::{Sql, Tx, locking};
use super::outbox_kind::OutboxEventKind;
use super::outbox_log::NewOutboxEvent;
use super::presence_evidence::{PresenceEvidence, PresenceEvidenceKind};
use crate::query::query_as;

/// Number of the newest rows of the log that are examined for the event of a late move: no index
/// finds the events of a person.
const EXAMINED: i64 = 100_000;
/// Milliseconds by which the platform's clock, which gives the time of a move, may be ahead of ours,
/// which gives that of its logging.
const CLOCKS: i64 = 10 * 60 * 1_000;

const PRESENT: Sql = locking!(
    "SELECT channel_id, user_id, joined_at, left_at FROM members
     WHERE (channel_id, user_id) IN (SELECT value ->> 'c', value ->> 'u' FROM json_each($1))
     ORDER BY channel_id, user_id"
);

/// Number of the rows examined, the time of the first of them, and more than 0 if rows before them
/// were purged.
const EXTENT: Sql = Sql {
    sqlite: "SELECT COUNT(*), MIN(logged_at), (SELECT purged_tx + purged_seq FROM deployment)
             FROM (SELECT logged_at FROM outbox_events ORDER BY seq DESC LIMIT $1) r",
    postgres: "SELECT COUNT(*), MIN(logged_at), (SELECT purged_tx + purged_seq FROM deployment)
               FROM (SELECT logged_at FROM outbox_events ORDER BY tx DESC, seq DESC LIMIT $1) r",
};

/// Builds the statement that finds the moves of people among the newest rows in that order.
macro_rules! logged {
    ($newest:literal) => {
        concat!(
            "SELECT channel_id, subject_id, type, at
             FROM (SELECT channel_id, subject_id, type, at FROM outbox_events
                   ORDER BY ",
            $newest,
            " LIMIT $2) r
             WHERE type IN ('member.joined', 'member.left')
               AND (channel_id, subject_id) IN
                   (SELECT value ->> 'c', value ->> 'u' FROM json_each($1))"
        )
    };
}

const LOGGED: Sql = Sql { sqlite: logged!("seq DESC"), postgres: logged!("tx DESC, seq DESC") };

/// Join or leave of a person. Moves of a person sort by time; in the same millisecond the leave
/// counts, so it comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct PresenceMove<'a> {
    /// Channel.
    pub(super) c: &'a str,
    /// Person.
    pub(super) u: &'a str,
    /// Time in milliseconds since 1970.
    pub(super) at: i64,
    is_leave: bool,
}

impl<'a> PresenceMove<'a> {
    /// Returns the move that a piece of evidence is about.
    fn of(item: &'a PresenceEvidence) -> Option<Self> {
        let (user, is_leave) = match &item.kind {
            PresenceEvidenceKind::Joined(user) => (user, false),
            PresenceEvidenceKind::Left(user) => (user, true),
            _ => return None,
        };
        let (c, u) = (item.channel.id.as_str(), user.as_str());
        Some(Self { c, u, at: item.at.millis(), is_leave })
    }

    const fn kind(&self) -> OutboxEventKind {
        if self.is_leave { OutboxEventKind::MemberLeft } else { OutboxEventKind::MemberJoined }
    }

    /// Returns the event of the move.
    pub(super) const fn event(&self) -> NewOutboxEvent<'a> {
        NewOutboxEvent { kind: self.kind().name(), at: self.at, c: Some(self.c), s: Some(self.u) }
    }
}

/// Returns the moves that have no event yet, by channel and person, in their order. A move after all
/// that are known of its kind has none; the event of an earlier one is looked for in the log. Call
/// it before the moves are saved.
pub(super) async fn new_moves<'a>(
    tx: &mut Tx,
    evidence: &'a [PresenceEvidence],
) -> Result<BTreeSet<PresenceMove<'a>>, StoreError> {
    let moves: BTreeSet<_> = evidence.iter().filter_map(PresenceMove::of).collect();
    if moves.is_empty() {
        return Ok(moves);
    }
    let keys = serde_json::to_string(&moves)?;
    let rows: Vec<(String, String, i64, i64)> = tx.fetch_all(query_as(PRESENT).bind(&keys)).await?;
    let known = rows.iter().map(|(c, u, on, off)| ((c.as_str(), u.as_str()), (*on, *off)));
    let known: HashMap<_, _> = known.collect();
    let (mut new, mut late) = (BTreeSet::new(), BTreeSet::new());
    for one in moves {
        let (joined, left) = known.get(&(one.c, one.u)).copied().unwrap_or_default();
        match one.at.cmp(if one.is_leave { &left } else { &joined }) {
            Ordering::Greater => new.insert(one),
            Ordering::Less => late.insert(one),
            // It made this time known.
            Ordering::Equal => false,
        };
    }
    if !late.is_empty() {
        retain_unlogged(tx, &mut late).await?;
        new.append(&mut late);
    }
    Ok(new)
}

/// Keeps those late moves that certainly have no event.
async fn retain_unlogged(
    tx: &mut Tx,
    late: &mut BTreeSet<PresenceMove<'_>>,
) -> Result<(), StoreError> {
    let (examined, first, purged): (i64, Option<i64>, i64) =
        tx.fetch_one(query_as(EXTENT).bind(EXAMINED)).await?;
    if examined == EXAMINED || purged > 0 {
        // Of earlier ones nobody knows: rather none is reported than one twice.
        let since = first.map_or(i64::MAX, |first| first.saturating_add(CLOCKS));
        late.retain(|one| one.at >= since);
    }
    let keys = serde_json::to_string(&*late)?;
    let rows: Vec<(String, String, String, i64)> =
        tx.fetch_all(query_as(LOGGED).bind(&keys).bind(EXAMINED)).await?;
    let logged = rows.iter().map(|(c, u, kind, at)| (c.as_str(), u.as_str(), kind.as_str(), *at));
    let logged: HashSet<_> = logged.collect();
    late.retain(|one| !logged.contains(&(one.c, one.u, one.kind().name(), one.at)));
    Ok(())
}
