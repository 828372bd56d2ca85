//! `chatkeep doctor`: compares what is recorded with what is there, and sets it right.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_core::blobs::Blobs;
use chatkeep_core::bus::Bus;
use chatkeep_core::id::ChannelId;
use chatkeep_core::store::Store;
use chatkeep_index::search::MessageIndex;
use chatkeep_workers::StageName;
use tokio::time::Instant;

use super::{Context, table};
use crate::app::{self, Unfit};
use crate::doctor::{Doctor, Finding, Looked, Options, Repair, Report};

/// How long a running indexer may take for what it was told last.
const PATIENCE: Duration = Duration::from_secs(5);
/// Jobs that do not become fewer for this long wait for a service that does not run.
const STUCK: Duration = Duration::from_secs(5);
/// Between two looks at waiting jobs.
const LOOK: Duration = Duration::from_millis(200);

/// Not everything could be checked. Ends the program with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(super) struct NotChecked(anyhow::Error);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Sets right what differs.
    #[arg(long)]
    repair: bool,
    /// Reads every media file and compares it with its SHA-256.
    #[arg(long)]
    deep: bool,
    /// Only that channel and who subscribes to it; may be given several times.
    #[arg(long, value_name = "ID")]
    channel: Vec<String>,
    /// One JSON object a line: each difference, then the summary.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> anyhow::Result<()> {
    let report = match checked(context, args).await {
        Ok(report) => report,
        Err(error) if error.downcast_ref::<Unfit>().is_some() => return Err(error),
        Err(error) => return Err(NotChecked(error).into()),
    };
    if args.json {
        table::json(&report)?;
    } else {
        println!("{}", summary(&report));
    }
    match report.left() {
        0 => Ok(()),
        1 => bail!("1 difference is left"),
        left => bail!("{left} differences are left"),
    }
}

async fn checked(context: &Context, args: &Args) -> anyhow::Result<Report> {
    let store = context.frugal_store().await?;
    let report = examine(context, args, &store).await;
    store.close().await;
    report
}

async fn examine(context: &Context, args: &Args, store: &Store) -> anyhow::Result<Report> {
    let blobs = Blobs::open(&context.config.blobs, &context.config.s3)
        .context("cannot open the place of media files (CHATKEEP_BLOBS)")?;
    let index = open_index(context).await?;
    let bus = match &index {
        Some(_) => attach(context).await,
        None => None,
    };
    if let Some(bus) = &bus {
        caught_up(context, bus).await?;
    }
    let repair = Repair { clock: Arc::clone(&context.clock), bus: bus.clone() };
    let options = Options {
        deep: args.deep,
        channels: channels(store, args).await?,
        patience: PATIENCE,
        repair: args.repair.then_some(repair),
    };
    let doctor = Doctor { store, blobs: &blobs, index: index.as_ref(), options };
    let json = args.json;
    let report = doctor.run(&mut |finding| tell(finding, json)).await;
    if let Some(bus) = &bus {
        bus.close().await;
    }
    Ok(report?)
}

fn tell(finding: &Finding, json: bool) {
    // A finding is always valid JSON.
    match serde_json::to_string(finding) {
        Ok(line) if json => println!("{line}"),
        _ => println!("{finding}"),
    }
}

async fn channels(store: &Store, args: &Args) -> anyhow::Result<Option<Vec<ChannelId>>> {
    if args.channel.is_empty() {
        return Ok(None);
    }
    let mut channels: Vec<_> = args.channel.iter().map(|id| ChannelId::from(id.as_str())).collect();
    channels.sort();
    channels.dedup();
    for channel in &channels {
        if store.channel(channel).await?.is_none() {
            return Err(Unfit(format!("there is no channel {channel}")).into());
        }
    }
    Ok(Some(channels))
}

/// The index in the data folder, where there is one.
async fn open_index(context: &Context) -> anyhow::Result<Option<MessageIndex>> {
    let folder = app::index_folder(&context.config);
    let open = move || MessageIndex::open_existing(&folder);
    let index = tokio::task::spawn_blocking(open).await?.context("cannot open the search index")?;
    if index.is_none() {
        eprintln!("chatkeep: there is no search index here, so it is not checked");
    }
    Ok(index)
}

/// The bus; without it the index is looked at as it is.
async fn attach(context: &Context) -> Option<Bus> {
    match app::attach_bus(&context.config, Arc::clone(&context.clock)).await {
        Ok(bus) => Some(bus),
        Err(error) => {
            eprintln!("chatkeep: the index is checked as it is, without the bus: {error:#}");
            None
        }
    }
}

/// Waits until the indexer has done what it was told, or nobody does it.
async fn caught_up(context: &Context, bus: &Bus) -> anyhow::Result<()> {
    let jobs = StageName::Indexer.consumer(context.config.workers.lease);
    let (mut least, mut since) = (u64::MAX, Instant::now());
    loop {
        let waiting = bus.backlog(&jobs).await?;
        if waiting == 0 {
            return Ok(());
        }
        if waiting < least {
            (least, since) = (waiting, Instant::now());
        } else if since.elapsed() >= STUCK {
            eprintln!("chatkeep: {waiting} jobs wait for the indexer, so the index is behind");
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn summary(report: &Report) -> String {
    let Looked { channels, messages, media, users, files, indexed } = report.looked;
    let found = match (report.differences, report.mended) {
        (0, _) => "no difference".to_owned(),
        (found, 0) => format!("{found} different"),
        (found, mended) => format!("{found} different, {mended} of them set right"),
    };
    let index = indexed.map_or(String::new(), |n| format!(", {n} messages in the index"));
    format!(
        "{found}: {channels} channels, {messages} messages, {media} media records, {users} users, \
         {files} files{index}"
    )
}
