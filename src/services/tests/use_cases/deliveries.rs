//! Deliveries of webhooks: their log, what a delivery would send now, and repeating them.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::WebhookId;
use chatkeep_core::role::Scope;
use chatkeep_core::time::{DAY, Timestamp};
use chatkeep_store::{
    ActivityFilter, DeliveryStatus, OutboxEventKind, PresenceEvidenceKind, ReadAction, TEST_EVENT,
};
use serde_json::{Value, json};

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{
    arrive, bounded, establish, keep, leave, only, parts, refused_at, renderer, said, unsent,
    with_scopes,
};
use crate::access::{ManageWebhooks, Scoped};
use crate::webhooks::{
    DeliveryListQuery, FormerSecrets, WebhookDraft, WebhookService, WebhookUpdate, delivery_id,
    event_name,
};
use crate::{Caller, Nullable, ServiceError};

fn service(group: &Group) -> WebhookService {
    let (store, clock) = parts(group);
    WebhookService::new(store, clock, renderer(group), false)
}

fn manager(group: &Group, caller: Caller) -> Scoped<ManageWebhooks> {
    group.access.scoped(caller).unwrap()
}

/// Makes deliveries of all that happened.
async fn fan_out(group: &Group) {
    let (webhooks, now) = (group.store.webhooks(), group.clock.now());
    while webhooks.fan_out_webhooks(now).await.unwrap().is_some() {}
}

/// Creates a webhook of the owner for every event.
async fn hook(group: &Group) -> WebhookId {
    let draft = WebhookDraft {
        url: "https://example.org/hook".to_owned(),
        events: OutboxEventKind::ALL.to_vec(),
        channels: None,
        enabled: true,
        description: String::new(),
    };
    let made = service(group).create(&manager(group, caller(OWNER)), draft).await;
    made.unwrap().webhook.id
}

/// Returns a group with a webhook and four deliveries, a minute apart: of three messages, of which
/// the second is in another channel, and of somebody who left.
async fn with_deliveries() -> (Group, WebhookId) {
    let group = Group::new().await;
    establish(&group, "C2", &[OWNER, "U3"]).await;
    group.hands.advance(Duration::from_secs(1));
    let webhook = hook(&group).await;
    for (id, channel) in [("m1", GROUP), ("m2", "C2"), ("m3", GROUP)] {
        group.hands.advance(Duration::from_mins(1));
        keep(&group, &[said(channel, id, OWNER, group.clock.now(), "hello")]).await;
        fan_out(&group).await;
    }
    group.hands.advance(Duration::from_mins(1));
    group.happened("C2", PresenceEvidenceKind::Left("U3".into())).await;
    fan_out(&group).await;
    (group, webhook)
}

/// Returns the subjects of the deliveries on each page of a list.
async fn pages(
    group: &Group,
    caller: Caller,
    webhook: &WebhookId,
    query: &DeliveryListQuery,
) -> Vec<Vec<String>> {
    let (service, access) = (service(group), manager(group, caller));
    let (mut query, mut pages) = (query.clone(), Vec::new());
    loop {
        let (page, next) = service.deliveries(&access, webhook, &query).await.unwrap();
        let subjects = page.into_iter().map(|one| one.event.subject.unwrap_or_default());
        pages.push(subjects.collect());
        query.cursor = next;
        if query.cursor.is_none() {
            return pages;
        }
    }
}

fn first(limit: u32) -> DeliveryListQuery {
    DeliveryListQuery { limit, ..DeliveryListQuery::default() }
}

#[tokio::test]
async fn the_log_is_filtered_and_paged_newest_first() {
    let (group, webhook) = with_deliveries().await;
    let now = group.clock.now();
    group
        .sql("UPDATE webhook_deliveries SET status = 'failed' WHERE subject_id IN ('m1', 'm3')")
        .await;
    let (failed, sent) =
        (Some(DeliveryStatus::Failed), Some(OutboxEventKind::MessageReceived.name()));
    let ago = |minutes: u64| Some(now.minus(Duration::from_mins(minutes)));
    for (query, expected) in [
        (first(9), vec!["U3", "m3", "m2", "m1"]),
        (DeliveryListQuery { status: failed, ..first(9) }, vec!["m3", "m1"]),
        (DeliveryListQuery { event: sent, ..first(9) }, vec!["m3", "m2", "m1"]),
        (DeliveryListQuery { event: Some(TEST_EVENT), ..first(9) }, vec![]),
        (DeliveryListQuery { from: ago(2), ..first(9) }, vec!["U3", "m3", "m2"]),
        (DeliveryListQuery { to: ago(2), ..first(9) }, vec!["m1"]),
        (DeliveryListQuery { from: ago(3), to: ago(1), event: sent, ..first(9) }, vec!["m2", "m1"]),
        (DeliveryListQuery { from: ago(2), status: failed, event: sent, ..first(9) }, vec!["m3"]),
        (DeliveryListQuery { from: ago(1), to: ago(1), ..first(9) }, vec![]),
        (DeliveryListQuery { from: Some(Timestamp::LATEST), ..first(9) }, vec![]),
    ] {
        let whole = pages(&group, caller(OWNER), &webhook, &query).await;
        assert_eq!(whole, std::slice::from_ref(&expected), "{query:?}");
        for limit in 1..4 {
            let query = DeliveryListQuery { limit, ..query.clone() };
            let pages = pages(&group, caller(OWNER), &webhook, &query).await;
            assert_eq!(pages.concat(), expected, "{query:?}");
        }
    }
}

