//! The ingress for LINE, and for anybody who pretends to be LINE.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request};
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::event::{Envelope, PlatformKind};
use chatkeep_core::health::Health;
use chatkeep_core::time::{ManualClock, SharedClock, Timestamp};
use chatkeep_emulator::{Signed, signature};
use chatkeep_http::rate_limit::Limiter;
use chatkeep_ingress::{Ingress, IngressBot, IngressBots, router};
use chatkeep_platform::line::LineWebhooks;
use chatkeep_platform::{InboundEvents, InboundWebhooks, NotAWebhook, Unverified, VerifiedBody};
use chatkeep_workers::StageName;
use chatkeep_workers::tap::Tap;
use reqwest::StatusCode;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::harness::http;
use crate::harness::wait::until;
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, SECRET, Stack, TestEnv};

/// Bodies of old and of future senders: no event id, no context, odd ids, unknown types, fields of
/// unexpected types.
const LENIENT: [&str; 9] = [
    r#"{"events":[{"type":"follow","timestamp":1462629479859,"source":{"type":"user","userId":"u1"},"replyToken":"r"}]}"#,
    r#"{"destination":"xxxxxxxxxx","events":[{"type":"hoge","foo":{"bar":"baz"},"mode":"active"}]}"#,
    r#"{"events":[{"type":"message","source":{"type":"unknown"},"message":{"id":"1","type":"unknown","unknown":"blah"}}]}"#,
    r#"{"events":[{"type":"message","source":{"type":"group","groupId":"Ca56f94637c..."},"message":{"id":"2","type":"sticker"}}]}"#,
    r#"{"events":[{"type":"beacon","beacon":{"hwid":"d41d8cd98f","type":"enter"},"source":{"type":"user","userId":"U2"}}]}"#,
    r#"{"events":[{"type":"accountLink","link":{"result":"ok","nonce":"n"},"timestamp":"soon"}]}"#,
    r#"{"events":[{"type":"memberJoined","source":{"type":"group","groupId":"C3"},"joined":{"members":[{"type":"user"}]}}]}"#,
    r#"{"events":[{"type":"message","webhookEventId":"E1","message":{"id":"3","type":"image"}},{"type":"message","webhookEventId":"E1","message":{"id":"4","type":"image"}}]}"#,
    r#"{"events":[{"type":"message","source":{"type":"user","userId":"U4"},"message":{"id":"5","type":"text","text":"nul \u0000 and \ud83d\ude00"}}]}"#,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_line_signs_is_taken_and_nothing_else() {
    let stack = Stack::start(Parts::Embedded, emulator().await).await;
    let line = &stack.line;
    assert_eq!(line.connection_check().await.status, Some(200));
    for body in LENIENT {
        assert_eq!(line.post(line.sign_raw(body)).await, Some(200), "{body}");
    }
    stack.drained().await;
    let dead = stack.ground.command(line, &["dead", "list", "--json"]).await;
    assert_eq!(dead, "", "every one of them can be handled");

    let good = signature(SECRET, LENIENT[0].as_bytes());
    for wrong in [None, Some(""), Some("AAAA"), Some(&good[1..]), Some("Ünsigned")] {
        assert_eq!(line.post_raw(LENIENT[0], wrong).await, Some(401), "{wrong:?}");
    }
    let other = Signed { body: format!("{} ", LENIENT[0]).into(), signature: good };
    assert_eq!(line.post(other).await, Some(401));
    for broken in ["", "[]", "{", "{\"events\":3}", "null"] {
        assert_eq!(line.post(line.sign_raw(broken)).await, Some(400), "{broken}");
    }
    let url = format!("http://{}/webhook/line", stack.ground.address);
    let signed =
        http::client(DEADLINE).post(url).header("x-line-signature", signature(SECRET, b"[]"));
    let refused: Value = signed.body("[]").send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["code"], "invalid_body", "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_have_a_limit_and_the_route_a_method() {
    let stack = Stack::start(Parts::Embedded, emulator().await).await;
    let large = format!("{{\"events\":[],\"x\":\"{}\"}}", "y".repeat(1024 * 1024));
    assert_eq!(stack.line.post(stack.line.sign_raw(large)).await, Some(413));
    let url = format!("http://{}/webhook/line", stack.ground.address);
    let got = http::client(DEADLINE).get(url).send().await.unwrap();
    assert_eq!(got.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_limited_by_address_and_real_webhooks_never() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    // One, and another one after a minute.
    ground.settings.push(("CHATKEEP_INGRESS_REJECTED_PER_MINUTE", "1".to_owned()));
    ground.settings.push(("CHATKEEP_API_PROXIES", "1".to_owned()));
    let stack = Stack::on(ground, emulator().await).await;
    let url = format!("http://{}/webhook/line", stack.ground.address);
    let http = http::client(DEADLINE);
    let post = async |address: &str, signature: Option<&str>| {
        let mut request = http.post(&url).body(LENIENT[0]).header("X-Forwarded-For", address);
        if let Some(signature) = signature {
            request = request.header("X-Line-Signature", signature);
        }
        request.send().await.unwrap()
    };
    let right = signature(SECRET, LENIENT[0].as_bytes());
    let wrong = signature("another secret", LENIENT[0].as_bytes());

    assert_eq!(post("203.0.113.1", Some(&right)).await.status(), 200);
    assert_eq!(post("203.0.113.1", Some(&wrong)).await.status(), 401, "the right one is free");
    for garbage in [Some(&*wrong), None, Some("x")] {
        let answer = post("198.51.100.7, 203.0.113.1", garbage).await;
        assert_eq!(answer.status(), 429, "{garbage:?}");
        let header = answer.headers()["retry-after"].to_str().unwrap().to_owned();
        let body: Value = answer.json().await.unwrap();
        let seconds = body["retryAfter"].as_u64().unwrap();
        assert_eq!(header, seconds.to_string());
        assert!((1..=60).contains(&seconds), "{seconds}");
        let said = (&body["error"], &body["code"]);
        assert_eq!(said, (&"Rate limit exceeded".into(), &"rate_limited".into()));
    }
    // LINE, behind the same address as the sender of garbage.
    for _ in 0..3 {
        assert_eq!(post("203.0.113.1", Some(&right)).await.status(), 200);
    }
    assert_eq!(post("203.0.113.2", None).await.status(), 401, "others have their own");
    assert_eq!(post("2001:db8:0:1::1", None).await.status(), 401);
    assert_eq!(post("2001:db8:0:1::2", None).await.status(), 429, "a network is one address");

    let lines = || [stack.process.stdout(), stack.process.stderr()].concat();
    until("the last one is logged", DEADLINE, async || {
        lines().iter().any(|line| line.contains("2001:db8:0:1::/64"))
    })
    .await;
    let logged = lines().iter().filter(|line| line.contains("missing signature")).count();
    assert_eq!(logged, 3, "only what was answered 401 is logged");
}

#[tokio::test]
async fn the_budget_for_garbage_comes_back() {
    let folder = TempDir::new().unwrap();
    let manual = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_323_045_678)));
    let clock: SharedClock = manual.clone();
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), clock.clone()).await.unwrap();
    let rejected = RateLimitConfig { per_minute: 6, burst: 6 };
    let webhooks = LineWebhooks::new(&[SECRET.to_owned().into()]).unwrap();
    let ingress = Ingress {
        bus: Bus::Embedded(bus.clone()),
        bots: IngressBots::new([IngressBot::new(
            "main",
            Arc::new(webhooks),
            None,
            Health::new(clock.clone()),
        )]),
        clock: clock.clone(),
        tap: Tap::default(),
        rejected: Limiter::alone(rejected, clock),
        proxies: 0,
        disk: DiskReserve::new(0),
    };
    let router = router(ingress, 1_000);
    let post = async |signature: &str, body: &'static str| {
        let request = Request::post("/webhook/line").header("x-line-signature", signature);
        router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap()
    };
    let wrong = signature("another secret", b"{}");
    for _ in 0..6 {
        assert_eq!(post(&wrong, "{}").await.status(), 401);
    }
    let limited = post("", "{}").await;
    assert_eq!(
        (limited.status().as_u16(), &limited.headers()["retry-after"]),
        (429, &"10".parse().unwrap())
    );
    manual.advance(Duration::from_secs(10));
    assert_eq!(post(&wrong, "{}").await.status(), 401);
    assert_eq!(post(&wrong, "{}").await.status(), 429);
    Bus::Embedded(bus).close().await;
}

