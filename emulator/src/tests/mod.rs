//! The emulator against a caller that plays by the rules, and one that does not.

mod api;
mod channel;
mod content;
mod deliver;
mod events;
mod faults;
mod forms;
mod people;
mod refusals;
mod sends;
mod tokens;
mod trouble;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;

/// Initial time of every test's clock.
const START: i64 = 1_767_323_045_678;
/// Nothing in these tests takes this long unless it is broken.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A platform with two people in a group; the bot is in it.
struct Stage {
    emulator: Emulator,
    clock: Arc<AtomicI64>,
    http: reqwest::Client,
    ann: String,
    bob: String,
    group: String,
}

/// An answer of the API.
struct Answer {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: Value,
}

impl Stage {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let clock = Arc::new(AtomicI64::new(START));
        let hand = Arc::clone(&clock);
        let mut options = Options::new(Arc::new(move || hand.load(Ordering::SeqCst)));
        options.redelivery.first = Duration::from_millis(1);
        options.redelivery.longest = Duration::from_millis(5);
        change(&mut options);
        let emulator = Emulator::start(options).await.unwrap();
        let ann = emulator.add_user("Ann", Some("https://pictures.test/ann")).user_id;
        let bob = emulator.add_user("Bob", None).user_id;
        let group = emulator.add_group("Cooks", None, &[&ann, &bob]).chat_id;
        emulator.build(Action::BotJoins { chat: group.clone() }).unwrap();
        let http = client::webhooks(TIMEOUT).unwrap();
        Self { emulator, clock, http, ann, bob, group }
    }

    fn pass(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    /// Ann says something in the group; nobody is told.
    fn said(&self, text: impl Into<Text>) -> Event {
        self.sent(Post::Text(text.into()))
    }

    fn sent(&self, post: Post) -> Event {
        let (chat, user) = (self.group.clone(), self.ann.clone());
        let events = self.emulator.build(Action::Send { chat, user, post }).unwrap();
        events.into_iter().next().unwrap()
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.emulator.api_base());
        self.http.request(method, url).bearer_auth("emulator-access-token")
    }

    async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(body)).await
    }

    async fn reply(&self, event: &Event, texts: &[&str]) -> Answer {
        let token = event.reply_token.as_deref().unwrap();
        self.post("/v2/bot/message/reply", &reply_body(token, texts)).await
    }

    /// The rules broken so far.
    fn broken(&self) -> Vec<Rule> {
        self.emulator.violations().iter().map(|violation| violation.rule).collect()
    }
}

impl Answer {
    async fn of(request: RequestBuilder) -> Self {
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.bytes().await.unwrap();
        Self { status, headers, body: serde_json::from_slice(&body).unwrap_or_default() }
    }

    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| json!({ "type": "text", "text": text })).collect()
}

fn reply_body(token: &str, messages: &[&str]) -> Value {
    json!({ "replyToken": token, "messages": texts(messages) })
}

/// A service that takes webhooks: answers with the statuses it was given, then with 200.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Inbox>>);

#[derive(Default)]
struct Inbox {
    statuses: VecDeque<u16>,
    got: Vec<(HeaderMap, Bytes)>,
}

impl Sink {
    async fn open(statuses: &[u16]) -> (Self, String) {
        let sink = Self::default();
        lock(&sink.0).statuses.extend(statuses);
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let url = format!("http://{}/webhook", listener.local_addr().unwrap());
        let router = Router::new().route("/webhook", post(take)).with_state(sink.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (sink, url)
    }

    /// The bodies so far.
    fn bodies(&self) -> Vec<Value> {
        let inbox = lock(&self.0);
        inbox.got.iter().map(|(_, body)| serde_json::from_slice(body).unwrap()).collect()
    }

    fn raw(&self) -> Vec<(HeaderMap, Bytes)> {
        lock(&self.0).got.clone()
    }
}

async fn take(State(sink): State<Sink>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut inbox = lock(&sink.0);
    inbox.got.push((headers, body));
    let status = inbox.statuses.pop_front().unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}
