//! Ingest of messages: idempotent, commutative, counted exactly.

use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_store::{IngestOutcome, MessageFilter, Order};

use super::{Fixture, at, change, edited, on_both, said, sized, unsent};

on_both!(
    keeps_and_counts_once,
    nobody_subscribed_means_nothing_kept,
    what_was_taken_back_before_a_subscription_does_not_come_after_it,
    what_is_kept_is_edited_and_taken_back_without_subscribers_too,
    any_order_gives_the_same_rows_and_counters,
    pages_stay_right_while_rows_arrive,
    filters_by_time_person_and_type,
    media_records_come_and_go,
    many_batches_at_once_lose_no_count,
    odd_texts_survive,
);

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

async fn keeps_and_counts_once(fixture: Fixture) {
    prepared(&fixture).await;
    let batch = [sized("C1", "a", 10, 100), sized("C1", "b", 11, 200)];
    assert_eq!(fixture.keep(&batch, 20).await, [IngestOutcome::Changed, IngestOutcome::Changed]);
    assert_eq!(fixture.keep(&batch, 21).await, [IngestOutcome::Known, IngestOutcome::Known]);
    let twice = [sized("C1", "c", 12, 50), sized("C1", "c", 12, 50)];
    assert_eq!(fixture.keep(&twice, 22).await, [IngestOutcome::Changed, IngestOutcome::Known]);
    assert_eq!(fixture.counters("C1").await, (350, 3));
    assert_eq!(fixture.used("U1").await, 350);
}

async fn nobody_subscribed_means_nothing_kept(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let batch =
        [said("C1", "a", 10, "hi"), edited("C1", "b", 11, "hm"), said("C9", "z", 1, "no channel")];
    assert_eq!(fixture.keep(&batch, 20).await, [IngestOutcome::NotBackedUp; 3]);
    assert_eq!(fixture.counters("C1").await, (0, 0));
    assert!(fixture.store.messages().message(&"C1".into(), &"a".into()).await.unwrap().is_none());
}

async fn what_was_taken_back_before_a_subscription_does_not_come_after_it(fixture: Fixture) {
    prepared(&fixture).await;
    let store = &fixture.store;
    assert!(store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(15)).await.unwrap());
    let (first, again) = (said("C1", "first", 20, "secret"), said("C1", "again", 21, "secret"));
    let again_kept = fixture.keep(std::slice::from_ref(&again), 22).await;
    assert_eq!(again_kept, [IngestOutcome::NotBackedUp]);
    // One comes before its message.
    let retractions = [unsent("C1", "first", 23), unsent("C1", "again", 24)];
    assert_eq!(fixture.keep(&retractions, 25).await, [IngestOutcome::Changed; 2]);
    assert_eq!(fixture.keep(&retractions, 26).await, [IngestOutcome::Known; 2]);
    fixture.subscribe("C1", "U1", 30).await;
    fixture.keep(&[first, again], 40).await;
    for id in ["first", "again"] {
        let message = store.messages().message(&"C1".into(), &id.into()).await.unwrap();
        assert!(message.is_none_or(|message| message.content.is_none()), "{id}");
    }
    assert_eq!(fixture.value("SELECT COUNT(*) FROM messages WHERE content IS NOT NULL").await, "0");
    assert_eq!((fixture.counters("C1").await, fixture.used("U1").await), ((0, 0), 0));
}

