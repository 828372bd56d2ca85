//! Table of the webhook routes, part of the table of all routes.

use super::{deliveries, events};
use crate::route::Tag::Webhooks;
use crate::route::{Routes, text};

/// Adds the webhook routes.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get(
            "/webhooks",
            super::list,
            text("list_webhooks", Webhooks, "List the caller's webhook endpoints"),
        )
        .post(
            "/webhooks",
            super::make,
            text("create_webhook", Webhooks, "Create a webhook endpoint").more(
                "Events are sent about channels that the caller may read at the time of delivery, \
                 within the scopes, channels and `notBefore` of the key that created the webhook. \
                 When that key expires or is deleted, the webhook is disabled (`key_ended`). At \
                 most 20 per user.",
            ),
        )
        .get(
            "/webhooks/events",
            events::list,
            text("list_event_types", Webhooks, "List event types with their JSON Schemas"),
        )
        .get(
            "/webhooks/{webhookId}",
            super::one,
            text("get_webhook", Webhooks, "Get a webhook endpoint"),
        )
        .put(
            "/webhooks/{webhookId}",
            super::replace,
            text("update_webhook", Webhooks, "Change a webhook endpoint").more(
                "Absent fields are unchanged. Events that occurred while it was disabled are not \
                 sent. It keeps the restrictions of the key that created it, and adds those of the \
                 caller's key; enabled again after `key_ended`, it is bound to the caller's key.",
            ),
        )
        .delete(
            "/webhooks/{webhookId}",
            super::remove,
            text("delete_webhook", Webhooks, "Delete a webhook endpoint and its deliveries"),
        )
        .post(
            "/webhooks/{webhookId}/rotate-secret",
            super::rotate,
            text("rotate_webhook_secret", Webhooks, "Rotate the signing secret").more(
                "The current secret stays valid for `overlapSeconds`, during which deliveries have \
                 two signatures. While an earlier secret is still valid, the response is 409 unless \
                 the body has `keepPrevious` or `overlapSeconds` 0.",
            ),
        )
        .post(
            "/webhooks/{webhookId}/test",
            deliveries::test,
            text("test_webhook", Webhooks, "Send a `webhook.test` event"),
        )
        .get(
            "/webhooks/{webhookId}/deliveries",
            deliveries::list,
            text("list_deliveries", Webhooks, "List deliveries and their state"),
        )
        .get(
            "/webhooks/{webhookId}/deliveries/{deliveryId}",
            deliveries::one,
            text("get_delivery", Webhooks, "Get a delivery with its current body"),
        )
        .post(
            "/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver",
            deliveries::redeliver,
            text("redeliver", Webhooks, "Repeat a delivery with the same `webhook-id`"),
        )
        .post(
            "/webhooks/{webhookId}/redeliver",
            deliveries::redeliver_since,
            text("redeliver_failed", Webhooks, "Repeat deliveries that failed since a time"),
        )
}