#[tokio::test]
async fn a_cursor_of_the_log_is_for_its_webhook_and_filters() {
    let (group, webhook) = with_deliveries().await;
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    let other = hook(&group).await;
    let sent = Some(OutboxEventKind::MessageReceived.name());
    let now = Some(group.clock.now());
    let queries = [
        first(1),
        DeliveryListQuery { status: Some(DeliveryStatus::Pending), ..first(1) },
        DeliveryListQuery { event: sent, ..first(1) },
        DeliveryListQuery { from: Some(Timestamp::default()), ..first(1) },
        DeliveryListQuery { to: now, ..first(1) },
        DeliveryListQuery { event: sent, to: now, ..first(1) },
    ];
    for (number, query) in queries.iter().enumerate() {
        let (_, cursor) = service.deliveries(&access, &webhook, query).await.unwrap();
        assert!(cursor.is_some(), "{query:?}");
        for (another, query) in queries.iter().enumerate() {
            let query = DeliveryListQuery { cursor: cursor.clone(), ..query.clone() };
            let page = service.deliveries(&access, &webhook, &query).await;
            if number == another {
                assert!(page.is_ok());
            } else {
                assert_eq!(refused_at(page), "cursor", "{number} for {query:?}");
            }
        }
        let foreign = DeliveryListQuery { cursor, ..query.clone() };
        assert_eq!(refused_at(service.deliveries(&access, &other, &foreign).await), "cursor");
    }
}

#[tokio::test]
async fn a_delivery_is_shown_within_the_bounds_of_the_reader() {
    let (group, webhook) = with_deliveries().await;
    // Its webhook has to be within them, too.
    let session = caller(OWNER);
    let here = WebhookUpdate {
        channels: Nullable::To(Some(vec![GROUP.to_owned()])),
        events: Some(vec![OutboxEventKind::MessageReceived]),
        ..WebhookUpdate::default()
    };
    let (service, access) = (service(&group), manager(&group, session.clone()));
    let all = service.deliveries(&access, &webhook, &first(9)).await.unwrap().0;
    let narrow = bounded(OWNER, only(&[GROUP]));
    let hidden = service.deliveries(&manager(&group, narrow.clone()), &webhook, &first(9)).await;
    assert_eq!(hidden.err(), Some(ServiceError::NotFound));
    service.change(&access, &webhook, here, None).await.unwrap();
    service.test(&access, &webhook).await.unwrap();
    // What was delivered before is there, as is a test.
    let listed = pages(&group, session, &webhook, &first(9)).await;
    assert_eq!(listed, [vec!["", "U3", "m3", "m2", "m1"]]);
    let listed = pages(&group, narrow.clone(), &webhook, &first(9)).await;
    assert_eq!(listed, [vec!["", "m3", "m1"]]);
    let managing =
        Bounds { scopes: vec![Scope::ManageWebhooks, Scope::ReadMessages], ..only(&[GROUP]) };
    let listed = pages(&group, bounded(OWNER, managing), &webhook, &first(9)).await;
    assert_eq!(listed, [vec!["", "m3", "m1"]]);
    let reader = manager(&group, narrow);
    for delivery in all {
        let is_here = delivery.event.channel == Some(GROUP.into());
        let shown = service.delivery(&reader, &webhook, &delivery_id(&delivery)).await;
        assert_eq!(shown.is_ok(), is_here, "{delivery:?}");
    }
}

