//! Registry of the metrics that a process exports at `/metrics`, each with its labels, its unit and
//! a description.
//!
//! A metric can be recorded only through its entry here (`clippy.toml` refuses the macros of the
//! `metrics` crate everywhere else), so that none is without a description. Names follow the
//! conventions of Prometheus: `chatkeep_` first, base units (seconds, bytes) at the end, `_total`
//! for counters, `_duration_seconds` for distributions of durations, `_timestamp_seconds` for times.
//! A label has few values, which the settings and the code decide; callers decide none.
//!
//! `docs/metrics.md` lists the same for operators.

use std::time::Duration;

use metrics::{Label, SharedString, Unit};

/// Histogram buckets for work inside of the process, in seconds.
const WORK: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Histogram buckets for responses to requests, in seconds.
const REQUESTS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Histogram buckets for calls to other machines, in seconds.
const CALLS: &[f64] = &[0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0];
/// Histogram buckets for transfers of whole files, in seconds.
const TRANSFERS: &[f64] = &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only increases.
    Counter,
    /// A number that increases and decreases.
    Gauge,
    /// A distribution of durations.
    Histogram,
}

/// The description of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name, as Prometheus reads it.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// The unit of its values.
    pub unit: &'static str,
    /// Description for the operator.
    pub help: &'static str,
    /// The upper bounds of a histogram's buckets, in seconds; empty for other types.
    pub buckets: &'static [f64],
}

