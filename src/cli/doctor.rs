//! `chatkeep doctor`: compares counters, files and index with the store, and repairs differences.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_core::config::BusKind;
use chatkeep_core::id::ChannelId;
use chatkeep_index::search::MessageIndex;
use chatkeep_services::doctor::{
    CheckedCounts, Doctor, DoctorOptions, FileChecks, Finding, LocalIndex, Repair, Replicas, Report,
};
use chatkeep_services::media_store;
use chatkeep_services::processes::{media_store_of, running};
use chatkeep_store::{ProcessRecord, Store};
use chatkeep_transfer::out::{note, say};
use chatkeep_workers::replica::{self, Replica};
use tokio::time::Instant;

use super::context::wrong_media_store;
use super::{Context, table};
use crate::app::{self, PreflightError};

/// Time that a running replica may take to index the latest entries of the log.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time without progress after which a replica is considered stopped.
const STUCK: Duration = Duration::from_secs(5);
/// Poll interval of a replica's position.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Incomplete check. Ends the program with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(super) struct NotChecked(anyhow::Error);

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct DoctorArgs {
    /// Repair differences.
    #[arg(long)]
    repair: bool,
    /// Read every media file and compare it with its SHA-256.
    #[arg(long)]
    deep: bool,
    /// Check only this channel and its subscribers; may be repeated.
    #[arg(long, value_name = "ID")]
    channel: Vec<String>,
    /// Print one JSON object a line: each difference, then the summary.
    #[arg(long)]
    json: bool,
    /// Use this media store for the files of the database from now on, also without --repair: they
    /// were moved there without their media-store.id, or are lost.
    #[arg(long)]
    new_media_store: bool,
}

pub(super) async fn run(context: &Context, args: &DoctorArgs) -> anyhow::Result<()> {
    let report = match checked(context, args).await {
        Ok(report) => report,
        Err(error) if error.downcast_ref::<PreflightError>().is_some() => return Err(error),
        Err(error) => return Err(NotChecked(error).into()),
    };
    if args.json {
        table::json(&report)?;
    } else {
        note!("{}", summary(&report));
    }
    match report.left() {
        0 => Ok(()),
        1 => bail!("1 difference remains"),
        left => bail!("{left} differences remain"),
    }
}

async fn checked(context: &Context, args: &DoctorArgs) -> anyhow::Result<Report> {
    let store = context.store().await?;
    let report = examine(context, args, &store).await;
    store.close().await;
    report
}

async fn examine(context: &Context, args: &DoctorArgs, store: &Store) -> anyhow::Result<Report> {
    let blobs = context.blobs()?;
    let running = running(store).await?;
    same_media_store(&blobs, &running).await?;
    own_media_store(args, store, &blobs).await?;
    let running: Vec<_> = running.into_iter().filter(|record| record.search.is_some()).collect();
    let bus = asked(context, &running).await?;
    let replicas = bus.as_ref().map(|bus| Replicas { bus, processes: running.clone() });
    let indexes = match &replicas {
        Some(_) => Vec::new(),
        None => open_indexes(context, !running.is_empty()).await?,
    };
    caught_up(store, &indexes).await?;
    let repair = Repair { clock: Arc::clone(&context.clock) };
    let options = DoctorOptions {
        deep: args.deep,
        channels: channels(store, args).await?,
        timeout: if running.is_empty() { Duration::ZERO } else { TIMEOUT },
        repair: args.repair.then_some(repair),
        files: FileChecks::All,
    };
    let doctor = Doctor { store, blobs: &blobs, indexes: &indexes, replicas, options };
    let json = args.json;
    // Repairs go on although nobody reads the output any more.
    let mut told = Ok(());
    let mut listener = |finding: &Finding| {
        if told.is_ok() {
            told = print_finding(finding, json);
        }
    };
    let report = doctor.run(&mut listener).await;
    if let Some(bus) = &bus {
        bus.close().await;
    }
    let report = report?;
    told?;
    for sentence in &report.skipped {
        note!("chatkeep: {sentence}");
    }
    if args.repair && report.mended > 0 && running.is_empty() && !indexes.is_empty() {
        drop(indexes);
        bring_up_to_date(context, store).await?;
    } else if args.repair {
        caught_up(store, &indexes).await?;
    }
    Ok(report)
}

/// Verifies that the media store is that of the running processes: in another one every file would
/// be missing.
async fn same_media_store(blobs: &Blobs, running: &[ProcessRecord]) -> anyhow::Result<()> {
    let Some((record, theirs)) =
        running.iter().find_map(|record| Some((record, media_store_of(record)?)))
    else {
        return Ok(());
    };
    if blobs.known_identity().await?.as_deref() != Some(theirs) {
        let (pid, host) = (record.process.pid, &record.process.host);
        bail!(PreflightError(format!(
            "this is not the media store of process {pid} on {host}: give --data, --blobs or \
             --config"
        )));
    }
    Ok(())
}

