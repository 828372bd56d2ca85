//! Permissions: every route of the API against every kind of caller. The expectation is derived
//! from the route's declared requirements, so that a route that requires less than it declares is
//! detected; a route without an entry in [`operation`] fails.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep::api::{Need, RouteInfo, Tag, catalogue};
use chatkeep_core::assistant::RuleDraft;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::config::Database;
use chatkeep_core::id::{ChannelId, KeyId, RuleId, UserId, WebhookId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ActivityFilter, JobKind, NewChannelJob, NewKey, NewWebhook, OutboxEventKind,
    PresenceEvidenceKind, ReadAction, Reader, RuleChange, Store, WebhookChange, WebhookMade,
    WebhookMaker,
};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::harness::http;
use crate::harness::wait::until;
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};
use crate::store::{at, item, said};

const CHANNEL: &str = "C00000000000000000000000000permitted";
/// Channel that keys may be bound to, without any of the callers in it.
const OTHER: &str = "C0000000000000000000000000000elsewhere";
/// Person who is the object of calls.
const TARGET: &str = "U00000000000000000000000000000target";

/// A caller.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that may be so or not")]
struct Caller {
    name: String,
    /// Complete `Authorization` header.
    header: Option<String>,
    /// True for a valid key.
    valid: bool,
    user: UserId,
    key: KeyId,
    bounds: Bounds,
    /// True if the key may see the channel.
    sees: bool,
    /// Role in the channel; guest for none.
    role: Role,
    /// True if the store knows them there.
    known: bool,
    /// True if they subscribe to it.
    subscribed: bool,
    /// Channel of their requests.
    channel: &'static str,
    prefix: &'static str,
}

/// Shape of a key.
struct Shape {
    scopes: Vec<Scope>,
    channels: Option<Vec<ChannelId>>,
    expires_at: Option<Timestamp>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { scopes: Scope::ALL.to_vec(), channels: None, expires_at: None }
    }
}

/// Successful call of a route, and the mark of its response.
struct Operation {
    query: &'static str,
    body: Value,
    /// JSON Pointer that the response must have.
    has: &'static str,
}

fn operation(id: &str) -> Option<Operation> {
    let rule = || json!({"keywords": ["k"], "question": "", "answer": "a"});
    let (query, body, has) = match id {
        "get_me" => ("", Value::Null, "/userId"),
        "get_notices" => ("", Value::Null, "/usage"),
        "set_own_backup" => ("", json!({"kept": true}), "/kept"),
        "set_notices" => ("", json!({"usage": true}), "/usage"),
        "get_usage" => ("", Value::Null, "/totalBytes"),
        "list_channels" => ("", Value::Null, "/channels"),
        "list_subscriptions" => ("", Value::Null, "/subscriptions"),
        "search" | "search_channel" => ("?q=hello", Value::Null, "/hits"),
        "list_media" => ("", Value::Null, "/media"),
        // The message has no file, which only its readers learn.
        "get_media" => ("", Value::Null, "/error"),
        // Not JSON: the first line of a page.
        "export_messages" => ("?format=jsonl", Value::Null, ""),
        "list_events" => ("?limit=2", Value::Null, "/events"),
        "get_channel" => ("", Value::Null, "/meta/channelId"),
        "list_members" => ("?status=active", Value::Null, "/members/0/userId"),
        "set_member_role" => ("", json!({"role": "member"}), "/success"),
        "erase_member_data" => ("", Value::Null, "/erasedCount"),
        "get_assistant_config" => ("", Value::Null, "/assistant/qa"),
        "change_assistant_config" => {
            ("", json!({"assistant": {"enabled": true}}), "/assistant/enabled")
        }
        "list_rules" => ("", Value::Null, "/items"),
        "add_rule" | "replace_rule" => ("", rule(), "/items/0/answer"),
        "get_welcome" => ("", Value::Null, "/messages"),
        "set_welcome" => ("", json!({"message": "hi"}), "/messages/0/content"),
        "get_group_rules" | "get_message" => ("", Value::Null, "/content"),
        "set_group_rules" => ("", json!({"content": "be kind"}), "/content"),
        "try_assistant" => ("", json!({"text": "hello"}), "/source"),
        "list_unanswered" => ("?days=1", Value::Null, "/questions"),
        "backtest_rules" => ("", json!({"days": 1}), "/changes"),
        "remove_rule" | "subscribe" | "unsubscribe" | "delete_key" => ("", Value::Null, "/success"),
        "set_backup_config" => ("", json!({"timeZone": "Asia/Taipei"}), "/config/backup/timeZone"),
        "get_coverage" => ("", Value::Null, "/gaps"),
        "list_messages" => ("", Value::Null, "/messages/0/id"),
        // Nothing is as old as that, so that the stored messages remain for the other calls.
        "delete_messages" => ("?before=1970-01-01T00:00:00.002Z", Value::Null, "/deletedCount"),
        "get_job" => ("", Value::Null, "/status"),
        "list_keys" => ("", Value::Null, "/keys"),
        "create_key" => ("", json!({"name": "n", "scopes": ["manage:keys"]}), "/key"),
        "rotate_key" => ("", json!({}), "/key"),
        _ => return webhook_operation(id),
    };
    Some(Operation { query, body, has })
}

