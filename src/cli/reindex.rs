//! `chatkeep reindex`: requests a rebuild of the search index from the store, in every process that
//! has a replica of it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::bail;
use chatkeep_core::id::ChannelId;
use chatkeep_services::channels::ChannelService;
use chatkeep_services::indexing::IndexingService;
use chatkeep_store::{NewProcess, OutboxPosition, ProcessRecord};
use chatkeep_transfer::out::note;
use chatkeep_workers::replica::{ReplicaPhase, ReplicaState, ReplicaWork};

use super::progress::ProgressReporter;
use super::{Context, on_signal};
use crate::app;

const BAR: &str = "{bar:30} {percent}% {msg}";

/// Poll interval of the replicas' progress.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(super) struct ReindexArgs {
    /// Reindex only this channel.
    #[arg(long, value_name = "ID")]
    channel: Option<String>,

    /// Do not wait until the running processes have finished.
    #[arg(long)]
    no_wait: bool,
}

pub(super) async fn run(context: &Context, args: &ReindexArgs) -> anyhow::Result<()> {
    let store = context.store().await?;
    let done = match chosen_channel(context, &context.channels(&store), args).await {
        Ok(channel) => reindex(context, args, &context.indexing(&store), channel).await,
        Err(error) => Err(error),
    };
    store.close().await;
    done
}

/// Returns the channel to reindex, if only one is.
async fn chosen_channel(
    context: &Context,
    channels: &ChannelService,
    args: &ReindexArgs,
) -> anyhow::Result<Option<ChannelId>> {
    let Some(channel) = args.channel.as_deref().map(ChannelId::from) else { return Ok(None) };
    if channels.any(&context.operator, &channel).await?.is_none() {
        bail!("unknown channel {channel}");
    }
    Ok(Some(channel))
}

async fn reindex(
    context: &Context,
    args: &ReindexArgs,
    indexing: &IndexingService,
    channel: Option<ChannelId>,
) -> anyhow::Result<()> {
    let operator = &context.operator;
    let folder = app::index_folder(&context.config);
    if indexing.replicas(operator).await?.is_empty() && !folder.exists() {
        bail!(
            "no process with the role search is running, and {} contains no index: the next \
             process that starts builds one",
            folder.display()
        );
    }
    let whole = channel.is_none();
    let asked = indexing.request(operator, channel.as_ref()).await?;
    let what = channel.map_or("rebuilding the search index".to_owned(), |channel| {
        format!("reindexing channel {channel}")
    });
    let running = indexing.replicas(operator).await?.len();
    if running == 0 {
        return here(context, indexing, &what).await;
    }
    if args.no_wait {
        note!("{what} in {running} running processes");
        return Ok(());
    }
    let stop = on_signal()?;
    match stop.run_until_cancelled(watch(context, indexing, asked, whole)).await {
        None => note!("{what} continues in the background"),
        Some(replicas) => {
            let (replicas, messages) = replicas?;
            let indexes = if replicas == 1 { "index" } else { "indexes" };
            note!("{what} completed: {messages} messages in {replicas} {indexes}");
        }
    }
    Ok(())
}

/// Shows the replicas' progress until all running ones have completed the request at that position
/// of the log. Returns the number of replicas, and of messages in one of them.
async fn watch(
    context: &Context,
    indexing: &IndexingService,
    asked: OutboxPosition,
    whole: bool,
) -> anyhow::Result<(usize, u64)> {
    let total = indexing.messages(&context.operator).await?;
    let mut progress = ProgressReporter::new(Some(total), BAR);
    let (mut waiting, mut printed) = (0, usize::MAX);
    let mut failures = BTreeSet::new();
    loop {
        // Printed once for each number, so that the command is not silent.
        if waiting > 0 && waiting != printed {
            note!("chatkeep: waiting for {waiting} {}", processes(waiting));
            printed = waiting;
        }
        let replicas = indexing.replicas(&context.operator).await?;
        if replicas.is_empty() {
            progress.end();
            bail!(
                "no process with the role search is running any more: the next one that starts \
                 does it"
            );
        }
        let done = |state: &ReplicaState| {
            let at = if whole { state.filled } else { state.position };
            at >= asked && state.unready().is_none()
        };
        let open: Vec<_> = replicas.iter().filter(|(_, state)| !done(state)).collect();
        if open.is_empty() {
            progress.end();
            let messages = replicas.iter().map(|(_, state)| state.messages).max();
            return Ok((replicas.len(), messages.unwrap_or_default()));
        }
        for failure in open.iter().filter_map(|(record, state)| failure(record, state)) {
            if !failures.contains(&failure) {
                note!("chatkeep: {failure}");
                failures.insert(failure);
            }
        }
        waiting = open.len();
        let slowest = open.iter().map(|(_, state)| state.work.unwrap_or_default());
        let ReplicaWork { done, .. } = slowest.min_by_key(|work| work.done).unwrap_or_default();
        progress.at(done, || match done {
            0 => format!("waiting for {} {}", open.len(), processes(open.len())),
            done => format!("{done} of {total} messages"),
        });
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

const fn processes(count: usize) -> &'static str {
    if count == 1 { "process" } else { "processes" }
}

/// Returns a sentence about a replica that cannot do its work, as of its process' last heartbeat.
fn failure(record: &ProcessRecord, state: &ReplicaState) -> Option<String> {
    let reason = state.unready().filter(|_| state.phase == ReplicaPhase::Failing)?;
    let NewProcess { pid, host, .. } = &record.process;
    Some(format!("process {pid} on {host}: {reason}"))
}

/// Rebuilds the index in this process when no other one would.
async fn here(context: &Context, indexing: &IndexingService, what: &str) -> anyhow::Result<()> {
    let folder = app::index_folder(&context.config);
    let replica = indexing.replica(&context.operator, folder).await?;
    let total = indexing.messages(&context.operator).await?;
    let mut progress = ProgressReporter::new(Some(total), BAR);
    let mut states = replica.watch();
    let stop = on_signal()?;
    let mut work = Box::pin(replica.catch_up());
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            _ = states.changed() => {
                let done = states.borrow_and_update().work.unwrap_or_default().done;
                progress.at(done, || format!("{done} of {total} messages"));
            }
            () = stop.cancelled() => bail!("interrupted: the old index is kept"),
        }
    };
    progress.end();
    done?;
    // Those that other processes left behind would keep words of messages that are erased.
    replica.delete_spares().await?;
    note!("{what} completed: {} messages in 1 index", replica.state().messages);
    Ok(())
}
