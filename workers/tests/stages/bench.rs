//! The parts of a process that stages need, on a folder of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chatkeep_blobs::Blobs;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits, DeadLetter, Outgoing};
use chatkeep_core::config::{BlobsKind, Database, S3Config};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::health::Health;
use chatkeep_core::http;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::{Clock as _, ManualClock, SharedClock, Timestamp};
use chatkeep_emulator::{Action, Emulator, Entry, Event, Options, Post, Text};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::line::{LineApi, LineClient, WebhookBody};
use chatkeep_platform::{Bots, SharedPlatform};
use chatkeep_store::{MessageFilter, Order, Store, StoredMessage};
use chatkeep_workers::assistant::{Assistant, Assistants, ReplyPolicy, ReplyTurns, UnsureClaims};
use chatkeep_workers::backup::Backup;
use chatkeep_workers::media::{ContentThrottle, Media, MediaLimits, MediaOrigin};
use chatkeep_workers::members::Members;
use chatkeep_workers::tap::Tap;
use chatkeep_workers::{LONG_WAIT, RecentTraces, Runner, RunnerSettings, Stage, StageName};
use proptest::strategy::{Just, Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Initial time of every test.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_767_323_045_678);
/// Lease of every message.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// Deliveries after which a failing message becomes a dead letter.
pub(crate) const ATTEMPTS: u32 = 4;
/// Maximum size of a file, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 * 1024;
/// Timeout of conditions, long enough for a slow and loaded machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(3);
/// Poll interval of conditions.
const POLL: Duration = Duration::from_millis(5);
/// Free disk space that media files leave, in bytes.
pub(crate) const DISK_RESERVE: u64 = 1 << 20;

/// A process without the process.
pub(crate) struct Bench {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    pub(crate) line: Emulator,
    pub(crate) bots: Bots,
    pub(crate) health: Health,
    pub(crate) disk: DiskReserve,
    pub(crate) assistants: Assistants,
    pub(crate) folder: TempDir,
    published: AtomicU64,
}

/// A group with the bot in it.
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) ann: String,
    pub(crate) bob: String,
}

