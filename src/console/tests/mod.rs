//! Pages of the console without a server: its routes are called directly, on a database in a folder
//! of their own and with a clock that stands still. What only a whole program or a browser can show
//! is in `tests/it/console/`.

mod account_pages;
mod addresses;
mod assistant_pages;
mod bubbles;
mod conversation;
mod dates;
mod forms;
mod labels;
mod languages;
mod log_rows;
mod my_data_pages;
mod named_keys;
mod people_pages;
mod refusals;
mod search_forms;
mod settings_pages;
mod texts;
mod visitors;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use chatkeep_blobs::Blobs;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::{BlobsKind, Database, RateLimitConfig, S3Config};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, MessageId, SessionId, UserId};
use chatkeep_core::message::{Content, MessageChange, Received};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::role::Role;
use chatkeep_core::time::{ManualClock, SharedClock, Timestamp};
use chatkeep_http::rate_limit::RateLimitGate;
use chatkeep_http::{BrowserSessions, Identification, PublicUrl, identify};
use chatkeep_i18n::Language;
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::Bots;
use chatkeep_search::{SearchFallback, SearchService};
use chatkeep_services::bot_setup::BotSetupService;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_services::{ServiceParts, Services};
use chatkeep_store::{
    Channel, ChannelChange, ChannelStatus, NewSession, PresenceEvidence, PresenceEvidenceKind,
    Sender, SignedIn, Store, StoredMessage,
};
use chatkeep_view::Links;
use chatkeep_workers::assistant::Assistants;
use futures_util::FutureExt as _;
use tempfile::TempDir;
use tower::ServiceExt as _;
use url::form_urlencoded;

use super::{Console, Entrances, SignInOffer, is_file, router};

/// Group of the pages.
const GROUP: &str = "C1";
/// Its name.
const NAME: &str = "週末 Readers";
/// Present time: noon in Taipei, the service's zone.
const NOW: &str = "2026-03-01T04:00:00Z";
/// Time at which everybody joined.
const JOINED: &str = "2026-01-01T00:00:00Z";
const FORM: &str = "application/x-www-form-urlencoded";

/// Console with a group, one person of each role in it and somebody who is not, each with a session.
struct ConsoleBench {
    console: Console,
    db: Store,
    hands: Arc<ManualClock>,
    router: Router,
    _folder: TempDir,
}

/// Answer to a request.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let body = String::from_utf8(bytes.to_vec()).unwrap();
        Self { status: parts.status, headers: parts.headers, body }
    }

    /// Returns the address that it leads to.
    fn location(&self) -> &str {
        self.headers[header::LOCATION].to_str().unwrap()
    }

    /// Asserts that it has that status and says that.
    fn says(&self, status: StatusCode, sentence: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert!(self.body.contains(&escaped(sentence)), "{sentence}: {}", self.body);
    }

    /// Asserts that it leads to that address.
    fn leads_to(&self, address: &str) {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        assert_eq!(self.location(), address);
    }
}

impl ConsoleBench {
    async fn new() -> Self {
        Self::with(Entrances::default()).await
    }

    async fn with(entrances: Entrances) -> Self {
        let folder = TempDir::new().unwrap();
        let hands = Arc::new(ManualClock::new(at(NOW)));
        let clock: SharedClock = Arc::<ManualClock>::clone(&hands);
        let db = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        let services = services(&folder, &db, &clock).await;
        let url = PublicUrl::new(None, "127.0.0.1:8080".parse().unwrap()).unwrap();
        let sessions = BrowserSessions::new(services.sessions.clone(), url);
        let console = Console {
            services: services.clone(),
            sessions: sessions.clone(),
            sign_in: Some(SignInOffer::Line),
            mcp: "http://127.0.0.1:8080/mcp".into(),
            clock: Arc::clone(&clock),
            entrances,
        };
        let unlimited = RateLimitConfig { per_minute: 0, burst: 1 };
        let identification = Identification {
            credentials: services.credentials.clone(),
            sessions,
            gate: RateLimitGate::alone(unlimited, &clock),
            is_file,
            over_limit: |_, _| futures_util::future::ready(None).boxed(),
            proxies: 0,
        };
        let known = from_fn_with_state(Arc::new(identification), identify);
        let router = router(console.clone()).layer(known);
        let bench = Self { console, db, hands, router, _folder: folder };
        bench.fill().await;
        bench
    }

