//! Webhooks over REST: valid requests, secrets returned once, the log, and the permissions of a
//! narrow key.

use chatkeep_store::{ActivityFilter, OutboxEventKind, ReadAction, Reader};
use reqwest::Method;
use serde_json::{Value, json};

use super::{CHANNEL, OWNER, Rest, send, texts};
use crate::harness::wait::until;
use crate::hooks::sink::{Reply, Sink};
use crate::stack::DEADLINE;
use crate::store::{at, said};

const PRIVATE: &[(&str, &str)] = &[("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true")];

fn wanted(url: &str) -> Value {
    json!({"url": url, "events": ["message.received"]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_lives_and_its_secret_is_shown_once() {
    let rest = Rest::start(&[]).await;
    let body = json!({
        "url": "https://example.org/hook?key=1",
        "events": ["message.received", "member.left", "message.received"],
        "channelIds": [CHANNEL],
        "description": "for 測試",
    });
    let made = send(rest.post("/webhooks", &body)).await.ok();
    let (id, secret) = (made["webhookId"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert!(id.starts_with("wh_") && secret.starts_with("whsec_") && secret.len() == 50);
    let one = format!("/webhooks/{id}");
    let known = send(rest.get(&one)).await.ok();
    assert_eq!(known["url"], body["url"]);
    assert_eq!(known["events"], json!(["message.received", "member.left"]));
    assert_eq!((&known["channelIds"], &known["enabled"]), (&json!([CHANNEL]), &json!(true)));
    assert!(secret.ends_with(known["mask"].as_str().unwrap()));
    let list = send(rest.get("/webhooks")).await;
    assert_eq!(texts(&list.ok()["webhooks"], "webhookId"), [id]);
    assert!(!String::from_utf8_lossy(&list.body).contains(secret));

    let change = json!({"events": ["usage.warning"], "enabled": false, "channelIds": null});
    let changed = send(rest.put(&one, &change)).await.ok();
    assert_eq!((&changed["enabled"], &changed["channelIds"]), (&json!(false), &Value::Null));
    assert_eq!((&changed["url"], &changed["description"]), (&body["url"], &body["description"]));
    // Of two changes at once neither is lost.
    for round in 0..5 {
        let words = json!({"description": format!("round {round}")});
        let url = json!({"url": format!("https://example.org/{round}")});
        let (words, url) = tokio::join!(send(rest.put(&one, &words)), send(rest.put(&one, &url)));
        words.ok();
        url.ok();
        let both = send(rest.get(&one)).await.ok();
        assert_eq!(both["description"], format!("round {round}"));
        assert_eq!(both["url"], format!("https://example.org/{round}"));
    }
    send(rest.post(&format!("{one}/test"), &json!({}))).await.refused(409, "conflict");
    let rotate = format!("{one}/rotate-secret");
    let form = rest.request(Method::POST, &rotate);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let rotated = send(form.body("")).await.ok();
    assert_ne!(rotated["secret"], secret);
    assert!(rotated["previousUntil"].is_string());
    rotated_again(&rest, &rotate, &rotated).await;

    // Another person's does not exist.
    let url = format!("http://{}/api{one}", rest.stack.ground.address);
    send(rest.http.get(url).bearer_auth("ck_member")).await.refused(404, "not_found");
    send(rest.delete(&one)).await.ok();
    send(rest.get(&one)).await.refused(404, "not_found");
    send(rest.delete(&one)).await.refused(404, "not_found");
}

/// Checks that a second rotation ends no secret before its time unless it says so.
async fn rotated_again(rest: &Rest, rotate: &str, first: &Value) {
    send(rest.post(rotate, &json!({}))).await.refused(409, "conflict");
    let both = json!({"keepPrevious": true, "overlapSeconds": 60});
    let refused = send(rest.post(rotate, &both)).await.refused(400, "invalid_request");
    assert_eq!(refused["field"], "/overlapSeconds");
    let second = send(rest.post(rotate, &json!({"keepPrevious": true}))).await.ok();
    assert_ne!(second["secret"], first["secret"]);
    assert_eq!(second["previousUntil"], first["previousUntil"], "as it was promised");
    send(rest.post(rotate, &json!({"overlapSeconds": 0}))).await.ok();
    let refused = send(rest.post(rotate, &json!({"keepPrevious": true}))).await;
    refused.refused(409, "conflict");
    send(rest.post(rotate, &json!({"overlapSeconds": 60}))).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_webhook_must_not_be_is_refused() {
    let rest = Rest::start(&[]).await;
    for url in [
        "http://example.org/",
        "ftp://example.org/",
        "nonsense",
        "https://user:secret@example.org/",
        "https://localhost/",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://metadata.google.internal/",
        "https://10.0.0.8:8443/",
        "",
    ] {
        let refused =
            send(rest.post("/webhooks", &wanted(url))).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], "/url", "{url}");
        assert!(!refused.to_string().contains("secret"), "nothing of it is repeated");
    }
    let url = "https://example.org/";
    for (body, field) in [
        (json!({"url": url, "events": []}), "/events"),
        (json!({"url": url, "events": ["message.lost"]}), "/events/0"),
        (json!({"url": url, "events": ["member.left"], "channelIds": [" "]}), "/channelIds/0"),
        (
            json!({"url": url, "events": ["member.left"], "description": "x".repeat(501)}),
            "/description",
        ),
        (json!({"url": format!("{url}{}", "x".repeat(2_048)), "events": ["member.left"]}), "/url"),
    ] {
        let refused = send(rest.post("/webhooks", &body)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], field);
    }
    for _ in 0..20 {
        send(rest.post("/webhooks", &wanted(url))).await.ok();
    }
    send(rest.post("/webhooks", &wanted(url))).await.refused(409, "conflict");
    let list = send(rest.get("/webhooks?limit=15")).await.ok();
    let next = list["nextCursor"].as_str().unwrap();
    let rest_of_it = send(rest.get(&format!("/webhooks?cursor={next}"))).await.ok();
    assert_eq!(rest_of_it["webhooks"].as_array().unwrap().len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_narrow_key_makes_narrow_webhooks_only() {
    let mut rest = Rest::start(&[]).await;
    let url = "https://example.org/";
    let wide = send(rest.post("/webhooks", &wanted(url))).await.ok();
    let channels: &[_] = Box::leak(Box::new([CHANNEL.into()]));
    rest.key("ck_narrow", OWNER, |key| {
        key.channels = Some(channels);
        key.not_before = Some(at(1_000));
    })
    .await;
    rest.stack.use_key("ck_narrow");
    assert_eq!(send(rest.get("/webhooks")).await.ok()["webhooks"], json!([]));
    let path = format!("/webhooks/{}", wide["webhookId"].as_str().unwrap());
    send(rest.get(&path)).await.refused(404, "not_found");
    send(rest.put(&path, &wanted(url))).await.refused(404, "not_found");
    send(rest.delete(&path)).await.refused(404, "not_found");
    let other = json!({"url": url, "events": ["member.left"], "channelIds": ["Cother"]});
    send(rest.post("/webhooks", &other)).await.refused(403, "insufficient_permissions");
    let mine = send(rest.post("/webhooks", &wanted(url))).await.ok();
    assert_eq!(mine["channelIds"], json!([CHANNEL]));
    let path = format!("/webhooks/{}", mine["webhookId"].as_str().unwrap());
    assert_eq!(send(rest.put(&path, &wanted(url))).await.ok()["channelIds"], json!([CHANNEL]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_read_and_repeated() {
    let rest = Rest::start(PRIVATE).await;
    let sink = Sink::start().await;
    sink.status("/in", 500);
    let made = send(rest.post("/webhooks", &wanted(&sink.url("/in")))).await.ok();
    let one = format!("/webhooks/{}", made["webhookId"].as_str().unwrap());
    let now = super::now().millis();
    for n in 0..3 {
        rest.keep(&[said(CHANNEL, &format!("m{n}"), now + n, "hello there")]).await;
    }
    let list = async |query: &str| send(rest.get(&format!("{one}/deliveries{query}"))).await.ok();
    let count = |page: &Value| page["deliveries"].as_array().unwrap().len();
    until("all were tried", DEADLINE, async || {
        let page = list("").await;
        count(&page) == 3
            && page["deliveries"].as_array().unwrap().iter().all(|d| d["attempts"] == 1)
    })
    .await;
    let page = list("?limit=2&status=pending").await;
    let next = page["nextCursor"].as_str().unwrap();
    assert_eq!(count(&list(&format!("?limit=2&status=pending&cursor={next}")).await), 1);
    let wrong = rest.get(&format!("{one}/deliveries?status=failed&cursor={next}"));
    send(wrong).await.refused(400, "invalid_request");
    assert_eq!(count(&list("?status=failed").await), 0);
    let newest = &page["deliveries"][0];
    assert_eq!((&newest["responseStatus"], &newest["error"]), (&json!(500), &json!("status")));
    assert_eq!(newest["responseExcerpt"], "noted");
    assert!(newest["nextAttemptAt"].is_string() && newest["requestBytes"].is_number());
    assert!(!page.to_string().contains("hello there"), "what was sent is not kept");

    let id = newest["deliveryId"].as_str().unwrap();
    let detail = send(rest.get(&format!("{one}/deliveries/{id}"))).await.ok();
    assert_eq!(detail["request"]["data"]["message"]["content"], "hello there");
    let opened = (Reader::Key("key_of_owner".into()), ReadAction::Open, 1);
    until("the read is written", DEADLINE, async || {
        let (log, all) = (rest.store.activity_log(), ActivityFilter::default());
        let reads = log.reads(&CHANNEL.into(), &all, None, 10).await.unwrap().into_iter();
        reads.map(|read| (read.reader, read.action, read.requests)).eq([opened.clone()])
    })
    .await;
    sink.status("/in", 200);
    let again = format!("{one}/deliveries/{id}/redeliver");
    assert_eq!(send(rest.post(&again, &json!({}))).await.ok()["eventId"], newest["eventId"]);
    until("it is delivered", DEADLINE, async || count(&list("?status=delivered").await) >= 1).await;
    let since = json!({"since": "2020-01-01T00:00:00Z"});
    let none = send(rest.post(&format!("{one}/redeliver"), &since)).await.ok();
    assert_eq!(none["count"], 0, "nothing was given up");
    for wrong in ["dlv_999999", "dlv_x", "dlv_+1", "dlv_01"] {
        send(rest.get(&format!("{one}/deliveries/{wrong}"))).await.refused(404, "not_found");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_pause_has_its_next_attempt_after_it() {
    let rest = Rest::start(PRIVATE).await;
    let sink = Sink::start().await;
    sink.answer("/busy", Reply::Header(503, "retry-after", "600".to_owned()));
    let made = send(rest.post("/webhooks", &wanted(&sink.url("/busy")))).await.ok();
    let path = format!("/webhooks/{}/deliveries", made["webhookId"].as_str().unwrap());
    let list = async || {
        let page = send(rest.get(&path)).await.ok();
        page["deliveries"].as_array().unwrap().clone()
    };
    let now = super::now().millis();
    for (count, id) in (1..).zip(["tried", "waiting"]) {
        rest.keep(&[said(CHANNEL, id, now, "hello there")]).await;
        until("the first was tried", DEADLINE, async || {
            let all = list().await;
            all.len() == count && all.last().is_some_and(|first| first["attempts"] == 1)
        })
        .await;
    }
    let all = list().await;
    let [waiting, tried] = &all[..] else { panic!("two deliveries: {all:?}") };
    let end = &tried["nextAttemptAt"];
    assert!(end.is_string(), "{tried}");
    assert_eq!((&waiting["attempts"], &waiting["nextAttemptAt"]), (&json!(0), end));
    let one = format!("{path}/{}", waiting["deliveryId"].as_str().unwrap());
    assert_eq!(&send(rest.get(&one)).await.ok()["nextAttemptAt"], end);
    let again = send(rest.post(&format!("{one}/redeliver"), &json!({}))).await.ok();
    assert_eq!(&again["nextAttemptAt"], end, "it waits for the pause, too");
    assert_eq!(sink.at("/busy").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalogue_describes_every_event_by_itself() {
    let rest = Rest::start(&[]).await;
    let list = send(rest.get("/webhooks/events")).await.ok();
    assert_eq!(list.get("nextCursor"), Some(&Value::Null), "a list of one page");
    let events = list["events"].as_array().unwrap();
    assert_eq!(events.len(), OutboxEventKind::ALL.len());
    for event in events {
        let schema = &event["schema"];
        assert_eq!(schema["properties"]["type"]["enum"], json!([event["type"]]));
        let mut references = Vec::new();
        collect(schema, &mut references);
        for reference in references {
            let place = reference.strip_prefix('#').unwrap();
            assert!(schema.pointer(place).is_some(), "{reference} leads nowhere");
        }
    }
    let document = send(rest.outside("/openapi.json")).await.ok();
    for event in events {
        let kind = event["type"].as_str().unwrap();
        assert!(document["webhooks"][kind]["post"]["requestBody"].is_object(), "{kind}");
    }
}

fn collect<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            references.extend(object.get("$ref").and_then(Value::as_str));
            object.values().for_each(|value| collect(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}
