//! The whole REST API through the real program: common headers, keys, people, messages, events, the
//! documentation.

mod answers;
mod bounds;
mod docs;
mod earlier_texts;
mod errors;
mod events;
mod exports;
mod headers;
mod idempotency;
mod inputs;
mod jobs;
mod keys;
mod large;
mod lists;
mod messages;
mod people;
mod pseudonyms;
mod retention;
mod round_trips;
mod saved_searches;
mod settings;
mod stopping;
mod strict;
mod surfaces;
mod times;
mod webhooks;

use std::path::Path;

use chatkeep_api::RouteInfo;
use chatkeep_core::config::Database;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelChange, NewKey, Store};
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::Value;

use crate::harness::http::{self, texts};
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};
use crate::store::{add_kept_group, add_key, at, now, said_by};

/// Channel that only the store knows, owned by [`OWNER`], with [`MEMBER`] in it.
const CHANNEL: &str = "C000000000000000000000000000000rest";
const OWNER: &str = "U000000000000000000000000000000owner";
const MEMBER: &str = "U00000000000000000000000000000member";

/// The program, its store from the inside, and the owner's key.
struct Rest {
    stack: Stack,
    store: Store,
    http: Client,
}

/// Response, read to its end.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns a header's text; empty when it is absent.
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Returns the body of a success.
    #[track_caller]
    fn ok(&self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.json());
        self.json()
    }

    /// Checks status, code and field of an error; returns its body.
    #[track_caller]
    fn refused(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status.as_u16(), body["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(self.header("content-type"), "application/json");
        assert_eq!(body["requestId"], self.header("x-request-id"));
        body
    }
}

async fn send(request: RequestBuilder) -> Answer {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    Answer { status, headers, body: answer.bytes().await.unwrap().to_vec() }
}

impl Rest {
    async fn start(settings: &[(&'static str, &str)]) -> Self {
        Self::on(settings, async |folder| Store::open(&Database::Sqlite, folder, 2).await.unwrap())
            .await
    }

    /// Starts the same with the store that `open` opens.
    async fn on(settings: &[(&'static str, &str)], open: impl AsyncFnOnce(&Path) -> Store) -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        ground.settings.push(("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0".to_owned()));
        ground.settings.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let stack = Stack::on(ground, emulator().await).await;
        let store = open(stack.ground.folder.path()).await;
        let mut rest = Self { stack, store, http: http::client(DEADLINE) };
        rest.channel(CHANNEL, &[OWNER, MEMBER]).await;
        rest.key("ck_member", MEMBER, |_| {}).await;
        rest.key("ck_owner", OWNER, |_| {}).await;
        rest.stack.use_key("ck_owner");
        rest
    }

    /// Creates a channel with these people in it, subscribed by the first.
    async fn channel(&self, channel: &str, people: &[&str]) {
        add_kept_group(&self.store, channel, people).await;
    }

    /// Creates a key of that person, with all scopes unless `shape` changes it.
    async fn key(&self, secret: &str, user: &str, shape: impl FnOnce(&mut NewKey<'_>)) {
        add_key(&self.store, (secret, user), None, shape).await;
    }

    async fn keep(&self, changes: &[ChannelChange]) {
        self.store.messages().ingest(changes, now()).await.unwrap();
    }

    /// Builds a request under `/api` with the present key.
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}/api{path}", self.stack.ground.address);
        self.http.request(method, url).bearer_auth(self.stack.key())
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    fn put(&self, path: &str, body: &Value) -> RequestBuilder {
        self.request(Method::PUT, path).json(body)
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.request(Method::POST, path).json(body)
    }

    fn delete(&self, path: &str) -> RequestBuilder {
        self.request(Method::DELETE, path)
    }

    /// Builds a request outside of `/api`, without a key.
    fn outside(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("http://{}{path}", self.stack.ground.address))
    }
}

/// Returns a message of that person at that time, such as `2026-01-02T03:04:05Z`.
fn message(id: &str, user: &str, time: &str, text: &str) -> ChannelChange {
    said_by(user, CHANNEL, id, Timestamp::parse(time).unwrap().millis(), text)
}

/// Returns these paths of a route with all values of the parameters in them.
fn filled_in<const N: usize>(
    route: &RouteInfo,
    mut paths: Vec<String>,
    choices: [(&str, Vec<&str>); N],
) -> Vec<String> {
    for (name, values) in choices {
        let each = |path: String| -> Vec<String> {
            if path.contains(name) {
                values.iter().map(|value| path.replace(name, value)).collect()
            } else {
                vec![path]
            }
        };
        paths = paths.into_iter().flat_map(each).collect();
    }
    assert!(paths.iter().all(|path| !path.contains('{')), "{}: say what it is", route.path);
    paths
}

fn under(rest: &str) -> String {
    format!("/channels/{CHANNEL}{rest}")
}

fn channel_id(id: &str) -> ChannelId {
    ChannelId::from(id)
}
