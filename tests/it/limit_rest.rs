//! The rate limit for a client: headers, 429, and several API processes that share it.

use reqwest::{Client, Response, StatusCode};
use serde_json::Value;

use crate::harness::http;
use crate::harness::wait::until;
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

const BURST: usize = 20;

fn header(answer: &Response, name: &str) -> i64 {
    answer.headers()[name].to_str().unwrap().parse().unwrap()
}

async fn limited(parts: Parts) -> TestEnv {
    let mut ground = TestEnv::new(parts).await;
    // So slow a refill that no token comes back while a test runs.
    ground.settings.push(("CHATKEEP_RATE_LIMIT_PER_MINUTE", "1".to_owned()));
    ground.settings.push(("CHATKEEP_RATE_LIMIT_BURST", BURST.to_string()));
    ground
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_is_told_what_is_left_and_then_to_wait() {
    let mut stack = Stack::on(limited(Parts::Embedded).await, emulator().await).await;
    let client = http::client(DEADLINE);
    let me = format!("http://{}/api/me", stack.ground.address);
    stack.act_as("U1").await;
    let first = stack.key().to_owned();
    let call = async |key: &str| client.get(&me).bearer_auth(key).send().await.unwrap();
    for left in (0..BURST).rev() {
        let answer = call(&first).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(header(&answer, "x-ratelimit-limit"), i64::try_from(BURST).unwrap());
        assert_eq!(header(&answer, "x-ratelimit-remaining"), i64::try_from(left).unwrap());
        assert!(header(&answer, "x-ratelimit-reset") > 1_700_000_000);
    }
    let refused = call(&first).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let seconds = header(&refused, "retry-after");
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body["error"], "Rate limit exceeded");
    assert_eq!(body["retryAfter"], seconds);
    assert!(seconds > 0 && body["code"] == "rate_limited" && body["requestId"].is_string());
    // Another key of the same person, and anonymous callers, have their own.
    stack.act_as("U1").await;
    assert_eq!(call(stack.key()).await.status(), StatusCode::OK);
    let unknown = call("ck_unknown").await;
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
    assert!(unknown.headers().contains_key("x-ratelimit-remaining"));
    for path in ["/api", "/api/", "/api/v1/", "/api/nothing"] {
        let url = format!("http://{}{path}", stack.ground.address);
        let nothing = client.get(url).send().await.unwrap();
        assert!(nothing.headers().contains_key("x-ratelimit-remaining"), "{path}");
    }
    // Webhooks are not counted with the API.
    let webhook = format!("http://{}/webhook/line", stack.ground.address);
    for _ in 0..=BURST {
        let answer = client.post(&webhook).body("{}").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_keys_of_a_person_have_a_limit_together_and_tried_ones_their_address() {
    let mut stack = Stack::on(limited(Parts::Embedded).await, emulator().await).await;
    let client = http::client(DEADLINE);
    let address = stack.ground.address;
    let mut granted = 0;
    for _ in 0..6 {
        stack.act_as("U1").await;
        for _ in 0..BURST {
            granted += usize::from(status(&client, address, stack.key()).await == StatusCode::OK);
        }
    }
    assert_eq!(granted, 5 * BURST);
    // An unknown key is admitted as long as its address is within the limit.
    stack.act_as("U2").await;
    assert_eq!(status(&client, address, stack.key()).await, StatusCode::OK);
    for n in 0..BURST {
        let tried = status(&client, address, &format!("ck_tried{n}")).await;
        assert_eq!(tried, StatusCode::UNAUTHORIZED);
    }
    for n in 0..BURST {
        let tried = status(&client, address, &format!("ck_again{n}")).await;
        assert_eq!(tried, StatusCode::TOO_MANY_REQUESTS);
    }
    assert_eq!(status(&client, address, stack.key()).await, StatusCode::OK, "who is known goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_share_the_limit() {
    let line = emulator().await;
    let mut ground = limited(Parts::Servers).await;
    let mut one = ground.serve(&line).await;
    ground.command(&line, &["user", "add", "U1"]).await;
    let key = ground.command(&line, &["key", "create", "--user", "U1"]).await;
    let first = ground.address;
    ground.address = crate::harness::ports::free();
    ground.metrics = crate::harness::ports::free();
    let mut two = ground.program(&line, &["serve", "--roles", "api"]).start();
    two.ready(ground.address, "/readyz").await;
    let client = http::client(DEADLINE);
    for _ in 0..BURST {
        assert_eq!(status(&client, first, &key).await, StatusCode::OK);
    }
    // Grants of one process are charged by the other one.
    until("the other process refuses, too", DEADLINE, async || {
        status(&client, ground.address, &key).await == StatusCode::TOO_MANY_REQUESTS
    })
    .await;
    one.kill().await;
    two.kill().await;
}

async fn status(client: &Client, address: std::net::SocketAddr, key: &str) -> StatusCode {
    let url = format!("http://{address}/api/me");
    client.get(url).bearer_auth(key).send().await.unwrap().status()
}
