//! Check of running replicas: the doctor requests over the bus that all of them compare themselves
//! with the store, and reads their results from the store.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_bus::{Bus, BusError};
use chatkeep_core::causes::with_causes;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_store::{ProcessRecord, ReplicaCheck, Store, StoreError};
use chatkeep_workers::log_failure;
use chatkeep_workers::replica::{Drift, IndexAudit, Replica, ReplicaError};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::awaited::{Awaited, known};
use super::report::ReportWriter;
use super::{Doctor, DoctorError};
use crate::processes::running;

/// Topic of the check request.
const TOPIC: &str = "check_replica";
/// Topic of the ids of processes that make progress with a comparison.
const PROGRESS: &str = "comparing_replica";
/// Minimum interval between two broadcasts of a process.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum time that a broadcast of progress delays the comparison.
const BROADCAST_TIMEOUT: Duration = Duration::from_millis(500);
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
    /// Time without a sign of life after which a replica is given up. One that is being compared,
    /// however long that takes, gives signs.
    pub silence_timeout: Duration,
}

/// The part of a [`Question`] that every version of the program reads.
#[derive(Debug, Deserialize)]
struct QuestionId {
    id: String,
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
        let mut awaited = Awaited::new(&replicas.processes, replicas.silence_timeout);
        let mut again = BTreeMap::new();
        match self.ask(replicas, &question, &mut awaited, &mut again, report).await {
            Err(DoctorError::Bus(error)) => {
                let error = with_causes(&error);
                for name in awaited.names() {
                    report.uncheck(format!("{} was not compared: {error}", known(name)));
                }
            }
            done => done?,
        }
        self.set_right(again, report).await
    }

    /// Asks the replicas until each has answered, ended or been silent for too long.
    async fn ask(
        &self,
        replicas: &Replicas<'_>,
        question: &Question,
        awaited: &mut Awaited,
        again: &mut BTreeMap<String, Drifts>,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let text = Bytes::from(serde_json::to_vec(question)?);
        let mut signs = replicas.bus.subscribe(PROGRESS).await?;
        for look in 0_u32.. {
            if look % REPEAT == 0 {
                replicas.bus.broadcast(TOPIC, text.clone()).await?;
            }
            for ReplicaCheck { process_id, result } in
                self.store.processes().replica_checks(&question.id).await?
            {
                if let Some(name) = awaited.remove(&process_id) {
                    again.extend(take(&name, Findings::read(&result), report));
                }
            }
            let running = running(self.store).await?;
            awaited.drop_ended(&running, report);
            awaited.drop_silent(Instant::now(), report);
            if awaited.is_empty() {
                break;
            }
            let end = Instant::now() + POLL_INTERVAL;
            while let Ok(Some(process)) = timeout_at(end, signs.next()).await {
                awaited.renew(&process, Instant::now());
            }
            // The subscription has ended with the bus, or the time is over.
            sleep_until(end).await;
        }
        Ok(())
    }
}

/// Adds a result to the report; returns the drifts by the name of the replica.
fn take(name: &str, findings: Findings, report: &mut ReportWriter<'_>) -> Option<(String, Drifts)> {
    if let Some(error) = findings.error {
        report.uncheck(format!("{} was not compared: {error}", known(name)));
        return None;
    }
    report.checked.replicas += 1;
    report.compared(i64::try_from(findings.compared).unwrap_or(i64::MAX));
    if findings.unnamed > 0 {
        let unnamed = findings.unnamed;
        report.add_unnamed(unnamed, format!("{}: {unnamed} more messages differ", known(name)));
    }
    let drifts =
        findings.drifts.into_iter().map(|(channel, message, drift)| ((channel, message), drift));
    let drifts: BTreeMap<_, _> = drifts.collect();
    (!drifts.is_empty()).then(|| (name.to_owned(), drifts))
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
    let bus = bus.clone();
    Ok(async move {
        while let Some(Some(question)) = stop.run_until_cancelled(questions.next()).await {
            let mut progress = Progress::new(&bus, &process);
            let answered = answer(&store, &replica, &question, &mut progress);
            match stop.run_until_cancelled(answered).await {
                None => return,
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    log_failure!(error, &error, "cannot store the result of a check");
                }
            }
        }
    })
}

/// Broadcasts that a process makes progress with a comparison, for those who wait for its result.
struct Progress<'a> {
    bus: &'a Bus,
    process: &'a str,
    last: Option<Instant>,
}

impl<'a> Progress<'a> {
    fn new(bus: &'a Bus, process: &'a str) -> Self {
        Self { bus, process, last: None }
    }

