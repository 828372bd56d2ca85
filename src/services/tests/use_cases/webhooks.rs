//! Webhooks: what they may be, what a change leaves, and how long their secrets are valid.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::role::Scope;
use chatkeep_core::time::DAY;
use chatkeep_store::{DisabledReason, OutboxEventKind, Webhook};
use secrecy::ExposeSecret as _;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{bounded, key_of, only, parts, refused_at, renderer, since, with_scopes};
use crate::access::{ManageWebhooks, Scoped};
use crate::webhooks::{
    FormerSecrets, WebhookDraft, WebhookService, WebhookUpdate, webhook_version,
};
use crate::{Caller, Nullable, ServiceError, encode_cursor};

fn service(group: &Group) -> WebhookService {
    let (store, clock) = parts(group);
    WebhookService::new(store, clock, renderer(group), false)
}

fn manager(group: &Group, caller: Caller) -> Scoped<ManageWebhooks> {
    group.access.scoped(caller).unwrap()
}

fn draft() -> WebhookDraft {
    WebhookDraft {
        url: "https://example.org/hook".to_owned(),
        events: vec![OutboxEventKind::MessageReceived],
        channels: None,
        enabled: true,
        description: String::new(),
    }
}

/// Creates a webhook as that caller.
async fn create(group: &Group, caller: Caller, draft: WebhookDraft) -> Webhook {
    let made = service(group).create(&manager(group, caller), draft).await.unwrap();
    made.webhook
}

/// Changes a webhook as that caller.
async fn change(
    group: &Group,
    caller: Caller,
    webhook: &Webhook,
    update: WebhookUpdate,
) -> Result<Webhook, ServiceError> {
    service(group).change(&manager(group, caller), &webhook.id, update, None).await
}

/// Returns the field of a request that is beyond the permissions of a credential.
fn beyond<T>(result: Result<T, ServiceError>) -> String {
    match result {
        Err(ServiceError::InsufficientFor { field }) => field.text().into_owned(),
        Err(other) => panic!("refused otherwise: {other:?}"),
        Ok(_) => panic!("not refused"),
    }
}

#[tokio::test]
async fn a_webhook_is_as_it_was_wanted_with_each_event_once() {
    let group = Group::new().await;
    let (received, left) = (OutboxEventKind::MessageReceived, OutboxEventKind::MemberLeft);
    let wanted = WebhookDraft {
        url: "  HTTPS://Example.ORG:443/hook?a=%E6%B8%AC  ".to_owned(),
        events: vec![left, received, left],
        channels: Some(vec!["C9".to_owned(), GROUP.to_owned(), "C9".to_owned()]),
        enabled: false,
        description: "給測試👍".repeat(100),
    };
    let access = manager(&group, caller(OWNER));
    let made = service(&group).create(&access, wanted.clone()).await.unwrap();
    let webhook = made.webhook;
    assert_eq!(webhook.url, "https://example.org/hook?a=%E6%B8%AC");
    assert_eq!(webhook.events, [left, received]);
    assert_eq!(webhook.channels, Some(vec!["C9".into(), GROUP.into()]));
    assert_eq!((webhook.enabled, webhook.description), (false, wanted.description));
    assert_eq!((webhook.key, webhook.bounds), (None, Bounds::full()));
    assert!(made.secret.expose_secret().ends_with(&webhook.mask));
    let other = service(&group).create(&access, draft()).await.unwrap();
    assert_ne!(made.secret.expose_secret(), other.secret.expose_secret());
}

