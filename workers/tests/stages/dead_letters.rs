//! Dead letters hold words of people: those of what was taken back are dropped.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_emulator::{Action, Event};
use chatkeep_workers::StageName;
use chatkeep_workers::dead_letters::{DeadLetterCleaner, DeadLetterJob};
use chatkeep_workers::periodic::PeriodicJob as _;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, Group, LEASE};

/// Returns a bench where every message becomes a dead letter of the backup stage.
async fn bench() -> (Bench, Group) {
    let (bench, group) = Bench::with_group().await;
    bench
        .sql(
            "CREATE TRIGGER no_text BEFORE INSERT ON messages WHEN NEW.content IS NOT NULL
             BEGIN SELECT RAISE(ABORT, 'no text'); END",
        )
        .await;
    (bench, group)
}

impl Bench {
    fn cleaner(&self) -> DeadLetterCleaner {
        let clock = Arc::clone(&self.clock) as SharedClock;
        DeadLetterCleaner::new(self.store.clone(), self.bus.clone(), clock)
    }

    async fn bury(&self, events: &[Event]) {
        let before = self.dead_letters().await.len();
        self.publish(events).await;
        self.drain(self.backup()).await;
        assert_eq!(self.dead_letters().await.len(), before + events.len());
    }

    async fn take_back(&self, events: &[Event]) {
        self.publish(&self.unsend(events)).await;
        self.drain(self.backup()).await;
    }

    /// Returns the texts in the dead letters.
    async fn buried(&self) -> Vec<String> {
        let letters = self.dead_letters().await.into_iter();
        let text = |payload: &[u8]| {
            let envelope: serde_json::Value = serde_json::from_slice(payload).unwrap();
            envelope["raw"]["message"]["text"].as_str().unwrap().to_owned()
        };
        letters.map(|letter| text(&letter.payload)).collect()
    }
}

#[tokio::test]
async fn a_letter_goes_with_its_message_whichever_is_known_first() {
    let (bench, group) = bench().await;
    let say = |text: &str| bench.say(&group.id, &group.bob, text);
    let (stays, early, late) = (say("stays"), say("early"), say("late"));
    bench.bury(&[stays, early.clone()].concat()).await;
    let mut cleaner = bench.cleaner();
    assert_eq!(cleaner.clear().await, Ok(0));
    // Known already when it is taken back.
    bench.take_back(&early).await;
    assert_eq!(cleaner.clear().await, Ok(1));
    assert_eq!(bench.buried().await, ["stays"]);
    // Taken back before the letter is there.
    bench.take_back(&late).await;
    assert_eq!(cleaner.clear().await, Ok(0));
    bench.bury(&late).await;
    assert_eq!(cleaner.clear().await, Ok(1));
    assert_eq!(bench.buried().await, ["stays"]);
    assert!(
        bench.store.messages().retractions(10).await.unwrap().is_empty(),
        "every note is settled"
    );
}

#[tokio::test]
async fn a_process_that_starts_later_drops_what_was_taken_back_before() {
    let (mut bench, group) = bench().await;
    let said = bench.say(&group.id, &group.bob, "secret");
    bench.bury(&said).await;
    bench.take_back(&said).await;
    bench.restart().await;
    let job = {
        let clock = Arc::clone(&bench.clock) as SharedClock;
        DeadLetterJob::new(bench.store.clone(), bench.bus.clone(), clock)
    };
    assert!(job.run(&CancellationToken::new()).await.is_ok());
    assert!(bench.buried().await.is_empty());
    assert!(job.run(&CancellationToken::new()).await.is_ok(), "there is nothing more to do");
}

#[tokio::test]
async fn letters_beyond_the_retention_of_their_channel_go_with_the_next_reading() {
    let (bench, group) = bench().await;
    bench.bury(&bench.say(&group.id, &group.bob, "old")).await;
    let mut cleaner = bench.cleaner();
    bench
        .store
        .channels()
        .set_retention(&group.channel(), Some(1), &group.ann.as_str().into(), bench.clock.now())
        .await
        .unwrap();
    assert_eq!(cleaner.clear().await, Ok(0));
    bench.clock.advance(Duration::from_hours(25));
    bench.bury(&bench.say(&group.id, &group.bob, "new")).await;
    // All letters are read again every six hours.
    assert_eq!(cleaner.clear().await, Ok(1));
    assert_eq!(bench.buried().await, ["new"]);
}

#[tokio::test]
async fn a_letter_that_somebody_dropped_meanwhile_is_no_error() {
    let (bench, group) = bench().await;
    let said = bench.say(&group.id, &group.bob, "secret");
    bench.bury(&said).await;
    let mut cleaner = bench.cleaner();
    assert_eq!(cleaner.clear().await, Ok(0));
    let letters = bench.dead_letters().await;
    assert!(bench.bus.drop_dead_letter(&letters[0].id).await.unwrap());
    bench.take_back(&said).await;
    assert_eq!(cleaner.clear().await, Ok(0));
    assert!(bench.store.messages().retractions(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_note_is_settled_once_every_letter_was_read() {
    /// One more than is read at a time.
    const LETTERS: usize = 2_001;
    let (bench, group) = bench().await;
    let said: Vec<_> =
        (0..LETTERS).flat_map(|n| bench.say(&group.id, &group.bob, format!("{n}"))).collect();
    bench.publish(&said).await;
    let mut consumer = bench.bus.consume(&StageName::Backup.consumer(LEASE)).await.unwrap();
    while bench.backlog(StageName::Backup).await > 0 {
        let deliveries = consumer.fetch(LETTERS, Duration::ZERO).await.unwrap();
        for put_aside in
            join_all(deliveries.into_iter().map(|one| one.dead_letter("refused"))).await
        {
            put_aside.unwrap();
        }
    }
    drop(consumer);
    bench.take_back(&said[..1]).await;
    let mut cleaner = bench.cleaner();
    for (dropped, notes) in [(1, 1), (0, 0)] {
        assert_eq!(cleaner.clear().await, Ok(dropped));
        assert_eq!(bench.store.messages().retractions(10).await.unwrap().len(), notes);
    }
}

#[tokio::test]
async fn a_letter_of_a_second_bots_chat_goes_with_its_message() {
    let (bench, group) = bench().await;
    let (ann, bots) = (group.ann.as_str(), ["main", "other"]);
    let follow = bench.line.build(Action::Follow { user: ann.to_owned() }).unwrap();
    for bot in bots {
        bench.publish_for(bot, &follow).await;
        bench.gated(bench.members(), &bots).drain().await.unwrap();
    }
    let chat = ChannelId::from(ann).chat_with("other");
    bench.subscribe(chat.as_str(), ann).await;
    let backup = bench.gated(bench.backup(), &bots);
    let said = bench.say(ann, ann, "secret");
    bench.publish_for("other", &said).await;
    backup.drain().await.unwrap();
    assert_eq!(bench.buried().await, ["secret"]);
    let mut cleaner = bench.cleaner();
    assert_eq!(cleaner.clear().await, Ok(0));
    bench.publish_for("other", &bench.unsend(&said)).await;
    backup.drain().await.unwrap();
    assert_eq!(cleaner.clear().await, Ok(1));
    assert!(bench.buried().await.is_empty());
}
