//! Building the index anew from the store, beside the one in use and without a pause.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::store::Store;
use chatkeep_index::search::{IndexChange, MessageIndex, Rebuild, Touched, WriterOptions};

use super::{FILLED, IndexerError, PAGE, change_of, changes_to};

/// Messages after which what was read is put on disk.
const COMMIT: usize = 50_000;

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
        rebuild = apply(swapping, caught_up(store, missed).await?, false).await?;
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

/// What the index in use was told meanwhile, as the store has it now.
async fn caught_up(store: &Store, missed: Vec<Touched>) -> Result<Vec<IndexChange>, IndexerError> {
    let mut messages: BTreeSet<(ChannelId, MessageId)> = BTreeSet::new();
    let mut changes = Vec::new();
    for touched in missed {
        let channel = ChannelId::new(touched.channel_id);
        match touched.message_id {
            Some(message) => {
                messages.insert((channel, MessageId::new(message)));
            }
            None => changes.extend(whole_channel(store, channel).await?),
        }
    }
    changes.extend(changes_to(store, &messages).await?);
    Ok(changes)
}

/// A channel as the store has it, in the place of whatever the index has of it.
///
/// # Errors
/// When the store fails.
pub(super) async fn whole_channel(
    store: &Store,
    channel: ChannelId,
) -> Result<Vec<IndexChange>, IndexerError> {
    let mut changes = vec![IndexChange::EraseChannel { channel_id: channel.as_str().to_owned() }];
    let mut after = (channel.clone(), MessageId::new(""));
    loop {
        let page = store.all_messages(Some(&after), PAGE).await?;
        let read = page.len();
        if let Some((channel, message, _)) = page.last() {
            after = (channel.clone(), message.clone());
        }
        let own = page.into_iter().take_while(|(of, _, _)| *of == channel);
        let before = changes.len();
        changes.extend(own.map(|(c, m, state)| change_of(c, m, state)));
        if changes.len() - before < read || read == 0 {
            return Ok(changes);
        }
    }
}
