//! Deleting old messages and erasing a person's: counters move with the rows, and no message comes
//! back.

use chatkeep_core::id::MessageId;
use chatkeep_core::message::MessageChange;
use chatkeep_store::{BackupState, ChannelChange, IngestOutcome, MessageFilter, Order, Removed};

use super::outbox_events::{all, told};
use super::{Fixture, at, edited, on_both, picture_by, said, sized, unsent};

on_both!(
    what_is_counted_is_what_is_freed,
    what_was_unsent_before_is_not_counted,
    many_batches_lower_every_counter,
    usage_never_rises_or_falls_below_nothing,
    a_deleted_time_stays_deleted,
    deleted_tombstones_are_remembered,
    an_erased_person_leaves_tombstones_only,
    erasing_frees_space_and_resumes,
    erasing_many_takes_batches,
    an_erasure_is_told_of_each_message_once,
);

async fn delete(fixture: &Fixture, before: i64) -> Removed {
    super::delete_before(&fixture.store, &"C1".into(), at(before), at(900)).await
}

async fn erase(fixture: &Fixture, user: &str, before: i64) -> Removed {
    super::erase_person(&fixture.store, &"C1".into(), &user.into(), at(before), at(900)).await
}

async fn kept_ids(fixture: &Fixture) -> Vec<String> {
    let filter = MessageFilter { order: Order::Ascending, limit: 100, ..MessageFilter::default() };
    let page = fixture.store.messages().list(&"C1".into(), &filter).await.unwrap();
    page.messages.into_iter().map(|message| message.id.into_string()).collect()
}

/// Returns the same as [`said`], by another person.
fn said_by(user: &str, message: &str, time: i64, text: &str) -> ChannelChange {
    super::said_by(user, "C1", message, time, text)
}

fn image(message: &str, time: i64) -> ChannelChange {
    picture_by("U2", "C1", message, time)
}

/// Stores the bytes of a picture, as the media worker does.
async fn store_media(fixture: &Fixture, message: &str, user: &str, bytes: i64, now: i64) {
    fixture
        .run(&format!(
            "UPDATE media SET bytes = {bytes}, status = 'stored', stored_at = {now},
                              sha256 = 'hash-{message}', preview_sha256 = 'preview'
             WHERE message_id = '{message}'"
        ))
        .await;
    fixture.preload("C1", user, bytes).await;
}

/// Compares every counter with the rows.
async fn recount(fixture: &Fixture) {
    let value = async |sql: &str| fixture.value(sql).await.parse::<i64>().unwrap();
    let text = "COALESCE(SUM(OCTET_LENGTH(content)), 0)";
    let of_channel = format!("SELECT {text} FROM messages WHERE channel_id = 'C1'");
    let media = "SELECT COALESCE(SUM(bytes), 0) FROM media WHERE channel_id = 'C1'";
    let count = "SELECT COUNT(*) FROM messages WHERE channel_id = 'C1' AND sent_at IS NOT NULL
                 AND unsent_at IS NULL AND skipped IN (SELECT skipped FROM messages
                 WHERE backed_up_at IS NOT NULL)";
    let bytes = value(&of_channel).await + value(media).await;
    assert_eq!(fixture.counters("C1").await, (bytes, value(count).await), "the channel drifted");
    for user in ["U1", "U2", "U3"] {
        let since = format!(
            "SELECT created_at FROM subscriptions WHERE user_id = '{user}' AND channel_id = 'C1'"
        );
        let since = value(&since).await;
        let text = format!("{of_channel} AND backed_up_at > {since}");
        let media = format!("{media} AND stored_at > {since}");
        let mine = value(&text).await + value(&media).await;
        assert_eq!(fixture.used(user).await, mine, "{user} drifted");
    }
}

/// Sets up three subscribers who came at different times, with messages before and after each.
async fn three_subscribers(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2", "U3"]).await;
    for (round, user) in (1..).zip(["U1", "U2", "U3"]) {
        let now = round * 100;
        fixture.subscribe("C1", user, now).await;
        let batch: Vec<_> = (0..4)
            .zip([50, 51, 52, 53])
            .map(|(n, size)| sized("C1", &format!("m{round}{n}"), now + 10 * n, size))
            .collect();
        fixture.keep(&batch, now + 50).await;
    }
    fixture
        .keep(&[unsent("C1", "m11", 390), edited("C1", "m12", 391, "longer than it was")], 392)
        .await;
}

