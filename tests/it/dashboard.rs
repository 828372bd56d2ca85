//! The dashboard and the alert rules in a real Prometheus that scrapes a healthy service in use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chatkeep_core::metric::{self, Kind, Metric};
use chatkeep_emulator::{Media, Post};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::http;
use crate::harness::prometheus::{Prometheus, Series};
use crate::harness::wait::until;
use crate::hooks::sink::Sink;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Queries of panels, by title and letter, that have nothing to show while all is well.
const QUIET: [(&str, &str); 5] = [
    ("Connections B", "counts from the first connection that the server closes"),
    ("Backlog B", "the limit is shown once the backlog comes near, or it would flatten the rest"),
    ("Consumers without a process A", "every consumer is served"),
    ("Periodic jobs that fail A", "only jobs that failed are shown"),
    ("Certificate and access tokens A", "they are looked up for the first time after ten minutes"),
];

/// Selectors of alert rules that select nothing while all is well.
const QUIET_ALERTS: [(&str, &str); 6] = [
    ("chatkeep_panics_total", "nothing panicked"),
    ("chatkeep_ingress_webhooks_total{result=\"unavailable\"}", "no webhook was refused"),
    ("chatkeep_http_requests_total{status=~\"5..\"}", "no request failed"),
    ("chatkeep_expiry_timestamp_seconds{kind=\"certificate\"}", "the address is plain http"),
    ("chatkeep_expiry_timestamp_seconds{kind=\"access_token\"}", "looked up after ten minutes"),
    ("chatkeep_expiry_check_ok", "looked up after ten minutes"),
];

/// Query of a panel.
struct Target {
    panel: String,
    /// Title and letter.
    name: String,
    expression: String,
    legend: String,
    unit: String,
}

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(name)).unwrap()
}

