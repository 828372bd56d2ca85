//! Records results of delivery attempts: many in one transaction, because each would wait for the
//! disk alone.

use std::collections::{BTreeMap, BTreeSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::WebhookId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::db::{Sql, Tx, locking};
use super::super::ingest::BulkKey;
use super::super::outbox_log::{self, NewDetailedEvent, NewOutboxEvent};
use super::super::{OutboxEventKind, StoreError, WebhookStore};
use super::delivery::{DeliveryFailure, DeliveryStatus};
use super::lease::LeasedDelivery;
use super::rows::DisabledReason;
use crate::query::{query, query_as};

/// Result of one delivery attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Attempted delivery.
    pub delivery: LeasedDelivery,
    /// Start time.
    pub at: Timestamp,
    /// Duration in milliseconds; `None` when nothing was sent.
    pub took_ms: Option<i64>,
    /// HTTP status of the response.
    pub http_status: Option<u16>,
    /// Reason for the failure.
    pub error: Option<DeliveryFailure>,
    /// Beginning of the response body.
    pub answer: Option<String>,
    /// Size of the request in bytes.
    pub request_bytes: Option<i64>,
    /// Retry-after: no attempt to the webhook before this time.
    pub not_until: Option<Timestamp>,
    /// Next step.
    pub next: Next,
}

/// Next step after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Delivered.
    Delivered,
    /// Retried at this time.
    Retry(Timestamp),
    /// Failed for good.
    Failed,
    /// Not delivered any more: gone, or not its owner's to read.
    Dropped,
    /// Failed for good, and the webhook with it: it responded with 410.
    Gone,
}

/// Messages whose responses are about to be stored. A concurrent erasure waits, and then sees them.
const LOCK_MESSAGES: Sql = Sql {
    sqlite: "SELECT m.channel_id, m.message_id FROM json_each($1) k CROSS JOIN messages m
             WHERE m.channel_id = k.value ->> 'c' AND m.message_id = k.value ->> 'm'
               AND m.unsent_at IS NULL",
    postgres: "SELECT m.channel_id, m.message_id FROM messages m
               WHERE (m.channel_id, m.message_id) IN (
                   SELECT value ->> 'c', value ->> 'm' FROM json_each($1))
                 AND m.unsent_at IS NULL
               ORDER BY m.channel_id, m.message_id FOR SHARE",
};

const LOCK_WEBHOOKS: Sql = locking!(
    "SELECT webhook_id FROM webhooks
     WHERE webhook_id IN (SELECT value ->> 'w' FROM json_each($1)) ORDER BY webhook_id",
    " FOR NO KEY UPDATE"
);

/// Only the last lease decides, and only once.
const SETTLE: &str = "
    UPDATE webhook_deliveries SET
        status = s.status, due_at = s.due, leased = 0, attempts = attempts + s.tried,
        tried_at = s.at, took_ms = s.took, http_status = s.code, error = s.error,
        answer = s.answer, request_bytes = COALESCE(s.bytes, request_bytes)
    FROM (SELECT CAST(value ->> 'n' AS BIGINT) AS n, CAST(value ->> 'lease' AS BIGINT) AS lease,
                 value ->> 'status' AS status, CAST(value ->> 'due' AS BIGINT) AS due,
                 CAST(value ->> 'tried' AS BIGINT) AS tried, CAST(value ->> 'at' AS BIGINT) AS at,
                 CAST(value ->> 'took' AS BIGINT) AS took, CAST(value ->> 'code' AS BIGINT) AS code,
                 value ->> 'error' AS error, value ->> 'answer' AS answer,
                 CAST(value ->> 'bytes' AS BIGINT) AS bytes
          FROM json_each($1)) s
    WHERE webhook_deliveries.delivery_no = s.n AND webhook_deliveries.claims = s.lease
      AND webhook_deliveries.leased = 1";

/// Like the two below, for the attempted address alone: the webhook may have another one by now.
const CLEAR_FAILING: &str = "
    UPDATE webhooks SET failing_since = NULL
    WHERE (webhook_id, url) IN (SELECT value ->> 'w', value ->> 'u' FROM json_each($1))
      AND failing_since IS NOT NULL";
