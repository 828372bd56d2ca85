//! Ledgers of erasures in the archive, and their replay on a restored database.

use std::collections::HashSet;
use std::path::Path;

use chatkeep_core::time::Timestamp;
use chatkeep_store::{Erasure, ErasurePosition, Store};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, BufWriter};

use super::SnapshotError;

/// Number of entries read or replayed at once.
const PAGE: u32 = 1_000;

/// Writes the ledger of a database into a new file. Returns the SHA-256 of what was written.
pub(super) async fn write_ledger(store: &Store, into: &Path) -> Result<[u8; 32], SnapshotError> {
    let mut file = BufWriter::new(tokio::fs::File::create_new(into).await?);
    let (mut position, mut hash) = (ErasurePosition::default(), Sha256::new());
    while let Some((page, next)) = store.messages().erasures(position, PAGE).await? {
        for entry in &page {
            let mut line = serde_json::to_vec(entry)?;
            line.push(b'\n');
            hash.update(&line);
            file.write_all(&line).await?;
        }
        position = next;
    }
    file.flush().await?;
    Ok(hash.finalize().into())
}

/// Replay of ledgers on a database: what is in several of them is done once.
#[derive(Debug)]
pub(super) struct LedgerReplay<'a> {
    store: &'a Store,
    now: Timestamp,
    /// Beginnings of the hashes of the entries that are done.
    done: HashSet<[u8; 16]>,
    /// Number of entries that were replayed.
    pub(super) replayed: u64,
}

impl<'a> LedgerReplay<'a> {
    /// Begins a replay on a database, whose own erasures are done.
    pub(super) async fn on(store: &'a Store, now: Timestamp) -> Result<Self, SnapshotError> {
        let mut replay = Self { store, now, done: HashSet::new(), replayed: 0 };
        let mut position = ErasurePosition::default();
        while let Some((page, next)) = store.messages().erasures(position, PAGE).await? {
            for entry in &page {
                replay.is_new(entry)?;
            }
            position = next;
        }
        Ok(replay)
    }

    /// Replays the ledger in a file.
    pub(super) async fn file(&mut self, path: &Path) -> Result<(), SnapshotError> {
        let mut lines = BufReader::new(tokio::fs::File::open(path).await?).lines();
        let mut page = Vec::new();
        while let Some(line) = lines.next_line().await? {
            page.push(serde_json::from_str(&line).map_err(SnapshotError::Ledger)?);
            if page.len() >= PAGE as usize {
                self.page(std::mem::take(&mut page)).await?;
            }
        }
        self.page(page).await
    }

    /// Replays the ledger of another database.
    pub(super) async fn database(&mut self, other: &Store) -> Result<(), SnapshotError> {
        let mut position = ErasurePosition::default();
        while let Some((page, next)) = other.messages().erasures(position, PAGE).await? {
            self.page(page).await?;
            position = next;
        }
        Ok(())
    }

    async fn page(&mut self, page: Vec<Erasure>) -> Result<(), SnapshotError> {
        let mut new = Vec::new();
        for entry in page {
            if self.is_new(&entry)? {
                new.push(entry);
            }
        }
        self.store.messages().replay(&new, self.now).await?;
        self.replayed += new.len() as u64;
        Ok(())
    }

    fn is_new(&mut self, entry: &Erasure) -> Result<bool, SnapshotError> {
        let mut beginning = [0; 16];
        let hash = Sha256::digest(serde_json::to_vec(entry)?);
        beginning.copy_from_slice(&hash[..16]);
        Ok(self.done.insert(beginning))
    }
}

/// Checks that a file is a ledger. Returns the number of its entries.
pub(super) async fn check_ledger(path: &Path) -> Result<u64, SnapshotError> {
    let mut lines = BufReader::new(tokio::fs::File::open(path).await?).lines();
    let mut count = 0;
    while let Some(line) = lines.next_line().await? {
        let _: Erasure = serde_json::from_str(&line).map_err(SnapshotError::Ledger)?;
        count += 1;
    }
    Ok(count)
}
