//! Rendered events about accounts, webhooks, people and imports, each for readers of other bounds.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::Plan;
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::time::Timestamp;
use chatkeep_search::saved_searches::Rendering;
use chatkeep_store::{EventRef, OutboxEvent, OutboxEventKind, OutboxPosition};
use chatkeep_view::pseudonyms::Mask;
use serde_json::{Value, json};

use super::super::{GROUP, Group, OTHER, OWNER};
use super::{appoint, at, call, keep, leave, only, renderer, said, since, with_scopes};
use crate::event_renderer::EventReader;

/// Returns an event of a channel, or of an account.
fn event(
    kind: OutboxEventKind,
    channel: Option<&str>,
    subject: Option<&str>,
    detail: Option<&str>,
) -> OutboxEvent {
    OutboxEvent {
        place: OutboxPosition(0, 7),
        kind,
        at: at(5_000),
        channel: channel.map(ChannelId::from),
        subject: subject.map(str::to_owned),
        detail: detail.map(str::to_owned),
        unstored: None,
    }
}

/// Returns the data of an event for a reader with these bounds; `None` if they do not get it.
async fn shown(group: &Group, event: OutboxEvent, bounds: &Bounds) -> Option<Value> {
    let reader = EventReader { bounds, mask: &Mask::none() };
    let mut events = renderer(group).events(vec![event], reader).await.unwrap();
    let event = events.pop()?;
    assert_eq!((event.id.as_str(), event.timestamp), ("evt_0_7", at(5_000)));
    Some(serde_json::to_value(&event.data).unwrap())
}

#[tokio::test]
async fn usage_is_that_of_the_moment_in_which_it_is_told() {
    let group = Group::new().await;
    let exceeded = event(OutboxEventKind::UsageExceeded, None, Some(OWNER), None);
    let told = |percentage: f64| Some(json!({"userId": OWNER, "percentage": percentage}));
    for (bytes, percentage) in [
        ("UPDATE users SET used_bytes = 0", 0.0),
        ("UPDATE users SET used_bytes = 471859199", 89.99),
        ("UPDATE users SET used_bytes = 524288000", 100.0),
        ("UPDATE users SET used_bytes = 9000000000000000000", 100.0),
        ("UPDATE users SET used_bytes = -5", 0.0),
    ] {
        group.sql(bytes).await;
        let full = shown(&group, exceeded.clone(), &Bounds::full()).await;
        assert_eq!(full, told(percentage), "{bytes}");
    }
    // It needs no scope, but all channels.
    let none = shown(&group, exceeded.clone(), &with_scopes(&[])).await;
    assert!(none.is_some());
    assert_eq!(shown(&group, exceeded, &only(&[GROUP])).await, None);
    let nobody = event(OutboxEventKind::UsageExceeded, None, Some("Unobody"), None);
    assert_eq!(shown(&group, nobody, &Bounds::full()).await, None);
    group.sql("UPDATE users SET used_bytes = 524288000").await;
    group.set_plan(Plan::Standard).await;
    let warning = event(OutboxEventKind::UsageWarning, None, Some(OWNER), None);
    assert_eq!(shown(&group, warning, &Bounds::full()).await, told(0.97));
}

#[tokio::test]
async fn a_disabled_webhook_is_named_to_those_who_may_manage_webhooks() {
    let group = Group::new().await;
    let disabled = event(OutboxEventKind::EndpointDisabled, None, Some(OWNER), Some("wh_1"));
    let data = json!({"userId": OWNER, "webhookId": "wh_1"});
    for (bounds, expected) in [
        (Bounds::full(), Some(data.clone())),
        (with_scopes(&[Scope::ManageWebhooks]), Some(data)),
        (with_scopes(&[Scope::ReadMessages, Scope::ManageKeys]), None),
        (only(&[GROUP]), None),
        (since(at(5_001)), None),
    ] {
        assert_eq!(shown(&group, disabled.clone(), &bounds).await, expected, "{bounds:?}");
    }
}

#[tokio::test]
async fn a_person_is_shown_as_they_are_now() {
    let group = Group::new().await;
    call(&group, &[(OTHER, "Mia")]).await;
    appoint(&group, OTHER, Role::Admin).await;
    let joined = event(OutboxEventKind::MemberJoined, Some(GROUP), Some(OTHER), None);
    let data = shown(&group, joined.clone(), &Bounds::full()).await.unwrap();
    assert_eq!(data["channelId"], GROUP);
    let member = &data["member"];
    assert_eq!((&member["displayName"], &member["role"]), (&json!("Mia"), &json!("admin")));
    assert_eq!((&member["status"], &member["leftAt"]), (&json!("active"), &Value::Null));
    call(&group, &[(OTHER, "Nia")]).await;
    leave(&group, GROUP, OTHER).await;
    let data = shown(&group, joined.clone(), &Bounds::full()).await.unwrap();
    assert_eq!(
        (&data["member"]["displayName"], &data["member"]["status"]),
        (&json!("Nia"), &json!("left"))
    );
    let reading = with_scopes(&[Scope::ReadMessages]);
    assert_eq!(shown(&group, joined.clone(), &reading).await, None);
    assert_eq!(shown(&group, joined, &only(&["C2"])).await, None);
}