fn targets() -> Vec<Target> {
    let dashboard: Value = serde_json::from_str(&text("deploy/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    panels
        .flat_map(|panel| {
            let all = panel["targets"].as_array().cloned().unwrap_or_default();
            all.into_iter().map(|target| of_panel(panel, &target)).collect::<Vec<_>>()
        })
        .collect()
}

fn of_panel(panel: &Value, target: &Value) -> Target {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (title, letter) = (text(&panel["title"]), text(&target["refId"]));
    // A query may have a unit of its own.
    let overrides = panel["fieldConfig"]["overrides"].as_array().unwrap().iter();
    let mut own = overrides.filter(|one| one["matcher"]["options"] == *letter);
    let own = own.next().and_then(|one| {
        let properties = one["properties"].as_array().unwrap().iter();
        properties.clone().find(|property| property["id"] == "unit").map(|unit| &unit["value"])
    });
    let unit = text(own.unwrap_or(&panel["fieldConfig"]["defaults"]["unit"]));
    let expression = text(&target["expr"]);
    Target {
        name: format!("{title} {letter}"),
        panel: title,
        expression: expression.replace("$__rate_interval", "1m").replace("$instance", ".*"),
        legend: text(&target["legendFormat"]),
        unit,
    }
}

/// Starts a service with a snapshot that was made, and uses it in every way that panels show.
async fn in_use() -> (Stack, Sink) {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    let target = ground.folder.path().join("snapshots").display().to_string();
    ground.settings.push(("CHATKEEP_SNAPSHOT_TARGET", target));
    ground.settings.push(("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned()));
    let line = emulator().await;
    ground.command(&line, &["snapshot", "create"]).await;
    let mut stack = Stack::on(ground, line).await;
    let (group, people) = group(&mut stack).await;
    let (channel, person) = (group.chat_id.as_str(), people[1].user_id.as_str());
    let sink = Sink::start().await;
    let hook = json!({"url": sink.url("/hook"), "events": ["message.received"]});
    stack.post("/webhooks", hook).await;
    // A question and its reply.
    stack.line.say(channel, person, "hours").await.unwrap();
    let picture = Post::File(Media::new("application/pdf", vec![7; 9]), "a.pdf".to_owned());
    stack.line.post_message(channel, person, picture).await.unwrap();
    stack.kept(channel, 3).await;
    until("a webhook is delivered", DEADLINE, async || !sink.at("/hook").is_empty()).await;
    let (status, _) = stack.call(Method::GET, "/channels/none", None).await;
    assert!(status.is_client_error(), "{status}");
    tool(&stack).await;
    (stack, sink)
}

/// Calls a tool as models do.
async fn tool(stack: &Stack) {
    let params = json!({"name": "list_channels", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = http::client(DEADLINE)
        .post(format!("http://{}/mcp", stack.ground.address))
        .bearer_auth(stack.key())
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25");
    let answer = request.json(&call).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_panel_shows_something_and_no_alert_fires_on_a_healthy_service() {
    let (stack, _sink) = in_use().await;
    let rules = Path::new(ROOT).join("deploy/alerts.yml");
    let prometheus = Prometheus::start(stack.ground.metrics, &rules).await;
    let targets = targets();
    let is_quiet = |name: &str| QUIET.iter().any(|(quiet, _)| *quiet == name);
    let mut found = BTreeMap::<&str, Vec<Series>>::new();
    let mut missing = Vec::new();
    until("every panel shows something", DEADLINE, async || {
        // A scrape that takes too long on a loaded machine hides everything until the next one.
        for target in &targets {
            if !is_shown(&found, target) {
                found.insert(&target.name, prometheus.query(&target.expression).await);
            }
        }
        let empty = targets.iter().filter(|one| !is_shown(&found, one) && !is_quiet(&one.name));
        let now: Vec<_> = empty.map(|target| target.name.clone()).collect();
        if now != missing {
            eprintln!("nothing to show: {now:?}");
            missing = now;
        }
        missing.is_empty()
    })
    .await;
    for (name, _) in QUIET {
        assert!(found.contains_key(name), "there is no {name}");
    }
    legends_tell_series_apart(&targets, &found);
    alerts_are_silent(&prometheus).await;
}

fn is_shown(found: &BTreeMap<&str, Vec<Series>>, target: &Target) -> bool {
    found.get(target.name.as_str()).is_some_and(|series| !series.is_empty())
}

/// Checks that a legend names labels that there are, and that no two lines of a panel share one.
fn legends_tell_series_apart(targets: &[Target], found: &BTreeMap<&str, Vec<Series>>) {
    let mut lines = BTreeSet::new();
    for target in targets {
        for series in &found[target.name.as_str()] {
            let legend = series.iter().fold(target.legend.clone(), |legend, (label, value)| {
                legend.replace(&format!("{{{{{label}}}}}"), value)
            });
            assert!(!legend.is_empty() && !legend.contains("{{"), "{}: {legend}", target.name);
            let is_new = lines.insert((target.panel.clone(), legend.clone()));
            assert!(is_new, "{}: two lines are called {legend}", target.panel);
        }
    }
}

/// Checks that Prometheus evaluates each rule, that what it looks at is there, and that none fires.
async fn alerts_are_silent(prometheus: &Prometheus) {
    let mut noisy = Vec::new();
    until("no alert is pending", DEADLINE, async || {
        let rules = prometheus.rules().await;
        let now = rules.iter().filter(|rule| rule["state"] != "inactive" || rule["health"] != "ok");
        let now: Vec<_> = now.map(|rule| format!("{} {}", rule["name"], rule["state"])).collect();
        if now != noisy {
            eprintln!("not silent: {now:?}");
            noisy = now;
        }
        !rules.is_empty() && noisy.is_empty()
    })
    .await;
    let rules = prometheus.rules().await;
    let mut quiet: BTreeSet<_> =
        rules.iter().flat_map(|rule| selectors(rule["query"].as_str().unwrap())).collect();
    let expected: BTreeSet<_> =
        QUIET_ALERTS.iter().map(|(selector, _)| (*selector).to_owned()).collect();
    assert!(expected.is_subset(&quiet), "no rule has one of {expected:?}: {quiet:?}");
    until("alert rules find what they look at", DEADLINE, async || {
        for selector in quiet.clone() {
            if !prometheus.query(&selector).await.is_empty() {
                quiet.remove(&selector);
            }
        }
        let missing: Vec<_> = quiet.difference(&expected).collect();
        if !missing.is_empty() {
            eprintln!("nothing to look at: {missing:?}");
        }
        missing.is_empty()
    })
    .await;
}

/// Returns the selectors of chatkeep's metrics in an expression.
fn selectors(expression: &str) -> Vec<String> {
    let starts = expression.match_indices("chatkeep_").map(|(at, _)| &expression[at..]);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    starts
        .map(|rest| {
            let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let labels = rest[name..].starts_with('{').then(|| rest.find('}').unwrap() + 1);
            rest[..labels.unwrap_or(name)].to_owned()
        })
        .collect()
}

#[test]
fn no_two_queries_have_one_name() {
    let names: Vec<_> = targets().into_iter().map(|target| target.name).collect();
    let distinct: BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "panels with one title: {names:?}");
}

#[test]
fn units_of_panels_are_those_of_their_metrics() {
    for target in targets() {
        let name = &selectors(&target.expression)[0];
        let name = name.split('{').next().unwrap();
        let base = name.strip_suffix("_bucket").unwrap_or(name);
        let metric = metric::ALL.iter().find(|metric| metric.name == base).unwrap();
        let expected = unit(metric, &target.expression);
        assert_eq!(target.unit, expected, "{}: {}", target.name, target.expression);
    }
}

/// Returns Grafana's unit of what an expression makes of a metric.
fn unit(metric: &Metric, expression: &str) -> &'static str {
    let (is_rate, is_counter) = (expression.contains("rate("), metric.kind == Kind::Counter);
    match metric.unit {
        "bytes" if is_counter && is_rate => "binBps",
        "bytes" => "bytes",
        "requests" | "webhooks" if is_counter && is_rate => "reqps",
        _ if is_counter && is_rate => "ops",
        "seconds" => "s",
        _ => "short",
    }
}
