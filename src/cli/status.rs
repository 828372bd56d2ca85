//! `chatkeep status`: what a deployment does now, once or again and again.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::ConsumerStatus;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::LineConfig;
use chatkeep_workers::StageName;
use chatkeep_workers::replica::ReplicaState;
use tokio::time::Instant;

use super::{Context, table};
use crate::app;
use crate::out::{is_reader_gone, note, say};
use crate::services::status::{
    DeploymentStatus, DiskStatus, Expiry, Inquiries, ProcessStatus, SnapshotStatus, StatusService,
    expiries, snapshots,
};

/// Interval between two questions to other machines, which `--watch` does not repeat each time.
const ASK_INTERVAL: Duration = Duration::from_mins(10);
/// Sequence that clears a terminal.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";
const MIB: u64 = 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Print it again every so many seconds, until Ctrl-C [default: 2].
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u64).range(1..=3_600)
    )]
    watch: Option<u64>,
    /// Leave out the expiry of the certificate and of access tokens, and the last snapshot, which
    /// other machines are asked for.
    #[arg(long)]
    local: bool,
}

/// Prints the status, once or until the reader is gone.
pub(super) async fn run(context: &Context, args: &StatusArgs) -> anyhow::Result<()> {
    let mut asked = Asked { at: None, answers: Inquiries::default() };
    let Some(seconds) = args.watch else {
        return show(&read(context, args, &mut asked).await?, args);
    };
    // A wrong folder or server is told at once; later, it may come back.
    show(&read(context, args, &mut asked).await?, args)?;
    loop {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let shown = match read(context, args, &mut asked).await {
            Ok(status) => show(&status, args),
            Err(error) => {
                note!("chatkeep: {}", with_causes(error.as_ref()));
                Ok(())
            }
        };
        if let Err(error) = shown {
            return if is_reader_gone(&error) { Ok(()) } else { Err(error) };
        }
    }
}

/// Answers of other machines.
struct Asked {
    at: Option<Instant>,
    answers: Inquiries,
}

impl Asked {
    async fn again(&mut self, context: &Context) -> anyhow::Result<()> {
        if self.at.is_none_or(|at| at.elapsed() >= ASK_INTERVAL) {
            let Context { config, clock, operator } = context;
            let token = |bot: &LineConfig| bot.access_token.clone().map(Into::into);
            let bots = app::LineClients::new(config, token, clock)?.bots(config);
            let base_url = config.api.base_url.as_deref();
            self.answers = Inquiries {
                expiries: expiries(operator, base_url, &bots, clock).await,
                snapshots: snapshots(operator, config, clock).await,
            };
            self.at = Some(Instant::now());
        }
        Ok(())
    }
}

async fn read(
    context: &Context,
    args: &StatusArgs,
    asked: &mut Asked,
) -> anyhow::Result<DeploymentStatus> {
    let store = context.store().await?;
    let bus = context.known_bus().await?;
    if !args.local {
        asked.again(context).await?;
    }
    let service = StatusService::new(store.clone(), bus.clone(), Arc::clone(&context.clock));
    let answers = asked.answers.clone();
    let status = service.status(&context.operator, &context.config, answers).await;
    if let Some(bus) = bus {
        bus.close().await;
    }
    store.close().await;
    Ok(status?)
}

fn show(status: &DeploymentStatus, args: &StatusArgs) -> anyhow::Result<()> {
    if args.json {
        return table::json(status);
    }
    if args.watch.is_some() && std::io::stdout().is_terminal() {
        say!("{CLEAR}")?;
    }
    let rows: Vec<_> = status.processes.iter().map(process).collect();
    table::print(&["PROCESS", "VERSION", "ROLES", "STARTED", "SEARCH"], &rows)?;
    say!("")?;
    let rows: Vec<_> = status.consumers.iter().map(|one| consumer(status, one)).collect();
    table::print(&["CONSUMER", "WAITING", "OLDEST", ""], &rows)?;
    say!("")?;
    table::print(&["WHAT", "STATE", ""], &facts(status))
}

