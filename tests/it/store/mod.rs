//! Contract tests of the store: each runs on SQLite and on PostgreSQL.

mod activity;
mod activity_log;
mod assistant;
mod change_log;
mod channel_jobs;
mod coverage;
mod digest;
mod doctor;
mod earlier_texts;
mod erasures;
mod exchanges;
mod export_changes;
mod export_claims;
mod exports;
mod forgotten_locks;
mod future_times;
mod idempotency;
mod import;
mod job_leases;
mod keep;
mod keys;
mod log_bound;
mod media;
mod members;
mod messages;
mod migrations;
mod notices;
mod oauth;
mod opt_outs;
mod outbox_events;
mod overview;
mod ownership;
mod processes;
mod purge;
mod quota;
mod referenced_files;
mod removal;
mod replies;
mod retention;
mod retractions;
mod roles;
mod sessions;
mod side_by_side;
mod stale_sessions;
mod unknown_events;
mod usage_days;
mod users;
mod versions;
mod webhooks;

use std::sync::atomic::{AtomicU64, Ordering};

use chatkeep_core::bounds::Bounds;
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, KeyId, MessageId, UserId};
use chatkeep_core::message::{Content, EarlierTexts, MessageChange, MessageType, Received};
use chatkeep_core::role::Scope;
use chatkeep_core::time::{Clock as _, ManualClock, SystemClock, Timestamp};
use chatkeep_store::{
    ChannelChange, ImportedMessage, IngestOutcome, JobKind, NewChannelJob, NewKey,
    PresenceEvidence, PresenceEvidenceKind, Removed, Store,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

use crate::harness::postgres::{Postgres, TestDb};
use crate::harness::sqlite;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Creates one test per database of each function named.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::store::Fixture::sqlite().await).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $test() {
                super::$test(crate::store::Fixture::postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_both;

/// Empty store of its own.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    folder: TempDir,
    database: Option<TestDb>,
}

impl Fixture {
    pub(crate) async fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        sqlite::migrate(folder.path()).await;
        let store = Store::open(&Database::Sqlite, folder.path(), 4).await.unwrap();
        Self { store, folder, database: None }
    }

    pub(crate) async fn postgres() -> Self {
        let (folder, database) = (TempDir::new().unwrap(), Postgres::migrated().await);
        let url = Database::Postgres(database.url().into());
        let store = Store::open(&url, folder.path(), 4).await.unwrap();
        Self { store, folder, database: Some(database) }
    }

    /// Creates another empty store on the same kind of database.
    pub(crate) async fn another(&self) -> Self {
        if self.is_sqlite() { Self::sqlite().await } else { Self::postgres().await }
    }

    /// Opens the database again, as a process does that is started again.
    pub(crate) async fn reopened(self) -> Self {
        self.store.close().await;
        let url = self.database.as_ref().map(|database| database.url().into());
        let kind = url.map_or(Database::Sqlite, Database::Postgres);
        let store = Store::open(&kind, self.folder.path(), 4).await.unwrap();
        Self { store, ..self }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.database.is_none()
    }

    /// Creates a group with these people in it since time 1.
    pub(crate) async fn group(&self, channel: &str, people: &[&str]) {
        add_group(&self.store, channel, people).await;
    }

    pub(crate) async fn subscribe(&self, channel: &str, user: &str, now: i64) {
        self.store.accounts().subscribe(&channel.into(), &user.into(), at(now)).await.unwrap();
    }

    /// Sets whether a channel keeps earlier texts, as its owner does.
    pub(crate) async fn keep_earlier_texts(&self, channel: &str, keep: bool, now: i64) {
        let channels = self.store.channels();
        channels.set_earlier_texts(&channel.into(), keep, &"U1".into(), at(now)).await.unwrap();
    }

    pub(crate) async fn keep(&self, changes: &[ChannelChange], now: i64) -> Vec<IngestOutcome> {
        self.store.messages().ingest(changes, at(now)).await.unwrap()
    }

    /// Charges bytes to a channel and its one subscriber as if messages of that size had been
    /// stored: writing half a gigabyte for each test would take minutes.
    pub(crate) async fn preload(&self, channel: &str, user: &str, bytes: i64) {
        let channels =
            format!("UPDATE channels SET bytes = bytes + {bytes} WHERE channel_id = '{channel}'");
        let users =
            format!("UPDATE users SET used_bytes = used_bytes + {bytes} WHERE user_id = '{user}'");
        self.run(&channels).await;
        self.run(&users).await;
    }

    /// Returns the result of a SELECT of one text or whole number, as text; empty for NULL.
    pub(crate) async fn value(&self, sql: &str) -> String {
        if let Some(database) = &self.database {
            return database.query(sql).await.trim().to_owned();
        }
        let file = format!("sqlite://{}/chatkeep.db", self.folder.path().display());
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        let sql = format!("SELECT CAST(v AS TEXT) FROM (SELECT ({sql}) AS v)");
        let row: (Option<String>,) =
            sqlx::query_as(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        row.0.unwrap_or_default()
    }

    /// Waits until every reader of the event log gets all committed rows: on PostgreSQL any
    /// transaction of the server, a neighbouring test's as well, may hold back newer ones.
    pub(crate) async fn log_settled(&self) {
        if self.is_sqlite() {
            return;
        }
        let settled = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >
                       (SELECT COALESCE(MAX(tx), 0) FROM outbox_events)";
        until("the log is readable to its end", DEADLINE, async || {
            self.value(settled).await == "t"
        })
        .await;
    }

    /// Runs a statement.
    pub(crate) async fn run(&self, sql: &str) {
        if let Some(database) = &self.database {
            database.query(sql).await;
            return;
        }
        let file = format!("sqlite://{}/chatkeep.db", self.folder.path().display());
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    }

    /// Opens a transaction on PostgreSQL that holds the locks of a statement.
    pub(crate) async fn locked(&self, statement: &'static str) -> PgConnection {
        let url = self.database.as_ref().unwrap().url();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        connection.execute("BEGIN").await.unwrap();
        connection.execute(statement).await.unwrap();
        connection
    }

    /// Waits until one session of PostgreSQL waits for a lock.
    pub(crate) async fn until_one_waits(&self) {
        const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity
                               WHERE datname = current_database() AND wait_event_type = 'Lock'";
        until("a session to wait", DEADLINE, async || self.value(WAITING).await == "1").await;
    }

    /// Returns bytes and messages in the channel's counters.
    pub(crate) async fn counters(&self, channel: &str) -> (i64, i64) {
        let channel = self.store.channels().channel(&channel.into()).await.unwrap().unwrap();
        (channel.bytes, channel.message_count)
    }

    /// Returns the user's counter, checked against those of the channels.
    pub(crate) async fn used(&self, user: &str) -> i64 {
        let user: UserId = user.into();
        let counter = self.store.accounts().user(&user).await.unwrap().unwrap().used;
        assert_eq!(
            counter,
            self.store.accounts().usage(&user).await.unwrap().total(),
            "counters drifted"
        );
        counter
    }
}

/// Creates a group with these people in it since time 1.
pub(crate) async fn add_group(store: &Store, channel: &str, people: &[&str]) {
    let mut evidence = vec![item(channel, 1, PresenceEvidenceKind::BotJoined)];
    for person in people {
        evidence.push(item(channel, 1, PresenceEvidenceKind::Present((*person).into())));
    }
    store.members().record_presence(&evidence, at(1)).await.unwrap();
}

/// Creates the same, subscribed by the first of them.
pub(crate) async fn add_kept_group(store: &Store, channel: &str, people: &[&str]) {
    add_group(store, channel, people).await;
    store.accounts().subscribe(&channel.into(), &people[0].into(), at(2)).await.unwrap();
}

/// Returns a key of that person with all scopes and without bounds.
pub(crate) fn unbounded_key<'a>(id: &'a KeyId, secret: &'a str, user: &'a UserId) -> NewKey<'a> {
    NewKey {
        pseudonyms: None,
        id,
        secret,
        user,
        name: "test",
        scopes: &Scope::ALL,
        channels: None,
        not_before: None,
        expires_at: None,
    }
}

