//! Webhooks that the platform must deliver again: the bus is full, or the disk nearly.

use super::*;

/// A check of the connection, which has no events.
const CHECK: &str = r#"{"destination":"U0","events":[]}"#;

#[tokio::test]
async fn a_connection_check_is_answered_and_leaves_nothing() {
    let fixture = Fixture::new(1).await;
    for body in [CHECK, "{}", " \r\n{\"events\":[]}\n", r#"{"events":[],"destination":7}"#] {
        assert_eq!(fixture.deliver(body).await.0, StatusCode::OK, "{body}");
    }
    assert_eq!(fixture.waiting().await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn events_are_refused_while_the_disk_is_low() {
    let fixture = Fixture::new(1).await;
    let body = body_with("E", 2);
    for (free, status) in [
        (RESERVE - 1, StatusCode::SERVICE_UNAVAILABLE),
        (RESERVE, StatusCode::SERVICE_UNAVAILABLE),
        (RESERVE + RESERVE / 4 - 1, StatusCode::SERVICE_UNAVAILABLE),
        (RESERVE + RESERVE / 4, StatusCode::OK),
        (RESERVE, StatusCode::OK),
    ] {
        fixture.disk.record(free);
        let (answered, answer) = fixture.deliver(&body).await;
        assert_eq!(answered, status, "{free}");
        assert_eq!(fixture.deliver(CHECK).await.0, StatusCode::OK, "nothing is to be stored");
        if status == StatusCode::SERVICE_UNAVAILABLE {
            assert_eq!(answer["code"], "unavailable", "{free}");
            assert_eq!(fixture.waiting().await, 0, "{free}");
        }
    }
    assert_eq!(fixture.waiting().await, 2);
    fixture.end().await;
}

#[tokio::test]
async fn a_low_disk_is_no_way_around_the_signature() {
    let fixture = Fixture::new(100).await;
    fixture.disk.record(0);
    let body = body_with("E", 1);
    let wrong = signed("x", &body);
    let answer = fixture.send("/webhook/line/main", &wrong, body.into()).await;
    assert_eq!(answer.0, StatusCode::UNAUTHORIZED);
    assert_eq!(fixture.deliver("[]").await.0, StatusCode::BAD_REQUEST);
    fixture.end().await;
}

#[tokio::test]
async fn a_full_bus_takes_all_events_of_a_webhook_or_none() {
    let fixture = Fixture::new(1).await;
    let room = usize::try_from(BACKLOG).unwrap();
    assert_eq!(fixture.deliver(&body_with("A", room - 1)).await.0, StatusCode::OK);
    let (status, answer) = fixture.deliver(&body_with("B", 2)).await;
    let refused = (status, &answer["code"]);
    assert_eq!(refused, (StatusCode::SERVICE_UNAVAILABLE, &"unavailable".into()));
    assert_eq!(fixture.waiting().await, BACKLOG - 1);
    assert_eq!(fixture.deliver(&body_with("C", 1)).await.0, StatusCode::OK, "it has room for one");
    assert_eq!(fixture.deliver(&body_with("D", 1)).await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(fixture.deliver(CHECK).await.0, StatusCode::OK);
    assert_eq!(fixture.taken().await.len(), room);
    // The platform delivers again, and the events that were refused are still new.
    assert_eq!(fixture.deliver(&body_with("B", 2)).await.0, StatusCode::OK);
    let ids: Vec<_> = fixture.taken().await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["line:main:B0", "line:main:B1"]);
    fixture.end().await;
}
