//! Self-registered OAuth clients, the list and revocation of consents, and the deletion of expired
//! rows.

use std::collections::BTreeSet;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::oauth_secrets::drop_grant;
use super::{OAuthStore, StoreError, parsed};
use crate::query::{query, query_as};

/// Self-registered program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthClient {
    /// Client id.
    pub id: String,
    /// Name given by the program.
    pub name: String,
    /// Allowed redirect URIs.
    pub redirect_uris: Vec<String>,
}

/// Retention of a program without any consent.
const NEVER_USED: Duration = Duration::from_hours(24 * 7);
/// Retention of a program after its last consent.
const UNUSED: Duration = Duration::from_hours(24 * 90);
/// Maximum number of programs without any consent: anybody may register one. Beyond it the oldest
/// are deleted.
const UNPROVEN: i64 = 10_000;
/// Maximum number of consents in a list.
const LISTED: i64 = 10_000;

/// Consent as shown to its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Public id.
    pub id: String,
    /// Client id of the program.
    pub client_id: String,
    /// Name of the program, given by itself.
    pub client_name: String,
    /// Granted scopes.
    pub scopes: Vec<Scope>,
    /// Visible channels; `None` for all of the user.
    pub channels: Option<Vec<ChannelId>>,
    /// Time of the consent.
    pub created_at: Timestamp,
    /// Time at which the program last got tokens, which it does every hour while it is used; `None`
    /// if it never got any.
    pub last_used_at: Option<Timestamp>,
}

#[derive(sqlx_macros::FromRow)]
struct ConsentRow {
    grant_id: String,
    client_id: String,
    client_name: String,
    scopes: String,
    channel_ids: Option<String>,
    created_at: i64,
    last_used_at: Option<i64>,
}

/// Grant in a list of a statement.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct GrantKey<'a> {
    g: &'a str,
}

const OF_USER: &str = "
    SELECT g.grant_id, g.client_id, g.client_name, g.scopes, g.channel_ids, g.created_at,
           (SELECT MAX(s.used_at) FROM oauth_secrets s WHERE s.grant_id = g.grant_id)
               AS last_used_at
    FROM oauth_grants g
    WHERE g.user_id = $1 ORDER BY g.created_at DESC, g.grant_id LIMIT $2";
const ONE_OF_USER: &str = "
    SELECT grant_id FROM oauth_grants WHERE grant_id = $1 AND user_id = $2";
const ADD_CLIENT: &str = "
    INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
    VALUES ($1, $2, $3, $4)";
const CLIENT: &str = "SELECT name, redirect_uris FROM oauth_clients WHERE client_id = $1";
const PURGE_SECRETS: &str = "
    DELETE FROM oauth_secrets WHERE hash IN
        (SELECT hash FROM oauth_secrets WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)
    RETURNING grant_id";
/// Only those whose last code or token may have gone just now.
const PURGE_GRANTS: &str = "
    DELETE FROM oauth_grants WHERE grant_id IN (SELECT value ->> 'g' FROM json_each($1))
      AND NOT EXISTS
        (SELECT 1 FROM oauth_secrets s WHERE s.grant_id = oauth_grants.grant_id)";
/// Programs that nobody uses. Their last use is tested twice: one may get a consent while the statement
/// runs.
const PURGE_CLIENTS: &str = "
    DELETE FROM oauth_clients
    WHERE ((granted = 0 AND created_at <= $1)
           OR (granted = 1 AND created_at <= $2 AND used_at <= $2))
      AND client_id IN
        (SELECT c.client_id FROM oauth_clients c
         WHERE ((c.granted = 0 AND c.created_at <= $1)
                OR (c.granted = 1 AND c.created_at <= $2 AND c.used_at <= $2))
           AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.client_id)
         ORDER BY c.created_at LIMIT $3)";
const TRIM_CLIENTS: &str = "
    DELETE FROM oauth_clients WHERE granted = 0 AND client_id IN
        (SELECT client_id FROM oauth_clients WHERE granted = 0
         ORDER BY created_at DESC, client_id LIMIT 1000 OFFSET $1)";

