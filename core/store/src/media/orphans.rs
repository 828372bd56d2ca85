//! Marks of blobs that may have to be deleted: claims and releases. The rules are in the parent
//! module.

use std::collections::BTreeSet;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::ChannelId;
use chatkeep_core::random::random_name;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::db::{Sql, Tx, locking};
use super::super::ingest::BulkKey;
use super::super::ledger::Ledger;
use super::super::processes::at_now;
use super::super::{MediaStore, StoreError};
use super::file_kind;
use crate::query::{query, query_as};

/// Time for which the sweep leaves a claimed blob alone: longer than any upload takes from the
/// claim to its message.
pub const CLAIM: Duration = Duration::from_hours(1);

/// Pauses of a claim between attempts, while the sweep has the blob: the first one, which doubles
/// with each attempt, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];

/// Returns no row while the blob is leased. The mark of a lease that has ended is replaced: its
/// sweep may stand still, and must not take the present mark for its own when it goes on.
const CLAIMED: Sql = at_now!(
    "INSERT INTO blob_orphans (sha256, mark, since) VALUES ($1, $2, $3)
     ON CONFLICT (sha256) DO UPDATE SET since = excluded.since,
         mark = CASE WHEN blob_orphans.since < 0 THEN excluded.mark ELSE blob_orphans.mark END
     WHERE blob_orphans.since + ",
    " NOT BETWEEN -600000 AND -1
     RETURNING mark"
);

const MARK: Sql = locking!("SELECT mark FROM blob_orphans WHERE sha256 = $1");

/// Writes also without a change, to lock the mark. Blobs claimed or leased meanwhile stay so.
const MARK_ALL: &str = "
    INSERT INTO blob_orphans (sha256, mark, since)
    SELECT value ->> 's', $2, 0 FROM json_each($1) WHERE TRUE
    ON CONFLICT (sha256) DO UPDATE SET since = blob_orphans.since";

/// A lease is not the claim's to end.
const RELEASE: &str = "
    UPDATE blob_orphans SET since = 0
    WHERE since >= 0 AND sha256 IN (SELECT value ->> 's' FROM json_each($1))";

/// Records of lost files do not count: they hold what may not be there.
const THERE: &str = "
    SELECT value ->> 's' FROM json_each($1)
    WHERE EXISTS (SELECT 1 FROM media WHERE sha256 = value ->> 's' AND status = 'stored')
       OR EXISTS (SELECT 1 FROM media WHERE preview_sha256 = value ->> 's' AND status = 'stored')
       OR EXISTS (SELECT 1 FROM export_parts WHERE sha256 = value ->> 's')";

const ERASE: &str = "
    DELETE FROM media
    WHERE (channel_id, message_id) IN (SELECT value ->> 'c', value ->> 'm' FROM json_each($1))
    RETURNING channel_id, type AS kind, bytes, stored_at, sha256, preview_sha256";

#[derive(Debug, sqlx_macros::FromRow)]
struct ErasedRow {
    channel_id: String,
    kind: Option<String>,
    bytes: i64,
    stored_at: Option<i64>,
    sha256: Option<String>,
    preview_sha256: Option<String>,
}

/// Element of the JSON list that a bulk statement reads.
#[derive(Serialize)]
struct Name<'a> {
    s: &'a str,
}

/// Encodes blobs in order of names, which is the lock order of marks.
pub(crate) fn names<'a>(blobs: impl IntoIterator<Item = &'a str>) -> Result<String, StoreError> {
    let names: BTreeSet<&str> = blobs.into_iter().collect();
    let names: Vec<_> = names.into_iter().map(|s| Name { s }).collect();
    Ok(serde_json::to_string(&names)?)
}

/// Proof that a blob was claimed before it was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobClaim {
    blob: BlobId,
    mark: String,
}

impl MediaStore<'_> {
    /// Claims a blob that is about to be put, so that it is not swept for [`CLAIM`]. While the
    /// sweep has it, this waits until its file is gone, or at most until the lease of the sweep
    /// ends.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn claim_blob(&self, blob: BlobId, now: Timestamp) -> Result<BlobClaim, StoreError> {
        let [mut pause, longest] = PAUSES;
        loop {
            if let Some(mark) = self.try_claim(&blob, now).await? {
                return Ok(BlobClaim { blob, mark });
            }
            tokio::time::sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    /// Claims a blob and returns its mark; `None` while the sweep has it.
    async fn try_claim(&self, blob: &BlobId, now: Timestamp) -> Result<Option<String>, StoreError> {
        let claimed = query_as(CLAIMED).bind(blob.as_str()).bind(random_name()).bind(now.millis());
        let mut tx = self.store.db.begin().await?;
        let claimed: Option<(String,)> = tx.fetch_optional(claimed).await?;
        tx.commit().await?;
        Ok(claimed.map(|(mark,)| mark))
    }
}

impl BlobClaim {
    /// Claimed blob.
    pub const fn blob(&self) -> &BlobId {
        &self.blob
    }
}

/// Locks the mark of a blob for a message to hold; `false` when the blob may be gone.
pub(crate) async fn hold(tx: &mut Tx, claim: &BlobClaim) -> Result<bool, StoreError> {
    let name = claim.blob.as_str();
    let found: Option<(String,)> = tx.fetch_optional(query_as(MARK).bind(name)).await?;
    if found.is_some_and(|(mark,)| mark == claim.mark) {
        return Ok(true);
    }
    // The sweep has taken the mark, unless it only dropped it because another message holds the
    // blob. Marked first, so that nobody releases it and nobody sweeps it before this transaction
    // ends.
    let name = names([name])?;
    tx.execute(query(MARK_ALL).bind(&name).bind(random_name())).await?;
    let there: Option<(String,)> = tx.fetch_optional(query_as(THERE).bind(&name)).await?;
    Ok(there.is_some())
}

/// Ends claims: the next sweep examines these blobs.
pub(crate) async fn release(tx: &mut Tx, claims: &[&BlobClaim]) -> Result<(), StoreError> {
    let names = names(claims.iter().map(|claim| claim.blob.as_str()))?;
    tx.execute(query(RELEASE).bind(&names)).await?;
    Ok(())
}

/// Releases the files of messages (`keys`: a JSON list of [`BulkKey`]): records are deleted,
/// counters fall, blobs are marked. Returns the freed bytes. The ledger has to hold the messages'
/// channels, and is to be saved after this.
pub(crate) async fn erase_media(
    tx: &mut Tx,
    ledger: &mut Ledger,
    keys: &[BulkKey<'_>],
) -> Result<i64, StoreError> {
    let keys = serde_json::to_string(keys)?;
    let erased: Vec<ErasedRow> = tx.fetch_all(query_as(ERASE).bind(&keys)).await?;
    let mut freed = 0;
    for row in &erased {
        if let Some(stored_at) = row.stored_at {
            let channel = ChannelId::from(row.channel_id.as_str());
            let (at, kind) = (Timestamp::from_millis(stored_at), file_kind(row.kind.as_deref()));
            ledger.charge_file(&channel, at, kind, -row.bytes);
            freed += row.bytes;
        }
    }
    let blobs = erased.iter().flat_map(|row| [&row.sha256, &row.preview_sha256]).flatten();
    let blobs = names(blobs.map(String::as_str))?;
    mark(tx, &blobs).await?;
    Ok(freed)
}

/// Marks blobs ([`names`]) that a message releases, or that none may hold.
pub(crate) async fn mark(tx: &mut Tx, blobs: &str) -> Result<(), StoreError> {
    tx.execute(query(MARK_ALL).bind(blobs).bind(random_name())).await?;
    Ok(())
}