async fn what_was_unsent_before_is_not_counted(fixture: Fixture) {
    three_subscribers(&fixture).await;
    let (_, messages) = fixture.counters("C1").await;
    let (told, _) = fixture.store.messages().count_before(&"C1".into(), at(800)).await.unwrap();
    let removed = delete(&fixture, 800).await;
    assert_eq!((messages, told, removed.counted), (11, 11, 11));
    assert_eq!(removed.messages.len(), 12, "the tombstone goes, too");
}

async fn what_is_counted_is_what_is_freed(fixture: Fixture) {
    three_subscribers(&fixture).await;
    fixture.keep(&[image("i", 115)], 393).await;
    recount(&fixture).await;
    for before in [1, 111, 120, 210, 1_000] {
        let (count, bytes) =
            fixture.store.messages().count_before(&"C1".into(), at(before)).await.unwrap();
        let held = fixture.counters("C1").await.0;
        let removed = delete(&fixture, before).await;
        assert!(removed.last);
        assert_eq!((removed.counted, removed.bytes), (count, bytes), "before {before}");
        assert_eq!(fixture.counters("C1").await.0, held - bytes);
        recount(&fixture).await;
    }
    assert_eq!(fixture.counters("C1").await, (0, 0));
    assert_eq!(
        fixture.store.messages().count_before(&"C1".into(), at(1_000)).await.unwrap(),
        (0, 0)
    );
}

async fn many_batches_lower_every_counter(fixture: Fixture) {
    three_subscribers(&fixture).await;
    let many: Vec<_> =
        (0..4_100).map(|n| said("C1", &format!("n{n}"), 400 + n / 10, "x")).collect();
    fixture.keep(&many, 900).await;
    let (count, bytes) =
        fixture.store.messages().count_before(&"C1".into(), at(5_000)).await.unwrap();
    let mut total = (0, 0, 0);
    loop {
        let removed = delete(&fixture, 5_000).await;
        total.0 += 1;
        total.1 += removed.counted;
        total.2 += removed.bytes;
        recount(&fixture).await;
        if removed.last {
            break;
        }
        // The oldest go first, so that an aborted walk leaves no holes.
        let oldest = fixture.value("SELECT MIN(sent_at) FROM messages").await;
        let left = kept_ids(&fixture).await;
        assert!(!oldest.is_empty() && left[0].starts_with('n'), "{left:?}");
    }
    assert_eq!(total, (3, count, bytes), "4112 messages are three batches");
    assert_eq!(fixture.counters("C1").await, (0, 0));
}

async fn usage_never_rises_or_falls_below_nothing(fixture: Fixture) {
    three_subscribers(&fixture).await;
    fixture.keep(&[image("early", 150)], 393).await;
    // Stored after everybody subscribed, so it counts for all three.
    store_media(&fixture, "early", "U1", 1_000, 395).await;
    for user in ["U2", "U3"] {
        fixture
            .run(&format!(
                "UPDATE users SET used_bytes = used_bytes + 1000 WHERE user_id = '{user}'"
            ))
            .await;
    }
    recount(&fixture).await;
    let used = async || {
        let mut used = Vec::new();
        for user in ["U1", "U2", "U3"] {
            used.push(fixture.used(user).await);
        }
        used
    };
    let mut before = used().await;
    for time in [105, 125, 151, 215, 305, 325, 500] {
        delete(&fixture, time).await;
        let after = used().await;
        for (after, before) in after.iter().zip(&before) {
            assert!(0 <= *after && after <= before, "before {time}: {before} became {after}");
        }
        recount(&fixture).await;
        before = after;
    }
    assert_eq!(before, [0, 0, 0]);
    let baselines = "SELECT SUM(bytes_at_subscribe) FROM subscriptions";
    assert_eq!(fixture.value(baselines).await, "0");
    let orphans = fixture.value("SELECT COUNT(*) FROM blob_orphans").await;
    assert_eq!(orphans, "2", "the picture and its preview may go");
}

