//! Quota: pauses at exactly the right message, resumes by itself, records the gap.

use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{BackupState, ChannelFigures, IngestOutcome, Subscribed};

use super::{Fixture, at, delete_before, edited, on_both, said, sized, unsent};

on_both!(
    the_message_that_crosses_is_kept_and_the_next_is_not,
    a_raised_plan_resumes_and_closes_the_gap,
    one_subscriber_with_room_is_enough,
    skipped_messages_are_counted_once,
    rows_of_skipped_messages_go,
    the_baseline_counts_for_nobody_who_came_later,
    cancelling_gives_back_and_resumes_other_channels,
    the_last_subscription_ends_the_pause_with_it,
    unsending_frees_space_for_whom_it_counted,
    what_is_skipped_while_room_is_made_belongs_to_the_open_gap,
    room_that_is_made_and_used_up_in_one_batch_leaves_one_gap,
    gaps_never_overlap,
);

/// Returns begin, end and skipped messages of each gap for lack of room, as stored.
async fn quota_gaps(fixture: &Fixture) -> Vec<(i64, Option<i64>, i64)> {
    let gaps = fixture.store.messages().gaps(&"C1".into(), None, None).await.unwrap();
    let quota = gaps.into_iter().filter(|gap| gap.reason.name() == "quota");
    let told = quota.map(|gap| (gap.from.millis(), gap.to.map(Timestamp::millis), gap.skipped));
    told.map(|(from, to, skipped)| (from, to, skipped.unwrap())).collect()
}

/// Returns the numbers of events that tell of a pause and of its end.
async fn pauses(fixture: &Fixture) -> [String; 2] {
    let count = async |kind| {
        let sql = format!("SELECT COUNT(*) FROM outbox_events WHERE type = 'backup.{kind}'");
        fixture.value(&sql).await
    };
    [count("paused").await, count("resumed").await]
}

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

/// Fills the free plan up to `left` bytes.
async fn fill(fixture: &Fixture, channel: &str, left: i64) {
    fixture.preload(channel, "U1", Plan::Free.quota() - left).await;
}

async fn the_message_that_crosses_is_kept_and_the_next_is_not(fixture: Fixture) {
    prepared(&fixture).await;
    fill(&fixture, "C1", 50).await;
    let batch = [sized("C1", "a", 40, 49), sized("C1", "b", 41, 60), sized("C1", "c", 42, 60)];
    assert_eq!(
        fixture.keep(&batch, 50).await,
        [IngestOutcome::Changed, IngestOutcome::Changed, IngestOutcome::Skipped]
    );
    assert_eq!(
        fixture.store.accounts().backup_state(&"C1".into()).await.unwrap(),
        BackupState::Paused
    );
    let gaps = fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    assert_eq!((gaps.len(), gaps[0].from, gaps[0].to, gaps[0].skipped), (1, at(42), None, Some(1)));
    assert_eq!(fixture.counters("C1").await.1, 2);
}

async fn a_raised_plan_resumes_and_closes_the_gap(fixture: Fixture) {
    prepared(&fixture).await;
    fill(&fixture, "C1", 0).await;
    assert_eq!(fixture.keep(&[said("C1", "lost", 40, "x")], 50).await, [IngestOutcome::Skipped]);
    let figures = async || fixture.store.channels().channel_figures().await.unwrap();
    assert_eq!(figures().await, ChannelFigures { subscribed: 1, paused: 1 });
    assert!(fixture.store.accounts().set_plan(&"U1".into(), Plan::Standard, at(60)).await.unwrap());
    assert_eq!(figures().await, ChannelFigures { subscribed: 1, paused: 0 });
    let gaps = fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    assert_eq!((gaps[0].to, gaps[0].skipped), (Some(at(60)), Some(1)));
    assert_eq!(fixture.keep(&[said("C1", "kept", 61, "y")], 62).await, [IngestOutcome::Changed]);
    assert_eq!(fixture.keep(&[said("C1", "lost", 40, "x")], 63).await, [IngestOutcome::Known]);
    assert!(
        fixture.store.messages().message(&"C1".into(), &"lost".into()).await.unwrap().is_none()
    );
}

async fn one_subscriber_with_room_is_enough(fixture: Fixture) {
    prepared(&fixture).await;
    fill(&fixture, "C1", 0).await;
    assert_eq!(fixture.keep(&[said("C1", "lost", 40, "x")], 50).await, [IngestOutcome::Skipped]);
    fixture.subscribe("C1", "U2", 55).await;
    let gaps = fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    assert_eq!(gaps[0].to, Some(at(55)));
    assert_eq!(fixture.keep(&[sized("C1", "kept", 56, 70)], 57).await, [IngestOutcome::Changed]);
    assert_eq!(fixture.used("U2").await, 70);
    assert_eq!(fixture.used("U1").await, Plan::Free.quota() + 70);
}

