//! Gaps end when there is room again, whatever the reason.

use chatkeep_core::plan::Plan;
use chatkeep_store::IngestOutcome;

use super::super::{Fixture, at, on_both, said, sized, unsent};

on_both!(
    room_made_in_one_channel_ends_the_gaps_of_others,
    room_made_behind_what_was_skipped_ends_its_gap,
    a_gap_never_ends_before_it_begins,
    a_cancelled_channel_keeps_its_gap,
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
        let gap = |found: &chatkeep_store::Difference| found.check == chatkeep_store::Check::Gap;
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

async fn a_cancelled_channel_keeps_its_gap(fixture: Fixture) {
    full(&fixture).await;
    fixture.store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(50)).await.unwrap();
    let open = fixture.value("SELECT channel_id FROM gaps WHERE to_at = 0").await;
    assert_eq!(open, "C1", "backup of C2 runs; of C1 nothing is kept");
    no_gap_is_wrong(&fixture).await;
}
