//! Tests of outages at their ends: without a runtime, closed halfway, and back for a moment only.

use super::tests::{REFUSED, captured, pass};
use super::*;
use crate::log_reason;

fn bus() -> Availability {
    Availability::new("bus", "nats://one", "CHATKEEP_BUS")
}

/// Returns whether it is away, and whether it is troubled.
fn state(availability: &Availability) -> (bool, bool) {
    (availability.is_away(), availability.is_troubled())
}

#[test]
fn without_a_runtime_an_outage_ends_at_once() {
    let (log, _guard) = captured();
    let bus = bus();
    for _ in 0..2 {
        bus.fails(Work::Reading, REFUSED);
        assert_eq!(state(&bus), (true, true));
        bus.works(Work::Writing);
        assert_eq!(state(&bus), (false, false));
    }
    assert_eq!(log.lines().len(), 4, "{:#?}", log.lines());
}

#[test]
fn what_works_from_the_start_is_not_told() {
    let (log, _guard) = captured();
    let bus = bus();
    bus.works(Work::Reading);
    bus.works(Work::Writing);
    assert_eq!((state(&bus), log.lines().len()), ((false, false), 0));
    assert_eq!(bus.address(), "nats://one");
}

#[tokio::test(start_paused = true)]
async fn it_is_troubled_until_it_has_stayed() {
    let (log, _guard) = captured();
    let bus = bus();
    bus.fails(Work::Reading, REFUSED);
    pass(1).await;
    bus.works(Work::Reading);
    assert_eq!(state(&bus), (false, true), "back, but for how long?");
    pass(4).await;
    // It fails while it settles: the end that was expected is none.
    bus.fails(Work::Reading, REFUSED);
    pass(60).await;
    assert_eq!(state(&bus), (true, true));
    assert_eq!(log.lines().len(), 1, "{:#?}", log.lines());
    bus.works(Work::Reading);
    pass(6).await;
    assert_eq!(state(&bus), (false, false));
    assert!(log.lines()[1].contains("away_ms=65000"), "{:#?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn clones_are_one_dependency() {
    let (log, _guard) = captured();
    let (bus, clone) = (bus(), bus());
    let same = bus.clone();
    bus.fails(Work::Reading, REFUSED);
    assert!(same.is_away() && !clone.is_away(), "only clones share an outage");
    same.fails(Work::Writing, REFUSED);
    same.works(Work::Writing);
    pass(6).await;
    assert_eq!((state(&bus), log.lines().len()), ((false, false), 2));
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_what_is_closed_meanwhile_is_not_told_to_be_over() {
    let (log, _guard) = captured();
    let bus = bus();
    bus.fails(Work::Reading, REFUSED);
    bus.close();
    bus.fails(Work::Reading, REFUSED);
    bus.works(Work::Reading);
    pass(6).await;
    assert_eq!((state(&bus), log.lines().len()), ((false, false), 1), "{:#?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn the_time_to_settle_doubles_up_to_its_limit_and_is_forgotten_after_a_calm() {
    let mut state = State::default();
    let mut settle = Vec::new();
    for _ in 0..6 {
        let next = state.settle(Instant::now());
        settle.push(next.as_secs());
        state.last = Some((Instant::now(), next));
        pass(59).await;
    }
    assert_eq!(settle, [5, 10, 20, 40, 60, 60]);
    pass(1).await;
    assert_eq!(state.settle(Instant::now()), SETTLE, "a minute without an outage");
}

#[test]
fn a_failure_is_logged_where_nothing_else_explains_it() {
    let (log, _guard) = captured();
    let error = std::io::Error::other("disk is full");
    let (new, known) = (Failure::new(&error, false), Failure::new(&error, true));
    assert_eq!(new.to_string(), "disk is full");
    log_reason!(warn, known, part = "bus", "cannot publish");
    assert!(log.lines().is_empty());
    log_reason!(warn, new, part = "bus", "cannot publish");
    log_reason!(error, Failure::from("no reason"), "cannot publish");
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for part in ["WARN", "disk is full", "part=\"bus\"", "cannot publish"] {
        assert!(lines[0].contains(part), "{lines:#?}");
    }
    assert!(lines[1].contains("ERROR") && lines[1].contains("no reason"), "{lines:#?}");
}