const MARK_FAILING: &str = "
    UPDATE webhooks SET failing_since = COALESCE(failing_since, $2),
                        not_until = CASE WHEN $3 > not_until THEN $3 ELSE not_until END
    WHERE webhook_id = $1 AND url = $4";
const DISABLE: &str = "
    UPDATE webhooks SET enabled = 0, disabled_reason = $2, disabled_at = $3, notified_at = NULL,
                        notice_outcome = NULL
    WHERE webhook_id = $1 AND url = $5 AND enabled = 1 AND ($4 IS NULL OR failing_since <= $4)
    RETURNING user_id";

#[derive(Serialize)]
struct Settled<'a> {
    n: i64,
    lease: i64,
    status: DeliveryStatus,
    due: Option<i64>,
    tried: i64,
    at: i64,
    took: Option<i64>,
    code: Option<u16>,
    error: Option<DeliveryFailure>,
    answer: Option<&'a str>,
    bytes: Option<i64>,
}

/// Webhook as it was when a delivery was leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct AttemptedWebhook<'a> {
    #[serde(rename = "w")]
    id: &'a str,
    #[serde(rename = "u")]
    url: &'a str,
}

/// Results of one webhook in a batch.
#[derive(Default)]
struct AttemptResults {
    well: bool,
    failed_at: Option<Timestamp>,
    not_until: Option<Timestamp>,
    gone: bool,
}

impl WebhookStore<'_> {
    /// Stores the results of attempts. A webhook that responded with 410, or has failed since
    /// before `give_up` and failed again, is disabled; returns those, with the reasons.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is stored then.
    #[boxed]
    pub async fn settle_webhooks(
        &self,
        attempts: &[Attempt],
        give_up: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<(WebhookId, DisabledReason)>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let readable = lock_messages(&mut tx, attempts).await?;
        let webhooks = by_webhook(attempts);
        let _: Vec<(String,)> =
            tx.fetch_all(query_as(LOCK_WEBHOOKS).bind(list_of(webhooks.keys().copied())?)).await?;
        let rows: Vec<_> = attempts.iter().map(|attempt| settled(attempt, &readable)).collect();
        let rows = serde_json::to_string(&rows)?;
        tx.execute(query(SETTLE).bind(&rows)).await?;
        // One success in a batch proves a working endpoint, whatever else failed.
        let well = webhooks.iter().filter(|(_, results)| results.well).map(|(webhook, _)| *webhook);
        tx.execute(query(CLEAR_FAILING).bind(list_of(well)?)).await?;
        let mut disabled = Vec::new();
        for (webhook, results) in webhooks {
            let reason = disable_if_failing(&mut tx, webhook, &results, give_up, now).await?;
            disabled.extend(reason.map(|reason| (webhook.id.into(), reason)));
        }
        tx.commit().await?;
        Ok(disabled)
    }
}

/// Locks the messages of the delivered events that can still be read.
async fn lock_messages(
    tx: &mut Tx,
    attempts: &[Attempt],
) -> Result<BTreeSet<(String, String)>, StoreError> {
    let answered = attempts.iter().filter(|attempt| attempt.answer.is_some());
    let keys: Vec<_> = answered.filter_map(|attempt| about(&attempt.delivery)).collect();
    if keys.is_empty() {
        return Ok(BTreeSet::new());
    }
    let keys: Vec<_> = keys.into_iter().map(|(c, m)| BulkKey { c, m: Some(m) }).collect();
    let keys = serde_json::to_string(&keys)?;
    let rows: Vec<(String, String)> = tx.fetch_all(query_as(LOCK_MESSAGES).bind(&keys)).await?;
    Ok(rows.into_iter().collect())
}

fn about(delivery: &LeasedDelivery) -> Option<(&str, &str)> {
    let event = &delivery.event;
    Some((event.channel.as_ref()?.as_str(), event.subject.as_deref()?))
        .filter(|_| event.kind.is_some_and(OutboxEventKind::is_about_message))
}

