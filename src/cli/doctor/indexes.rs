//! Search indexes in the data folder: opened for a check, and brought up to date after a repair.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_core::causes::with_causes;
use chatkeep_index::search::MessageIndex;
use chatkeep_services::doctor::LocalIndex;
use chatkeep_store::{OutboxPosition, Store};
use chatkeep_transfer::out::note;
use chatkeep_workers::replica::{self, Replica};
use tokio::time::Instant;

use crate::app::{self, PreflightError};
use crate::cli::Context;

/// Time without progress after which a replica is considered stopped.
const STUCK: Duration = Duration::from_secs(5);
/// Poll interval of a replica's position.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Sentences about what is not compared.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Indexes that could not be read.
    pub unchecked: Vec<String>,
    /// Indexes that need not be compared.
    pub skipped: Vec<String>,
}

/// Opens the indexes in the data folder, and says which ones are left out. `running` is `true` if a
/// process with a search replica runs.
pub(super) async fn open_indexes(
    context: &Context,
    running: bool,
    left_out: &mut LeftOut,
) -> anyhow::Result<Vec<LocalIndex>> {
    let first = app::index_folder(&context.config);
    let open = move || folder_indexes(&first, running);
    let (indexes, found) =
        tokio::task::spawn_blocking(open).await?.context("cannot open the search index")?;
    let LeftOut { unchecked: broken, skipped } = found;
    left_out.skipped.extend(skipped);
    if indexes.is_empty() && broken.is_empty() && running {
        let folder = context.config.data.display();
        bail!(PreflightError(format!(
            "the search index of the running process is not in {folder}: give --data or --config"
        )));
    }
    if indexes.is_empty() && broken.is_empty() {
        note!("chatkeep: no search index found here, not checked");
    }
    left_out.unchecked.extend(broken);
    Ok(indexes)
}

/// Opens the indexes beside `first`. Each has a lock of its own, by which a process has it or not.
fn folder_indexes(first: &Path, running: bool) -> anyhow::Result<(Vec<LocalIndex>, LeftOut)> {
    let (mut indexes, mut left_out) = (Vec::new(), LeftOut::default());
    let folders = replica::folders(first)?;
    for folder in &folders {
        let is_used = replica::is_used(folder)?;
        if running && !is_used {
            let folder = folder.display();
            left_out.skipped.push(format!(
                "the search index in {folder} is not compared: no process has it any more, and the \
                 running ones delete it within an hour"
            ));
            continue;
        }
        let name = if folders.len() == 1 { String::new() } else { folder.display().to_string() };
        match MessageIndex::open_existing(folder) {
            Ok(Some(index)) => indexes.push(LocalIndex { name, index, running: is_used }),
            Ok(None) => {}
            Err(error) => {
                let (folder, error) = (folder.display(), with_causes(&error));
                let sentence = format!("the search index in {folder} is not compared: {error}");
                left_out.unchecked.push(sentence);
            }
        }
    }
    Ok((indexes, left_out))
}

/// Waits until indexes that a process updates have read the log up to its present end, or make no
/// progress any more. Returns those that can be read, and says in `unchecked` which ones cannot.
pub(super) async fn caught_up(
    store: &Store,
    indexes: Vec<LocalIndex>,
    unchecked: &mut Vec<String>,
) -> anyhow::Result<Vec<LocalIndex>> {
    let end = store.outbox().log_state().await?.newest().at;
    let mut readable = Vec::with_capacity(indexes.len());
    for local in indexes {
        let ready = if local.running { wait_for(store, &local, end).await } else { Ok(()) };
        match ready {
            Ok(()) => readable.push(local),
            Err(error) => {
                let (name, error) = (local.known(), with_causes(error.as_ref()));
                unchecked.push(format!("{name} is not compared: {error}"));
            }
        }
    }
    Ok(readable)
}

async fn wait_for(store: &Store, local: &LocalIndex, end: OutboxPosition) -> anyhow::Result<()> {
    let (mut last, mut since) = (None, Instant::now());
    loop {
        let index = local.index.clone();
        tokio::task::spawn_blocking(move || index.refresh()).await??;
        let position = local.position();
        if position.as_ref().is_some_and(|position| position.last.at >= end) {
            return Ok(());
        }
        // A running process does not write down every position that it has read up to.
        if local.unread(store).await?.is_some_and(|messages| messages.is_empty()) {
            return Ok(());
        }
        if position != last {
            (last, since) = (position, Instant::now());
        } else if since.elapsed() >= STUCK {
            note!("chatkeep: the search index is behind the store");
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Updates the index in place of a process with the role search, for none runs.
pub(super) async fn bring_up_to_date(context: &Context, store: &Store) -> anyhow::Result<()> {
    let (folder, clock) = (app::index_folder(&context.config), Arc::clone(&context.clock));
    let replica = Replica::open_first(store.clone(), folder, clock).await?;
    replica.catch_up().await?;
    Ok(replica.delete_spares().await?)
}