async fn what_is_kept_is_edited_and_taken_back_without_subscribers_too(fixture: Fixture) {
    prepared(&fixture).await;
    let store = &fixture.store;
    let early = edited("C1", "d", 13, "before its message");
    fixture.keep(&[said("C1", "a", 10, "secret"), sized("C1", "b", 11, 70), early], 20).await;
    assert!(store.accounts().unsubscribe(&"C1".into(), &"U1".into(), at(30)).await.unwrap());
    let changes = [
        (unsent("C1", "a", 40), IngestOutcome::Changed),
        (edited("C1", "b", 42, "replaced"), IngestOutcome::Changed),
        (edited("C1", "b", 41, "between"), IngestOutcome::Known),
        (sized("C1", "b", 11, 70), IngestOutcome::Known),
        // Nothing new is stored.
        (said("C1", "c", 43, "new"), IngestOutcome::NotBackedUp),
        (edited("C1", "c", 44, "newer"), IngestOutcome::NotBackedUp),
        (said("C1", "d", 12, "after its edit"), IngestOutcome::NotBackedUp),
    ];
    let (changes, expected): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
    assert_eq!(fixture.keep(&changes, 50).await, expected);
    let message =
        async |id: &str| store.messages().message(&"C1".into(), &id.into()).await.unwrap().unwrap();
    let taken_back = message("a").await;
    assert!(taken_back.content.is_none() && taken_back.unsent_at == Some(at(40)));
    let replaced = message("b").await;
    let text = serde_json::to_string(&Content::text("replaced")).unwrap();
    let bytes = i64::try_from(text.len()).unwrap();
    assert_eq!((replaced.edited_at, replaced.bytes), (Some(at(42)), bytes));
    assert_eq!(fixture.counters("C1").await, (bytes, 1));
    assert_eq!(fixture.used("U1").await, 0);
    let rows = "SELECT COUNT(*) FROM messages WHERE sent_at IS NOT NULL";
    assert_eq!(fixture.value(rows).await, "2");
    let told = "SELECT COUNT(*) FROM outbox_events WHERE type = 'message.edited'";
    assert_eq!(fixture.value(told).await, "1");
    assert_eq!(fixture.value("SELECT COUNT(*) FROM gaps").await, "0", "no quota is in the way");
    let audit = store.audits().audit_channel(&"C1".into()).await.unwrap().unwrap();
    assert!(audit.differences.is_empty(), "{:?}", audit.differences);
}

async fn any_order_gives_the_same_rows_and_counters(fixture: Fixture) {
    prepared(&fixture).await;
    let changes = [
        |c: &str| said(c, "a", 10, "first"),
        |c: &str| edited(c, "a", 20, "second, longer"),
        |c: &str| edited(c, "a", 15, "between"),
        |c: &str| said(c, "b", 11, "gone soon"),
        |c: &str| unsent(c, "b", 30),
        |c: &str| edited(c, "b", 25, "too late"),
    ];
    let mut seen = Vec::new();
    for (round, rotate) in (0..changes.len()).enumerate() {
        let channel = format!("C2{round}");
        fixture.group(&channel, &["U2"]).await;
        fixture.subscribe(&channel, "U2", 5).await;
        let mut order: Vec<_> = changes.iter().map(|make| make(&channel)).collect();
        order.rotate_left(rotate);
        if round % 2 == 1 {
            order.reverse();
        }
        for one in &order {
            fixture.keep(std::slice::from_ref(one), 40).await;
            fixture.keep(&order[..1], 41).await;
        }
        let page = fixture.store.messages().list(&channel.as_str().into(), &all()).await.unwrap();
        let rows: Vec<_> = page
            .messages
            .iter()
            .map(|m| {
                (m.id.clone(), m.sent_at, m.edited_at, m.unsent_at, format!("{:?}", m.content))
            })
            .collect();
        seen.push((rows, fixture.counters(&channel).await));
    }
    let first = seen[0].clone();
    assert_eq!(first.1.1, 1, "the unsent one no longer counts");
    assert!(seen.iter().all(|other| *other == first), "{seen:#?}");
}

fn all() -> MessageFilter {
    MessageFilter { limit: 100, ..MessageFilter::default() }
}

