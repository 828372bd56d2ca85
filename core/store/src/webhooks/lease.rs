//! Leases of due deliveries: a few of each webhook, so that none waits for another.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{UserId, WebhookId};
use chatkeep_core::time::Timestamp;
use secrecy::SecretString;
use serde::Serialize;
use tracing::error;

use super::super::db::{Sql, Tx};
use super::super::{OutboxEventKind, StoreError, WebhookStore};
use super::rows::{BoundsColumns, EventColumns, EventRef};
use crate::presence_sql::takes_part;
use crate::query::query_as;

/// Maximum number of webhooks examined at once, chosen at random, so that with more none waits for
/// long.
const WEBHOOKS: i64 = 256;

/// Limits of a lease.
#[derive(Clone, Copy, Debug)]
pub struct LeaseRoom {
    /// Maximum number of deliveries.
    pub total: usize,
    /// Maximum number of these to webhooks that have been failing for a while.
    pub failing: usize,
    /// Maximum number for one healthy webhook, those leased by others included.
    pub each: usize,
    /// The same for one whose last attempt failed; one that has been failing for a while gets one.
    pub per_failed: usize,
    /// Webhooks failing since before this time have been failing for a while.
    pub failing_before: Timestamp,
}

/// Delivery leased by this process until its lease ends.
#[derive(Clone, Debug)]
pub struct LeasedDelivery {
    /// Number of the delivery.
    pub number: i64,
    /// Distinguishes this lease from later ones.
    pub lease: i64,
    /// Number of attempts made before.
    pub attempts: u32,
    /// Webhook.
    pub webhook: WebhookId,
    /// Owner of the webhook.
    pub user: UserId,
    /// URL of the endpoint.
    pub url: String,
    /// Signing secrets: the present one, then one that is still valid.
    pub secrets: Vec<SecretString>,
    /// `true` if its owner may read the channel now.
    pub may_read: bool,
    /// Bounds; nothing beyond them is delivered.
    pub bounds: Bounds,
    /// `true` if its webhook has been failing for a while.
    pub failing: bool,
    /// Event to deliver.
    pub event: EventRef,
}

/// Builds the condition that due deliveries of the webhook of the row `w` may be leased at the time
/// `$1`.
macro_rules! may_be_leased {
    () => {
        "w.enabled = 1 AND w.not_until <= $1 AND (w.ends_at IS NULL OR w.ends_at > $1)"
    };
}

pub(super) use may_be_leased;

/// Webhooks with due deliveries, the number of each that may be leased at once, and those already
/// leased. The first table walks the index from one webhook with unfinished deliveries to the next,
/// so that idle processes, which ask several times a second, read nothing of the others.
const DUE: &str = concat!(
    "WITH RECURSIVE unfinished (webhook_id) AS (
        SELECT MIN(webhook_id) FROM webhook_deliveries WHERE due_at IS NOT NULL
        UNION ALL
        SELECT (SELECT MIN(d.webhook_id) FROM webhook_deliveries d
                WHERE d.due_at IS NOT NULL AND d.webhook_id > u.webhook_id)
        FROM unfinished u WHERE u.webhook_id IS NOT NULL)
    SELECT webhook_id, failing, room, busy FROM (
        SELECT w.webhook_id,
               CAST(CASE WHEN w.failing_since <= $2 THEN 1 ELSE 0 END AS BIGINT) AS failing,
               CASE WHEN w.failing_since <= $2 THEN CAST(1 AS BIGINT)
                    WHEN w.failing_since IS NULL THEN CAST($3 AS BIGINT)
                    ELSE CAST($4 AS BIGINT) END AS room,
               (SELECT COUNT(*) FROM webhook_deliveries b
                WHERE b.webhook_id = w.webhook_id AND b.leased = 1 AND b.due_at > $1) AS busy
        FROM unfinished u CROSS JOIN webhooks w
        WHERE w.webhook_id = u.webhook_id AND ",
    may_be_leased!(),
    " AND EXISTS (SELECT 1 FROM webhook_deliveries d
                      WHERE d.webhook_id = w.webhook_id AND d.due_at <= $1)) due
    WHERE busy < room
    ORDER BY RANDOM() LIMIT $5"
);

