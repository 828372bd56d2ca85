//! Building the index anew from the store, beside the one in use and without a pause.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::store::Store;
use chatkeep_index::search::{IndexChange, MessageIndex, Rebuild, Touched, WriterOptions};

use super::channel::ChannelPages;
use super::{COMMIT, FILLED, IndexerError, PAGE, change_of, changes_to};

/// Builds the index in `folder` anew, in this process, while the service may go on with the old
/// one; `progress` hears of how many messages were read. `false` when there is no index that the
/// service could be using.
///
/// # Errors
/// When the index or the store fails, or when somebody else is at it. The old index stays then.
pub async fn rebuild(
    store: &Store,
    folder: PathBuf,
    mut progress: impl FnMut(usize),
) -> Result<bool, IndexerError> {
    let open = move || -> Result<_, IndexerError> {
        let Some(index) = MessageIndex::open_existing(&folder)? else {
            return Ok(None);
        };
        Ok(Some(Rebuild::start(&index, WriterOptions::default())?))
    };
    let Some(mut rebuild) = tokio::task::spawn_blocking(open).await?? else {
        return Ok(false);
    };
    let (mut after, mut read) = (None, 0);
    loop {
        let page = store.all_messages(after.as_ref(), PAGE).await?;
        let Some((channel, message, _)) = page.last() else {
            break;
        };
        after = Some((channel.clone(), message.clone()));
        let commit = read / COMMIT != (read + page.len()) / COMMIT;
        read += page.len();
        let changes = page.into_iter().map(|(c, m, state)| change_of(c, m, state)).collect();
        rebuild = apply(rebuild, changes, commit).await?;
        progress(read);
    }
    loop {
        let swap = move || -> Result<_, IndexerError> {
            let swapped = rebuild.swap(FILLED)?;
            let missed = if swapped { Vec::new() } else { rebuild.missed()? };
            Ok((rebuild, swapped, missed))
        };
        let (swapping, swapped, missed) = tokio::task::spawn_blocking(swap).await??;
        if swapped {
            return Ok(true);
        }
        rebuild = catch_up(store, swapping, missed).await?;
    }
}

async fn apply(
    mut rebuild: Rebuild,
    changes: Vec<IndexChange>,
    commit: bool,
) -> Result<Rebuild, IndexerError> {
    let apply = move || -> Result<_, IndexerError> {
        rebuild.apply(&changes)?;
        if commit {
            rebuild.commit(FILLED)?;
        }
        Ok(rebuild)
    };
    tokio::task::spawn_blocking(apply).await?
}

/// Tells the index what the one in use was told meanwhile, as the store has it now.
async fn catch_up(
    store: &Store,
    mut rebuild: Rebuild,
    missed: Vec<Touched>,
) -> Result<Rebuild, IndexerError> {
    let mut messages: BTreeSet<(ChannelId, MessageId)> = BTreeSet::new();
    for touched in missed {
        let channel = ChannelId::new(touched.channel_id);
        if let Some(message) = touched.message_id {
            messages.insert((channel, MessageId::new(message)));
            continue;
        }
        let mut pages = ChannelPages::new(store, channel);
        while let Some(changes) = pages.next().await? {
            rebuild = apply(rebuild, changes, false).await?;
        }
    }
    apply(rebuild, changes_to(store, &messages).await?, false).await
}
