//! Every surface against every bound of a key: all output, on any surface, is searched for marks
//! that are beyond the bounds. Routes come from the table of all routes, so a new one is covered,
//! too, and fails until its parameters are listed here.

use chatkeep_api::{RouteInfo, Tag, catalogue};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::KeyId;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{OutboxEventKind, PresenceEvidenceKind};
use reqwest::Method;
use serde_json::{Value, json};

use super::exports::exported;
use super::{
    CHANNEL, MEMBER, OWNER, Rest, channel_id, filled_in, message, now, send, texts, under,
};
use crate::harness::wait::until;
use crate::hooks::sink::{Received, Sink};
use crate::stack::DEADLINE;
use crate::store::{at, bounded_key, item, said};

const ELSEWHERE: &str = "C00000000000000000000000000elsewhere";
/// Person who is in the other channel alone.
const STRANGER: &str = "U000000000000000000000000stranger";
const PRIVATE: &[(&str, &str)] = &[("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true")];

/// Marked content, and the bounds that allow it.
struct Mark {
    text: &'static str,
    /// Any of these scopes allows it; none: any key does.
    scopes: &'static [Scope],
    channel: &'static str,
    /// True if it is from before 2020.
    old: bool,
}

const MARKS: [Mark; 6] = [
    Mark { text: "mark-old", scopes: &[Scope::ReadMessages], channel: CHANNEL, old: true },
    Mark { text: "mark-new", scopes: &[Scope::ReadMessages], channel: CHANNEL, old: false },
    Mark { text: "mark-away", scopes: &[Scope::ReadMessages], channel: ELSEWHERE, old: false },
    Mark { text: "2019-01-1", scopes: &[Scope::ReadMessages], channel: CHANNEL, old: true },
    Mark { text: STRANGER, scopes: &[Scope::ReadMembers], channel: ELSEWHERE, old: false },
    Mark { text: ELSEWHERE, scopes: &[], channel: ELSEWHERE, old: false },
];

/// Returns the secret of the key of that name, in the characters of keys.
fn secret(name: &str) -> String {
    format!("ck_{}", name.replace('-', "_"))
}

impl Mark {
    fn is_for(&self, bounds: &Bounds) -> bool {
        (self.scopes.is_empty() || self.scopes.iter().any(|scope| bounds.has(*scope)))
            && bounds.sees(&channel_id(self.channel))
            && !(self.old && bounds.not_before.is_some())
            && !(self.text == STRANGER && bounds.pseudonyms.is_some())
    }
}

fn lineage() -> PseudonymKey {
    PseudonymKey::new([9; 32])
}

/// Returns name and bounds of a key for every bound.
fn keys() -> Vec<(String, Bounds)> {
    let start = Timestamp::parse("2020-01-01T00:00:00Z").unwrap();
    let later = Timestamp::from_millis(now().millis() + 3_600_000);
    let here = Some(vec![channel_id(CHANNEL)]);
    let mut keys = vec![
        ("full".to_owned(), Bounds::full()),
        ("here".to_owned(), Bounds { channels: here.clone(), ..Bounds::full() }),
        ("since".to_owned(), Bounds { not_before: Some(start), ..Bounds::full() }),
        ("ends".to_owned(), Bounds { expires_at: Some(later), ..Bounds::full() }),
        ("pseudonyms".to_owned(), Bounds { pseudonyms: Some(lineage()), ..Bounds::full() }),
    ];
    for scope in Scope::ALL {
        // With each scope those that could reveal content indirectly.
        let scopes = vec![scope, Scope::ManageWebhooks, Scope::ManageKeys];
        let name = scope.name().replace(':', "_");
        keys.push((name.clone(), Bounds { scopes: scopes.clone(), ..Bounds::full() }));
        let all =
            Bounds { scopes, channels: here.clone(), not_before: Some(start), ..Bounds::full() };
        keys.push((format!("{name}-all"), all));
    }
    keys
}

/// The program with two channels of one owner, and a key for every bound.
struct BoundsFixture {
    rest: Rest,
    sink: Sink,
    keys: Vec<(String, Bounds)>,
}

