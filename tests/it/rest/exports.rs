//! Exports in the background: begun, watched, downloaded in ranges, written again.

use reqwest::header::{CONTENT_RANGE, RANGE};
use serde_json::{Value, json};

use super::{Answer, CHANNEL, MEMBER, OWNER, Rest, message, now, send, under};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::unsent;

/// More than two parts.
const MANY: usize = 25_000;
const DAY: &str = "2026-01-02T03:04:05Z";

async fn stored(rest: &Rest, count: usize) {
    let text = |n| format!("message number {n}");
    let all: Vec<_> =
        (0..count).map(|n| message(&format!("m{n:05}"), MEMBER, DAY, &text(n))).collect();
    for batch in all.chunks(5_000) {
        rest.keep(batch).await;
    }
}

async fn begin(rest: &Rest, body: Value) -> Answer {
    send(rest.post(&under("/backup/exports"), &body)).await
}

async fn job(rest: &Rest, id: &str) -> Value {
    send(rest.get(&under(&format!("/jobs/{id}")))).await.ok()
}

async fn completed(rest: &Rest, id: &str) -> Value {
    let mut present = Value::Null;
    until("the export is completed", DEADLINE, async || {
        present = job(rest, id).await;
        assert!(present["done"].as_u64() <= present["total"].as_u64(), "{present}");
        present["status"] == "done"
    })
    .await;
    present
}

/// Begins an export of a channel with that key and waits for its completion; returns its id.
pub(super) async fn exported(rest: &Rest, channel: &str, key: &str) -> String {
    let url = format!("http://{}/api/channels/{channel}/backup/exports", rest.stack.ground.address);
    let body = json!({"format": "jsonl"});
    let begun = send(rest.http.post(&url).bearer_auth(key).json(&body)).await.ok();
    let id = begun["id"].as_str().unwrap().to_owned();
    until("the export is completed", DEADLINE, async || {
        let export = send(rest.http.get(format!("{url}/{id}")).bearer_auth(key)).await.ok();
        export["status"] == "done"
    })
    .await;
    id
}

fn document(id: &str) -> String {
    under(&format!("/backup/exports/{id}/document"))
}

