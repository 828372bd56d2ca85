//! Gaps end when there is room again, whatever the reason.

use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Check, Difference, IngestOutcome};

use super::super::{Fixture, at, on_both, said, sized, unsent};

on_both!(
    room_made_in_one_channel_ends_the_gaps_of_others,
    room_made_behind_what_was_skipped_ends_its_gap,
    a_gap_never_ends_before_it_begins,
    a_cancelled_channel_ends_its_gap,
    gaps_that_overlap_are_joined,
);

/// Sets up a channel with a big file and another one, whose one subscriber is full.
async fn full(fixture: &Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.subscribe("C2", "U1", 5).await;
    fixture.keep(&[sized("C1", "big", 10, 1_000), said("C2", "x", 11, "x")], 20).await;
    let left = Plan::Free.quota() - fixture.used("U1").await;
    fixture.preload("C1", "U1", left).await;
    let skipped = [said("C1", "lost", 30, "x"), said("C2", "lost", 31, "x")];
    assert_eq!(fixture.keep(&skipped, 40).await, [IngestOutcome::Skipped, IngestOutcome::Skipped]);
}

async fn open(fixture: &Fixture) -> String {
    fixture.value("SELECT COUNT(*) FROM gaps WHERE to_at = 0").await
}

async fn no_gap_is_wrong(fixture: &Fixture) {
    for channel in ["C1", "C2"] {
        let audit = fixture.store.audits().audit_channel(&channel.into()).await.unwrap().unwrap();
        let gap = |found: &Difference| found.check == Check::Gap;
        assert!(!audit.differences.iter().any(gap), "{:?}", audit.differences);
    }
}

async fn room_made_in_one_channel_ends_the_gaps_of_others(fixture: Fixture) {
    full(&fixture).await;
    assert_eq!(open(&fixture).await, "2");
    no_gap_is_wrong(&fixture).await;
    fixture.keep(&[unsent("C1", "big", 50)], 50).await;
    assert_eq!(open(&fixture).await, "0");
    let told = "SELECT COUNT(*) FROM outbox_events WHERE type = 'backup.resumed'";
    assert_eq!(fixture.value(told).await, "2");
    no_gap_is_wrong(&fixture).await;
}

async fn room_made_behind_what_was_skipped_ends_its_gap(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[sized("C1", "big", 10, 1_000)], 20).await;
    let left = Plan::Free.quota() - fixture.used("U1").await;
    fixture.preload("C1", "U1", left).await;
    let batch = [said("C1", "lost", 30, "x"), unsent("C1", "big", 31)];
    assert_eq!(fixture.keep(&batch, 40).await, [IngestOutcome::Skipped, IngestOutcome::Changed]);
    assert_eq!(open(&fixture).await, "0");
    no_gap_is_wrong(&fixture).await;
}

async fn a_gap_never_ends_before_it_begins(fixture: Fixture) {
    full(&fixture).await;
    // The platform's clock is ahead of ours.
    assert!(fixture.store.accounts().set_plan(&"U1".into(), Plan::Standard, at(25)).await.unwrap());
    assert_eq!(open(&fixture).await, "0");
    no_gap_is_wrong(&fixture).await;
}

async fn a_cancelled_channel_ends_its_gap(fixture: Fixture) {
    full(&fixture).await;
    fixture.store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(50)).await.unwrap();
    assert_eq!(open(&fixture).await, "0", "backup of C2 runs; C1 has no quota to wait for");
    no_gap_is_wrong(&fixture).await;
}

async fn gaps_that_overlap_are_joined(fixture: Fixture) {
    full(&fixture).await;
    let gap = |from, to, skipped| {
        format!(
            "INSERT INTO gaps (channel_id, reason, from_at, to_at, skipped)
             VALUES ('C1', 'quota', {from}, {to}, {skipped})"
        )
    };
    // The open one begins at 30.
    for sql in [gap(10, 20, 1), gap(15, 18, 2), gap(19, 25, 4), gap(25, 26, 8), gap(32, 40, 16)] {
        fixture.run(&sql).await;
    }
    let channel = "C1".into();
    let audit = fixture.store.audits().audit_channel(&channel).await.unwrap().unwrap();
    let found = audit.differences.iter().filter(|found| found.check == Check::Gap);
    let found: Vec<_> = found.map(|found| found.place.as_str()).collect();
    assert_eq!(found, ["C1 quota from 15", "C1 quota from 19", "C1 quota from 32"]);
    fixture.store.audits().repair_channel(&channel, at(50)).await.unwrap();
    let told = fixture.store.messages().gaps(&channel, Some(at(9)), None).await.unwrap();
    let told = told.iter().filter(|gap| gap.reason.name() == "quota");
    let told: Vec<_> = told
        .map(|gap| (gap.from.millis(), gap.to.map(Timestamp::millis), gap.skipped.unwrap()))
        .collect();
    assert_eq!(told, [(10, Some(25), 7), (25, Some(26), 8), (30, None, 17)]);
    no_gap_is_wrong(&fixture).await;
}