#[tokio::test]
async fn a_delivery_has_one_name() {
    let (group, webhook) = with_deliveries().await;
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    let other = hook(&group).await;
    let all = service.deliveries(&access, &webhook, &first(9)).await.unwrap().0;
    let name = delivery_id(&all[0]);
    assert!(service.delivery(&access, &webhook, &name).await.is_ok());
    let number = name.strip_prefix("dlv_").unwrap();
    let missing = Some(ServiceError::NotFound);
    for wrong in [
        "",
        "dlv_",
        number,
        &format!("dlv_0{number}"),
        &format!("dlv_+{number}"),
        &format!(" {name}"),
        &format!("{name} "),
        &format!("DLV_{number}"),
        "dlv_0",
        "dlv_-1",
        "dlv_9223372036854775808",
        "dlv_１",
    ] {
        assert_eq!(service.delivery(&access, &webhook, wrong).await.err(), missing, "{wrong}");
        assert_eq!(service.redeliver(&access, &webhook, wrong).await.err(), missing, "{wrong}");
    }
    assert_eq!(service.delivery(&access, &other, &name).await.err(), missing);
    let stranger = manager(&group, caller(OTHER));
    assert_eq!(service.delivery(&stranger, &webhook, &name).await.err(), missing);
}

/// Returns what a delivery of that subject would send now.
async fn body(group: &Group, webhook: &WebhookId, subject: &str) -> Option<Value> {
    let (service, access) = (service(group), manager(group, caller(OWNER)));
    let all = service.deliveries(&access, webhook, &first(9)).await.unwrap().0;
    let found = all.iter().find(|one| one.event.subject.as_deref() == Some(subject)).unwrap();
    let shown = service.delivery(&access, webhook, &delivery_id(found)).await.unwrap();
    shown.body.map(|body| serde_json::from_slice(&body.json().unwrap()).unwrap())
}

/// Returns how often messages of a channel were opened.
async fn opened(group: &Group, channel: &str) -> i64 {
    let (log, all) = (group.store.activity_log(), ActivityFilter::default());
    log.write_reads().await.unwrap();
    let reads = log.reads(&channel.into(), &all, None, 100).await.unwrap();
    let opened = reads.iter().filter(|read| read.action == ReadAction::Open);
    opened.map(|read| read.requests).sum()
}

#[tokio::test]
async fn a_body_is_what_would_be_sent_now_and_a_message_in_it_counts_as_opened() {
    let (group, webhook) = with_deliveries().await;
    let shown = body(&group, &webhook, "m1").await.unwrap();
    assert_eq!(
        (&shown["type"], &shown["data"]["channelId"]),
        (&json!("message.received"), &json!(GROUP))
    );
    let message = &shown["data"]["message"];
    assert_eq!((&message["content"], &message["kept"]), (&json!("hello"), &json!(true)));
    assert_eq!((opened(&group, GROUP).await, opened(&group, "C2").await), (1, 0));
    let member = body(&group, &webhook, "U3").await.unwrap();
    assert_eq!(member["data"]["member"]["status"], "left");
    assert_eq!(opened(&group, "C2").await, 0, "it has no message");
    keep(&group, &[unsent(GROUP, "m1", group.clock.now())]).await;
    let shown = body(&group, &webhook, "m1").await.unwrap();
    let message = &shown["data"]["message"];
    assert_eq!((&message["content"], message["unsentAt"].is_string()), (&Value::Null, true));
    // Nothing of what the owner may not read now.
    leave(&group, "C2", OWNER).await;
    assert_eq!(body(&group, &webhook, "m2").await, None);
    assert_eq!(opened(&group, "C2").await, 0);
    group.hands.advance(Duration::from_millis(1));
    arrive(&group, "C2", &[OWNER]).await;
    assert!(body(&group, &webhook, "m2").await.is_some());
    assert_eq!(opened(&group, "C2").await, 1);
    let elsewhere = WebhookUpdate {
        channels: Nullable::To(Some(vec![GROUP.to_owned()])),
        ..WebhookUpdate::default()
    };
    let access = manager(&group, caller(OWNER));
    service(&group).change(&access, &webhook, elsewhere, None).await.unwrap();
    assert_eq!(body(&group, &webhook, "m2").await, None, "the webhook is not for that channel");
    group.sql("DELETE FROM messages WHERE message_id = 'm3'").await;
    assert_eq!(body(&group, &webhook, "m3").await, None, "it is gone");
}