async fn skipped_messages_are_counted_once(fixture: Fixture) {
    prepared(&fixture).await;
    fill(&fixture, "C1", 0).await;
    let batch = [said("C1", "a", 40, "x"), edited("C1", "b", 41, "y")];
    assert_eq!(fixture.keep(&batch, 50).await, [IngestOutcome::Skipped, IngestOutcome::Skipped]);
    assert_eq!(fixture.keep(&batch, 51).await, [IngestOutcome::Known, IngestOutcome::Known]);
    fixture.keep(&[unsent("C1", "a", 45), said("C1", "b", 39, "y0")], 52).await;
    let gaps = fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    assert_eq!((gaps.len(), gaps[0].skipped), (1, Some(2)));
}

async fn rows_of_skipped_messages_go(fixture: Fixture) {
    prepared(&fixture).await;
    fill(&fixture, "C1", 0).await;
    let rows = async || {
        let count = "SELECT COUNT(*) FROM messages WHERE message_id IN ('a', 'b', 'c')";
        fixture.value(count).await
    };
    fixture.keep(&[said("C1", "a", 40, "x"), said("C1", "b", 41, "y")], 50).await;
    fixture.keep(&[unsent("C1", "b", 45), said("C1", "c", 42, "z")], 60).await;
    let messages = fixture.store.messages();
    assert_eq!(messages.purge_skipped(at(50)).await.unwrap(), 0, "not old enough");
    assert_eq!(messages.purge_skipped(at(51)).await.unwrap(), 1, "what was unsent stays away");
    assert_eq!(rows().await, "2");
    delete_before(&fixture.store, &"C1".into(), at(60), at(70)).await;
    assert_eq!(rows().await, "1", "c arrived later");
    delete_before(&fixture.store, &"C1".into(), at(61), at(71)).await;
    assert_eq!(rows().await, "0");
    let gaps = messages.gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    assert_eq!(gaps.iter().filter_map(|gap| gap.skipped).sum::<i64>(), 3, "it is told for ever");
}

async fn the_baseline_counts_for_nobody_who_came_later(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[sized("C1", "old", 10, 100)], 20).await;
    assert_eq!(
        fixture.store.accounts().subscribe(&"C1".into(), &"U2".into(), at(20)).await.unwrap(),
        Subscribed::New
    );
    assert_eq!(
        fixture.store.accounts().subscribe(&"C1".into(), &"U2".into(), at(21)).await.unwrap(),
        Subscribed::Already
    );
    fixture.keep(&[sized("C1", "new", 11, 60)], 20).await;
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (160, 60));
    let usage = fixture.store.accounts().usage(&"U2".into()).await.unwrap();
    assert_eq!((usage.channels[0].bytes, usage.channels[0].bytes_at_subscribe), (160, 100));
}

async fn cancelling_gives_back_and_resumes_other_channels(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    fill(&fixture, "C1", 0).await;
    assert_eq!(fixture.keep(&[said("C2", "lost", 40, "x")], 50).await, [IngestOutcome::Skipped]);
    assert!(
        fixture.store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(60)).await.unwrap()
    );
    assert!(
        !fixture.store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(61)).await.unwrap()
    );
    assert_eq!(fixture.used("U1").await, 0);
    let gaps = fixture.store.messages().gaps(&"C2".into(), Some(at(20)), None).await.unwrap();
    assert_eq!(gaps[0].to, Some(at(60)));
    assert_eq!(fixture.keep(&[sized("C2", "kept", 62, 50)], 63).await, [IngestOutcome::Changed]);
    assert_eq!(
        fixture.keep(&[said("C1", "nobody", 62, "x")], 63).await,
        [IngestOutcome::NotBackedUp]
    );
    fixture.subscribe("C1", "U1", 70).await;
    assert_eq!(fixture.used("U1").await, 50, "what is kept so far is the new baseline");
}

async fn the_last_subscription_ends_the_pause_with_it(fixture: Fixture) {
    prepared(&fixture).await;
    fill(&fixture, "C1", 0).await;
    fixture.group("C2", &["U2"]).await;
    for channel in ["C1", "C2"] {
        fixture.subscribe(channel, "U2", 20).await;
    }
    fixture.preload("C2", "U2", Plan::Free.quota()).await;
    let lost = [said("C1", "lost", 40, "x")];
    assert_eq!(fixture.keep(&lost, 50).await, [IngestOutcome::Skipped]);
    let cancel = async |user: &str, now| {
        let accounts = fixture.store.accounts();
        assert!(accounts.unsubscribe(&"C1".into(), &user.into(), at(now)).await.unwrap());
    };
    cancel("U2", 55).await;
    assert_eq!(quota_gaps(&fixture).await, [(40, None, 1)], "the other one is full as well");
    cancel("U1", 60).await;
    let all = fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    let told: Vec<_> = all.iter().map(|gap| (gap.reason.name(), gap.from, gap.to)).collect();
    let expected = [("quota", at(40), Some(at(60))), ("unsubscribed", at(60), None)];
    assert_eq!(told, expected);
    assert_eq!(pauses(&fixture).await, ["1", "1"]);
    // What was skipped stays in its gap, whenever it comes again.
    assert_eq!(fixture.keep(&lost, 61).await, [IngestOutcome::Known]);
    fixture.subscribe("C1", "U1", 70).await;
    assert_eq!(quota_gaps(&fixture).await, [(40, Some(60), 1)]);
    assert_eq!(pauses(&fixture).await, ["1", "1"]);
}

