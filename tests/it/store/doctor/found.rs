//! Each kind of difference, created by hand.

use std::fs;

use chatkeep_index::search::{IndexChange, IndexDoc, WriterOptions};
use chatkeep_store::{Check, MediaOutcome};
use tokio::sync::watch;

use super::super::{Fixture, at, delete_before, on_both, said, unsent};
use super::{DoctorFixture, picture};

on_both!(
    wrong_rows_are_found_and_set_right,
    hits_outlive_the_replies_that_they_count,
    wrong_media_records_are_found_and_set_right,
    lost_and_damaged_files_count_for_nothing,
    files_that_nothing_holds_are_marked,
    the_index_is_made_what_the_store_is,
    a_message_that_cannot_be_read_is_reported_and_left,
    what_people_wrote_is_never_removed,
    keeping_goes_on_meanwhile,
);

/// Sets up two subscribers, texts before and after the second one, two pictures with files.
async fn ward(fixture: Fixture) -> DoctorFixture {
    let ward = DoctorFixture::new(fixture);
    let fixture = &ward.fixture;
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let batch = [
        said("C1", "a", 10, "first"),
        said("C1", "b", 11, "second"),
        picture("C1", "p", 12),
        picture("C1", "q", 13),
        picture("C1", "waiting", 14),
    ];
    fixture.keep(&batch, 20).await;
    ward.store_file("C1", "p", "a picture", Some("small"), 25).await;
    fixture.subscribe("C1", "U2", 30).await;
    fixture.keep(&[said("C1", "c", 40, "third"), unsent("C1", "b", 41)], 45).await;
    ward.store_file("C1", "q", "another one", None, 50).await;
    ward.index_all().await;
    ward.is_well().await;
    ward
}

async fn wrong_rows_are_found_and_set_right(fixture: Fixture) {
    let ward = ward(fixture).await;
    let rule = "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                      created_by, hit_count, suppressed_count)
                VALUES ('C1', 'qa_1', '[]', '', '', 1, 'U1', 4, 2)";
    let gap =
        "INSERT INTO gaps (channel_id, reason, from_at, to_at) VALUES ('C1', 'quota', 50, 40)";
    let open = "INSERT INTO gaps (channel_id, reason, from_at) VALUES ('C1', 'quota', 60)";
    let told = "INSERT INTO usage_notices (user_id, status, created_at)
                VALUES ('U1', 'WARNING', 50)";
    let loose = "INSERT INTO gaps (channel_id, reason, from_at) VALUES ('nowhere', 'quota', 60)";
    let cases: [(&str, &[Check]); 15] = [
        ("UPDATE channels SET bytes = bytes + 7", &[Check::ChannelBytes]),
        ("UPDATE channels SET message_count = 0", &[Check::ChannelMessages]),
        ("UPDATE users SET used_bytes = used_bytes - 1 WHERE user_id = 'U2'", &[Check::UserBytes]),
        (
            "UPDATE subscriptions SET bytes_at_subscribe = 0 WHERE user_id = 'U2'",
            &[Check::Baseline],
        ),
        (
            "UPDATE messages SET content = '{\"type\":\"text\",\"text\":\"x\"}'
             WHERE message_id = 'b'",
            &[Check::TakenBack],
        ),
        (
            "DELETE FROM messages WHERE message_id = 'c'",
            &[
                Check::ChannelBytes,
                Check::ChannelMessages,
                Check::UserBytes,
                Check::Activity,
                Check::Index,
            ],
        ),
        ("UPDATE usage_days SET bytes = bytes + 1 WHERE user_id = 'U1'", &[Check::UsageDay]),
        ("UPDATE activity_counters SET messages = messages + 1", &[Check::Activity]),
        ("DELETE FROM activity_counters WHERE counter = 'type'", &[Check::Activity]),
        (rule, &[Check::RuleHits]),
        (gap, &[Check::Gap]),
        (open, &[Check::Gap]),
        (told, &[Check::UserStatus]),
        (loose, &[Check::LooseRows]),
        (
            "UPDATE users SET used_bytes = 500000000 WHERE user_id = 'U1'",
            &[Check::UserBytes, Check::UserStatus],
        ),
    ];
    for (sql, checks) in cases {
        ward.fixture.run(sql).await;
        ward.finds(sql, checks).await;
    }
    // A line has the place, the recorded and the actual value.
    ward.fixture.run("UPDATE channels SET message_count = 9").await;
    let report = ward.doctor(true, false).await;
    assert_eq!(
        report.findings[0].to_string(),
        "C1: messages of the channel: recorded: 9; true: 4 (repaired)"
    );
}

