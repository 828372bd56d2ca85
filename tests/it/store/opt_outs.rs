//! People who opted out: what is not stored of them, on both databases.

use chatkeep_core::id::UserId;
use chatkeep_core::message::MessageChange;
use chatkeep_store::{
    ChannelChange, Gap, IngestOutcome, OptOutChange, OwnMessages, PresenceEvidenceKind,
};

use super::{Fixture, at, edited, item, on_both, said, unsent};

on_both!(
    from_then_on_nothing_is_stored_and_each_is_counted_once,
    an_edit_before_its_message_goes_with_it,
    what_was_stored_stays_until_it_is_erased,
    nobody_is_told_of_their_moves,
    a_key_with_a_time_learns_no_count_from_before,
    opting_in_has_an_end,
    two_clicks_at_once_are_one_change,
    days_close_to_each_other_are_one_gap_of_the_coverage,
);

const DAY: i64 = 86_400_000;

impl Fixture {
    async fn opt(&self, channel: Option<&str>, out: bool, now: i64) -> OptOutChange {
        let (user, channel) = ("U1".into(), channel.map(Into::into));
        let now = || at(now);
        let done = self.store.members().set_opted_out(&user, channel.as_ref(), out, now).await;
        done.unwrap()
    }

    async fn opted_out(&self) -> Vec<Gap> {
        let mut gaps = self.store.messages().gaps(&"C1".into(), None, None).await.unwrap();
        gaps.retain(|gap| gap.reason.name() == "opted_out");
        gaps
    }
}

async fn prepared(fixture: &Fixture) {
    for channel in ["C1", "C2"] {
        fixture.group(channel, &["U1", "U2"]).await;
        fixture.subscribe(channel, "U2", 5).await;
    }
}

/// Returns the same change by somebody.
fn by(user: &str, mut change: ChannelChange) -> ChannelChange {
    match &mut change.change {
        MessageChange::Received(message) => message.sender = Some(user.into()),
        MessageChange::Edited { by, .. } => *by = Some(user.into()),
        MessageChange::Unsent { .. } => {}
    }
    change
}

async fn from_then_on_nothing_is_stored_and_each_is_counted_once(fixture: Fixture) {
    use IngestOutcome::{Changed, Known, OptedOut};
    prepared(&fixture).await;
    assert_eq!(fixture.opt(Some("C1"), true, DAY).await, OptOutChange::Done);
    assert_eq!(fixture.opt(Some("C1"), true, DAY + 1).await, OptOutChange::Done, "no change");
    let batch = [
        said("C1", "before", DAY - 1, "kept"),
        said("C1", "m1", DAY, "secret"),
        by("U2", said("C1", "other", DAY, "kept")),
        said("C2", "elsewhere", DAY, "kept"),
        by("U1", edited("C1", "before", DAY + 5, "secret")),
        said("C1", "m2", 2 * DAY + 7, "secret"),
        unsent("C1", "m1", DAY + 9),
    ];
    let expected = [Changed, OptedOut, Changed, Changed, OptedOut, OptedOut, Changed];
    assert_eq!(fixture.keep(&batch, DAY + 10).await, expected);
    let again = [Known, OptedOut, Known, Known, OptedOut, OptedOut, Known];
    assert_eq!(fixture.keep(&batch, DAY + 11).await, again);
    assert_eq!(fixture.counters("C1").await.1, 2);
    let told: Vec<_> =
        fixture.opted_out().await.into_iter().map(|gap| (gap.from, gap.to, gap.skipped)).collect();
    let day = |n: i64| (at(n * DAY), Some(at((n + 1) * DAY)), Some(1));
    assert_eq!(told, [day(1), day(2)]);
    let secrets = "SELECT COUNT(*) FROM messages WHERE content LIKE '%secret%'";
    assert_eq!(fixture.value(secrets).await, "0");
    fixture.opt(None, true, 3 * DAY).await;
    fixture.opt(Some("C1"), false, 4 * DAY).await;
    let batch = [
        said("C2", "m3", 3 * DAY, "secret"),
        said("C1", "m4", 4 * DAY, "kept"),
        said("C2", "m5", 4 * DAY, "secret"),
        // Late: it was sent in between.
        said("C1", "m6", 3 * DAY + 1, "secret"),
    ];
    assert_eq!(fixture.keep(&batch, 5 * DAY).await, [OptedOut, Changed, OptedOut, OptedOut]);
    let found = fixture.store.members().opt_outs([&UserId::from("U1")]).await.unwrap();
    assert!(found.from_all(&"U1".into()) && !found.refuse(&"C1".into(), &"U1".into(), at(6 * DAY)));
}

async fn an_edit_before_its_message_goes_with_it(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.opt(Some("C1"), true, 10).await;
    fixture.opt(Some("C1"), false, 20).await;
    let (edit, message) =
        (by("U1", edited("C1", "m1", 30, "secret")), said("C1", "m1", 15, "secret"));
    // In two batches, in one, and the other way round.
    fixture.keep(std::slice::from_ref(&edit), 31).await;
    fixture.keep(std::slice::from_ref(&message), 32).await;
    fixture
        .keep(&[by("U1", edited("C1", "m2", 30, "secret")), said("C1", "m2", 15, "secret")], 33)
        .await;
    fixture
        .keep(&[said("C1", "m3", 15, "secret"), by("U1", edited("C1", "m3", 30, "secret"))], 34)
        .await;
    fixture.keep(&[edit, message], 35).await;
    assert_eq!(fixture.value("SELECT COUNT(*) FROM messages").await, "0");
    assert_eq!(fixture.opted_out().await[0].skipped, Some(3));
}

