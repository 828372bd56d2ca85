//! Requests whose caller disconnects, and removals that take long.

use std::time::Duration;

use chatkeep_emulator::{Fault, Target};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::{CHANNEL, MEMBER, OWNER, Rest, message, send, under};
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack};

const MANY: usize = 12_000;
/// Another channel of the same people.
const OTHER: &str = "C00000000000000000000000000000other";
const DAY: &str = "2026-01-02T03:04:05Z";

/// Stores many messages of a person.
async fn pubsub(rest: &Rest, user: &str, prefix: &str, count: usize) {
    let all: Vec<_> =
        (0..count).map(|n| message(&format!("{prefix}{n}"), user, DAY, "a secret")).collect();
    for batch in all.chunks(2_000) {
        rest.keep(batch).await;
    }
}

async fn count(stack: &Stack, sql: &'static str) -> i64 {
    let file = format!("sqlite://{}/chatkeep.db", stack.ground.folder.path().display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
}

/// Sends a request without reading the response; dropping the connection disconnects.
async fn call(stack: &Stack, method: Method, path: &str, headers: &str) -> TcpStream {
    let address = stack.ground.address;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let key = stack.key();
    let request = format!(
        "{method} /api{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Length: 0\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Requests a removal, and disconnects as soon as it has begun.
async fn begin_and_leave(rest: &Rest, path: &str) {
    let caller = call(&rest.stack, Method::DELETE, path, "").await;
    until("the job is begun", DEADLINE, async || {
        count(&rest.stack, "SELECT COUNT(*) FROM channel_jobs").await == 1
    })
    .await;
    drop(caller);
}

async fn job(rest: &Rest, id: &str) -> Value {
    send(rest.get(&under(&format!("/jobs/{id}")))).await.ok()
}

/// Waits until a job is over, with progress that never goes back; returns its final state.
async fn watched(rest: &Rest, id: &str) -> Value {
    let mut told = Value::Null;
    until("the job is done", DEADLINE, async || {
        let now = job(rest, id).await;
        assert!(told["done"].as_i64() <= now["done"].as_i64(), "{told} {now}");
        told = now;
        told["status"] == "done"
    })
    .await;
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_goes_on_without_its_caller_and_through_a_kill() {
    let mut rest = Rest::start(&[]).await;
    pubsub(&rest, MEMBER, "m", MANY).await;
    let path = under(&format!("/members/{MEMBER}/data"));
    begin_and_leave(&rest, &path).await;
    // Repeating the request returns the same job.
    let again = send(rest.delete(&path)).await;
    assert_eq!(again.status.as_u16(), 202);
    let begun = again.json();
    let id = begun["id"].as_str().unwrap().to_owned();
    assert_eq!((&begun["kind"], &begun["channelId"]), (&json!("erasure"), &json!(CHANNEL)));
    assert_eq!(again.header("location"), begun["url"].as_str().unwrap());
    assert!(again.header("location").ends_with(&format!("/api{}", under(&format!("/jobs/{id}")))));
    until("some of it is done", DEADLINE, async || job(&rest, &id).await["done"] != 0).await;
    rest.stack.process.kill().await;
    let left = count(&rest.stack, "SELECT COUNT(*) FROM messages WHERE content IS NOT NULL").await;
    assert!(left > 0 && left < i64::try_from(MANY).unwrap(), "killed too late: {left} are left");
    rest.stack.process = rest.stack.ground.serve(&rest.stack.line).await;
    let done = watched(&rest, &id).await;
    assert_eq!((&done["done"], &done["total"]), (&json!(MANY), &json!(MANY)));
    assert_eq!(done["error"], Value::Null);
    assert!(done["finishedAt"].is_string(), "{done}");
    assert_eq!(
        count(&rest.stack, "SELECT COUNT(*) FROM messages WHERE content IS NOT NULL").await,
        0
    );
    assert_eq!(count(&rest.stack, "SELECT COUNT(*) FROM channel_jobs").await, 1);
    rest.stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_of_many_is_a_job() {
    let rest = Rest::start(&[]).await;
    pubsub(&rest, MEMBER, "m", MANY).await;
    let before = "/backup/messages?before=2026-01-03T00:00:00Z";
    let trial = send(rest.delete(&under(&format!("{before}&dryRun=true")))).await.ok();
    assert_eq!(trial["deletedCount"], MANY);
    begin_and_leave(&rest, &under(before)).await;
    let begun = send(rest.delete(&under(before))).await;
    assert_eq!(begun.status.as_u16(), 202, "{}", begun.json());
    let done = watched(&rest, begun.json()["id"].as_str().unwrap()).await;
    assert_eq!((&done["kind"], &done["done"]), (&json!("deletion"), &json!(MANY)));
    assert_eq!(count(&rest.stack, "SELECT COUNT(*) FROM messages").await, 0);
    // A small removal is done at once.
    pubsub(&rest, MEMBER, "late", 3).await;
    assert_eq!(count(&rest.stack, "SELECT COUNT(*) FROM messages").await, 0, "late deliveries");
    rest.keep(&[message("new", MEMBER, "2026-02-02T03:04:05Z", "x")]).await;
    let small = send(rest.delete(&under("/backup/messages?before=2026-03-03T00:00:00Z"))).await;
    assert_eq!(small.ok()["deletedCount"], 1);
    rest.stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_told_to_the_owner_and_the_person() {
    let mut rest = Rest::start(&[]).await;
    rest.channel(OTHER, &[OWNER, MEMBER, "Uthird"]).await;
    rest.channel(CHANNEL, &[OWNER, MEMBER, "Uthird"]).await;
    rest.key("ck_third", "Uthird", |_| {}).await;
    pubsub(&rest, MEMBER, "m", 2_001).await;
    let mut jobs = Vec::new();
    rest.stack.use_key("ck_member");
    let own = send(rest.delete(&under(&format!("/members/{MEMBER}/data")))).await;
    jobs.push(own.json()["id"].as_str().unwrap().to_owned());
    watched(&rest, &jobs[0]).await;
    rest.stack.use_key("ck_owner");
    pubsub(&rest, OWNER, "o", 2_001).await;
    let deletion = send(rest.delete(&under("/backup/messages?before=2026-01-03T00:00:00Z"))).await;
    jobs.push(deletion.json()["id"].as_str().unwrap().to_owned());
    watched(&rest, &jobs[1]).await;
    for (key, statuses) in
        [("ck_owner", [200, 200]), ("ck_member", [200, 403]), ("ck_third", [403, 403])]
    {
        rest.stack.use_key(key);
        for (job, status) in jobs.iter().zip(statuses) {
            let told = send(rest.get(&under(&format!("/jobs/{job}")))).await;
            assert_eq!(told.status.as_u16(), status, "{key} {job}");
        }
    }
    send(rest.get(&under("/jobs/job_none"))).await.refused(403, "permission_denied");
    rest.stack.use_key("ck_owner");
    send(rest.get(&under("/jobs/job_none"))).await.refused(404, "not_found");
    let elsewhere = format!("/channels/{OTHER}/jobs/{}", jobs[0]);
    send(rest.get(&elsewhere)).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_begun_ends_without_its_caller() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    stack.drained().await;
    // A silent person has to be requested from the platform, which takes a while.
    stack.act_as(&people[2].user_id).await;
    stack.line.fail_next(Target::Profile, 1, Fault::Delay(Duration::from_secs(2)));
    let path = format!("/channels/{}/backup/subscribe", group.chat_id);
    let caller = call(&stack, Method::POST, &path, "Idempotency-Key: left\r\n").await;
    let begun = "SELECT COUNT(*) FROM idempotency WHERE progress = 1";
    until("something is changed", DEADLINE, async || count(&stack, begun).await == 1).await;
    let subscriptions =
        async || stack.get("/subscriptions").await["subscriptions"].as_array().unwrap().len();
    assert_eq!(subscriptions().await, 0, "it is not done yet");
    drop(caller);
    until("it is done", DEADLINE, async || subscriptions().await == 1).await;
    let http = crate::harness::http::client(DEADLINE);
    let url = format!("http://{}/api{path}", stack.ground.address);
    let again = async || {
        send(http.post(&url).bearer_auth(stack.key()).header("idempotency-key", "left")).await
    };
    // The response is stored in a moment.
    until("the answer is kept", DEADLINE, async || again().await.status.as_u16() != 409).await;
    let again = again().await;
    assert_eq!((again.status.as_u16(), again.header("idempotent-replayed")), (201, "true"));
    assert_eq!(again.json(), json!({"success": true}));
}
