//! The API on a database of its own, with a clock that is moved by hand and keys of two people.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, Response};
use axum::middleware::from_fn_with_state;
use chatkeep_blobs::Blobs;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::{BlobsKind, Database, RateLimitConfig, S3Config};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, KeyId};
use chatkeep_core::message::{Content, MessageChange, Received};
use chatkeep_core::role::Scope;
use chatkeep_core::time::{Clock as _, ManualClock, SharedClock, Timestamp};
use chatkeep_http::rate_limit::RateLimitGate;
use chatkeep_http::{
    BrowserSessions, Identification, LargeResponses, PublicUrl, identify, served,
    with_common_layers,
};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::Bots;
use chatkeep_search::{SearchFallback, SearchService};
use chatkeep_services::bot_setup::BotSetupService;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_services::{ServiceParts, Services};
use chatkeep_store::{
    ChannelChange, NewKey, PresenceEvidence, PresenceEvidenceKind, SignedIn, Store,
};
use chatkeep_view::Links;
use chatkeep_workers::assistant::Assistants;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::{Api, Idempotency};

/// A group with two members.
pub(super) const CHANNEL: &str = "C1";
/// Its owner, with a key.
pub(super) const OWNER: &str = "U1";
pub(super) const OWNER_KEY: &str = "ck_owner";
/// The other member, with a key.
pub(super) const MEMBER: &str = "U2";
pub(super) const MEMBER_KEY: &str = "ck_member";
/// Address of the service.
pub(super) const ADDRESS: &str = "http://127.0.0.1:8080";
/// Time after its last use at which a session ends.
pub(super) const SESSION_IDLE: Duration = Duration::from_hours(24);

/// The API, the group, and the keys of its members, which have all scopes.
pub(super) struct ApiFixture {
    pub(super) clock: Arc<ManualClock>,
    pub(super) sessions: BrowserSessions,
    router: Router,
    store: Store,
    _folder: TempDir,
}

/// Response with its whole body.
pub(super) struct ReadAnswer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl ReadAnswer {
    /// Returns the body; null where it is no JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the text of a header; empty without one.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the status, the code and the field of an error, each of which may be empty.
    pub(super) fn error(&self) -> (u16, String, String) {
        let body = self.json();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        (self.status, text("code"), text("field"))
    }
}

impl ApiFixture {
    /// Creates it without a rate limit.
    pub(super) async fn new() -> Self {
        Self::limited(RateLimitConfig { per_minute: 0, burst: 1 }).await
    }

    pub(super) async fn limited(rate: RateLimitConfig) -> Self {
        let folder = TempDir::new().unwrap();
        let start = Timestamp::parse("2026-01-31T09:30:00Z").unwrap();
        let clock = Arc::new(ManualClock::new(start));
        let shared: SharedClock = clock.clone();
        let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        let services = services(&store, &folder, &shared).await;
        let url = PublicUrl::new(None, "127.0.0.1:8080".parse().unwrap()).unwrap();
        let sessions = BrowserSessions::new(services.sessions.clone(), url.clone());
        let identification = Identification {
            credentials: services.credentials.clone(),
            sessions: sessions.clone(),
            gate: RateLimitGate::alone(rate, &shared),
            is_file: crate::is_media_file,
            over_limit: as_all_others,
            proxies: 0,
        };
        let idempotency =
            Idempotency { keys: services.idempotency.clone(), sessions: sessions.clone() };
        let large = LargeResponses::default();
        let api = Api { services, large: large.clone(), url };
        let router = crate::router(api, idempotency)
            .layer(from_fn_with_state(Arc::new(identification), identify))
            .merge(crate::docs());
        let router = with_common_layers(served(router, large, &[]));
        let fixture = Self { clock, sessions, router, store, _folder: folder };
        fixture.fill().await;
        fixture
    }

    async fn fill(&self) {
        let (channel, now) = (ChannelId::from(CHANNEL), self.clock.now());
        let present = |user: &str| PresenceEvidence {
            channel: ChannelRef { id: channel.clone(), kind: ChannelKind::Group },
            platform: PlatformKind::Line,
            bot: String::new(),
            at: now,
            kind: PresenceEvidenceKind::Present(user.into()),
        };
        let evidence = [present(OWNER), present(MEMBER)];
        self.store.members().record_presence(&evidence, now).await.unwrap();
        self.store.accounts().subscribe(&channel, &OWNER.into(), now).await.unwrap();
        for (user, secret) in [(OWNER, OWNER_KEY), (MEMBER, MEMBER_KEY)] {
            let id = KeyId::new(format!("key_{user}"));
            let key = NewKey {
                id: &id,
                secret,
                user: &user.into(),
                name: "everything",
                scopes: &Scope::ALL,
                channels: None,
                not_before: None,
                pseudonyms: None,
                expires_at: None,
            };
            assert!(self.store.keys().add_key(&key, now).await.unwrap().is_some());
        }
    }

    /// Stores a text that the owner says now.
    pub(super) async fn said(&self, id: &str, text: &str) {
        let content = Content::text(text);
        let received = Received {
            at: self.clock.now(),
            sender: Some(OWNER.into()),
            kind: content.kind(),
            content: serde_json::to_string(&content).unwrap(),
            quoted: None,
            is_bot: false,
        };
        let change = MessageChange::Received(received);
        let change = ChannelChange { channel: CHANNEL.into(), message: id.into(), change };
        self.store.messages().ingest(&[change], self.clock.now()).await.unwrap();
    }

