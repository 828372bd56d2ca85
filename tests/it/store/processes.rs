//! The registry of processes.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_store::{NewProcess, ReplicaCheck};

use super::{Fixture, on_both};

on_both!(
    processes_are_known_while_they_run,
    a_process_that_differs_is_refused,
    checks_are_kept,
    snapshot_targets_are_recorded_by_address,
);

const LIVE: Duration = Duration::from_secs(20);

fn process(id: &str, shared: &[(&str, &str)]) -> NewProcess {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    NewProcess {
        id: id.to_owned(),
        host: "machine".to_owned(),
        pid: 42,
        version: "0.1.0".to_owned(),
        roles: vec!["api".to_owned(), "search".to_owned()],
        stages: vec!["backup".to_owned()],
        shared: shared.iter().map(owned).collect::<BTreeMap<_, _>>(),
        settings: BTreeMap::from([("time_zone".to_owned(), "Asia/Tokyo".to_owned())]),
    }
}

async fn processes_are_known_while_they_run(fixture: Fixture) {
    let (store, one) = (&fixture.store, process("one", &[("bus", "a")]));
    assert_eq!(store.processes().register_process(&one, LIVE).await.unwrap(), []);
    assert!(store.processes().heartbeat(&one, Some("{}")).await.unwrap());
    let known = store.processes().list(LIVE).await.unwrap();
    assert_eq!((known.len(), &known[0].process), (1, &one));
    assert_eq!(known[0].search.as_deref(), Some("{}"));
    assert!(known[0].silent_for < LIVE);

    // Silent for a minute, or since before the clock was set back.
    for change in ["- 60000", "+ 60000"] {
        fixture.run(&format!("UPDATE processes SET seen_at = seen_at {change}")).await;
        assert_eq!(store.processes().list(LIVE).await.unwrap(), [], "{change}");
        store.processes().heartbeat(&one, None).await.unwrap();
        assert_eq!(store.processes().list(LIVE).await.unwrap().len(), 1);
    }
    store.processes().unregister_process("one").await.unwrap();
    assert_eq!(store.processes().list(LIVE).await.unwrap(), []);
    // Removed by another one while it was only slow.
    assert!(!store.processes().heartbeat(&one, Some("[]")).await.unwrap(), "not compared");
    assert_eq!(store.processes().list(LIVE).await.unwrap()[0].search.as_deref(), Some("[]"));
}

async fn a_process_that_differs_is_refused(fixture: Fixture) {
    let store = &fixture.store;
    let one = process("one", &[("bus", "a"), ("quota", "1")]);
    store.processes().register_process(&one, LIVE).await.unwrap();
    let other = process("two", &[("bus", "b"), ("quota", "1")]);
    let differing = store.processes().register_process(&other, LIVE).await.unwrap();
    assert_eq!((differing.len(), &differing[0].process), (1, &one));
    assert_eq!(store.processes().list(LIVE).await.unwrap().len(), 1, "not registered");
    // Until the first one has changed.
    let changed = process("one", &[("bus", "b"), ("quota", "1")]);
    store.processes().share(&changed).await.unwrap();
    assert_eq!(store.processes().list(LIVE).await.unwrap()[0].process, changed);
    assert_eq!(store.processes().register_process(&other, LIVE).await.unwrap(), []);
    store.processes().unregister_process("two").await.unwrap();
    store.processes().share(&one).await.unwrap();
    // Another version may declare less, or more.
    let newer = process("three", &[("bus", "a"), ("zone", "x")]);
    assert_eq!(store.processes().register_process(&newer, LIVE).await.unwrap(), []);
    // A process without a recent heartbeat does not matter.
    fixture.run("UPDATE processes SET seen_at = seen_at - 60000").await;
    assert_eq!(store.processes().register_process(&other, LIVE).await.unwrap(), []);
}

async fn checks_are_kept(fixture: Fixture) {
    let store = &fixture.store;
    for (process, result) in [("b", "1"), ("a", "2"), ("b", "3")] {
        store.processes().add_replica_check("c", process, result).await.unwrap();
    }
    store.processes().add_replica_check("d", "a", "4").await.unwrap();
    let check = |process: &str, result: &str| ReplicaCheck {
        process_id: process.to_owned(),
        result: result.to_owned(),
    };
    assert_eq!(
        store.processes().replica_checks("c").await.unwrap(),
        [check("a", "2"), check("b", "3")]
    );
}

async fn snapshot_targets_are_recorded_by_address(fixture: Fixture) {
    let processes = fixture.store.processes();
    let recorded = async |address| processes.snapshot_target_ids(address).await.unwrap();
    assert_eq!(recorded("/mnt/a").await, [] as [&str; 0]);
    for (address, id) in [("/mnt/a", "2"), ("/mnt/a", "1"), ("/mnt/a", "2"), ("/mnt/b", "2")] {
        processes.record_snapshot_target(address, id).await.unwrap();
    }
    assert_eq!(recorded("/mnt/a").await, ["1", "2"]);
    assert_eq!(recorded("/mnt/b").await, ["2"]);
}
