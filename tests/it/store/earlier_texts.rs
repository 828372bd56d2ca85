//! Earlier texts of edited messages: kept where the channel says so, counted, and erased with whatever
//! erases the message.

use std::sync::Arc;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, EarlierText, EarlierTexts, MessageChange};
use chatkeep_core::time::SystemClock;
use chatkeep_services::earlier_texts::EarlierTextErasure;
use chatkeep_store::{
    ActivityFilter, ChangeKind, ChannelChange, Check, Erasure, ErasurePosition, ImportOutcome,
    ImportedMessage, IngestOutcome, NewImport,
};
use chatkeep_workers::periodic::PeriodicJob as _;
use tokio_util::sync::CancellationToken;

use super::import::message as imported;
use super::{Fixture, at, delete_before, edited, erase_person, on_both, said, unsent};

on_both!(
    any_order_keeps_the_same_and_counts_it,
    nothing_is_kept_unless_the_channel_says_so,
    an_unsend_leaves_nothing_and_keeps_late_ones_out,
    whatever_removes_a_message_removes_its_earlier_texts,
    switching_it_off_hides_at_once_and_erases_in_batches,
    an_older_database_forgets_them_once_they_are_switched_off,
    a_paused_or_unsubscribed_channel_keeps_none,
    stray_edits_count_for_nothing_and_go,
    stray_edits_go_with_their_author_and_their_time,
    imports_bring_what_may_be_kept,
    the_doctor_finds_what_an_earlier_build_left,
);

fn channel() -> ChannelId {
    "C1".into()
}

async fn group(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 2).await;
    fixture.keep_earlier_texts("C1", true, 3).await;
}

/// A message that was edited twice.
fn story(id: &str) -> [ChannelChange; 3] {
    let said = said("C1", id, 10, "first secret");
    [said, edited("C1", id, 11, "second secret"), edited("C1", id, 12, "third secret")]
}

/// Returns the earlier texts of a message as readers get them.
async fn earlier(fixture: &Fixture, id: &str) -> Vec<(i64, String)> {
    let messages = fixture.store.messages();
    let message = messages.message(&channel(), &id.into()).await.unwrap();
    let mut message = message.into_iter().collect::<Vec<_>>();
    messages.add_earlier_texts(&channel(), &mut message).await.unwrap();
    let texts = message.iter().flat_map(|message| message.earlier_texts.as_slice());
    let text = |text: &EarlierText| match text.parsed() {
        Some(Content::Text { text: words, .. }) => (text.at.millis(), words),
        other => panic!("{other:?}"),
    };
    texts.map(text).collect()
}

fn texts(all: &[(i64, &str)]) -> Vec<(i64, String)> {
    all.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
}

/// Checks that every counter is right, and that readers see that size.
async fn is_well(fixture: &Fixture) {
    let audit = fixture.store.audits().audit_channel(&channel()).await.unwrap().unwrap();
    assert!(audit.differences.is_empty(), "{:?}", audit.differences);
    fixture.used("U1").await;
}

/// Returns the number of messages that hold a text of before.
async fn holding(fixture: &Fixture) -> String {
    fixture.value("SELECT COUNT(*) FROM messages WHERE earlier_texts IS NOT NULL").await
}

async fn job(fixture: &Fixture, stop: &CancellationToken) {
    let (store, clock) = (fixture.store.clone(), Arc::new(SystemClock));
    EarlierTextErasure { store, clock }.run(stop).await.unwrap();
}