fn webhook_operation(id: &str) -> Option<Operation> {
    let webhook = || json!({"url": "https://example.org/", "events": ["backup.paused"]});
    let (query, body, has) = match id {
        "list_webhooks" => ("", Value::Null, "/webhooks"),
        "create_webhook" => ("", webhook(), "/secret"),
        "list_event_types" => ("", Value::Null, "/events/0/schema"),
        "get_webhook" => ("", Value::Null, "/webhookId"),
        "replace_webhook" => ("", webhook(), "/webhookId"),
        "delete_webhook" => ("", Value::Null, "/success"),
        "rotate_webhook_secret" => ("", json!({}), "/secret"),
        "test_webhook" | "get_delivery" | "redeliver" => ("", Value::Null, "/deliveryId"),
        "list_deliveries" => ("?status=pending", Value::Null, "/deliveries"),
        "redeliver_failed" => ("", json!({"since": "2026-01-02T03:04:05Z"}), "/count"),
        _ => return None,
    };
    Some(Operation { query, body, has })
}

/// Expected refusal of a caller; `None`: the call is allowed.
type Refusal = Option<(StatusCode, &'static str)>;

const UNKNOWN: Refusal = Some((StatusCode::UNAUTHORIZED, "Invalid or missing API key"));
const LACKS_SCOPE: Refusal = Some((StatusCode::FORBIDDEN, "Insufficient permissions"));
const DENIED: Refusal = Some((StatusCode::FORBIDDEN, "Permission denied"));

/// Returns the expected response to that caller at that route; `own`: about themself.
fn expected(route: &RouteInfo, caller: &Caller, own: bool) -> Refusal {
    if route.need == Need::Nothing {
        return None;
    }
    if !caller.valid {
        return UNKNOWN;
    }
    match route.need {
        Need::Scope(scope) | Need::Channel { scope, .. } if !caller.bounds.has(scope) => {
            LACKS_SCOPE
        }
        Need::Channel { .. } if !caller.sees || caller.channel != CHANNEL => DENIED,
        Need::Channel { role: Role::Guest, .. } => {
            let may = match route.id {
                "unsubscribe" => caller.role >= Role::Member || caller.subscribed,
                // It is of the target, who has no key here.
                "get_job" => caller.role == Role::Owner,
                "set_own_backup" => caller.known,
                "erase_member_data" => caller.role == Role::Owner || (own && caller.known),
                other => panic!("{other} decides for itself: say here what is right"),
            };
            if may { None } else { DENIED }
        }
        Need::Channel { role, .. } if caller.role < role => DENIED,
        _ => None,
    }
}

/// The stack, its store, and the callers.
struct PermissionFixture {
    stack: Stack,
    store: Store,
    http: Client,
    callers: Vec<Caller>,
    made: usize,
}

fn now() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    at(i64::try_from(now.as_millis()).unwrap())
}

