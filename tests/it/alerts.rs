//! Alert rules and dashboard in `deploy/`: valid, tested, and about metrics that there are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chatkeep_core::metric::{self, Kind};
use serde_json::Value;

use crate::harness::process::Program;

/// Timeout of one check, long enough for a loaded machine.
const TIMEOUT: Duration = Duration::from_mins(5);

const RULES: &str = "deploy/alerts.yml";
const TESTS: &str = "tests/alerts/alerts.test.yml";
const DASHBOARD: &str = "deploy/grafana-dashboard.json";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// Runs Prometheus' own checks; returns whether they pass, and what they say.
async fn promtool(args: &[&str]) -> (bool, String) {
    let mut promtool = Program::new("promtool").args(args.iter().copied()).start();
    // It evaluates every rule for every minute of every case.
    let status = promtool.finish_within(TIMEOUT).await;
    (status.success(), [promtool.stdout(), promtool.stderr()].concat().join("\n"))
}

/// Returns the names of chatkeep's metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = text.match_indices("chatkeep_").map(|(at, _)| &text[at..]);
    starts
        .map(|rest| rest.chars().take_while(|c| is_name(*c)).collect::<String>())
        .map(|name| series(&name).to_owned())
        .collect()
}

/// Returns the metric of a series: a histogram has several.
fn series(name: &str) -> &str {
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
    let is_histogram = |base: &&str| {
        metric::ALL.iter().any(|known| known.name == *base && known.kind == Kind::Histogram)
    };
    base.filter(is_histogram).unwrap_or(name)
}

fn assert_known(file: &str, names: &BTreeSet<String>) {
    let known: BTreeSet<_> = metric::ALL.iter().map(|metric| metric.name.to_owned()).collect();
    let unknown: Vec<_> = names.difference(&known).collect();
    assert!(unknown.is_empty(), "{file} names what there is not: {unknown:?}");
}

#[tokio::test]
async fn the_rules_are_valid_and_pass_their_tests() {
    for (check, file) in [("check", RULES), ("test", TESTS)] {
        let (passes, said) = promtool(&[check, "rules", path(file).to_str().unwrap()]).await;
        assert!(passes, "{said}");
        assert!(said.contains("SUCCESS"), "{said}");
    }
}

/// Returns the names of the alerts whose rules differ.
fn changed_alerts<'a>(before: &'a str, after: &'a str) -> Vec<&'a str> {
    const RULE: &str = "- alert: ";
    let rules = before.split(RULE).zip(after.split(RULE));
    let changed = rules.filter(|(before, after)| before != after);
    changed.map(|(rule, _)| rule.lines().next().unwrap_or_default()).collect()
}

/// Returns a file of tests with those of these alerts alone: all of them take a while.
fn tests_of(all: &str, alerts: &[&str]) -> String {
    const CASE: &str = "\n  - name: ";
    let mut parts = all.split(CASE);
    let head = parts.next().unwrap_or_default();
    let is_wanted = |case: &&str| {
        let is_about = |name: &str| alerts.contains(&name.trim());
        case.lines().filter_map(|line| line.split_once("alertname: ")).any(|(_, n)| is_about(n))
    };
    let cases: Vec<_> = parts.filter(is_wanted).collect();
    assert!(!cases.is_empty(), "no test is about {alerts:?}");
    format!("{head}{CASE}{}\n", cases.join(CASE))
}

#[tokio::test]
async fn a_wrong_rule_fails_its_test() {
    let folder = crate::harness::scratch::folder("alerts-");
    let (rules, tests) = (folder.path().join("alerts.yml"), folder.path().join("test.yml"));
    let (original, all) =
        (text(RULES), text(TESTS).replace("../../deploy/alerts.yml", "alerts.yml"));
    for (from, to) in [("> 300", "> 30000"), ("> 0.05", "> 0.5"), ("== 1", "== 2")] {
        assert!(original.contains(from), "{from}");
        let wrong = original.replace(from, to);
        std::fs::write(&rules, &wrong).unwrap();
        std::fs::write(&tests, tests_of(&all, &changed_alerts(&original, &wrong))).unwrap();
        let (passes, said) = promtool(&["test", "rules", tests.to_str().unwrap()]).await;
        assert!(!passes, "{from} as {to}: {said}");
    }
}

