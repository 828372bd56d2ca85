//! Webhooks, and a renderer whose bodies are ids only: whole bodies are tested through the program.
//! Part of the tests of the stages and of the program.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::WebhookId;
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    DeliveryFilter, LeasedDelivery, NewWebhook, OutboxEventKind, Store, StoreError, WebhookChange,
    WebhookDelivery, WebhookMade, WebhookMaker,
};
use chatkeep_workers::notifier::{Bodies, NotifierSettings};

/// Renders ids only.
#[derive(Debug)]
pub(crate) struct Plain;

impl Bodies for Plain {
    type Error = StoreError;

    async fn body(&self, delivery: &LeasedDelivery) -> Result<Option<Vec<u8>>, StoreError> {
        let body = serde_json::json!({"subject": delivery.event.subject});
        Ok(Some(serde_json::to_vec(&body)?))
    }

    fn is_transient(error: &StoreError) -> bool {
        error.is_transient()
    }
}

pub(crate) fn settings() -> NotifierSettings {
    NotifierSettings {
        parallel: 64,
        parallel_each: 4,
        timeout: Duration::from_secs(15),
        retries: vec![Duration::from_secs(5), Duration::from_mins(5), Duration::from_mins(30)],
        give_up: Duration::from_hours(5 * 24),
        keep: Duration::from_hours(30 * 24),
        tell_owners: true,
    }
}

/// Returns an enabled webhook of all events of all channels.
pub(crate) fn everything(url: &str) -> WebhookChange<'_> {
    WebhookChange {
        url,
        description: "",
        events: &OutboxEventKind::ALL,
        channels: None,
        enabled: true,
    }
}

/// Creates such a webhook of that user; returns its id, which names the user and the path.
pub(crate) async fn add_webhook(
    store: &Store,
    (user, path): (&str, &str),
    url: &str,
    now: Timestamp,
) -> WebhookId {
    let id = WebhookId::from(format!("wh_{user}{}", path.replace('/', "_")));
    let (user, secret) = (user.into(), signing::secret([1; 32]));
    let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
    let new = NewWebhook { id: &id, user: &user, secret: &secret, change: everything(url), maker };
    assert_eq!(store.webhooks().add_webhook(&new, now).await.unwrap(), WebhookMade::Done);
    id
}

/// Returns the deliveries of a webhook.
pub(crate) async fn log(store: &Store, webhook: &WebhookId) -> Vec<WebhookDelivery> {
    let bounds = Bounds::full();
    let all = DeliveryFilter::within(&bounds);
    store.webhooks().webhook_deliveries(webhook, all, 1_000).await.unwrap()
}
