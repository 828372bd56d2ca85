//! Removal of old snapshots, of what unfinished ones left, and of files that no snapshot lists.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use chatkeep_core::time::{DAY, Timestamp};
use futures_util::TryStreamExt as _;

use super::files::WorkFolder;
use super::layout::{BLOBS, CLOCKS, DAMAGED, MANIFEST, SNAPSHOTS, noted_object, object};
use super::lock::{SnapshotLock, leased};
use super::manifest::SnapshotManifest;
use super::{SnapshotError, SnapshotReason, SnapshotService, SnapshotSource};

/// Folder in the data folder for lists of files.
pub(super) const WORK: &str = "snapshot-lists";

/// Snapshots that stay.
#[derive(Clone, Copy, Debug)]
pub enum SnapshotRetention {
    /// The newest ones, and the newest of each of so many days.
    Newest { keep: usize, days: u32 },
    /// Those of that time.
    For(Duration),
}

/// Numbers of what a pruning removed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PruneReport {
    /// Number of snapshots, unfinished ones included.
    pub snapshots: usize,
    /// Number of files of messages.
    pub files: usize,
}

impl SnapshotService {
    /// Removes the snapshots that need not stay.
    ///
    /// # Errors
    /// [`SnapshotError::Busy`] while a snapshot is made, [`SnapshotError::OtherTarget`],
    /// [`SnapshotError::Foreign`], or whatever cannot be read or removed; what is left stays usable.
    pub async fn prune(
        &self,
        source: &SnapshotSource,
        retention: SnapshotRetention,
    ) -> Result<PruneReport, SnapshotError> {
        self.claim(&source.store).await?;
        if source.embedded_database {
            let _lock = SnapshotLock::wait(&self.data).await?;
            return self.prune_locked(retention).await;
        }
        leased(&source.store, self.prune_locked(retention)).await
    }

    /// Does the same for a caller that has the lock.
    pub(super) async fn prune_locked(
        &self,
        retention: SnapshotRetention,
    ) -> Result<PruneReport, SnapshotError> {
        let retained = self.retained(retention).await?;
        let mut report = PruneReport::default();
        for (id, objects) in self.objects().await? {
            if retained.iter().any(|manifest| manifest.id == id) {
                continue;
            }
            self.remove(&id, objects).await?;
            report.snapshots += 1;
        }
        report.files = self.drop_unlisted(&retained).await?;
        self.archive.sweep(&[SNAPSHOTS, BLOBS, DAMAGED]).await?;
        Ok(report)
    }

    /// Removes what snapshots that were never finished have left, so that attempts which fail again
    /// and again do not add up. The caller has the lock.
    pub(super) async fn remove_unfinished(&self) -> Result<(), SnapshotError> {
        for (id, objects) in self.objects().await? {
            if !objects.contains(&object(&id, MANIFEST)) {
                self.remove(&id, objects).await?;
            }
        }
        Ok(self.archive.sweep(&[SNAPSHOTS]).await?)
    }

    /// Removes the copies of before a migration of that schema. The database still has it, and so
    /// everything that they have: the migration failed. Goes by no clock. The caller has the lock.
    pub(super) async fn drop_migration_copies(&self, schema: i64) -> Result<(), SnapshotError> {
        let mut objects = self.objects().await?;
        for earlier in self.manifests().await? {
            let is_replaced =
                earlier.reason == SnapshotReason::Migration && earlier.schema == schema;
            if is_replaced && let Some(objects) = objects.remove(&earlier.id) {
                self.remove(&earlier.id, objects).await?;
            }
        }
        Ok(self.archive.sweep(&[SNAPSHOTS]).await?)
    }

    /// Removes the objects of a snapshot.
    pub(super) async fn remove(
        &self,
        id: &str,
        mut objects: Vec<String>,
    ) -> Result<(), SnapshotError> {
        // The manifest goes first: what is left is no snapshot.
        let manifest = object(id, MANIFEST);
        objects.sort_by_key(|name| *name != manifest);
        for name in objects {
            self.archive.delete(&name).await?;
        }
        Ok(())
    }