async fn a_deleted_time_stays_deleted(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let (old, edge) = (said("C1", "old", 99, "x"), said("C1", "edge", 100, "y"));
    fixture.keep(&[old.clone(), edge], 200).await;
    delete(&fixture, 100).await;
    let before = fixture.counters("C1").await;
    let again = [
        old,
        edited("C1", "old", 99, "an edit of that time"),
        said("C1", "never seen", 50, "late"),
        said("C1", "new", 101, "of later"),
    ];
    let kept = fixture.keep(&again, 300).await;
    assert_eq!(
        kept,
        [IngestOutcome::Known, IngestOutcome::Known, IngestOutcome::Known, IngestOutcome::Changed]
    );
    assert_eq!(kept_ids(&fixture).await, ["edge", "new"]);
    assert_eq!(fixture.counters("C1").await.1, before.1 + 1);
    // Deleting less than before frees nothing.
    delete(&fixture, 50).await;
    assert_eq!(fixture.keep(&again[2..3], 301).await, [IngestOutcome::Known]);
    // Another channel is unaffected.
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    assert_eq!(fixture.keep(&[said("C2", "old", 50, "x")], 302).await, [IngestOutcome::Changed]);
}

async fn deleted_tombstones_are_remembered(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let batch =
        [said("C1", "said", 10, "x"), said("C1", "regret", 11, "y"), unsent("C1", "regret", 12)];
    fixture.keep(&batch, 20).await;
    let removed = delete(&fixture, 100).await;
    assert_eq!((removed.messages.len(), removed.bytes), (2, 26), "a tombstone holds nothing");
    let remembered = "SELECT message_id FROM erased_messages WHERE channel_id = 'C1'";
    assert_eq!(fixture.value(remembered).await, "regret");
    assert_eq!(fixture.value("SELECT COUNT(*) FROM messages").await, "0");
}

async fn an_erased_person_leaves_tombstones_only(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let mut quoting = said_by("U2", "quoting", 12, "that one");
    if let MessageChange::Received(received) = &mut quoting.change {
        received.quoted = Some("other".into());
    }
    let batch = [
        said_by("U2", "theirs", 10, "secret"),
        said_by("U1", "other", 11, "stays"),
        quoting,
        image("picture", 13),
        said_by("U2", "later", 60, "after the erasure"),
    ];
    fixture.keep(&batch, 61).await;
    let removed = erase(&fixture, "U2", 50).await;
    assert!(removed.last);
    let mut erased: Vec<_> = removed.messages.iter().map(MessageId::as_str).collect();
    erased.sort_unstable();
    assert_eq!(erased, ["picture", "quoting", "theirs"]);
    assert_eq!(kept_ids(&fixture).await, ["theirs", "other", "quoting", "picture", "later"]);
    for id in erased {
        let left =
            fixture.store.messages().message(&"C1".into(), &id.into()).await.unwrap().unwrap();
        assert!(left.content.is_none() && left.sender.is_none() && left.quoted.is_none(), "{id}");
        assert_eq!((left.unsent_at, left.bytes), (Some(at(900)), 0));
    }
    let other =
        fixture.store.messages().message(&"C1".into(), &"other".into()).await.unwrap().unwrap();
    assert!(other.content.is_some() && other.sender.is_some());
    assert_eq!(fixture.counters("C1").await.1, 2);
    assert_eq!(fixture.value("SELECT COUNT(*) FROM media").await, "0");
    let ledger = "SELECT COUNT(*) FROM erased_messages WHERE channel_id = 'C1'";
    assert_eq!(fixture.value(ledger).await, "3");
    let person = "SELECT erased_at FROM erased_people WHERE channel_id = 'C1' AND user_id = 'U2'";
    assert_eq!(fixture.value(person).await, "50");
    assert_nothing_comes_back(&fixture).await;
}

