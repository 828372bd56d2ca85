//! Orphan sweep: leases of blobs that no message holds, for the time in which their files are
//! deleted. The rules are in the parent module.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::random::random_name;
use chatkeep_core::time::Timestamp;

use super::orphans::names;
use crate::db::{Db, Sql, Tx, locking};
use crate::processes::at_now;
use crate::query::{query, query_as};
use crate::{MediaStore, StoreError, parsed};

/// Time for which the sweep has blobs to itself: whoever sweeps has ended, or given up, each
/// deletion long before.
pub const SWEEP_LEASE: Duration = Duration::from_mins(2);

// A leased mark has the end of its lease in `since`, as a negative number, by the clock of the
// database. It is leased while the sum with the present time is below zero. A sum far below is no
// lease: the clock was set back since.

/// Old marks that no sweep has leased, but for those that others are about to lease.
const OLD: Sql = locking!(
    "SELECT sha256 FROM blob_orphans WHERE since >= 0 AND since < $1
     ORDER BY since, sha256 LIMIT $2",
    " FOR UPDATE SKIP LOCKED"
);

/// Marks whose lease has ended without a deletion, that of the longest ago first: deleting their files
/// may fail for ever.
const FAILED: Sql = at_now!(
    "SELECT sha256 FROM blob_orphans WHERE since < 0 AND since + ",
    " NOT BETWEEN -600000 AND -1
     ORDER BY since DESC, sha256 DESC LIMIT $1",
    " FOR UPDATE SKIP LOCKED"
);

/// Value of `since` for a mark whose lease is ended before a deletion, and which was leased before.
const LEASED_BEFORE: i64 = -1;

/// Blobs that records of messages hold, those of lost files too (what comes back is not deleted), and
/// those of exports.
const HELD: &str = "
    SELECT value ->> 's' FROM json_each($1)
    WHERE EXISTS (SELECT 1 FROM media WHERE sha256 = value ->> 's')
       OR EXISTS (SELECT 1 FROM media WHERE preview_sha256 = value ->> 's')
       OR EXISTS (SELECT 1 FROM export_parts WHERE sha256 = value ->> 's')";

const UNMARK: &str = "
    DELETE FROM blob_orphans WHERE sha256 IN (SELECT value ->> 's' FROM json_each($1))";

/// Leases marks; the length of the lease is bound as a negative number.
const LEASE: Sql = at_now!(
    "UPDATE blob_orphans SET mark = $2, since = $3 - ",
    " WHERE sha256 IN (SELECT value ->> 's' FROM json_each($1))"
);

/// Locks the marks of a lease in order of names, in which the statements after it need not find them.
const OWN: Sql = locking!(
    "SELECT sha256 FROM blob_orphans
     WHERE mark = $2 AND sha256 IN (SELECT value ->> 's' FROM json_each($1)) ORDER BY sha256"
);

const DELETED: &str = "
    DELETE FROM blob_orphans
    WHERE mark = $2 AND since < 0 AND sha256 IN (SELECT value ->> 's' FROM json_each($1))";

/// Ends what is left of the lease; `$4` is `since` from now on. A blob that is claimed although it was
/// leased, as processes of earlier versions do, stays claimed; with another mark, so that it is put
/// again.
const ENDED: &str = "
    UPDATE blob_orphans SET mark = $3, since = CASE WHEN since < 0 THEN $4 ELSE since END
    WHERE mark = $2 AND sha256 IN (SELECT value ->> 's' FROM json_each($1))";

/// Blobs that no message holds, leased until [`OrphanSweep::finish`], or for [`SWEEP_LEASE`].
#[derive(Debug)]
pub struct OrphanSweep {
    db: Arc<Db>,
    /// Mark of the leased blobs.
    lease: String,
    blobs: Vec<BlobId>,
    seen: usize,
    /// Value of `since` for marks whose lease is ended.
    ended: i64,
}

impl MediaStore<'_> {
    /// Reads `limit` marks made before `before` (with [`CLAIM`](crate::CLAIM) taken off the present
    /// time), drops those of blobs that a message holds, and leases the others, whose files are to
    /// be deleted before [`OrphanSweep::finish`] is called. Nothing is locked meanwhile. Marks that
    /// were leased before come after all others, so that files which cannot be deleted hold up none.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is leased then.
    #[boxed]
    pub async fn begin_orphan_sweep(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<OrphanSweep, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let (marked, ended) = marked(&mut tx, before, i64::from(limit)).await?;
        let all = names(marked.iter().map(|(name,)| name.as_str()))?;
        let held: Vec<(String,)> = tx.fetch_all(query_as(HELD).bind(&all)).await?;
        let held: BTreeSet<String> = held.into_iter().map(|(name,)| name).collect();
        let unmarked = names(held.iter().map(String::as_str))?;
        tx.execute(query(UNMARK).bind(&unmarked)).await?;
        let blob =
            |(name,): &(String,)| parsed(BlobId::parse(name), "blob_orphans", "sha256", name);
        let blobs = marked.iter().filter(|(name,)| !held.contains(name)).map(blob);
        let blobs: Vec<BlobId> = blobs.collect::<Result<_, _>>()?;
        let (lease, leased) = (random_name(), names(blobs.iter().map(BlobId::as_str))?);
        let length = i64::try_from(SWEEP_LEASE.as_millis()).unwrap_or(i64::MAX);
        tx.execute(query(LEASE).bind(&leased).bind(&lease).bind(-length)).await?;
        tx.commit().await?;
        Ok(OrphanSweep { db: self.store.db.clone(), lease, blobs, seen: marked.len(), ended })
    }
}

impl OrphanSweep {
    /// Blobs whose files are to be deleted.
    pub fn blobs(&self) -> &[BlobId] {
        &self.blobs
    }

    /// Number of marks read; 0 when there is nothing left to sweep.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Removes the marks of `deleted` files, and ends the lease of those that `failed` to be: they
    /// come again at once, in the order of before. All others stay leased: their deletion may still be
    /// carried out.
    ///
    /// # Errors
    /// Returns an error when the database fails; all come again then when the lease ends.
    #[boxed]
    pub async fn finish(self, deleted: &[BlobId], failed: &[BlobId]) -> Result<(), StoreError> {
        let ended = names(deleted.iter().chain(failed).map(BlobId::as_str))?;
        let deleted = names(deleted.iter().map(BlobId::as_str))?;
        let mut tx = self.db.begin().await?;
        let _: Vec<(String,)> = tx.fetch_all(query_as(OWN).bind(&ended).bind(&self.lease)).await?;
        tx.execute(query(DELETED).bind(&deleted).bind(&self.lease)).await?;
        let end = query(ENDED).bind(&ended).bind(&self.lease).bind(random_name());
        tx.execute(end.bind(self.ended)).await?;
        tx.commit().await
    }
}

/// Locks the next marks to sweep, and returns them with the value of `since` for those whose lease is
/// ended before a deletion.
async fn marked(
    tx: &mut Tx,
    before: Timestamp,
    limit: i64,
) -> Result<(Vec<(String,)>, i64), StoreError> {
    let old: Vec<(String,)> = tx.fetch_all(query_as(OLD).bind(before.millis()).bind(limit)).await?;
    if !old.is_empty() {
        return Ok((old, 0));
    }
    Ok((tx.fetch_all(query_as(FAILED).bind(limit)).await?, LEASED_BEFORE))
}