#[tokio::test]
async fn what_a_webhook_cannot_be_is_refused_by_its_place() {
    let group = Group::new().await;
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    let host = "https://example.org/";
    let path = "x".repeat(2_048 - host.len());
    let with_url = |url: &str| WebhookDraft { url: url.to_owned(), ..draft() };
    assert!(service.create(&access, with_url(&format!("{host}{path}"))).await.is_ok());
    let long = WebhookDraft { description: "é".repeat(501), ..draft() };
    for (draft, field) in [
        (with_url(&format!("{host}{path}x")), "/url"),
        (with_url("\u{3000}"), "/url"),
        (with_url("https://example.org\0/"), "/url"),
        (with_url("https://printer.local/"), "/url"),
        (WebhookDraft { events: vec![], ..draft() }, "/events"),
        (WebhookDraft { channels: Some(vec!["c1".to_owned()]), ..draft() }, "/channelIds/0"),
        (long, "/description"),
    ] {
        let refused = service.create(&access, draft.clone()).await;
        assert_eq!(refused_at(refused), field, "{draft:?}");
    }
    assert_eq!(service.page(&access, 100, None).await.unwrap().0.len(), 1);
    let (store, clock) = parts(&group);
    let private = WebhookService::new(store, clock, renderer(&group), true);
    let made = private.create(&access, with_url("http://127.0.0.1:8080/in")).await.unwrap();
    assert_eq!(made.webhook.url, "http://127.0.0.1:8080/in");
}