/// The bot's own message is not sent before everything earlier in its channel was attempted once: a
/// reply never arrives before its question unless the question failed. The lock is on rows that
/// nobody else is about to lease.
macro_rules! take {
    ($lock:literal) => {
        concat!(
            "UPDATE webhook_deliveries SET claims = claims + 1, leased = 1, due_at = $3
             WHERE delivery_no IN (
                 SELECT d.delivery_no FROM webhook_deliveries d
                 WHERE d.webhook_id = $1 AND d.due_at <= $2
                   AND (d.type <> $5 OR d.attempts > 0 OR NOT EXISTS (
                       SELECT 1 FROM webhook_deliveries q
                       WHERE q.webhook_id = d.webhook_id AND q.channel_id = d.channel_id
                         AND q.delivery_no < d.delivery_no
                         AND q.attempts = 0 AND q.due_at IS NOT NULL))
                 ORDER BY d.due_at, d.delivery_no LIMIT $4",
            $lock,
            ") RETURNING delivery_no"
        )
    };
}

const TAKE: Sql = Sql { sqlite: take!(""), postgres: take!(" FOR UPDATE OF d SKIP LOCKED") };

const TAKEN: &str = concat!(
    "SELECT d.delivery_no, d.claims, d.attempts, d.event_id, d.type, d.at, d.channel_id,
           d.subject_id, d.detail_id, d.unstored, w.webhook_id, w.user_id, w.url, w.secret,
           w.not_before, w.scopes, w.bound_channel_ids, w.ends_at, w.pseudonym_secret,
           CASE WHEN w.old_until > $2 THEN w.old_secret END AS old_secret,
           CAST(CASE WHEN w.failing_since <= $3 THEN 1 ELSE 0 END AS BIGINT) AS failing,
           CAST(CASE WHEN d.channel_id IS NULL THEN 1
                     WHEN w.channel_ids IS NOT NULL AND NOT EXISTS (
                         SELECT 1 FROM json_each(w.channel_ids) t
                         WHERE t.value ->> 'c' = d.channel_id) THEN 0
                     WHEN EXISTS (
                         SELECT 1 FROM members m
                         WHERE m.channel_id = d.channel_id AND m.user_id = w.user_id AND ",
    takes_part!("m"),
    ") THEN 1
                     ELSE 0 END AS BIGINT) AS may_read
     FROM webhook_deliveries d JOIN webhooks w ON w.webhook_id = d.webhook_id
     WHERE d.delivery_no IN (SELECT CAST(value ->> 'n' AS BIGINT) FROM json_each($1))
     ORDER BY d.due_at, d.delivery_no"
);

#[derive(Serialize)]
pub(super) struct Number {
    pub(super) n: i64,
}

#[derive(sqlx_macros::FromRow)]
struct DueRow {
    webhook_id: String,
    failing: i64,
    room: i64,
    busy: i64,
}

/// No `Debug`: it holds secrets.
#[derive(sqlx_macros::FromRow)]
struct TakenRow {
    delivery_no: i64,
    claims: i64,
    attempts: i64,
    #[sqlx(flatten)]
    event: EventColumns,
    webhook_id: String,
    user_id: String,
    url: String,
    secret: String,
    #[sqlx(flatten)]
    bounds: BoundsColumns,
    old_secret: Option<String>,
    failing: i64,
    may_read: i64,
}

impl WebhookStore<'_> {
    /// Leases due deliveries, until `lease_end` at most. One whose process died is due when its
    /// lease ends, and so is one that this version cannot read: it holds up no other.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is leased then.
    #[boxed]
    pub async fn lease_deliveries(
        &self,
        room: LeaseRoom,
        lease_end: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<LeasedDelivery>, StoreError> {
        let [each, each_unwell] =
            [room.each, room.per_failed].map(|each| i64::try_from(each).unwrap_or(i64::MAX));
        let due: Vec<DueRow> = self
            .store
            .db
            .fetch_all(
                query_as(DUE)
                    .bind(now.millis())
                    .bind(room.failing_before.millis())
                    .bind(each)
                    .bind(each_unwell)
                    .bind(WEBHOOKS),
            )
            .await?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.store.db.begin().await?;
        let numbers = take(&mut tx, &due, room, lease_end, now).await?;
        let list = serde_json::to_string(&numbers)?;
        let rows: Vec<TakenRow> = tx
            .fetch_all(
                query_as(TAKEN).bind(&list).bind(now.millis()).bind(room.failing_before.millis()),
            )
            .await?;
        tx.commit().await?;
        let read = |row: TakenRow| {
            let read = LeasedDelivery::try_from(row);
            read.inspect_err(|error| error!(%error, "a webhook delivery cannot be read")).ok()
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }
}

async fn take(
    tx: &mut Tx,
    due: &[DueRow],
    room: LeaseRoom,
    lease_end: Timestamp,
    now: Timestamp,
) -> Result<Vec<Number>, StoreError> {
    let mut numbers = Vec::new();
    let mut failing_room = room.failing;
    for DueRow { webhook_id, failing, room: each, busy } in due {
        let failing = *failing == 1;
        let each = usize::try_from(each - busy).unwrap_or_default();
        let each = if failing { each.min(failing_room) } else { each };
        let wanted = each.min(room.total - numbers.len());
        if wanted == 0 {
            continue;
        }
        let rows: Vec<(i64,)> = tx
            .fetch_all(
                query_as(TAKE)
                    .bind(webhook_id)
                    .bind(now.millis())
                    .bind(lease_end.millis())
                    .bind(i64::try_from(wanted).unwrap_or(i64::MAX))
                    .bind(OutboxEventKind::MessageSent.name()),
            )
            .await?;
        if failing {
            failing_room -= rows.len().min(failing_room);
        }
        numbers.extend(rows.into_iter().map(|(n,)| Number { n }));
        if numbers.len() >= room.total {
            break;
        }
    }
    Ok(numbers)
}

impl TryFrom<TakenRow> for LeasedDelivery {
    type Error = StoreError;

    fn try_from(row: TakenRow) -> Result<Self, StoreError> {
        let secrets = std::iter::once(row.secret).chain(row.old_secret);
        let bounds = row.bounds.read(&row.webhook_id)?;
        Ok(Self {
            number: row.delivery_no,
            lease: row.claims,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            webhook: row.webhook_id.into(),
            user: row.user_id.into(),
            url: row.url,
            secrets: secrets.map(SecretString::from).collect(),
            may_read: row.may_read != 0,
            bounds,
            failing: row.failing != 0,
            event: row.event.read(row.delivery_no)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn what_is_due_is_found_by_what_is_unfinished() {
        let steps = plan(DUE).await;
        for step in [
            "SEARCH webhook_deliveries USING COVERING INDEX webhook_deliveries_due",
            "SEARCH d USING COVERING INDEX webhook_deliveries_due (webhook_id>?)",
            "SEARCH d EXISTS USING COVERING INDEX webhook_deliveries_due \
             (webhook_id=? AND due_at<?)",
        ] {
            assert!(steps.iter().any(|known| known == step), "{step}: {steps:#?}");
        }
        let mut scans = steps.iter().filter(|step| step.starts_with("SCAN"));
        assert!(scans.all(|step| step == "SCAN u"), "{steps:#?}");
    }
}
