//! Sign-in as a browser meets it, at a provider in this process and with a clock that is moved.

mod callbacks;
mod provider;
mod sessions;
mod stub;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{Request, Response, StatusCode};
use chatkeep_bus::BusLimits;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_core::config::{BlobsKind, Config, Database, S3Config, Sources};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::time::{Clock as _, ManualClock, Timestamp};
use chatkeep_http::{PublicUrl, with_common_layers};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::Bots;
use chatkeep_search::{SearchFallback, SearchService};
use chatkeep_services::bot_setup::BotSetupService;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_services::{ServiceParts, Services};
use chatkeep_view::Links;
use chatkeep_workers::assistant::Assistants;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;
use url::Url;
use url::form_urlencoded::byte_serialize;

use self::stub::StubProvider;
use super::*;

/// Secret of this service at the provider.
const CLIENT_SECRET: &str = "secret of the client";
/// A browser that shows pages.
const PAGES: (&str, &str) = ("accept", "text/html,*/*;q=0.8");

/// The routes of login, for sessions that end when they are not used for a day.
struct Fixture {
    router: Router,
    clock: Arc<ManualClock>,
    provider: StubProvider,
    secret: SharedSecret,
    _folder: TempDir,
}

/// A login that was started.
struct Started {
    /// Parameters of the authorization request.
    parameters: BTreeMap<String, String>,
    /// The cookie that binds it to its browser, with its name.
    cookie: String,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    /// Creates it with further settings.
    async fn with(more: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_769_850_000_000)));
        let shared: SharedClock = clock.clone();
        let provider = StubProvider::start().await;
        let settings = [
            ("CHATKEEP_LOGIN_ISSUER", provider.issuer.as_str()),
            ("CHATKEEP_LOGIN_CLIENT_ID", stub::CLIENT),
            ("CHATKEEP_LOGIN_SESSION_DAYS", "1"),
        ];
        let settings = settings.iter().chain(more);
        let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = Config::load(Sources::new(None, settings.collect(), Vec::new())).unwrap();
        let services = services(folder.path(), &shared, config.login.idle).await;
        let url = PublicUrl::new(None, "127.0.0.1:8080".parse().unwrap()).unwrap();
        let sessions = BrowserSessions::new(services.sessions.clone(), url);
        let secret = SharedSecret::from(CLIENT_SECRET.to_owned());
        let login = Login::new(&config.login, Some(secret.clone()), sessions, shared).unwrap();
        let router = with_common_layers(router(login));
        Self { router, clock, provider, secret, _folder: folder }
    }

    /// Sends a request without a body; returns the response with its whole body.
    async fn send(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
    ) -> Response<Bytes> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        Response::from_parts(parts, to_bytes(body, usize::MAX).await.unwrap())
    }

    /// Returns the time of the clock in seconds, as tokens have it.
    fn seconds(&self) -> i64 {
        self.clock.now().millis() / 1_000
    }

    /// Starts a login at that address.
    async fn start(&self, path: &str) -> Started {
        let response = self.send(("GET", path), &[]).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{path}");
        let url = Url::parse(&location(&response)).unwrap();
        let parameters = url.query_pairs().into_owned().collect();
        Started { parameters, cookie: cookie(&response, "chatkeep_login").unwrap() }
    }

    /// Has the provider confirm a login for a person, with these claims beside the usual ones.
    fn confirm(&self, login: &Started, claims: &Value) {
        let nonce = &login.parameters["nonce"];
        self.provider.confirm(CLIENT_SECRET, self.seconds(), nonce, claims);
    }

    /// Sends the browser of a login back with this query, beside the state.
    async fn call_back(
        &self,
        login: &Started,
        query: &str,
        headers: &[(&str, &str)],
    ) -> Response<Bytes> {
        let path = format!("/auth/callback?state={}&{query}", login.parameters["state"]);
        let cookie = [("cookie", login.cookie.as_str())];
        self.send(("GET", &path), &[headers, &cookie].concat()).await
    }

    /// Signs somebody in with these claims; returns the cookie of the session.
    async fn sign_in(&self, claims: &Value) -> String {
        let login = self.start("/auth/login").await;
        self.confirm(&login, claims);
        let response = self.call_back(&login, "code=c", &[]).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{:?}", response.body());
        cookie(&response, "chatkeep_session").unwrap()
    }

    /// Asks who is signed in; returns the status and the body.
    async fn session(&self, cookie: &str) -> (StatusCode, Value) {
        let response = self.send(("GET", "/auth/session"), &[("cookie", cookie)]).await;
        (response.status(), json_of(&response))
    }
}

/// Opens services in a folder.
async fn services(folder: &Path, clock: &SharedClock, session_idle: Duration) -> Services {
    let store = chatkeep_store::Store::open(&Database::Sqlite, folder, 2).await.unwrap();
    let bus = EmbeddedBus::open(folder, BusLimits::default(), Arc::clone(clock)).await.unwrap();
    let media = BlobsKind::Folder(folder.join("media"));
    Services::new(ServiceParts {
        clock: Arc::clone(clock),
        bus: chatkeep_bus::Bus::Embedded(bus),
        blobs: chatkeep_blobs::Blobs::open(&media, &S3Config::default()).unwrap(),
        bots: Bots::default(),
        bot_setup: BotSetupService::new(Vec::new(), None, &[], Arc::clone(clock)),
        assistants: Assistants::new(store.clone(), SemanticSpace::built_in()),
        search: SearchService::new(None, SearchFallback::Nowhere),
        removals: RemovalWorker::new(store.clone(), Arc::clone(clock)),
        pictures: folder.join("pictures"),
        picture_reserve: DiskReserve::new(0),
        time_zone: "Asia/Taipei".parse().unwrap(),
        links: Links::new(None),
        allow_private_webhooks: false,
        session_idle,
        store,
    })
}

/// Returns the address of a redirect.
fn location(response: &Response<Bytes>) -> String {
    response.headers()[LOCATION].to_str().unwrap().to_owned()
}

/// Returns a cookie that a response sets, with its name.
fn cookie(response: &Response<Bytes>, name: &str) -> Option<String> {
    let lines = response.headers().get_all(SET_COOKIE).into_iter();
    let mut pairs = lines.filter_map(|line| line.to_str().unwrap().split(';').next());
    let pair = pairs.find(|pair| pair.split_once('=').is_some_and(|(found, _)| found == name));
    pair.map(str::to_owned)
}

fn json_of(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap_or_default()
}

/// Encodes a text for a query.
fn encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}
