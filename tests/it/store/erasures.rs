//! Ledger of erasures: read in one database, replayed in another that is older.

use chatkeep_core::id::ChannelId;
use chatkeep_core::message::MessageChange;
use chatkeep_store::{Erasure, ErasurePosition, NewImport, Store};

use crate::harness::wait::until;
use crate::stack::DEADLINE;

use super::import::message;
use super::{Fixture, at, delete_before, edited, erase_person, on_both, said, unsent};

on_both!(
    an_older_database_forgets_what_was_erased_since,
    an_import_that_was_undone_since_is_undone_again,
    the_ledger_is_read_in_pages_of_any_size,
    late_deliveries_of_what_the_ledger_names_stay_away,
    events_of_unknown_types_go_again_as_they_did,
    late_edits_of_an_erased_person_stay_away,
    the_ledger_reads_taken_back_messages_by_their_index,
);

async fn ledger(store: &Store, page: u32) -> Vec<Erasure> {
    let (mut all, mut position) = (Vec::new(), ErasurePosition::default());
    while let Some((entries, next)) = store.messages().erasures(position, page).await.unwrap() {
        all.extend(entries);
        position = next;
    }
    all
}

/// Another database of the same kind, with the same conversation.
async fn older(fixture: &Fixture) -> Fixture {
    let older =
        if fixture.is_sqlite() { Fixture::sqlite().await } else { Fixture::postgres().await };
    conversation(&older).await;
    older
}

async fn conversation(fixture: &Fixture) {
    for channel in ["C1", "C2"] {
        fixture.group(channel, &["U1", "U2"]).await;
        fixture.subscribe(channel, "U2", 5).await;
        for (n, id) in ["a", "b", "c"].iter().enumerate() {
            let time = 10 + i64::try_from(n).unwrap();
            fixture.keep(&[said(channel, id, time, "some words")], time).await;
        }
    }
}

/// Erases in several ways what is in both.
async fn erase(fixture: &Fixture) {
    let (c1, c2) = (ChannelId::from("C1"), ChannelId::from("C2"));
    fixture.keep(&[unsent("C1", "b", 30), unsent("C1", "unknown", 30)], 31).await;
    delete_before(&fixture.store, &c1, at(11), at(32)).await;
    erase_person(&fixture.store, &c2, &"U1".into(), at(33), at(33)).await;
    fixture.store.members().set_opted_out(&"U1".into(), Some(&c2), true, || at(34)).await.unwrap();
}

async fn contents(fixture: &Fixture) -> Vec<(String, Option<String>)> {
    let all = fixture.store.messages().all_messages(None, 100).await.unwrap();
    all.into_iter().map(|(c, m, state)| (format!("{c} {m}"), state.content)).collect()
}

async fn an_older_database_forgets_what_was_erased_since(fixture: Fixture) {
    conversation(&fixture).await;
    let older = older(&fixture).await;
    erase(&fixture).await;
    let entries = ledger(&fixture.store, 100).await;
    assert_ne!(contents(&older).await, contents(&fixture).await);
    for _ in 0..2 {
        older.store.messages().replay(&entries, at(40)).await.unwrap();
        assert_eq!(contents(&older).await, contents(&fixture).await);
        let mut again = ledger(&older.store, 100).await;
        let mut expected = entries.clone();
        again.sort_by_key(|entry| format!("{entry:?}"));
        expected.sort_by_key(|entry| format!("{entry:?}"));
        assert_eq!(again, expected);
        for channel in ["C1", "C2"] {
            let audit = older.store.audits().audit_channel(&channel.into()).await.unwrap();
            assert_eq!(audit.unwrap().differences.len(), 0, "{channel}");
        }
    }
}

async fn an_import_that_was_undone_since_is_undone_again(fixture: Fixture) {
    conversation(&fixture).await;
    let older = older(&fixture).await;
    let imported = async |fixture: &Fixture| {
        let (imports, channel) = (fixture.store.imports(), ChannelId::from("C1"));
        let new =
            NewImport { channel: &channel, form: "line", file_name: "chat.txt", time_zone: None };
        let import = imports.begin_import(&new, at(20)).await.unwrap();
        let message = message("imported", 11, 70);
        imports.import(import, &channel, &[message], at(21)).await.unwrap();
        import
    };
    let (import, _) = (imported(&fixture).await, imported(&older).await);
    let imports = fixture.store.imports();
    let record = imports.import_record(import).await.unwrap().unwrap();
    assert!(imports.undo_import(&record, 10, at(30)).await.unwrap().last);
    let entries = ledger(&fixture.store, 100).await;
    let expected = Erasure::Import { channel: "C1".to_owned(), import: import.number() };
    assert_eq!(entries, [expected]);
    // One of another chat, and one that was begun since.
    let foreign = [
        Erasure::Import { channel: "C2".to_owned(), import: import.number() },
        Erasure::Import { channel: "C1".to_owned(), import: 1_000 },
    ];
    older.store.messages().replay(&foreign, at(40)).await.unwrap();
    assert_ne!(contents(&older).await, contents(&fixture).await);
    for _ in 0..2 {
        older.store.messages().replay(&entries, at(40)).await.unwrap();
        assert_eq!(contents(&older).await, contents(&fixture).await);
        assert_eq!(ledger(&older.store, 100).await, entries);
    }
    let audit = older.store.audits().audit_channel(&"C1".into()).await.unwrap();
    assert_eq!(audit.unwrap().differences.len(), 0);
}

