//! `Idempotency-Key`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};

use chatkeep_store::PresenceEvidenceKind;

use super::{CHANNEL, MEMBER, OWNER, Rest, message, now, send, texts, under};
use crate::pipeline::conversation::emulator;
use crate::stack::{Parts, TestEnv};
use crate::store::{item, unsent};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_gives_the_first_answer() {
    let rest = Rest::start(&[]).await;
    let body = json!({"name": "made once", "scopes": ["read:messages"]});
    let ask = |path: &str, key: &str| rest.post(path, &body).header("idempotency-key", key);
    let first = send(ask("/keys", "k1")).await;
    assert_eq!((first.status.as_u16(), first.header("idempotent-replayed")), (201, ""));
    let made = first.ok()["key"].as_str().unwrap().to_owned();
    for path in ["/keys", "/v1/keys"] {
        let again = send(ask(path, "k1")).await;
        assert_eq!((again.status.as_u16(), again.header("idempotent-replayed")), (201, "true"));
        assert_eq!(
            (again.json(), again.header("content-type")),
            (first.json(), "application/json")
        );
    }
    assert_nothing_to_read(&rest, &made).await;
    let other = json!({"name": "another", "scopes": ["read:messages"]});
    let other = rest.post("/keys", &other).header("idempotency-key", "k1");
    send(other).await.refused(422, "idempotency_key_reused");
    send(ask("/keys?unknown=1", "k1")).await.refused(422, "idempotency_key_reused");
    // Another key, another route, another caller: independent.
    assert_eq!(send(ask("/keys", "k2")).await.header("idempotent-replayed"), "");
    let subscribe = under("/backup/subscribe");
    let elsewhere = rest.post(&subscribe, &json!({})).header("idempotency-key", "k1");
    send(elsewhere).await.ok();
    rest.key("ck_second", OWNER, |_| {}).await;
    let second = send(ask("/keys", "k1").bearer_auth("ck_second")).await;
    // Two `Authorization` headers are invalid.
    assert_eq!(second.status.as_u16(), 401);
    let url = format!("http://{}/api/keys", rest.stack.ground.address);
    let second = rest.http.post(url).bearer_auth("ck_second").json(&body);
    let second = send(second.header("idempotency-key", "k1")).await;
    assert_eq!((second.status.as_u16(), second.header("idempotent-replayed")), (201, ""));
    assert_ne!(second.json()["key"], first.json()["key"]);
    // A GET ignores the header.
    let listed = send(rest.get("/keys").header("idempotency-key", "k1")).await.ok();
    let names = texts(&listed["keys"], "name");
    assert_eq!(names.iter().filter(|name| *name == "made once").count(), 3);
}