async fn hits_outlive_the_replies_that_they_count(fixture: Fixture) {
    let ward = ward(fixture).await;
    let rule = "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                      created_by, hit_count, suppressed_count)
                VALUES ('C1', 'qa_1', '[]', '', '', 1, 'U1', 3, 2)";
    ward.fixture.run(rule).await;
    for (event, status, created) in
        [("E1", "sent", 10), ("E2", "suppressed", 11), ("E3", "suppressed", 60)]
    {
        let reply = format!(
            "INSERT INTO replies (event_id, channel_id, source, rule_id, status, created_at)
             VALUES ('{event}', 'C1', 'qa', 'qa_1', '{status}', {created})"
        );
        ward.fixture.run(&reply).await;
    }
    ward.is_well().await;
    assert_eq!(ward.fixture.store.assistant().purge_replies(at(50)).await.unwrap(), 2);
    ward.is_well().await;
    let counted = "SELECT hit_count * 10 + suppressed_count FROM qa_rules";
    assert_eq!(ward.fixture.value(counted).await, "32");
    ward.fixture.run("UPDATE qa_rules SET hit_count = 1").await;
    ward.finds("a wrong count of hits", &[Check::RuleHits]).await;
    assert_eq!(ward.fixture.value(counted).await, "32", "repaired");
}

async fn wrong_media_records_are_found_and_set_right(fixture: Fixture) {
    let ward = ward(fixture).await;
    let record = "INSERT INTO media (channel_id, message_id, status, created_at, bytes)";
    let cases: [(String, &[Check]); 5] = [
        (format!("{record} VALUES ('C1', 'gone', 'pending', 1, 0)"), &[Check::MediaRecord]),
        (
            format!("{record} VALUES ('C1', 'a', 'stored', 1, 50)"),
            &[Check::MediaRecord, Check::ChannelBytes, Check::UserBytes, Check::Activity],
        ),
        (format!("{record} VALUES ('C1', 'b', 'pending', 1, 0)"), &[Check::MediaRecord]),
        (
            "UPDATE media SET bytes = 70 WHERE message_id = 'waiting'".to_owned(),
            &[Check::MediaRecord],
        ),
        ("UPDATE media SET sha256 = NULL WHERE message_id = 'q'".to_owned(), &[Check::MediaRecord]),
    ];
    for (sql, checks) in cases {
        ward.fixture.run(&sql).await;
        ward.finds(&sql, checks).await;
    }
    let reason = "SELECT reason FROM media WHERE message_id = 'q'";
    assert_eq!(ward.fixture.value(reason).await, "file_lost");
}

async fn lost_and_damaged_files_count_for_nothing(fixture: Fixture) {
    let ward = ward(fixture).await;
    let name =
        |column: &str, id: &str| format!("SELECT {column} FROM media WHERE message_id = '{id}'");
    let blob = async |column: &str, id: &str| {
        let name = ward.fixture.value(&name(column, id)).await;
        chatkeep_core::blob::BlobId::parse(&name).unwrap()
    };
    fs::remove_file(ward.file(&blob("preview_sha256", "p").await)).unwrap();
    ward.finds("no preview", &[Check::MediaPreview]).await;
    assert_eq!(ward.fixture.value(&name("status", "p")).await, "stored");
    ward.fixture.run("UPDATE media SET bytes = 4 WHERE message_id = 'p'").await;
    let checks =
        [Check::ChannelBytes, Check::Baseline, Check::UserBytes, Check::Activity, Check::MediaFile];
    ward.finds("another size", &checks).await;
    assert_eq!(ward.fixture.value(&name("bytes", "p")).await, "9");
    // The counters fall with the file: for U2 it was in the baseline, for U1 it was not.
    let (before, second) = (ward.fixture.used("U1").await, ward.fixture.used("U2").await);
    fs::remove_file(ward.file(&blob("sha256", "p").await)).unwrap();
    ward.finds("no file", &[Check::MediaFile]).await;
    assert_eq!(ward.fixture.used("U1").await, before - 9);
    assert_eq!(ward.fixture.used("U2").await, second);
    let failed = (name("status", "p"), name("reason", "p"));
    assert_eq!(ward.fixture.value(&failed.0).await, "failed");
    assert_eq!(ward.fixture.value(&failed.1).await, "file_lost");
    let path = ward.file(&blob("sha256", "q").await);
    fs::write(path, "another 0ne").unwrap();
    assert!(ward.doctor(false, false).await.is_clean(), "only a deep look reads files");
    ward.finds("damaged", &[Check::MediaFile]).await;
    assert_eq!(ward.fixture.value(&name("reason", "q")).await, "file_damaged");
    assert_eq!(ward.fixture.used("U2").await, second - 11);
}

async fn files_that_nothing_holds_are_marked(fixture: Fixture) {
    let ward = ward(fixture).await;
    let (kept, blob) = ward.store_file("C1", "nobody", "left over", None, 60).await;
    assert_eq!(kept, MediaOutcome::Unwanted);
    ward.is_well().await;
    ward.fixture.run("DELETE FROM blob_orphans").await;
    let report = ward.finds("no mark", &[Check::File]).await;
    assert_eq!(report.findings[0].difference.place, blob.as_str());
    let sweep = ward.fixture.store.media().begin_orphan_sweep(super::at(61), 100).await.unwrap();
    assert_eq!(sweep.blobs(), [blob]);
}