fn list_of<'a>(webhooks: impl Iterator<Item = AttemptedWebhook<'a>>) -> Result<String, StoreError> {
    Ok(serde_json::to_string(&webhooks.collect::<Vec<_>>())?)
}

fn by_webhook(attempts: &[Attempt]) -> BTreeMap<AttemptedWebhook<'_>, AttemptResults> {
    let mut webhooks = BTreeMap::<_, AttemptResults>::new();
    for attempt in attempts {
        let LeasedDelivery { webhook, url, .. } = &attempt.delivery;
        let results = webhooks.entry(AttemptedWebhook { id: webhook.as_str(), url }).or_default();
        match attempt.next {
            Next::Delivered => results.well = true,
            Next::Dropped => {}
            // Nothing was sent, which says nothing of the endpoint.
            _ if attempt.took_ms.is_none() => {}
            Next::Retry(_) | Next::Failed | Next::Gone => {
                let first = results.failed_at.map_or(attempt.at, |at| at.min(attempt.at));
                results.failed_at = Some(first);
            }
        }
        results.gone |= attempt.next == Next::Gone;
        results.not_until = results.not_until.max(attempt.not_until);
    }
    webhooks
}

fn settled<'a>(attempt: &'a Attempt, readable: &BTreeSet<(String, String)>) -> Settled<'a> {
    let (status, due) = match attempt.next {
        Next::Delivered => (DeliveryStatus::Delivered, None),
        Next::Retry(at) => (DeliveryStatus::Pending, Some(at.millis())),
        Next::Failed | Next::Gone => (DeliveryStatus::Failed, None),
        Next::Dropped => (DeliveryStatus::Dropped, None),
    };
    let kept = about(&attempt.delivery)
        .is_none_or(|(c, m)| readable.contains(&(c.to_owned(), m.to_owned())));
    Settled {
        n: attempt.delivery.number,
        lease: attempt.delivery.lease,
        status,
        due,
        tried: i64::from(attempt.next != Next::Dropped),
        at: attempt.at.millis(),
        took: attempt.took_ms,
        code: attempt.http_status,
        error: attempt.error,
        answer: attempt.answer.as_deref().filter(|_| kept),
        bytes: attempt.request_bytes,
    }
}

/// Decides on a webhook by its failures: returns the reason if it was disabled.
async fn disable_if_failing(
    tx: &mut Tx,
    webhook: AttemptedWebhook<'_>,
    results: &AttemptResults,
    give_up: Timestamp,
    now: Timestamp,
) -> Result<Option<DisabledReason>, StoreError> {
    let Some(failed_at) = results.failed_at else {
        return Ok(None);
    };
    let not_until = results.not_until.map_or(0, Timestamp::millis);
    let AttemptedWebhook { id, url } = webhook;
    let mark = query(MARK_FAILING).bind(id).bind(failed_at.millis()).bind(not_until).bind(url);
    tx.execute(mark).await?;
    let (reason, before) = if results.gone {
        (DisabledReason::Gone, None)
    } else {
        (DisabledReason::Failing, Some(give_up.millis()))
    };
    let user: Option<(String,)> = tx
        .fetch_optional(
            query_as(DISABLE)
                .bind(id)
                .bind(reason.name())
                .bind(now.millis())
                .bind(before)
                .bind(url),
        )
        .await?;
    let Some((user,)) = user else {
        return Ok(None);
    };
    log_disabled(tx, id, &user, now).await?;
    Ok(Some(reason))
}

/// Adds the outbox event of a webhook that was disabled.
pub(super) async fn log_disabled(
    tx: &mut Tx,
    webhook: &str,
    user: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let kind = OutboxEventKind::EndpointDisabled.name();
    let outbox_event = NewOutboxEvent { kind, at: now.millis(), c: None, s: Some(user) };
    outbox_log::log(tx, &[NewDetailedEvent { outbox_event, detail: webhook }], now).await
}
