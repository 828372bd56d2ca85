//! Import: counted like live messages, and without effect on earlier ones.

use std::collections::BTreeSet;

use chatkeep_core::blob::BlobId;
use chatkeep_core::event::{ChannelKind, PlatformKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::{Content, EarlierText, MessageType};
use chatkeep_core::plan::Plan;
use chatkeep_store::{
    BackupState, ImportId, ImportOutcome, ImportRecord, Imported, ImportedMedia, ImportedMessage,
    ImportedPerson, ImportedTimes, IngestOutcome, MediaOutcome, MediaReason, MediaStatus,
    NewImport, NewMedia, OutboxEvent, Subscribed,
};

use super::{
    Fixture, at, delete_before, edited, erase_person, imported_text, on_both, outbox_events, said,
    sized, unsent,
};

on_both!(
    counts_what_is_new_and_nothing_twice,
    nobody_subscribed_means_nothing_imported,
    an_imported_message_can_be_taken_back,
    opening_a_channel_makes_it_known_once,
    people_get_a_name_once,
    undoing_an_import_removes_what_it_added,
    an_import_that_was_undone_adds_nothing_more,
    files_of_an_import_go_with_it,
    senders_of_imports_have_names,
    people_are_named_by_when_they_wrote,
    a_deleted_time_stays_empty,
    what_no_quota_had_room_for_is_brought,
    an_edit_that_waits_for_its_message_is_applied_to_it,
    who_keeps_copies_is_told,
);

/// Import without a record.
const IMPORT: ImportId = ImportId::new(99);

/// Returns an imported text of exactly `size` stored bytes.
pub(super) fn message(id: &str, time: i64, size: usize) -> ImportedMessage {
    let empty = serde_json::to_string(&Content::text("")).unwrap().len();
    ImportedMessage {
        kept_at: Some(at(time + 1)),
        ..imported_text(id, time, "U9", &"x".repeat(size - empty))
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
    let reason = Some(MediaReason::NotInExport);
    image.media = Some(ImportedMedia { status: MediaStatus::Expired, reason });
    let batch =
        [message("live", 10, 70), message("a", 11, 200), gone, image, message("a", 11, 200)];

    let channel = "C1".into();
    assert_eq!(
        fixture.store.imports().import(IMPORT, &channel, &batch, at(30)).await.unwrap(),
        ImportOutcome::Done(counts(3, 2, 0))
    );
    assert_eq!(fixture.counters("C1").await, (100 + 200 + 16, 3));
    assert_eq!(fixture.used("U1").await, 316);
    assert_eq!(
        fixture.store.imports().import(IMPORT, &channel, &batch, at(31)).await.unwrap(),
        ImportOutcome::Done(counts(0, 5, 0))
    );
    assert_eq!(
        fixture.store.imports().try_import(&channel, &batch).await.unwrap(),
        counts(0, 5, 0)
    );
    let formerly = |id: &str| ImportedMessage {
        former_id: Some(id.into()),
        ..message(&format!("new {id}"), 10, 70)
    };
    let batch = [formerly("live"), formerly("gone")];
    assert_eq!(
        fixture.store.imports().import(IMPORT, &channel, &batch, at(32)).await.unwrap(),
        ImportOutcome::Done(counts(0, 2, 0)),
        "an earlier build stored them under other ids"
    );
    assert_eq!(fixture.counters("C1").await, (316, 3));

    let kept = fixture.store.messages().message(&channel, &"a".into()).await.unwrap().unwrap();
    assert_eq!((kept.sent_at, kept.backed_up_at, kept.bytes), (at(11), at(12), 200));
    let gone = fixture.store.messages().message(&channel, &"gone".into()).await.unwrap().unwrap();
    assert!(gone.content.is_none() && gone.unsent_at == Some(at(13)));
    let image = fixture.store.messages().message(&channel, &"image".into()).await.unwrap().unwrap();
    assert_eq!(image.media_status(), Some(MediaStatus::Expired));
    // Received live afterwards, it is known too.
    assert_eq!(fixture.keep(&[said("C1", "a", 11, "live")], 40).await, [IngestOutcome::Known]);
}

async fn nobody_subscribed_means_nothing_imported(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let batch = [message("a", 11, 200)];
    for channel in ["C1", "Cnone"] {
        assert_eq!(
            fixture.store.imports().import(IMPORT, &channel.into(), &batch, at(30)).await.unwrap(),
            ImportOutcome::NotSubscribed
        );
        let tried = fixture.store.imports().try_import(&channel.into(), &batch).await.unwrap();
        assert_eq!(tried, counts(1, 0, 0));
    }
    assert_eq!(fixture.counters("C1").await, (0, 0));
}

async fn people_are_named_by_when_they_wrote(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2", "U3"]).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[said("C1", "live", 50, "x")], 60).await;
    let import = begun(&fixture, None).await;
    let batch = [("a", 11, "import:early"), ("b", 40, "import:late"), ("c", 12, "U2")]
        .map(|(id, time, user)| imported_text(id, time, user, "x"));
    fixture.store.imports().import(import, &"C1".into(), &batch, at(70)).await.unwrap();
    let (members, both) = (fixture.store.members(), ["C1", "C2"].map(ChannelId::from));
    let ids = |people: Vec<(UserId, Option<String>)>| {
        let mut ids: Vec<_> = people.into_iter().map(|(user, _)| user.into_string()).collect();
        ids.sort_unstable();
        ids
    };
    let authors =
        async |since: Option<i64>| ids(members.authors_in(&both, since.map(at)).await.unwrap());
    assert_eq!(authors(None).await, ["U1", "U2", "import:early", "import:late"]);
    assert_eq!(authors(Some(12)).await, ["U1", "U2", "import:late"]);
    assert_eq!(authors(Some(13)).await, ["U1", "import:late"]);
    assert_eq!(authors(Some(51)).await, [""; 0]);
    let named = async |since: i64| ids(members.names_since(&both, at(since)).await.unwrap());
    assert_eq!(named(11).await, ["U1", "U2", "U3", "import:early", "import:late"]);
    assert_eq!(named(40).await, ["U1", "U2", "U3", "import:late"]);
    assert_eq!(named(41).await, ["U1", "U2", "U3"], "members, whatever they wrote");
    assert_eq!(ids(members.names_since(&["C2".into()], at(1)).await.unwrap()), ["U1"]);
    assert_eq!(ids(members.authors_in(&["C2".into()], None).await.unwrap()), [""; 0]);
}

async fn a_deleted_time_stays_empty(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[said("C1", "live", 10, "x")], 11).await;
    let (store, channel) = (&fixture.store, "C1".into());
    assert!(delete_before(store, &channel, at(20), at(30)).await.last);
    let mut minute = message("of that minute", 19, 70);
    minute.sent_until = Some(at(79));
    let batch = [message("live", 10, 70), message("older", 19, 70), minute, message("b", 20, 70)];
    let tried = store.imports().try_import(&channel, &batch).await.unwrap();
    assert_eq!(tried, counts(1, 0, 3));
    let imported = store.imports().import(IMPORT, &channel, &batch, at(40)).await.unwrap();
    assert_eq!(imported, ImportOutcome::Done(counts(1, 0, 3)));
    assert_eq!(fixture.counters("C1").await, (70, 1));
}

async fn what_no_quota_had_room_for_is_brought(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let (store, channel) = (&fixture.store, "C1".into());
    fixture.preload("C1", "U1", Plan::Free.quota()).await;
    let live = ["lost", "regretted"].map(|id| said("C1", id, 10, "x"));
    assert_eq!(fixture.keep(&live, 11).await, [IngestOutcome::Skipped; 2]);
    fixture.keep(&[unsent("C1", "regretted", 12)], 13).await;
    store.accounts().set_plan(&"U1".into(), Plan::Pro, at(20)).await.unwrap();
    let mut image = message("lost", 10, 70);
    image.kind = MessageType::Image;
    image.content = Some(r#"{"type":"image"}"#.to_owned());
    image.media = Some(ImportedMedia { status: MediaStatus::Expired, reason: None });
    let batch = [image, message("regretted", 10, 70)];
    let import = begun(&fixture, None).await;
    assert_eq!(store.imports().try_import(&channel, &batch).await.unwrap(), counts(1, 1, 0));
    for (now, expected) in [(30, counts(1, 1, 0)), (31, counts(0, 2, 0))] {
        let imported = store.imports().import(import, &channel, &batch, at(now)).await.unwrap();
        assert_eq!(imported, ImportOutcome::Done(expected));
    }
    let kept = store.messages().message(&channel, &"lost".into()).await.unwrap().unwrap();
    assert_eq!((kept.kind, kept.sent_at, kept.bytes), (MessageType::Image, at(10), 16));
    assert_eq!((kept.backed_up_at, kept.media_status()), (at(11), Some(MediaStatus::Expired)));
    assert_eq!(fixture.counters("C1").await, (Plan::Free.quota() + 16, 1));
    assert_eq!(fixture.keep(&live, 40).await, [IngestOutcome::Known; 2]);
    assert_eq!(undo(&fixture, import).await, (vec!["lost".to_owned()], 16));
    assert_eq!(fixture.counters("C1").await, (Plan::Free.quota(), 0));
}

async fn an_edit_that_waits_for_its_message_is_applied_to_it(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let (store, channel) = (&fixture.store, "C1".into());
    fixture.keep_earlier_texts("C1", true, 6).await;
    let edits = ["plain", "older", "later"].map(|id| edited("C1", id, 20, "new"));
    fixture.keep(&edits, 21).await;
    assert_eq!(fixture.counters("C1").await, (0, 0));
    let text = |id, edited_at: Option<i64>, text| ImportedMessage {
        edited_at: edited_at.map(at),
        ..imported_text(id, 10, "U9", text)
    };
    let batch = [
        text("plain", None, "zebra"),
        text("older", Some(15), "zebra"),
        text("later", Some(25), "last"),
    ];
    assert_eq!(store.imports().try_import(&channel, &batch).await.unwrap(), counts(3, 0, 0));
    for (now, expected) in [(30, counts(3, 0, 0)), (31, counts(0, 3, 0))] {
        let imported = store.imports().import(IMPORT, &channel, &batch, at(now)).await.unwrap();
        assert_eq!(imported, ImportOutcome::Done(expected));
    }
    let stored = |text: &str| serde_json::to_string(&Content::text(text)).unwrap();
    let mut bytes = 0;
    for (id, content, edited_at, earlier) in [
        ("plain", "new", 20, (10, "zebra")),
        ("older", "new", 20, (15, "zebra")),
        ("later", "last", 25, (20, "new")),
    ] {
        let key = (channel.clone(), id.into());
        let states = store.messages().message_states(&BTreeSet::from([key])).await.unwrap();
        let state = &states[0].2;
        assert_eq!((state.sent_at, state.edited_at), (Some(at(10)), Some(at(edited_at))), "{id}");
        assert_eq!(state.content, Some(stored(content)), "{id}");
        let texts: Vec<_> = state.earlier_texts.as_slice().iter().collect();
        assert_eq!(texts, [&EarlierText { at: at(earlier.0), content: stored(earlier.1) }], "{id}");
        bytes += state.bytes();
    }
    assert_eq!(fixture.counters("C1").await, (bytes, 3));
    // Received as well, it is what it was.
    assert_eq!(fixture.keep(&[said("C1", "plain", 10, "zebra")], 40).await, [IngestOutcome::Known]);
}

async fn begun(fixture: &Fixture, time_zone: Option<&str>) -> ImportId {
    let channel = ChannelId::from("C1");
    let new = NewImport { channel: &channel, form: "line", file_name: "chat.txt", time_zone };
    fixture.store.imports().begin_import(&new, at(20)).await.unwrap()
}

/// Undoes an import one message at a time.
async fn undo(fixture: &Fixture, import: ImportId) -> (Vec<String>, i64) {
    let record = fixture.store.imports().import_record(import).await.unwrap().unwrap();
    let (mut ids, mut bytes) = (Vec::new(), 0);
    loop {
        let removed = fixture.store.imports().undo_import(&record, 1, at(90)).await.unwrap();
        ids.extend(removed.messages.into_iter().map(|id| id.as_str().to_owned()));
        bytes += removed.bytes;
        let listed = fixture.store.imports().import_record(import).await.unwrap().unwrap();
        assert_eq!(listed.undone_at, Some(at(90)));
        let is_known_to_end = record.undo_ended_at.is_some() || removed.last;
        assert_eq!(listed.undo_ended_at, is_known_to_end.then(|| at(90)));
        if removed.last {
            return (ids, bytes);
        }
    }
}

async fn undoing_an_import_removes_what_it_added(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[sized("C1", "live", 10, 100)], 20).await;
    let (first, second) = (begun(&fixture, Some("UTC")).await, begun(&fixture, None).await);
    let nothing = begun(&fixture, None).await;
    assert_eq!(second.number(), first.number() + 1);
    let channel: ChannelId = "C1".into();
    let mut gone = message("gone", 12, 300);
    gone.unsent_at = Some(at(13));
    let mut erased = message("erased", 14, 70);
    erased.sender = Some("U8".into());
    let batch = [message("a", 11, 200), gone, erased, message("back", 15, 80)];
    let import = async |import, batch: &[ImportedMessage]| {
        fixture.store.imports().import(import, &channel, batch, at(30)).await.unwrap()
    };
    assert_eq!(import(first, &batch).await, ImportOutcome::Done(counts(4, 0, 0)));
    let more = [message("a", 11, 200), message("b", 16, 60)];
    assert_eq!(import(second, &more).await, ImportOutcome::Done(counts(1, 1, 0)));
    for (id, added) in [(first, true), (second, true), (nothing, false)] {
        assert_eq!(fixture.store.imports().end_import(id, at(31)).await.unwrap(), added);
    }
    let listed = fixture.store.imports().list(Some(&channel)).await.unwrap();
    let shown = |import: &ImportRecord| (import.id, import.messages, import.time_zone.clone());
    let expected = [(second, 1, None), (first, 4, Some("UTC".to_owned()))];
    assert_eq!(listed.iter().map(shown).collect::<Vec<_>>(), expected);
    assert!(fixture.store.imports().list(Some(&"C2".into())).await.unwrap().is_empty());

    // One was erased and one unsent since: their tombstones are no part of the import.
    fixture.keep(&[unsent("C1", "back", 40)], 41).await;
    erase_person(&fixture.store, &channel, &"U8".into(), at(50), at(51)).await;
    let (ids, bytes) = undo(&fixture, first).await;
    assert_eq!((ids, bytes), (vec!["a".to_owned(), "gone".to_owned()], 200));
    assert_eq!(fixture.used("U1").await, fixture.counters("C1").await.0);
    for (id, there) in [
        ("a", false),
        ("gone", false),
        ("erased", true),
        ("back", true),
        ("b", true),
        ("live", true),
    ] {
        let kept = fixture.store.messages().message(&channel, &id.into()).await.unwrap();
        assert_eq!(kept.is_some(), there, "{id}");
    }
    assert_eq!(undo(&fixture, first).await, (Vec::new(), 0));
    // It may be imported again, also a message that its sender had unsent; erased ones may not.
    let again = begun(&fixture, None).await;
    assert_eq!(import(again, &batch).await, ImportOutcome::Done(counts(2, 1, 1)));
}

async fn an_import_that_was_undone_adds_nothing_more(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let import = begun(&fixture, None).await;
    let store = &fixture.store;
    let take = async |id| {
        store.imports().import(import, &"C1".into(), &[message(id, 11, 100)], at(30)).await
    };
    let active = async || store.imports().import_record(import).await.unwrap().unwrap().active_at;
    assert_eq!(active().await, None);
    assert_eq!(take("a").await.unwrap(), ImportOutcome::Done(counts(1, 0, 0)));
    assert_eq!(active().await, Some(at(30)));
    // Also a part that has nothing new tells that it goes on.
    let known = [message("a", 11, 100)];
    let again = store.imports().import(import, &"C1".into(), &known, at(35)).await.unwrap();
    assert_eq!((again, active().await), (ImportOutcome::Done(counts(0, 1, 0)), Some(at(35))));
    undo(&fixture, import).await;
    assert_eq!(active().await, Some(at(90)));
    assert_eq!(take("b").await.unwrap(), ImportOutcome::Undone);
    let (media, file) = (store.media(), (&"C1".into(), &"a".into()));
    let brought = NewMedia {
        claim: media.claim_blob(BlobId::parse(&"a".repeat(64)).unwrap(), at(31)).await.unwrap(),
        bytes: 1_000,
        content_type: "image/png".to_owned(),
        preview: None,
    };
    let stored = media.store_imported_media(import, file, &brought, at(91)).await.unwrap();
    assert_eq!(stored, MediaOutcome::Undone);
    assert_eq!(fixture.counters("C1").await, (0, 0));
}

async fn files_of_an_import_go_with_it(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let (words, files) = (begun(&fixture, None).await, begun(&fixture, None).await);
    let channel: ChannelId = "C1".into();
    let mut image = message("image", 14, 50);
    image.kind = MessageType::Image;
    image.content = Some(r#"{"type":"image"}"#.to_owned());
    image.media = Some(ImportedMedia { status: MediaStatus::Expired, reason: None });
    fixture.store.imports().import(words, &channel, &[image], at(30)).await.unwrap();
    let blob = BlobId::parse(&"a".repeat(64)).unwrap();
    let media = NewMedia {
        claim: fixture.store.media().claim_blob(blob, at(31)).await.unwrap(),
        bytes: 1_000,
        content_type: "image/png".to_owned(),
        preview: None,
    };
    let at_message = (&channel, &"image".into());
    fixture.store.media().store_imported_media(files, at_message, &media, at(32)).await.unwrap();
    assert_eq!(fixture.counters("C1").await, (1_016, 1));
    let record = fixture.store.imports().import_record(files).await.unwrap().unwrap();
    assert_eq!((record.messages, record.files, record.active_at), (0, 1, Some(at(32))));

    assert_eq!(undo(&fixture, files).await, (Vec::new(), 1_000));
    assert_eq!((fixture.counters("C1").await, fixture.used("U1").await), ((16, 1), 16));
    let image = fixture.store.messages().message(&channel, &"image".into()).await.unwrap().unwrap();
    assert_eq!(image.media_status(), Some(MediaStatus::Expired));
    assert_eq!(undo(&fixture, words).await, (vec!["image".to_owned()], 16));
    assert!(fixture.store.media().get(&channel, &"image".into()).await.unwrap().is_none());
}

async fn who_keeps_copies_is_told(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let import = begun(&fixture, None).await;
    let imports = fixture.store.imports();
    let channel: ChannelId = "C1".into();
    let times = |first, last| ImportedTimes { first: at(first), last: at(last) };
    let told = async || {
        let all = outbox_events::all(&fixture, &["C1"]).await;
        let about = |event: &OutboxEvent| {
            let times = event.detail.as_deref().and_then(ImportedTimes::parse);
            (event.kind.name(), event.at, times)
        };
        all.iter().map(about).collect::<Vec<_>>()
    };
    let batch = [message("b", 14, 100), message("a", 11, 100), message("c", 12, 100)];
    for (part, now) in [(&batch[..2], 30), (&batch[1..2], 31), (&batch[..], 32)] {
        imports.import(import, &channel, part, at(now)).await.unwrap();
    }
    let added = [
        ("import.added", at(30), Some(times(11, 14))),
        ("import.added", at(32), Some(times(12, 12))),
    ];
    assert_eq!(told().await, added, "each part by its times, and nothing that was known");
    undo(&fixture, import).await;
    undo(&fixture, import).await;
    let undone = ("import.undone", at(90), None);
    assert_eq!(told().await, [added[0], added[1], undone], "once, when everything is gone");
}

async fn senders_of_imports_have_names(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let import = begun(&fixture, None).await;
    let mut said = message("a", 11, 100);
    said.sender = Some("import:aa".into());
    let person = ImportedPerson {
        id: "import:aa".into(),
        display_name: Some("小美".to_owned()),
        picture_url: None,
    };
    let imports = fixture.store.imports();
    // The end of another import deletes people without any message.
    imports.add_people(&"C1".into(), std::slice::from_ref(&person), at(5)).await.unwrap();
    undo(&fixture, begun(&fixture, None).await).await;
    assert!(fixture.store.accounts().user(&"import:aa".into()).await.unwrap().is_none());
    let batch = (&[said][..], &[person][..]);
    imports.import_with_people(import, &"C1".into(), batch, at(30)).await.unwrap();
    let named = async || {
        let names = fixture.store.members().names_in(&["C1".into()]).await.unwrap();
        let known = names.into_iter().find(|(id, _)| id.as_str() == "import:aa");
        known.map(|(_, name)| name)
    };
    assert_eq!(named().await, Some(Some("小美".to_owned())));
    assert!(
        fixture.store.members().list(&"C1".into(), None, None, None, 10).await.unwrap().len() == 1
    );
    // U1 is a member, whether messages of theirs are imported or not.
    let mut own = message("b", 12, 100);
    own.sender = Some("U1".into());
    fixture.store.imports().import(import, &"C1".into(), &[own], at(31)).await.unwrap();
    let imported_only = async || fixture.store.members().imported_only(&"C1".into()).await.unwrap();
    assert_eq!(imported_only().await, 1);
    undo(&fixture, import).await;
    assert_eq!(imported_only().await, 0);
    assert_eq!(named().await, None);
    assert!(fixture.store.accounts().user(&"import:aa".into()).await.unwrap().is_none());
}

async fn an_imported_message_can_be_taken_back(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 50).await;
    // It was stored elsewhere long before anybody subscribed here, and still counts.
    let batch = [message("a", 11, 200), message("b", 12, 100)];
    fixture.store.imports().import(IMPORT, &"C1".into(), &batch, at(60)).await.unwrap();
    assert_eq!(fixture.used("U1").await, 300);
    fixture.subscribe("C1", "U2", 70).await;
    assert_eq!(fixture.used("U2").await, 0);
    fixture.keep(&[unsent("C1", "a", 80)], 81).await;
    assert_eq!(fixture.counters("C1").await, (100, 1));
    assert_eq!((fixture.used("U1").await, fixture.used("U2").await), (100, 0));
}

async fn opening_a_channel_makes_it_known_once(fixture: Fixture) {
    fixture.store.accounts().add_user(&"U1".into(), None, at(1)).await.unwrap();
    let channel = "R1".into();
    let open = async |now| {
        let (platform, kind, user) = (PlatformKind::Line, ChannelKind::Room, "U1".into());
        let imports = fixture.store.imports();
        imports.open_for_import(&channel, platform, kind, &user, at(now)).await.unwrap()
    };
    assert_eq!(open(10).await, Subscribed::New);
    assert_eq!(open(20).await, Subscribed::Already);
    let known = fixture.store.channels().channel(&channel).await.unwrap().unwrap();
    assert_eq!((known.platform, known.kind), (PlatformKind::Line, ChannelKind::Room));
    assert_eq!(known.created_by, "U1");
    assert_eq!(known.created_at, at(10));
    let member = fixture.store.members().member(&channel, &"U1".into()).await.unwrap().unwrap();
    assert_eq!(member.role, chatkeep_core::role::Role::Owner);
    assert_eq!(
        fixture.store.accounts().backup_state(&channel).await.unwrap(),
        BackupState::Running
    );
}

async fn people_get_a_name_once(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let person = |id: &str, name: &str| ImportedPerson {
        id: id.into(),
        display_name: Some(name.to_owned()),
        picture_url: None,
    };
    let name = async |id: &str| {
        fixture.store.accounts().user(&id.into()).await.unwrap().unwrap().display_name.unwrap()
    };
    let people = [person("U2", "Bob"), person("U1", "Ann"), person("U2", "Bob")];
    fixture.store.imports().add_people(&"C1".into(), &people, at(5)).await.unwrap();
    let again = [person("U2", "Robert"), person("U1", "Anna")];
    fixture.store.imports().add_people(&"C1".into(), &again, at(6)).await.unwrap();
    assert_eq!((name("U1").await, name("U2").await), ("Ann".to_owned(), "Bob".to_owned()));
}