async fn unsending_frees_space_for_whom_it_counted(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[sized("C1", "old", 10, 100)], 20).await;
    fixture.subscribe("C1", "U2", 30).await;
    fixture.keep(&[sized("C1", "new", 31, 60)], 40).await;
    fixture.keep(&[unsent("C1", "old", 50)], 51).await;
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (60, 60));
    fixture.keep(&[unsent("C1", "new", 52)], 53).await;
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (0, 0));
    assert_eq!(fixture.counters("C1").await, (0, 0));
}

async fn what_is_skipped_while_room_is_made_belongs_to_the_open_gap(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[sized("C1", "large", 10, 100)], 20).await;
    fill(&fixture, "C1", 100).await;
    assert_eq!(fixture.keep(&[said("C1", "a", 40, "x")], 50).await, [IngestOutcome::Skipped]);
    let batch = [said("C1", "b", 55, "x"), unsent("C1", "large", 56)];
    assert_eq!(fixture.keep(&batch, 60).await, [IngestOutcome::Skipped, IngestOutcome::Changed]);
    assert_eq!(quota_gaps(&fixture).await, [(40, Some(60), 2)]);
    assert_eq!(pauses(&fixture).await, ["1", "1"]);
}

async fn room_that_is_made_and_used_up_in_one_batch_leaves_one_gap(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[sized("C1", "large", 10, 100)], 20).await;
    fill(&fixture, "C1", 100).await;
    fixture.keep(&[said("C1", "a", 40, "x")], 50).await;
    let batch = [unsent("C1", "large", 55), sized("C1", "b", 56, 200), said("C1", "c", 57, "x")];
    assert_eq!(
        fixture.keep(&batch, 60).await,
        [IngestOutcome::Changed, IngestOutcome::Changed, IngestOutcome::Skipped]
    );
    assert_eq!(quota_gaps(&fixture).await, [(40, None, 2)]);
    assert_eq!(pauses(&fixture).await, ["1", "0"]);
}

async fn gaps_never_overlap(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[sized("C1", "large", 10, 100)], 20).await;
    fill(&fixture, "C1", 0).await;
    let plan = async |plan, now| {
        fixture.store.accounts().set_plan(&"U1".into(), plan, at(now)).await.unwrap();
    };
    let skip = async |id: &str, sent, now| {
        let skipped = fixture.keep(&[said("C1", id, sent, "x")], now).await;
        assert_eq!(skipped, [IngestOutcome::Skipped]);
    };
    skip("a", 40, 50).await;
    plan(Plan::Standard, 60).await;
    plan(Plan::Free, 70).await;
    // Sent before the gap ended, and taken from the backlog after that.
    skip("b", 55, 80).await;
    assert_eq!(quota_gaps(&fixture).await, [(40, None, 2)]);
    plan(Plan::Standard, 90).await;
    plan(Plan::Free, 95).await;
    skip("c", 100, 101).await;
    assert_eq!(quota_gaps(&fixture).await, [(40, Some(90), 2), (100, None, 1)]);
    // A late one is covered, too.
    skip("d", 98, 102).await;
    assert_eq!(quota_gaps(&fixture).await, [(40, Some(90), 2), (98, None, 2)]);
    skip("e", 30, 103).await;
    assert_eq!(quota_gaps(&fixture).await, [(30, None, 5)]);
    plan(Plan::Standard, 110).await;
    assert_eq!(quota_gaps(&fixture).await, [(30, Some(110), 5)]);
    // Another subscriber with room ends it, and who cancels leaves the channel paused again.
    plan(Plan::Free, 120).await;
    skip("f", 115, 121).await;
    fixture.subscribe("C1", "U2", 130).await;
    assert_eq!(quota_gaps(&fixture).await, [(30, Some(110), 5), (115, Some(130), 1)]);
    fixture.store.accounts().unsubscribe(&"C1".into(), &"U2".into(), at(140)).await.unwrap();
    skip("g", 125, 141).await;
    assert_eq!(quota_gaps(&fixture).await, [(30, Some(110), 5), (115, None, 2)]);
    // Retention and deletion make room without touching what is recorded.
    assert!(delete_before(&fixture.store, &"C1".into(), at(35), at(150)).await.last);
    plan(Plan::Standard, 160).await;
    assert_eq!(quota_gaps(&fixture).await, [(30, Some(110), 5), (115, Some(160), 2)]);
    assert_eq!(pauses(&fixture).await, ["5", "5"]);
}