async fn any_order_keeps_the_same_and_counts_it(fixture: Fixture) {
    group(&fixture).await;
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let expected = texts(&[(10, "first secret"), (11, "second secret")]);
    let mut sizes = Vec::new();
    for (nth, order) in orders.iter().enumerate() {
        let (id, before) = (format!("m{nth}"), fixture.counters("C1").await.0);
        for one in order.iter().chain(order) {
            fixture.keep(&[story(&id)[*one].clone()], 20).await;
        }
        assert_eq!(earlier(&fixture, &id).await, expected, "{order:?}");
        let message = fixture.store.messages().message(&channel(), &id.as_str().into()).await;
        let message = message.unwrap().unwrap();
        sizes.push(fixture.counters("C1").await.0 - before);
        assert_eq!(message.bytes, sizes[nth], "readers see what it counts for");
        assert!(message.earlier_texts.is_empty(), "lists do not read them");
    }
    let whole = story("batch");
    fixture.keep(&whole, 21).await;
    assert_eq!(earlier(&fixture, "batch").await, expected);
    assert!(sizes[0] > 3 * 30 && sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    is_well(&fixture).await;

    let late = fixture.keep(&[edited("C1", "m0", 11, "zz")], 22).await;
    assert_eq!(late, [IngestOutcome::Changed], "of one millisecond the greatest stays");
    assert_eq!(earlier(&fixture, "m0").await, texts(&[(10, "first secret"), (11, "zz")]));
    is_well(&fixture).await;
}

async fn nothing_is_kept_unless_the_channel_says_so(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 2).await;
    fixture.keep(&story("m1"), 20).await;
    assert_eq!(holding(&fixture).await, "0");
    fixture.keep_earlier_texts("C1", true, 21).await;
    assert!(earlier(&fixture, "m1").await.is_empty(), "what was replaced before is gone");
    fixture.keep(&[edited("C1", "m1", 30, "fourth")], 31).await;
    assert_eq!(earlier(&fixture, "m1").await, texts(&[(12, "third secret")]));
    is_well(&fixture).await;

    let log = fixture.store.activity_log();
    let filter = ActivityFilter { kind: Some(ChangeKind::EarlierTexts), ..Default::default() };
    for _ in 0..2 {
        fixture.keep_earlier_texts("C1", true, 40).await;
    }
    let changes = log.changes(&channel(), &filter, None, 10).await.unwrap();
    let [change] = &changes[..] else { panic!("one change: {changes:?}") };
    assert_eq!((change.before.as_deref(), change.after.as_deref()), (Some("false"), Some("true")));
}

async fn an_unsend_leaves_nothing_and_keeps_late_ones_out(fixture: Fixture) {
    group(&fixture).await;
    let [first, second, third] = story("m1");
    fixture.keep(&[first.clone(), third.clone()], 20).await;
    fixture.keep(&[unsent("C1", "m1", 30)], 31).await;
    fixture.keep(&[second, first, third, edited("C1", "m1", 29, "late secret")], 32).await;
    assert_eq!(holding(&fixture).await, "0");
    assert_eq!(fixture.counters("C1").await, (0, 0));
    let words = "SELECT COUNT(*) FROM messages WHERE content LIKE '%secret%'";
    assert_eq!(fixture.value(words).await, "0");
    is_well(&fixture).await;
}

async fn whatever_removes_a_message_removes_its_earlier_texts(fixture: Fixture) {
    group(&fixture).await;
    let store = &fixture.store;
    let told = async |id: &str| {
        fixture.keep(&story(id), 20).await;
        assert_eq!(holding(&fixture).await, "1");
    };
    told("erased").await;
    let count = store.messages().count_before(&channel(), at(11)).await.unwrap();
    assert_eq!(count.1, fixture.counters("C1").await.0, "what a deletion would free");
    let own = store.members().own_messages(&"U1".into(), &channel()).await.unwrap();
    assert_eq!(own.bytes, count.1, "what is told to the person");
    let removed = erase_person(store, &channel(), &"U1".into(), at(40), at(41)).await;
    assert_eq!((removed.bytes, holding(&fixture).await), (count.1, "0".to_owned()));
    fixture.keep(&story("erased"), 42).await;
    assert_eq!(holding(&fixture).await, "0", "no late delivery brings them");

    let bob = story("deleted").map(|mut change| {
        if let MessageChange::Received(message) = &mut change.change {
            message.sender = Some("U2".into());
        }
        change
    });
    fixture.keep(&bob, 43).await;
    assert_eq!(holding(&fixture).await, "1");
    delete_before(store, &channel(), at(11), at(44)).await;
    assert_eq!((holding(&fixture).await, fixture.counters("C1").await), ("0".to_owned(), (0, 0)));

    let day = 86_400_000;
    let aged = [said("C1", "aged", 45, "one"), edited("C1", "aged", 46, "two")];
    let aged = aged.map(|mut change| {
        if let MessageChange::Received(message) = &mut change.change {
            message.sender = Some("U2".into());
        }
        change
    });
    fixture.keep(&aged, 47).await;
    assert_eq!(holding(&fixture).await, "1");
    store.channels().set_retention(&channel(), Some(1), &"U1".into(), at(48)).await.unwrap();
    store.channels().delete_outdated(&channel(), 10, at(3 * day)).await.unwrap();
    assert_eq!((holding(&fixture).await, fixture.counters("C1").await), ("0".to_owned(), (0, 0)));
    is_well(&fixture).await;
}