    /// Broadcasts progress, unless it was just broadcast. A bus that is away delays it for
    /// [`BROADCAST_TIMEOUT`] at most.
    async fn step(&mut self) {
        let now = Instant::now();
        if self.last.is_some_and(|last| now < last + PROGRESS_INTERVAL) {
            return;
        }
        self.last = Some(now);
        let broadcast = self.bus.broadcast(PROGRESS, Bytes::from(self.process.to_owned()));
        match timeout(BROADCAST_TIMEOUT, broadcast).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                debug!(%error, "cannot broadcast that a replica is being compared");
            }
            Err(_) => debug!("the bus takes no broadcast that a replica is being compared"),
        }
    }
}

/// Compares `replica` with the store as requested, and stores the result. The request is repeated
/// until every replica has responded: one that has a result already changes nothing, and one whose
/// result could not be stored is answered again.
async fn answer(
    store: &Store,
    replica: &Replica,
    question: &[u8],
    progress: &mut Progress<'_>,
) -> Result<(), StoreError> {
    let Ok(QuestionId { id }) = serde_json::from_slice(question) else {
        warn!("check request of another version ignored");
        return Ok(());
    };
    let known = store.processes().replica_checks(&id).await?;
    if known.iter().any(|check| check.process_id == progress.process) {
        return Ok(());
    }
    let findings = match serde_json::from_slice(question) {
        Ok(question) => compare(store, replica, &question, progress).await,
        Err(_) => Findings::failed("its program has another version".to_owned()),
    };
    // Numbers and names: always valid JSON.
    let findings = serde_json::to_string(&findings).unwrap_or_default();
    store.processes().add_replica_check(&id, progress.process, &findings).await
}

impl Findings {
    /// Reads a result, which a process of another version may have stored.
    fn read(result: &str) -> Self {
        let read = serde_json::from_str(result);
        read.unwrap_or_else(|error| Self::failed(format!("its result cannot be read: {error}")))
    }

