//! A data folder and database of its own, the program on it, and messages to begin with.

use std::path::{Path, PathBuf};

use chatkeep_core::config::Database;
use chatkeep_core::message::{
    Content, Emoji, ImageSet, MediaInfo, Mention, MessageChange, Received, Sticker,
};
use chatkeep_store::{
    ChannelChange, MessageFilter, Order, PresenceEvidenceKind, Store, StoredMessage,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;

use super::{GROUP, OWNER};
use crate::harness::postgres::{Postgres, TestDb};
use crate::harness::process::Program;
use crate::harness::{scratch, sqlite};
use crate::stack::Parts;
use crate::store::{at, change, item};

/// Time of the first message of these tests: 2026-01-02 03:04:05 UTC.
pub(super) const START: i64 = 1_767_323_045_678;

pub(super) struct Home {
    pub(super) folder: TempDir,
    database: Option<TestDb>,
}

/// Result of a command.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Home {
    pub(super) async fn new(parts: Parts) -> Self {
        let database = match parts {
            Parts::Embedded => None,
            Parts::Servers => Some(Postgres::migrated().await),
        };
        let folder = scratch::folder("transfer-");
        if database.is_none() {
            sqlite::migrate(folder.path()).await;
        }
        Self { folder, database }
    }

    /// Creates a home with a user who may subscribe.
    pub(super) async fn with_user(parts: Parts) -> Self {
        let home = Self::new(parts).await;
        home.run(&["user", "add", OWNER]).await.succeeded();
        home
    }

    /// Creates a home with a subscribed group with messages.
    pub(super) async fn with_messages(parts: Parts) -> Self {
        let home = Self::with_user(parts).await;
        let store = home.store().await;
        let present = item(GROUP, START, PresenceEvidenceKind::Present(OWNER.into()));
        store.members().record_presence(&[present], at(START)).await.unwrap();
        store.accounts().subscribe(&GROUP.into(), &OWNER.into(), at(START)).await.unwrap();
        store.accounts().add_user(&OWNER.into(), Some("小明 👋"), at(START)).await.unwrap();
        store.accounts().add_user(&"U2".into(), Some("สมชาย <b>"), at(START)).await.unwrap();
        store.messages().ingest(&conversation(), at(START + 100_000)).await.unwrap();
        store.close().await;
        home
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    pub(super) async fn store(&self) -> Store {
        let database = match &self.database {
            None => Database::Sqlite,
            Some(database) => Database::Postgres(database.url().into()),
        };
        std::fs::create_dir_all(self.path("data")).unwrap();
        Store::open(&database, &self.path("data"), 4).await.unwrap()
    }

    /// Returns every message of the group, oldest first.
    pub(super) async fn messages(&self) -> Vec<StoredMessage> {
        let store = self.store().await;
        let order = Order::Ascending;
        let filter = MessageFilter { order, limit: 1_000, ..MessageFilter::default() };
        let page = store.messages().list(&GROUP.into(), &filter).await.unwrap();
        store.close().await;
        page.messages
    }

    pub(super) async fn sql(&self, sql: &str) {
        if let Some(database) = &self.database {
            database.query(sql).await;
            return;
        }
        let file = format!("sqlite://{}/chatkeep.db", self.path("data").display());
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
        connection.close().await.unwrap();
    }

    pub(super) async fn run(&self, args: &[&str]) -> Ended {
        let mut program = Program::chatkeep()
            .args(args.iter().copied())
            .folder(self.folder.path())
            .env("CHATKEEP_DATA", self.path("data"));
        if let Some(database) = &self.database {
            program = program.env("CHATKEEP_DATABASE", database.url());
        }
        let mut process = program.start();
        let code = process.finish().await.code();
        let (stdout, stderr) = (process.stdout().join("\n"), process.stderr().join("\n"));
        Ended { code, stdout, stderr }
    }

    /// Exports the group into a file and returns its bytes.
    pub(super) async fn export(&self, name: &str) -> Vec<u8> {
        let format = name.rsplit('.').next().unwrap().to_owned();
        let out = self.path(name).display().to_string();
        let args = ["export", "--channel", GROUP, "--format", &format, "--out", &out];
        self.run(&args).await.succeeded();
        std::fs::read(self.path(name)).unwrap()
    }

    /// Imports a file into the group, with further arguments.
    pub(super) async fn import(&self, file: impl AsRef<Path>, more: &[&str]) -> Ended {
        let file = file.as_ref().display().to_string();
        let args = ["import", &file, "--channel", GROUP, "--json"];
        self.run(&args.into_iter().chain(more.iter().copied()).collect::<Vec<_>>()).await
    }

    /// Returns the channel's counters, checked against the rows.
    pub(super) async fn counters(&self) -> (i64, i64) {
        let store = self.store().await;
        let channel = store.channels().channel(&GROUP.into()).await.unwrap().unwrap();
        let user = store.accounts().user(&OWNER.into()).await.unwrap().unwrap();
        assert_eq!(
            user.used,
            store.accounts().usage(&OWNER.into()).await.unwrap().total(),
            "usage drifted"
        );
        store.close().await;
        (channel.bytes, channel.message_count)
    }
}

impl Ended {
    #[track_caller]
    pub(super) fn succeeded(self) -> Self {
        self.ended(0)
    }

    #[track_caller]
    pub(super) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns a number of the summary.
    #[track_caller]
    pub(super) fn count(&self, name: &str) -> u64 {
        let summary: serde_json::Value = serde_json::from_str(&self.stdout).unwrap();
        summary[name].as_u64().unwrap_or_else(|| panic!("no {name} in {summary}"))
    }
}

/// Returns messages of every type, edited and unsent ones, of people with hostile names.
fn conversation() -> Vec<ChannelChange> {
    let media = |name: &str| MediaInfo {
        original_url: Some("https://example.com/original".to_owned()),
        file_name: Some(name.to_owned()),
        file_size: Some(12_345),
        duration: Some(1_500),
        image_set: Some(ImageSet { id: "set".to_owned(), index: Some(1), total: None }),
        ..MediaInfo::default()
    };
    let emoji =
        Emoji { index: 0, length: 6, product_id: "5ac1".to_owned(), emoji_id: "001".to_owned() };
    let mention =
        Mention { user_id: Some("U2".into()), start: 0, length: 4, is_self: false, is_all: None };
    let sticker = Sticker {
        package_id: "446".to_owned(),
        sticker_id: "1988".to_owned(),
        resource_type: Some("ANIMATION".to_owned()),
        keywords: vec!["hello".to_owned(), "嗨".to_owned()],
        text: None,
    };
    let contents = [
        Content::text("早安！ 👨‍👩‍👧‍👦 สวัสดี\nsecond line\ttab \"quoted\" \\ <script>alert(1)</script>"),
        Content::Text {
            text: "(moon) hi".to_owned(),
            emojis: vec![emoji],
            mentions: vec![mention],
        },
        Content::Image(media("=1+1.png")),
        Content::Image(MediaInfo::default()),
        Content::Video(media("video.mp4")),
        Content::Audio(media("a.m4a")),
        Content::File(media("預算.xlsx")),
        Content::Location {
            title: Some("東京駅".to_owned()),
            address: None,
            latitude: 35.681_236_123_456_79,
            longitude: 139.703_728_929_162_03,
        },
        Content::Sticker(sticker),
        Content::Sticker(Sticker { text: Some("in my words".to_owned()), ..Sticker::default() }),
        Content::Other { raw: r#"{"type":"flex","contents":{"a":[1,2.50]}}"#.to_owned() },
        Content::text("=SUM(A1:A9)"),
        Content::text("x".repeat(5_000)),
    ];
    let mut changes: Vec<_> = (0..)
        .zip(contents)
        .map(|(n, content)| {
            let received = Received {
                at: at(START + n * 60_000),
                sender: if n == 5 {
                    None
                } else {
                    Some(if n % 2 == 0 { OWNER } else { "U2" }.into())
                },
                kind: content.kind(),
                content: serde_json::to_string(&content).unwrap(),
                quoted: (n == 1).then(|| "m00".into()),
                is_bot: n == 11,
            };
            change(GROUP, &format!("m{n:02}"), MessageChange::Received(received))
        })
        .collect();
    let edited = serde_json::to_string(&Content::text("edited text")).unwrap();
    changes.push(change(
        GROUP,
        "m01",
        MessageChange::Edited { at: at(START + 65_000), by: None, content: edited },
    ));
    for (id, time) in [("m03", 500_000), ("m12", 900_000)] {
        changes.push(change(GROUP, id, MessageChange::Unsent { at: at(START + time) }));
    }
    changes
}