    /// Signs somebody in; returns the cookie of the session.
    pub(super) async fn sign_in(&self, user: &str) -> String {
        let user = user.into();
        let person = SignedIn { user: &user, display_name: None, picture_url: None };
        let secret = self.sessions.service().begin(&person).await.unwrap();
        format!("chatkeep_session={secret}")
    }

    /// Sends a request.
    pub(super) async fn send(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> ReadAnswer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.into()).unwrap();
        let response: Response<Body> = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        ReadAnswer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Sends a request with a key, and with a body unless that is null.
    pub(super) async fn ask_as(
        &self,
        key: &str,
        request: (&str, &str),
        body: &Value,
    ) -> ReadAnswer {
        let authorization = format!("Bearer {key}");
        let headers =
            [("authorization", authorization.as_str()), ("content-type", "application/json")];
        if body.is_null() {
            self.send(request, &headers[..1], Body::empty()).await
        } else {
            self.send(request, &headers, body.to_string()).await
        }
    }

    /// Sends a request of the owner.
    pub(super) async fn ask(&self, method: &str, path: &str, body: &Value) -> ReadAnswer {
        self.ask_as(OWNER_KEY, (method, path), body).await
    }

    /// Sends a request of the owner that must succeed; returns the body of the response.
    pub(super) async fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, path, body).await;
        assert!((200..300).contains(&answer.status), "{method} {path}: {:?}", answer.body);
        answer.json()
    }

    /// Reads something as the owner.
    pub(super) async fn read(&self, path: &str) -> ReadAnswer {
        self.ask("GET", path, &Value::Null).await
    }

    /// Makes one of everything that the owner can make; returns the ids by the names that paths
    /// have for them.
    pub(super) async fn objects(&self) -> Vec<(&'static str, String)> {
        self.said("m1", "早安 👩‍👩‍👧 e\u{301}").await;
        let rule = json!({"keywords": ["早安"], "answer": "Good morning"});
        let rules = self.done("POST", "/api/channels/C1/assistant/qa", &rule).await;
        let search = json!({"name": "greetings", "query": "早安"});
        let search = self.done("POST", "/api/saved-searches", &search).await;
        let webhook = json!({"url": "https://hooks.example.com/x", "events": ["message.received"]});
        let webhook = self.done("POST", "/api/webhooks", &webhook).await;
        let test = format!("/api/webhooks/{}/test", text(&webhook["webhookId"]));
        let delivery = self.done("POST", &test, &Value::Null).await;
        let exports = "/api/channels/C1/backup/exports";
        let export = self.done("POST", exports, &json!({"format": "csv"})).await;
        let key = json!({"name": "spare", "scopes": ["read:messages"]});
        let key = self.done("POST", "/api/keys", &key).await;
        vec![
            ("channelId", CHANNEL.to_owned()),
            ("userId", MEMBER.to_owned()),
            ("messageId", "m1".to_owned()),
            ("qaId", text(&rules["items"][0]["id"])),
            ("savedSearchId", text(&search["savedSearchId"])),
            ("webhookId", text(&webhook["webhookId"])),
            ("deliveryId", text(&delivery["deliveryId"])),
            ("exportId", text(&export["id"])),
            ("jobId", text(&export["id"])),
            ("keyId", text(&key["keyId"])),
        ]
    }

    /// Returns the time `by` from now as requests write it.
    pub(super) fn later(&self, by: Duration) -> String {
        self.clock.now().plus(by).to_string()
    }
}

/// Returns a path with these ids in place of its parameters.
pub(super) fn filled_in(path: &str, ids: &[(&str, String)]) -> String {
    let fill = |path: String, (name, id): &(&str, String)| path.replace(&format!("{{{name}}}"), id);
    ids.iter().fold(path.to_owned(), fill)
}

/// Returns a text that must be there.
pub(super) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Gives requests over the rate limit the response of all others.
fn as_all_others(
    _: Request<Body>,
    _: u64,
) -> Pin<Box<dyn Future<Output = Option<Response<Body>>> + Send>> {
    Box::pin(ready(None))
}

async fn services(store: &Store, folder: &TempDir, clock: &SharedClock) -> Services {
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(clock)).await;
    let media = BlobsKind::Folder(folder.path().join("media"));
    Services::new(ServiceParts {
        store: store.clone(),
        clock: Arc::clone(clock),
        bus: Bus::Embedded(bus.unwrap()),
        blobs: Blobs::open(&media, &S3Config::default()).unwrap(),
        bots: Bots::default(),
        bot_setup: BotSetupService::new(Vec::new(), None, &[], Arc::clone(clock)),
        assistants: Assistants::new(store.clone(), SemanticSpace::built_in()),
        search: SearchService::new(None, SearchFallback::Nowhere),
        removals: RemovalWorker::new(store.clone(), Arc::clone(clock)),
        pictures: folder.path().join("pictures"),
        picture_reserve: DiskReserve::new(0),
        time_zone: "Asia/Taipei".parse().unwrap(),
        links: Links::new(Some(ADDRESS)),
        allow_private_webhooks: false,
        session_idle: SESSION_IDLE,
    })
}
