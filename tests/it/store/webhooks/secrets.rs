//! Secrets of webhooks: at most two are valid, and none ends before the time that was named unless a
//! later rotation says so.

use chatkeep_core::id::{UserId, WebhookId};
use chatkeep_core::signing;
use chatkeep_store::SecretRotated;
use secrecy::ExposeSecret as _;

use super::super::{Fixture, at, on_both};
use super::prepared;

on_both!(a_secret_stays_valid_as_long_as_was_said);

/// Returns the valid secrets of the webhook.
async fn valid(fixture: &Fixture, now: i64) -> String {
    let valid = format!(
        "SELECT secret || ' ' || CASE WHEN old_until > {now} THEN old_secret ELSE '' END
         FROM webhooks WHERE webhook_id = 'wh_1'"
    );
    fixture.value(&valid).await.trim().to_owned()
}

fn secrets(numbers: &[u8]) -> String {
    let secrets = numbers.iter().map(|number| signing::secret([*number; 32]));
    secrets.map(|secret| secret.expose_secret().to_owned()).collect::<Vec<_>>().join(" ")
}

async fn a_secret_stays_valid_as_long_as_was_said(fixture: Fixture) {
    prepared(&fixture).await;
    let (user, webhook) = (UserId::from("U1"), WebhookId::from("wh_1"));
    let rotate = async |user: &UserId, number: u8, until: Option<i64>, now: i64| {
        let (secret, until) = (signing::secret([number; 32]), until.map(at));
        let webhooks = fixture.store.webhooks();
        webhooks.rotate_webhook_secret(user, &webhook, &secret, until, at(now)).await.unwrap()
    };
    let other = UserId::from("U2");
    assert_eq!(rotate(&other, 2, Some(99), 10).await, SecretRotated::NoWebhook);
    assert_eq!(rotate(&user, 2, None, 10).await, SecretRotated::Refused, "none is to be kept");
    assert_eq!(rotate(&user, 2, Some(99), 10).await, SecretRotated::Done);
    let known = fixture.store.webhooks().webhook(&user, &webhook).await.unwrap().unwrap();
    assert!(secrets(&[2]).ends_with(&known.mask));
    assert_eq!(known.old_until, Some(at(99)));
    assert_eq!(valid(&fixture, 98).await, secrets(&[2, 1]));
    // A rotation that is repeated cuts nobody off.
    assert_eq!(rotate(&user, 3, Some(120), 98).await, SecretRotated::Refused);
    assert_eq!(rotate(&user, 3, None, 98).await, SecretRotated::Done);
    assert_eq!(valid(&fixture, 98).await, secrets(&[3, 1]));
    // None is to stay valid.
    assert_eq!(rotate(&user, 4, Some(98), 98).await, SecretRotated::Done);
    assert_eq!(valid(&fixture, 98).await, secrets(&[4]));
    assert_eq!(rotate(&user, 5, Some(110), 99).await, SecretRotated::Done);
    assert_eq!(rotate(&user, 6, Some(130), 110).await, SecretRotated::Done, "its time is over");
    assert_eq!(valid(&fixture, 110).await, secrets(&[6, 5]));
}