async fn what_was_stored_stays_until_it_is_erased(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "m1", 10, "kept"), said("C2", "m1", 11, "kept")], 12).await;
    fixture.opt(None, true, 20).await;
    let user = UserId::from("U1");
    let channels = fixture.store.members().channels_knowing(&user, None, 10).await.unwrap();
    assert_eq!(channels, ["C1".into(), "C2".into()]);
    let counts = fixture.store.members().own_counts(&user, &channels).await.unwrap();
    assert_eq!(counts, [("C1".into(), 1), ("C2".into(), 1)].into());
    let one = fixture.store.members().own_messages(&user, &channels[0]).await.unwrap();
    assert_eq!((one.messages, one.files, one.sent), (1, 0, Some((at(10), at(10)))));
    assert_eq!(one.bytes, fixture.counters("C1").await.0);
    super::erase_person(&fixture.store, &channels[0], &user, at(30), at(31)).await;
    let counts = fixture.store.members().own_counts(&user, &channels).await.unwrap();
    assert_eq!(counts, [("C2".into(), 1)].into());
    let none = fixture.store.members().own_messages(&user, &channels[0]).await.unwrap();
    assert_eq!(none, OwnMessages::default());
}

async fn nobody_is_told_of_their_moves(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.opt(None, true, 20).await;
    let moves = [("U1", 10), ("U1", 30), ("U2", 30)]
        .map(|(user, time)| item("C1", time, PresenceEvidenceKind::Joined(user.into())));
    for one in moves {
        fixture.store.members().record_presence(&[one], at(40)).await.unwrap();
    }
    let told =
        |user: &str| format!("SELECT COUNT(*) FROM outbox_events WHERE subject_id = '{user}'");
    assert_eq!(fixture.value(&told("U1")).await, "1", "of the time before");
    assert_eq!(fixture.value(&told("U2")).await, "1");
}

async fn a_key_with_a_time_learns_no_count_from_before(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.opt(Some("C1"), true, DAY).await;
    fixture.keep(&[said("C1", "m1", DAY + 1, "secret")], DAY + 2).await;
    let coverage = async |start| {
        let coverage = fixture.store.messages().coverage(&"C1".into(), Some(at(start))).await;
        let gaps = coverage.unwrap().gaps.into_iter();
        let gaps = gaps.filter(|gap| gap.reason.name() == "opted_out");
        gaps.map(|gap| (gap.from, gap.skipped)).collect::<Vec<_>>()
    };
    assert_eq!(coverage(DAY).await, [(at(DAY), Some(1))]);
    assert_eq!(coverage(DAY + 9).await, [(at(DAY + 9), None)]);
    assert_eq!(coverage(2 * DAY).await, []);
}

async fn opting_in_has_an_end(fixture: Fixture) {
    prepared(&fixture).await;
    let rows: Vec<_> = (1..1_000).map(|n| format!("('U1', 'C1', {n}, {})", n % 2)).collect();
    let rows = rows.join(", ");
    fixture
        .run(&format!("INSERT INTO opt_outs (user_id, channel_id, at, opted_out) VALUES {rows}"))
        .await;
    assert_eq!(fixture.opt(Some("C1"), false, 2_000).await, OptOutChange::Done);
    assert_eq!(fixture.opt(Some("C1"), true, 2_001).await, OptOutChange::Done);
    assert_eq!(fixture.opt(Some("C1"), false, 2_002).await, OptOutChange::TooMany);
    assert_eq!(fixture.opt(Some("C1"), true, 2_003).await, OptOutChange::Done, "that they may");
}

async fn two_clicks_at_once_are_one_change(fixture: Fixture) {
    prepared(&fixture).await;
    for out in [true, false, true] {
        let clicks = (0..6).map(|_| fixture.opt(Some("C1"), out, 10));
        let done = futures_util::future::join_all(clicks).await;
        assert_eq!(done, vec![OptOutChange::Done; 6]);
    }
    assert_eq!(fixture.value("SELECT COUNT(*) FROM opt_outs").await, "3");
}

async fn days_close_to_each_other_are_one_gap_of_the_coverage(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.opt(Some("C1"), true, DAY).await;
    for day in [1, 2, 5, 20] {
        let id = format!("m{day}");
        fixture.keep(&[said("C1", &id, day * DAY + 1, "secret")], day * DAY + 2).await;
    }
    assert_eq!(fixture.opted_out().await.len(), 4, "by day");
    let coverage = fixture.store.messages().coverage(&"C1".into(), None).await.unwrap();
    let gaps = coverage.gaps.into_iter().filter(|gap| gap.reason.name() == "opted_out");
    let told: Vec<_> = gaps.map(|gap| (gap.from, gap.to, gap.skipped)).collect();
    let run =
        |first: i64, last: i64, count| (at(first * DAY), Some(at((last + 1) * DAY)), Some(count));
    assert_eq!(told, [run(1, 5, 3), run(20, 20, 1)]);
}