#[tokio::test]
async fn a_test_is_a_delivery_of_its_own_event() {
    let group = Group::new().await;
    let webhook = hook(&group).await;
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    let one = service.test(&access, &webhook).await.unwrap();
    let other = service.test(&access, &webhook).await.unwrap();
    assert_ne!(one.event.id, other.event.id);
    assert_eq!((event_name(&one), one.status), ("webhook.test", DeliveryStatus::Pending));
    assert_eq!((one.attempts, one.due_at), (0, Some(group.clock.now())));
    let shown = service.delivery(&access, &webhook, &delivery_id(&one)).await.unwrap();
    let body: Value = serde_json::from_slice(&shown.body.unwrap().json().unwrap()).unwrap();
    let expected = json!({
        "type": "webhook.test",
        "timestamp": group.clock.now().to_string(),
        "data": {"webhookId": webhook.as_str()},
    });
    assert_eq!(body, expected);
    let off = WebhookUpdate { enabled: Some(false), ..WebhookUpdate::default() };
    service.change(&access, &webhook, off, None).await.unwrap();
    let disabled = Some(ServiceError::WebhookDisabled);
    assert_eq!(service.test(&access, &webhook).await.err(), disabled);
    let name = delivery_id(&one);
    assert_eq!(service.redeliver(&access, &webhook, &name).await.err(), disabled);
    let since = Timestamp::default();
    assert_eq!(service.redeliver_since(&access, &webhook, since).await.err(), disabled);
    assert!(service.delivery(&access, &webhook, &name).await.is_ok(), "it may still be read");
}

#[tokio::test]
async fn what_failed_is_repeated_from_that_moment_on() {
    let (group, webhook) = with_deliveries().await;
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    let all = service.deliveries(&access, &webhook, &first(9)).await.unwrap().0;
    let [_, third, second, oldest] = &all[..] else { panic!("four deliveries: {all:?}") };
    let fail = "UPDATE webhook_deliveries SET status = 'failed', due_at = NULL, attempts = 9";
    for (since, again) in [
        (oldest.created_at, 4),
        (second.created_at, 3),
        (second.created_at.plus(Duration::from_millis(1)), 2),
        (group.clock.now().plus(DAY), 0),
    ] {
        group.sql(fail).await;
        assert_eq!(service.redeliver_since(&access, &webhook, since).await, Ok(again));
        assert_eq!(service.redeliver_since(&access, &webhook, since).await, Ok(0), "none failed");
    }
    group.sql(fail).await;
    let members = with_scopes(&[Scope::ManageWebhooks, Scope::ReadMembers]);
    let members = manager(&group, bounded(OWNER, members));
    let hidden = service.redeliver_since(&members, &webhook, oldest.created_at).await;
    assert_eq!(hidden, Err(ServiceError::NotFound), "the webhook has more scopes");
    group.hands.advance(Duration::from_mins(5));
    let again = service.redeliver(&access, &webhook, &delivery_id(third)).await.unwrap();
    assert_eq!((again.status, again.attempts), (DeliveryStatus::Pending, 0));
    assert_eq!((again.due_at, &again.event), (Some(group.clock.now()), &third.event));
}

#[tokio::test]
async fn a_secret_is_valid_until_the_time_that_was_told() {
    let group = Group::new().await;
    let webhook = hook(&group).await;
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    let rotate = async |former: FormerSecrets| {
        let rotated = service.rotate_secret(&access, &webhook, former).await;
        rotated.map(|rotated| rotated.webhook.old_until)
    };
    let conflict = |rotated: Result<Option<Timestamp>, ServiceError>| {
        assert!(matches!(rotated, Err(ServiceError::Conflict(_))), "{rotated:?}");
    };
    let begin = group.clock.now();
    conflict(rotate(FormerSecrets::KeepPrevious).await);
    assert_eq!(
        refused_at(rotate(FormerSecrets::Overlap(Some(2_592_001))).await),
        "/overlapSeconds"
    );
    let until = begin.plus(DAY);
    assert_eq!(rotate(FormerSecrets::Overlap(None)).await, Ok(Some(until)));
    group.hands.set(until.minus(Duration::from_millis(1)));
    conflict(rotate(FormerSecrets::Overlap(Some(60))).await);
    assert_eq!(rotate(FormerSecrets::KeepPrevious).await, Ok(Some(until)), "as it was told");
    group.hands.set(until);
    conflict(rotate(FormerSecrets::KeepPrevious).await);
    let until = until.plus(30 * DAY);
    assert_eq!(rotate(FormerSecrets::Overlap(Some(2_592_000))).await, Ok(Some(until)));
    // Both end at once.
    let now = group.clock.now();
    assert_eq!(rotate(FormerSecrets::Overlap(Some(0))).await, Ok(Some(now)));
    conflict(rotate(FormerSecrets::KeepPrevious).await);
    assert_eq!(rotate(FormerSecrets::Overlap(Some(0))).await, Ok(Some(now)), "and again");
}