/// Verifies that the files of the database are in the media store, or records that they are.
async fn own_media_store(args: &DoctorArgs, store: &Store, blobs: &Blobs) -> anyhow::Result<()> {
    if !args.new_media_store {
        return media_store::check_known(store, blobs).await.map_err(wrong_media_store);
    }
    media_store::adopt(store, blobs).await?;
    let place = blobs.availability().address();
    note!("chatkeep: {place} is the media store of this database from now on");
    Ok(())
}

/// Opens the bus for requests to running replicas.
async fn asked(context: &Context, running: &[ProcessRecord]) -> anyhow::Result<Option<Bus>> {
    if running.is_empty() || matches!(context.config.bus, BusKind::Embedded) {
        return Ok(None);
    }
    Ok(Some(context.bus().await?))
}

fn print_finding(finding: &Finding, json: bool) -> anyhow::Result<()> {
    if json {
        return table::json(finding);
    }
    Ok(say!("{finding}")?)
}

async fn channels(store: &Store, args: &DoctorArgs) -> anyhow::Result<Option<Vec<ChannelId>>> {
    if args.channel.is_empty() {
        return Ok(None);
    }
    let mut channels: Vec<_> = args.channel.iter().map(|id| ChannelId::from(id.as_str())).collect();
    channels.sort();
    channels.dedup();
    for channel in &channels {
        if store.channels().channel(channel).await?.is_none() {
            return Err(PreflightError(format!("unknown channel {channel}")).into());
        }
    }
    Ok(Some(channels))
}

/// Opens the indexes in the data folder.
async fn open_indexes(context: &Context, running: bool) -> anyhow::Result<Vec<LocalIndex>> {
    let first = app::index_folder(&context.config);
    let open = move || -> anyhow::Result<Vec<LocalIndex>> {
        let mut indexes = Vec::new();
        let folders = replica::folders(&first)?;
        for folder in &folders {
            let name =
                if folders.len() == 1 { String::new() } else { folder.display().to_string() };
            if let Some(index) = MessageIndex::open_existing(folder)? {
                indexes.push(LocalIndex { name, index, running });
            }
        }
        Ok(indexes)
    };
    let indexes =
        tokio::task::spawn_blocking(open).await?.context("cannot open the search index")?;
    if indexes.is_empty() && running {
        let folder = context.config.data.display();
        bail!(PreflightError(format!(
            "the search index of the running process is not in {folder}: give --data or --config"
        )));
    }
    if indexes.is_empty() {
        note!("chatkeep: no search index found here, not checked");
    }
    Ok(indexes)
}

/// Waits until indexes that a process updates have read the log up to its present end, or make no
/// progress any more.
async fn caught_up(store: &Store, indexes: &[LocalIndex]) -> anyhow::Result<()> {
    let end = store.outbox().log_state().await?.newest().at;
    for local in indexes.iter().filter(|local| local.running) {
        let (mut last, mut since) = (None, Instant::now());
        loop {
            let index = local.index.clone();
            tokio::task::spawn_blocking(move || index.refresh()).await??;
            let position = local.position();
            if position.as_ref().is_some_and(|position| position.last.at >= end) {
                break;
            }
            // A running process does not write down every position that it has read up to.
            if local.unread(store).await?.is_some_and(|messages| messages.is_empty()) {
                break;
            }
            if position != last {
                (last, since) = (position, Instant::now());
            } else if since.elapsed() >= STUCK {
                note!("chatkeep: the search index is behind the store");
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

/// Updates the index in place of a process with the role search, for none runs.
async fn bring_up_to_date(context: &Context, store: &Store) -> anyhow::Result<()> {
    let (folder, clock) = (app::index_folder(&context.config), Arc::clone(&context.clock));
    let replica = Replica::open(store.clone(), folder, clock).await?;
    Ok(replica.catch_up().await?)
}

fn summary(report: &Report) -> String {
    let CheckedCounts { channels, messages, media, users, files, indexed, replicas } =
        report.looked;
    let found = match (report.differences, report.mended) {
        (0, _) => "no differences".to_owned(),
        (found, 0) => format!("{found} different"),
        (found, mended) => format!("{found} different, {mended} of them repaired"),
    };
    let index = match (indexed, replicas) {
        (None, _) => String::new(),
        (Some(n), 0 | 1) => format!(", {n} messages in the index"),
        (Some(n), replicas) => format!(", {n} messages in {replicas} indexes"),
    };
    format!(
        "{found}: {channels} channels, {messages} messages, {media} media records, {users} users, \
         {files} files{index}"
    )
}
