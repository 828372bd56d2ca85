//! Webhooks on their way: signature, redelivery, order, numbers.

use super::*;

#[test]
fn signatures_are_those_of_line() {
    let known = [
        ("SECRET", "{}", "3q8QXTAGaey18yL8FWTqdVlbMr6hcuNvM4tefa0o9nA="),
        ("test_secret", r#"{"hello":"world"}"#, "t7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM="),
    ];
    for (secret, body, expected) in known {
        assert_eq!(signature(secret, body.as_bytes()), expected);
    }
}

#[tokio::test]
async fn a_webhook_is_signed_and_of_the_known_form() {
    let (sink, url) = Sink::open(&[]).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    let told = stage.emulator.say(&stage.group, &stage.ann, "hello").await.unwrap();
    assert!(told.is_accepted());
    let (headers, body) = sink.raw().remove(0);
    let expected = signature("emulator-channel-secret", &body);
    assert_eq!(headers["x-line-signature"], expected.as_str());
    assert_eq!(headers["content-type"], "application/json; charset=utf-8");
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["destination"], stage.emulator.bot().user_id);
    assert_eq!(body["events"], json!([told.events[0].json]));
}

#[tokio::test]
async fn a_webhook_is_sent_until_it_is_accepted() {
    let (sink, url) = Sink::open(&[503, 500, 302, 404]).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    let told = stage.emulator.say(&stage.group, &stage.ann, "hello").await.unwrap();
    let delivery = told.delivery.unwrap();
    assert!(delivery.accepted && delivery.attempts == 5 && delivery.status == Some(200));
    let bodies = sink.bodies();
    let marks: Vec<_> = bodies
        .iter()
        .map(|body| body["events"][0]["deliveryContext"]["isRedelivery"].as_bool().unwrap())
        .collect();
    assert_eq!(marks, [false, true, true, true, true]);
    let id = |body: &Value| body["events"][0]["webhookEventId"].clone();
    assert!(bodies.iter().all(|body| id(body) == told.events[0].id.as_str()));
    let (headers, raw) = sink.raw().pop().unwrap();
    let expected = signature("emulator-channel-secret", &raw);
    assert_eq!(headers["x-line-signature"], expected.as_str(), "signed anew");
    let statuses: Vec<_> =
        stage.emulator.deliveries().iter().map(|a| (a.attempt, a.status)).collect();
    let expected = [503, 500, 302, 404, 200].map(Some);
    assert_eq!(statuses, (1..).zip(expected).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_service_that_is_down_gets_it_when_it_is_back() {
    let stage = Stage::with(|options| {
        // Nobody listens on this port, nor can another test come to.
        options.webhook_url = Some("http://127.0.0.1:1/webhook".to_owned());
        options.redelivery.attempts = u32::MAX;
    })
    .await;
    let emulator = stage.emulator.clone();
    let mut changes = emulator.subscribe();
    let (group, ann) = (stage.group.clone(), stage.ann.clone());
    let telling = tokio::spawn(async move { emulator.say(&group, &ann, "hello").await });
    loop {
        let change = tokio::time::timeout(TIMEOUT, changes.recv()).await.unwrap().unwrap();
        if matches!(change, Change::Attempt(attempt) if attempt.status.is_none()) {
            break;
        }
    }
    let (sink, url) = Sink::open(&[]).await;
    stage.emulator.set_webhook_url(Some(url));
    assert!(telling.await.unwrap().unwrap().is_accepted());
    assert_eq!(sink.bodies()[0]["events"][0]["deliveryContext"]["isRedelivery"], true);
}

#[tokio::test]
async fn a_webhook_is_given_up_in_the_end() {
    let (sink, url) = Sink::open(&[500; 9]).await;
    let stage = Stage::with(|options| {
        options.webhook_url = Some(url);
        options.redelivery.attempts = 3;
    })
    .await;
    let told = stage.emulator.say(&stage.group, &stage.ann, "hello").await.unwrap();
    let expected = Delivery { webhook: 0, attempts: 3, status: Some(500), accepted: false };
    assert_eq!((told.delivery, sink.raw().len()), (Some(expected), 3));
}

#[tokio::test]
async fn ending_gives_up_what_waits() {
    let (_sink, url) = Sink::open(&[500; 9]).await;
    let hour = Duration::from_hours(1);
    let stage = Stage::with(|options| {
        options.webhook_url = Some(url);
        options.redelivery = Redelivery { first: hour, longest: hour, attempts: 9 };
    })
    .await;
    let telling = stage.emulator.say(&stage.group, &stage.ann, "hello");
    let ending = async {
        let line = |line: &Entry| line.text.as_deref() == Some("hello");
        stage.emulator.wait_for_line(TIMEOUT, line).await.unwrap();
        stage.emulator.shutdown().await;
    };
    let both = async { tokio::join!(telling, ending) };
    let (told, ()) = tokio::time::timeout(TIMEOUT, both).await.expect("nobody waits an hour");
    assert!(!told.unwrap().is_accepted());
}

#[tokio::test]
async fn any_webhook_can_be_delivered_again() {
    let (sink, url) = Sink::open(&[]).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    stage.emulator.say(&stage.group, &stage.ann, "one").await.unwrap();
    let two = stage.emulator.say(&stage.group, &stage.bob, "two").await.unwrap();
    let number = two.delivery.unwrap().webhook;
    assert!(stage.emulator.redeliver(number).await.unwrap().accepted);
    assert_eq!(stage.emulator.redeliver(99).await, None);
    let bodies = sink.bodies();
    let (first, again) = (&bodies[1]["events"][0], &bodies[2]["events"][0]);
    assert_eq!(again["deliveryContext"]["isRedelivery"], true);
    for field in ["webhookEventId", "timestamp", "replyToken", "message"] {
        assert_eq!(first[field], again[field]);
    }
}

#[tokio::test]
async fn the_connection_check_is_empty() {
    let (sink, url) = Sink::open(&[]).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    assert!(stage.emulator.connection_check().await.accepted);
    let destination = stage.emulator.bot().user_id;
    assert_eq!(sink.bodies(), [json!({ "destination": destination, "events": [] })]);
}

#[tokio::test]
async fn raw_bodies_go_out_as_they_are() {
    let (sink, url) = Sink::open(&[401]).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    assert_eq!(stage.emulator.post_raw("{nonsense", Some("wrong")).await, Some(401));
    assert_eq!(stage.emulator.post_raw("", None).await, Some(200));
    let signed = stage.emulator.sign_raw(r#"{"events":7}"#);
    assert_eq!(stage.emulator.post(signed.clone()).await, Some(200));
    let got = sink.raw();
    assert_eq!(
        (&got[0].1[..], &got[0].0["x-line-signature"]),
        (&b"{nonsense"[..], &"wrong".parse().unwrap())
    );
    assert!(!got[1].0.contains_key("x-line-signature"));
    assert_eq!(got[2].0["x-line-signature"], signed.signature.as_str());
    assert_eq!(stage.emulator.deliveries(), [], "these leave no record");
}

#[tokio::test]
async fn many_are_delivered_side_by_side_and_answered_in_order() {
    // A tenth is refused at first; those must not hold up the others, nor get lost.
    let statuses: Vec<u16> = (0..200).map(|n| if n % 10 == 0 { 503 } else { 200 }).collect();
    let (sink, url) = Sink::open(&statuses).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    let events: Vec<Event> = (0..500).map(|n| stage.said(format!("message {n}"))).collect();
    let webhooks = events.iter().map(|event| stage.emulator.webhook(vec![event.clone()])).collect();
    let deliveries = stage.emulator.deliver_all(webhooks, 16).await;
    assert!(deliveries.len() == 500 && deliveries.iter().all(|delivery| delivery.accepted));
    assert_eq!(deliveries.iter().map(|delivery| delivery.attempts).sum::<u32>(), 520);
    assert_eq!(sink.raw().len(), 520);
    let attempts = stage.emulator.deliveries();
    let of = |n: usize| attempts.iter().find(|a| a.webhook == deliveries[n].webhook).unwrap();
    assert!((0..500).all(|n| of(n).event_ids == [events[n].id.clone()]));
    let bodies = events.iter().map(|event| stage.emulator.sign(vec![event.clone()], true));
    let statuses = stage.emulator.post_all(bodies.collect(), 16).await;
    assert_eq!(statuses, vec![Some(200); 500]);
}

#[tokio::test]
async fn without_an_address_nothing_is_sent() {
    let stage = Stage::new().await;
    let told = stage.emulator.say(&stage.group, &stage.ann, "hello").await.unwrap();
    assert!(!told.is_accepted() && told.delivery.unwrap().attempts == 0);
}