impl PermissionFixture {
    async fn new() -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        ground.settings.push(("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0".to_owned()));
        let stack = Stack::on(ground, emulator().await).await;
        let folder = stack.ground.folder.path();
        let store = Store::open(&Database::Sqlite, folder, 2).await.unwrap();
        let mut cast =
            Self { stack, store, http: http::client(DEADLINE), callers: Vec::new(), made: 0 };
        cast.channel().await;
        cast.people().await;
        cast.keys_of_the_owner().await;
        cast.broken_keys().await;
        // Until its replica has caught up, the search is unavailable to everybody.
        cast.stack.drained().await;
        cast
    }

    /// Creates a channel with one of each role, a message and a rule.
    async fn channel(&self) {
        let mut evidence = vec![item(CHANNEL, 1, PresenceEvidenceKind::BotJoined)];
        for user in ["Uowner", "Uadmin", "Umember", "Uguest", "Uauthor", TARGET] {
            evidence.push(item(CHANNEL, 1, PresenceEvidenceKind::Present(user.into())));
        }
        evidence.push(item(CHANNEL, 1, PresenceEvidenceKind::Joined("Uleft".into())));
        evidence.push(item(CHANNEL, 3, PresenceEvidenceKind::Left("Uleft".into())));
        self.store.members().record_presence(&evidence, at(3)).await.unwrap();
        let (channel, owner) = (ChannelId::from(CHANNEL), UserId::from("Uowner"));
        for user in ["Uowner", "Uleft"] {
            self.store.accounts().subscribe(&channel, &user.into(), at(4)).await.unwrap();
        }
        for (user, role) in [("Uadmin", Role::Admin), ("Uguest", Role::Guest)] {
            let set =
                self.store.members().set_role(&channel, &owner, &user.into(), role, at(4)).await;
            set.unwrap();
        }
        self.store.messages().ingest(&[said(CHANNEL, "m1", 10, "kept")], at(11)).await.unwrap();
        self.rule("qa_kept", true).await;
        let kind = JobKind::Erasure(TARGET.into());
        let (kind, sent_before) = (&kind, at(5));
        let (id, channel, by, worker) = ("job_kept", &channel, &owner, Some("test"));
        let job = NewChannelJob { id, channel, kind, sent_before, by, worker };
        self.store.jobs().begin_job(&job, at(12)).await.unwrap();
    }

    async fn rule(&self, id: &str, there: bool) {
        let draft = RuleDraft {
            keywords: vec!["k".to_owned()],
            question: String::new(),
            answer: "a".to_owned(),
        };
        let id = RuleId::from(id);
        let change = if there { RuleChange::Add(&id, &draft) } else { RuleChange::Remove(&id) };
        let by = "Uowner".into();
        self.store
            .assistant()
            .change_rule(&CHANNEL.into(), change, None, &by, now())
            .await
            .unwrap();
    }

    /// Adds a caller with a key of that user.
    async fn add(&mut self, name: &str, user: &str, role: Role, shape: Shape) {
        let secret = format!("ck_{}", name.replace('-', "_"));
        let id = KeyId::from(format!("key_{name}"));
        let user = UserId::from(user);
        self.store.accounts().add_user(&user, None, at(1)).await.unwrap();
        let key = NewKey {
            id: &id,
            secret: &secret,
            user: &user,
            name: "test",
            scopes: &shape.scopes,
            channels: shape.channels.as_deref(),
            not_before: None,
            expires_at: shape.expires_at,
        };
        let bounds = Bounds {
            scopes: shape.scopes.clone(),
            channels: shape.channels.clone(),
            not_before: None,
            expires_at: shape.expires_at,
        };
        let sees = shape.channels.as_ref().is_none_or(|only| only.contains(&CHANNEL.into()));
        self.store.keys().add_key(&key, at(1)).await.unwrap();
        let known = self.store.members().member(&CHANNEL.into(), &user).await.unwrap().is_some();
        self.callers.push(Caller {
            name: name.to_owned(),
            header: Some(format!("Bearer {secret}")),
            valid: true,
            subscribed: ["Uowner", "Uleft"].contains(&user.as_str()),
            user,
            key: id,
            bounds,
            sees,
            role,
            known,
            channel: CHANNEL,
            prefix: "/api",
        });
    }

    fn last(&mut self) -> &mut Caller {
        self.callers.last_mut().unwrap()
    }

    async fn people(&mut self) {
        for (name, role) in [
            ("owner", Role::Owner),
            ("admin", Role::Admin),
            ("member", Role::Member),
            ("guest", Role::Guest),
            ("left", Role::Guest),
            ("stranger", Role::Guest),
        ] {
            self.add(name, &format!("U{name}"), role, Shape::default()).await;
        }
        self.add("owner-v1", "Uowner", Role::Owner, Shape::default()).await;
        self.last().prefix = "/api/v1";
        self.add("owner-elsewhere", "Uowner", Role::Owner, Shape::default()).await;
        self.last().channel = "C000000000000000000000000000000unknown";
    }

    async fn keys_of_the_owner(&mut self) {
        for scope in Scope::ALL {
            let name = scope.name().replace(':', "-");
            self.add(
                &name,
                "Uowner",
                Role::Owner,
                Shape { scopes: vec![scope], ..Shape::default() },
            )
            .await;
        }
        for (name, channel) in [("bound-here", CHANNEL), ("bound-elsewhere", OTHER)] {
            let shape = Shape { channels: Some(vec![channel.into()]), ..Shape::default() };
            self.add(name, "Uowner", Role::Owner, shape).await;
        }
    }

    async fn broken_keys(&mut self) {
        let expired = Shape { expires_at: Some(at(2)), ..Shape::default() };
        self.add("expired", "Uowner", Role::Owner, expired).await;
        self.last().valid = false;
        self.add("deleted", "Uowner", Role::Owner, Shape::default()).await;
        self.last().valid = false;
        assert!(self.store.keys().drop_key(&"key_deleted".into(), now()).await.unwrap());
        for (name, header) in [
            ("no-key", None),
            ("basic", Some("Basic Y2tfb3duZXI6")),
            ("no-scheme", Some("ck_owner")),
            ("only-scheme", Some("Bearer ")),
            ("wrong-key", Some("Bearer ck_nobody")),
        ] {
            self.add(name, "Uowner", Role::Owner, Shape::default()).await;
            self.last().valid = false;
            self.last().header = header.map(str::to_owned);
        }
    }

    /// Undoes the changes of a call of that route, so that every call starts from the same state.
    async fn prepare(&mut self, route: &RouteInfo, caller: &Caller) -> KeyId {
        let (channel, owner) = (ChannelId::from(CHANNEL), UserId::from("Uowner"));
        match route.id {
            "set_member_role" => {
                let (user, role) = (TARGET.into(), Role::Guest);
                self.store.members().set_role(&channel, &owner, &user, role, now()).await.unwrap();
            }
            "remove_rule" => {
                self.rule("qa_gone", false).await;
                self.rule("qa_gone", true).await;
            }
            "unsubscribe" if caller.subscribed => {
                self.store.accounts().subscribe(&channel, &caller.user, now()).await.unwrap();
            }
            "unsubscribe" => {
                self.store.accounts().unsubscribe(&channel, &caller.user, now()).await.unwrap();
            }
            "delete_key" => {
                self.made += 1;
                let id = KeyId::from(format!("key_gone{}", self.made));
                let key = NewKey {
                    id: &id,
                    secret: id.as_str(),
                    user: &caller.user,
                    name: "gone soon",
                    // Within the caller's bounds: others are as good as none.
                    scopes: &caller.bounds.scopes,
                    channels: caller.bounds.channels.as_deref(),
                    not_before: None,
                    // Before the overlap of a caller's key that was rotated.
                    expires_at: Some(at(now().millis() + 3_600_000)),
                };
                assert!(self.store.keys().add_key(&key, now()).await.unwrap());
                return id;
            }
            _ => {}
        }
        caller.key.clone()
    }

    /// Creates a webhook of the caller within their key's bounds, the only one of its user; returns
    /// the id of a delivery to it.
    async fn webhook(&self, caller: &Caller) -> String {
        for webhook in self.store.webhooks().list(&caller.user).await.unwrap() {
            assert!(self.store.webhooks().drop_webhook(&caller.user, &webhook.id).await.unwrap());
        }
        let id = WebhookId::from(format!("wh_{}", caller.name));
        let channels = [CHANNEL.into()];
        let elsewhere = [OTHER.into()];
        let change = WebhookChange {
            // Nobody is called in this test.
            url: "https://hooks.invalid/",
            description: "",
            events: &[OutboxEventKind::BackupPaused],
            channels: Some(if caller.sees { &channels } else { &elsewhere }),
            enabled: true,
        };
        let secret = signing::secret([1; 32]);
        let maker = WebhookMaker { key: None, bounds: &caller.bounds };
        let new = NewWebhook { id: &id, user: &caller.user, secret: &secret, change, maker };
        assert_eq!(
            self.store.webhooks().add_webhook(&new, now()).await.unwrap(),
            WebhookMade::Done
        );
        let event = format!("evt_test_{id}");
        let number = self.store.webhooks().test_webhook(&id, &event, now()).await.unwrap();
        format!("dlv_{}", number.unwrap())
    }

    /// Checks one cell of the table.
    async fn check(&mut self, route: &RouteInfo, caller: &Caller, own: bool) {
        let operation = operation(route.id)
            .unwrap_or_else(|| panic!("{}: a new route needs an entry in operation()", route.id));
        let key = self.prepare(route, caller).await;
        let delivery = match (route.tag, caller.valid) {
            (Tag::Webhooks, true) => self.webhook(caller).await,
            _ => "dlv_1".to_owned(),
        };
        let user = if own { caller.user.as_str() } else { TARGET };
        let rule = if route.id == "remove_rule" { "qa_gone" } else { "qa_kept" };
        let path = route
            .path
            .replace("{channelId}", caller.channel)
            .replace("{userId}", user)
            .replace("{qaId}", rule)
            .replace("{messageId}", "m1")
            .replace("{jobId}", "job_kept")
            .replace("{keyId}", key.as_str())
            .replace("{webhookId}", &format!("wh_{}", caller.name))
            .replace("{deliveryId}", &delivery);
        assert!(!path.contains('{'), "{path}: say what the parameter is");
        let address = self.stack.ground.address;
        let url = format!("http://{address}{}{path}{}", caller.prefix, operation.query);
        let mut request = self.http.request(route.method.clone(), url);
        if let Some(header) = &caller.header {
            request = request.header("authorization", header);
        }
        if !operation.body.is_null() {
            request = request.json(&operation.body);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body: Value = answer.json().await.unwrap_or_default();
        let cell = format!("{} as {}: {status} {body}", route.id, caller.name);
        match expected(route, caller, own) {
            None => {
                let fileless = route.id == "get_media" && status == StatusCode::NOT_FOUND;
                assert!(status.is_success() || fileless, "{cell}");
                assert!(body.pointer(operation.has).is_some(), "{cell}");
            }
            Some((refused, error)) => {
                assert_eq!((status, &body["error"]), (refused, &json!(error)), "{cell}");
                assert!(body["code"].is_string() && body["requestId"].is_string(), "{cell}");
                assert_eq!(body.as_object().unwrap().len(), 3, "nothing else is told: {cell}");
                let challenge = headers.get("www-authenticate").is_some();
                assert_eq!(challenge, refused == StatusCode::UNAUTHORIZED, "{cell}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_serves_whom_it_says_and_nobody_else() {
    let mut cast = PermissionFixture::new().await;
    let callers = std::mem::take(&mut cast.callers);
    let routes = catalogue();
    let ids: BTreeSet<_> = routes.iter().map(|route| route.id).collect();
    assert_eq!(ids.len(), routes.len(), "an operation's name names one route");
    let mut cells = 0;
    for route in &routes {
        for caller in &callers {
            cast.check(route, caller, false).await;
            cells += 1;
            if route.path.contains("{userId}") && route.id != "set_member_role" {
                cast.check(route, caller, true).await;
                cells += 1;
            }
        }
    }
    println!("{cells} cells: {} routes, {} callers", routes.len(), callers.len());
}

/// Returns the action under which a route that may read messages or files is in the activity log;
/// `None` for one that shows none.
fn recorded(id: &str) -> Option<ReadAction> {
    Some(match id {
        "list_messages" => ReadAction::List,
        "get_message" => ReadAction::Open,
        "search" | "search_channel" => ReadAction::Search,
        "export_messages" => ReadAction::Export,
        "list_media" | "get_media" => ReadAction::Media,
        "list_events" => ReadAction::Events,
        "list_unanswered" | "backtest_rules" => ReadAction::History,
        // Times and numbers.
        "get_coverage" => return None,
        other => panic!("{other} may read messages or files: say here how that is recorded"),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_that_reads_is_in_the_activity_log() {
    let mut cast = PermissionFixture::new().await;
    // Events of long ago may be purged already.
    let fresh = said(CHANNEL, "fresh", now().millis(), "fresh");
    cast.store.messages().ingest(&[fresh], now()).await.unwrap();
    let callers = std::mem::take(&mut cast.callers);
    let [admin, guest] =
        ["admin", "guest"].map(|name| callers.iter().find(|caller| caller.name == name).unwrap());
    let mut expected: BTreeMap<&str, i64> = BTreeMap::new();
    for route in &catalogue() {
        let (Need::Scope(scope) | Need::Channel { scope, .. }) = route.need else { continue };
        if ![Scope::ReadMessages, Scope::ReadMedia].contains(&scope) {
            continue;
        }
        cast.check(route, admin, false).await;
        if matches!(route.need, Need::Channel { .. }) {
            cast.check(route, guest, false).await;
        }
        if let Some(action) = recorded(route.id) {
            *expected.entry(action.name()).or_default() += 1;
        }
    }
    assert_eq!(expected.len(), ReadAction::ALL.len(), "every action is one of REST");
    let (reader, all) = (Reader::Key(admin.key.clone()), ActivityFilter::default());
    until("the reads are written", DEADLINE, async || {
        let reads =
            cast.store.activity_log().reads(&CHANNEL.into(), &all, None, 100).await.unwrap();
        assert!(reads.iter().all(|read| read.reader == reader), "whoever is refused reads nothing");
        assert!(reads.iter().all(|read| read.reader_name.as_deref() == Some("test")));
        let mut found: BTreeMap<&str, i64> = BTreeMap::new();
        for read in reads {
            *found.entry(read.action.name()).or_default() += read.requests;
        }
        found == expected
    })
    .await;
}
