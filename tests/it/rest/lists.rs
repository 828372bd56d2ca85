//! Lists: `Link` leads through them, and a cursor is valid for its own list only.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::{CHANNEL, OWNER, Rest, message, send, texts, under};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Returns the rest of the list after `path`, by following `Link`: each page's elements.
async fn follow(rest: &Rest, path: &str, list: &str) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut next = rest.get(path);
    loop {
        let page = send(next).await;
        let body = page.ok();
        pages.push(body[list].as_array().unwrap().clone());
        let link = page.header("link");
        match body["nextCursor"].as_str() {
            Some(cursor) => assert!(link.contains(cursor), "{link}"),
            None => assert_eq!(link, ""),
        }
        let Some(target) = link.strip_suffix(">; rel=\"next\"") else {
            return pages;
        };
        next = followed(rest, target.strip_prefix('<').unwrap());
        assert!(pages.len() < 50, "no end");
    }
}

fn followed(rest: &Rest, target: &str) -> RequestBuilder {
    rest.get(target.strip_prefix("/api").unwrap_or_else(|| panic!("{target}")))
}

fn ids(pages: &[Vec<Value>], of: &str) -> Vec<String> {
    pages.iter().flatten().map(|row| row[of].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_lead_through_every_list() {
    let rest = Rest::start(&[]).await;
    let people: Vec<_> = (0..5).map(|n| format!("U{n:032}")).collect();
    let people: Vec<_> = people.iter().map(String::as_str).collect();
    rest.channel(super::CHANNEL, &[&[OWNER][..], &people].concat()).await;
    for n in 0..4 {
        rest.channel(&format!("C{n:033}"), &[OWNER]).await;
        rest.key(&format!("ck_more_{n}"), OWNER, |_| {}).await;
    }
    let batch: Vec<_> =
        (0..7).map(|n| message(&format!("m{n}"), OWNER, "2026-01-02T03:04:05Z", "x")).collect();
    rest.keep(&batch).await;
    for (path, list, of, count) in [
        ("/channels", "channels", "channelId", 5),
        ("/subscriptions", "subscriptions", "channelId", 5),
        ("/keys", "keys", "keyId", 5),
        (&*under("/members"), "members", "userId", 7),
        (&under("/backup/messages"), "messages", "id", 7),
    ] {
        let whole = ids(&follow(&rest, path, list).await, of);
        assert_eq!(whole.len(), count, "{path}: {whole:?}");
        for limit in [1, 2, 3, 7] {
            let pages = follow(&rest, &format!("{path}?limit={limit}"), list).await;
            assert!(pages.iter().all(|page| page.len() <= limit), "{path}");
            assert_eq!(ids(&pages, of), whole, "{path} by {limit}");
            assert!(!pages.last().unwrap().is_empty(), "no empty last page: {path} by {limit}");
        }
    }
    // Filters stay in the link.
    let path = under("/backup/messages?order=asc&limit=2&type=text&from=2026-01-01T00:00:00Z");
    let pages = follow(&rest, &path, "messages").await;
    assert_eq!(ids(&pages, "id"), ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
    let v1 = send(rest.get("/v1/keys?limit=1")).await;
    assert!(v1.header("link").starts_with("</api/v1/keys?limit=1&cursor="), "{v1:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_serves_its_own_list_only() {
    let rest = Rest::start(&[]).await;
    rest.channel("C0", &[OWNER, "U1", "U2"]).await;
    rest.channel("C1", &[OWNER]).await;
    rest.key("ck_more", OWNER, |_| {}).await;
    let batch = ["a", "b"].map(|id| message(id, OWNER, "2026-01-02T03:04:05Z", "x"));
    rest.keep(&batch).await;
    let lists = [
        "/channels?limit=1".to_owned(),
        "/subscriptions?limit=1".to_owned(),
        "/keys?limit=1".to_owned(),
        "/events?limit=1".to_owned(),
        under("/members?limit=1"),
        under("/members?limit=1&status=active"),
        under("/backup/messages?limit=1"),
        under("/backup/messages?limit=1&order=asc"),
        under("/backup/messages?limit=1&type=text"),
        under(&format!("/backup/messages?limit=1&senderId={OWNER}")),
        under("/backup/messages?limit=1&from=2026-01-01T00:00:00Z"),
        "/channels/C0/members?limit=1".to_owned(),
    ];
    let mut cursors = Vec::new();
    for path in &lists {
        let cursor = send(rest.get(path)).await.ok()["nextCursor"].clone();
        cursors.push(cursor.as_str().unwrap_or_else(|| panic!("{path}: one page only")).to_owned());
    }
    for (of, cursor) in cursors.iter().enumerate() {
        for (n, path) in lists.iter().enumerate() {
            let answer = send(rest.get(&format!("{path}&cursor={cursor}"))).await;
            if of == n {
                answer.ok();
            } else {
                let refused = answer.refused(400, "invalid_request");
                assert_eq!(refused["field"], "cursor", "{path}");
            }
        }
    }
    for bad in ["x", "", "%F0%9F%A6%80", "eyJmIjoia2V5cyJ9"] {
        for path in &lists {
            send(rest.get(&format!("{path}&cursor={bad}"))).await.refused(400, "invalid_request");
        }
    }
    for bad in ["limit=0", "limit=101", "limit=x", "limit=-1", "cheese=1", "limit=1&limit=2"] {
        for path in lists.iter().map(|path| path.split('?').next().unwrap()) {
            send(rest.get(&format!("{path}?{bad}"))).await.refused(400, "invalid_request");
        }
    }
    assert_eq!(texts(&send(rest.get("/keys?limit=100")).await.ok()["keys"], "name").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_of_a_search_stays_good_when_channels_are_added() {
    let rest = Rest::start(&[]).await;
    let batch = ["a", "b", "c"].map(|id| message(id, OWNER, "2026-01-02T03:04:05Z", "word"));
    rest.keep(&batch).await;
    rest.stack.ground.command(&rest.stack.line, &["reindex"]).await;
    let here = under("/backup/search?q=word&limit=1");
    until("all are found", DEADLINE, async || send(rest.get(&here)).await.ok()["total"] == 3).await;
    let paths = [
        "/search?q=word&limit=1".to_owned(),
        format!("/search?q=word&limit=1&channelId={CHANNEL}"),
        here,
    ];
    let mut cursors = Vec::new();
    for path in &paths {
        let page = send(rest.get(path)).await.ok();
        cursors.push(page["nextCursor"].as_str().unwrap().to_owned());
    }
    rest.channel("C1", &[OWNER]).await;
    for (of, cursor) in cursors.iter().enumerate() {
        for (n, path) in paths.iter().enumerate() {
            let answer = send(rest.get(&format!("{path}&cursor={cursor}"))).await;
            if of == n {
                assert_eq!(answer.ok()["hits"].as_array().unwrap().len(), 1, "{path}");
            } else {
                assert_eq!(answer.refused(400, "invalid_request")["field"], "cursor", "{path}");
            }
        }
    }
    // As earlier versions made them.
    let old =
        json!({"f": format!("search:{CHANNEL}:word::None:None:None:None:Relevance"), "k": "x"});
    let old = URL_SAFE_NO_PAD.encode(old.to_string());
    let refused = send(rest.get(&format!("{}&cursor={old}", paths[0]))).await;
    assert_eq!(refused.refused(400, "invalid_request")["field"], "cursor");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_is_as_long_as_its_characters_composed() {
    let rest = Rest::start(&[]).await;
    rest.stack.ground.command(&rest.stack.line, &["reindex"]).await;
    let path = |letters: usize| format!("/search?q={}", "e%CC%81".repeat(letters));
    until("the index is ready", DEADLINE, async || {
        send(rest.get(&path(1))).await.status.is_success()
    })
    .await;
    assert_eq!(send(rest.get(&path(200))).await.ok()["total"], 0);
    assert_eq!(send(rest.get(&path(201))).await.refused(400, "invalid_request")["field"], "q");
}

/// Lists of channels and members are whole, up to a thousand elements.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn channels_and_members_are_listed_whole() {
    let rest = Rest::start(&[]).await;
    let people: Vec<_> = (0..1_001).map(|n| format!("U{n:032}")).collect();
    let people: Vec<_> = people.iter().map(String::as_str).collect();
    rest.channel("C00000000000000000000000000000099", &[&[OWNER][..], &people[..998]].concat())
        .await;
    rest.channel("C00000000000000000000000000000098", &[&[OWNER][..], &people].concat()).await;
    for n in 0..150 {
        rest.channel(&format!("Cx{n:032}"), &[OWNER]).await;
    }
    let listed = send(rest.get("/channels")).await.ok();
    let count = listed["channels"].as_array().unwrap().len();
    assert_eq!((count, &listed["nextCursor"]), (153, &Value::Null));
    for (channel, count, pages) in [("99", 999, &[999][..]), ("98", 1_002, &[1_000, 2])] {
        let path = format!("/channels/C000000000000000000000000000000{channel}/members");
        let found = follow(&rest, &path, "members").await;
        let sizes: Vec<_> = found.iter().map(Vec::len).collect();
        assert_eq!(sizes, pages);
        assert_eq!(ids(&found, "userId").len(), count);
        let first = send(rest.get(&format!("{path}?limit=100"))).await.ok();
        assert_eq!(first["members"].as_array().unwrap().len(), 100);
        assert!(first["nextCursor"].is_string());
        send(rest.get(&format!("{path}?limit=101"))).await.refused(400, "invalid_request");
    }
}
