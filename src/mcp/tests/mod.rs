//! The server for models on a real database, without a network: its tools called as functions, and
//! its endpoint by requests that no socket carries.

mod arguments;
mod citations;
mod completion;
mod context;
mod errors;
mod files;
mod forms;
mod gap_rows;
mod names;
mod overview;
mod pages;
mod prompts;
mod references;
mod rows;
mod scene;
mod schemas;
mod searches;
mod times;
mod windows;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use chatkeep_blobs::Blobs;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::config::{BlobsKind, Database, S3Config};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::{Content, MessageChange, Received};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::time::{Clock as _, ManualClock, SharedClock, Timestamp};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::Bots;
use chatkeep_search::{SearchFallback, SearchService};
use chatkeep_services::bot_setup::BotSetupService;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_services::{Caller, Credential, ServiceParts, Services};
use chatkeep_store::{ChannelChange, PresenceEvidence, PresenceEvidenceKind, Store};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chatkeep_workers::assistant::Assistants;
use chatkeep_workers::replica::Replica;
use chrono_tz::Tz;
use serde_json::Value;
use tempfile::TempDir;

use crate::error::ToolFailure;
use crate::tool::ToolResult;
use crate::{Admitted, PATH, service, tools, wire as endpoint};

/// Present time of the tests.
const NOW: &str = "2026-05-03T12:00:00Z";
/// Public address of the service.
const BASE: &str = "https://chat.example.org/x";
/// Group of [`ANN`], its owner, and [`BO`].
const GROUP: &str = "Cgroup000000000000000000000000000";
const ANN: &str = "Uann00000000000000000000000000000";
const BO: &str = "Ubo000000000000000000000000000000";

/// Services with a group, and the clock that they go by.
struct ToolBench {
    services: Services,
    store: Store,
    blobs: Blobs,
    /// Index of the searches, where there are any.
    replica: Option<Replica>,
    clock: Arc<ManualClock>,
    folder: TempDir,
}

/// Answer of a tool, in both forms.
#[derive(Debug)]
struct Told {
    given: Value,
    text: String,
    /// All content, the text first.
    content: Value,
}

impl ToolBench {
    async fn new() -> Self {
        Self::with(Tz::UTC, false).await
    }

    /// Creates it with an index to search in.
    async fn searching() -> Self {
        Self::with(Tz::UTC, true).await
    }

    /// Creates it for a service in that zone.
    async fn with(time_zone: Tz, has_index: bool) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(ManualClock::new(time(NOW)));
        let shared: SharedClock = Arc::<ManualClock>::clone(&clock);
        let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(&shared));
        let bus = Bus::Embedded(bus.await.unwrap());
        let blobs = open_blobs(&folder);
        let mut replica = None;
        if has_index {
            let index = folder.path().join("index");
            let opened = Replica::open(store.clone(), index, Arc::clone(&shared)).await.unwrap();
            opened.catch_up().await.unwrap();
            replica = Some(opened);
        }
        let services = Services::new(ServiceParts {
            store: store.clone(),
            clock: Arc::clone(&shared),
            bus,
            blobs: blobs.clone(),
            bots: Bots::new([]),
            bot_setup: BotSetupService::new(Vec::new(), None, &[], Arc::clone(&shared)),
            assistants: Assistants::new(store.clone(), SemanticSpace::built_in()),
            search: SearchService::new(replica.clone(), SearchFallback::Nowhere),
            removals: RemovalWorker::new(store.clone(), shared),
            pictures: folder.path().join("pictures"),
            picture_reserve: DiskReserve::new(0),
            time_zone,
            links: Links::new(Some(BASE)),
            allow_private_webhooks: false,
            session_idle: Duration::from_hours(1),
        });
        let bench = Self { services, store, blobs, replica, clock, folder };
        bench.channel(GROUP, &[ANN, BO]).await;
        bench
    }

    /// Creates a channel with these people in it, subscribed by the first.
    async fn channel(&self, id: &str, people: &[&str]) {
        let mut seen = vec![evidence(id, 1, PresenceEvidenceKind::BotJoined)];
        for person in people {
            seen.push(evidence(id, 1, PresenceEvidenceKind::Present((*person).into())));
        }
        self.store.members().record_presence(&seen, at(1)).await.unwrap();
        self.store.accounts().subscribe(&id.into(), &people[0].into(), at(2)).await.unwrap();
    }

    /// Has the bot out of a channel from one time to another.
    async fn absent(&self, id: &str, from: &str, to: &str) {
        let (from, to) = (time(from), time(to));
        let seen = [
            evidence(id, from.millis(), PresenceEvidenceKind::BotLeft),
            evidence(id, to.millis(), PresenceEvidenceKind::BotJoined),
        ];
        self.store.members().record_presence(&seen, to).await.unwrap();
    }

    async fn name_person(&self, user: &str, name: &str) {
        let profile = Profile { display_name: name.to_owned(), picture_url: None, language: None };
        let names = [(UserId::from(user), Some(profile))].into();
        self.store.members().save_profiles(&names, self.clock.now()).await.unwrap();
    }

    async fn name_channel(&self, id: &str, name: &str) {
        let summary = ChannelSummary { name: Some(name.to_owned()), ..ChannelSummary::default() };
        let names = [(ChannelId::from(id), summary)].into();
        self.store.channels().save_summaries(&names, self.clock.now()).await.unwrap();
    }

    async fn set_zone(&self, id: &str, zone: &str) {
        let (channels, now) = (self.store.channels(), self.clock.now());
        channels.set_time_zone(&id.into(), Some(zone), &ANN.into(), now).await.unwrap();
    }

    /// Stores changes, and has searches find them.
    async fn keep(&self, changes: &[ChannelChange]) {
        self.store.messages().ingest(changes, self.clock.now()).await.unwrap();
        if let Some(replica) = &self.replica {
            replica.catch_up().await.unwrap();
        }
    }

    /// Calls a tool, and checks what it returns against its schema.
    async fn try_call(
        &self,
        caller: Caller,
        tool: &str,
        arguments: Value,
    ) -> Result<Told, ToolFailure> {
        let entry = tools::find(tool).unwrap();
        let answer = entry.call(&self.services, caller, arguments).await?;
        let ToolResult { structured, content } = answer;
        schemas::check(tool, &structured);
        let content = serde_json::to_value(content).unwrap();
        let text = content[0]["text"].as_str().unwrap().to_owned();
        Ok(Told { given: structured, text, content })
    }

    /// Calls a tool as Ann.
    async fn call(&self, tool: &str, arguments: Value) -> Told {
        self.try_call(caller(ANN), tool, arguments).await.unwrap()
    }

    /// Returns what Ann is told where a tool cannot be called so.
    async fn refusal(&self, tool: &str, arguments: Value) -> String {
        self.try_call(caller(ANN), tool, arguments).await.unwrap_err().text
    }

    /// Returns the endpoint for a caller whose key was found valid.
    fn endpoint(&self, caller: Caller) -> Router {
        let admit = move |mut request: Request, next: Next| {
            request.extensions_mut().insert(Admitted(caller.clone()));
            next.run(request)
        };
        Router::new()
            .route_service(PATH, service(self.services.clone()))
            .layer(from_fn(endpoint::layer))
            .layer(from_fn(admit))
    }
}