    fn failed(error: String) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

async fn compare(
    store: &Store,
    replica: &Replica,
    question: &Question,
    progress: &mut Progress<'_>,
) -> Findings {
    if let Some(reason) = replica.state().unready() {
        return Findings::failed(reason);
    }
    match find(store, replica, question, progress).await {
        Ok(findings) => findings,
        Err(error) => Findings::failed(with_causes(&error)),
    }
}

async fn find(
    store: &Store,
    replica: &Replica,
    question: &Question,
    progress: &mut Progress<'_>,
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
            progress.step().await;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chatkeep_bus::BusLimits;
    use chatkeep_bus::embedded::EmbeddedBus;
    use chatkeep_core::config::Database;
    use chatkeep_core::panics;
    use chatkeep_core::time::SystemClock;
    use chatkeep_store::NewProcess;
    use sqlx::{Connection as _, Executor as _, SqliteConnection};
    use tempfile::TempDir;

    use super::super::DoctorOptions;
    use super::super::report::Finding;
    use super::*;

    const PROCESS: &str = "p1";

    /// Store with a replica that has caught up.
    struct Fixture {
        store: Store,
        replica: Replica,
        bus: Bus,
        folder: TempDir,
    }

    impl Fixture {
        async fn new() -> Self {
            let folder = TempDir::new().unwrap();
            let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
            let index = folder.path().join("index");
            let replica = Replica::open(store.clone(), index, Arc::new(SystemClock)).await.unwrap();
            replica.catch_up().await.unwrap();
            let bus = bus(&folder).await;
            Self { store, replica, bus, folder }
        }

        async fn answer(&self, question: &serde_json::Value) -> Result<(), StoreError> {
            let question = serde_json::to_vec(question).unwrap();
            let mut progress = Progress::new(&self.bus, PROCESS);
            answer(&self.store, &self.replica, &question, &mut progress).await
        }

        async fn results(&self) -> Vec<String> {
            let checks = self.store.processes().replica_checks("c1").await.unwrap();
            checks.into_iter().map(|check| check.result).collect()
        }

        async fn sql(&self, sql: &'static str) {
            let file = self.folder.path().join("chatkeep.db");
            let url = format!("sqlite://{}", file.display());
            let mut database = SqliteConnection::connect(&url).await.unwrap();
            database.execute(sql).await.unwrap();
        }
    }

    fn question() -> serde_json::Value {
        serde_json::json!({"id": "c1", "channels": null, "timeout_ms": 0})
    }

    #[tokio::test]
    async fn a_check_whose_result_could_not_be_stored_is_made_again() {
        let fixture = Fixture::new().await;
        fixture
            .sql(
                "CREATE TRIGGER refuse BEFORE INSERT ON replica_checks
                 BEGIN SELECT RAISE(ABORT, 'refused'); END",
            )
            .await;
        assert!(fixture.answer(&question()).await.is_err());
        assert!(fixture.results().await.is_empty());
        fixture.sql("DROP TRIGGER refuse").await;
        fixture.answer(&question()).await.unwrap();
        assert_eq!(fixture.results().await.len(), 1);
        // A repetition finds the result there, whatever else was asked in between.
        fixture.sql("UPDATE replica_checks SET result = 'known'").await;
        fixture.answer(&question()).await.unwrap();
        assert_eq!(fixture.results().await, ["known"]);
    }

    #[tokio::test]
    async fn a_request_of_another_version_is_not_left_without_a_result() {
        let fixture = Fixture::new().await;
        fixture.answer(&serde_json::json!({"id": "c1", "depth": 3})).await.unwrap();
        let results = fixture.results().await;
        let findings: Findings = serde_json::from_str(&results[0]).unwrap();
        assert_eq!(findings.error.as_deref(), Some("its program has another version"));
        fixture.answer(&serde_json::json!({"of": "nobody"})).await.unwrap();
        assert_eq!(fixture.results().await.len(), 1);
    }

    async fn bus(folder: &TempDir) -> Bus {
        let dedupe_window = Duration::from_mins(2);
        let limits = BusLimits { max_backlog: 1_000, dedupe_window };
        let bus = EmbeddedBus::open(folder.path(), limits, Arc::new(SystemClock)).await;
        Bus::Embedded(bus.unwrap())
    }

    async fn registered(store: &Store) -> Vec<ProcessRecord> {
        let process = NewProcess {
            id: PROCESS.to_owned(),
            host: "elsewhere".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            ..NewProcess::default()
        };
        store.processes().heartbeat(&process, None).await.unwrap();
        running(store).await.unwrap()
    }

    #[tokio::test]
    async fn a_replica_that_never_answers_is_given_up() {
        let fixture = Fixture::new().await;
        let processes = registered(&fixture.store).await;
        let silence_timeout = Duration::from_millis(1);
        let replicas = Some(Replicas { bus: &fixture.bus, processes, silence_timeout });
        let (store, options) = (&fixture.store, DoctorOptions::default());
        let doctor = Doctor { store, blobs: None, indexes: &[], replicas, options };
        let report = doctor.run(&mut |_| {}).await.unwrap();
        let reason = "the search index was not compared: it did not answer";
        assert_eq!((report.unchecked, report.skipped.len()), (vec![reason.to_owned()], 0));
    }

    #[tokio::test]
    async fn a_process_that_compares_its_replica_gives_signs() {
        let Fixture { store, replica, bus, folder: _folder } = Fixture::new().await;
        let stop = CancellationToken::new();
        let mut signs = bus.subscribe(PROGRESS).await.unwrap();
        let answers =
            answer_checks(&bus, store, replica, PROCESS.to_owned(), stop.clone()).await.unwrap();
        let answers = panics::spawn("answers", answers);
        let question = serde_json::to_vec(&question()).unwrap();
        bus.broadcast(TOPIC, question.into()).await.unwrap();
        assert_eq!(signs.next().await.unwrap(), PROCESS);
        stop.cancel();
        answers.await.unwrap().unwrap();
    }

    #[test]
    fn what_was_not_compared_is_told_with_the_reason() {
        let mut listener = |_: &Finding| {};
        let mut report = ReportWriter::new(&mut listener);
        let failed = Findings::failed("its index is being filled".to_owned());
        assert!(take("replica of process 1 on a", failed, &mut report).is_none());
        assert!(take("replica of process 2 on a", Findings::read("{}"), &mut report).is_none());
        let drift = ("C1".into(), "m1".into(), Drift::Missing);
        let found = Findings { compared: 7, drifts: vec![drift], unnamed: 2, error: None };
        let (name, drifts) = take("", found, &mut report).unwrap();
        assert_eq!((name.as_str(), drifts.len()), ("", 1));
        let report = report.end();
        assert_eq!(
            report.unchecked,
            [
                "replica of process 1 on a was not compared: its index is being filled",
                "replica of process 2 on a was not compared: its result cannot be read: missing field \
                 `compared` at line 1 column 2",
            ]
        );
        assert_eq!(report.skipped, ["the search index: 2 more messages differ"]);
        assert_eq!((report.differences, report.left()), (2, 2));
        assert_eq!((report.checked.replicas, report.checked.indexed), (1, Some(7)));
    }
}