impl OAuthStore<'_> {
    /// Stores a self-registered program.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn add_oauth_client(
        &self,
        client: &OAuthClient,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let addresses = serde_json::to_string(&client.redirect_uris)?;
        let mut tx = self.store.db.begin().await?;
        tx.execute(
            query(ADD_CLIENT)
                .bind(&client.id)
                .bind(&client.name)
                .bind(&addresses)
                .bind(now.millis()),
        )
        .await?;
        tx.execute(query(TRIM_CLIENTS).bind(UNPROVEN)).await?;
        tx.commit().await
    }

    /// Returns a self-registered program.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn oauth_client(&self, id: &str) -> Result<Option<OAuthClient>, StoreError> {
        let row: Option<(String, String)> =
            self.store.db.fetch_optional(query_as(CLIENT).bind(id)).await?;
        let Some((name, addresses)) = row else {
            return Ok(None);
        };
        let addresses = serde_json::from_str(&addresses).ok();
        let redirect_uris = parsed(addresses, "oauth_clients", "redirect_uris", id)?;
        Ok(Some(OAuthClient { id: id.to_owned(), name, redirect_uris }))
    }

    /// Returns a user's consents, newest first: all of them. There are at most a hundred, but for
    /// those of before that bound.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn consents(&self, user: &UserId) -> Result<Vec<Consent>, StoreError> {
        let rows: Vec<ConsentRow> =
            self.store.db.fetch_all(query_as(OF_USER).bind(user.as_str()).bind(LISTED)).await?;
        rows.into_iter().map(Consent::try_from).collect()
    }

    /// Returns whether a user has a consent of that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn has_consent(&self, user: &UserId, id: &str) -> Result<bool, StoreError> {
        let known = query_as(ONE_OF_USER).bind(id).bind(user.as_str());
        let row: Option<(String,)> = self.store.db.fetch_optional(known).await?;
        Ok(row.is_some())
    }

    /// Revokes a consent of that user. `false` when they have none of that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn revoke_consent(&self, user: &UserId, id: &str) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row: Option<(String,)> =
            tx.fetch_optional(query_as(ONE_OF_USER).bind(id).bind(user.as_str())).await?;
        if row.is_none() {
            return Ok(false);
        }
        drop_grant(&mut tx, id).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Deletes at most `limit` expired codes and tokens, consents without any left, and programs
    /// without a consent for a week, or for 90 days since the last one; returns `true` if there may
    /// be more.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_grants(&self, limit: u32, now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let most = i64::from(limit);
        let (never, unused) = (now.minus(NEVER_USED).millis(), now.minus(UNUSED).millis());
        let secrets: Vec<(String,)> =
            tx.fetch_all(query_as(PURGE_SECRETS).bind(now.millis()).bind(most)).await?;
        let grants: BTreeSet<_> = secrets.iter().map(|(g,)| GrantKey { g }).collect();
        if !grants.is_empty() {
            tx.execute(query(PURGE_GRANTS).bind(serde_json::to_string(&grants)?)).await?;
        }
        let clients = tx.execute(query(PURGE_CLIENTS).bind(never).bind(unused).bind(most)).await?;
        tx.commit().await?;
        Ok(clients.max(secrets.len() as u64) >= u64::from(limit))
    }
}

impl TryFrom<ConsentRow> for Consent {
    type Error = StoreError;

    fn try_from(row: ConsentRow) -> Result<Self, StoreError> {
        Ok(Self {
            scopes: serde_json::from_str(&row.scopes)?,
            channels: row.channel_ids.as_deref().map(serde_json::from_str).transpose()?,
            id: row.grant_id,
            client_id: row.client_id,
            client_name: row.client_name,
            created_at: Timestamp::from_millis(row.created_at),
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn only_the_consents_of_deleted_tokens_are_looked_at() {
        let steps = plan(PURGE_GRANTS).await;
        let by_id = |step: &String| step.starts_with("SEARCH oauth_grants") && step.contains("=?");
        assert!(steps.iter().any(by_id), "{steps:#?}");
    }
}