impl Group {
    pub(crate) fn channel(&self) -> ChannelId {
        self.id.as_str().into()
    }
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let shown = Arc::clone(&clock);
        let options = Options::new(Arc::new(move || shown.now().millis()));
        let line = Emulator::start(options).await.unwrap();
        let shared = Arc::clone(&clock) as SharedClock;
        let (store, bus) = open(&folder, &shared).await;
        Self {
            assistants: Assistants::new(store.clone(), SemanticSpace::built_in()),
            bots: bots(&line, &shared, &["main"]),
            health: Health::new(shared),
            disk: DiskReserve::new(DISK_RESERVE),
            clock,
            store,
            bus,
            line,
            folder,
            published: AtomicU64::new(0),
        }
    }

    /// Creates a bench with a group of two that Ann subscribed to.
    pub(crate) async fn with_group() -> (Self, Group) {
        let bench = Self::new().await;
        let group = bench.group().await;
        bench.subscribe(&group.id, &group.ann).await;
        (bench, group)
    }

    /// Creates a group of two with the bot in it, which every stage has seen.
    pub(crate) async fn group(&self) -> Group {
        let [ann, bob] = ["Ann", "Bob"].map(|name| self.line.add_user(name, None).user_id);
        let id = self.line.add_group("Cooks", None, &[&ann, &bob]).chat_id;
        let mut events = self.line.build(Action::BotJoins { chat: id.clone() }).unwrap();
        for user in [&ann, &bob] {
            events.extend(self.say(&id, user, "hello"));
        }
        self.publish(&events).await;
        self.drain(self.members()).await;
        // Nobody subscribed, and no rule is set: nothing of this is stored or answered.
        self.drain(self.backup()).await;
        self.drain(self.assistant()).await;
        Group { id, ann, bob }
    }

    pub(crate) async fn subscribe(&self, channel: &str, user: &str) {
        let now = self.clock.now();
        self.store.accounts().subscribe(&channel.into(), &user.into(), now).await.unwrap();
    }

    /// Ends this process, with what it had leased, and starts the next one on its folder.
    pub(crate) async fn restart(&mut self) {
        self.bus.close().await;
        self.store.close().await;
        let clock = Arc::clone(&self.clock) as SharedClock;
        (self.store, self.bus) = open(&self.folder, &clock).await;
        self.bots = bots(&self.line, &clock, &["main"]);
        self.health = Health::new(clock);
        self.assistants = Assistants::new(self.store.clone(), SemanticSpace::built_in());
    }

    /// Puts events on the bus as the ingress does. Events that come again are delivered again, as
    /// if the bus had forgotten them.
    pub(crate) async fn publish(&self, events: &[Event]) {
        self.publish_for("main", events).await;
    }

    /// Does the same for events that another bot received.
    pub(crate) async fn publish_for(&self, bot: &str, events: &[Event]) {
        self.publish_signed(bot, events, false).await;
    }

    /// Does the same for events that the platform sends once more.
    pub(crate) async fn publish_again(&self, events: &[Event]) {
        self.publish_signed("main", events, true).await;
    }

    async fn publish_signed(&self, bot: &str, events: &[Event], redelivery: bool) {
        let mut outgoing = Vec::new();
        for event in events {
            // One webhook each: an event may be among them twice.
            let body = self.line.sign(vec![event.clone()], redelivery).body;
            outgoing.extend(self.outgoing(bot, &body));
        }
        self.bus.publish(outgoing).await.unwrap();
    }

    /// Does the same for any webhook body.
    pub(crate) async fn publish_raw(&self, bot: &str, body: &str) {
        self.bus.publish(self.outgoing(bot, body.as_bytes())).await.unwrap();
    }

    /// Does the same for the first of these events with its webhook changed.
    pub(crate) async fn publish_edited(&self, events: &[Event], edit: impl FnOnce(&mut Value)) {
        let body = self.line.sign(events[..1].to_vec(), false).body;
        let mut body: Value = serde_json::from_slice(&body).unwrap();
        edit(&mut body["events"][0]);
        self.publish_raw("main", &body.to_string()).await;
    }

    fn outgoing(&self, bot: &str, body: &[u8]) -> Vec<Outgoing> {
        let envelopes = WebhookBody::parse(body).unwrap().envelopes(bot, self.clock.now());
        let outgoing = envelopes.iter().map(|envelope| {
            let mut message = Outgoing::event(envelope).unwrap();
            let number = self.published.fetch_add(1, Ordering::Relaxed);
            message.id = format!("{}#{number}", message.id);
            message
        });
        outgoing.collect()
    }

    /// Somebody posts; nothing is published yet.
    pub(crate) fn post(&self, chat: &str, user: &str, post: Post) -> Vec<Event> {
        let (chat, user) = (chat.to_owned(), user.to_owned());
        self.line.build(Action::Send { chat, user, post }).unwrap()
    }

    /// Somebody says something; nothing is published yet.
    pub(crate) fn say(&self, chat: &str, user: &str, text: impl Into<Text>) -> Vec<Event> {
        self.post(chat, user, Post::Text(text.into()))
    }

    /// Somebody unsends their message; nothing is published yet.
    pub(crate) fn unsend(&self, events: &[Event]) -> Vec<Event> {
        self.line.build(Action::Unsend { message: message(events).into_string() }).unwrap()
    }

    /// Somebody edits their message; nothing is published yet.
    pub(crate) fn edit(&self, events: &[Event], text: &str) -> Vec<Event> {
        let message = message(events).into_string();
        self.line.build(Action::Edit { message, text: text.into() }).unwrap()
    }

    pub(crate) fn runner<S: Stage>(&self, stage: S) -> Runner<S> {
        self.runner_with(stage, ATTEMPTS)
    }

    /// Returns a runner with another number of attempts.
    pub(crate) fn runner_with<S: Stage>(&self, stage: S, max_attempts: u32) -> Runner<S> {
        let settings = RunnerSettings { lease: LEASE, max_attempts, long_wait: LONG_WAIT };
        let stop = CancellationToken::new();
        let (bus, health) = (self.bus.clone(), self.health.clone());
        Runner::new(stage, bus, settings, Tap::default(), health, stop)
    }

    /// Lets a stage work on everything that can be delivered now; returns the number of deliveries.
    pub(crate) async fn drain<S: Stage>(&self, stage: S) -> usize {
        self.runner(stage).drain().await.unwrap()
    }

    pub(crate) fn backup(&self) -> Backup {
        let clock = Arc::clone(&self.clock) as SharedClock;
        Backup {
            store: self.store.clone(),
            bus: self.bus.clone(),
            clock,
            batch: 1_000,
            traces: RecentTraces::default(),
        }
    }

    pub(crate) fn members(&self) -> Members {
        let clock = Arc::clone(&self.clock) as SharedClock;
        Members::new(self.store.clone(), self.bots.clone(), clock, 1_000)
    }

    pub(crate) fn assistant(&self) -> Assistant {
        Assistant {
            store: self.store.clone(),
            bots: self.bots.clone(),
            assistants: self.assistants.clone(),
            clock: Arc::clone(&self.clock) as SharedClock,
            policy: ReplyPolicy { deadline: Duration::from_secs(50), push_max_age: None },
            concurrency: 4,
            claims: UnsureClaims::default(),
            turns: ReplyTurns::default(),
            tasks: TaskTracker::new(),
        }
    }

    pub(crate) fn media(&self, origin: MediaOrigin) -> Media {
        let clock = Arc::clone(&self.clock) as SharedClock;
        Media {
            origin,
            bus: self.bus.clone(),
            store: self.store.clone(),
            blobs: self.blobs(),
            bots: self.bots.clone(),
            external: GuardedClient::new(true).unwrap(),
            throttle: ContentThrottle::new(self.bus.clone(), Arc::clone(&clock)),
            clock,
            disk: self.disk.clone(),
            limits: MediaLimits {
                max_bytes: MAX_BYTES,
                parallel: 4,
                speed_window: Duration::from_secs(20),
            },
        }
    }

    pub(crate) fn blobs(&self) -> Blobs {
        let folder = BlobsKind::Folder(self.folder.path().join("blobs"));
        Blobs::open(&folder, &S3Config::default()).unwrap()
    }

    /// Returns the messages of a channel, oldest first.
    pub(crate) async fn messages(&self, channel: &ChannelId) -> Vec<StoredMessage> {
        let filter =
            MessageFilter { order: Order::Ascending, limit: 10_000, ..MessageFilter::default() };
        self.store.messages().list(channel, &filter).await.unwrap().messages
    }

    /// Returns bytes and messages in the counters of a channel, which agree with its messages.
    pub(crate) async fn counted(&self, channel: &ChannelId) -> (i64, i64) {
        let counters = self.store.channels().channel(channel).await.unwrap().unwrap();
        let all = self.messages(channel).await;
        let bytes: i64 = all.iter().map(|message| message.bytes).sum();
        assert_eq!(counters.bytes, bytes, "the counter of bytes has drifted");
        (counters.bytes, counters.message_count)
    }

    /// Returns the used bytes of a user, which agree with those of the channels.
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

    /// Charges bytes to a channel and its one subscriber, as if messages of that size were stored.
    pub(crate) async fn charge(&self, channel: &str, user: &str, bytes: i64) {
        for sql in [
            format!("UPDATE channels SET bytes = bytes + {bytes} WHERE channel_id = '{channel}'"),
            format!("UPDATE users SET used_bytes = used_bytes + {bytes} WHERE user_id = '{user}'"),
        ] {
            self.sql(&sql).await;
        }
    }

    /// Changes the database behind the stages' back.
    pub(crate) async fn sql(&self, sql: &str) {
        let mut connection = self.database().await;
        connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    }

    /// Returns the result of a SELECT of one text or number, as text; empty for NULL.
    pub(crate) async fn value(&self, sql: &str) -> String {
        let mut connection = self.database().await;
        let sql = format!("SELECT CAST(v AS TEXT) FROM (SELECT ({sql}) AS v)");
        let row: (Option<String>,) =
            sqlx::query_as(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        row.0.unwrap_or_default()
    }

    /// Keeps everybody from writing the database until the connection is closed.
    pub(crate) async fn lock(&self) -> SqliteConnection {
        let mut connection = self.database().await;
        connection.execute("BEGIN IMMEDIATE").await.unwrap();
        connection
    }

    async fn database(&self) -> SqliteConnection {
        let file = self.folder.path().join("chatkeep.db");
        SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap()
    }

    pub(crate) async fn dead_letters(&self) -> Vec<DeadLetter> {
        self.bus.dead_letters(10_000).await.unwrap()
    }

    /// Returns the number of messages that a stage has yet to finish.
    pub(crate) async fn backlog(&self, stage: StageName) -> u64 {
        self.bus.backlog(&stage.consumer(LEASE)).await.unwrap()
    }

    /// Returns the bot's messages in a chat, in order.
    pub(crate) fn said(&self, chat: &str) -> Vec<String> {
        let bot = self.line.transcript(chat).into_iter().filter(Entry::is_bot);
        bot.filter_map(|entry| entry.text).collect()
    }

    /// Returns the number of calls of the platform whose path ends so.
    pub(crate) fn calls(&self, path: &str) -> usize {
        self.line.calls().iter().filter(|call| call.path.ends_with(path)).count()
    }

    /// Checks that the platform had nothing to object.
    pub(crate) fn assert_polite(&self) {
        assert!(self.line.violations().is_empty(), "{:?}", self.line.violations());
    }
}