async fn switching_it_off_hides_at_once_and_erases_in_batches(fixture: Fixture) {
    group(&fixture).await;
    fixture.keep(&story("m1"), 20).await;
    fixture.keep(&story("m2"), 20).await;
    fixture.keep_earlier_texts("C1", false, 30).await;
    assert!(earlier(&fixture, "m1").await.is_empty(), "nothing shows them");
    assert_eq!(holding(&fixture).await, "2");
    is_well(&fixture).await;

    // Switched on again before all are erased: neither shown nor added to until that is done.
    fixture.keep_earlier_texts("C1", true, 31).await;
    fixture.keep(&[edited("C1", "m1", 32, "fourth")], 33).await;
    assert!(earlier(&fixture, "m1").await.is_empty());
    let one = [MessageId::from("m1")];
    let messages = fixture.store.messages();
    let erased = messages.erase_earlier_texts(&channel(), &one, at(34)).await.unwrap();
    assert_eq!(erased, 1);
    is_well(&fixture).await;
    // The process dies here; what follows is another one.
    let stopped = CancellationToken::new();
    stopped.cancel();
    job(&fixture, &stopped).await;
    assert_eq!(fixture.store.channels().with_texts_to_erase().await.unwrap().len(), 1);
    job(&fixture, &CancellationToken::new()).await;
    assert_eq!(holding(&fixture).await, "0");
    assert!(fixture.store.channels().with_texts_to_erase().await.unwrap().is_empty());
    is_well(&fixture).await;
    fixture.keep(&[edited("C1", "m1", 40, "fifth")], 41).await;
    assert_eq!(earlier(&fixture, "m1").await, texts(&[(32, "fourth")]));

    // A job that has seen an earlier switch does not end a later one.
    fixture.keep_earlier_texts("C1", false, 50).await;
    let channels = fixture.store.channels();
    channels.note_texts_erased(&channel(), at(30)).await.unwrap();
    assert_eq!(channels.with_texts_to_erase().await.unwrap(), [(channel(), at(50))]);
    let kept = [MessageId::from("m1")];
    let messages = fixture.store.messages();
    job(&fixture, &CancellationToken::new()).await;
    fixture.keep_earlier_texts("C1", true, 51).await;
    fixture.keep(&[edited("C1", "m1", 52, "sixth")], 53).await;
    let erased = messages.erase_earlier_texts(&channel(), &kept, at(54)).await.unwrap();
    assert_eq!((erased, earlier(&fixture, "m1").await.len()), (0, 1), "only what is to be erased");
    is_well(&fixture).await;
}

async fn an_older_database_forgets_them_once_they_are_switched_off(fixture: Fixture) {
    let older =
        if fixture.is_sqlite() { Fixture::sqlite().await } else { Fixture::postgres().await };
    for fixture in [&fixture, &older] {
        group(fixture).await;
        fixture.keep(&story("m1"), 20).await;
        fixture.keep(&story("m2"), 20).await;
    }
    fixture.keep(&[unsent("C1", "m2", 25)], 26).await;
    fixture.keep_earlier_texts("C1", false, 30).await;
    let (mut entries, mut position) = (Vec::new(), ErasurePosition::default());
    while let Some((page, next)) = fixture.store.messages().erasures(position, 1).await.unwrap() {
        entries.extend(page);
        position = next;
    }
    assert!(entries.contains(&Erasure::EarlierTexts { channel: "C1".to_owned(), at: 30 }));
    for _ in 0..2 {
        older.store.messages().replay(&entries, at(40)).await.unwrap();
    }
    assert_eq!(holding(&older).await, "1", "that of the unsent one goes with it");
    assert!(earlier(&older, "m1").await.is_empty());
    assert!(
        !older.store.channels().channel(&channel()).await.unwrap().unwrap().keeps_earlier_texts
    );
    job(&older, &CancellationToken::new()).await;
    assert_eq!(holding(&older).await, "0");
    is_well(&older).await;
    // Replayed where it is known, it changes nothing: it may be on again.
    older.keep_earlier_texts("C1", true, 41).await;
    older.store.messages().replay(&entries, at(42)).await.unwrap();
    assert!(older.store.channels().channel(&channel()).await.unwrap().unwrap().keeps_earlier_texts);
}

