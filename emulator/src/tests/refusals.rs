//! Requests that LINE would refuse, at the edges of each rule: ids, addresses, keys, bodies, messages.

use super::*;

const REPLY: &str = "/v2/bot/message/reply";
const PUSH: &str = "/v2/bot/message/push";
const ENDPOINT: &str = "/v2/bot/channel/webhook/endpoint";

#[tokio::test]
async fn ids_of_another_form_are_refused_on_every_path() {
    let stage = Stage::new().await;
    let (group, ann) = (stage.group.clone(), stage.ann.clone());
    let hex = "0123456789abcdef0123456789abcdef";
    for (digits, is_id) in [
        (hex.to_owned(), true),
        (hex[1..].to_owned(), false),
        (format!("{hex}0"), false),
        (hex.to_uppercase(), false),
        (format!("{}g", &hex[1..]), false),
        (format!("{}-", &hex[1..]), false),
    ] {
        for (path, letter) in [
            (format!("/v2/bot/profile/U{digits}"), 'U'),
            (format!("/v2/bot/group/C{digits}/summary"), 'C'),
            (format!("/v2/bot/group/C{digits}/members/count"), 'C'),
            (format!("/v2/bot/group/C{digits}/member/{ann}"), 'C'),
            (format!("/v2/bot/group/{group}/member/U{digits}"), 'U'),
            (format!("/v2/bot/room/R{digits}/members/count"), 'R'),
        ] {
            let expected = if is_id { (404, Rule::IdKnown) } else { (400, Rule::IdForm) };
            let status = stage.get(&path).await.status;
            assert_eq!((status, stage.broken().pop().unwrap()), expected, "{path}");
            // The letter is that of another kind.
            let other = if letter == 'U' { 'C' } else { 'U' };
            let swapped = path.replace(&format!("/{letter}{digits}"), &format!("/{other}{digits}"));
            assert_eq!(stage.get(&swapped).await.status, 400, "{swapped}");
            assert_eq!(stage.broken().pop(), Some(Rule::IdForm), "{swapped}");
        }
    }
}

