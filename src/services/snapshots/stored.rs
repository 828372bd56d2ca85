//! Snapshots that are there, and the lists of their files.

use std::collections::BTreeMap;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use chatkeep_store::Store;
use futures_util::TryStreamExt as _;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};

use super::files::{NotedObject, WorkFolder, remove_file};
use super::layout::{CLOCKS, MANIFEST, PartName, SNAPSHOTS, first_id, id_of, is_id, object};
use super::manifest::{FORMAT, ListedBlob, SnapshotManifest, SnapshotPart};
use super::{SnapshotError, SnapshotService};

/// Snapshot that is there, whole or not.
#[derive(Clone, Debug)]
pub struct SnapshotRecord {
    /// Id.
    pub id: String,
    /// Manifest; `None` for one that was never finished, that is being made, or whose manifest
    /// cannot be read.
    pub manifest: Option<SnapshotManifest>,
    /// Reason for which the manifest cannot be read.
    pub fault: Option<String>,
}

impl SnapshotService {
    /// Returns all snapshots, oldest first.
    ///
    /// # Errors
    /// Returns an error if the archive fails.
    #[boxed]
    pub async fn list(&self) -> Result<Vec<SnapshotRecord>, SnapshotError> {
        let mut records = Vec::new();
        for (id, objects) in self.objects().await? {
            let (mut manifest, mut fault) = (None, None);
            if objects.contains(&object(&id, MANIFEST)) {
                match self.manifest(&id).await {
                    Ok(found) => manifest = Some(found),
                    Err(error) if error.is_about_one() => fault = Some(error.to_string()),
                    Err(error) => return Err(error),
                }
            }
            records.push(SnapshotRecord { id, manifest, fault });
        }
        Ok(records)
    }

    /// Returns the manifests of the whole snapshots, oldest first.
    pub(super) async fn manifests(&self) -> Result<Vec<SnapshotManifest>, SnapshotError> {
        Ok(self.list().await?.into_iter().filter_map(|record| record.manifest).collect())
    }

    /// Returns the objects of every snapshot by its id.
    pub(super) async fn objects(&self) -> Result<BTreeMap<String, Vec<String>>, SnapshotError> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut all = self.archive.list(SNAPSHOTS);
        while let Some(one) = all.try_next().await? {
            if let Some(id) = id_of(&one.name).map(str::to_owned) {
                found.entry(id).or_default().push(one.name);
            }
        }
        Ok(found)
    }

    /// Returns the id of the newest whole snapshot. One that a wrong clock dated into the future is
    /// not the newest, unless there is no other.
    pub(super) async fn newest(&self) -> Result<Option<String>, SnapshotError> {
        let mut all = self.objects().await?;
        all.retain(|id, objects| objects.contains(&object(id, MANIFEST)));
        let to_come = first_id(self.clock.now().plus(CLOCKS));
        let past = all.range(..to_come).next_back();
        Ok(past.or_else(|| all.last_key_value()).map(|(id, _)| id.clone()))
    }

    /// Returns the manifest of a snapshot; `latest` stands for the newest one.
    ///
    /// # Errors
    /// [`SnapshotError::Unknown`], [`SnapshotError::Unfinished`], [`SnapshotError::Newer`],
    /// [`SnapshotError::Damaged`], or when the archive fails.
    #[boxed]
    pub async fn manifest(&self, id: &str) -> Result<SnapshotManifest, SnapshotError> {
        let unknown =
            || SnapshotError::Unknown { id: id.to_owned(), place: self.place().to_owned() };
        let newest = if id == "latest" { self.newest().await? } else { None };
        let id = newest.as_deref().unwrap_or(id);
        if !is_id(id) || id == "latest" {
            return Err(unknown());
        }
        let name = object(id, MANIFEST);
        let Some(text) = self.archive.read(&name).await? else {
            let left = self.objects().await?.contains_key(id);
            return Err(if left { SnapshotError::Unfinished(id.to_owned()) } else { unknown() });
        };
        let damaged = |why: String| SnapshotError::Damaged {
            id: id.to_owned(),
            object: MANIFEST.to_owned(),
            why,
        };
        let manifest: SnapshotManifest =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if manifest.id != id {
            return Err(damaged(format!("is that of snapshot {}", manifest.id)));
        }
        let known = Store::latest_schema();
        if manifest.format > FORMAT || manifest.schema > known {
            let (program, schema) = (manifest.program, manifest.schema);
            return Err(SnapshotError::Newer { id: manifest.id, program, schema, known });
        }
        Ok(manifest)
    }

    /// Opens the list of a snapshot's files, read into `work`; `None` for a snapshot without files.
    pub(super) async fn blob_list(
        &self,
        manifest: &SnapshotManifest,
        work: &WorkFolder,
    ) -> Result<Option<BlobListReader>, SnapshotError> {
        let Some(part) = manifest.part(PartName::Blobs) else { return Ok(None) };
        let file = work.file(&format!("{}.jsonl", manifest.id));
        // It may be read twice.
        remove_file(&file)?;
        manifest.fetch(&self.archive, part.noted(&manifest.object(part)), Some(&file)).await?;
        Ok(Some(BlobListReader::open(&file).await?))
    }
}

impl SnapshotPart {
    /// Returns what was noted of the part, whose object has that name.
    pub(super) fn noted<'a>(&'a self, object: &'a str) -> NotedObject<'a> {
        NotedObject { object, bytes: self.bytes, sha256: &self.sha256 }
    }
}

/// List of files, read in the order of their names.
#[derive(Debug)]
pub(super) struct BlobListReader {
    lines: Lines<BufReader<tokio::fs::File>>,
    /// Entry that was read and not returned yet.
    ahead: Option<ListedBlob>,
}

impl BlobListReader {
    async fn open(file: &Path) -> Result<Self, SnapshotError> {
        let lines = BufReader::new(tokio::fs::File::open(file).await?).lines();
        Ok(Self { lines, ahead: None })
    }

    /// Returns the next entry.
    pub(super) async fn next(&mut self) -> Result<Option<ListedBlob>, SnapshotError> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        match self.lines.next_line().await? {
            Some(line) => Ok(Some(serde_json::from_str(&line)?)),
            None => Ok(None),
        }
    }

    /// Returns the entry of a file. The names asked for must rise.
    pub(super) async fn find(&mut self, blob: &str) -> Result<Option<ListedBlob>, SnapshotError> {
        while let Some(entry) = self.next().await? {
            if entry.blob.as_str() >= blob {
                if entry.blob == blob {
                    return Ok(Some(entry));
                }
                self.ahead = Some(entry);
                return Ok(None);
            }
        }
        Ok(None)
    }
}