#[tokio::test]
async fn of_an_import_the_times_are_told_that_a_reader_may_read() {
    let group = Group::new().await;
    let added = |times: &str| event(OutboxEventKind::ImportAdded, Some(GROUP), None, Some(times));
    let told = |from: Option<i64>, to: Option<i64>| {
        let time = |millis: Option<i64>| millis.map(|millis| at(millis).to_string());
        let import = json!({"from": time(from), "to": time(to)});
        Some(json!({"channelId": GROUP, "import": import}))
    };
    // The end is the first time of which nothing was added.
    for (times, bounds, expected) in [
        ("1000/2000", Bounds::full(), told(Some(1_000), Some(2_001))),
        ("1000/1000", Bounds::full(), told(Some(1_000), Some(1_001))),
        ("1000/2000", since(at(999)), told(Some(1_000), Some(2_001))),
        ("1000/2000", since(at(1_500)), told(Some(1_500), Some(2_001))),
        ("1000/2000", since(at(2_000)), told(Some(2_000), Some(2_001))),
        ("1000/2000", since(at(2_001)), None),
        ("-9000/2000", Bounds::full(), told(Some(-9_000), Some(2_001))),
        ("1000/9223372036854775807", Bounds::full(), told(Some(1_000), Some(i64::MAX))),
        ("1000/2000", with_scopes(&[Scope::ReadMembers]), None),
        ("1000/2000", only(&["C2"]), None),
    ] {
        assert_eq!(shown(&group, added(times), &bounds).await, expected, "{times} {bounds:?}");
    }
    let undone = event(OutboxEventKind::ImportUndone, Some(GROUP), None, None);
    for bounds in [Bounds::full(), since(at(5_000))] {
        assert_eq!(shown(&group, undone.clone(), &bounds).await, told(None, None));
    }
    assert_eq!(shown(&group, undone, &since(at(5_001))).await, None);
}

#[tokio::test]
async fn a_pause_is_told_by_its_channel_alone() {
    let group = Group::new().await;
    for kind in [OutboxEventKind::BackupPaused, OutboxEventKind::BackupResumed] {
        let paused = event(kind, Some(GROUP), None, None);
        for bounds in [Bounds::full(), only(&[GROUP]), with_scopes(&[])] {
            let data = shown(&group, paused.clone(), &bounds).await;
            assert_eq!(data, Some(json!({"channelId": GROUP})), "{kind:?} {bounds:?}");
        }
        assert_eq!(shown(&group, paused, &only(&["C2"])).await, None);
    }
}

/// Returns the body of a webhook with these bounds, at the time of the clock.
async fn body(group: &Group, kind: Option<OutboxEventKind>, bounds: &Bounds) -> Option<Value> {
    let event = EventRef {
        id: "evt_0_7".to_owned(),
        kind,
        at: at(5_000),
        channel: kind.map(|_| GROUP.into()),
        subject: kind.map(|_| "m1".to_owned()),
        detail: Some("wh_1".to_owned()),
        unstored: None,
    };
    let user = UserId::from(OWNER);
    let made = renderer(group).webhook_body(&event, &user, bounds, Rendering::Display).await;
    let made = made.unwrap()?;
    assert_eq!(made.has_message(), kind.is_some());
    let json: Value = serde_json::from_slice(&made.json().unwrap()).unwrap();
    let pretty: Value = serde_json::from_str(&made.pretty().unwrap()).unwrap();
    assert_eq!(json, pretty, "for people and for programs");
    Some(json)
}

#[tokio::test]
async fn a_body_ends_with_the_bounds_of_its_webhook() {
    let group = Group::new().await;
    keep(&group, &[said(GROUP, "m1", OTHER, at(4_000), "línea\n\"quoted\" 👍")]).await;
    let received = Some(OutboxEventKind::MessageReceived);
    let shown = body(&group, received, &Bounds::full()).await.unwrap();
    assert_eq!(
        (&shown["type"], &shown["timestamp"]),
        (&json!("message.received"), &json!(at(5_000).to_string()))
    );
    let message = &shown["data"]["message"];
    assert_eq!(message["content"], "línea\n\"quoted\" 👍");
    assert_eq!(message["url"], format!("https://chat.example.org/c/{GROUP}/m/m1"));
    let until = |end: Timestamp| Bounds { expires_at: Some(end), ..Bounds::full() };
    let now = group.clock.now();
    let later = at(now.millis() + 1);
    for kind in [received, None] {
        assert_eq!(body(&group, kind, &until(now)).await, None, "{kind:?}");
        assert!(body(&group, kind, &until(later)).await.is_some(), "{kind:?}");
    }
    // The event happened in time, its message did not.
    assert_eq!(body(&group, received, &since(at(4_001))).await, None);
    assert!(body(&group, received, &since(at(4_000))).await.is_some());
    assert_eq!(body(&group, received, &only(&["C2"])).await, None);
    // A test is about the webhook itself.
    let test = body(&group, None, &only(&[])).await.unwrap();
    assert_eq!(test["data"], json!({"webhookId": "wh_1"}));
}