#[tokio::test]
async fn what_nobody_can_know_breaks_no_rule() {
    let stage = Stage::new().await;
    let cid = stage.emulator.add_user("Cid", None).user_id;
    let elsewhere = stage.emulator.add_group("Runners", None, &[&stage.ann]).chat_id;
    let room = stage.emulator.add_room(&[&stage.ann]).chat_id;
    for path in [
        format!("/v2/bot/profile/{cid}"),
        format!("/v2/bot/group/{}/member/{cid}", stage.group),
        format!("/v2/bot/group/{elsewhere}/summary"),
        format!("/v2/bot/group/{elsewhere}/member/{}", stage.ann),
        format!("/v2/bot/room/{room}/members/count"),
    ] {
        assert_eq!(stage.get(&path).await.status, 404, "{path}");
    }
    for path in [format!("/v2/bot/group/{elsewhere}/leave"), format!("/v2/bot/room/{room}/leave")] {
        assert_eq!(stage.post(&path, &json!({})).await.status, 404, "{path}");
    }
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn webhook_addresses_are_https_and_of_500_characters_at_most() {
    let stage = Stage::new().await;
    let put = async |body: Value| {
        Answer::of(stage.request(Method::PUT, ENDPOINT).json(&body)).await.status
    };
    let longest = format!("https://h.example/{}", "x".repeat(500 - "https://h.example/".len()));
    assert_eq!(put(json!({ "endpoint": longest })).await, 200);
    assert_eq!(stage.emulator.webhook_url().as_deref(), Some(longest.as_str()));
    for body in [
        json!({ "endpoint": format!("{longest}x") }),
        json!({ "endpoint": "ftp://h.example/" }),
        json!({ "endpoint": "h.example/line" }),
        json!({ "endpoint": "http://127.0.0.10:80/" }),
        json!({ "endpoint": null }),
        json!({ "address": "https://h.example/" }),
        json!([]),
    ] {
        assert_eq!(put(body.clone()).await, 400, "{body}");
    }
    let kept = stage.get(ENDPOINT).await.body;
    assert_eq!(kept["endpoint"], longest.as_str(), "what was refused changed nothing");
    let test = "/v2/bot/channel/webhook/test";
    let tested = stage.post(test, &json!({ "endpoint": "http://h.example/" })).await;
    assert_eq!(tested.status, 400, "it is tested as it would be set");
    assert_eq!(stage.broken(), [Rule::WebhookAddress; 8]);
}

#[tokio::test]
async fn retry_keys_are_uuids_in_their_usual_form() {
    let stage = Stage::new().await;
    let push = async |key: &str| {
        let body = json!({ "to": stage.group, "messages": texts(&["news"]) });
        let request = stage.request(Method::POST, PUSH).json(&body);
        Answer::of(request.header("X-Line-Retry-Key", key)).await.status
    };
    for key in ["123E4567-E89B-12D3-A456-426614174000", "00000000-0000-0000-0000-000000000000"] {
        assert_eq!(push(key).await, 200, "{key}");
    }
    for key in [
        "",
        "123e4567e89b12d3a456426614174000",
        "{123e4567-e89b-12d3-a456-426614174000}",
        "123e4567-e89b-12d3-a456-42661417400",
        "123e4567-e89b-12d3-a456-4266141740000",
        "123e4567-e89b-12d3-a456_426614174000",
        "123e456-7e89b-12d3-a456-426614174000",
        "g23e4567-e89b-12d3-a456-426614174000",
        "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
    ] {
        assert_eq!(push(key).await, 400, "{key}");
        assert_eq!(stage.broken().pop(), Some(Rule::RetryKeyForm), "{key}");
    }
    let said = stage.emulator.transcript(&stage.group);
    assert_eq!(said.iter().filter(|line| line.is_bot()).count(), 2);
}

#[tokio::test]
async fn a_body_may_be_of_two_megabytes_and_of_json_by_any_name() {
    const LARGEST: usize = 2 * 1024 * 1024;
    let stage = Stage::new().await;
    let send = async |kind: Option<&str>, padding: usize| {
        let event = stage.said("hello");
        let mut body = reply_body(event.reply_token.as_deref().unwrap(), &["hi"]).to_string();
        let length = padding.max(body.len());
        body.push_str(&" ".repeat(length - body.len()));
        let request = stage.request(Method::POST, REPLY).body(body);
        let request = match kind {
            Some(kind) => request.header("Content-Type", kind),
            None => request,
        };
        Answer::of(request).await.status
    };
    assert_eq!(send(Some("application/json"), LARGEST).await, 200);
    assert_eq!(send(Some("application/json"), LARGEST + 1).await, 413);
    assert_eq!(send(Some("Application/JSON; Charset=UTF-8"), 0).await, 200);
    for kind in [None, Some("text/json"), Some("application/x-www-form-urlencoded")] {
        assert_eq!(send(kind, 0).await, 415, "{kind:?}");
    }
    assert_eq!(stage.broken(), [Rule::Body; 4]);
}

/// Returns a message of each type that LINE has, with no field but those it must have.
fn least_messages() -> Vec<Value> {
    let url = "https://a.example/1";
    vec![
        json!({ "type": "text", "text": "x" }),
        json!({ "type": "textV2", "text": "{x}" }),
        json!({ "type": "sticker", "packageId": "446", "stickerId": "1988" }),
        json!({ "type": "image", "originalContentUrl": url, "previewImageUrl": url }),
        json!({ "type": "video", "originalContentUrl": url, "previewImageUrl": url }),
        json!({ "type": "audio", "originalContentUrl": url, "duration": 60_000 }),
        json!({
            "type": "location", "title": "台北", "address": "1", "latitude": 25.0, "longitude": 121.5
        }),
        json!({
            "type": "imagemap", "baseUrl": "https://a.example/map", "altText": "map",
            "baseSize": { "width": 1040, "height": 1040 }, "actions": [],
        }),
        json!({ "type": "template", "altText": "menu", "template": { "type": "buttons" } }),
        json!({ "type": "flex", "altText": "card", "contents": { "type": "bubble" } }),
        json!({ "type": "coupon", "couponId": "01" }),
    ]
}

#[tokio::test]
async fn messages_of_every_type_need_all_of_their_fields_and_no_more() {
    let stage = Stage::new().await;
    for message in least_messages() {
        let kind = message["type"].as_str().unwrap().to_owned();
        let send = async |message: &Value| {
            let event = stage.said("hello");
            let body = json!({ "replyToken": event.reply_token, "messages": ["", message] });
            let whole = json!({ "replyToken": event.reply_token, "messages": [message] });
            // Beside one that is no message at all, so that each is told by its place.
            let beside = stage.post(REPLY, &body).await;
            assert_eq!(beside.body["details"][0]["property"], "messages[0].type");
            (stage.post(REPLY, &whole).await, beside)
        };
        let (whole, beside) = send(&message).await;
        assert_eq!((whole.status, beside.status), (200, 400), "{kind}: {}", whole.body);
        assert_eq!(beside.message(), "The request body has 1 error(s)", "{kind}");
        for field in message.as_object().unwrap().keys().filter(|field| *field != "type") {
            for missing in [Value::Null, json!("")] {
                let mut less = message.clone();
                less[field] = missing;
                let (refused, beside) = send(&less).await;
                assert_eq!(refused.status, 400, "{kind} without {field}");
                let property = format!("messages[0].{field}");
                assert_eq!(refused.body["details"][0]["property"], property.as_str(), "{kind}");
                let property = format!("messages[1].{field}");
                assert_eq!(beside.body["details"][1]["property"], property.as_str(), "{kind}");
                assert_eq!(beside.message(), "The request body has 2 error(s)", "{kind}");
            }
            let mut without = message.clone();
            without.as_object_mut().unwrap().remove(field);
            assert_eq!(send(&without).await.0.status, 400, "{kind} without {field}");
        }
    }
}

#[tokio::test]
async fn every_wrong_part_of_a_body_is_told_and_noted() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    let plain = json!({ "type": "video", "originalContentUrl": "http://a.example/", "n": 1 });
    let messages = json!([{ "type": "text" }, plain, { "type": "text", "text": "fine" }]);
    let body = json!({ "replyToken": event.reply_token, "messages": messages });
    let refused = stage.post(REPLY, &body).await;
    let told: Vec<_> = refused.body["details"].as_array().unwrap().iter().collect();
    let places: Vec<_> = told.iter().map(|detail| detail["property"].as_str().unwrap()).collect();
    let expected =
        ["messages[0].text", "messages[1].originalContentUrl", "messages[1].previewImageUrl"];
    assert_eq!(places, expected);
    assert!(told.iter().all(|detail| detail["message"].is_string()));
    let noted = stage.emulator.violations();
    assert_eq!(stage.broken(), [Rule::TextLength, Rule::MessageFields, Rule::MessageFields]);
    for (violation, place) in noted.iter().zip(places) {
        assert!(violation.detail.starts_with(place), "{violation:?}");
        assert_eq!((violation.method.as_str(), violation.path.as_str()), ("POST", REPLY));
    }
    let ids: Vec<_> = noted.iter().map(|violation| violation.request_id.as_str()).collect();
    let id = refused.headers["x-line-request-id"].to_str().unwrap();
    assert_eq!(ids, [id; 3], "of one call");
}

