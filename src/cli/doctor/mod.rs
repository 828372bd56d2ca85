//! `chatkeep doctor`: compares counters, files and index with the store, and repairs differences.

mod indexes;

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::BusKind;
use chatkeep_core::id::ChannelId;
use chatkeep_services::doctor::{
    CheckedCounts, Doctor, DoctorOptions, FileChecks, Finding, Repair, Replicas, Report,
};
use chatkeep_services::media_store::{self, MediaStoreError};
use chatkeep_services::processes::{media_store_of, running};
use chatkeep_store::{ProcessRecord, Store};
use chatkeep_transfer::out::{note, say};

use self::indexes::{LeftOut, bring_up_to_date, caught_up, open_indexes};
use super::context::wrong_media_store;
use super::{Context, table};
use crate::app::PreflightError;

/// Time that a running replica may take to index the latest entries of the log.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time without a sign of life after which a running replica is given up.
const SILENCE: Duration = Duration::from_mins(1);

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
    /// Print one JSON object per line: each difference, then the summary.
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
    let left = match report.left() {
        0 => None,
        1 => Some("1 difference remains".to_owned()),
        left => Some(format!("{left} differences remain")),
    };
    let unchecked = match report.unchecked.len() {
        0 => return left.map_or(Ok(()), |left| Err(anyhow::Error::msg(left))),
        1 => "1 part could not be checked".to_owned(),
        parts => format!("{parts} parts could not be checked"),
    };
    let sentences = left.into_iter().chain([unchecked]).collect::<Vec<_>>();
    bail!(NotChecked(anyhow::Error::msg(sentences.join("; "))))
}

async fn checked(context: &Context, args: &DoctorArgs) -> anyhow::Result<Report> {
    let store = context.store().await?;
    let report = examine(context, args, &store).await;
    store.close().await;
    report
}

async fn examine(context: &Context, args: &DoctorArgs, store: &Store) -> anyhow::Result<Report> {
    let running = running(store).await?;
    let mut left_out = LeftOut::default();
    let blobs = match media_store(context, args, store, &running).await {
        Ok(blobs) => Some(blobs),
        Err(error) if is_refusal(&error) || args.new_media_store => return Err(error),
        Err(error) => {
            left_out
                .unchecked
                .push(format!("files are not checked: {}", with_causes(error.as_ref())));
            None
        }
    };
    let running: Vec<_> = running.into_iter().filter(|record| record.search.is_some()).collect();
    let are_requested = !running.is_empty() && !matches!(context.config.bus, BusKind::Embedded);
    let bus = match replica_bus(context, are_requested).await {
        Err(error) if error.is::<PreflightError>() => return Err(error),
        Err(error) => {
            let error = with_causes(error.as_ref());
            left_out.unchecked.push(format!("running search indexes are not compared: {error}"));
            None
        }
        bus => bus?,
    };
    let indexes = if are_requested {
        Vec::new()
    } else {
        open_indexes(context, !running.is_empty(), &mut left_out).await?
    };
    let indexes = caught_up(store, indexes, &mut left_out.unchecked).await?;
    let is_alone = running.is_empty();
    let replicas = bus.as_ref().map(|bus| Replicas {
        bus,
        processes: running,
        silence_timeout: TIMEOUT + SILENCE,
    });
    let repair = Repair { clock: Arc::clone(&context.clock) };
    let options = DoctorOptions {
        deep: args.deep,
        channels: channels(store, args).await?,
        timeout: if is_alone { Duration::ZERO } else { TIMEOUT },
        repair: args.repair.then_some(repair),
        files: FileChecks::All,
    };
    let doctor = Doctor { store, blobs: blobs.as_ref(), indexes: &indexes, replicas, options };
    let report = check(&doctor, args.json).await;
    if let Some(bus) = &bus {
        bus.close().await;
    }
    let mut report = report?;
    report.unchecked.splice(..0, left_out.unchecked);
    report.skipped.splice(..0, left_out.skipped);
    if args.repair && report.repaired > 0 && is_alone && !indexes.is_empty() {
        drop(indexes);
        if let Err(error) = bring_up_to_date(context, store).await {
            let error = with_causes(error.as_ref());
            report.unchecked.push(format!("the search index is not brought up to date: {error}"));
        }
    } else if args.repair {
        caught_up(store, indexes, &mut report.unchecked).await?;
    }
    for sentence in report.skipped.iter().chain(&report.unchecked) {
        note!("chatkeep: {sentence}");
    }
    Ok(report)
}

/// Runs the check, and prints each finding.
async fn check(doctor: &Doctor<'_>, json: bool) -> anyhow::Result<Report> {
    // Repairs go on although nobody reads the output any more.
    let mut printed = Ok(());
    let mut listener = |finding: &Finding| {
        if printed.is_ok() {
            printed = print_finding(finding, json);
        }
    };
    let report = doctor.run(&mut listener).await?;
    printed?;
    Ok(report)
}

/// Opens the media store, which has the files of the database and of the running processes.
async fn media_store(
    context: &Context,
    args: &DoctorArgs,
    store: &Store,
    running: &[ProcessRecord],
) -> anyhow::Result<Blobs> {
    let blobs = context.blobs()?;
    same_media_store(&blobs, running).await?;
    own_media_store(args, store, &blobs).await?;
    Ok(blobs)
}

/// Opens the bus for requests to running replicas, if they are to answer.
async fn replica_bus(context: &Context, are_requested: bool) -> anyhow::Result<Option<Bus>> {
    Ok(if are_requested { Some(context.bus().await?) } else { None })
}

/// Returns true if nothing is to be checked after an error: the settings name something else, or the
/// database fails.
fn is_refusal(error: &anyhow::Error) -> bool {
    let is_store = |error: &MediaStoreError| matches!(error, MediaStoreError::Store(_));
    error.is::<PreflightError>() || error.downcast_ref::<MediaStoreError>().is_some_and(is_store)
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

fn summary(report: &Report) -> String {
    let CheckedCounts { channels, messages, media, users, files, indexed, replicas } =
        report.checked;
    let found = match (report.differences, report.repaired) {
        (0, _) => "no differences".to_owned(),
        (found, 0) => format!("{found} different"),
        (found, repaired) => format!("{found} different, {repaired} of them repaired"),
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