impl BoundsFixture {
    async fn new() -> Self {
        let rest = Rest::start(PRIVATE).await;
        rest.channel(ELSEWHERE, &[OWNER, STRANGER]).await;
        let away = Timestamp::parse("2019-01-10T00:00:00Z").unwrap();
        let back = Timestamp::parse("2019-01-12T00:00:00Z").unwrap();
        let (channel, owner) = (channel_id(CHANNEL), OWNER.into());
        rest.store.accounts().unsubscribe(&channel, &owner, away).await.unwrap();
        rest.store.accounts().subscribe(&channel, &owner, back).await.unwrap();
        let keys = keys();
        for (name, bounds) in &keys {
            let (id, secret) = (KeyId::from(format!("key_of_{name}")), secret(name));
            let key = bounded_key(&id, &secret, &owner, bounds);
            assert!(rest.store.keys().add_key(&key, at(1)).await.unwrap().is_some());
        }
        Self { rest, sink: Sink::start().await, keys }
    }

    async fn call(
        &self,
        key: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> super::Answer {
        let url = format!("http://{}/api{path}", self.rest.stack.ground.address);
        let request = self.rest.http.request(method, url).bearer_auth(secret(key));
        send(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    /// Creates a webhook of that key to a path of its name, with these events; returns its id.
    async fn hook(&self, key: &str, events: &[OutboxEventKind]) -> String {
        let body = json!({"url": self.sink.url(&format!("/{key}")), "events": events});
        let made = self.call(key, Method::POST, "/webhooks", Some(&body)).await.ok();
        made["webhookId"].as_str().unwrap().to_owned()
    }

    /// Returns the result of a tool for that key, success or not.
    async fn tool(&self, key: &str, name: &str, arguments: Value) -> String {
        let url = format!("http://{}/mcp", self.rest.stack.ground.address);
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        });
        let request = self.rest.http.post(url).bearer_auth(secret(key)).json(&call);
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25");
        let answer = send(request).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status.as_u16(), 200, "{text}");
        text
    }

    /// Triggers everything that the marks are about.
    async fn happen(&self) {
        let rest = &self.rest;
        rest.keep(&[
            message("old", MEMBER, "2019-01-15T00:00:00Z", "mark-old"),
            message("new", MEMBER, "2021-01-01T00:00:00Z", "mark-new"),
            said(ELSEWHERE, "away", now().millis(), "mark-away"),
        ])
        .await;
        let edited = Timestamp::parse("2022-01-01T00:00:00Z").unwrap().millis();
        rest.keep(&[crate::store::edited(CHANNEL, "old", edited, "mark-old again")]).await;
        let time = now().millis();
        for (channel, user) in [(CHANNEL, MEMBER), (ELSEWHERE, STRANGER)] {
            let left = item(channel, time, PresenceEvidenceKind::Left(user.into()));
            rest.store.members().record_presence(&[left], at(time)).await.unwrap();
        }
    }

    /// Returns the requests to a key's webhook: type, channel and subject of each.
    fn heard(&self, key: &str) -> Vec<[String; 3]> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut heard: Vec<_> = (self.sink.at(&format!("/{key}")).iter().map(Received::json))
            .map(|body| {
                let data = &body["data"];
                let subject = [&data["message"]["id"], &data["member"]["userId"]];
                let subject = subject.into_iter().find(|id| id.is_string());
                let subject = subject.map(text).unwrap_or_default();
                [text(&body["type"]), text(&data["channelId"]), subject]
            })
            .collect();
        heard.sort();
        heard.dedup();
        heard
    }
}

/// Returns true if a key may receive an event about that message or person.
fn tells(bounds: &Bounds, [kind, channel, subject]: &[String; 3]) -> bool {
    let scope = match kind.split('.').next().unwrap() {
        "message" | "search" => Some(Scope::ReadMessages),
        "member" => Some(Scope::ReadMembers),
        "file" | "media" => Some(Scope::ReadMedia),
        _ => None,
    };
    scope.is_none_or(|scope| bounds.has(scope))
        && bounds.sees(&channel_id(channel))
        && !(subject == "old" && bounds.not_before.is_some())
}

/// Returns an event as a key is told of it.
fn masked(bounds: &Bounds, [kind, channel, subject]: &[String; 3]) -> [String; 3] {
    let subject = match &bounds.pseudonyms {
        Some(key) if kind.starts_with("member.") => key.person(&subject.as_str().into()).id,
        _ => subject.clone(),
    };
    [kind.clone(), channel.clone(), subject]
}

