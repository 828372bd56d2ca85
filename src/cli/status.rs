//! `chatkeep status`: what a deployment does now, once or again and again.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::ConsumerStatus;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::{Database, LineConfig};
use chatkeep_platform::Bots;
use chatkeep_services::status::{
    ChannelStatistics, DeploymentStatus, DiskFigures, DiskStatus, Expiry, Inquiries,
    MediaStatistics, ProcessStatus, SnapshotStatus, StatusService, Unread, WebhookStatistics,
    expiries, snapshots,
};
use chatkeep_transfer::out::{is_reader_gone, note, say};
use chatkeep_workers::StageName;
use chatkeep_workers::replica::ReplicaState;
use indicatif::{HumanBytes, HumanDuration};
use tokio::time::Instant;

use super::{Context, is_wrong, table};
use crate::app::{self, PreflightError, ProcessRole};
use crate::private::check_owner;

/// Interval between two questions to other machines, which `--watch` does not repeat each time.
const ASK_INTERVAL: Duration = Duration::from_mins(10);
/// Sequences by which a page replaces the one before without flicker: to the first line, and from
/// there to erase the line that is written next, and what is left of the page. A line is erased
/// before it is written: after one that fills the terminal, its last character would go.
const HOME: &str = "\u{1b}[H";
const ERASE_LINE: &str = "\u{1b}[K";
const ERASE_REST: &str = "\u{1b}[J";

#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Refresh the output every SECONDS seconds until Ctrl-C [default: 2].
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u64).range(1..=3_600)
    )]
    watch: Option<u64>,
    /// Query no other hosts: leave out the expiry of the certificate and of the access tokens, and
    /// the last snapshot.
    #[arg(long)]
    local: bool,
}

/// Prints the status, once or until the reader is gone.
pub(super) async fn run(context: &Context, args: &StatusArgs) -> anyhow::Result<()> {
    let mut inquiries = CachedInquiries { at: None, answers: Inquiries::default() };
    // A wrong folder or server is reported at once; later, it may come back.
    let first = read(context, args, &mut inquiries).await?;
    let Some(seconds) = args.watch else {
        if args.json {
            table::json(&first)?;
        } else {
            say!("{}", page(&first))?;
        }
        return unread(&first).map_or(Ok(()), |parts| Err(anyhow::Error::msg(parts)));
    };
    let mut found = Ok(first);
    loop {
        if let Err(error) = show_again(context, args, seconds, found) {
            return if is_reader_gone(&error) { Ok(()) } else { Err(error) };
        }
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        found = read(context, args, &mut inquiries).await;
    }
}

/// Prints what was found this time, in place of the page before if that is on a terminal.
fn show_again(
    context: &Context,
    args: &StatusArgs,
    seconds: u64,
    found: anyhow::Result<DeploymentStatus>,
) -> anyhow::Result<()> {
    let page = match found {
        Ok(status) if args.json => return table::json(&status),
        Ok(status) => match unread(&status) {
            Some(parts) => format!("{}\n\n{parts}", page(&status)),
            None => page(&status),
        },
        Err(error) => {
            let error = text_of(&error);
            if args.json {
                note!("chatkeep: {error}");
                return Ok(());
            }
            format!("chatkeep: {error}")
        }
    };
    let text = format!("{}, every {seconds} s; Ctrl-C ends\n\n{page}", context.clock.now());
    if std::io::stdout().is_terminal() {
        let lines = text.replace('\n', &format!("\n{ERASE_LINE}"));
        Ok(say!("{HOME}{ERASE_LINE}{lines}\n{ERASE_REST}")?)
    } else {
        Ok(say!("{text}\n")?)
    }
}

/// Answers of other machines.
struct CachedInquiries {
    at: Option<Instant>,
    answers: Inquiries,
}

impl CachedInquiries {
    async fn again(
        &mut self,
        context: &Context,
        snapshots: impl Future<Output = Option<SnapshotStatus>>,
    ) {
        if self.at.is_none_or(|at| at.elapsed() >= ASK_INTERVAL) {
            let Context { config, clock, operator } = context;
            let token = |bot: &LineConfig| bot.access_token.clone().map(Into::into);
            let (bots, unread) = match app::LineClients::new(config, token, clock) {
                Ok(clients) => (clients.bots(config), Vec::new()),
                Err(error) => (
                    Bots::default(),
                    vec![Unread { part: "access tokens", error: text_of(&error) }],
                ),
            };
            let base_url = config.api.base_url.as_deref();
            self.answers = Inquiries {
                expiries: expiries(operator, base_url, &bots, clock).await,
                snapshots: snapshots.await,
                unread,
            };
            self.at = Some(Instant::now());
        }
    }
}

