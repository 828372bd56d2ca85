//! A successful call of each route.

use serde_json::{Value, json};

/// Successful call of a route, and the mark of its response.
pub(super) struct Operation {
    pub(super) query: &'static str,
    pub(super) body: Value,
    /// JSON Pointer that the response must have.
    pub(super) has: &'static str,
}

pub(super) fn operation(id: &str) -> Option<Operation> {
    let rule = || json!({"keywords": ["k"], "question": "", "answer": "a"});
    let (query, body, has) = match id {
        "get_me" => ("", Value::Null, "/userId"),
        "get_notices" => ("", Value::Null, "/usage"),
        "set_own_backup" => ("", json!({"kept": true}), "/kept"),
        "set_notices" => ("", json!({"usage": true}), "/usage"),
        "get_usage" => ("", Value::Null, "/totalBytes"),
        "list_channels" => ("", Value::Null, "/channels"),
        "list_subscriptions" => ("", Value::Null, "/subscriptions"),
        "search" | "search_channel" => ("?q=hello", Value::Null, "/hits"),
        "list_media" => ("", Value::Null, "/media"),
        // The message has no file, which only its readers learn.
        "get_media" => ("", Value::Null, "/error"),
        // Not JSON: the first line of a page.
        "export_messages" => ("?format=jsonl", Value::Null, ""),
        "get_export_document" => ("", Value::Null, ""),
        "list_exports" => ("", Value::Null, "/exports"),
        "create_export" => ("", json!({"format": "jsonl"}), "/documentUrl"),
        "get_export" => ("", Value::Null, "/documentUrl"),
        "list_events" => ("?limit=2", Value::Null, "/events"),
        "get_channel" => ("", Value::Null, "/meta/channelId"),
        "list_members" => ("?status=active", Value::Null, "/members/0/userId"),
        "set_member_role" => ("", json!({"role": "member"}), "/success"),
        "erase_member_data" => ("", Value::Null, "/erasedCount"),
        "get_assistant_config" => ("", Value::Null, "/assistant/qa"),
        "update_assistant_config" => {
            ("", json!({"assistant": {"enabled": true}}), "/assistant/enabled")
        }
        "list_rules" => ("", Value::Null, "/items"),
        "create_rule" | "update_rule" => ("", rule(), "/items/0/answer"),
        "get_welcome" => ("", Value::Null, "/messages"),
        "set_welcome" => ("", json!({"message": "hi"}), "/messages/0/content"),
        "get_group_rules" | "get_message" => ("", Value::Null, "/content"),
        "set_group_rules" => ("", json!({"content": "be kind"}), "/content"),
        "try_assistant" => ("", json!({"text": "hello"}), "/source"),
        "list_unanswered" => ("?days=1", Value::Null, "/questions"),
        "backtest_rules" => ("", json!({"days": 1}), "/changes"),
        "delete_rule"
        | "subscribe"
        | "unsubscribe"
        | "delete_key"
        | "delete_saved_search"
        | "delete_export" => ("", Value::Null, "/success"),
        "set_backup_config" => ("", json!({"timeZone": "Asia/Taipei"}), "/config/backup/timeZone"),
        "get_coverage" => ("", Value::Null, "/gaps"),
        "list_messages" => ("", Value::Null, "/messages/0/id"),
        // Nothing is as old as that, so that the stored messages remain for the other calls.
        "delete_messages" => ("?before=1970-01-01T00:00:00.002Z", Value::Null, "/deletedCount"),
        "get_job" => ("", Value::Null, "/status"),
        "list_keys" => ("", Value::Null, "/keys"),
        "create_key" => ("", json!({"name": "n", "scopes": ["manage:keys"]}), "/key"),
        "rotate_key" => ("", json!({}), "/key"),
        "list_saved_searches" => ("", Value::Null, "/savedSearches"),
        "get_saved_search" => ("", Value::Null, "/savedSearchId"),
        "create_saved_search" | "update_saved_search" => {
            ("", json!({"name": "n", "query": "hello"}), "/savedSearchId")
        }
        _ => return webhook_operation(id),
    };
    Some(Operation { query, body, has })
}

pub(super) fn webhook_operation(id: &str) -> Option<Operation> {
    let webhook = || json!({"url": "https://example.org/", "events": ["backup.paused"]});
    let (query, body, has) = match id {
        "list_webhooks" => ("", Value::Null, "/webhooks"),
        "create_webhook" => ("", webhook(), "/secret"),
        "list_event_types" => ("", Value::Null, "/events/0/schema"),
        "get_webhook" => ("", Value::Null, "/webhookId"),
        "update_webhook" => ("", webhook(), "/webhookId"),
        "delete_webhook" => ("", Value::Null, "/success"),
        "rotate_webhook_secret" => ("", json!({}), "/secret"),
        "test_webhook" | "get_delivery" | "redeliver" => ("", Value::Null, "/deliveryId"),
        "list_deliveries" => ("?status=pending", Value::Null, "/deliveries"),
        "redeliver_failed" => ("", json!({"since": "2026-01-02T03:04:05Z"}), "/count"),
        _ => return None,
    };
    Some(Operation { query, body, has })
}
