//! The surface for models through the real program: the protocol in its three revisions, every
//! tool, permissions, and third-party clients and suites.

mod budget;
mod citations;
mod clients;
mod conformance;
mod consent_journeys;
mod consent_pages;
mod context;
mod documents;
mod media;
mod names;
mod oauth;
mod origin_guard;
mod overview;
mod pages;
mod permissions;
mod protocol;
mod schemas;
mod stdio;
mod texts;
mod times;
mod tools;
mod untold_people;

use chatkeep_core::config::Database;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::MessageChange;
use chatkeep_core::profile::ChannelSummary;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelChange, NewKey, Store};
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::harness::http::{self, texts};
use crate::harness::wait::until;
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};
use crate::store::{add_kept_group, add_key, at, now, said_by};

/// Channel that only the store knows, owned by [`ANN`], with [`BO`] in it.
const CHANNEL: &str = "C0000000000000000000000000000models";
const ANN: &str = "U00000000000000000000000000000000ann";
const BO: &str = "U000000000000000000000000000000000bo";

/// The revisions, the newest last.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];
const NEWEST: &str = REVISIONS[2];

/// The tools, in the order of their list.
const TOOLS: [&str; 10] = [
    "list_channels",
    "get_messages",
    "search_messages",
    "get_context",
    "get_overview",
    "get_members",
    "get_media",
    "verify_citation",
    "search",
    "fetch",
];

/// The program, its store from the inside, and keys of two people: `ck_ann` and `ck_bo`.
struct Models {
    stack: Stack,
    store: Store,
    http: Client,
}

/// Response of `/mcp`.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    /// Returns a header's text; empty when it is absent.
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Returns the result of a valid request.
    #[track_caller]
    fn result(&self) -> &Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        assert!(self.body["result"].is_object(), "{}", self.body);
        &self.body["result"]
    }

    /// Returns the structured result of a tool.
    #[track_caller]
    fn given(&self) -> &Value {
        let result = self.result();
        assert_ne!(result["isError"], true, "{result}");
        &result["structuredContent"]
    }

    /// Returns the structured result of a tool; null where there is none.
    fn given_or_null(&self) -> &Value {
        &self.body["result"]["structuredContent"]
    }

    /// Returns the text of a tool result.
    #[track_caller]
    fn text(&self) -> &str {
        self.result()["content"][0]["text"].as_str().unwrap()
    }

    /// Returns the error text of a failed tool.
    #[track_caller]
    fn refusal(&self) -> &str {
        assert_eq!(self.result()["isError"], true, "{}", self.body);
        assert!(self.result()["structuredContent"].is_null(), "{}", self.body);
        self.text()
    }
}

impl Models {
    async fn start(settings: &[(&'static str, &str)]) -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        ground.settings.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let stack = Stack::on(ground, emulator().await).await;
        let folder = stack.ground.folder.path();
        let store = Store::open(&Database::Sqlite, folder, 2).await.unwrap();
        let models = Self { stack, store, http: http::client(DEADLINE) };
        models.channel(CHANNEL, &[ANN, BO]).await;
        models.key("ck_ann", ANN, |_| {}).await;
        models.key("ck_bo", BO, |_| {}).await;
        models
    }

    /// Creates a channel with these people in it, subscribed by the first.
    async fn channel(&self, channel: &str, people: &[&str]) {
        add_kept_group(&self.store, channel, people).await;
    }

    /// Creates a key of that person, with all scopes unless `shape` changes it.
    async fn key(&self, secret: &str, user: &str, shape: impl FnOnce(&mut NewKey<'_>)) {
        add_key(&self.store, (secret, user), None, shape).await;
    }

    /// Creates a key of that person for these channels only.
    async fn bound_key(&self, secret: &str, user: &str, channels: &[ChannelId]) {
        add_key(&self.store, (secret, user), Some(channels), |_| {}).await;
    }

    async fn keep(&self, changes: &[ChannelChange]) {
        self.store.messages().ingest(changes, now()).await.unwrap();
    }

    /// Stores messages and waits until a search for that word finds so many.
    async fn keep_findable(&self, changes: &[ChannelChange], word: &str, count: usize) {
        self.keep(changes).await;
        self.stack.ground.command(&self.stack.line, &["reindex"]).await;
        until("all are found", DEADLINE, async || {
            let found = self.call("search_messages", json!({"query": word})).await;
            found.given()["total"] == count
        })
        .await;
    }

    /// Sets the name of a channel.
    async fn name_channel(&self, channel: &str, name: &str) {
        let summary = ChannelSummary { name: Some(name.to_owned()), ..ChannelSummary::default() };
        self.store
            .channels()
            .save_summaries(&[(channel.into(), summary)].into(), at(3))
            .await
            .unwrap();
    }

    /// Sets the zone in which a channel's days begin.
    async fn set_zone(&self, channel: &str, zone: &str) {
        let channels = self.store.channels();
        channels.set_time_zone(&channel.into(), Some(zone), &ANN.into(), at(3)).await.unwrap();
    }

    fn url(&self) -> String {
        url(&self.stack)
    }

    /// Builds a request as clients of that revision do, without a key.
    fn request(&self, revision: &str, method: &str, params: Value) -> RequestBuilder {
        request_to(&self.http, &self.stack, revision, method, params)
    }

    async fn ask(&self, revision: &str, method: &str, params: Value) -> Answer {
        send(self.request(revision, method, params).bearer_auth("ck_ann")).await
    }

    /// Calls a tool with that key, and checks what it returns against its schema.
    async fn call_as(&self, key: &str, tool: &str, arguments: Value) -> Answer {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = send(self.request(NEWEST, "tools/call", params).bearer_auth(key)).await;
        if answer.given_or_null().is_object() {
            schemas::check(tool, answer.given_or_null());
        }
        answer
    }

    /// Calls a tool as Ann.
    async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.call_as("ck_ann", tool, arguments).await
    }
}

fn url(stack: &Stack) -> String {
    format!("http://{}/mcp", stack.ground.address)
}

/// Builds a request to a program as clients of that revision do, without a key.
fn request_to(
    http: &Client,
    stack: &Stack,
    revision: &str,
    method: &str,
    mut params: Value,
) -> RequestBuilder {
    let mut request = http
        .post(url(stack))
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", revision);
    if revision == NEWEST {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        request = request.header("mcp-method", method);
        if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
            request = request.header("mcp-name", name.to_owned());
        }
    }
    request.json(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
}

async fn send(request: RequestBuilder) -> Answer {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = answer.bytes().await.unwrap();
    let body = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
    Answer { status, headers, body }
}

/// Returns a message of that person at that time, such as `2026-01-02T03:04:05Z`.
fn message(id: &str, user: &str, time: &str, text: &str) -> ChannelChange {
    message_in(CHANNEL, id, user, time, text)
}

fn message_in(channel: &str, id: &str, user: &str, time: &str, text: &str) -> ChannelChange {
    said_by(user, channel, id, Timestamp::parse(time).unwrap().millis(), text)
}

/// Returns a message of that person that quotes another one.
fn quote(id: &str, user: &str, time: &str, text: &str, quoted: &str) -> ChannelChange {
    let mut message = message(id, user, time, text);
    if let MessageChange::Received(received) = &mut message.change {
        received.quoted = Some(quoted.into());
    }
    message
}