/// Returns the events that a key may subscribe to.
fn events_of(bounds: &Bounds) -> Vec<OutboxEventKind> {
    let may = |kind: &OutboxEventKind| {
        let name = kind.name();
        let account = name.starts_with("usage.") || name.starts_with("endpoint.");
        let messages = ["message.", "search.", "import."];
        (!account || bounds.channels.is_none())
            && (!messages.iter().any(|begin| name.starts_with(begin))
                || bounds.has(Scope::ReadMessages))
            && (!name.starts_with("member.") || bounds.has(Scope::ReadMembers))
            && (!name.starts_with("file.") && !name.starts_with("media.")
                || bounds.has(Scope::ReadMedia))
    };
    OutboxEventKind::ALL.into_iter().filter(may).collect()
}

/// Returns the paths of a route with all values of its parameters.
fn paths(route: &RouteInfo, webhooks: &[String], export: &str) -> Vec<String> {
    let query = match route.id {
        "search" | "search_channel" => "?q=mark",
        "export_messages" => "?format=jsonl",
        _ => "",
    };
    let deliveries: Vec<_> = (1..9).map(|number| format!("dlv_{number}")).collect();
    let choices: [(&str, Vec<&str>); 9] = [
        ("{channelId}", vec![CHANNEL, ELSEWHERE]),
        ("{messageId}", vec!["old", "new", "away"]),
        ("{userId}", vec![MEMBER, STRANGER]),
        ("{keyId}", vec!["key_of_full", "key_of_here"]),
        ("{webhookId}", webhooks.iter().map(String::as_str).collect()),
        ("{deliveryId}", deliveries.iter().map(String::as_str).collect()),
        ("{jobId}", vec!["none", export]),
        ("{exportId}", vec![export]),
        ("{savedSearchId}", vec!["none"]),
    ];
    filled_in(route, vec![format!("{}{query}", route.path)], choices)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_read_shows_more_than_its_key_may() {
    let world = BoundsFixture::new().await;
    let mut webhooks = Vec::new();
    for key in ["full", "here", "since", "ends"] {
        let bounds = &world.keys.iter().find(|(name, _)| name == key).unwrap().1;
        webhooks.push(world.hook(key, &events_of(bounds)).await);
    }
    world.happen().await;
    until("the widest webhook has heard", DEADLINE, async || world.heard("full").len() >= 6).await;
    world.rest.stack.ground.command(&world.rest.stack.line, &["reindex"]).await;
    until("it can be found", DEADLINE, async || {
        let found = world.call("full", Method::GET, "/search?q=mark", None).await.ok();
        found["total"].as_u64() >= Some(3)
    })
    .await;
    let export = exported(&world.rest, CHANNEL, &secret("full")).await;
    let (mut seen, mut answers) = (vec![false; MARKS.len()], 0);
    for route in catalogue().iter().filter(|route| route.method == Method::GET) {
        for path in paths(route, &webhooks, &export) {
            for (name, bounds) in &world.keys {
                let answer = world.call(name, Method::GET, &path, None).await;
                assert_ne!(answer.status.as_u16(), 401, "{name} {path}");
                let text = String::from_utf8_lossy(&answer.body);
                answers += 1;
                for (mark, seen) in MARKS.iter().zip(&mut seen) {
                    // The time of a subscription is no message.
                    let counts =
                        !(mark.text.starts_with("2019") && route.id == "list_subscriptions");
                    if counts && text.contains(mark.text) {
                        assert!(mark.is_for(bounds), "{name} {path} shows {}: {text}", mark.text);
                        *seen |= name == "full";
                    }
                }
            }
        }
    }
    // Models use another surface.
    for channel in [CHANNEL, ELSEWHERE] {
        for (tool, arguments) in [
            ("list_channels", json!({})),
            ("get_messages", json!({"channelId": channel})),
            ("search_messages", json!({"query": "mark"})),
            ("search_messages", json!({"query": "mark", "channelId": channel})),
            ("get_members", json!({"channelId": channel})),
            ("list_channels", json!({"recent": true})),
            ("search_messages", json!({"query": "mark", "senderId": "mark"})),
            ("get_messages", json!({"channelId": channel, "around": "new"})),
            ("get_messages", json!({"channelId": channel, "around": "old"})),
            ("get_messages", json!({"channelId": "mark", "senderId": "mark"})),
            ("get_overview", json!({"days": 31})),
            ("get_overview", json!({"days": 31, "channelId": channel})),
            ("get_context", json!({"message": "old"})),
            ("get_context", json!({"message": "new"})),
            ("get_context", json!({"message": "away"})),
            ("get_context", json!({"message": format!("/c/{channel}/m/new")})),
            ("get_context", json!({"message": "old", "channelId": channel})),
            ("search", json!({"query": "mark"})),
            ("fetch", json!({"id": "old"})),
            ("fetch", json!({"id": format!("chatkeep://channel/{channel}/message/new")})),
            ("verify_citation", json!({"url": "old"})),
            ("verify_citation", json!({"url": format!("/c/{channel}/m/away")})),
            ("get_media", json!({"message": "old"})),
            ("get_media", json!({"message": "new", "channelId": channel, "preview": true})),
        ] {
            for (name, bounds) in &world.keys {
                let text = world.tool(name, tool, arguments.clone()).await;
                for mark in MARKS.iter().filter(|mark| !mark.is_for(bounds)) {
                    // An error repeats the argument.
                    let repeated = arguments.to_string().contains(mark.text);
                    let shown = text.contains(mark.text) && !repeated;
                    assert!(!shown, "{name} {tool} shows {}: {text}", mark.text);
                }
                answers += 1;
            }
        }
    }
    assert!(seen.iter().all(|seen| *seen), "each mark is shown to who may see it: {seen:?}");
    println!("{answers} answers of {} keys", world.keys.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_told_no_more_than_the_key_that_made_them() {
    let world = BoundsFixture::new().await;
    let mut hooked = Vec::new();
    // A user has at most twenty webhooks; what ends with its key has a test of its own.
    for (name, bounds) in world.keys.iter().filter(|(name, _)| name != "ends") {
        let may = events_of(bounds);
        for kind in OutboxEventKind::ALL.into_iter().filter(|kind| !may.contains(kind)) {
            let body = json!({"url": world.sink.url("/never"), "events": ["backup.paused", kind]});
            let refused = world.call(name, Method::POST, "/webhooks", Some(&body)).await;
            let refused = refused.refused(403, "insufficient_permissions");
            assert_eq!(refused["field"], "/events", "{name} {}", kind.name());
        }
        hooked.push((name, bounds, world.hook(name, &may).await));
    }
    world.happen().await;
    until("the widest webhook has heard", DEADLINE, async || world.heard("full").len() >= 6).await;
    let all = world.heard("full");
    for (name, bounds, id) in &hooked {
        let expected = all.iter().filter(|told| tells(bounds, told));
        let mut expected: Vec<_> = expected.map(|told| masked(bounds, told)).collect();
        expected.sort();
        until(&format!("{name} has heard"), DEADLINE, async || {
            let pending = format!("/webhooks/{id}/deliveries?status=pending");
            let pending = world.call(name, Method::GET, &pending, None).await.ok();
            pending["deliveries"] == json!([]) && world.heard(name).len() >= expected.len()
        })
        .await;
        assert_eq!(world.heard(name), expected, "{name}");
        for received in world.sink.at(&format!("/{name}")) {
            for mark in MARKS.iter().filter(|mark| !mark.is_for(bounds)) {
                // The sender is part of the message.
                assert!(!received.body.contains(mark.text), "{name}: {}", received.body);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_over_with_its_key() {
    let world = BoundsFixture::new().await;
    let id = world.hook("here", &[OutboxEventKind::MessageReceived]).await;
    let path = format!("/webhooks/{id}");
    let (full, get) = ("full", Method::GET);
    assert_eq!(world.call(full, get.clone(), &path, None).await.ok()["enabled"], true);
    let rotated =
        world.call(full, Method::POST, "/keys/key_of_here/rotate", Some(&json!({}))).await;
    let next = format!("/keys/{}", rotated.ok()["keyId"].as_str().unwrap());
    world.call(full, Method::DELETE, "/keys/key_of_here", None).await.ok();
    assert_eq!(world.call(full, get.clone(), &path, None).await.ok()["enabled"], true, "carried");
    // A wider key cannot widen it beyond the key that created it.
    let wider = json!({"url": world.sink.url("/here"), "events": ["usage.warning"]});
    let refused = world.call(full, Method::PUT, &path, Some(&wider)).await;
    assert_eq!(refused.refused(403, "insufficient_permissions")["field"], "/events");
    world.call(full, Method::DELETE, &next, None).await.ok();
    let ended = world.call(full, get, &path, None).await.ok();
    assert_eq!((&ended["enabled"], &ended["disabledReason"]), (&json!(false), &json!("key_ended")));
    let since = format!("{path}/redeliver");
    let body = json!({"since": "2020-01-01T00:00:00Z"});
    world.call(full, Method::POST, &since, Some(&body)).await.refused(409, "conflict");
    let witness = world.hook(full, &[OutboxEventKind::MessageReceived]).await;
    assert_ne!(witness, id);
    world.happen().await;
    until("another webhook has heard", DEADLINE, async || world.heard(full).len() >= 3).await;
    assert!(world.heard("here").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_usage_and_coverage_go_by_the_bounds() {
    let world = BoundsFixture::new().await;
    world.happen().await;
    let usage = world.call("here", Method::GET, "/usage", None).await.ok();
    let channels: Vec<_> = usage["channels"].as_object().unwrap().keys().collect();
    assert_eq!(channels, [CHANNEL]);
    let own = &usage["channels"][CHANNEL];
    let own = own["bytes"].as_i64().unwrap() - own["bytesAtSubscribe"].as_i64().unwrap();
    let whole = world.call("full", Method::GET, "/usage", None).await.ok();
    assert!(whole["totalBytes"].as_i64() > Some(own));
    for of_the_user in ["totalBytes", "quota", "remaining", "percentage", "status"] {
        assert_eq!(usage[of_the_user], whole[of_the_user], "{of_the_user}: one quota for all");
    }

    for (name, bounds) in &world.keys {
        let keys = world.call(name, Method::GET, "/keys?limit=100", None).await.ok();
        let mut keys = texts(&keys["keys"], "keyId");
        let within = world.keys.iter().filter(|(_, other)| other.within(bounds));
        let mut expected: Vec<_> = within.map(|(other, _)| format!("key_of_{other}")).collect();
        if *bounds == Bounds::full() {
            expected.push("key_of_owner".to_owned());
        }
        keys.sort();
        expected.sort();
        assert_eq!(keys, expected, "{name}");
        for beyond in world.keys.iter().filter(|(_, other)| !other.within(bounds)) {
            let path = format!("/keys/key_of_{}", beyond.0);
            world.call(name, Method::DELETE, &path, None).await.refused(404, "not_found");
            let rotated =
                world.call(name, Method::POST, &format!("{path}/rotate"), Some(&json!({}))).await;
            rotated.refused(403, "insufficient_permissions");
        }
    }

    let path = under("/backup/coverage");
    let coverage = world.call("since", Method::GET, &path, None).await.ok();
    assert_eq!(coverage["since"], "2020-01-01T00:00:00.000Z");
    assert_eq!(coverage["firstMessageAt"], "2021-01-01T00:00:00.000Z");
    assert_eq!(coverage["gaps"], json!([]));
    let whole = world.call("full", Method::GET, &path, None).await.ok();
    let gaps = texts(&whole["gaps"], "from");
    assert_eq!(gaps, ["2019-01-10T00:00:00.000Z"]);
    assert_eq!(whole["firstMessageAt"], "2019-01-15T00:00:00.000Z");
    assert!(catalogue().iter().any(|route| route.tag == Tag::Keys), "the table is read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_at_most_fifty_keys() {
    let mut rest = Rest::start(&[]).await;
    let body = json!({"name": "n", "scopes": ["read:messages"]});
    for _ in 1..50 {
        send(rest.post("/keys", &body)).await.ok();
    }
    send(rest.post("/keys", &body)).await.refused(409, "too_many_keys");
    // One may still be replaced; with the overlap of both the limit is reached, too.
    let next = send(rest.post("/keys/key_of_owner/rotate", &json!({}))).await.ok();
    rest.stack.use_key(next["key"].as_str().unwrap());
    send(rest.post("/keys", &body)).await.refused(409, "too_many_keys");
    let listed = send(rest.get("/keys?limit=100")).await.ok();
    assert_eq!(listed["keys"].as_array().unwrap().len(), 51);
}