/// Checks that a client that names the version is led to addresses of that version.
async fn the_version_stays(rest: &Rest, export: &Value) {
    let body = json!({"format": "jsonl"});
    let path = format!("/v1{}", under("/backup/exports"));
    let again = send(rest.post(&path, &body)).await;
    let named = again.json();
    assert_eq!(named["id"], export["id"], "the same export");
    assert_eq!(again.header("location"), named["url"].as_str().unwrap());
    for address in ["url", "documentUrl"] {
        let (plain, named) = (export[address].as_str().unwrap(), named[address].as_str().unwrap());
        assert_eq!(named, plain.replacen("/api/", "/api/v1/", 1));
    }
    let (_, job) = named["url"].as_str().unwrap().split_once("/api").unwrap();
    assert_eq!(send(rest.get(job)).await.ok()["url"], named["url"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_survives_its_caller_and_a_kill() {
    let mut rest = Rest::start(&[]).await;
    stored(&rest, MANY).await;
    let begun = begin(&rest, json!({"format": "jsonl"})).await;
    assert_eq!(begun.status.as_u16(), 202, "{}", begun.json());
    let export = begun.json();
    let id = export["id"].as_str().unwrap().to_owned();
    assert_eq!((&export["format"], &export["total"]), (&json!("jsonl"), &json!(MANY)));
    assert_eq!(begun.header("location"), export["url"].as_str().unwrap());
    the_version_stays(&rest, &export).await;
    until("some of it is written", DEADLINE, async || job(&rest, &id).await["done"] != 0).await;
    rest.stack.process.kill().await;
    rest.stack.process = rest.stack.ground.serve(&rest.stack.line).await;
    let done = completed(&rest, &id).await;
    assert_eq!((&done["done"], &done["total"]), (&json!(MANY), &json!(MANY)));
    assert_eq!(done["kind"], "export");
    let address = done["documentUrl"].as_str().unwrap();
    assert!(address.ends_with(&document(&id)) && export["documentUrl"] == address, "{address}");
    let export = send(rest.get(&under(&format!("/backup/exports/{id}")))).await.ok();
    assert!(export["expiresAt"].is_string(), "{export}");
    // The document is what the export that is streamed would be.
    let streamed = send(rest.get(&under("/backup/export?format=jsonl"))).await;
    let whole = send(rest.get(&document(&id))).await;
    assert_eq!(whole.body.len(), streamed.body.len());
    assert_eq!(export["bytes"], whole.body.len());
    assert!(whole.body == streamed.body, "the same bytes");
    assert_eq!(whole.header("content-length"), whole.body.len().to_string());
    assert_eq!(whole.header("content-disposition"), "attachment; filename=\"messages.jsonl\"");
    assert_eq!(whole.header("content-type"), "application/x-ndjson");
    rest.stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_can_be_resumed_until_something_is_taken_back() {
    let rest = Rest::start(&[]).await;
    stored(&rest, MANY).await;
    let id = begin(&rest, json!({"format": "csv"})).await.ok()["id"].as_str().unwrap().to_owned();
    completed(&rest, &id).await;
    let whole = send(rest.get(&document(&id))).await;
    let etag = whole.header("etag").to_owned();
    let size = whole.body.len();
    // Over the border of two parts.
    let middle = size / 3..size - 10;
    let range = format!("bytes={}-{}", middle.start, middle.end - 1);
    let resumed = rest.get(&document(&id)).header(RANGE, &range).header("if-range", &etag);
    let resumed = send(resumed).await;
    assert_eq!(resumed.status.as_u16(), 206);
    assert_eq!(resumed.header(CONTENT_RANGE.as_str()), format!("{range}/{size}").replace('=', " "));
    assert!(resumed.body == whole.body[middle.clone()], "the same bytes");
    let same = send(rest.get(&document(&id)).header("if-none-match", &etag)).await;
    assert_eq!(same.status.as_u16(), 304);
    let beyond = rest.get(&document(&id)).header(RANGE, format!("bytes={size}-"));
    send(beyond).await.refused(416, "range_not_satisfiable");
    // Taken back: nothing of it can be downloaded any more, and the rest stays.
    let text = String::from_utf8(whole.body.clone()).unwrap();
    assert!(text.contains("message number 12345,"), "{}", &text[..300]);
    rest.keep(&[unsent(CHANNEL, "m12345", now().millis())]).await;
    let refused = send(rest.get(&document(&id))).await;
    assert!(refused.status.as_u16() == 409 || refused.header("etag") != etag, "{refused:?}");
    completed(&rest, &id).await;
    let again = rest.get(&document(&id)).header(RANGE, &range).header("if-range", &etag);
    let again = send(again).await;
    assert_eq!(again.status.as_u16(), 200, "half of another document is of no use");
    let text = String::from_utf8(again.body).unwrap();
    assert!(!text.contains("message number 12345,") && text.contains("message number 12346,"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_for_whoever_began_it() {
    let mut rest = Rest::start(&[]).await;
    let seen = Some(chatkeep_core::time::Timestamp::parse("2026-01-02T00:00:00Z").unwrap());
    rest.key("ck_recent", OWNER, |key| key.not_before = seen).await;
    rest.keep(&[
        message("old", MEMBER, "2026-01-01T03:04:05Z", "long ago"),
        message("new", MEMBER, DAY, "of today"),
    ])
    .await;
    let body = json!({"format": "html", "to": "2026-02-01"});
    let all = begin(&rest, body.clone()).await.ok()["id"].as_str().unwrap().to_owned();
    completed(&rest, &all).await;
    rest.stack.use_key("ck_recent");
    let recent = begin(&rest, body).await.ok()["id"].as_str().unwrap().to_owned();
    let page =
        async |id: &str| String::from_utf8(send(rest.get(&document(id))).await.body).unwrap();
    completed(&rest, &recent).await;
    assert!(!page(&recent).await.contains("long ago") && page(&recent).await.contains("of today"));
    send(rest.get(&document(&all))).await.refused(404, "not_found");
    let list = send(rest.get(&under("/backup/exports"))).await.ok();
    assert_eq!(list["exports"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list.get("nextCursor"), Some(&Value::Null), "a list of one page");
    rest.stack.use_key("ck_owner");
    let list = send(rest.get(&under("/backup/exports"))).await.ok();
    let ids: Vec<_> = list["exports"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(recent), &json!(all)], "newest first");
    rest.stack.use_key("ck_member");
    send(rest.get(&document(&all))).await.refused(404, "not_found");
    send(rest.get(&under(&format!("/jobs/{all}")))).await.refused(404, "not_found");
    let path = under(&format!("/backup/exports/{all}"));
    send(rest.delete(&path)).await.refused(404, "not_found");
    rest.stack.use_key("ck_owner");
    send(rest.delete(&path)).await.ok();
    send(rest.get(&document(&all))).await.refused(404, "not_found");
    let bad = begin(&rest, json!({"format": "xls"})).await;
    bad.refused(400, "invalid_request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_several_parts_is_one_page() {
    let rest = Rest::start(&[]).await;
    stored(&rest, MANY).await;
    let body = json!({"format": "html"});
    let id = begin(&rest, body).await.ok()["id"].as_str().unwrap().to_owned();
    completed(&rest, &id).await;
    let parts = rest.store.exports().export_files(&id).await.unwrap().unwrap();
    assert!(parts.len() > 2, "{parts:?}");
    let text = async |path: &str| String::from_utf8(send(rest.get(path)).await.body).unwrap();
    let whole = text(&document(&id)).await;
    let streamed = text(&under("/backup/export?format=html")).await;
    for mark in ["<!doctype html>", "</html>", "<footer>", "25,000", "<article "] {
        let count = |page: &str| page.to_lowercase().matches(mark).count();
        assert!(count(&streamed) > 0, "{mark}");
        assert_eq!(count(&whole), count(&streamed), "{mark}");
    }
    assert_eq!(whole.matches("<article ").count(), MANY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compressed_download_can_be_resumed_too() {
    let rest = Rest::start(&[]).await;
    stored(&rest, 100).await;
    let body = json!({"format": "csv"});
    let id = begin(&rest, body).await.ok()["id"].as_str().unwrap().to_owned();
    completed(&rest, &id).await;
    let ask = || rest.get(&document(&id)).header("accept-encoding", "gzip, deflate, br");
    let whole = send(ask()).await;
    assert_eq!(whole.header("content-encoding"), "");
    assert_eq!(
        (whole.header("accept-ranges"), whole.header("etag").starts_with('"')),
        ("bytes", true)
    );
    assert_eq!(whole.header("content-length"), whole.body.len().to_string());
    let rest_of = ask().header(RANGE, "bytes=100-").header("if-range", whole.header("etag"));
    let rest_of = send(rest_of).await;
    assert_eq!(rest_of.status.as_u16(), 206);
    assert!(rest_of.body == whole.body[100..]);
}

/// Changes the row of an export.
async fn set(rest: &Rest, id: &str, what: &str) {
    rest.stack.sql(format!("UPDATE exports SET {what} WHERE id = '{id}'")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_repeated_gets_the_export_under_way() {
    let mut rest = Rest::start(&[]).await;
    stored(&rest, 10).await;
    let body = json!({"format": "csv", "from": "2026-01-01"});
    let first = begin(&rest, body.clone()).await;
    let id = first.json()["id"].as_str().unwrap().to_owned();
    completed(&rest, &id).await;
    // As if it waited for its turn for an hour.
    let later = now().millis() + 3_600_000;
    let waiting = "status = 'pending', finished_at = NULL, expires_at = NULL, claimed_until =";
    set(&rest, &id, &format!("{waiting} {later}")).await;
    let again = begin(&rest, body.clone()).await;
    assert_eq!(again.status.as_u16(), 202);
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!((&again.json()["id"], &again.json()["status"]), (&json!(id), &json!("pending")));
    let other = begin(&rest, json!({"format": "csv"})).await.json();
    assert_ne!(other["id"], json!(id), "it asks for more");
    rest.stack.use_key("ck_member");
    assert_ne!(begin(&rest, body).await.json()["id"], json!(id), "somebody else asks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_that_ends_its_process_is_given_up_and_says_why() {
    let rest = Rest::start(&[]).await;
    stored(&rest, 10).await;
    let id = begin(&rest, json!({"format": "csv"})).await.json()["id"].as_str().unwrap().to_owned();
    completed(&rest, &id).await;
    // As if its process had ended for the fifth time.
    let killed = "status = 'running', finished_at = NULL, expires_at = NULL, interruptions = 4, \
                  claimed_by = 'killed', claimed_until = 1";
    set(&rest, &id, killed).await;
    let mut told = Value::Null;
    until("the export is given up", DEADLINE, async || {
        told = job(&rest, &id).await;
        told["status"] == "failed"
    })
    .await;
    assert!(told["error"].as_str().unwrap().contains("ended the service's process"), "{told}");
    assert!(told["finishedAt"].is_string(), "{told}");
    let export = send(rest.get(&under(&format!("/backup/exports/{id}")))).await.ok();
    assert_eq!(export["error"], told["error"]);
    send(rest.get(&document(&id))).await.refused(409, "conflict");
    let again = begin(&rest, json!({"format": "csv"})).await.json();
    assert_ne!(again["id"], json!(id), "whoever asks again gets another one");
}