/// Checks that the created key is nowhere in the database in plain text.
async fn assert_nothing_to_read(rest: &Rest, key: &str) {
    let folder = rest.stack.ground.folder.path();
    let file = format!("sqlite://{}/chatkeep.db", folder.display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    let rows: Vec<(String, String, String, Option<String>)> =
        sqlx::query_as("SELECT owner, key_hash, request, answer FROM idempotency")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    assert_eq!(rows.len(), 1);
    let (owner, hash, request, answer) = &rows[0];
    let answer = answer.as_deref().unwrap();
    assert!(answer.len() > 100, "{answer}");
    for text in [owner, hash, request, answer] {
        assert!(!text.contains(key) && !text.contains("made once") && text != "k1", "{text}");
    }
    let bytes = STANDARD_NO_PAD.decode(answer).unwrap();
    assert!(!bytes.windows(key.len()).any(|part| part == key.as_bytes()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_keys_are_refused_and_refusals_free_theirs() {
    let rest = Rest::start(&[]).await;
    let good = json!({"name": "n", "scopes": ["read:messages"]});
    for key in ["", "two words", "schlüssel", &"k".repeat(256)] {
        let asked = rest.post("/keys", &good).header("idempotency-key", key.as_bytes());
        let refused = send(asked).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], "Idempotency-Key");
    }
    let longest = "k".repeat(255);
    let bad = json!({"name": "n", "scopes": []});
    let ask = |body| rest.post("/keys", body).header("idempotency-key", &longest);
    send(ask(&bad)).await.refused(400, "invalid_request");
    assert_eq!(send(ask(&good)).await.status.as_u16(), 201);
    send(ask(&bad)).await.refused(422, "idempotency_key_reused");
    let unknown = rest.http.post(format!("http://{}/api/keys", rest.stack.ground.address));
    let unknown = unknown.header("idempotency-key", "k").json(&good);
    send(unknown).await.refused(401, "invalid_api_key");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_at_once_one_runs() {
    let rest = Rest::start(&[]).await;
    for round in 0..10 {
        let name = format!("round {round}");
        let body = json!({"name": name, "scopes": ["read:messages"]});
        let ask = || send(rest.post("/keys", &body).header("idempotency-key", &round.to_string()));
        let (one, two, three) = tokio::join!(ask(), ask(), ask());
        let answers = [one, two, three];
        let ran =
            |a: &&super::Answer| a.status == 201 && a.header("idempotent-replayed").is_empty();
        assert_eq!(answers.iter().filter(ran).count(), 1, "{answers:?}");
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            answer.refused(409, "conflict");
        }
        let keys: std::collections::BTreeSet<_> = answers
            .iter()
            .filter_map(|answer| answer.json()["key"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(keys.len(), 1, "whoever gets a key gets the same");
        let listed = send(rest.get("/keys?limit=100")).await.ok();
        let names = texts(&listed["keys"], "name");
        assert_eq!(names.iter().filter(|made| **made == name).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_repeated_only_to_those_who_may_still_ask() {
    let rest = Rest::start(&[]).await;
    let said = message("m1", MEMBER, &now().to_string(), "where is the treasure");
    rest.keep(&[said]).await;
    // What changes nothing is run anew, so it shows nothing that has been erased.
    let path = under("/assistant/backtest");
    let draft =
        json!({"days": 31, "rules": [{"keywords": ["where is the treasure"], "answer": "x"}]});
    let ask = async || send(rest.post(&path, &draft).header("idempotency-key", "z")).await;
    assert_eq!(ask().await.ok()["changes"].as_array().unwrap().len(), 1);
    rest.keep(&[unsent(CHANNEL, "m1", now().millis())]).await;
    let again = ask().await;
    assert_eq!((again.header("idempotent-replayed"), &again.ok()["changes"]), ("", &json!([])));
    // A stored answer is for those who may still ask.
    let rule = json!({"keywords": ["k"], "answer": "a secret"});
    let ask = async || {
        send(rest.post(&under("/assistant/qa"), &rule).header("idempotency-key", "y")).await
    };
    ask().await.ok();
    assert_eq!(ask().await.header("idempotent-replayed"), "true");
    let left = item(CHANNEL, now().millis(), PresenceEvidenceKind::Left(OWNER.into()));
    rest.store.members().record_presence(&[left], now()).await.unwrap();
    ask().await.refused(403, "permission_denied");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_large_answer_little_is_kept() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/qa");
    let answer = "x".repeat(5_000);
    let rule = json!({"keywords": ["k"], "question": "", "answer": answer});
    for _ in 0..20 {
        send(rest.post(&path, &rule)).await.ok();
    }
    let ask = async || send(rest.post(&path, &rule).header("idempotency-key", "large")).await;
    let first = ask().await;
    assert_eq!(first.ok()["items"].as_array().unwrap().len(), 21);
    assert!(first.body.len() > 100_000);
    let again = ask().await;
    assert_eq!((again.status.as_u16(), again.header("idempotent-replayed")), (200, "true"));
    assert_eq!(again.json(), first.json(), "with its warnings");
    assert_eq!(again.header("etag"), first.header("etag"));
    let small = json!({"name": "n", "scopes": ["read:messages"]});
    send(rest.post("/keys", &small).header("idempotency-key", "small")).await.ok();
    let folder = rest.stack.ground.folder.path();
    let file = format!("sqlite://{}/chatkeep.db", folder.display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    let kept: Vec<i64> = sqlx::query_scalar("SELECT length(answer) FROM idempotency")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert!(kept.len() == 2 && kept.iter().all(|size| *size < 1_500), "{kept:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_ends_the_requests_of_a_process_that_died() {
    let (ground, line) = (TestEnv::new(Parts::Embedded).await, emulator().await);
    let later = now().millis() + 60_000;
    let unfinished = format!(
        "INSERT INTO idempotency (owner, route, key_hash, request, created_at, progress)
         VALUES ('key:1', '/api/keys', 'unchanged', 'r', {later}, 0),
                ('key:1', '/api/keys', 'changed', 'r', {later}, 1)"
    );
    ground.sql(&unfinished).await;
    let mut service = ground.serve(&line).await;
    let file = format!("sqlite://{}/chatkeep.db", ground.folder.path().display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    let left: Vec<(String, i64)> = sqlx::query_as("SELECT key_hash, progress FROM idempotency")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(left, [("changed".to_owned(), 2)]);
    assert!(service.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_that_changed_nothing_frees_its_key() {
    let rest = Rest::start(&[]).await;
    let body = json!({"url": "https://example.org/", "events": ["message.received"]});
    let ask = || send(rest.post("/webhooks", &body).header("idempotency-key", "k1"));
    let sql = async |sql| rest.stack.ground.sql(sql).await;
    sql("ALTER TABLE webhooks RENAME TO elsewhere").await;
    for _ in 0..2 {
        ask().await.refused(500, "internal");
    }
    sql("ALTER TABLE elsewhere RENAME TO webhooks").await;
    let made = ask().await;
    assert_eq!((made.status.as_u16(), made.header("idempotent-replayed")), (201, ""));
    assert_eq!(ask().await.header("idempotent-replayed"), "true");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_was_interrupted_after_a_change_is_never_run_again() {
    let rest = Rest::start(&[]).await;
    let body = json!({"name": "made once", "scopes": ["read:messages"]});
    let ask = || send(rest.post("/keys", &body).header("idempotency-key", "k1"));
    ask().await.ok();
    // As the next process finds it after one that died before it answered.
    let interrupted = "UPDATE idempotency SET status = NULL, answer = NULL, progress = 2";
    rest.stack.ground.sql(interrupted).await;
    for _ in 0..2 {
        ask().await.refused(409, "request_interrupted");
    }
    let listed = send(rest.get("/keys?limit=100")).await.ok();
    let names = texts(&listed["keys"], "name");
    assert_eq!(names.iter().filter(|name| *name == "made once").count(), 1);
}