fn open_blobs(folder: &TempDir) -> Blobs {
    let place = BlobsKind::Folder(folder.path().join("files"));
    Blobs::open(&place, &S3Config::default()).unwrap()
}

/// Returns a caller whose key may do what the person may.
fn caller(user: &str) -> Caller {
    bounded(user, Bounds::full())
}

fn bounded(user: &str, bounds: Bounds) -> Caller {
    Caller { user: user.into(), credential: key(), bounds, mask: Mask::none() }
}

fn key() -> Credential {
    Credential::Key("key".into())
}

/// Returns the credential of a program that a person let in.
fn token() -> Credential {
    Credential::Token { grant: "grant".to_owned(), resource: format!("{BASE}{PATH}") }
}

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[track_caller]
fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or_else(|| panic!("{text}"))
}

fn evidence(channel: &str, millis: i64, kind: PresenceEvidenceKind) -> PresenceEvidence {
    PresenceEvidence {
        channel: ChannelRef { id: channel.into(), kind: ChannelKind::Group },
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        at: at(millis),
        kind,
    }
}

/// Returns a message of anything in a channel.
fn sent(place: (&str, &str), sender: &str, sent_at: Timestamp, content: &Content) -> ChannelChange {
    let received = Received {
        at: sent_at,
        sender: Some(sender.into()),
        kind: content.kind(),
        content: serde_json::to_string(content).unwrap(),
        quoted: None,
        is_bot: false,
    };
    let (channel, id) = place;
    changed(channel, id, MessageChange::Received(received))
}

/// Returns a text in the group.
fn said(id: &str, sender: &str, sent_at: &str, words: &str) -> ChannelChange {
    sent((GROUP, id), sender, time(sent_at), &Content::text(words))
}

/// Returns the same message as one that quotes another.
fn quoting(mut change: ChannelChange, quoted: &str) -> ChannelChange {
    if let MessageChange::Received(received) = &mut change.change {
        received.quoted = Some(quoted.into());
    }
    change
}

fn changed(channel: &str, id: &str, change: MessageChange) -> ChannelChange {
    ChannelChange { channel: channel.into(), message: MessageId::from(id), change }
}

/// Returns the change that replaces the text of a message of the group.
fn edited(id: &str, edited_at: &str, words: &str) -> ChannelChange {
    let content = serde_json::to_string(&Content::text(words)).unwrap();
    changed(GROUP, id, MessageChange::Edited { at: time(edited_at), by: None, content })
}

/// Returns the change that takes a message of the group back.
fn unsent(id: &str, unsent_at: &str) -> ChannelChange {
    changed(GROUP, id, MessageChange::Unsent { at: time(unsent_at) })
}

/// Returns a member of each row of a list.
#[track_caller]
fn each<'v>(list: &'v Value, member: &str) -> Vec<&'v str> {
    let rows = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    rows.iter().map(|row| row[member].as_str().unwrap_or_default()).collect()
}

/// Returns arguments with these added.
fn with(base: &Value, more: &Value) -> Value {
    let mut all = base.clone();
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}
