//! Check of running replicas: the doctor requests over the bus that all of them compare themselves
//! with the store, and reads their results from the store.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_bus::{Bus, BusError};
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_store::{ProcessRecord, ReplicaCheck, Store};
use chatkeep_workers::replica::{Drift, IndexAudit, Replica, ReplicaError};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::index::lines;
use super::report::ReportWriter;
use super::{Doctor, DoctorError};
use crate::processes::running;

/// Topic of the check request.
const TOPIC: &str = "check_replica";
/// Poll interval of the results.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Polls between two repetitions of the request, for replicas that missed it.
const REPEAT: u32 = 25;
/// Maximum number of messages that one result names; further ones are counted.
const NAMED: usize = 5_000;

/// Replicas to check over the bus.
#[derive(Debug)]
pub struct Replicas<'a> {
    pub bus: &'a Bus,
    /// Running processes, with a replica each.
    pub processes: Vec<ProcessRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Question {
    id: String,
    channels: Option<Vec<ChannelId>>,
    timeout_ms: u64,
}

/// Messages that differ.
type Drifts = BTreeMap<(ChannelId, MessageId), Drift>;

/// Result of a replica's comparison with the store.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Findings {
    /// Messages compared.
    compared: u64,
    drifts: Vec<(ChannelId, MessageId, Drift)>,
    /// Number of differences beyond those.
    unnamed: u64,
    /// Reason for a comparison that failed.
    error: Option<String>,
}

impl Doctor<'_> {
    /// Makes every running replica compare itself with the store.
    pub(super) async fn running_replicas(
        &self,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let Some(replicas) = &self.replicas else { return Ok(()) };
        let question = Question {
            id: chatkeep_core::random::text(16),
            channels: self.options.channels.clone(),
            timeout_ms: u64::try_from(self.options.timeout.as_millis()).unwrap_or(u64::MAX),
        };
        let text = Bytes::from(serde_json::to_vec(&question)?);
        let several = replicas.processes.len() > 1;
        let name = |record: &ProcessRecord| if several { name(record) } else { String::new() };
        let mut open: BTreeMap<String, String> = (replicas.processes.iter())
            .map(|record| (record.process.id.clone(), name(record)))
            .collect();
        let mut again = BTreeMap::new();
        for look in 0_u32.. {
            if look % REPEAT == 0 {
                replicas.bus.broadcast(TOPIC, text.clone()).await?;
            }
            for ReplicaCheck { process_id, result } in
                self.store.processes().replica_checks(&question.id).await?
            {
                if let Some(name) = open.remove(&process_id) {
                    again.extend(take(&name, serde_json::from_str(&result)?, report));
                }
            }
            if !self.drop_ended(&mut open, report).await? {
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.set_right(again, report).await
    }

    /// Drops replicas whose process has ended. Returns true while a result is still to come.
    async fn drop_ended(
        &self,
        open: &mut BTreeMap<String, String>,
        report: &mut ReportWriter<'_>,
    ) -> Result<bool, DoctorError> {
        if open.is_empty() {
            return Ok(false);
        }
        let running = running(self.store).await?;
        let running: BTreeSet<_> = running.into_iter().map(|record| record.process.id).collect();
        open.retain(|id, name| {
            if !running.contains(id) {
                report.skip(format!("{} was not compared: its process ended", known(name)));
            }
            running.contains(id)
        });
        Ok(!open.is_empty())
    }

    /// Makes all replicas reindex the messages that differed in one of them.
    async fn set_right(
        &self,
        again: BTreeMap<String, Drifts>,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let keys: BTreeSet<_> = again.values().flat_map(|drifts| drifts.keys().cloned()).collect();
        let mended = if keys.is_empty() { None } else { self.reindex(keys).await? };
        for (name, drifts) in again {
            report.add(lines(&name, drifts), mended.is_some());
        }
        Ok(())
    }
}

/// Adds a result to the report; returns the drifts by the name of the replica.
fn take(name: &str, findings: Findings, report: &mut ReportWriter<'_>) -> Option<(String, Drifts)> {
    if let Some(error) = findings.error {
        report.skip(format!("{} was not compared: {error}", known(name)));
        return None;
    }
    report.looked.replicas += 1;
    report.compared(i64::try_from(findings.compared).unwrap_or(i64::MAX));
    if findings.unnamed > 0 {
        let unnamed = findings.unnamed;
        report.skip(format!("{}: {unnamed} more messages differ", known(name)));
    }
    let drifts =
        findings.drifts.into_iter().map(|(channel, message, drift)| ((channel, message), drift));
    let drifts: BTreeMap<_, _> = drifts.collect();
    (!drifts.is_empty()).then(|| (name.to_owned(), drifts))
}

/// Returns the name of a replica for use in a sentence.
fn known(name: &str) -> &str {
    if name.is_empty() { "the search index" } else { name }
}

fn name(record: &ProcessRecord) -> String {
    format!("replica of process {} on {}", record.process.pid, record.process.host)
}

/// Compares `replica` with the store on each request, until `stop`.
///
/// # Errors
/// Returns an error if the bus is closed.
pub async fn answer_checks(
    bus: &Bus,
    store: Store,
    replica: Replica,
    process: String,
    stop: CancellationToken,
) -> Result<impl Future<Output = ()> + Send + use<>, BusError> {
    let mut questions = bus.subscribe(TOPIC).await?;
    Ok(async move {
        let mut answered = String::new();
        while let Some(Some(question)) = stop.run_until_cancelled(questions.next()).await {
            let Ok(question) = serde_json::from_slice::<Question>(&question) else {
                warn!("check request of another version ignored");
                continue;
            };
            // The request is repeated until every replica has responded.
            if answered == question.id {
                continue;
            }
            let compared = stop.run_until_cancelled(compare(&store, &replica, &question)).await;
            let Some(findings) = compared else { return };
            answered.clone_from(&question.id);
            // Numbers and names: always valid JSON.
            let findings = serde_json::to_string(&findings).unwrap_or_default();
            let told = store.processes().add_replica_check(&question.id, &process, &findings).await;
            if let Err(error) = told {
                let error: &dyn std::error::Error = &error;
                error!(error, "cannot store the result of a check");
            }
        }
    })
}

async fn compare(store: &Store, replica: &Replica, question: &Question) -> Findings {
    if let Some(reason) = replica.state().unready() {
        return Findings { error: Some(reason), ..Findings::default() };
    }
    match find(store, replica, question).await {
        Ok(findings) => findings,
        Err(error) => Findings { error: Some(error.to_string()), ..Findings::default() },
    }
}

async fn find(
    store: &Store,
    replica: &Replica,
    question: &Question,
) -> Result<Findings, ReplicaError> {
    let mut findings = Findings::default();
    let only: Vec<Option<&ChannelId>> = match &question.channels {
        None => vec![None],
        Some(channels) => channels.iter().map(Some).collect(),
    };
    let (index, timeout) = (replica.index(), Duration::from_millis(question.timeout_ms));
    for only in only {
        let mut audit = IndexAudit::new(store, &index, only, timeout);
        while let Some((drifts, read)) = audit.next().await? {
            findings.compared += read as u64;
            for ((channel, message), drift) in drifts {
                if findings.drifts.len() < NAMED {
                    findings.drifts.push((channel, message, drift));
                } else {
                    findings.unnamed += 1;
                }
            }
        }
    }
    Ok(findings)
}
