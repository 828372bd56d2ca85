//! Logs, and the export of traces.
//!
//! Rules for every log line in the workspace:
//! - The message reads alone, in lower case, without a full stop; what varies is in fields.
//! - Fields are named in snake case, with their unit at the end: `duration_ms`, `after_ms`,
//!   `size_bytes`.
//! - One span an event, `event{id=… platform=… stage=…}`, from the ingress to the reply; the id is
//!   the same on every surface.
//! - A failure is logged once, where it is handled, with its causes, by
//!   [`log_reason!`](crate::log_reason): an outage of what the process depends on is logged once by
//!   [`crate::outage`], however many parts notice it.
//! - Never a message's text, a person's name, a token, a key or a secret, at any level.
//!
//! Spans of traces ([`crate::trace`]) are no part of the log; with a collector, the spans of
//! requests and of events in the log have the `trace_id`.

mod export;

use std::io::IsTerminal as _;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::filter::{FilterFn, LevelFilter, ParseError, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry};

pub use self::export::TraceExportError;
use crate::config::{LogConfig, LogFormat, TelemetryConfig};
use crate::{panics, trace};

/// Prefix of every log target of this workspace.
const OURS: &str = "chatkeep";

/// Libraries that log each attempt to reach a server that is away, or the texts of people. The
/// outage is logged by [`crate::outage`], once; who wants to see more names the library in
/// `log.filter`.
const TALKATIVE: [&str; 7] = [
    "async_nats=off",
    "object_store=error",
    // Its warnings repeat what a client sent.
    "rmcp=error",
    "sqlx::pool=error",
    // What a PostgreSQL server that stops says on each connection.
    "sqlx::postgres::notice=error",
    // What keeps a connection from being made is told as an outage.
    "sqlx_core::pool=off",
    // It warns twice a second while the folder of an index is away, which the replica reports.
    "tantivy::directory::mmap_directory::file_watcher=error",
];

/// Maximum time that the last spans of a process have to reach the collector.
const FLUSH: Duration = Duration::from_secs(2);

/// Error of setting up logs and traces.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A directive is invalid.
    #[error("log.filter {filter:?} is not a level or a list of tracing directives")]
    Filter {
        /// Directive.
        filter: String,
        /// Cause; `None` for a word that is no level.
        #[source]
        source: Option<ParseError>,
    },
    /// Logs were set up before.
    #[error("logs are set up already")]
    Twice(#[from] TryInitError),
    /// Traces cannot be exported.
    #[error(transparent)]
    Export(#[from] TraceExportError),
}

/// Logs and traces of this process, set up.
#[derive(Debug)]
#[must_use = "the last spans are sent by `finish`"]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Sends the spans that wait, for at most 2 s. Later ones are dropped.
    #[boxed]
    pub async fn finish(self) {
        let Some(traces) = self.traces else { return };
        let flush = tokio::task::spawn_blocking(move || traces.shutdown_with_timeout(FLUSH));
        // What did not reach the collector is lost, and an outage of it is in the log.
        let _ = flush.await;
    }
}

/// Sets up logs on standard error and, if the settings name a collector, the export of traces. To
/// be called on the runtime of the process.
///
/// # Errors
/// Fails when the filter is wrong, when traces cannot be exported, or when called twice.
pub fn init(log: &LogConfig, config: &TelemetryConfig) -> Result<Telemetry, TelemetryError> {
    panics::install_hook();
    let terminal = std::io::stderr().is_terminal();
    let Some(endpoint) = &config.endpoint else {
        subscriber(log, std::io::stderr, terminal)?.try_init()?;
        return Ok(Telemetry { traces: None });
    };
    let (provider, tracer) = export::provider(config, endpoint, Handle::current())?;
    tracing_subscriber(log, std::io::stderr, terminal, tracer)?.try_init()?;
    trace::enable(config.trust_incoming);
    Ok(Telemetry { traces: Some(provider) })
}

fn subscriber<W>(
    config: &LogConfig,
    writer: W,
    terminal: bool,
) -> Result<impl Subscriber + Send + Sync + use<W>, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = filter(&config.filter)?;
    Ok(Registry::default().with(lines(config.format, writer, terminal)).with(filter))
}

/// Returns the same with traces beside the lines.
fn tracing_subscriber<W>(
    config: &LogConfig,
    writer: W,
    terminal: bool,
    tracer: SdkTracer,
) -> Result<impl Subscriber + Send + Sync + use<W>, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // Each with its own filter: the level of logs does not decide about traces.
    let lines = lines(config.format, writer, terminal).with_filter(filter(&config.filter)?);
    let spans = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_filter(spans_of_traces());
    Ok(Registry::default().with(lines).with(spans))
}

/// Lets spans of traces pass, and no line of the log.
fn spans_of_traces() -> FilterFn {
    filter_fn(|metadata| metadata.is_span() && metadata.target() == trace::TARGET)
}

fn lines<S, W>(format: LogFormat, writer: W, terminal: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        // It would panic: a failure to write a log line cannot be logged either.
        .log_internal_errors(false);
    match format {
        LogFormat::Json => layer.json().flatten_event(true).with_span_list(false).boxed(),
        // By default, colours are on unless NO_COLOR is set.
        LogFormat::Auto if terminal => layer.compact().boxed(),
        LogFormat::Auto | LogFormat::Text => layer.compact().with_ansi(false).boxed(),
    }
}

