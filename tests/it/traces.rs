//! Traces: one leads from the webhook to the reply, over the bus and across processes, and nobody
//! waits for the collector.

use std::collections::BTreeSet;

use chatkeep_emulator::{Emulator, Entry, Fault, Media, Target};
use reqwest::StatusCode;
use serde_json::json;

use crate::harness::otlp::{Collector, ExportedSpan};
use crate::harness::process::Process;
use crate::harness::wait::until;
use crate::harness::{http, ports};
use crate::hooks::sink::Sink;
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, SECRET, Stack, TOKEN, TestEnv};

on_both!(one_trace_leads_from_the_webhook_to_the_reply);

/// Words that are in messages, names and answers, and in no trace. No random id has any of them.
const CONTENT: [&str; 6] =
    ["hours", "nine to six", "Ann", "明華", "good secret words", "picture.png"];

/// Kinds of spans.
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;

/// The program with a collector; on servers, ingress and workers in processes of their own.
struct Traced {
    collector: Collector,
    stack: Stack,
    worker: Option<Process>,
    channel: String,
    people: Vec<String>,
}

impl Traced {
    async fn start(parts: Parts, settings: &[(&'static str, &str)]) -> Self {
        let collector = Collector::start().await;
        let mut ground = TestEnv::new(parts).await;
        ground.settings.push(("CHATKEEP_TELEMETRY_ENDPOINT", collector.url()));
        ground.settings.push(("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned()));
        ground.settings.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let worker = match parts {
            Parts::Embedded => None,
            Parts::Servers => Some(apart(&mut stack).await),
        };
        let people = people.into_iter().map(|person| person.user_id).collect();
        Self { collector, stack, worker, channel: group.chat_id, people }
    }

    /// Waits for the span of a reply, and returns its trace.
    async fn trace_of_reply(&self) -> Vec<ExportedSpan> {
        let mut found = None;
        until("the span of a reply", DEADLINE, async || {
            let spans = self.collector.spans();
            found = spans.into_iter().find(|span| span.name == "POST reply");
            found.is_some()
        })
        .await;
        let trace = found.unwrap().trace;
        until("the span of the request", DEADLINE, async || {
            self.collector.trace(&trace).iter().any(|span| span.kind == SERVER)
        })
        .await;
        self.collector.trace(&trace)
    }

    async fn stop(mut self) {
        assert!(self.stack.process.terminate().await.success());
        if let Some(mut worker) = self.worker.take() {
            assert!(worker.terminate().await.success());
        }
    }
}

/// Replaces the process by one for webhooks and the API, and one for work, which is returned.
async fn apart(stack: &mut Stack) -> Process {
    assert!(stack.process.terminate().await.success());
    let (ground, address) = (&stack.ground, ports::free());
    let mut front =
        ground.program(&stack.line, &["serve", "--roles", "ingress,api,search"]).start();
    front.ready(ground.address, "/readyz").await;
    let mut worker = ground
        .program(&stack.line, &["serve", "--roles", "worker"])
        .env("CHATKEEP_LISTEN", address.to_string())
        .env("CHATKEEP_METRICS_LISTEN", ports::free().to_string())
        .start();
    worker.ready(address, "/readyz").await;
    stack.process = front;
    worker
}

async fn answered(line: &Emulator, channel: &str) {
    until("an answer", DEADLINE, async || {
        let transcript = line.transcript(channel);
        transcript.into_iter().filter(Entry::is_bot).any(|entry| entry.text.is_some())
    })
    .await;
}

/// Returns the one span of that name, and checks its kind.
fn only<'a>(trace: &'a [ExportedSpan], name: &str, kind: i32) -> &'a ExportedSpan {
    let found: Vec<_> = trace.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "{name}: {trace:#?}");
    assert_eq!(found[0].kind, kind, "{name}");
    found[0]
}

async fn one_trace_leads_from_the_webhook_to_the_reply(parts: Parts) {
    let traced = Traced::start(parts, &[]).await;
    let sink = Sink::start().await;
    let hook = json!({"url": sink.url("/all"), "events": ["message.received"]});
    traced.stack.post("/webhooks", hook).await;
    let (line, channel) = (&traced.stack.line, traced.channel.as_str());
    let rule = json!({"keywords": ["good secret words"], "question": "", "answer": "nine to six"});
    traced.stack.post(&format!("/channels/{channel}/assistant/qa"), rule).await;
    line.say(channel, &traced.people[1], "hours, and good secret words").await.unwrap();
    answered(line, channel).await;

    let trace = traced.trace_of_reply().await;
    let request = only(&trace, "POST /webhook/line", SERVER);
    assert!(request.parent.is_empty());
    let publish = only(&trace, "publish event.line", PRODUCER);
    assert_eq!(publish.parent, request.id);
    let id = trace[0].trace.clone();
    until("every stage has its span", DEADLINE, async || {
        let names: BTreeSet<_> =
            traced.collector.trace(&id).into_iter().map(|span| span.name).collect();
        ["process backup", "process members", "process assistant", "POST webhook"]
            .iter()
            .all(|name| names.contains(*name))
    })
    .await;
    let trace = traced.collector.trace(&id);
    for stage in ["process backup", "process members", "process assistant"] {
        let span = only(&trace, stage, CONSUMER);
        assert_eq!(span.parent, publish.id, "{stage}");
        assert_eq!(span.attributes["chatkeep.outcome"], "done", "{stage}");
    }
    let assistant = only(&trace, "process assistant", CONSUMER);
    let reply = only(&trace, "POST reply", CLIENT);
    assert_eq!(reply.parent, assistant.id);
    let delivery = only(&trace, "POST webhook", CLIENT);
    assert_eq!(delivery.parent, only(&trace, "process backup", CONSUMER).id);
    check_attributes(parts, request, publish, assistant, reply);
    check_processes(parts, &trace);

    // A file's trace goes on to its download, whatever else was in the batch.
    line.send_images(channel, &traced.people[1], vec![Media::new("image/png", vec![1, 2])])
        .await
        .unwrap();
    until("a download", DEADLINE, async || {
        let spans = traced.collector.spans();
        let download = spans.iter().find(|span| span.name == "GET content");
        download.is_some_and(|download| {
            let trace = traced.collector.trace(&download.trace);
            ["POST /webhook/line", "process backup", "publish job.media", "process media"]
                .iter()
                .all(|name| trace.iter().any(|span| span.name == *name))
        })
    })
    .await;
    check_privacy(&traced.collector, &[SECRET, TOKEN, traced.stack.key()]);
    traced.stop().await;
}

fn check_attributes(
    parts: Parts,
    request: &ExportedSpan,
    publish: &ExportedSpan,
    assistant: &ExportedSpan,
    reply: &ExportedSpan,
) {
    let system = if parts == Parts::Embedded { "embedded" } else { "nats" };
    for (span, name, value) in [
        (request, "http.request.method", "POST"),
        (request, "http.route", "/webhook/line"),
        (request, "http.response.status_code", "200"),
        (request, "url.path", "/webhook/line"),
        (request, "chatkeep.caller", "platform"),
        (publish, "messaging.system", system),
        (publish, "messaging.operation.type", "send"),
        (publish, "messaging.destination.name", "event.line"),
        (assistant, "messaging.system", system),
        (assistant, "messaging.operation.type", "process"),
        (assistant, "messaging.consumer.group.name", "assistant"),
        (reply, "http.request.method", "POST"),
        (reply, "http.response.status_code", "200"),
        (reply, "server.address", "127.0.0.1"),
        (reply, "chatkeep.bot", "main"),
    ] {
        assert_eq!(span.attributes.get(name).map(String::as_str), Some(value), "{name}: {span:?}");
    }
    assert_eq!(
        assistant.attributes["messaging.message.id"],
        publish.attributes["messaging.message.id"]
    );
}

/// Checks that a trace is of one process, or of the two on servers.
fn check_processes(parts: Parts, trace: &[ExportedSpan]) {
    let processes: BTreeSet<_> =
        trace.iter().map(|span| span.resource["service.instance.id"].clone()).collect();
    assert_eq!(processes.len(), if parts == Parts::Embedded { 1 } else { 2 });
    for span in trace {
        assert_eq!(span.resource["service.name"], "chatkeep");
        assert_eq!(span.resource["service.version"], env!("CARGO_PKG_VERSION"));
    }
}

/// Checks that no span has what people wrote, their names, secrets or queries, and that lines of
/// the log are in none.
fn check_privacy(collector: &Collector, secrets: &[&str]) {
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.events == 0));
    let all = format!("{spans:?}");
    for word in CONTENT.iter().chain(secrets) {
        assert!(!all.contains(word), "{word}");
    }
    assert!(!all.contains("traceparent") && !all.contains("/readyz") && !all.contains('?'));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_the_log_have_the_trace_whatever_its_level() {
    let settings = [("CHATKEEP_LOG_FORMAT", "json")];
    let mut traced = Traced::start(Parts::Embedded, &settings).await;
    let (line, channel) = (&traced.stack.line, traced.channel.as_str());
    line.say(channel, &traced.people[1], "hours").await.unwrap();
    answered(line, channel).await;
    let trace = traced.trace_of_reply().await[0].trace.clone();
    let expected = format!("\"trace_id\":\"{trace}\"");
    let line = traced.stack.process.line(&expected).await;
    assert!(line.contains("\"route\":\"/webhook/line\""), "{line}");

    // A log of errors alone leaves the traces as they are.
    traced.stack.ground.settings.push(("CHATKEEP_LOG_FILTER", "error".to_owned()));
    traced.stack.process.terminate().await;
    traced.stack.process = traced.stack.ground.serve(&traced.stack.line).await;
    let before = traced.collector.spans().len();
    traced.stack.get("/me").await;
    assert!(traced.stack.process.terminate().await.success());
    let spans = traced.collector.spans().split_off(before);
    // The last spans are sent before the process ends.
    assert!(spans.iter().any(|span| span.name == "GET /api/me"), "{spans:?}");
    assert!(traced.stack.process.stderr().is_empty(), "{:?}", traced.stack.process.stderr());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_failed_is_marked_with_its_class() {
    let traced = Traced::start(Parts::Embedded, &[]).await;
    let (line, channel) = (&traced.stack.line, traced.channel.as_str());
    line.fail_next(Target::Reply, 1, Fault::Status { status: 500, retry_after: None });
    line.say(channel, &traced.people[1], "hours").await.unwrap();
    let reply = traced.trace_of_reply().await;
    let reply = reply.iter().find(|span| span.name == "POST reply").unwrap();
    assert!(reply.failed);
    assert_eq!(reply.attributes["http.response.status_code"], "500");
    assert!(reply.attributes.contains_key("error.type"), "{reply:?}");
    traced.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_continues_a_trace_only_where_that_is_trusted() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (trusted, ratio) in [("false", "1"), ("true", "0"), ("false", "0")] {
        let settings = [
            ("CHATKEEP_TELEMETRY_TRUST_INCOMING", trusted),
            ("CHATKEEP_TELEMETRY_SAMPLE_RATIO", ratio),
        ];
        let mut traced = Traced::start(Parts::Embedded, &settings).await;
        let url = format!("http://{}/api/nothing?secret=1", traced.stack.ground.address);
        let request = http::client(DEADLINE).get(url).header("traceparent", PARENT);
        let answer = request.send().await.unwrap();
        assert!(answer.headers().get("traceparent").is_none());
        assert!(traced.stack.process.terminate().await.success());
        let spans = traced.collector.spans();
        let theirs = traced.collector.trace("0af7651916cd43dd8448eb211c80319c");
        if trusted == "true" {
            // What the caller sampled is recorded, and nothing else.
            assert_eq!((theirs.len(), spans.len()), (1, 1), "{spans:?}");
            assert_eq!((&*theirs[0].parent, &*theirs[0].name), ("b7ad6b7169203331", "GET"));
            assert_eq!(theirs[0].attributes["http.response.status_code"], "404");
        } else {
            assert!(theirs.is_empty(), "{theirs:?}");
            assert_eq!(spans.is_empty(), ratio == "0", "{spans:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_a_collector_that_is_away() {
    // Nobody listens at one; the other takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for address in [ports::free(), silent.local_addr().unwrap()] {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        ground.settings.push(("CHATKEEP_TELEMETRY_ENDPOINT", format!("http://{address}")));
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let channel = group.chat_id.as_str();
        stack.line.say(channel, &people[1].user_id, "hours").await.unwrap();
        answered(&stack.line, channel).await;
        stack.kept(channel, 2).await;
        stack.drained().await;
        let line = stack.process.line("the trace collector is unavailable").await;
        assert!(line.contains("setting=\"telemetry.endpoint\""), "{line}");
        let metrics = stack.metrics().await;
        let down = format!(
            "chatkeep_dependency_up{{dependency=\"trace collector\",address=\"http://{address}\"}} 0"
        );
        assert!(metrics.contains(&down), "{metrics}");
        let failed = "chatkeep_trace_exports_total{result=\"unavailable\"}";
        assert!(metrics.contains(failed), "{metrics}");
        assert_eq!(stack.call(reqwest::Method::GET, "/me", None).await.0, StatusCode::OK);
        assert!(stack.process.terminate().await.success());
        let log = stack.process.stderr().join("\n");
        assert_eq!(log.matches("the trace collector is unavailable").count(), 1, "{log}");
        assert!(log.contains("chatkeep has stopped"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_collector_nothing_of_a_trace_is_on_the_bus_or_in_the_log() {
    let ground = TestEnv::new(Parts::Embedded).await;
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let channel = group.chat_id.as_str();
    stack.line.say(channel, &people[1].user_id, "hours").await.unwrap();
    answered(&stack.line, channel).await;
    assert!(!stack.metrics().await.contains("trace collector"));
    assert!(stack.process.terminate().await.success());
    let log = stack.process.stderr().join("\n");
    assert!(log.contains("caller=\"platform\"") && !log.contains("trace_id"), "{log}");
}
