//! Metrics: those of the registry are those that `docs/metrics.md` explains, that the code records,
//! and that a process exposes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use chatkeep_core::metric::{self, Kind, Metric};
use serde_json::json;

use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the row of a metric in the documentation.
fn row(metric: &Metric) -> String {
    let kind = match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let Metric { name, unit, help, .. } = metric;
    format!("| `{name}` | {kind} | {unit} | {} | {help} |", labels.join(", "))
}

#[test]
fn the_documentation_lists_exactly_the_metrics_that_there_are() {
    let page = fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `chatkeep_")).collect();
    let expected: Vec<_> = metric::ALL.iter().map(|metric| row(metric)).collect();
    let listed = rows.join("\n");
    assert!(
        rows == expected,
        "docs/metrics.md should have\n{}\nand has\n{listed}",
        expected.join("\n")
    );
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "tests" {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_metric_is_recorded_somewhere() {
    let registry = fs::read_to_string(root().join("core/src/metric.rs")).unwrap();
    let mut files = Vec::new();
    for folder in ["src", "core", "workers", "index"] {
        sources(&root().join(folder), &mut files);
    }
    let code: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for metric in metric::ALL {
        let at = registry.find(&format!("\"{}\"", metric.name)).unwrap();
        let kinds = [": Counter<", ": Gauge<", ": Histogram<"];
        let end = kinds.iter().filter_map(|kind| registry[..at].rfind(kind)).max().unwrap();
        let handle = registry[..end].split_whitespace().next_back().unwrap();
        assert!(code.contains(&format!("metric::{handle}")), "{}: {handle}", metric.name);
    }
}

/// Metrics of an exposition with their types, and the labels of their series.
#[derive(Default)]
struct Exposed {
    types: BTreeMap<String, String>,
    labels: BTreeMap<String, BTreeSet<Vec<String>>>,
}

impl Exposed {
    fn parse(text: &str) -> Self {
        let mut exposed = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                exposed.types.insert(name.to_owned(), kind.to_owned());
            } else if !line.starts_with('#') {
                let (series, _) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                let labels = names(labels.strip_suffix('}').unwrap());
                exposed.labels.entry(name.to_owned()).or_default().insert(labels);
            }
        }
        exposed
    }

    fn labels_of(&self, metric: &Metric) -> BTreeSet<Vec<String>> {
        let name = match metric.kind {
            Kind::Histogram => format!("{}_count", metric.name),
            _ => metric.name.to_owned(),
        };
        self.labels.get(&name).cloned().unwrap_or_default()
    }
}

/// Returns the names in a list of labels; values may hold anything but unescaped quotes.
fn names(labels: &str) -> Vec<String> {
    let outside = labels.split('"').step_by(2);
    let names = outside.filter_map(|part| part.trim_start_matches(',').strip_suffix('='));
    names.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_exposes_what_is_described_and_nothing_else() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    let target = ground.folder.path().join("snapshots").display().to_string();
    ground.settings.push(("CHATKEEP_SNAPSHOT_TARGET", target));
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let channel = group.chat_id.as_str();
    stack.line.say(channel, &people[1].user_id, "hours").await.unwrap();
    stack.kept(channel, 2).await;
    stack.drained().await;
    let needed: Vec<_> = metric::ALL.iter().filter(|metric| metric.labels.is_empty()).collect();
    let mut exposed = Exposed::default();
    until("everything without labels is measured", DEADLINE, async || {
        exposed = Exposed::parse(&stack.metrics().await);
        // Histograms are there once something was measured; no file was sent.
        let has = |metric: &&Metric| {
            metric.kind == Kind::Histogram || exposed.types.contains_key(metric.name)
        };
        needed.iter().all(|metric| has(metric))
    })
    .await;
    let known: BTreeMap<_, _> = metric::ALL.iter().map(|metric| (metric.name, *metric)).collect();
    for (name, kind) in &exposed.types {
        let metric = known.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not described"));
        let expected = format!("{:?}", metric.kind).to_lowercase();
        assert_eq!(*kind, expected, "{name}");
        let expected: Vec<_> = metric.labels.iter().map(|label| (*label).to_owned()).collect();
        let labels = exposed.labels_of(metric);
        assert!(labels.iter().all(|labels| *labels == expected), "{name}: {labels:?}");
    }
    // What alerts and dashboard are about is measured from the start.
    for name in [
        "chatkeep_stage_lag_seconds",
        "chatkeep_backlog",
        "chatkeep_channels",
        "chatkeep_webhooks",
        "chatkeep_disk_free_bytes",
        "chatkeep_disk_reserve_bytes",
        "chatkeep_disk_low",
        "chatkeep_dead_letters_total",
        "chatkeep_job_failures_total",
        "chatkeep_http_requests_total",
        "chatkeep_ingress_webhooks_total",
        "chatkeep_snapshot_timestamp_seconds",
    ] {
        assert!(exposed.types.contains_key(name), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_of_the_store_and_the_bus_are_measured() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, _) = group(&mut stack).await;
    let channel = group.chat_id.as_str();
    let hook = json!({"url": "https://chat.example.org/hook", "events": ["message.received"]});
    stack.post("/webhooks", hook).await;
    // Counted once a minute, and at the start.
    stack.process.terminate().await;
    stack
        .sql(format!(
            "UPDATE webhooks SET enabled = 0, disabled_reason = 'failing';
             INSERT INTO gaps (channel_id, from_at, reason) VALUES ('{channel}', 1, 'quota')"
        ))
        .await;
    stack.process = stack.ground.serve(&stack.line).await;
    for expected in [
        "chatkeep_channels{state=\"backed_up\"} 0",
        "chatkeep_channels{state=\"paused\"} 1",
        "chatkeep_webhooks{state=\"enabled\"} 0",
        "chatkeep_webhooks{state=\"disabled\"} 1",
        "chatkeep_backlog_limit 2000000",
        "chatkeep_stage_lag_seconds{stage=\"backup\"} 0",
    ] {
        until(expected, DEADLINE, async || stack.metrics().await.lines().any(|l| l == expected))
            .await;
    }
}