fn process(process: &ProcessStatus) -> Vec<String> {
    let search = process.search.as_ref();
    vec![
        format!("{} on {}", process.pid, process.host),
        process.version.clone(),
        process.roles.join(","),
        process.started_at.clone(),
        search.map_or_else(String::new, |state| replica(state, process.seen_seconds_ago)),
    ]
}

/// Describes a replica's state as of its process' last heartbeat.
fn replica(state: &ReplicaState, seconds_ago: u64) -> String {
    match state.unready() {
        Some(reason) => reason,
        None => format!("ready, {} messages ({seconds_ago} s ago)", state.messages),
    }
}

fn consumer(status: &DeploymentStatus, consumer: &ConsumerStatus) -> Vec<String> {
    let served = status.processes.iter().any(|p| p.stages.contains(&consumer.name));
    let note = match (served, StageName::parse(&consumer.name)) {
        (true, _) => "",
        (false, Some(_)) => "no process runs this stage",
        (false, None) => "no process serves it (chatkeep bus remove-consumer)",
    };
    let oldest = consumer.oldest_seconds.map(|seconds| format!("{seconds} s"));
    let (name, backlog) = (consumer.name.clone(), consumer.backlog.to_string());
    vec![name, backlog, oldest.unwrap_or_default(), note.to_owned()]
}

/// Returns the rows of single facts: name, value, note.
fn facts(status: &DeploymentStatus) -> Vec<Vec<String>> {
    let DeploymentStatus { media, webhooks, dead_letters, .. } = status;
    let row = |name: &str, value: &dyn Display, note: String| {
        vec![name.to_owned(), value.to_string(), note]
    };
    let mebibytes = media.bytes.unsigned_abs() / MIB;
    let files = format!("{mebibytes} MiB; {} pending, {} failed", media.pending, media.failed);
    let oldest = webhooks.oldest_due_seconds.map(|age| format!(", the oldest since {age} s"));
    let deliveries = format!(
        "{} failing, {} disabled; {} deliveries due{}",
        webhooks.failing,
        webhooks.disabled,
        webhooks.due,
        oldest.unwrap_or_default()
    );
    let letters = if *dead_letters > 0 { "chatkeep dead list" } else { "" };
    let mut rows = vec![
        row("dead letters", dead_letters, letters.to_owned()),
        row("media files", &media.files, files),
        row("webhooks", &webhooks.enabled, deliveries),
    ];
    rows.extend(status.disks.iter().map(disk));
    rows.extend(status.snapshots.iter().map(snapshot));
    rows.extend(status.expiries.iter().map(expiry));
    rows.push(row("this program", &status.version, String::new()));
    rows
}

fn disk(disk: &DiskStatus) -> Vec<String> {
    let (free, total) = (disk.free_bytes / MIB, disk.total_bytes / MIB);
    let low = if disk.low { " (low: work pauses)" } else { "" };
    vec![
        format!("{} folder", disk.folder),
        format!("{free} MiB free{low}"),
        format!("of {total} MiB; {}", disk.path.display()),
    ]
}

fn snapshot(snapshots: &SnapshotStatus) -> Vec<String> {
    let newest = match (&snapshots.error, &snapshots.newest_at, snapshots.newest_seconds_ago) {
        (Some(error), ..) => error.clone(),
        (None, Some(at), Some(age)) => format!("{at} ({age} s ago)"),
        _ => "none yet".to_owned(),
    };
    vec!["last snapshot".to_owned(), newest, snapshots.place.clone()]
}

fn expiry(expiry: &Expiry) -> Vec<String> {
    let kind = expiry.kind.replace('_', " ");
    let until = match (&expiry.error, &expiry.expires_at) {
        (Some(error), _) => error.clone(),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "does not expire".to_owned(),
    };
    vec![kind, until, expiry.name.clone()]
}