async fn a_paused_or_unsubscribed_channel_keeps_none(fixture: Fixture) {
    group(&fixture).await;
    let [first, second, third] = story("m1");
    fixture.keep(&[first], 20).await;
    fixture.preload("C1", "U1", 524_288_000).await;
    fixture.keep(&[third], 21).await;
    fixture.keep(&[second], 22).await;
    assert_eq!(holding(&fixture).await, "0");
    fixture.preload("C1", "U1", -524_288_000).await;
    fixture.store.accounts().unsubscribe(&channel(), &"U1".into(), at(30)).await.unwrap();
    fixture.keep(&[edited("C1", "m1", 31, "fourth")], 32).await;
    assert_eq!(holding(&fixture).await, "0");
    is_well(&fixture).await;
}

async fn stray_edits_count_for_nothing_and_go(fixture: Fixture) {
    group(&fixture).await;
    let [first, second, third] = story("m1");
    fixture.keep(&[second, third], 20).await;
    assert_eq!((holding(&fixture).await, fixture.counters("C1").await), ("1".to_owned(), (0, 0)));
    is_well(&fixture).await;
    assert_eq!(fixture.store.messages().purge_stray_edits(at(13)).await.unwrap(), 1);
    assert_eq!(holding(&fixture).await, "0");

    // The author had opted out when they sent it, and edits it after opting in again.
    let members = fixture.store.members();
    let opt = async |out, time| {
        members.set_opted_out(&"U1".into(), Some(&channel()), out, || at(time)).await.unwrap();
    };
    opt(true, 9).await;
    opt(false, 13).await;
    let edit = |time, text: &str| {
        let mut edit = edited("C1", "m2", time, text);
        if let MessageChange::Edited { by, .. } = &mut edit.change {
            *by = Some("U1".into());
        }
        edit
    };
    fixture.keep(&[edit(11, "not stored"), edit(14, "second"), edit(15, "third")], 20).await;
    assert_eq!(holding(&fixture).await, "1");
    let said = said("C1", "m2", 10, "not stored");
    assert_eq!(fixture.keep(&[said, first], 21).await[0], IngestOutcome::OptedOut);
    assert_eq!(holding(&fixture).await, "0");
    let words = "SELECT COUNT(*) FROM messages WHERE message_id = 'm2'";
    assert_eq!(fixture.value(words).await, "0");
}

async fn stray_edits_go_with_their_author_and_their_time(fixture: Fixture) {
    group(&fixture).await;
    let (store, channel) = (&fixture.store, channel());
    let edit = |id: &str, by: &str, time| {
        let mut edit = edited("C1", id, time, &format!("secret of {by}"));
        if let MessageChange::Edited { by: author, .. } = &mut edit.change {
            *author = Some(by.into());
        }
        edit
    };
    let words = async |by: &str| {
        let held =
            "SELECT COUNT(*) FROM messages WHERE content || COALESCE(earlier_texts, '') LIKE";
        fixture.value(&format!("{held} '%secret of {by}%'")).await
    };
    let edits =
        [edit("m1", "U1", 11), edit("m1", "U1", 12), edit("m2", "U2", 11), edit("m2", "U2", 12)];
    fixture.keep(&edits, 20).await;
    assert_eq!((words("U1").await, words("U2").await), ("1".to_owned(), "1".to_owned()));
    erase_person(store, &channel, &"U1".into(), at(40), at(41)).await;
    assert_eq!((words("U1").await, words("U2").await), ("0".to_owned(), "1".to_owned()));
    // That of somebody else still finds its message.
    let mut message = said("C1", "m2", 10, "first");
    if let MessageChange::Received(message) = &mut message.change {
        message.sender = Some("U2".into());
    }
    fixture.keep(&[said("C1", "m1", 10, "secret of U1"), message], 42).await;
    assert_eq!((words("U1").await, earlier(&fixture, "m2").await.len()), ("0".to_owned(), 2));

    fixture.keep(&[edit("m3", "U2", 50)], 51).await;
    delete_before(store, &channel, at(60), at(61)).await;
    assert_eq!(words("U2").await, "0");

    let day = 86_400_000;
    fixture.keep(&[edit("m4", "U2", 70), edit("m5", "U2", 3 * day)], 71).await;
    store.channels().set_retention(&channel, Some(1), &"U1".into(), at(72)).await.unwrap();
    let now = at(3 * day);
    assert_eq!(store.channels().outdated_channels(now).await.unwrap(), ["C1".into()]);
    assert!(store.channels().delete_outdated(&channel, 10, now).await.unwrap().last);
    assert_eq!(store.channels().outdated_channels(now).await.unwrap(), []);
    assert_eq!(words("U2").await, "1", "the younger one stays");
    is_well(&fixture).await;
}