#[tokio::test]
async fn a_push_names_whom_it_is_for() {
    let stage = Stage::new().await;
    for to in [Value::Null, json!(""), json!(7), json!([stage.group])] {
        let refused = stage.post(PUSH, &json!({ "to": to, "messages": texts(&["hi"]) })).await;
        assert_eq!((refused.status, &refused.body["details"][0]["property"]), (400, &json!("to")));
    }
    assert_eq!(stage.broken(), [Rule::IdForm; 4]);
    let nobody = format!("C{}", "0".repeat(32));
    let refused = stage.post(PUSH, &json!({ "to": nobody, "messages": texts(&["hi"]) })).await;
    assert_eq!((refused.status, refused.message()), (400, "Failed to send messages"));
    assert_eq!(stage.emulator.account().pushed, 0);
}

#[tokio::test]
async fn only_pushes_that_went_out_count_against_the_quota() {
    let stage = Stage::new().await;
    stage.emulator.set_up(|account| account.quota = Some(3));
    stage.emulator.follow(&stage.bob).await.unwrap();
    let push = async |to: &str, key: Option<&str>| {
        let body = json!({ "to": to, "messages": texts(&["one", "two"]) });
        let request = stage.request(Method::POST, PUSH).json(&body);
        let request = match key {
            Some(key) => request.header("X-Line-Retry-Key", key),
            None => request,
        };
        Answer::of(request).await.status
    };
    let pushed = || stage.emulator.account().pushed;
    let key = Some("123e4567-e89b-12d3-a456-426614174000");
    assert_eq!((push(&stage.bob, key).await, pushed()), (200, 1), "messages count once");
    assert_eq!((push(&stage.bob, key).await, pushed()), (409, 1), "the same again");
    assert_eq!((push(&stage.ann, None).await, pushed()), (400, 1), "no friend");
    let event = stage.said("hello");
    assert_eq!((stage.reply(&event, &["hi"]).await.status, pushed()), (200, 1), "a reply is free");
    assert_eq!((push(&stage.group, None).await, pushed()), (200, 3));
    assert_eq!((push(&stage.bob, None).await, pushed()), (429, 3));
    let event = stage.said("hello");
    assert_eq!(stage.reply(&event, &["hi"]).await.status, 200, "also when it is used up");
    let told = stage.get("/v2/bot/message/quota/consumption").await.body;
    assert_eq!(told, json!({ "totalUsage": 3 }));
}
