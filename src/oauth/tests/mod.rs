//! The authorization server in one process: a client and a person's browser by requests that no
//! socket carries, on a real database, by a clock that is moved by hand.

mod authorize;
mod redirects;
mod registration;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_blobs::Blobs;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::{BlobsKind, Database, S3Config};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::time::{ManualClock, SharedClock, Timestamp};
use chatkeep_http::{BrowserSessions, PublicUrl};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::Bots;
use chatkeep_search::{SearchFallback, SearchService};
use chatkeep_services::bot_setup::BotSetupService;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_services::{Caller, ServiceError, ServiceParts, Services};
use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind, SignedIn, Store};
use chatkeep_view::Links;
use chatkeep_workers::assistant::Assistants;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tower::ServiceExt as _;
use url::Url;
use url::form_urlencoded::Serializer;

use super::{OAuth, router};

const BASE: &str = "https://chat.example.org";
const RESOURCE: &str = "https://chat.example.org/mcp";
/// Address of a program on the person's own machine.
const BACK: &str = "http://127.0.0.1:33418/callback";
const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more-x";
const ANN: &str = "Uann00000000000000000000000000000";
/// Channels of Ann.
const CHANNELS: [&str; 2] =
    ["Cone00000000000000000000000000000", "Ctwo00000000000000000000000000000"];

/// The server with a person who is signed in.
struct ConsentBench {
    router: Router,
    services: Services,
    clock: Arc<ManualClock>,
    /// Cookie of the person's browser.
    cookie: String,
    _folder: TempDir,
}

/// Response of the server.
#[derive(Debug)]
struct Answered {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Returns the address to which it leads; empty where it leads nowhere.
    fn location(&self) -> &str {
        self.headers.get(header::LOCATION).map_or("", |to| to.to_str().unwrap())
    }

    /// Returns the hidden fields of its form.
    fn fields(&self) -> Vec<(String, String)> {
        let fields = self.body.split("<input type=\"hidden\" name=\"").skip(1).map(|field| {
            let (name, rest) = field.split_once("\" value=\"").unwrap();
            let value = rest.split_once('"').unwrap().0;
            let value =
                [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
                    .into_iter()
                    .fold(value.to_owned(), |value, (escaped, one)| value.replace(escaped, one));
            (name.to_owned(), value)
        });
        fields.collect()
    }
}

impl ConsentBench {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let start = Timestamp::parse("2026-05-03T12:00:00Z").unwrap();
        let clock = Arc::new(ManualClock::new(start));
        let shared: SharedClock = Arc::<ManualClock>::clone(&clock);
        let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        fill(&store, start).await;
        let services = open_services(store, &shared, &folder).await;
        let url = PublicUrl::new(Some(BASE), "127.0.0.1:80".parse().unwrap()).unwrap();
        let sessions = BrowserSessions::new(services.sessions.clone(), url);
        let user = ANN.into();
        let person = SignedIn { user: &user, display_name: Some("Ann"), picture_url: None };
        let set = sessions.begin(&person).await.unwrap();
        let cookie = set.split(';').next().unwrap().to_owned();
        let http = GuardedClient::new(false).unwrap();
        let oauth = OAuth::new(sessions, services.clone(), shared, RESOURCE.to_owned(), http);
        Self { router: router(oauth), services, clock, cookie, _folder: folder }
    }