/// A counter with `L` labels.
#[derive(Debug)]
pub struct Counter<const L: usize>(&'static Metric);

/// A gauge with `L` labels.
#[derive(Debug)]
pub struct Gauge<const L: usize>(&'static Metric);

/// A histogram of durations with `L` labels.
#[derive(Debug)]
pub struct Histogram<const L: usize>(&'static Metric);

/// Declares metrics: each gets a handle of its name, and an entry in [`ALL`].
macro_rules! registry {
    ($($id:ident: $kind:ident<$count:literal> {
        $name:literal, [$($label:literal),*], $unit:literal $(, $buckets:ident)?; $help:literal
    })*) => {
        $(
            #[doc = $help]
            pub static $id: $kind<$count> = $kind({
                const LABELS: [&str; $count] = [$($label),*];
                const BUCKETS: &[&[f64]] = &[$($buckets)?];
                &Metric {
                    name: $name,
                    kind: Kind::$kind,
                    labels: &LABELS,
                    unit: $unit,
                    help: $help,
                    buckets: match BUCKETS { [buckets, ..] => buckets, [] => &[] },
                }
            });
        )*
        /// Every metric.
        pub static ALL: &[&Metric] = &[$($id.0),*];
    };
}

registry! {
    BUILD_INFO: Gauge<1> { "chatkeep_build_info", ["version"], "always 1";
        "Running version of chatkeep, as a label" }
    PROBLEM: Gauge<1> { "chatkeep_problem", ["part"], "1 or 0";
        "Problem of a part of the process, as listed by /readyz" }
    DEPENDENCY_UP: Gauge<2> { "chatkeep_dependency_up", ["dependency", "address"], "1 or 0";
        "Availability of a dependency at the last check" }
    DISK_FREE_BYTES: Gauge<1> { "chatkeep_disk_free_bytes", ["folder"], "bytes";
        "Free disk space of the data folder, and of the folder of media files" }
    DISK_RESERVE_BYTES: Gauge<1> { "chatkeep_disk_reserve_bytes", ["folder"], "bytes";
        "Free disk space below which work that fills the folder pauses; 0 if none does" }
    DISK_LOW: Gauge<1> { "chatkeep_disk_low", ["work"], "1 or 0";
        "Pause of the ingress or of media files because free disk space is below their reserve" }
    WAL_CHECKPOINT_OVERDUE_SECONDS: Gauge<1> {
        "chatkeep_wal_checkpoint_overdue_seconds", ["file"], "seconds";
        "Time for which the write-ahead log of an SQLite file (database, bus) could not be emptied; 0 if the last checkpoint emptied it" }
    PANICS: Counter<1> { "chatkeep_panics_total", ["part"], "panics";
        "Panics of parts of the process, which were caught; each one is a defect" }
    JOB_RUNS: Counter<1> { "chatkeep_job_runs_total", ["name"], "runs";
        "Runs of a periodic job" }
    JOB_FAILURES: Counter<1> { "chatkeep_job_failures_total", ["name"], "runs";
        "Runs of a periodic job that failed or panicked" }
    JOB_SECONDS: Histogram<1> { "chatkeep_job_duration_seconds", ["name"], "seconds", TRANSFERS;
        "Duration of a run of a periodic job" }
    JOB_LAST_SUCCESS: Gauge<1> {
        "chatkeep_job_last_success_timestamp_seconds", ["name"], "seconds";
        "Time at which a periodic job last succeeded in this process, since 1970" }

    TRACE_EXPORTS: Counter<1> { "chatkeep_trace_exports_total", ["result"], "batches";
        "Batches of spans that were sent to the trace collector, by result" }

    HTTP_REQUESTS: Counter<3> { "chatkeep_http_requests_total", ["method", "route", "status"], "requests";
        "HTTP requests by method, route template and status" }
    HTTP_REQUEST_SECONDS: Histogram<2> {
        "chatkeep_http_request_duration_seconds", ["method", "route"], "seconds", REQUESTS;
        "Time from an HTTP request to the head of its response" }
    HTTP_CONNECTIONS: Gauge<1> { "chatkeep_http_connections", ["listener"], "connections";
        "Open HTTP connections of a listener: that of the service, or that of its metrics" }
    HTTP_CLOSED: Counter<1> { "chatkeep_http_closed_total", ["reason"], "connections";
        "HTTP connections that the server closed or refused" }
    HTTP_BODY_BYTES: Gauge<1> { "chatkeep_http_body_bytes", ["listener"], "bytes";
        "Size of the request bodies that a listener holds in memory" }
    MCP_CALLS: Counter<2> { "chatkeep_mcp_calls_total", ["tool", "result"], "calls";
        "Calls of MCP tools" }
    MCP_CALL_SECONDS: Histogram<1> { "chatkeep_mcp_call_duration_seconds", ["tool"], "seconds", REQUESTS;
        "Duration of a call of an MCP tool" }

    INGRESS_WEBHOOKS: Counter<2> { "chatkeep_ingress_webhooks_total", ["bot", "result"], "webhooks";
        "Webhooks received from the platform, by result" }
    INGRESS_SECONDS: Histogram<0> { "chatkeep_ingress_duration_seconds", [], "seconds", WORK;
        "Time to respond to a webhook of the platform, publishing of its events included" }
    INGRESS_EVENTS: Counter<0> { "chatkeep_ingress_events_total", [], "events";
        "Events of the platform that were published on the bus" }
    INGRESS_LOST_EVENTS: Counter<1> { "chatkeep_ingress_lost_events_total", ["bot"], "events";
        "Events of the platform that were lost because they are too large for the bus" }
    FOREIGN_EVENTS: Counter<1> { "chatkeep_foreign_events_total", ["bot"], "events";
        "Events ignored because the channel belongs to another bot" }

    BACKLOG_LIMIT: Gauge<0> { "chatkeep_backlog_limit", [], "messages";
        "Number of pending messages at which the bus refuses more" }
    STAGE_LAG_SECONDS: Gauge<1> { "chatkeep_stage_lag_seconds", ["stage"], "seconds";
        "Age of the oldest message of the bus that a stage has yet to finish; 0 without one" }
    BACKLOG: Gauge<1> { "chatkeep_backlog", ["stage"], "messages";
        "Messages of the bus that are pending for a stage or being handled by it" }
    ORPHANED_BACKLOG: Gauge<1> { "chatkeep_orphaned_consumer_backlog", ["consumer"], "messages";
        "Messages of the bus that wait for a consumer that no process serves" }
    EVENTS: Counter<2> { "chatkeep_events_total", ["stage", "outcome"], "events";
        "Events that a stage has handled, by outcome" }
    STAGE_SECONDS: Histogram<1> { "chatkeep_stage_duration_seconds", ["stage"], "seconds", WORK;
        "Time of a stage for a batch of events" }
    DEAD_LETTERS: Counter<1> { "chatkeep_dead_letters_total", ["stage"], "events";
        "Events that a stage gave up on and moved to the dead letters" }
    DEAD_LETTERS_KEPT: Gauge<0> { "chatkeep_dead_letters_kept", [], "events";
        "Dead letters that wait for `chatkeep dead retry` or `drop`" }

    MESSAGES: Counter<1> { "chatkeep_messages_total", ["result"], "messages";
        "Messages handled by the backup, by result" }
    REMOVED_MESSAGES: Counter<0> { "chatkeep_removed_messages_total", [], "messages";
        "Messages removed by deletions and erasures" }
    CHANNEL_JOBS: Gauge<1> { "chatkeep_channel_jobs", ["kind"], "jobs";
        "Unfinished jobs of channels: exports in the background, deletions and erasures of many messages" }
    CHANNEL_JOB_LAG_SECONDS: Gauge<1> { "chatkeep_channel_job_lag_seconds", ["kind"], "seconds";
        "Longest time for which an unfinished job of a channel has made no progress; 0 without one" }
    CHANNEL_JOB_INTERRUPTIONS: Counter<1> {
        "chatkeep_channel_job_interruptions_total", ["kind"], "interruptions";
        "Claims of jobs of channels that ended because their process did, or hung" }
    EXPORT_PARTS: Counter<1> { "chatkeep_export_parts_total", ["result"], "parts";
        "Attempts to write a part of an export in the background, by result: outdated if its messages changed meanwhile" }
    RETENTION_DELETED: Counter<1> { "chatkeep_retention_deleted_total", ["why"], "messages";
        "Messages removed because their retention ended" }
    MEDIA: Counter<1> { "chatkeep_media_total", ["result"], "files";
        "Media files to download, by result" }
    MEDIA_PENDING: Gauge<0> { "chatkeep_media_pending", [], "files";
        "Media files that are still to be downloaded" }
    MEDIA_BYTES: Counter<0> { "chatkeep_media_bytes_total", [], "bytes";
        "Size of the media files that were stored" }
    MEDIA_SECONDS: Histogram<0> { "chatkeep_media_duration_seconds", [], "seconds", TRANSFERS;
        "Time to fetch and store a media file" }
    CHANNELS: Gauge<1> { "chatkeep_channels", ["state"], "channels";
        "Channels with a subscription, by state: paused when every quota is used up" }
    USAGE_NOTICES: Counter<1> { "chatkeep_usage_notices_total", ["result"], "notices";
        "Notices to users that their quota is nearly or fully used, by result" }

    REPLIES: Counter<3> { "chatkeep_replies_total", ["bot", "source", "result"], "replies";
        "Replies of the assistant, by result" }
    PLATFORM_CALLS: Counter<3> {
        "chatkeep_platform_calls_total", ["bot", "endpoint", "result"], "calls";
        "Calls to the platform's API" }
    PLATFORM_SECONDS: Histogram<2> {
        "chatkeep_platform_call_duration_seconds", ["bot", "endpoint"], "seconds", CALLS;
        "Time of a call to the platform's API" }
    PLATFORM_CIRCUIT_OPEN: Gauge<2> { "chatkeep_platform_circuit_open", ["bot", "host"], "1 or 0";
        "Open circuits to hosts of the platform after failed calls" }

    WEBHOOKS: Gauge<1> { "chatkeep_webhooks", ["state"], "webhooks";
        "Outgoing webhooks: enabled, failing (enabled, and the last attempt failed), disabled (automatically)" }
    DELIVERY_ATTEMPTS: Counter<1> { "chatkeep_delivery_attempts_total", ["outcome"], "attempts";
        "Attempts to deliver outgoing webhooks, by outcome" }
    DELIVERY_SECONDS: Histogram<0> { "chatkeep_delivery_duration_seconds", [], "seconds", CALLS;
        "Time of an attempt to deliver an outgoing webhook" }
    DELIVERY_QUEUE: Gauge<0> { "chatkeep_delivery_queue", [], "deliveries";
        "Pending deliveries of outgoing webhooks, including those that wait for a retry or an endpoint" }
    DELIVERY_DUE: Gauge<0> { "chatkeep_delivery_due", [], "deliveries";
        "Due deliveries of outgoing webhooks, without those to endpoints that pause or have been failing for a minute" }
    DELIVERY_LAG_SECONDS: Gauge<0> { "chatkeep_delivery_lag_seconds", [], "seconds";
        "Age of the oldest due delivery of an outgoing webhook" }
    DELIVERY_NOTICES: Counter<1> { "chatkeep_delivery_notices_total", ["result"], "notices";
        "Notices to owners that their webhook was disabled, by result" }

    EXPIRY_TIMESTAMP: Gauge<2> { "chatkeep_expiry_timestamp_seconds", ["kind", "name"], "seconds";
        "Time at which the certificate of the public address or a bot's access token expires, since 1970; +Inf if unknown" }
    EXPIRY_CHECK_OK: Gauge<2> { "chatkeep_expiry_check_ok", ["kind", "name"], "1 or 0";
        "Success of the last check of the certificate of the public address or of a bot's access token" }
    SNAPSHOT_TIMESTAMP: Gauge<0> { "chatkeep_snapshot_timestamp_seconds", [], "seconds";
        "Time of the newest snapshot, since 1970; 0 without one" }

    SEARCH_INDEXED: Counter<0> { "chatkeep_search_indexed_total", [], "changes";
        "Changes of messages written to this process' search index" }
    SEARCH_MESSAGES: Gauge<0> { "chatkeep_search_messages", [], "messages";
        "Messages in this process' search index" }
    SEARCH_READY: Gauge<0> { "chatkeep_search_ready", [], "1 or 0";
        "Readiness of this process' search index" }
    SEARCH_LAG_SECONDS: Gauge<0> { "chatkeep_search_lag_seconds", [], "seconds";
        "Age of the oldest change that this process' search index does not have yet" }

    SAVED_SEARCH_MATCHES: Counter<0> { "chatkeep_saved_search_matches_total", [], "messages";
        "Messages that saved searches found and reported" }
    SAVED_SEARCH_LAG_SECONDS: Gauge<0> { "chatkeep_saved_search_lag_seconds", [], "seconds";
        "Age of the oldest change not yet compared with saved searches; 0 in processes that do not compare" }
}

/// Describes every metric to the recorder of this process, and starts counters without labels at 0,
/// so that their first increase is visible.
pub fn describe() {
    metrics::with_recorder(|recorder| {
        for metric in ALL {
            let name = metrics::KeyName::from_const_str(metric.name);
            let help = metric.help_line().into();
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, metric.unit(), help),
                Kind::Gauge => recorder.describe_gauge(name, metric.unit(), help),
                Kind::Histogram => recorder.describe_histogram(name, metric.unit(), help),
            }
        }
    });
    for metric in ALL.iter().filter(|m| m.kind == Kind::Counter && m.labels.is_empty()) {
        Counter::<0>(metric).add([], 0);
    }
}

impl Metric {
    /// Returns the text of its `# HELP` line: description and unit.
    pub fn help_line(&self) -> String {
        format!("{}. Unit: {}.", self.help, self.unit)
    }

    fn unit(&self) -> Option<Unit> {
        match self.unit {
            "seconds" => Some(Unit::Seconds),
            "bytes" => Some(Unit::Bytes),
            "1 or 0" | "always 1" => None,
            _ => Some(Unit::Count),
        }
    }

    fn labelled<const L: usize>(&self, values: [SharedString; L]) -> Vec<Label> {
        self.labels.iter().zip(values).map(|(name, value)| Label::new(*name, value)).collect()
    }
}

#[expect(clippy::disallowed_macros, reason = "the one place that may: the name is a described one")]
impl<const L: usize> Counter<L> {
    /// Increases the counter with these label values by `number`.
    pub fn add(&self, labels: [SharedString; L], number: u64) {
        metrics::counter!(self.0.name, self.0.labelled(labels)).increment(number);
    }
}

#[expect(clippy::disallowed_macros, reason = "the one place that may: the name is a described one")]
impl<const L: usize> Gauge<L> {
    /// Sets the gauge with these label values.
    pub fn set(&self, labels: [SharedString; L], value: f64) {
        metrics::gauge!(self.0.name, self.0.labelled(labels)).set(value);
    }

    /// Sets the gauge to a count.
    #[expect(clippy::cast_precision_loss, reason = "a gauge is an f64")]
    pub fn count(&self, labels: [SharedString; L], number: u64) {
        self.set(labels, number as f64);
    }

    /// Sets the gauge to 1 for `true`, 0 for `false`.
    pub fn flag(&self, labels: [SharedString; L], yes: bool) {
        self.set(labels, f64::from(u8::from(yes)));
    }
}

#[expect(clippy::disallowed_macros, reason = "the one place that may: the name is a described one")]
impl<const L: usize> Histogram<L> {
    /// Records a duration.
    pub fn record(&self, labels: [SharedString; L], took: Duration) {
        metrics::histogram!(self.0.name, self.0.labelled(labels)).record(took);
    }
}

#[cfg(test)]
#[path = "metric_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_metric_follows_the_conventions() {
        let mut names = HashSet::new();
        for metric in ALL {
            let Metric { name, kind, unit, help, .. } = metric;
            assert!(names.insert(name), "{name} is there twice");
            assert!(name.starts_with("chatkeep_"), "{name}");
            assert!(!help.ends_with('.') && help.chars().count() > 10, "{name}: {help}");
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            let base = name.strip_suffix("_total").unwrap_or(name);
            for with_suffix in ["seconds", "bytes"] {
                assert_eq!(base.ends_with(with_suffix), *unit == with_suffix, "{name}: {unit}");
            }
            assert_eq!(*kind == Kind::Histogram, !metric.buckets.is_empty(), "{name}");
            assert_eq!(*kind == Kind::Histogram, name.ends_with("_duration_seconds"), "{name}");
            assert_eq!(name.ends_with("_timestamp_seconds"), help.contains("since 1970"), "{name}");
            assert!(metric.buckets.is_sorted(), "{name}");
            let reserved = ["le", "quantile", "job", "instance"];
            assert!(!metric.labels.iter().any(|label| reserved.contains(label)), "{name}");
        }
    }
}