async fn open(folder: &TempDir, clock: &SharedClock) -> (Store, Bus) {
    let store = Store::open(&Database::Sqlite, folder.path(), 4).await.unwrap();
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(clock));
    let bus = Bus::Embedded(bus.await.unwrap());
    for stage in StageName::ALL {
        bus.ensure(&stage.consumer(LEASE)).await.unwrap();
    }
    (store, bus)
}

/// Returns bots of these names, all of them the emulator's only one.
pub(crate) fn bots(line: &Emulator, clock: &SharedClock, names: &[&str]) -> Bots {
    Bots::new(names.iter().map(|name| {
        let api = LineApi {
            bot: (*name).to_owned(),
            api_base: line.api_base(),
            data_api_base: line.api_base(),
            access_token: "emulator-access-token".to_owned().into(),
        };
        let (calls, files) = (http::client().unwrap(), http::download_client().unwrap());
        let client: SharedPlatform = Arc::new(LineClient::new(api, calls, files, clock));
        ((*name).to_owned(), client)
    }))
}

/// Returns the id of the message that was sent, edited or unsent.
pub(crate) fn message(events: &[Event]) -> MessageId {
    events[0].message_id.as_deref().unwrap().into()
}

/// Returns the events, each of them twice, in an order that nobody thought of.
pub(crate) fn shuffled_twice(events: Vec<Event>, random: &mut TestRunner) -> Vec<Event> {
    let twice = Just([events.clone(), events].concat()).prop_shuffle();
    twice.new_tree(random).unwrap().current()
}

/// Moves the timers of the runtime ahead: leases, and pauses in this process.
pub(crate) async fn skip(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}

/// Waits for a condition, until a deadline that [`skip`] does not move.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(POLL).await;
    }
}
