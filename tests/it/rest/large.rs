//! Large rule lists: bounded, and no burden to the service.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{CHANNEL, OWNER, Rest, send, under};

/// Fills the channel's list with that many rules, each of that many bytes.
async fn fill(rest: &Rest, rules: usize, bytes: usize) {
    let answer = bytes - r#"["keyword"]"#.len();
    rest.stack
        .sql(format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rules})
             INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                   created_by)
             SELECT '{CHANNEL}', 'qa_' || i, '[\"keyword\"]', '',
                    substr(hex(randomblob({answer})), 1, {answer}), i, '{OWNER}' FROM n"
        ))
        .await;
}

fn rule() -> Value {
    json!({"keywords": ["k"], "question": "", "answer": "a"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_is_full_takes_no_more_and_can_shrink() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/qa");
    fill(&rest, 4_096, 2_048).await;
    let refused = send(rest.post(&path, &rule())).await.refused(400, "rules_too_large");
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("8388614") && why.contains("8388608"), "{why}");
    let larger = json!({"keywords": ["k"], "question": "", "answer": "a".repeat(2_045)});
    send(rest.put(&under("/assistant/qa/qa_7"), &larger)).await.refused(400, "rules_too_large");
    send(rest.put(&under("/assistant/qa/qa_7"), &rule())).await.ok();
    let saved = send(rest.post(&path, &rule())).await.ok();
    assert_eq!(saved["items"].as_array().unwrap().len(), 4_097);
    let shared = &saved["warnings"][0];
    assert_eq!((&shared["code"], &shared["keyword"]), (&json!("keyword_shared"), &json!("k")));
    // Above the limit, from before there was one.
    fill_more(&rest).await;
    assert_eq!(send(rest.get(&path)).await.ok()["items"].as_array().unwrap().len(), 4_098);
    send(rest.post(&path, &rule())).await.refused(400, "rules_too_large");
    send(rest.delete(&under("/assistant/qa/qa_large"))).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_has_so_many_rules_and_no_more() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/qa");
    fill(&rest, 9_999, 20).await;
    send(rest.post(&path, &rule())).await.ok();
    let refused = send(rest.post(&path, &rule())).await.refused(400, "too_many_rules");
    assert_eq!(refused["field"], "");
    assert!(refused["error"].as_str().unwrap().contains("10000"), "{refused}");
    send(rest.delete(&under("/assistant/qa/qa_7"))).await.ok();
    send(rest.post(&path, &rule())).await.ok();
}

async fn fill_more(rest: &Rest) {
    rest.stack
        .sql(format!(
            "INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at,
                                   created_by)
             VALUES ('{CHANNEL}', 'qa_large', '[\"large\"]', '', hex(zeroblob(5000000)), 9999,
                     '{OWNER}')"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_answers_are_like_small_ones() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/qa");
    fill(&rest, 1_000, 1_000).await;
    let whole = send(rest.get(&path)).await;
    assert_eq!(whole.ok()["items"].as_array().unwrap().len(), 1_000);
    assert_eq!(whole.header("content-length"), whole.body.len().to_string());
    let tag = whole.header("etag");
    assert!(tag.starts_with("\"v"), "{tag}");
    let known = send(rest.get(&path).header("if-none-match", tag)).await;
    assert_eq!((known.status.as_u16(), known.body.len()), (304, 0));
    let packed = send(rest.get(&path).header("accept-encoding", "gzip")).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert_eq!(packed.header("etag"), format!("W/{tag}"));
    assert!(packed.body.len() < whole.body.len() * 9 / 10, "{}", packed.body.len());
    let head = send(rest.request(reqwest::Method::HEAD, &path)).await;
    assert_eq!(head.header("content-length"), whole.body.len().to_string());
    let stale = rest.post(&path, &rule()).header("if-match", "\"v9-x\"");
    send(stale).await.refused(412, "precondition_failed");
    let current = rest.post(&path, &rule()).header("if-match", tag);
    let saved = send(current).await;
    let listed = send(rest.get(&path)).await;
    assert_eq!(saved.ok()["items"], listed.ok()["items"]);
    assert_eq!(saved.header("etag"), listed.header("etag"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_readers_of_a_large_list_cost_little_memory() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/qa");
    // An eighth of the limit: an unoptimised build takes seconds for each of the full ones.
    fill(&rest, 1_250, 838).await;
    let one = send(rest.get(&path)).await;
    let before = rest.stack.process.peak_bytes();
    let answers = join_all((0..20).map(|_| send(rest.get(&path)))).await;
    for answer in &answers {
        assert_eq!((answer.status.as_u16(), answer.body == one.body), (200, true));
    }
    let grown = rest.stack.process.peak_bytes().saturating_sub(before) >> 20;
    let kib = one.body.len() >> 10;
    println!("{kib} KiB, 20 readers: {grown} MiB more than for one");
    // It is 25 to 40, of which the answers themselves are 24.
    assert!(grown < 64, "{grown} MiB more");
}
