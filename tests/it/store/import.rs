//! Importing: counted as live messages are, and left alone by what came before.

use chatkeep_core::event::ChannelKind;
use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::store::{
    Imported, ImportedMedia, ImportedMessage, ImportedPerson, Kept, Subscribed,
};

use super::{Fixture, at, on_both, said, sized, unsent};

on_both!(
    counts_what_is_new_and_nothing_twice,
    nobody_subscribed_means_nothing_imported,
    an_imported_message_can_be_taken_back,
    opening_a_channel_makes_it_known_once,
    people_get_a_name_once,
);

/// An imported text of exactly `size` stored bytes.
fn message(id: &str, time: i64, size: usize) -> ImportedMessage {
    let empty = serde_json::to_string(&Content::text("")).unwrap().len();
    let content = serde_json::to_string(&Content::text("x".repeat(size - empty))).unwrap();
    ImportedMessage {
        id: id.into(),
        sent_at: at(time),
        kept_at: Some(at(time + 1)),
        sender: Some("U9".into()),
        kind: MessageType::Text,
        content: Some(content),
        quoted: None,
        is_bot: false,
        edited_at: None,
        unsent_at: None,
        media: None,
    }
}

const fn counts(stored: usize, known: usize, erased: usize) -> Imported {
    Imported { stored, known, erased, full: false }
}

async fn counts_what_is_new_and_nothing_twice(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[sized("C1", "live", 10, 100)], 20).await;
    let mut gone = message("gone", 12, 300);
    gone.unsent_at = Some(at(13));
    let mut image = message("image", 14, 50);
    image.kind = MessageType::Image;
    image.content = Some(r#"{"type":"image"}"#.to_owned());
    let reason = Some("not in the export".to_owned());
    image.media = Some(ImportedMedia { status: "expired".to_owned(), reason });
    let batch =
        [message("live", 10, 70), message("a", 11, 200), gone, image, message("a", 11, 200)];

    let channel = "C1".into();
    assert_eq!(
        fixture.store.import(&channel, &batch, at(30)).await.unwrap(),
        Some(counts(3, 2, 0))
    );
    assert_eq!(fixture.counters("C1").await, (100 + 200 + 16, 3));
    assert_eq!(fixture.used("U1").await, 316);
    assert_eq!(
        fixture.store.import(&channel, &batch, at(31)).await.unwrap(),
        Some(counts(0, 5, 0))
    );
    assert_eq!(fixture.store.try_import(&channel, &batch).await.unwrap(), counts(0, 5, 0));
    assert_eq!(fixture.counters("C1").await, (316, 3));

    let kept = fixture.store.message(&channel, &"a".into()).await.unwrap().unwrap();
    assert_eq!((kept.sent_at, kept.backed_up_at, kept.bytes), (at(11), at(12), 200));
    let gone = fixture.store.message(&channel, &"gone".into()).await.unwrap().unwrap();
    assert!(gone.content.is_none() && gone.unsent_at == Some(at(13)));
    let image = fixture.store.message(&channel, &"image".into()).await.unwrap().unwrap();
    assert_eq!(image.media_status(), Some("expired"));
    // Coming in again as it happens, it is known too.
    assert_eq!(fixture.keep(&[said("C1", "a", 11, "live")], 40).await, [Kept::Known]);
}

async fn nobody_subscribed_means_nothing_imported(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let batch = [message("a", 11, 200)];
    for channel in ["C1", "Cnone"] {
        assert_eq!(fixture.store.import(&channel.into(), &batch, at(30)).await.unwrap(), None);
        let tried = fixture.store.try_import(&channel.into(), &batch).await.unwrap();
        assert_eq!(tried, counts(1, 0, 0));
    }
    assert_eq!(fixture.counters("C1").await, (0, 0));
}

async fn an_imported_message_can_be_taken_back(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 50).await;
    // It was kept elsewhere long before anybody subscribed here, and still counts.
    let batch = [message("a", 11, 200), message("b", 12, 100)];
    fixture.store.import(&"C1".into(), &batch, at(60)).await.unwrap();
    assert_eq!(fixture.used("U1").await, 300);
    fixture.subscribe("C1", "U2", 70).await;
    assert_eq!(fixture.used("U2").await, 0);
    fixture.keep(&[unsent("C1", "a", 80)], 81).await;
    assert_eq!(fixture.counters("C1").await, (100, 1));
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (100, 0));
}

async fn opening_a_channel_makes_it_known_once(fixture: Fixture) {
    fixture.store.add_user(&"U1".into(), None, at(1)).await.unwrap();
    let channel = "R1".into();
    let open = async |now| {
        fixture
            .store
            .open_for_import(&channel, ChannelKind::Room, &"U1".into(), at(now))
            .await
            .unwrap()
    };
    assert_eq!(open(10).await, Subscribed::New);
    assert_eq!(open(20).await, Subscribed::Already);
    let known = fixture.store.channel(&channel).await.unwrap().unwrap();
    assert_eq!((known.kind, known.created_by.as_str()), (ChannelKind::Room, "U1"));
    assert_eq!(known.created_at, at(10));
    let member = fixture.store.member(&channel, &"U1".into()).await.unwrap().unwrap();
    assert_eq!(member.role, chatkeep_core::role::Role::Owner);
    assert_eq!(fixture.store.backup_state(&channel).await.unwrap(), (true, false));
}

async fn people_get_a_name_once(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let person = |id: &str, name: &str| ImportedPerson {
        id: id.into(),
        display_name: Some(name.to_owned()),
        picture_url: None,
    };
    let name = async |id: &str| {
        fixture.store.user(&id.into()).await.unwrap().unwrap().display_name.unwrap()
    };
    let people = [person("U2", "Bob"), person("U1", "Ann"), person("U2", "Bob")];
    fixture.store.add_people(&"C1".into(), &people, at(5)).await.unwrap();
    let again = [person("U2", "Robert"), person("U1", "Anna")];
    fixture.store.add_people(&"C1".into(), &again, at(6)).await.unwrap();
    assert_eq!((name("U1").await, name("U2").await), ("Ann".to_owned(), "Bob".to_owned()));
}