#[test]
fn every_rule_has_a_case_that_fires_and_one_that_does_not() {
    let (rules, tests) = (text(RULES), text(TESTS));
    let after = |line: &str, key: &str| line.trim().strip_prefix(key).map(str::to_owned);
    let alerts: Vec<_> = rules.lines().filter_map(|line| after(line, "- alert: ")).collect();
    assert_eq!(alerts.len(), 27);
    let lines: Vec<_> = tests.lines().map(str::trim).collect();
    for alert in &alerts {
        let cases: Vec<_> = lines
            .windows(2)
            .filter(|pair| pair[0] == format!("alertname: {alert}"))
            .map(|pair| pair[1])
            .collect();
        assert!(cases.contains(&"exp_alerts:"), "{alert} never fires in a test");
        assert!(cases.contains(&"exp_alerts: []"), "{alert} always fires in tests");
    }
    for part in ["severity: ", "summary: ", "description: "] {
        let found = rules.lines().filter(|line| line.trim().starts_with(part)).count();
        assert_eq!(found, alerts.len(), "{part}");
    }
}

#[test]
fn rules_and_dashboard_name_metrics_that_there_are() {
    for file in [RULES, TESTS, DASHBOARD] {
        let names = named(&text(file));
        assert!(names.len() > 15, "{file}: {names:?}");
        assert_known(file, &names);
    }
}

#[test]
fn the_labels_of_rules_and_dashboard_are_those_of_their_metrics() {
    for file in [RULES, DASHBOARD] {
        let text = text(file).replace("\\\"", "\"");
        let selectors = text.match_indices("chatkeep_").filter_map(|(at, _)| {
            let (name, rest) = text[at..].split_once('{')?;
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            is_name.then(|| (series(name), rest.split_once('}').unwrap_or_default().0))
        });
        let mut seen = 0;
        for (name, labels) in selectors {
            let known = metric::ALL.iter().find(|metric| metric.name == name).unwrap();
            for label in labels.split(',').map(str::trim).filter(|label| !label.is_empty()) {
                let label = label.split(['=', '!']).next().unwrap();
                let is_known =
                    known.labels.contains(&label) || label == "instance" || label == "job";
                assert!(is_known, "{file}: {name} has no label {label}");
                seen += 1;
            }
        }
        assert!(seen > 3, "{file}");
    }
}

#[test]
fn the_dashboard_has_the_form_that_grafana_imports() {
    let dashboard: Value = serde_json::from_str(&text(DASHBOARD)).unwrap();
    assert!(dashboard["id"].is_null(), "an id belongs to one installation");
    assert!(dashboard["schemaVersion"].as_u64().is_some_and(|version| version >= 39));
    assert!(dashboard["uid"].is_string() && dashboard["title"].is_string());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert!(variables.iter().any(|one| one["type"] == "datasource" && one["name"] == "datasource"));
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut taken: Vec<[u64; 4]> = Vec::new();
    for panel in panels {
        let title = &panel["title"];
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is there twice");
        let place = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        let [x, y, w, h] = place;
        assert!(x + w <= 24, "{title} is wider than the page");
        for [x2, y2, w2, h2] in &taken {
            let apart = x + w <= *x2 || x2 + w2 <= x || y + h <= *y2 || y2 + h2 <= y;
            assert!(apart, "{title} overlaps another one");
        }
        taken.push(place);
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["description"].as_str().is_some_and(|text| text.len() > 10), "{title}");
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title} has no unit");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        for target in panel["targets"].as_array().unwrap() {
            assert!(!named(target["expr"].as_str().unwrap()).is_empty(), "{title}");
            assert!(target["refId"].is_string(), "{title}");
        }
    }
    assert!(panels.len() > 20);
}

/// Prometheus parses each expression of the dashboard as the expression of a rule.
#[tokio::test]
async fn every_expression_of_the_dashboard_is_valid() {
    let dashboard: Value = serde_json::from_str(&text(DASHBOARD)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    let mut rules = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    let mut count = 0;
    for target in targets {
        let expression = target["expr"].as_str().unwrap();
        let expression = expression.replace("$__rate_interval", "5m").replace("$instance", ".*");
        let quoted = serde_json::to_string(&expression).unwrap();
        let rule = format!("      - record: panel:{count}\n        expr: {quoted}\n");
        rules.push_str(&rule);
        count += 1;
    }
    let folder = crate::harness::scratch::folder("dashboard-");
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, rules).unwrap();
    let (passes, said) = promtool(&["check", "rules", file.to_str().unwrap()]).await;
    assert!(passes && said.contains(&format!("{count} rules found")), "{said}");
}