async fn assert_nothing_comes_back(fixture: &Fixture) {
    let counters = fixture.counters("C1").await;
    let again = [
        said_by("U2", "theirs", 10, "secret"),
        edited("C1", "theirs", 70, "secret again"),
        said_by("U2", "late", 20, "was on its way"),
        said_by("U1", "late too", 20, "by another person"),
        said_by("U2", "new", 70, "they go on talking"),
    ];
    let kept = fixture.keep(&again, 300).await;
    assert_eq!((kept[0], kept[2]), (IngestOutcome::Known, IngestOutcome::Known));
    assert_eq!((kept[3], kept[4]), (IngestOutcome::Changed, IngestOutcome::Changed));
    let theirs =
        fixture.store.messages().message(&"C1".into(), &"theirs".into()).await.unwrap().unwrap();
    assert!(theirs.content.is_none() && theirs.sender.is_none());
    assert!(
        fixture.store.messages().message(&"C1".into(), &"late".into()).await.unwrap().is_none()
    );
    assert_eq!(fixture.counters("C1").await.1, counters.1 + 2);
    let secret = "SELECT COUNT(*) FROM messages WHERE content LIKE '%secret%'";
    assert_eq!(fixture.value(secret).await, "0");
    // A smaller erasure afterwards does not narrow the deletion guard.
    erase(fixture, "U2", 15).await;
    assert_eq!(fixture.keep(&again[2..3], 301).await, [IngestOutcome::Known]);
}

async fn erasing_frees_space_and_resumes(fixture: Fixture) {
    use chatkeep_core::plan::Plan;
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[said_by("U2", "picture", 10, "x"), image("i", 11)], 20).await;
    let left = 60;
    store_media(&fixture, "i", "U1", Plan::Free.quota() - left, 25).await;
    assert_eq!(fixture.keep(&[sized("C1", "full", 26, 100)], 27).await, [IngestOutcome::Changed]);
    assert_eq!(fixture.keep(&[said("C1", "lost", 40, "x")], 41).await, [IngestOutcome::Skipped]);
    assert_eq!(
        fixture.store.accounts().backup_state(&"C1".into()).await.unwrap(),
        BackupState::Paused
    );
    let removed = erase(&fixture, "U2", 50).await;
    assert_eq!(removed.bytes, Plan::Free.quota() - left + 26 + 16);
    assert_eq!(fixture.used("U1").await, 100);
    assert_eq!(
        fixture.store.accounts().backup_state(&"C1".into()).await.unwrap(),
        BackupState::Running
    );
    let gaps = fixture.store.messages().gaps(&"C1".into(), Some(at(20)), None).await.unwrap();
    assert_eq!((gaps.len(), gaps[0].to), (1, Some(at(900))));
    assert_eq!(fixture.keep(&[said("C1", "kept", 901, "x")], 902).await, [IngestOutcome::Changed]);
}

async fn erasing_many_takes_batches(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let many: Vec<_> = (0..2_500).map(|n| said_by("U2", &format!("n{n}"), 10, "x")).collect();
    fixture.keep(&many, 20).await;
    let first = erase(&fixture, "U2", 50).await;
    assert_eq!((first.messages.len(), first.last), (2_000, false));
    let second = erase(&fixture, "U2", 50).await;
    assert_eq!((second.messages.len(), second.last), (500, true));
    assert_eq!(fixture.counters("C1").await, (0, 0));
    assert_eq!(fixture.used("U1").await, 0);
    assert_eq!(fixture.value("SELECT COUNT(*) FROM messages").await, "2500");
    assert!(erase(&fixture, "U2", 50).await.messages.is_empty());
}

/// Whoever has a copy of what was unsent before has its sender.
async fn an_erasure_is_told_of_each_message_once(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let batch =
        [said_by("U2", "a", 10, "x"), said_by("U2", "b", 11, "y"), said("C1", "c", 12, "z")];
    fixture.keep(&batch, 13).await;
    fixture.keep(&[unsent("C1", "b", 14)], 15).await;
    let before = all(&fixture, &["C1"]).await.len();
    assert_eq!(erase(&fixture, "U2", 100).await.counted, 1);
    assert!(erase(&fixture, "U2", 100).await.messages.is_empty());
    let all = all(&fixture, &["C1"]).await;
    let mut seen = told(&all[before..]);
    seen.sort_unstable();
    assert_eq!(seen, [("message.unsent", 900, "a"), ("message.unsent", 900, "b")]);
}
