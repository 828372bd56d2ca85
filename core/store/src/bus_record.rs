//! Last recorded state of the bus, by which a bus that has lost events is noticed: another one
//! than before, or one that is behind. What it lost was accepted and never stored, so coverage shows
//! an outage. So it does of a database that was restored, for which every bus is another one.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::coverage::ADD_OUTAGE;
use super::{ProcessStore, StoreError};
use crate::query::{query, query_as};

/// State of a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusRecord {
    /// Identity of the bus.
    pub identity: String,
    /// Number of the last event that it accepted; it never falls.
    pub last_sequence: u64,
    /// Time before which every accepted event has been handled.
    pub handled_until: Timestamp,
}

impl BusRecord {
    /// Returns true if `later`, read after this one, is of a bus that has lost what this one had.
    pub fn is_lost_in(&self, later: &Self) -> bool {
        self.identity != later.identity || self.last_sequence > later.last_sequence
    }

    fn row(&self) -> (&str, i64, i64) {
        let sequence = i64::try_from(self.last_sequence).unwrap_or(i64::MAX);
        (&self.identity, sequence, self.handled_until.millis())
    }
}

type Row = (Option<String>, Option<i64>, Option<i64>);

const RECORDED: &str = "SELECT bus_identity, bus_last_sequence, bus_handled_until FROM deployment";
const FIRST: &str = "
    UPDATE deployment SET bus_identity = $1, bus_last_sequence = $2, bus_handled_until = $3
    WHERE bus_identity IS NULL";
const NEXT: &str = "
    UPDATE deployment SET bus_identity = $1, bus_last_sequence = $2, bus_handled_until = $3
    WHERE bus_identity = $4 AND bus_last_sequence = $5 AND bus_handled_until = $6";

/// Identity in a restored database, which no bus has.
const RESTORED: &str = "restored";
const LEAVE: &str = "
    UPDATE deployment SET bus_identity = $1, bus_last_sequence = 0, bus_handled_until = $2";
const RESTORED_AT: &str = "
    UPDATE deployment SET restored_at = CASE WHEN restored_at < $1 THEN $1 ELSE restored_at + 1 END";
const OWNER: &str = "SELECT store_id, restored_at FROM deployment";
const ALIVE: &str = "SELECT MIN(alive_at) FROM heartbeat";
const FORGET_ALIVE: &str = "DELETE FROM heartbeat";

impl ProcessStore<'_> {
    /// Returns the last recorded state of the bus; `None` before the first one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn bus_record(&self) -> Result<Option<BusRecord>, StoreError> {
        let row: Row = self.store.db.fetch_one(query_as(RECORDED)).await?;
        let (Some(identity), Some(sequence), Some(until)) = row else { return Ok(None) };
        Ok(Some(BusRecord {
            identity,
            last_sequence: sequence.unsigned_abs(),
            handled_until: Timestamp::from_millis(until),
        }))
    }

    /// Prepares a restored database for what came since the copy was made, which is lost: once a
    /// service runs on it, coverage shows an outage, however short it is, from the time before
    /// which every event was stored. It takes the place of the outage of a service that did not
    /// run. Buses are this database's from now on, and no longer that of which it is a copy.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn leave_lost_events(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        let (_, _, handled): Row = tx.fetch_one(query_as(RECORDED)).await?;
        let (alive,): (Option<i64>,) = tx.fetch_one(query_as(ALIVE)).await?;
        // Without either, no service has run on it.
        if let Some(until) = handled.into_iter().chain(alive).min() {
            tx.execute(query(LEAVE).bind(RESTORED).bind(until)).await?;
            tx.execute(query(FORGET_ALIVE)).await?;
        }
        tx.execute(query(RESTORED_AT).bind(now.millis())).await?;
        tx.commit().await
    }

    /// Returns the id of this database, which copies share, and the time of its last restoration in
    /// milliseconds since 1970, 0 if there was none: together they name the owner of a bus.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn bus_owner(&self) -> Result<(String, i64), StoreError> {
        Ok(self.store.db.fetch_one(query_as(OWNER)).await?)
    }

    /// Replaces the state of the bus; false, and nothing is changed, if it is not `known` any more,
    /// which was read before `found`. If the bus has lost what it had, coverage shows an outage from
    /// the time before which every event had been handled until `now`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn replace_bus_record<'s>(
        &'s self,
        known: Option<&'s BusRecord>,
        found: &'s BusRecord,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let (identity, sequence, until) = found.row();
        let sql = if known.is_some() { NEXT } else { FIRST };
        let mut replace = query(sql).bind(identity).bind(sequence).bind(until);
        if let Some(known) = known {
            let (identity, sequence, until) = known.row();
            replace = replace.bind(identity).bind(sequence).bind(until);
        }
        if tx.execute(replace).await? == 0 {
            return Ok(false);
        }
        if let Some(known) = known.filter(|known| known.is_lost_in(found)) {
            // The clock may have been set back.
            let to = now.max(known.handled_until).millis();
            let from = known.handled_until.millis();
            tx.execute(query(ADD_OUTAGE).bind(from).bind(to)).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}
