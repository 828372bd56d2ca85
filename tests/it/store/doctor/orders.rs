//! Messages, edits, unsends, files, deletions and erasures in any order, any of them repeated: the
//! same rows are stored, and the doctor finds no difference.

use std::collections::BTreeSet;

use chatkeep_core::plan::Plan;
use chatkeep_store::{MediaStatus, MessageFilter, StoredMessage};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use super::{DoctorFixture, picture};
use crate::store::{Fixture, at, delete_before, edited, erase_person, on_both, said, unsent};

on_both!(any_order_and_repetition_keeps_the_same_and_counts_it_right);

/// Number of histories, and of orders of each.
const HISTORIES: usize = 4;
const ORDERS: usize = 5;
/// Time before which messages are deleted, and those of one person erased, at some moment.
const DELETED: i64 = 130;
const ERASED: i64 = 170;

/// Operation on a channel.
#[derive(Clone, Debug)]
enum Happens {
    Said(i64),
    Picture(i64),
    Edited(i64, i64),
    Unsent(i64),
    /// The media stage handles everything pending.
    Fetched,
    Deleted,
    Erased,
    Joined,
    Cancelled,
    Upgraded,
}

/// Returns a conversation of forty messages from time 100 on, some of them edited or unsent.
fn history(round: i64) -> Vec<Happens> {
    let mut history = vec![Happens::Deleted, Happens::Erased, Happens::Fetched, Happens::Fetched];
    history.extend([Happens::Joined, Happens::Cancelled, Happens::Upgraded]);
    for n in 0..40 {
        let sent = 100 + n * 3;
        let is_picture = (n + round) % 4 == 0;
        history.push(if is_picture { Happens::Picture(sent) } else { Happens::Said(sent) });
        if (n + round) % 7 == 0 {
            history.push(Happens::Unsent(sent));
        }
        if !is_picture && (n + round) % 5 == 0 {
            history.extend([Happens::Edited(sent, sent + 1), Happens::Edited(sent, sent + 2)]);
        }
    }
    history
}

async fn happen(ward: &DoctorFixture, channel: &str, what: &Happens, now: i64) {
    let (fixture, name) = (&ward.fixture, |sent: &i64| format!("m{sent}"));
    let (id, other) = (channel.into(), "U2".into());
    match what {
        Happens::Said(sent) => {
            fixture.keep(&[said(channel, &name(sent), *sent, "what was said")], now).await;
        }
        Happens::Picture(sent) => {
            fixture.keep(&[picture(channel, &name(sent), *sent)], now).await;
        }
        Happens::Edited(sent, time) => {
            let text = format!("edited at {time}");
            fixture.keep(&[edited(channel, &name(sent), *time, &text)], now).await;
        }
        Happens::Unsent(sent) => {
            fixture.keep(&[unsent(channel, &name(sent), sent + 2)], now).await;
        }
        Happens::Fetched => fetch(ward, channel, now).await,
        Happens::Deleted => {
            while !delete_before(&fixture.store, &id, at(DELETED), at(now)).await.last {}
        }
        Happens::Erased => {
            let store = &fixture.store;
            while !erase_person(store, &id, &other, at(ERASED), at(now)).await.last {}
        }
        Happens::Joined => fixture.subscribe(channel, "U2", now).await,
        Happens::Cancelled => {
            fixture.store.accounts().unsubscribe(&id, &other, at(now)).await.unwrap();
        }
        Happens::Upgraded => {
            fixture.store.accounts().set_plan(&other, Plan::Standard, at(now)).await.unwrap();
        }
    }
}

/// Stores files of the same few contents, so that messages share them.
async fn fetch(ward: &DoctorFixture, channel: &str, now: i64) {
    for item in ward.fixture.store.media().pending_media(at(now + 1), 1_000, 0).await.unwrap() {
        if item.channel.as_str() == channel {
            let content = format!("picture {}", item.sent_at.millis() % 3);
            ward.store_file(channel, item.message.as_str(), &content, Some("small"), now).await;
        }
    }
}

/// Describes a stored message, without the time of storing.
fn shown(message: &StoredMessage) -> String {
    let media = message.media.as_ref().map(|media| (media.status, media.bytes, &media.blob));
    let StoredMessage { id, sent_at, sender, content, bytes, edited_at, unsent_at, .. } = message;
    let earlier = message.earlier_texts.to_json();
    let sender = sender.as_ref().map(|sender| &sender.id);
    let unsent = unsent_at.is_some();
    format!(
        "{id} {sent_at:?} {sender:?} {content:?} {bytes} {edited_at:?} {unsent} {media:?} {earlier:?}"
    )
}

async fn any_order_and_repetition_keeps_the_same_and_counts_it_right(fixture: Fixture) {
    let (ward, mut runner) = (DoctorFixture::new(fixture), TestRunner::deterministic());
    for round in 0..HISTORIES {
        let history = history(i64::try_from(round).unwrap());
        let mut pictures = Vec::new();
        for order in 0..ORDERS {
            let channel = format!("C{round}x{order}");
            ward.fixture.group(&channel, &["U1", "U2"]).await;
            ward.fixture.subscribe(&channel, "U1", 5).await;
            if round % 2 == 1 {
                ward.fixture.keep_earlier_texts(&channel, true, 6).await;
            }
            // The first order is the original one, once.
            let twice: Vec<_> = history.iter().chain(&history).cloned().collect();
            let shuffled = proptest::strategy::Just(twice).prop_shuffle();
            let shuffled = shuffled.new_tree(&mut runner).unwrap().current();
            let events = if order == 0 { history.clone() } else { shuffled };
            for (now, event) in (1_000..).zip(&events) {
                happen(&ward, &channel, event, now).await;
            }
            fetch(&ward, &channel, 9_000).await;
            let filter = MessageFilter { limit: 100, ..MessageFilter::default() };
            let (id, messages) = (channel.as_str().into(), ward.fixture.store.messages());
            let mut page = messages.list(&id, &filter).await.unwrap();
            messages.add_earlier_texts(&id, &mut page.messages).await.unwrap();
            let earlier = page.messages.iter().filter(|one| !one.earlier_texts.is_empty()).count();
            assert_eq!(earlier > 1, round % 2 == 1, "{earlier}");
            assert!(page.next.is_none());
            let waiting = |message: &StoredMessage| {
                message.media.as_ref().is_some_and(|media| media.status == MediaStatus::Pending)
            };
            assert!(!page.messages.iter().any(waiting));
            // Of an erased person's message a tombstone stays where it was stored, and none where
            // it came later: nothing but the tombstone distinguishes the two.
            let erased =
                |message: &&StoredMessage| message.sender.is_none() && message.unsent_at.is_some();
            let kept = page.messages.iter().filter(|message| !erased(message));
            let messages: BTreeSet<_> = kept.map(shown).collect();
            pictures.push((messages, ward.fixture.counters(&channel).await));
        }
        let (first, counters) = &pictures[0];
        assert!(first.len() > 10, "{first:?}");
        for (order, (messages, counted)) in pictures.iter().enumerate() {
            let differ: Vec<_> = messages.symmetric_difference(first).collect();
            assert!(differ.is_empty(), "history {round}, order {order}: {differ:#?}");
            assert_eq!(counted, counters, "history {round}, order {order}");
        }
        ward.index_all().await;
        ward.is_well().await;
    }
}