async fn the_index_is_made_what_the_store_is(fixture: Fixture) {
    let ward = ward(fixture).await;
    let key = |message: &str| (("C1".to_owned()), message.to_owned());
    let doc = |message: &str| {
        let (channel_id, message_id) = key(message);
        let (kind, text) = ("text".to_owned(), "x".to_owned());
        IndexDoc { channel_id, message_id, sender_id: None, kind, sent_at: 1, text }
    };
    let (channel_id, message_id) = key("a");
    let mut writer = ward.index.writer(WriterOptions::default()).unwrap();
    let changes = [
        IndexChange::Erase { channel_id, message_id },
        IndexChange::Put(doc("b")),
        IndexChange::Put(doc("unknown")),
    ];
    writer.apply(&changes).unwrap();
    writer.commit(&ward.index.position().unwrap()).unwrap();
    drop(writer);
    let report = ward.finds("index", &[Check::Index]).await;
    let lines: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "C1 a: search index: recorded: 1 not found; true: 1 kept",
            "C1 b, unknown: search index: recorded: 2 found; true: 2 not kept",
        ]
    );
    // More than a page on either side, in one and in many segments.
    let many: Vec<_> = (0..4_500).map(|n| said("C1", &format!("n{n}"), 100 + n, "x")).collect();
    ward.fixture.keep(&many, 9_000).await;
    let report = ward.doctor(false, false).await;
    let missing: usize = report
        .findings
        .iter()
        .map(|f| f.difference.recorded.split(' ').next().unwrap().parse::<usize>().unwrap())
        .sum();
    assert_eq!(missing, 4_500);
    ward.finds("many", &[Check::Index]).await;
    let store = &ward.fixture.store;
    delete_before(store, &"C1".into(), super::at(1_000), super::at(9_100)).await;
    ward.finds("deleted", &[Check::Index]).await;
}

async fn a_message_that_cannot_be_read_is_reported_and_left(fixture: Fixture) {
    let ward = ward(fixture).await;
    ward.index_all().await;
    ward.fixture.run(r#"UPDATE messages SET content = '"first"' WHERE message_id = 'a'"#).await;
    for repair in [false, true] {
        let report = ward.doctor(repair, false).await;
        let index = report.findings.iter().filter(|f| f.difference.check == Check::Index);
        let lines: Vec<_> = index.map(ToString::to_string).collect();
        assert_eq!(
            lines,
            ["C1 a: search index: recorded: 1 not as stored; true: 1 kept, but their content \
                 cannot be read"]
        );
    }
}

async fn what_people_wrote_is_never_removed(fixture: Fixture) {
    let ward = ward(fixture).await;
    ward.fixture
        .run(
            "INSERT INTO messages (channel_id, message_id, content)
             VALUES ('nowhere', 'm', '{}')",
        )
        .await;
    let report = ward.doctor(true, false).await;
    assert_eq!((report.differences, report.left()), (1, 1), "{report}");
    let left = "SELECT COUNT(*) FROM messages WHERE channel_id = 'nowhere'";
    assert_eq!(ward.fixture.value(left).await, "1");
}

async fn keeping_goes_on_meanwhile(fixture: Fixture) {
    let ward = ward(fixture).await;
    let (stop, stopped) = watch::channel(false);
    let store = ward.fixture.store.clone();
    let keeping = tokio::spawn(async move {
        let mut kept = 0;
        while !*stopped.borrow() {
            let batch: Vec<_> = (0..20)
                .map(|n| said("C1", &format!("k{kept}-{n}"), 1_000 + kept, "while it is checked"))
                .chain([unsent("C1", &format!("k{}-3", kept / 2), 1_000 + kept)])
                .collect();
            store.messages().ingest(&batch, super::at(2_000 + kept)).await.unwrap();
            let (channel, user) = ("C1".into(), "U2".into());
            if kept % 5 == 0 {
                store
                    .accounts()
                    .unsubscribe(&channel, &user, super::at(2_000 + kept))
                    .await
                    .unwrap();
                store.accounts().subscribe(&channel, &user, super::at(2_000 + kept)).await.unwrap();
            }
            if kept % 7 == 0 {
                let before = super::at(1_000 + kept / 2);
                delete_before(&store, &channel, before, super::at(2_000 + kept)).await;
            }
            kept += 1;
        }
        kept
    });
    for _ in 0..20 {
        let options = chatkeep_services::doctor::DoctorOptions::default();
        let (store, blobs) = (&ward.fixture.store, Some(&ward.blobs));
        let doctor = chatkeep_services::doctor::Doctor {
            store,
            blobs,
            indexes: &[],
            replicas: None,
            options,
        };
        let report = doctor.run(&mut |_| {}).await.unwrap();
        assert!(report.is_clean(), "{report}");
    }
    stop.send(true).unwrap();
    assert!(keeping.await.unwrap() > 0);
    ward.index_all().await;
    ward.doctor(true, false).await;
    ward.is_well().await;
}