/// A second platform: its webhooks hold one event a line and carry a shared token.
#[derive(Debug)]
struct Lines;

const TOKEN: &str = "x-lines-token";

impl InboundWebhooks for Lines {
    fn path(&self) -> &'static str {
        "lines"
    }

    fn label(&self) -> &'static str {
        "Lines"
    }

    fn max_body(&self) -> usize {
        100
    }

    fn may_be_signed(&self, headers: &HeaderMap) -> bool {
        headers.contains_key(TOKEN)
    }

    fn verify(&self, headers: &HeaderMap, body: Bytes) -> Result<VerifiedBody, Unverified> {
        let right = headers.get(TOKEN).is_some_and(|token| token == SECRET);
        right.then(|| VerifiedBody::new(body)).ok_or(Unverified)
    }

    fn parse(
        &self,
        body: &VerifiedBody,
        bot: &str,
        received_at: Timestamp,
    ) -> Result<InboundEvents, NotAWebhook> {
        let lines = std::str::from_utf8(body.bytes()).map_err(|error| NotAWebhook(error.into()))?;
        let envelope = |(number, line): (usize, &str)| Envelope {
            v: Envelope::VERSION,
            id: format!("{}-{number}", received_at.millis()).into(),
            platform: PlatformKind::Line,
            bot: bot.to_owned(),
            channel: Some("C1".into()),
            received_at: received_at.millis(),
            raw: serde_json::value::to_raw_value(line).unwrap(),
        };
        let envelopes = lines.lines().enumerate().map(envelope).collect();
        Ok(InboundEvents { envelopes, destination: None })
    }
}

