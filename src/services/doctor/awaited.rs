//! Running replicas that are asked to compare themselves, until each has answered, ended or been
//! silent for too long.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_store::ProcessRecord;
use tokio::time::Instant;

use super::report::ReportWriter;

/// Replicas whose results are still to come.
#[derive(Debug)]
pub(super) struct Awaited {
    /// Names of the replicas, and the last signs of life, by the id of the process.
    replicas: BTreeMap<String, (String, Instant)>,
    timeout: Duration,
}

impl Awaited {
    pub(super) fn new(processes: &[ProcessRecord], timeout: Duration) -> Self {
        let (several, now) = (processes.len() > 1, Instant::now());
        let name = |record: &ProcessRecord| if several { name(record) } else { String::new() };
        let awaited = |one: &ProcessRecord| (one.process.id.clone(), (name(one), now));
        Self { replicas: processes.iter().map(awaited).collect(), timeout }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replicas.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.replicas.values().map(|(name, _)| name)
    }

    /// Removes a replica whose result has come. Returns its name.
    pub(super) fn remove(&mut self, process: &str) -> Option<String> {
        self.replicas.remove(process).map(|(name, _)| name)
    }

    /// Records that a process compares a replica, for this check or for one before it.
    pub(super) fn renew(&mut self, process: &[u8], now: Instant) {
        let replica = std::str::from_utf8(process).ok().and_then(|id| self.replicas.get_mut(id));
        if let Some((_, since)) = replica {
            *since = now;
        }
    }

    /// Drops replicas whose process has ended: what replaces them is brought up to date.
    pub(super) fn drop_ended(&mut self, running: &[ProcessRecord], report: &mut ReportWriter<'_>) {
        self.replicas.retain(|id, (name, _)| {
            let runs = running.iter().any(|record| record.process.id == *id);
            if !runs {
                report.skip(format!("{} was not compared: its process ended", known(name)));
            }
            runs
        });
    }

    /// Drops replicas that have given no sign of life for too long, as those of a process of another
    /// version or without a connection to the bus.
    pub(super) fn drop_silent(&mut self, now: Instant, report: &mut ReportWriter<'_>) {
        let timeout = self.timeout;
        self.replicas.retain(|_, (name, since)| {
            let waits = now.saturating_duration_since(*since) < timeout;
            if !waits {
                report.uncheck(format!("{} was not compared: it did not answer", known(name)));
            }
            waits
        });
    }
}

/// Returns the name of a replica for use in a sentence.
pub(super) fn known(name: &str) -> &str {
    if name.is_empty() { "the search index" } else { name }
}

fn name(record: &ProcessRecord) -> String {
    format!("replica of process {} on {}", record.process.pid, record.process.host)
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;
    use chatkeep_store::NewProcess;

    use super::super::report::Finding;
    use super::*;

    #[test]
    fn a_comparison_under_way_is_waited_for_however_long_it_takes() {
        let process = NewProcess {
            id: "p1".to_owned(),
            host: "a".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            ..NewProcess::default()
        };
        let (started_at, silent_for) = (Timestamp::from_millis(0), Duration::ZERO);
        let processes = [ProcessRecord { process, search: None, started_at, silent_for }];
        let timeout = Duration::from_secs(10);
        let mut awaited = Awaited::new(&processes, timeout);
        let mut listener = |_: &Finding| {};
        let mut report = ReportWriter::new(&mut listener);
        let start = Instant::now();
        for round in 1..100 {
            awaited.renew(b"p1", start + timeout / 2 * round);
            awaited.renew(b"another", start);
            awaited.drop_silent(start + timeout / 2 * (round + 1), &mut report);
            assert!(!awaited.is_empty());
        }
        awaited.drop_silent(start + timeout * 60, &mut report);
        assert!(awaited.is_empty());
    }
}
