//! Tests of dead letters: storing, listing, retrying, dropping them.

use chatkeep_bus::{Bus, DeadLetter};

use crate::fixture::{
    Fixture, events, gather, ids, jobs, message, nothing, one, publish, until_backlog,
};

async fn only_letter(bus: &Bus) -> DeadLetter {
    let mut letters = bus.dead_letters(10).await.unwrap();
    assert_eq!(letters.len(), 1);
    letters.remove(0)
}

pub(crate) async fn keeps_what_was_buried(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2", "e3"]).await;
    let come = gather(&mut consumer, 3).await;
    let payload = come[0].payload.clone();
    for delivery in come {
        let reason = format!("poison:\nnot {}", delivery.id);
        delivery.dead_letter(&reason).await.unwrap();
    }
    nothing(&mut consumer).await;
    until_backlog(&bus, &events("backup"), 0).await;
    bus.close().await;

    let bus = fixture.attach().await;
    let letters = bus.dead_letters(2).await.unwrap();
    let listed: Vec<_> = letters.iter().map(|l| l.message_id.as_str()).collect();
    assert_eq!(listed, ["e1", "e2"], "oldest first, no more than asked for");
    assert_eq!(bus.dead_letters(100).await.unwrap().len(), 3);
    assert_eq!(bus.count_dead_letters().await.unwrap(), 3);
    let after = async |id: &str, limit| {
        let letters = bus.dead_letters_after(Some(id), limit).await.unwrap();
        letters.into_iter().map(|letter| letter.message_id).collect::<Vec<_>>()
    };
    assert_eq!(after(&letters[0].id, 1).await, ["e2"]);
    assert_eq!(after(&letters[0].id, 9).await, ["e2", "e3"]);
    assert!(bus.drop_dead_letter(&letters[1].id).await.unwrap());
    assert_eq!(bus.count_dead_letters().await.unwrap(), 2);
    assert_eq!(after(&letters[1].id, 9).await, ["e3"], "also of one that is gone");
    assert_eq!(after("nonsense", 9).await, ["e1", "e3"]);

    let letter = bus.dead_letter(&letters[0].id).await.unwrap().unwrap();
    assert_eq!(letter.consumer, "backup");
    assert_eq!(letter.subject, "event.line.7");
    assert!(letter.reason.starts_with("poison:") && letter.reason.ends_with("not e1"));
    assert_eq!(letter.attempts, 1);
    assert_eq!(letter.payload, payload);
    assert!(letter.died_at.millis() > 1_600_000_000_000);
    bus.close().await;
}

pub(crate) async fn retries_a_dead_letter_for_its_consumer_alone(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    publish(&bus, &["e1", "e2"]).await;
    for consumer in [&mut backup, &mut assistant] {
        let mut come = gather(consumer, 2).await;
        come.remove(1).ack().await.unwrap();
        come.remove(0).dead_letter("poison").await.unwrap();
    }
    let letters = bus.dead_letters(10).await.unwrap();
    assert_eq!(letters.len(), 2, "each consumer buries for itself");
    for consumer in ["backup", "assistant"] {
        let [letter] = &bus.dead_letters_of(consumer, 1).await.unwrap()[..] else {
            panic!("one of {consumer}")
        };
        assert_eq!(letter.consumer, consumer);
    }
    assert!(bus.dead_letters_of("back", 1).await.unwrap().is_empty());
    let of_backup = letters.iter().find(|letter| letter.consumer == "backup").unwrap();

    assert!(bus.retry_dead_letter(&of_backup.id).await.unwrap());
    let again = one(&mut backup).await;
    assert_eq!((again.id.as_str(), again.attempt), ("e1", 1));
    assert_eq!(again.payload, of_backup.payload);
    again.ack().await.unwrap();
    nothing(&mut assistant).await;
    nothing(&mut backup).await;
    until_backlog(&bus, &events("backup"), 0).await;
    until_backlog(&bus, &events("assistant"), 0).await;

    assert!(!bus.retry_dead_letter(&of_backup.id).await.unwrap(), "it is gone");
    assert_eq!(only_letter(&bus).await.consumer, "assistant");
    bus.close().await;
}

pub(crate) async fn retries_a_dead_job(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut media = bus.consume(&jobs("media")).await.unwrap();
    let mut index = bus.consume(&jobs("index")).await.unwrap();
    bus.publish(vec![message("job.media.1", "m1")]).await.unwrap();
    one(&mut media).await.dead_letter("poison").await.unwrap();
    let id = only_letter(&bus).await.id;
    bus.close().await;

    let bus = fixture.attach().await;
    assert!(bus.retry_dead_letter(&id).await.unwrap());
    bus.close().await;

    let bus = fixture.open().await;
    media = bus.consume(&jobs("media")).await.unwrap();
    index = bus.consume(&jobs("index")).await.unwrap_or(index);
    assert_eq!(one(&mut media).await.id, "m1");
    nothing(&mut index).await;
    assert!(bus.dead_letters(10).await.unwrap().is_empty());
    bus.close().await;
}

pub(crate) async fn drops_a_dead_letter(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1"]).await;
    one(&mut consumer).await.dead_letter("poison").await.unwrap();
    let id = only_letter(&bus).await.id;
    assert!(bus.drop_dead_letter(&id).await.unwrap());
    assert!(!bus.drop_dead_letter(&id).await.unwrap());
    for id in [id.as_str(), "0", "99", "-1", "none", ""] {
        assert!(bus.dead_letter(id).await.unwrap().is_none(), "{id}");
        assert!(!bus.retry_dead_letter(id).await.unwrap(), "{id}");
        assert!(!bus.drop_dead_letter(id).await.unwrap(), "{id}");
    }
    nothing(&mut consumer).await;
    bus.close().await;
}

pub(crate) async fn buries_again_what_fails_again(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    bus.ensure(&events("assistant")).await.unwrap();
    publish(&bus, &["e1"]).await;
    one(&mut backup).await.dead_letter("poison").await.unwrap();
    for _ in 0..3 {
        let letter = only_letter(&bus).await;
        assert_eq!(letter.message_id, "e1");
        assert!(bus.retry_dead_letter(&letter.id).await.unwrap());
        one(&mut backup).await.dead_letter("poison still").await.unwrap();
    }
    assert_eq!(only_letter(&bus).await.reason, "poison still");
    // The other consumer's own copy is untouched.
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    let come = gather(&mut assistant, 1).await;
    assert_eq!(ids(&come), ["e1"]);
    nothing(&mut assistant).await;
    bus.close().await;
}
