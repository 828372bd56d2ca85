//! Creates and changes webhooks: each carries the bounds of its creator and of everyone who changed
//! it since, so that it never delivers more than they may know.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::KeyId;
use chatkeep_core::time::Timestamp;
use secrecy::ExposeSecret as _;

use super::super::db::{Sql, Tx, locking};
use super::super::log_end::LogEnd;
use super::super::users::lock_user;
use super::super::{StoreError, WebhookStore};
use super::rows::{BoundsColumns, DisabledReason, WebhookRow, channels_json, event_keys};
use super::{NewWebhook, WEBHOOKS_OF_USER, Webhook, WebhookChange, WebhookMaker};
use crate::query::{query, query_as};

/// Result of creating a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookMade {
    /// Created.
    Done,
    /// The user has [`WEBHOOKS_OF_USER`] already.
    TooMany,
    /// The creating key was deleted meanwhile.
    KeyEnded,
}

/// Result of changing a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookChanged {
    /// Changed.
    Done,
    /// It was deleted meanwhile.
    NoWebhook,
    /// Somebody else changed it meanwhile.
    Stale,
    /// It requests events that are beyond its bounds.
    BeyondEvents,
    /// It requests channels that are beyond its bounds.
    BeyondChannels,
    /// The changing key was deleted meanwhile.
    KeyEnded,
}

/// A concurrent deletion of the key waits, and then sees the webhook.
const LOCK_KEY: Sql = locking!("SELECT key_id FROM api_keys WHERE key_id = $1", " FOR SHARE");
const COUNT: &str = "SELECT COUNT(*) FROM webhooks WHERE user_id = $1";
/// `since` is for processes of an earlier version: their fan-out goes by it.
const ADD: &str = "
    INSERT INTO webhooks (webhook_id, user_id, url, description, events, channel_ids, not_before,
                          enabled, secret, created_at, updated_at, since, key_id, scopes,
                          bound_channel_ids, ends_at, pseudonym_secret, since_seq, since_snapshot)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10, $11, $12, $13, $14, $15, $16, $17)";
const LOCK_ONE: Sql =
    locking!(webhook_rows!("WHERE user_id = $1 AND webhook_id = $2"), " FOR UPDATE");
/// A webhook that is enabled again starts afresh: events from meanwhile are not delivered.
const CHANGE: &str = "
    UPDATE webhooks SET
        url = $3, description = $4, events = $5, channel_ids = $6, updated_at = $8,
        since = CASE WHEN enabled = 0 AND $7 = 1 THEN $8 ELSE since END,
        since_seq = CASE WHEN enabled = 0 AND $7 = 1 THEN $15 ELSE since_seq END,
        since_snapshot = CASE WHEN enabled = 0 AND $7 = 1 THEN $16 ELSE since_snapshot END,
        failing_since = CASE WHEN enabled = 0 AND $7 = 1 OR url <> $3 THEN NULL
                             ELSE failing_since END,
        not_until = CASE WHEN enabled = 0 AND $7 = 1 OR url <> $3 THEN 0 ELSE not_until END,
        disabled_reason = CASE WHEN $7 = 1 THEN NULL ELSE disabled_reason END,
        disabled_at = CASE WHEN $7 = 1 THEN NULL ELSE disabled_at END,
        enabled = $7, key_id = $9, scopes = $10, bound_channel_ids = $11, not_before = $12,
        ends_at = $13, pseudonym_secret = $14
    WHERE user_id = $1 AND webhook_id = $2";