/// Puts the operator's directives after the defaults, so that theirs win. A level is for chatkeep's
/// own lines; dependencies only warn unless they are named.
pub(crate) fn filter(given: &str) -> Result<EnvFilter, TelemetryError> {
    let bad = |source| TelemetryError::Filter { filter: given.to_owned(), source };
    let mut directives =
        vec![LevelFilter::WARN.to_string(), format!("{OURS}={}", LevelFilter::INFO)];
    directives.extend(TALKATIVE.map(str::to_owned));
    for part in given.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if let Ok(level) = part.parse::<LevelFilter>() {
            directives.push(level.min(LevelFilter::WARN).to_string());
            directives.push(format!("{OURS}={level}"));
        } else if part.contains(['=', '[']) {
            directives.push(part.to_owned());
        } else {
            // A filter takes any other word for a target. A misspelt level would thus be accepted,
            // and switch off everything.
            return Err(bad(None));
        }
    }
    EnvFilter::builder().parse(directives.join(",")).map_err(|source| bad(Some(source)))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;
    use tracing::{debug, info, info_span, warn};

    use super::*;

    /// Captured log output.
    #[derive(Clone, Default)]
    pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl CapturedLog {
        /// Returns the lines logged so far.
        pub(crate) fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            text.lines().map(str::to_owned).collect()
        }
    }

    impl io::Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log lines of a library and of chatkeep, at three levels each, in an event's
    /// span.
    fn logged(format: LogFormat, filter: &str, terminal: bool) -> Vec<String> {
        let kept = CapturedLog::default();
        let writer = kept.clone();
        let config = LogConfig { format, filter: filter.to_owned() };
        let subscriber = subscriber(&config, move || writer.clone(), terminal).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            let span = info_span!(target: "chatkeep_workers", "event", id = "e1", stage = "backup");
            let _entered = span.enter();
            debug!(target: "sqlx::query", "library debug");
            info!(target: "sqlx::query", "library info");
            warn!(target: "sqlx::query", "library warn");
            debug!(target: "chatkeep_workers::runner", "own debug");
            info!(target: "chatkeep_workers::runner", duration_ms = 7, "own info");
            warn!(target: "chatkeep_bus::embedded", "own warn");
        });
        kept.lines()
    }

    /// Returns which of those lines pass, in their order.
    fn passed(filter: &str) -> Vec<&'static str> {
        let all =
            ["library debug", "library info", "library warn", "own debug", "own info", "own warn"];
        let lines = logged(LogFormat::Text, filter, false);
        all.into_iter().filter(|name| lines.iter().any(|line| line.contains(name))).collect()
    }

    #[test]
    fn a_level_is_for_our_lines_and_libraries_only_warn() {
        assert_eq!(passed("info"), ["library warn", "own info", "own warn"]);
        assert_eq!(passed("debug"), ["library warn", "own debug", "own info", "own warn"]);
        assert_eq!(passed("warn"), ["library warn", "own warn"]);
        assert!(passed("error").is_empty());
        assert!(passed("off").is_empty());
    }

    #[test]
    fn libraries_do_not_log_each_attempt_to_reach_what_is_away() {
        let is_enabled = |given: &str| {
            let subscriber = Registry::default().with(filter(given).unwrap());
            tracing::subscriber::with_default(subscriber, || {
                [
                    tracing::enabled!(target: "async_nats::connector", tracing::Level::ERROR),
                    tracing::enabled!(target: "sqlx::postgres::notice", tracing::Level::WARN),
                    tracing::enabled!(target: "sqlx_core::pool::connection", tracing::Level::WARN),
                    tracing::enabled!(
                        target: "tantivy::directory::mmap_directory::file_watcher",
                        tracing::Level::WARN
                    ),
                    tracing::enabled!(target: "sqlx::query", tracing::Level::WARN),
                ]
            })
        };
        assert_eq!(is_enabled("info"), [false, false, false, false, true]);
        assert_eq!(is_enabled("debug,async_nats=info"), [true, false, false, false, true]);
    }

    #[test]
    fn what_is_named_is_logged() {
        assert_eq!(
            passed("warn, sqlx=debug"),
            ["library debug", "library info", "library warn", "own warn"]
        );
        assert_eq!(
            passed("chatkeep_workers=debug"),
            ["library warn", "own debug", "own info", "own warn"]
        );
    }

    #[test]
    fn json_has_fields_and_the_span_of_the_event() {
        let lines = logged(LogFormat::Json, "info", true);
        let line: Value =
            serde_json::from_str(lines.iter().find(|l| l.contains("own info")).unwrap()).unwrap();
        assert_eq!(line["message"], "own info");
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["duration_ms"], 7);
        assert_eq!(line["span"]["name"], "event");
        assert_eq!((&line["span"]["id"], &line["span"]["stage"]), (&"e1".into(), &"backup".into()));
    }

    #[test]
    fn text_is_one_readable_line_with_colours_only_on_a_terminal() {
        let coloured = |format, terminal| {
            logged(format, "info", terminal).iter().any(|line| line.contains('\x1b'))
        };
        assert!(!coloured(LogFormat::Auto, false));
        assert!(!coloured(LogFormat::Text, true));
        let lines = logged(LogFormat::Text, "info", false);
        let line = lines.iter().find(|line| line.contains("own info")).unwrap();
        for part in ["INFO", "event", "chatkeep_workers::runner", "duration_ms=7", "id=\"e1\""] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn what_is_no_level_and_no_directive_is_refused() {
        for good in ["INFO", "off", "info,", "debug,chatkeep=trace", "[event{id=e1}]=debug"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        for bad in ["inof", "chatkeep=loud", "info sqlx", "a=b=c"] {
            let error = filter(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("log.filter {bad:?} is not a level")), "{error}");
        }
    }
}