    async fn send(&self, request: Request<Body>) -> Answered {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Answered { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    /// Opens an address in the person's browser.
    async fn open(&self, address: &str) -> Answered {
        let path = address.strip_prefix(BASE).unwrap();
        let request = Request::get(path).header(header::COOKIE, &self.cookie);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a form of the person's browser.
    async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answered {
        let request = Request::post(path).header(header::COOKIE, &self.cookie);
        self.send(request.body(form(fields)).unwrap()).await
    }

    /// Sends a form of a program, which has no session.
    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answered {
        self.send(Request::post(path).body(form(fields)).unwrap()).await
    }

    /// Registers a program; returns its id.
    async fn register(&self, redirect: &str) -> String {
        let said = json!({"client_name": "Helper", "redirect_uris": [redirect]}).to_string();
        let answer = self.send(Request::post("/oauth/register").body(said.into()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
        answer.json()["client_id"].as_str().unwrap().to_owned()
    }

    /// Has the person decide on the question at an address; returns where they are led.
    async fn decide(&self, asking: &str, chosen: &[(&str, &str)]) -> String {
        let page = self.open(asking).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        let fields = page.fields();
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: Vec<_> = fields.chain(chosen.iter().copied()).collect();
        let answer = self.submit("/oauth/authorize", &fields).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        answer.location().to_owned()
    }

    /// Has the person allow what a client asks for; returns the code.
    async fn allow(&self, asking: &str) -> String {
        let back = self.decide(asking, &[("decision", "allow"), ("reach", "all")]).await;
        parameter(&back, "code")
    }

    /// Exchanges a code as its client does.
    async fn exchange(&self, client: &str, code: &str) -> Answered {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", code),
            ("redirect_uri", BACK),
            ("code_verifier", VERIFIER),
        ];
        self.post("/oauth/token", &fields).await
    }

    async fn refresh(&self, client: &str, token: &str) -> Answered {
        let fields =
            [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)];
        self.post("/oauth/token", &fields).await
    }

    /// Has the person let a client in; returns its tokens.
    async fn let_in(&self, client: &str) -> Value {
        let code = self.allow(&asking(client, &[])).await;
        let tokens = self.exchange(client, &code).await;
        assert_eq!(tokens.status, StatusCode::OK, "{}", tokens.body);
        tokens.json()
    }

    /// Returns whom an access token stands for.
    async fn caller(&self, tokens: &Value) -> Result<Caller, ServiceError> {
        self.services.credentials.caller(tokens["access_token"].as_str().unwrap()).await
    }
}

/// Stores the person's channels.
async fn fill(store: &Store, now: Timestamp) {
    for channel in CHANNELS {
        let present = |user: &str| PresenceEvidence {
            channel: ChannelRef { id: channel.into(), kind: ChannelKind::Group },
            platform: PlatformKind::Line,
            bot: "main".to_owned(),
            at: now,
            kind: PresenceEvidenceKind::Present(user.into()),
        };
        store.members().record_presence(&[present(ANN)], now).await.unwrap();
    }
}

async fn open_services(store: Store, clock: &SharedClock, folder: &TempDir) -> Services {
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(clock));
    let files = BlobsKind::Folder(folder.path().join("files"));
    Services::new(ServiceParts {
        store: store.clone(),
        clock: Arc::clone(clock),
        bus: Bus::Embedded(bus.await.unwrap()),
        blobs: Blobs::open(&files, &S3Config::default()).unwrap(),
        bots: Bots::new([]),
        bot_setup: BotSetupService::new(Vec::new(), None, &[], Arc::clone(clock)),
        assistants: Assistants::new(store.clone(), SemanticSpace::built_in()),
        search: SearchService::new(None, SearchFallback::Nowhere),
        removals: RemovalWorker::new(store, Arc::clone(clock)),
        pictures: folder.path().join("pictures"),
        picture_reserve: DiskReserve::new(0),
        time_zone: chrono_tz::UTC,
        links: Links::new(Some(BASE)),
        allow_private_webhooks: false,
        session_idle: Duration::from_hours(24 * 365),
    })
}

fn form(fields: &[(&str, &str)]) -> Body {
    Serializer::new(String::new()).extend_pairs(fields).finish().into()
}

/// Returns the address of a client's question, with parameters added, replaced or left out.
fn asking(client: &str, changes: &[(&str, Option<&str>)]) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let mut asked = vec![
        ("client_id", client),
        ("redirect_uri", BACK),
        ("response_type", "code"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in changes {
        asked.retain(|(known, _)| known != name);
        asked.extend(value.map(|value| (*name, value)));
    }
    let query = Serializer::new(String::new()).extend_pairs(asked).finish();
    format!("{BASE}/oauth/authorize?{query}")
}

#[track_caller]
fn parameter(address: &str, name: &str) -> String {
    let url = Url::parse(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    let found = url.query_pairs().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("no {name} in {address}")).1.into_owned()
}