    async fn retained(
        &self,
        retention: SnapshotRetention,
    ) -> Result<Vec<SnapshotManifest>, SnapshotError> {
        let records = self.list().await?;
        if let Some(fault) = records.iter().find_map(|record| record.fault.clone()) {
            // Nobody knows which files it lists.
            return Err(SnapshotError::Unprunable(fault));
        }
        let manifests: Vec<_> = records.into_iter().filter_map(|record| record.manifest).collect();
        let times: Vec<_> = manifests.iter().map(|manifest| manifest.created_at).collect();
        let stays = staying(&times, retention, self.clock.now());
        let retained = manifests.into_iter().enumerate().filter(|(nth, _)| stays.contains(nth));
        Ok(retained.map(|(_, manifest)| manifest).collect())
    }

    /// Removes the files that none of these snapshots lists; none, if a list cannot be read.
    pub(super) async fn drop_unlisted(
        &self,
        retained: &[SnapshotManifest],
    ) -> Result<usize, SnapshotError> {
        let work = WorkFolder::create(self.data.join(WORK))?;
        // Hashes of names. Two names with the same one keep a file too many, never one too few.
        let (hasher, mut listed) = (RandomState::new(), HashSet::new());
        for manifest in retained {
            let Some(mut list) = self.blob_list(manifest, &work).await? else { continue };
            while let Some(entry) = list.next().await? {
                listed.extend(entry.stored.map(|stored| hasher.hash_one(&stored.object)));
            }
        }
        let mut dropped = 0;
        let mut all = self.archive.list(BLOBS);
        while let Some(one) = all.try_next().await? {
            if !listed.contains(&hasher.hash_one(&one.name)) {
                self.archive.delete(&one.name).await?;
                dropped += 1;
            }
        }
        let mut notes = self.archive.list(DAMAGED);
        while let Some(note) = notes.try_next().await? {
            let object = noted_object(&note.name).map(|name| hasher.hash_one(name));
            if object.is_none_or(|object| !listed.contains(&object)) {
                self.archive.delete(&note.name).await?;
            }
        }
        Ok(dropped)
    }
}

/// Returns the places of those that stay in a list of times, oldest first.
fn staying(times: &[Timestamp], retention: SnapshotRetention, now: Timestamp) -> BTreeSet<usize> {
    // Those that a wrong clock dated into the future stay, and count for nothing.
    let past = times.partition_point(|time| *time <= now.plus(CLOCKS));
    let (times, to_come) = (&times[..past], past..times.len());
    let mut stays: BTreeSet<_> = to_come.collect();
    match retention {
        SnapshotRetention::For(time) => {
            stays.extend((0..times.len()).filter(|nth| now.since(times[*nth]) < time));
        }
        SnapshotRetention::Newest { keep, days } => {
            stays.extend((0..times.len()).rev().take(keep));
            for (nth, time) in times.iter().enumerate() {
                let last = times.get(nth + 1).is_none_or(|next| next.utc_day() != time.utc_day());
                if last && now.utc_day().since(time.utc_day()) < DAY * days {
                    stays.insert(nth);
                }
            }
        }
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay_and_one_of_each_day() {
        let hour = |hour: i64| Timestamp::from_millis(hour * 3_600_000);
        // Days 0, 0, 1, 1, 2, 2.
        let times = [1, 23, 25, 47, 49, 60].map(hour);
        let retained = |keep, days| {
            let retention = SnapshotRetention::Newest { keep, days };
            staying(&times, retention, hour(61)).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(retained(1, 0), [5]);
        assert_eq!(retained(3, 0), [3, 4, 5]);
        assert_eq!(retained(1, 2), [3, 5], "today and yesterday");
        assert_eq!(retained(2, 30), [1, 3, 4, 5]);
        let retention = SnapshotRetention::For(Duration::from_hours(20));
        assert_eq!(staying(&times, retention, hour(61)), BTreeSet::from([3, 4, 5]));
        let retention = SnapshotRetention::Newest { keep: 1, days: 0 };
        let stays = staying(&times, retention, hour(26));
        assert_eq!(stays, BTreeSet::from([2, 3, 4, 5]), "the clock was ahead when three were made");
    }
}
