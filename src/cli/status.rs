//! `chatkeep status`: processes of a deployment, their search replicas, and the bus backlog.

use chatkeep_bus::ConsumerStatus;
use chatkeep_store::ProcessRecord;
use chatkeep_workers::StageName;
use chatkeep_workers::replica::ReplicaState;
use serde::Serialize;

use super::{Context, table};
use crate::out::say;
use crate::services::consumers::ConsumerService;
use crate::services::processes::ProcessService;

#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Status of a deployment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    processes: Vec<ProcessStatus>,
    consumers: Vec<ConsumerStatus>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProcessStatus {
    host: String,
    pid: u32,
    version: String,
    roles: Vec<String>,
    stages: Vec<String>,
    started_at: String,
    seen_seconds_ago: u64,
    search: Option<ReplicaState>,
}

pub(super) async fn run(context: &Context, args: &StatusArgs) -> anyhow::Result<()> {
    let store = context.store().await?;
    let processes = ProcessService::new(store.clone()).running(&context.operator).await;
    store.close().await;
    let processes = processes?.into_iter().map(ProcessStatus::from).collect();
    let status = Status { processes, consumers: consumers(context).await? };
    if args.json {
        return table::json(&status);
    }
    show(&status)
}

/// Returns the durable consumers; none of a deployment that never ran.
async fn consumers(context: &Context) -> anyhow::Result<Vec<ConsumerStatus>> {
    let Some(bus) = context.known_bus().await? else { return Ok(Vec::new()) };
    let consumers = ConsumerService::new(bus.clone()).list(&context.operator).await;
    bus.close().await;
    Ok(consumers?)
}

fn show(status: &Status) -> anyhow::Result<()> {
    let process = |process: &ProcessStatus| {
        vec![
            format!("{} on {}", process.pid, process.host),
            process.version.clone(),
            process.roles.join(","),
            process.started_at.clone(),
            process
                .search
                .as_ref()
                .map_or_else(String::new, |state| search(state, process.seen_seconds_ago)),
        ]
    };
    let rows: Vec<_> = status.processes.iter().map(process).collect();
    table::print(&["PROCESS", "VERSION", "ROLES", "STARTED", "SEARCH"], &rows)?;
    say!("")?;
    let consumer = |consumer: &ConsumerStatus| {
        let served = status.processes.iter().any(|p| p.stages.contains(&consumer.name));
        let note = match (served, StageName::parse(&consumer.name)) {
            (true, _) => "",
            (false, Some(_)) => "no process runs this stage",
            (false, None) => "no process serves it (chatkeep bus remove-consumer)",
        };
        vec![consumer.name.clone(), consumer.backlog.to_string(), note.to_owned()]
    };
    let rows: Vec<_> = status.consumers.iter().map(consumer).collect();
    table::print(&["CONSUMER", "WAITING", ""], &rows)
}

/// Describes a replica's state as of its process' last heartbeat.
fn search(state: &ReplicaState, seconds_ago: u64) -> String {
    match state.unready() {
        Some(reason) => reason,
        None => format!("ready, {} messages ({seconds_ago} s ago)", state.messages),
    }
}

impl From<ProcessRecord> for ProcessStatus {
    fn from(record: ProcessRecord) -> Self {
        let process = record.process;
        Self {
            host: process.host,
            pid: process.pid,
            version: process.version,
            roles: process.roles,
            stages: process.stages,
            started_at: record.started_at.to_string(),
            seen_seconds_ago: record.silent_for.as_secs(),
            search: record.search.and_then(|state| serde_json::from_str(&state).ok()),
        }
    }
}
