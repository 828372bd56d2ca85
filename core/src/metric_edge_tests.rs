//! Tests of metrics as a recorder gets them: described once, with labels in order and their values.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{Key, KeyName, Metadata, Recorder, with_local_recorder};

use super::*;

/// Name, type, unit and help text of a metric.
type Description = (String, Kind, Option<Unit>, String);

/// A recorder that keeps what it is told, by the text of the key.
#[derive(Default)]
struct Recorded {
    described: Mutex<Vec<Description>>,
    values: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
}

impl Recorded {
    fn describe(&self, name: KeyName, kind: Kind, unit: Option<Unit>, help: &SharedString) {
        let name = name.into_inner().to_string();
        self.described.lock().unwrap().push((name, kind, unit, help.to_string()));
    }

    fn cell(&self, key: &Key) -> Arc<AtomicU64> {
        let labels = key.labels().map(|label| format!("{}={}", label.key(), label.value()));
        let text = format!("{}{{{}}}", key.name(), labels.collect::<Vec<_>>().join(","));
        Arc::clone(self.values.lock().unwrap().entry(text).or_default())
    }

    fn values(&self) -> Vec<(String, u64)> {
        let values = self.values.lock().unwrap();
        let read = |cell: &Arc<AtomicU64>| cell.load(Ordering::Relaxed);
        values.iter().map(|(text, cell)| (text.clone(), read(cell))).collect()
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(name, Kind::Counter, unit, &help);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(name, Kind::Gauge, unit, &help);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(name, Kind::Histogram, unit, &help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> metrics::Counter {
        metrics::Counter::from_arc(self.cell(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> metrics::Gauge {
        metrics::Gauge::from_arc(self.cell(key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> metrics::Histogram {
        metrics::Histogram::noop()
    }
}

#[test]
fn every_metric_is_described_once_with_its_unit() {
    let recorded = Recorded::default();
    with_local_recorder(&recorded, describe);
    let described = recorded.described.into_inner().unwrap();
    assert_eq!(described.len(), ALL.len());
    for ((name, kind, unit, help), metric) in described.iter().zip(ALL) {
        assert_eq!((name.as_str(), *kind), (metric.name, metric.kind));
        let expected = match metric.unit {
            "seconds" => Some(Unit::Seconds),
            "bytes" => Some(Unit::Bytes),
            text if text.starts_with(char::is_alphabetic) && text != "always 1" => {
                Some(Unit::Count)
            }
            _ => None,
        };
        assert_eq!(*unit, expected, "{name}");
        assert!(help.ends_with(&format!(". Unit: {}.", metric.unit)), "{name}: {help}");
    }
}

#[test]
fn counters_without_labels_start_at_zero_and_no_others_do() {
    let recorded = Recorded::default();
    with_local_recorder(&recorded, describe);
    let mut expected: Vec<_> = ALL
        .iter()
        .filter(|metric| metric.kind == Kind::Counter && metric.labels.is_empty())
        .map(|metric| (format!("{}{{}}", metric.name), 0_u64))
        .collect();
    expected.sort_unstable();
    assert!(!expected.is_empty());
    assert_eq!(recorded.values(), expected);
}

#[test]
fn values_are_recorded_under_their_labels_in_order() {
    let recorded = Recorded::default();
    with_local_recorder(&recorded, || {
        REPLIES.add(["main".into(), "rule".into(), "sent".into()], 2);
        REPLIES.add(["main".into(), "rule".into(), "sent".into()], 3);
        REPLIES.add(["rule".into(), "main".into(), "sent".into()], 1);
        DEPENDENCY_UP.flag(["bus".into(), "nats://one".into()], true);
        DISK_LOW.flag(["media".into()], true);
        DISK_LOW.flag(["media".into()], false);
        MEDIA_PENDING.count([], 7);
        INGRESS_SECONDS.record([], Duration::from_secs(1));
    });
    let expected = [
        ("chatkeep_dependency_up{dependency=bus,address=nats://one}", 1_f64.to_bits()),
        ("chatkeep_disk_low{work=media}", 0_f64.to_bits()),
        ("chatkeep_media_pending{}", 7_f64.to_bits()),
        ("chatkeep_replies_total{bot=main,source=rule,result=sent}", 5),
        ("chatkeep_replies_total{bot=rule,source=main,result=sent}", 1),
    ];
    let expected = expected.map(|(text, value)| (text.to_owned(), value));
    assert_eq!(recorded.values(), expected);
}

#[test]
fn label_names_of_a_metric_differ_and_none_is_a_value_of_a_caller() {
    for metric in ALL {
        let mut names = metric.labels.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), metric.labels.len(), "{}", metric.name);
        for name in names {
            assert!(
                !["user", "channel", "key", "message", "ip"].contains(&name),
                "{}",
                metric.name
            );
        }
    }
}