async fn read(
    context: &Context,
    args: &StatusArgs,
    inquiries: &mut CachedInquiries,
) -> anyhow::Result<DeploymentStatus> {
    // Before the bus is opened: as another user, that would leave files in the folder.
    match context.config.database {
        Database::Sqlite => drop(context.data_folder()?),
        Database::Postgres(_) => check_owner(&context.config.data).map_err(PreflightError)?,
    }
    // Side by side, so that the times after which each is given up do not add up.
    let (database, bus) = tokio::join!(context.store(), context.known_bus());
    let (known_store, known_bus) = (database.as_ref().ok().cloned(), bus.as_ref().ok().cloned());
    let status = match database {
        // There is nothing of the deployment, or it is of a later version.
        Err(error) if is_wrong(&error) => Err(error),
        database => {
            if !args.local {
                let Context { config, clock, operator } = context;
                let store = database.as_ref().ok();
                inquiries.again(context, snapshots(operator, config, store, clock)).await;
            }
            let (database, bus) = (database.map_err(|e| text_of(&e)), bus.map_err(|e| text_of(&e)));
            let service = StatusService::new(database, bus, Arc::clone(&context.clock));
            let answers = inquiries.answers.clone();
            Ok(service.status(&context.operator, &context.config, answers).await)
        }
    };
    if let Some(bus) = known_bus.flatten() {
        bus.close().await;
    }
    if let Some(store) = known_store {
        store.close().await;
    }
    status
}

fn text_of(error: &anyhow::Error) -> String {
    with_causes(error.as_ref())
}

/// Names the parts that could not be read, if there are any.
fn unread(status: &DeploymentStatus) -> Option<String> {
    let parts: Vec<_> =
        status.unread.iter().map(|Unread { part, error }| format!("\n  {part}: {error}")).collect();
    (!parts.is_empty()).then(|| format!("not everything could be read:{}", parts.concat()))
}

/// Returns what was read as one page of tables.
fn page(status: &DeploymentStatus) -> String {
    let width = table::terminal_width();
    let processes = status.processes.as_ref().map(|processes| {
        let rows: Vec<_> = processes.iter().map(process).collect();
        match &*rows {
            [] => vec!["no process runs".to_owned()],
            rows => {
                table::lines(&["PROCESS", "VERSION", "STARTED", "ROLES", "SEARCH"], rows, width)
            }
        }
    });
    let consumers = status.consumers.as_ref().map(|consumers| {
        let rows: Vec<_> = consumers.iter().map(|one| consumer(status, one)).collect();
        table::lines(&["CONSUMER", "WAITING", "OLDEST", ""], &rows, width)
    });
    let facts = table::lines(&["WHAT", "STATE", "DETAILS"], &facts(status), width);
    let parts: Vec<_> = [processes, consumers, Some(facts)]
        .into_iter()
        .flatten()
        .map(|one| one.join("\n"))
        .collect();
    parts.join("\n\n")
}

/// Formats a duration in its largest unit, such as `5m`.
fn age(seconds: u64) -> String {
    format!("{:#}", HumanDuration(Duration::from_secs(seconds)))
}

fn process(process: &ProcessStatus) -> Vec<String> {
    let all = ProcessRole::ALL.len() == process.roles.len();
    let search = process.search.as_ref();
    vec![
        format!("{} on {}", process.pid, process.host),
        process.version.clone(),
        format!("{} ago", age(process.started_seconds_ago)),
        if all { "all".to_owned() } else { process.roles.join(",") },
        search.map_or_else(String::new, replica),
    ]
}

/// Describes a replica's state as of its process' last heartbeat.
fn replica(state: &ReplicaState) -> String {
    match state.unready() {
        Some(reason) => reason,
        None => format!("ready, {} messages", state.messages),
    }
}