impl WebhookStore<'_> {
    /// Creates a webhook.
    ///
    /// # Errors
    /// Returns an error when the database fails or the user is unknown.
    #[boxed]
    pub async fn add_webhook(
        &self,
        new: &NewWebhook<'_>,
        now: Timestamp,
    ) -> Result<WebhookMade, StoreError> {
        let (events, channels) =
            (event_keys(new.change.events)?, channels_json(new.change.channels)?);
        let bounds = BoundsColumns::of(new.maker.bounds)?;
        let user = new.user.as_str();
        let mut tx = self.store.db.begin().await?;
        lock_user(&mut tx, user).await?;
        if !works(&mut tx, new.maker.key).await? {
            return Ok(WebhookMade::KeyEnded);
        }
        let (count,): (i64,) = tx.fetch_one(query_as(COUNT).bind(user)).await?;
        if usize::try_from(count).unwrap_or(usize::MAX) >= WEBHOOKS_OF_USER {
            return Ok(WebhookMade::TooMany);
        }
        let since = LogEnd::read(&mut tx).await?;
        tx.execute(
            query(ADD)
                .bind(new.id.as_str())
                .bind(user)
                .bind(new.change.url)
                .bind(new.change.description)
                .bind(&events)
                .bind(&channels)
                .bind(bounds.not_before)
                .bind(i64::from(new.change.enabled))
                .bind(new.secret.expose_secret())
                .bind(now.millis())
                .bind(new.maker.key.map(KeyId::as_str))
                .bind(&bounds.scopes)
                .bind(&bounds.channels)
                .bind(bounds.ends_at)
                .bind(&bounds.pseudonyms)
                .bind(since.seq)
                .bind(&since.snapshot),
        )
        .await?;
        tx.commit().await?;
        Ok(WebhookMade::Done)
    }

    /// Sets the properties of a webhook, if those that its owner sets are still as in `known`. Its
    /// bounds are narrowed by those of the caller, never widened; one whose key has ended and that
    /// is enabled again ends with the caller's key.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn change_webhook<'s>(
        &'s self,
        known: &Webhook,
        change: WebhookChange<'s>,
        maker: WebhookMaker<'s>,
        now: Timestamp,
    ) -> Result<WebhookChanged, StoreError> {
        let events = event_keys(change.events)?;
        let (user, id) = (known.user.as_str(), known.id.as_str());
        let mut tx = self.store.db.begin().await?;
        if !works(&mut tx, maker.key).await? {
            return Ok(WebhookChanged::KeyEnded);
        }
        let row: Option<WebhookRow> =
            tx.fetch_optional(query_as(LOCK_ONE).bind(user).bind(id)).await?;
        let Some(present) = row.map(Webhook::try_from).transpose()? else {
            return Ok(WebhookChanged::NoWebhook);
        };
        if !present.is_set_as(known) {
            return Ok(WebhookChanged::Stale);
        }
        let (key, bounds) = taken_over(&present, change.enabled, maker, now);
        if !change.events.iter().all(|kind| kind.is_within(&bounds)) {
            return Ok(WebhookChanged::BeyondEvents);
        }
        // All channels are those that it may know.
        let channels = change.channels.or(bounds.channels.as_deref());
        if channels != present.channels.as_deref() && !bounds.sees_all(channels) {
            return Ok(WebhookChanged::BeyondChannels);
        }
        let channels = channels_json(channels)?;
        let bounds = BoundsColumns::of(&bounds)?;
        let since = LogEnd::read(&mut tx).await?;
        tx.execute(
            query(CHANGE)
                .bind(user)
                .bind(id)
                .bind(change.url)
                .bind(change.description)
                .bind(&events)
                .bind(&channels)
                .bind(i64::from(change.enabled))
                .bind(now.millis())
                .bind(key.as_ref().map(KeyId::as_str))
                .bind(&bounds.scopes)
                .bind(&bounds.channels)
                .bind(bounds.not_before)
                .bind(bounds.ends_at)
                .bind(&bounds.pseudonyms)
                .bind(since.seq)
                .bind(&since.snapshot),
        )
        .await?;
        tx.commit().await?;
        Ok(WebhookChanged::Done)
    }
}

impl Webhook {
    /// Returns true if the properties that its owner sets are those of the other.
    fn is_set_as(&self, other: &Self) -> bool {
        self.url == other.url
            && self.description == other.description
            && self.events == other.events
            && self.channels == other.channels
            && self.enabled == other.enabled
    }
}

/// Returns `true` if the key still exists; a session always does.
async fn works(tx: &mut Tx, key: Option<&KeyId>) -> Result<bool, StoreError> {
    let Some(key) = key else {
        return Ok(true);
    };
    let row: Option<(String,)> = tx.fetch_optional(query_as(LOCK_KEY).bind(key.as_str())).await?;
    Ok(row.is_some())
}

/// Returns the key and the bounds of a webhook after a change by `maker`.
fn taken_over(
    known: &Webhook,
    enable: bool,
    maker: WebhookMaker<'_>,
    now: Timestamp,
) -> (Option<KeyId>, Bounds) {
    let mut bounds = known.bounds.narrowed(maker.bounds);
    // Until the next sweep it is not disabled yet.
    let ended = known.bounds.ended(now)
        || known.disabled.is_some_and(|(reason, _)| reason == DisabledReason::KeyEnded);
    if ended && enable {
        bounds.expires_at = maker.bounds.expires_at;
        return (maker.key.cloned(), bounds);
    }
    (maker.key.cloned().or_else(|| known.key.clone()), bounds)
}