async fn the_ledger_is_read_in_pages_of_any_size(fixture: Fixture) {
    conversation(&fixture).await;
    erase(&fixture).await;
    let whole = ledger(&fixture.store, 100).await;
    assert!(whole.len() > 6, "{whole:?}");
    for page in 1..4 {
        assert_eq!(ledger(&fixture.store, page).await, whole, "{page}");
    }
    let text = serde_json::to_string(&whole).unwrap();
    assert!(!text.contains("some words"), "{text}");
    assert_eq!(serde_json::from_str::<Vec<Erasure>>(&text).unwrap(), whole);
}

async fn events_of_unknown_types_go_again_as_they_did(fixture: Fixture) {
    conversation(&fixture).await;
    let older = older(&fixture).await;
    for (id, channel, time) in [("o1", "C1", 10), ("o2", "C1", 20), ("o3", "C2", 10)] {
        for fixture in [&fixture, &older] {
            fixture
                .run(&format!(
                    "INSERT INTO other_events (event_id, channel_id, type, at, raw)
                     VALUES ('{id}', '{channel}', 'poll', {time}, 'the words of U1')"
                ))
                .await;
        }
    }
    delete_before(&fixture.store, &"C1".into(), at(11), at(32)).await;
    erase_person(&fixture.store, &"C2".into(), &"U1".into(), at(33), at(33)).await;
    let (count, left) =
        ("SELECT COUNT(*) FROM other_events", "SELECT MAX(event_id) FROM other_events");
    let is = async |fixture: &Fixture| (fixture.value(count).await, fixture.value(left).await);
    let expected = ("1".to_owned(), "o2".to_owned());
    assert_eq!(is(&fixture).await, expected);
    let entries = ledger(&fixture.store, 100).await;
    older.store.messages().replay(&entries, at(40)).await.unwrap();
    assert_eq!(is(&older).await, expected);
}

async fn late_edits_of_an_erased_person_stay_away(fixture: Fixture) {
    conversation(&fixture).await;
    erase_person(&fixture.store, &"C1".into(), &"U1".into(), at(33), at(33)).await;
    let edit = |id: &str, time| {
        let mut edit = edited("C1", id, time, "the words of U1");
        if let MessageChange::Edited { by, .. } = &mut edit.change {
            *by = Some("U1".into());
        }
        edit
    };
    // Each comes before its message, the first one of which is not to be stored either.
    fixture.keep(&[edit("before", 32), edit("after", 35)], 36).await;
    let edits = "SELECT MAX(message_id) FROM messages WHERE content LIKE '%the words of U1%'";
    assert_eq!(fixture.value(edits).await, "after");
    let count = "SELECT COUNT(*) FROM messages WHERE message_id = 'before'";
    assert_eq!(fixture.value(count).await, "0");
}

/// On SQLite a test beside the statement compares its plan.
async fn the_ledger_reads_taken_back_messages_by_their_index(fixture: Fixture) {
    if fixture.is_sqlite() {
        return;
    }
    fixture
        .run(
            "INSERT INTO messages (channel_id, message_id, sent_at, unsent_at)
             SELECT 'C1', 'm' || n, n, CASE WHEN n % 100 = 0 THEN n END
             FROM generate_series(1, 20000) n",
        )
        .await;
    fixture.run("ANALYZE messages").await;
    let sum = async |column: &str, table: &str, of: &str| {
        let sql = format!("SELECT COALESCE(SUM({column}), 0) FROM pg_stat_user_{table} WHERE {of}");
        fixture.value(&sql).await
    };
    let (scanned, by_key) = ("relname LIKE 'messages%'", "indexrelname LIKE 'messages%_pkey'");
    let before = sum("seq_tup_read", "tables", scanned).await;
    assert_eq!(ledger(&fixture.store, 50).await.len(), 200);
    let by_index = "indexrelid IN (SELECT inhrelid FROM pg_inherits
                                   WHERE inhparent = CAST('messages_unsent' AS regclass))";
    until("the server has counted", DEADLINE, async || {
        sum("idx_tup_read", "indexes", by_index).await != "0"
    })
    .await;
    assert_eq!(sum("seq_tup_read", "tables", scanned).await, before);
    assert_eq!(sum("idx_tup_read", "indexes", by_key).await, "0");
}

async fn late_deliveries_of_what_the_ledger_names_stay_away(fixture: Fixture) {
    conversation(&fixture).await;
    let older = older(&fixture).await;
    fixture.keep(&[said("C1", "late", 20, "words"), unsent("C1", "late", 30)], 31).await;
    let entries = ledger(&fixture.store, 100).await;
    older.store.messages().replay(&entries, at(40)).await.unwrap();
    older.keep(&[said("C1", "late", 20, "words"), edited("C1", "late", 25, "more")], 41).await;
    let late = contents(&older).await.into_iter().find(|(id, _)| id == "C1 late").unwrap();
    assert_eq!(late.1, None);
}