/// Returns a key of that person with these bounds.
pub(crate) fn bounded_key<'a>(
    id: &'a KeyId,
    secret: &'a str,
    user: &'a UserId,
    bounds: &'a Bounds,
) -> NewKey<'a> {
    NewKey {
        pseudonyms: bounds.pseudonyms.as_ref(),
        scopes: &bounds.scopes,
        channels: bounds.channels.as_deref(),
        not_before: bounds.not_before,
        expires_at: bounds.expires_at,
        ..unbounded_key(id, secret, user)
    }
}

/// Creates a key of that person for these channels, or for all, with all scopes unless `shape`
/// changes it. The id of `ck_ann` is `key_of_ann`.
pub(crate) async fn add_key(
    store: &Store,
    (secret, user): (&str, &str),
    channels: Option<&[ChannelId]>,
    shape: impl FnOnce(&mut NewKey<'_>),
) {
    let (id, user) = (KeyId::from(secret.replace("ck_", "key_of_")), UserId::from(user));
    store.accounts().add_user(&user, None, at(1)).await.unwrap();
    let mut key = NewKey { channels, ..unbounded_key(&id, secret, &user) };
    shape(&mut key);
    store.keys().add_key(&key, at(1)).await.unwrap();
}

/// Deletes a batch of a channel's messages sent before that time.
pub(crate) async fn delete_before(
    store: &Store,
    channel: &ChannelId,
    before: Timestamp,
    now: Timestamp,
) -> Removed {
    remove_batch(store, channel, &JobKind::Deletion, (before, now)).await
}

/// Erases a batch of a person's messages in a channel sent before that time.
pub(crate) async fn erase_person(
    store: &Store,
    channel: &ChannelId,
    user: &UserId,
    before: Timestamp,
    now: Timestamp,
) -> Removed {
    remove_batch(store, channel, &JobKind::Erasure(user.clone()), (before, now)).await
}

/// Works on the job that does so, a new one unless it runs already.
async fn remove_batch(
    store: &Store,
    channel: &ChannelId,
    kind: &JobKind,
    (before, now): (Timestamp, Timestamp),
) -> Removed {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let id = format!("job_{}", MADE.fetch_add(1, Ordering::Relaxed));
    let by = UserId::from("U1");
    let new = NewChannelJob {
        id: &id,
        channel,
        kind,
        sent_before: before,
        by: &by,
        worker: Some("test"),
    };
    let (job, claimed) = store.jobs().begin_job(&new, now).await.unwrap();
    if !claimed {
        store.jobs().claim_job("test", "", now).await.unwrap();
    }
    let clock = ManualClock::new(now);
    store.jobs().work_on_job(&job, "test", 2_000, &clock).await.unwrap().unwrap().removed
}

/// Returns a clock that stands at that time.
pub(crate) fn clock_at(millis: i64) -> ManualClock {
    ManualClock::new(at(millis))
}

pub(crate) const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Returns the present time, for what the program has to take for recent.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

pub(crate) fn item(channel: &str, time: i64, kind: PresenceEvidenceKind) -> PresenceEvidence {
    PresenceEvidence {
        channel: ChannelRef { id: ChannelId::from(channel), kind: ChannelKind::Group },
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        at: at(time),
        kind,
    }
}

pub(crate) fn change(channel: &str, message: &str, change: MessageChange) -> ChannelChange {
    ChannelChange { channel: channel.into(), message: MessageId::from(message), change }
}

/// Returns a text of exactly `size` stored bytes.
pub(crate) fn sized(channel: &str, message: &str, time: i64, size: usize) -> ChannelChange {
    let empty = serde_json::to_string(&Content::text("")).unwrap().len();
    said(channel, message, time, &"x".repeat(size - empty))
}

/// Returns a text of U1.
pub(crate) fn said(channel: &str, message: &str, time: i64, text: &str) -> ChannelChange {
    said_by("U1", channel, message, time, text)
}

pub(crate) fn said_by(
    user: &str,
    channel: &str,
    message: &str,
    time: i64,
    text: &str,
) -> ChannelChange {
    let content = serde_json::to_string(&Content::text(text)).unwrap();
    sent_by(user, (channel, message), time, (MessageType::Text, content))
}

/// Returns a picture whose file is still to be downloaded.
pub(crate) fn picture_by(user: &str, channel: &str, message: &str, time: i64) -> ChannelChange {
    let content = r#"{"type":"image"}"#.to_owned();
    sent_by(user, (channel, message), time, (MessageType::Image, content))
}

fn sent_by(
    user: &str,
    (channel, message): (&str, &str),
    time: i64,
    (kind, content): (MessageType, String),
) -> ChannelChange {
    let (at, sender) = (at(time), Some(user.into()));
    let received = Received { at, sender, kind, content, quoted: None, is_bot: false };
    change(channel, message, MessageChange::Received(received))
}

/// Returns an imported text of that person.
pub(crate) fn imported_text(id: &str, time: i64, user: &str, text: &str) -> ImportedMessage {
    ImportedMessage {
        id: id.into(),
        former_id: None,
        sent_at: at(time),
        sent_until: None,
        kept_at: None,
        sender: Some(user.into()),
        candidates: Vec::new(),
        unnamed_candidates: Vec::new(),
        kind: MessageType::Text,
        content: Some(serde_json::to_string(&Content::text(text)).unwrap()),
        quoted: None,
        is_bot: false,
        edited_at: None,
        unsent_at: None,
        media: None,
        earlier_texts: EarlierTexts::default(),
    }
}

/// Returns a message of the bot.
pub(crate) fn answered(channel: &str, message: &str, time: i64, text: &str) -> ChannelChange {
    let mut answer = said(channel, message, time, text);
    if let MessageChange::Received(received) = &mut answer.change {
        (received.sender, received.is_bot) = (Some("Ubot".into()), true);
    }
    answer
}

pub(crate) fn edited(channel: &str, message: &str, time: i64, text: &str) -> ChannelChange {
    let content = serde_json::to_string(&Content::text(text)).unwrap();
    change(channel, message, MessageChange::Edited { at: at(time), by: None, content })
}

pub(crate) fn unsent(channel: &str, message: &str, time: i64) -> ChannelChange {
    change(channel, message, MessageChange::Unsent { at: at(time) })
}