#[tokio::test]
async fn each_event_needs_its_scope_and_those_of_the_account_all_channels() {
    let group = Group::new().await;
    let service = service(&group);
    let reading = with_scopes(&[Scope::ManageWebhooks, Scope::ReadMessages]);
    let managing = with_scopes(&[Scope::ManageWebhooks]);
    let bounds = [Bounds::full(), reading, managing, only(&[GROUP])];
    let allowed = async |kind: OutboxEventKind| {
        let mut allowed = Vec::new();
        for bounds in &bounds {
            let access = manager(&group, bounded(OWNER, bounds.clone()));
            let made =
                service.create(&access, WebhookDraft { events: vec![kind], ..draft() }).await;
            allowed.push(made.is_ok());
            match made {
                Ok(made) => service.remove(&access, &made.webhook.id).await.unwrap(),
                refused => assert_eq!(beyond(refused), "/events"),
            }
        }
        allowed
    };
    for (kind, expected) in [
        (OutboxEventKind::MessageReceived, [true, true, false, true]),
        (OutboxEventKind::SearchMatched, [true, true, false, true]),
        (OutboxEventKind::ImportAdded, [true, true, false, true]),
        (OutboxEventKind::MemberJoined, [true, false, false, true]),
        (OutboxEventKind::MediaFailed, [true, false, false, true]),
        (OutboxEventKind::BackupPaused, [true, true, true, true]),
        (OutboxEventKind::UsageExceeded, [true, true, true, false]),
        (OutboxEventKind::EndpointDisabled, [true, true, true, false]),
    ] {
        assert_eq!(allowed(kind).await, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn a_webhook_of_a_bound_key_is_within_its_bounds() {
    let group = Group::new().await;
    let end = group.clock.now().plus(DAY);
    let bounds = Bounds { expires_at: Some(end), ..only(&[GROUP, "C2"]) };
    let narrow = key_of(&group, OWNER, "key_1", &bounds).await;
    let made = create(&group, narrow.clone(), draft()).await;
    assert_eq!(made.channels, bounds.channels, "those of the key");
    assert_eq!((made.key.as_ref(), &made.bounds), (narrow.key(), &bounds));
    let elsewhere = WebhookDraft { channels: Some(vec!["C3".to_owned()]), ..draft() };
    let access = manager(&group, narrow.clone());
    assert_eq!(beyond(service(&group).create(&access, elsewhere).await), "/channelIds");
    let other = WebhookUpdate {
        channels: Nullable::To(Some(vec![GROUP.to_owned(), "C3".to_owned()])),
        ..WebhookUpdate::default()
    };
    let refused = change(&group, narrow.clone(), &made, other.clone()).await;
    assert_eq!(beyond(refused), "/channelIds");
    assert_eq!(beyond(change(&group, caller(OWNER), &made, other).await), "/channelIds");
    // All channels are those that it may know, whoever says so.
    let all = WebhookUpdate { channels: Nullable::To(None), ..WebhookUpdate::default() };
    let changed = change(&group, caller(OWNER), &made, all).await.unwrap();
    assert_eq!(changed.channels, bounds.channels);
    // A key that is gone makes nothing.
    group.store.keys().drop_key(&"key_1".into(), group.clock.now()).await.unwrap();
    let late = service(&group).create(&access, draft()).await;
    assert_eq!(late.err(), Some(ServiceError::InvalidKey));
}

#[tokio::test]
async fn webhooks_beyond_a_credential_are_hidden_from_it() {
    let group = Group::new().await;
    let names = async |caller: Caller| {
        let (all, _) = service(&group).page(&manager(&group, caller), 100, None).await.unwrap();
        all.into_iter().map(|webhook| webhook.description).collect::<Vec<_>>()
    };
    let of = |description: &str| WebhookDraft { description: description.to_owned(), ..draft() };
    let here = WebhookDraft { channels: Some(vec![GROUP.to_owned()]), ..of("here") };
    let leaving =
        WebhookDraft { events: vec![OutboxEventKind::MemberLeft], ..of("people leaving") };
    let mut made = Vec::new();
    for draft in [of("all"), here, leaving] {
        group.hands.advance(Duration::from_millis(1));
        made.push(create(&group, caller(OWNER), draft).await);
    }
    assert_eq!(names(caller(OWNER)).await, ["all", "here", "people leaving"]);
    assert_eq!(names(caller(OTHER)).await, [""; 0]);
    assert_eq!(names(bounded(OWNER, only(&[GROUP]))).await, ["here"]);
    assert_eq!(names(bounded(OWNER, since(group.clock.now()))).await, [""; 0]);
    let reading = with_scopes(&[Scope::ManageWebhooks, Scope::ReadMessages]);
    assert_eq!(names(bounded(OWNER, reading.clone())).await, ["all", "here"]);
    let (service, reader) = (service(&group), manager(&group, bounded(OWNER, reading)));
    let hidden = &made[2].id;
    let missing = Some(ServiceError::NotFound);
    assert_eq!(service.one(&reader, hidden).await.err(), missing);
    assert_eq!(service.remove(&reader, hidden).await.err(), missing);
    assert_eq!(service.test(&reader, hidden).await.err(), missing);
    let former = FormerSecrets::Overlap(None);
    assert_eq!(service.rotate_secret(&reader, hidden, former).await.err(), missing);
    let update = WebhookUpdate::default();
    assert_eq!(service.change(&reader, hidden, update, None).await.err(), missing);
}

#[tokio::test]
async fn pages_of_webhooks_go_by_their_creation() {
    let group = Group::new().await;
    let mut made = Vec::new();
    // Some of one moment.
    for step in [1, 0, 0, 1, 1] {
        group.hands.advance(Duration::from_millis(step));
        let webhook = create(&group, caller(OWNER), draft()).await;
        made.push((webhook.created_at, webhook.id));
    }
    made.sort();
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    for limit in 1..=5 {
        let (mut found, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
        loop {
            let (page, next) = service.page(&access, limit, cursor.as_deref()).await.unwrap();
            found.extend(page.into_iter().map(|webhook| (webhook.created_at, webhook.id)));
            pages += 1;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((&found, pages), (&made, 5_u32.div_ceil(limit)), "{limit}");
    }
    let foreign = encode_cursor("keys", &made[0]);
    assert_eq!(refused_at(service.page(&access, 5, foreign.as_deref()).await), "cursor");
}

#[tokio::test]
async fn a_change_leaves_what_it_does_not_name() {
    let group = Group::new().await;
    let wanted = WebhookDraft { channels: Some(vec![GROUP.to_owned()]), ..draft() };
    let made = create(&group, caller(OWNER), wanted).await;
    group.hands.advance(Duration::from_secs(1));
    let nothing = change(&group, caller(OWNER), &made, WebhookUpdate::default()).await.unwrap();
    assert_eq!(nothing.updated_at, made.updated_at, "it is no edit");
    let update = WebhookUpdate { enabled: Some(false), ..WebhookUpdate::default() };
    let off = change(&group, caller(OWNER), &made, update).await.unwrap();
    assert_eq!((off.enabled, off.updated_at), (false, group.clock.now()));
    assert_eq!((&off.url, &off.events, &off.channels), (&made.url, &made.events, &made.channels));
    let update =
        WebhookUpdate { url: Some("https://example.org/2".to_owned()), ..WebhookUpdate::default() };
    let moved = change(&group, caller(OWNER), &made, update).await.unwrap();
    assert_eq!((moved.url.as_str(), moved.enabled), ("https://example.org/2", false));
    // The same by another key is an edit: it ends with that key from then on.
    let end = group.clock.now().plus(DAY);
    let ending = Bounds { expires_at: Some(end), ..Bounds::full() };
    let key = key_of(&group, OWNER, "key_1", &ending).await;
    let hidden = change(&group, key, &moved, WebhookUpdate::default()).await;
    assert_eq!(hidden.err(), Some(ServiceError::NotFound), "it lasts longer than the key");
    let key = key_of(&group, OWNER, "key_2", &Bounds::full()).await;
    let taken = change(&group, key, &moved, WebhookUpdate::default()).await.unwrap();
    assert_eq!(taken.key, Some("key_2".into()));
}

#[tokio::test]
async fn a_webhook_whose_key_has_ended_lives_on_with_whoever_enables_it() {
    let group = Group::new().await;
    let key = key_of(&group, OWNER, "key_1", &Bounds::full()).await;
    let made = create(&group, key, draft()).await;
    group.store.keys().drop_key(&"key_1".into(), group.clock.now()).await.unwrap();
    let access = manager(&group, caller(OWNER));
    let ended = service(&group).one(&access, &made.id).await.unwrap();
    assert!(!ended.enabled);
    assert_eq!(ended.disabled, Some((DisabledReason::KeyEnded, group.clock.now())));
    assert_eq!(
        service(&group).test(&access, &made.id).await.err(),
        Some(ServiceError::WebhookDisabled)
    );
    // Another change leaves it as it is.
    let words = WebhookUpdate { description: Some("x".to_owned()), ..WebhookUpdate::default() };
    let still = change(&group, caller(OWNER), &made, words).await.unwrap();
    assert_eq!((still.enabled, still.disabled), (false, ended.disabled));
    let on = WebhookUpdate { enabled: Some(true), ..WebhookUpdate::default() };
    let other = key_of(&group, OWNER, "key_2", &Bounds::full()).await;
    let enabled = change(&group, other, &made, on).await.unwrap();
    assert_eq!((enabled.enabled, enabled.disabled), (true, None));
    assert_eq!(enabled.key, Some("key_2".into()));
}

#[tokio::test]
async fn a_version_is_that_of_what_a_form_changes() {
    let group = Group::new().await;
    let made = create(&group, caller(OWNER), draft()).await;
    let (service, access) = (service(&group), manager(&group, caller(OWNER)));
    let first = webhook_version(&made);
    let words = |text: &str| WebhookUpdate {
        description: Some(text.to_owned()),
        ..WebhookUpdate::default()
    };
    let off = WebhookUpdate { enabled: Some(false), ..WebhookUpdate::default() };
    service.change(&access, &made.id, off, Some(&first)).await.unwrap();
    service.rotate_secret(&access, &made.id, FormerSecrets::Overlap(None)).await.unwrap();
    let changed = service.change(&access, &made.id, words("one"), Some(&first)).await;
    assert_ne!(webhook_version(&changed.unwrap()), first);
    let stale = service.change(&access, &made.id, words("two"), Some(&first)).await;
    assert_eq!(stale.err(), Some(ServiceError::Stale));

    let mut versions = vec![first];
    let all = made.channels.clone();
    let (a, b) = (OutboxEventKind::MessageReceived, OutboxEventKind::MessageSent);
    for (url, description, events, channels) in [
        ("https://example.org/hookx", "", vec![a], all.clone()),
        ("https://example.org/hook", "x", vec![a], all.clone()),
        ("https://example.org/hook", "", vec![a, b], all.clone()),
        ("https://example.org/hook", "", vec![b, a], all),
        ("https://example.org/hook", "", vec![a], Some(vec![])),
        ("https://example.org/hook", "", vec![a], Some(vec!["C1".into()])),
        ("https://example.org/hook", "", vec![a], Some(vec!["C1".into(), "C2".into()])),
        ("https://example.org/hook", "", vec![a], Some(vec!["C1C2".into()])),
    ] {
        let (url, description) = (url.to_owned(), description.to_owned());
        versions.push(webhook_version(&Webhook {
            url,
            description,
            events,
            channels,
            ..made.clone()
        }));
    }
    let count = versions.len();
    versions.sort();
    versions.dedup();
    assert_eq!(versions.len(), count, "each is another");
}