#[tokio::test]
async fn a_second_platform_needs_an_adapter_alone() {
    let folder = TempDir::new().unwrap();
    let clock: SharedClock = Arc::new(ManualClock::new(Timestamp::from_millis(7)));
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), clock.clone()).await.unwrap();
    let bus = Bus::Embedded(bus);
    let backup = StageName::Backup.consumer(Duration::from_secs(30));
    bus.ensure(&backup).await.unwrap();
    let line = LineWebhooks::new(&[SECRET.to_owned().into()]).unwrap();
    let ingress = Ingress {
        bus: bus.clone(),
        bots: IngressBots::new([
            IngressBot::new("main", Arc::new(line), None, Health::new(clock.clone())),
            IngressBot::new("main", Arc::new(Lines), None, Health::new(clock.clone())),
        ]),
        clock: clock.clone(),
        tap: Tap::default(),
        rejected: Limiter::alone(RateLimitConfig { per_minute: 60, burst: 60 }, clock),
        proxies: 0,
        disk: DiskReserve::new(0),
    };
    let router = router(ingress, 1_000);
    let post = async |path: &str, token: &str, body: &'static [u8]| {
        let request = Request::post(path).header(TOKEN, token).body(Body::from(body)).unwrap();
        router.clone().oneshot(request).await.unwrap().status()
    };
    assert_eq!(post("/webhook/lines/main", SECRET, b"one\ntwo").await, 200);
    assert_eq!(post("/webhook/lines", SECRET, b"").await, 200, "each platform has one bot");
    assert_eq!(post("/webhook/lines", "wrong", b"one").await, 401);
    assert_eq!(post("/webhook/line", SECRET, b"one").await, 401, "not LINE's header");
    assert_eq!(post("/webhook/lines", SECRET, &[b'x'; 101]).await, 413);
    assert_eq!(post("/webhook/other", SECRET, b"one").await, 404);
    assert_eq!(post("/webhook/lines", SECRET, b"\xff").await, 400);
    assert_eq!(bus.backlog(&backup).await.unwrap(), 2);
    bus.close().await;
}