    async fn fill(&self) {
        let (group, then) = (ChannelId::from(GROUP), at(JOINED));
        let people = ["Uowner", "Uadmin", "Umember", "Uguest"];
        let evidence = people.map(|user| PresenceEvidence {
            channel: ChannelRef { id: group.clone(), kind: ChannelKind::Group },
            platform: PlatformKind::Line,
            bot: String::new(),
            at: then,
            kind: PresenceEvidenceKind::Joined(user.into()),
        });
        self.db.members().record_presence(&evidence, then).await.unwrap();
        let named = ChannelSummary { name: Some(NAME.to_owned()), ..ChannelSummary::default() };
        let named = BTreeMap::from([(group.clone(), named)]);
        self.db.channels().save_summaries(&named, then).await.unwrap();
        let owner = UserId::from("Uowner");
        self.db.accounts().subscribe(&group, &owner, then).await.unwrap();
        for (user, role) in [("Uadmin", Role::Admin), ("Uguest", Role::Guest)] {
            self.db.members().set_role(&group, &owner, &user.into(), role, then).await.unwrap();
        }
        for user in people.into_iter().chain(["Ustranger"]) {
            self.sign_in(user, &format!("Name of {user}")).await;
        }
    }

    async fn sign_in(&self, user: &str, name: &str) {
        let (id, secret) = (SessionId::new(format!("session-{user}")), secret(user));
        let csrf = format!("csrf-{user}");
        let session = NewSession { id: &id, secret: &secret, csrf: &csrf };
        let user = UserId::from(user);
        let person = SignedIn { user: &user, display_name: Some(name), picture_url: None };
        self.db.sessions().sign_in(&person, &session, self.console.clock.now()).await.unwrap();
    }