async fn pages_stay_right_while_rows_arrive(fixture: Fixture) {
    prepared(&fixture).await;
    let batch: Vec<_> =
        (0..25).map(|n| said("C1", &format!("m{n:02}"), 100 + n / 2, "x")).collect();
    fixture.keep(&batch, 200).await;
    for order in [Order::Descending, Order::Ascending] {
        let mut filter = MessageFilter { limit: 7, order, ..MessageFilter::default() };
        let mut ids = Vec::new();
        loop {
            let page = fixture.store.messages().list(&"C1".into(), &filter).await.unwrap();
            ids.extend(page.messages.into_iter().map(|m| m.id.into_string()));
            // A newer row must neither repeat nor hide one of this walk going back in time.
            let late = said("C1", &format!("n{}{order:?}", ids.len()), 9, "late");
            if order == Order::Ascending {
                fixture.keep(&[late], 300).await;
            }
            match page.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        let mut expected: Vec<_> = (0..25).map(|n| format!("m{n:02}")).collect();
        if order == Order::Descending {
            expected.reverse();
        }
        assert_eq!(ids, expected);
    }
}

async fn filters_by_time_person_and_type(fixture: Fixture) {
    prepared(&fixture).await;
    let sticker = Received {
        at: at(12),
        sender: Some("U2".into()),
        kind: MessageType::Sticker,
        content: r#"{"type":"sticker","packageId":"1","stickerId":"2"}"#.to_owned(),
        quoted: Some("a".into()),
        is_bot: false,
    };
    let batch = [
        said("C1", "a", 10, "x"),
        said("C1", "b", 11, "y"),
        change("C1", "s", MessageChange::Received(sticker)),
    ];
    fixture.keep(&batch, 20).await;
    let ids = async |filter: MessageFilter| -> Vec<String> {
        let page = fixture.store.messages().list(&"C1".into(), &filter).await.unwrap();
        page.messages.into_iter().map(|m| m.id.into_string()).collect()
    };
    assert_eq!(ids(MessageFilter { from: Some(at(11)), ..all() }).await, ["s", "b"]);
    assert_eq!(ids(MessageFilter { to: Some(at(11)), ..all() }).await, ["a"]);
    assert_eq!(ids(MessageFilter { sender: Some("U2".into()), ..all() }).await, ["s"]);
    assert_eq!(ids(MessageFilter { kind: Some(MessageType::Text), ..all() }).await, ["b", "a"]);
    let one = fixture.store.messages().message(&"C1".into(), &"s".into()).await.unwrap().unwrap();
    assert_eq!((one.quoted, one.kind), (Some("a".into()), MessageType::Sticker));
}

async fn media_records_come_and_go(fixture: Fixture) {
    prepared(&fixture).await;
    let image = |id| {
        let received = Received {
            at: at(10),
            sender: None,
            kind: MessageType::Image,
            content: r#"{"type":"image"}"#.to_owned(),
            quoted: None,
            is_bot: false,
        };
        change("C1", id, MessageChange::Received(received))
    };
    let status = async |id: &str| {
        let message =
            fixture.store.messages().message(&"C1".into(), &id.into()).await.unwrap().unwrap();
        message.media_status().map(|status| status.name().to_owned())
    };
    fixture.keep(&[image("i"), unsent("C1", "j", 12), image("j")], 20).await;
    assert_eq!(status("i").await.as_deref(), Some("pending"));
    assert_eq!(status("j").await.as_deref(), Some("erased"));
    fixture.keep(&[unsent("C1", "i", 13)], 21).await;
    assert_eq!(status("i").await.as_deref(), Some("erased"));
    assert_eq!(fixture.counters("C1").await, (0, 0));
}

async fn many_batches_at_once_lose_no_count(fixture: Fixture) {
    for channel in ["C1", "C2", "C3"] {
        fixture.group(channel, &["U1", "U2"]).await;
        fixture.subscribe(channel, "U1", 5).await;
        fixture.subscribe(channel, "U2", 5).await;
    }
    // Every writer touches every channel in an order of its own, and half of it is repeated.
    let writers = (0..8_i64).map(|writer| {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            for round in 0..10_i64 {
                let mut batch: Vec<_> = ["C1", "C2", "C3"]
                    .into_iter()
                    .map(|c| sized(c, &format!("{}-{round}", writer / 2), round + 10, 40))
                    .collect();
                batch.rotate_left(usize::try_from(writer).unwrap() % 3);
                store.messages().ingest(&batch, at(100 + round)).await.unwrap();
            }
        })
    });
    for writer in futures_util::future::join_all(writers).await {
        writer.unwrap();
    }
    for channel in ["C1", "C2", "C3"] {
        assert_eq!(fixture.counters(channel).await, (40 * 40, 40));
    }
    assert_eq!(fixture.used("U1").await, 3 * 40 * 40);
    assert_eq!(fixture.used("U2").await, 3 * 40 * 40);
}

async fn odd_texts_survive(fixture: Fixture) {
    prepared(&fixture).await;
    let texts = ["\u{fffd}\u{1}\u{1f}", "\"\\'$1 %s; DROP TABLE", "👩‍👩‍👧‍👦 ไทย 繁體", "", "a\nb\tc"];
    let batch: Vec<_> =
        texts.iter().enumerate().map(|(n, text)| said("C1", &format!("{n}"), 10, text)).collect();
    fixture.keep(&batch, 20).await;
    for (n, text) in texts.iter().enumerate() {
        let id = format!("{n}");
        let kept = fixture
            .store
            .messages()
            .message(&"C1".into(), &id.as_str().into())
            .await
            .unwrap()
            .unwrap();
        assert!(matches!(kept.content, Some(Content::Text { text: kept, .. }) if kept == *text));
    }
}