async fn imports_bring_what_may_be_kept(fixture: Fixture) {
    group(&fixture).await;
    let text = |time: i64, words: &str| EarlierText {
        at: at(time),
        content: serde_json::to_string(&Content::text(words)).unwrap(),
    };
    let edited = |id: &str, texts: Vec<EarlierText>| ImportedMessage {
        edited_at: Some(at(99)),
        earlier_texts: texts.into_iter().collect(),
        ..imported(id, 70, 60)
    };
    let import = async |messages: &[ImportedMessage], now| {
        let (imports, channel) = (fixture.store.imports(), channel());
        let new = NewImport {
            channel: &channel,
            form: "jsonl",
            file_name: "messages.jsonl",
            time_zone: None,
        };
        let id = imports.begin_import(&new, at(now)).await.unwrap();
        let done = imports.import(id, &channel, messages, at(now)).await.unwrap();
        let ImportOutcome::Done(done) = done else { panic!("{done:?}") };
        (id, done)
    };
    fixture.keep(&[said("C1", "gone", 70, "words"), unsent("C1", "gone", 71)], 72).await;
    let sender: chatkeep_core::id::UserId = imported("any", 1, 60).sender.unwrap();
    let members = fixture.store.members();
    for (out, time) in [(true, 80), (false, 85)] {
        members.set_opted_out(&sender, Some(&channel()), out, || at(time)).await.unwrap();
    }
    let all = [
        edited("kept", vec![text(70, "one"), text(82, "not to be stored"), text(90, "two")]),
        edited("gone", vec![text(70, "words")]),
        ImportedMessage {
            unsent_at: Some(at(99)),
            content: None,
            ..edited("unsent", vec![text(70, "words")])
        },
    ];
    let (id, done) = import(&all, 100).await;
    assert_eq!((done.stored, done.known + done.erased), (2, 1));
    assert_eq!(earlier(&fixture, "kept").await, texts(&[(70, "one"), (90, "two")]));
    assert_eq!(holding(&fixture).await, "1");
    is_well(&fixture).await;
    let record = fixture.store.imports().import_record(id).await.unwrap().unwrap();
    assert!(fixture.store.imports().undo_import(&record, 10, at(101)).await.unwrap().last);
    assert_eq!(holding(&fixture).await, "0");
    is_well(&fixture).await;

    fixture.keep_earlier_texts("C1", false, 102).await;
    import(&[edited("off", vec![text(70, "one")])], 103).await;
    assert_eq!(holding(&fixture).await, "0");
    is_well(&fixture).await;
}

async fn the_doctor_finds_what_an_earlier_build_left(fixture: Fixture) {
    group(&fixture).await;
    fixture.keep(&story("m1"), 20).await;
    let json = fixture.value("SELECT earlier_texts FROM messages WHERE message_id = 'm1'").await;
    assert_eq!(EarlierTexts::parse(&json).unwrap().as_slice().len(), 2);
    fixture.keep(&[unsent("C1", "m1", 30)], 31).await;
    fixture.run(&format!("UPDATE messages SET earlier_texts = '{json}'")).await;
    assert!(earlier(&fixture, "m1").await.is_empty(), "not of an unsent message");
    let audits = fixture.store.audits();
    let audit = audits.audit_channel(&channel()).await.unwrap().unwrap();
    let found: Vec<_> = audit.differences.iter().map(|found| found.check).collect();
    assert_eq!(found, [Check::TakenBack]);
    audits.repair_channel(&channel(), at(40)).await.unwrap();
    assert_eq!(holding(&fixture).await, "0");
    is_well(&fixture).await;
}
