//! Webhooks that are accepted: what is on the bus afterwards.

use chatkeep_core::id::ChannelId;

use super::*;

/// Events in forms that a parser and a printer in between would change.
const EVENTS: [&str; 6] = [
    r#"{"webhookEventId":"A","source":{"groupId":"C1"},"text":"早安，ありがとう สวัสดี 👩‍👩‍👧"}"#,
    r#"{"webhookEventId":"B","source":{"userId":"U1"},"text":"\ud83d\ude00 \u65e9\/"}"#,
    r#"{"webhookEventId":"C","source":{"roomId":"R1"},"half":"\ud83d","nul":"\u0000"}"#,
    "{ \"webhookEventId\" : \"D\" ,\r\n\t\"n\" : [1.50, 1e2, -0, 12345678901234567890123] }",
    r#"{"webhookEventId":"E","twice":1,"twice":2,"type":"of tomorrow"}"#,
    "{\"webhookEventId\":\"F\",\"text\":\"e\\u0301 e\u{301} \u{202e}abc ｆｕｌｌ\"}",
];

#[tokio::test]
async fn events_reach_the_bus_in_their_order_as_the_platform_wrote_them() {
    let fixture = Fixture::new(1).await;
    let (status, body) = fixture.deliver(&body_of(EVENTS)).await;
    assert_eq!((status, body), (StatusCode::OK, serde_json::json!({})));
    let taken = fixture.taken().await;
    let written: Vec<_> = taken.iter().map(|(_, envelope)| envelope.raw.get()).collect();
    assert_eq!(written, EVENTS);
    let ids: Vec<_> = taken.iter().map(|(id, _)| id.as_str()).collect();
    let expected = ["A", "B", "C", "D", "E", "F"].map(|id| format!("line:main:{id}"));
    assert_eq!(ids, expected);
    let channels: Vec<_> =
        taken.iter().map(|(_, event)| event.channel.as_ref().map(ChannelId::as_str)).collect();
    assert_eq!(channels, [Some("C1"), Some("U1"), Some("R1"), None, None, None]);
    for (id, envelope) in &taken {
        assert_eq!(envelope.received_at, 1_769_850_000_123, "{id}");
        assert_eq!((&*envelope.bot, envelope.v), ("main", Envelope::VERSION), "{id}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn the_platform_may_deliver_again_what_it_delivered() {
    let fixture = Fixture::new(1).await;
    let body = body_with("E", 3);
    for _ in 0..3 {
        assert_eq!(fixture.deliver(&body).await.0, StatusCode::OK);
        fixture.clock.advance(Duration::from_mins(1));
    }
    assert_eq!(fixture.waiting().await, 3);
    // With one event more: that one alone is new.
    assert_eq!(fixture.deliver(&body_with("E", 4)).await.0, StatusCode::OK);
    let taken = fixture.taken().await;
    assert_eq!(taken.len(), 4);
    let received: Vec<_> = taken.iter().map(|(_, event)| event.received_at).collect();
    let first = 1_769_850_000_123;
    assert_eq!(received, [first, first, first, first + 180_000], "each as it came first");
    // Handled meanwhile: it is still not new.
    assert_eq!(fixture.deliver(&body).await.0, StatusCode::OK);
    assert_eq!(fixture.waiting().await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn bots_may_have_events_of_the_same_id() {
    let fixture = Fixture::new(1).await;
    let body = body_with("E", 1);
    assert_eq!(fixture.deliver(&body).await.0, StatusCode::OK);
    let signature = signed(OTHER[0], &body);
    let answer = fixture.send("/webhook/line/other", &signature, body.into()).await;
    assert_eq!(answer.0, StatusCode::OK);
    let bots: Vec<_> = fixture.taken().await.into_iter().map(|(_, event)| event.bot).collect();
    assert_eq!(bots, ["main", "other"]);
    fixture.end().await;
}

#[tokio::test]
async fn a_large_webhook_is_taken_as_a_small_one_is() {
    let fixture = Fixture::new(100).await;
    let body = body_with(&"x".repeat(60), 400);
    assert!(body.len() > 2 * LIGHT, "{}", body.len());
    assert_eq!(fixture.deliver(&body).await.0, StatusCode::OK);
    let taken = fixture.taken().await;
    let numbers: Vec<_> = taken
        .iter()
        .map(|(id, _)| id.trim_start_matches("line:main:x").trim_start_matches('x').to_owned())
        .collect();
    let expected: Vec<_> = (0..400).map(|number: u32| number.to_string()).collect();
    assert_eq!(numbers, expected);

    let changed = body.replace("U0", "U1");
    let foreign = fixture.send("/webhook/line/main", &signed(SECRET, &body), changed.into()).await;
    assert_eq!(foreign.0, StatusCode::UNAUTHORIZED);
    let broken = fixture.deliver(&body[..body.len() - 1]).await;
    assert_eq!((broken.0, &broken.1["code"]), (StatusCode::BAD_REQUEST, &"invalid_body".into()));
    assert_eq!(fixture.waiting().await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn observers_are_told_of_what_is_on_the_bus_and_of_nothing_else() {
    let fixture = Fixture::new(100).await;
    let mut notices = fixture.tap.watch();
    let body = body_with("E", 2);
    fixture.send("/webhook/line/main", &signed("wrong", &body), body.clone().into()).await;
    fixture.disk.record(0);
    fixture.deliver(&body).await;
    assert!(notices.try_recv().is_err(), "neither was published");
    fixture.disk.record(u64::MAX);
    fixture.deliver(&body).await;
    for event in ["E0", "E1"] {
        let notice = notices.try_recv().unwrap();
        assert_eq!((notice.stage, &*notice.event), ("ingress", event));
        assert_eq!(notice.step, EventStep::Published);
    }
    assert!(notices.try_recv().is_err());
    fixture.end().await;
}
