//! The routes of webhooks: a part of the one table of all routes.

use super::{deliveries, events};
use crate::api::route::Tag::Webhooks;
use crate::api::route::{Routes, text};

/// All of them.
pub(in crate::api) fn routes(routes: Routes) -> Routes {
    routes
        .get("/webhooks", super::list, text("list_webhooks", Webhooks, "The caller's webhooks"))
        .post(
            "/webhooks",
            super::make,
            text("create_webhook", Webhooks, "Has what happens sent to an address").more(
                "It tells of channels that the caller may read when it is delivered, and nothing \
                 beyond the scopes, channels and time of the key that made it; when that key ends \
                 or is deleted it is disabled (`key_ended`). At most 20 a user.",
            ),
        )
        .get(
            "/webhooks/events",
            events::list,
            text("list_event_types", Webhooks, "What can be told, and the form of each"),
        )
        .get("/webhooks/{webhookId}", super::one, text("get_webhook", Webhooks, "One webhook"))
        .put(
            "/webhooks/{webhookId}",
            super::replace,
            text("replace_webhook", Webhooks, "Changes a webhook; what is absent stays").more(
                "What happened while it was disabled is not told. It keeps the bounds of the \
                     key that made it, and is the caller's key's from now on; enabled again after \
                     `key_ended` it ends with the caller's key.",
            ),
        )
        .delete(
            "/webhooks/{webhookId}",
            super::remove,
            text("delete_webhook", Webhooks, "Deletes a webhook with all that waits for it"),
        )
        .post(
            "/webhooks/{webhookId}/rotate-secret",
            super::rotate,
            text("rotate_webhook_secret", Webhooks, "Replaces the secret; the old one signs, too")
                .more("For a while every delivery has two signatures."),
        )
        .post(
            "/webhooks/{webhookId}/test",
            deliveries::test,
            text("test_webhook", Webhooks, "Sends an event `webhook.test`"),
        )
        .get(
            "/webhooks/{webhookId}/deliveries",
            deliveries::list,
            text("list_deliveries", Webhooks, "What was sent and what became of it"),
        )
        .get(
            "/webhooks/{webhookId}/deliveries/{deliveryId}",
            deliveries::one,
            text("get_delivery", Webhooks, "One delivery with what it would send now"),
        )
        .post(
            "/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver",
            deliveries::redeliver,
            text("redeliver", Webhooks, "Delivers it once more, under the same `webhook-id`"),
        )
        .post(
            "/webhooks/{webhookId}/redeliver",
            deliveries::redeliver_since,
            text("redeliver_failed", Webhooks, "Delivers all that failed since a time once more"),
        )
}