    async fn ask(&self, request: Request<Body>) -> Answer {
        Answer::of(self.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Opens a page as that person in a language.
    async fn open_in(&self, path: &str, user: &str, language: Language) -> Answer {
        let request = Request::get(path)
            .header(header::COOKIE, cookie(user))
            .header(header::ACCEPT_LANGUAGE, language.tag());
        self.ask(request.body(Body::empty()).unwrap()).await
    }

    /// Opens a page as that person in English.
    async fn open(&self, path: &str, user: &str) -> Answer {
        self.open_in(path, user, Language::English).await
    }

    /// Sends a form as that person in a language.
    async fn post_in(
        &self,
        path: &str,
        (user, language): (&str, Language),
        form: &[(&str, &str)],
    ) -> Answer {
        let request = Request::post(path)
            .header(header::COOKIE, cookie(user))
            .header(header::ACCEPT_LANGUAGE, language.tag())
            .header(header::CONTENT_TYPE, FORM);
        self.ask(request.body(Body::from(body_of(user, form))).unwrap()).await
    }

    /// Sends a form as that person in English.
    async fn post(&self, path: &str, user: &str, form: &[(&str, &str)]) -> Answer {
        self.post_in(path, (user, Language::English), form).await
    }

    /// Gives a person another name on the platform.
    async fn rename(&self, user: &str, name: &str) {
        let profile = Profile { display_name: name.to_owned(), picture_url: None, language: None };
        let profiles = BTreeMap::from([(UserId::from(user), Some(profile))]);
        self.db.members().save_profiles(&profiles, self.console.clock.now()).await.unwrap();
    }

    /// Stores a text of a person that was sent at that time.
    async fn say(&self, id: &str, user: &str, time: &str, words: &str) {
        self.change(&[(id, said(user, at(time), words))]).await;
    }

    async fn change(&self, changes: &[(&str, MessageChange)]) {
        let changes = changes.iter().map(|(id, change)| ChannelChange {
            channel: GROUP.into(),
            message: (*id).into(),
            change: change.clone(),
        });
        let changes: Vec<_> = changes.collect();
        self.db.messages().ingest(&changes, self.console.clock.now()).await.unwrap();
    }
}

/// Returns a text of a person that was sent at that time.
fn said(user: &str, at: Timestamp, words: &str) -> MessageChange {
    let content = Content::text(words);
    MessageChange::Received(Received {
        at,
        sender: Some(user.into()),
        kind: content.kind(),
        content: serde_json::to_string(&content).unwrap(),
        quoted: None,
        is_bot: false,
    })
}

async fn services(folder: &TempDir, db: &Store, clock: &SharedClock) -> Services {
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(clock));
    let files = BlobsKind::Folder(folder.path().join("files"));
    Services::new(ServiceParts {
        store: db.clone(),
        clock: Arc::clone(clock),
        bus: Bus::Embedded(bus.await.unwrap()),
        blobs: Blobs::open(&files, &S3Config::default()).unwrap(),
        bots: Bots::new([]),
        bot_setup: BotSetupService::new(Vec::new(), None, &[], Arc::clone(clock)),
        assistants: Assistants::new(db.clone(), SemanticSpace::built_in()),
        search: SearchService::new(None, SearchFallback::Nowhere),
        removals: RemovalWorker::new(db.clone(), Arc::clone(clock)),
        pictures: folder.path().join("pictures"),
        picture_reserve: DiskReserve::new(0),
        time_zone: chrono_tz::Asia::Taipei,
        links: Links::default(),
        allow_private_webhooks: false,
        session_idle: Duration::from_hours(30 * 24),
    })
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Returns the secret of a person's session.
fn secret(user: &str) -> String {
    format!("secret-of-{user}")
}

fn cookie(user: &str) -> String {
    format!("chatkeep_session={}", secret(user))
}

/// Returns the body of a form with the token of that person's session.
fn body_of(user: &str, form: &[(&str, &str)]) -> String {
    let token = format!("csrf-{user}");
    let pairs = [("csrf", token.as_str())].into_iter().chain(form.iter().copied());
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Returns a text as pages write it.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Decodes a part of an address.
fn decoded(part: &str) -> String {
    let pairs = format!("part={}", part.replace('+', "%2B"));
    let mut pairs = form_urlencoded::parse(pairs.as_bytes());
    pairs.next().unwrap().1.into_owned()
}

/// Returns the values of a field in the query of an address.
fn values_of(address: &str, field: &str) -> Vec<String> {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let pairs = form_urlencoded::parse(query.as_bytes());
    pairs.filter(|(name, _)| name == field).map(|(_, value)| value.into_owned()).collect()
}

/// Returns a group without a name and messages, as it is since that time.
pub(super) fn group_since(time: Timestamp, id: &str) -> Channel {
    Channel {
        id: id.into(),
        platform: PlatformKind::Line,
        kind: ChannelKind::Group,
        bot: String::new(),
        name: None,
        picture_url: None,
        member_count: 2,
        created_at: time,
        created_by: "system".to_owned(),
        enabled_at: time,
        status: ChannelStatus::Active,
        bytes: 0,
        message_count: 0,
        time_zone: None,
        retention_days: None,
        keeps_earlier_texts: false,
    }
}

/// Returns a stored message of a person with that content.
fn stored(content: Content) -> StoredMessage {
    StoredMessage {
        channel: GROUP.into(),
        id: MessageId::from("m1"),
        sent_at: at(NOW),
        backed_up_at: at(NOW),
        sender: Some(Sender {
            id: "Uann".into(),
            display_name: Some("Ann Lee".to_owned()),
            picture_url: None,
        }),
        kind: content.kind(),
        content: Some(content),
        bytes: 1,
        quoted: None,
        edited_at: None,
        unsent_at: None,
        is_bot: false,
        reply: None,
        media: None,
        earlier_texts: chatkeep_core::message::EarlierTexts::default(),
    }
}