fn consumer(status: &DeploymentStatus, consumer: &ConsumerStatus) -> Vec<String> {
    let runs_stage = |process: &ProcessStatus| process.stages.contains(&consumer.name);
    let served = status.processes.as_ref().map(|processes| processes.iter().any(runs_stage));
    let note = match (served, StageName::has_consumer(&consumer.name)) {
        (None | Some(true), _) => "",
        (Some(false), true) => "no process runs this stage",
        (Some(false), false) => "no process serves it (chatkeep bus remove-consumer)",
    };
    let oldest = consumer.oldest_seconds.map(age);
    let (name, backlog) = (consumer.name.clone(), consumer.backlog.to_string());
    vec![name, backlog, oldest.unwrap_or_default(), note.to_owned()]
}

/// Returns the rows of single facts: name, value, note.
fn facts(status: &DeploymentStatus) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if let Some(letters) = status.dead_letters {
        let note = if letters > 0 { "chatkeep dead list" } else { "" };
        rows.push(row("dead letters", &letters, note.to_owned()));
    }
    rows.extend(status.channels.as_ref().map(channels));
    rows.extend(status.media.as_ref().map(media));
    rows.extend(status.webhooks.as_ref().map(webhooks));
    rows.extend(status.disks.iter().map(disk));
    rows.extend(status.snapshots.iter().map(snapshot));
    rows.extend(status.expiries.iter().map(expiry));
    rows.push(row("this program", &status.version, String::new()));
    rows
}

fn row(name: &str, value: &dyn Display, note: String) -> Vec<String> {
    vec![name.to_owned(), value.to_string(), note]
}

fn channels(channels: &ChannelStatistics) -> Vec<String> {
    let ChannelStatistics { backed_up, paused } = channels;
    let note = match paused {
        0 => String::new(),
        paused => format!(
            "{paused} paused: the quota of every subscriber is used up (chatkeep user set-plan)"
        ),
    };
    row("channels", &format_args!("{backed_up} backed up"), note)
}

fn media(media: &MediaStatistics) -> Vec<String> {
    let bytes = HumanBytes(media.bytes.unsigned_abs());
    let note = format!("{bytes}; {} pending, {} failed", media.pending, media.failed);
    row("media files", &media.files, note)
}

fn webhooks(webhooks: &WebhookStatistics) -> Vec<String> {
    let oldest = webhooks.oldest_due_seconds.map(|due| format!(", the oldest for {}", age(due)));
    let note = format!(
        "{} of them failing, {} disabled; {} deliveries due{}",
        webhooks.failing,
        webhooks.disabled,
        webhooks.due,
        oldest.unwrap_or_default()
    );
    row("webhooks", &format_args!("{} enabled", webhooks.enabled), note)
}

fn disk(disk: &DiskStatus) -> Vec<String> {
    let (name, path) = (format!("{} folder", disk.folder), disk.path.display());
    match &disk.space {
        Ok(DiskFigures { free_bytes, total_bytes, low, .. }) => {
            let low = if *low { " (below the reserve)" } else { "" };
            let free = format!("{} free{low}", HumanBytes(*free_bytes));
            vec![name, free, format!("of {}; {path}", HumanBytes(*total_bytes))]
        }
        Err(error) => vec![name, "unreadable".to_owned(), format!("{path}: {error}")],
    }
}

fn snapshot(snapshots: &SnapshotStatus) -> Vec<String> {
    let place = &snapshots.place;
    let (state, note) = match (&snapshots.error, &snapshots.newest_at, snapshots.newest_seconds_ago)
    {
        (Some(error), ..) => ("unreadable".to_owned(), format!("{place}: {error}")),
        (None, Some(at), Some(seconds)) => {
            (format!("{} ago", age(seconds)), format!("at {at}; {place}"))
        }
        _ => ("none yet".to_owned(), place.clone()),
    };
    let unscheduled = "no schedule: snapshot.every_hours is 0";
    let note =
        if snapshots.every_hours.is_some() { note } else { format!("{unscheduled}; {note}") };
    vec!["last snapshot".to_owned(), state, note]
}

fn expiry(expiry: &Expiry) -> Vec<String> {
    let name = &expiry.name;
    let (state, note) = match (&expiry.error, &expiry.expires_at, expiry.seconds_left) {
        (Some(error), ..) => ("check failed".to_owned(), format!("{name}: {error}")),
        (None, Some(at), Some(left)) => {
            (format!("{} left", age(left)), format!("{name}, until {at}"))
        }
        _ => ("not known".to_owned(), name.clone()),
    };
    vec![expiry.kind.replace('_', " "), state, note]
}
