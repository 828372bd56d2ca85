//! Outgoing webhooks: endpoints that events are delivered to.
//!
//! Deliveries hold ids only. They are resolved for every attempt, so no content erased meanwhile is
//! sent or stored. Locks are taken in one order: messages, webhooks, deliveries.

/// Builds a statement that reads webhooks.
macro_rules! webhook_rows {
    ($rest:literal) => {
        concat!(
            "SELECT webhook_id, user_id, url, description, events, channel_ids, not_before, key_id,
                    scopes, bound_channel_ids, ends_at, enabled, secret, old_secret, old_until,
                    created_at, updated_at, failing_since, disabled_reason, disabled_at,
                    pseudonym_secret
             FROM webhooks ",
            $rest
        )
    };
}

mod change;
mod delivery;
mod end;
mod fan_out;
mod forget;
mod lease;
mod log;
mod owner_notices;
mod queue;
mod redelivery;
mod release;
mod rows;
mod settle;
mod within;

use async_recursion::async_recursion as boxed;
use secrecy::{ExposeSecret as _, SecretString};

pub use change::{WebhookChanged, WebhookMade};
pub(crate) use delivery::test_event;
pub use delivery::{DeliveryFailure, DeliveryStatus, TEST_EVENT, WebhookDelivery};
pub(super) use end::{carry_webhooks, end_webhooks_of};
pub(super) use forget::{delete_responses, delete_responses_in, retract_deliveries};
pub use lease::{LeaseRoom, LeasedDelivery};
pub use log::DeliveryFilter;
pub use owner_notices::PendingNotice;
pub use queue::WebhookQueue;
pub use rows::{DisabledReason, EventRef, Webhook};
pub use settle::{Attempt, Next};

use self::rows::WebhookRow;
use super::{OutboxEventKind, StoreError, WebhookStore};
use crate::query::{query, query_as};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, KeyId, UserId, WebhookId};
use chatkeep_core::time::Timestamp;

/// Maximum number of webhooks of a user.
pub const WEBHOOKS_OF_USER: usize = 20;

/// Webhook to create.
#[derive(Debug)]
pub struct NewWebhook<'a> {
    /// Webhook id.
    pub id: &'a WebhookId,
    /// Owner.
    pub user: &'a UserId,
    /// Signing secret of its deliveries (`whsec_…`).
    pub secret: &'a SecretString,
    /// Properties.
    pub change: WebhookChange<'a>,
    /// Creator.
    pub maker: WebhookMaker<'a>,
}

/// Creator or changer of a webhook: nothing beyond their bounds is ever delivered.
#[derive(Clone, Copy, Debug)]
pub struct WebhookMaker<'a> {
    /// Key; `None` for a session. The webhook ends with the key.
    pub key: Option<&'a KeyId>,
    /// Bounds.
    pub bounds: &'a Bounds,
}

/// Properties of a webhook that its owner sets.
#[derive(Clone, Copy, Debug)]
pub struct WebhookChange<'a> {
    /// URL of the endpoint.
    pub url: &'a str,
    /// Purpose, in its owner's words.
    pub description: &'a str,
    /// Kinds of events to deliver.
    pub events: &'a [OutboxEventKind],
    /// Channels whose events are delivered; `None` for all of its owner's.
    pub channels: Option<&'a [ChannelId]>,
    /// `true` if events are delivered.
    pub enabled: bool,
}

/// Outcome of a change of a webhook's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretRotated {
    /// It has the new secret.
    Done,
    /// Nothing was changed: the previous secret is still valid, or there is none to keep.
    Refused,
    /// The user has no webhook of that id.
    NoWebhook,
}

const OF_USER: &str = webhook_rows!("WHERE user_id = $1 ORDER BY created_at, webhook_id");
const ONE: &str = webhook_rows!("WHERE user_id = $1 AND webhook_id = $2");

const DROP: &str = "DELETE FROM webhooks WHERE user_id = $1 AND webhook_id = $2";
/// At most two secrets sign: while an earlier one does, the present one becomes an earlier one only
/// if that is to sign no more.
const ROTATE: &str = "
    UPDATE webhooks SET old_secret = secret, old_until = $4, secret = $3, updated_at = $5
    WHERE user_id = $1 AND webhook_id = $2
      AND (old_secret IS NULL OR old_until <= $5 OR $4 <= $5)";
const REPLACE_SECRET: &str = "
    UPDATE webhooks SET secret = $3, updated_at = $4
    WHERE user_id = $1 AND webhook_id = $2 AND old_secret IS NOT NULL AND old_until > $4";
const EXISTS: &str = "SELECT 1 FROM webhooks WHERE user_id = $1 AND webhook_id = $2";

impl WebhookStore<'_> {
    /// Returns a user's webhooks, oldest first; at most [`WEBHOOKS_OF_USER`].
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(&self, user: &UserId) -> Result<Vec<Webhook>, StoreError> {
        let rows: Vec<WebhookRow> =
            self.store.db.fetch_all(query_as(OF_USER).bind(user.as_str())).await?;
        rows.into_iter().map(Webhook::try_from).collect()
    }

    /// Returns one webhook of a user.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn webhook(
        &self,
        user: &UserId,
        id: &WebhookId,
    ) -> Result<Option<Webhook>, StoreError> {
        let row: Option<WebhookRow> = self
            .store
            .db
            .fetch_optional(query_as(ONE).bind(user.as_str()).bind(id.as_str()))
            .await?;
        row.map(Webhook::try_from).transpose()
    }

    /// Sets a new secret of a webhook; the present one signs, too, until `old_until`. That is
    /// refused while an earlier one is still valid, unless `old_until` is over. Without it, the
    /// present one ends now and the earlier one stays valid until its time; refused when there is
    /// none.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn rotate_webhook_secret(
        &self,
        user: &UserId,
        id: &WebhookId,
        secret: &SecretString,
        old_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<SecretRotated, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let statement = query(if old_until.is_some() { ROTATE } else { REPLACE_SECRET })
            .bind(user.as_str())
            .bind(id.as_str())
            .bind(secret.expose_secret());
        let statement = match old_until {
            Some(until) => statement.bind(until.millis()),
            None => statement,
        };
        let changed = tx.execute(statement.bind(now.millis())).await?;
        let exists = query_as(EXISTS).bind(user.as_str()).bind(id.as_str());
        let known: Option<(i32,)> = tx.fetch_optional(exists).await?;
        tx.commit().await?;
        Ok(match (changed, known) {
            (0, None) => SecretRotated::NoWebhook,
            (0, Some(_)) => SecretRotated::Refused,
            _ => SecretRotated::Done,
        })
    }

    /// Deletes a webhook with all its deliveries. `false` when the user has none of that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn drop_webhook(&self, user: &UserId, id: &WebhookId) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let gone = tx.execute(query(DROP).bind(user.as_str()).bind(id.as_str())).await?;
        tx.commit().await?;
        Ok(gone > 0)
    }
}
