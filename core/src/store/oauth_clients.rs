//! Programs that registered themselves for people's consent, what people consented to and take
//! back, and removing what is over.

use std::time::Duration;

use sqlx::{query, query_as};

use super::db::{exec, read, run};
use super::oauth::drop_grant;
use super::{Store, StoreError, parsed};
use crate::id::{ChannelId, UserId};
use crate::time::Timestamp;

/// A program that registered itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthClient {
    /// Its id.
    pub id: String,
    /// What it calls itself.
    pub name: String,
    /// Where people may be sent back to.
    pub redirect_uris: Vec<String>,
}

/// A program to which nobody consented within this is forgotten.
const NEVER_USED: Duration = Duration::from_hours(24 * 7);
/// A program to which nobody consents any more is forgotten so long after the last consent.
const UNUSED: Duration = Duration::from_hours(24 * 90);
/// Programs to which nobody has consented yet, at most: anybody may register one. Of more the
/// oldest are forgotten.
const UNPROVEN: i64 = 10_000;

/// What somebody consented to, for them to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Its public id.
    pub id: String,
    /// Which program.
    pub client_id: String,
    /// What the program calls itself.
    pub client_name: String,
    /// How many channels it may see; `None` for every one of the person.
    pub channels: Option<usize>,
    /// When they consented.
    pub created_at: Timestamp,
}

/// Consents of a user that are listed, at most.
const LISTED: i64 = 200;

const OF_USER: &str = "
    SELECT grant_id, client_id, client_name, channel_ids, created_at FROM oauth_grants
    WHERE user_id = $1 ORDER BY created_at DESC, grant_id LIMIT $2";
const ONE_OF_USER: &str = "
    SELECT grant_id FROM oauth_grants WHERE grant_id = $1 AND user_id = $2";
const ADD_CLIENT: &str = "
    INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
    VALUES ($1, $2, $3, $4)";
const CLIENT: &str = "SELECT name, redirect_uris FROM oauth_clients WHERE client_id = $1";
const PURGE_SECRETS: &str = "
    DELETE FROM oauth_secrets WHERE hash IN
        (SELECT hash FROM oauth_secrets WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
const PURGE_GRANTS: &str = "
    DELETE FROM oauth_grants WHERE NOT EXISTS
        (SELECT 1 FROM oauth_secrets s WHERE s.grant_id = oauth_grants.grant_id)";
const PURGE_CLIENTS: &str = "
    DELETE FROM oauth_clients WHERE client_id IN
        (SELECT c.client_id FROM oauth_clients c
         WHERE ((c.granted = 0 AND c.created_at <= $1)
                OR (c.granted = 1 AND c.created_at <= $2 AND c.used_at <= $2))
           AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.client_id)
         ORDER BY c.created_at LIMIT $3)";
const TRIM_CLIENTS: &str = "
    DELETE FROM oauth_clients WHERE client_id IN
        (SELECT client_id FROM oauth_clients WHERE granted = 0
         ORDER BY created_at DESC, client_id LIMIT 1000 OFFSET $1)";

impl Store {
    /// Keeps a program that registered itself.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn add_oauth_client(
        &self,
        client: &OAuthClient,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let addresses = serde_json::to_string(&client.redirect_uris)?;
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(
            tx_ref,
            query(ADD_CLIENT)
                .bind(&client.id)
                .bind(&client.name)
                .bind(&addresses)
                .bind(now.millis())
        )?;
        exec!(tx_ref, query(TRIM_CLIENTS).bind(UNPROVEN))?;
        tx.commit().await
    }

    /// A program that registered itself.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn oauth_client(&self, id: &str) -> Result<Option<OAuthClient>, StoreError> {
        let row: Option<(String, String)> =
            read!(self, c => query_as(CLIENT).bind(id).fetch_optional(c))?;
        let Some((name, addresses)) = row else {
            return Ok(None);
        };
        let addresses = serde_json::from_str(&addresses).ok();
        let redirect_uris = parsed(addresses, "oauth_clients", "redirect_uris", id)?;
        Ok(Some(OAuthClient { id: id.to_owned(), name, redirect_uris }))
    }

    /// What a user consented to, the newest first, at most two hundred.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn consents(&self, user: &UserId) -> Result<Vec<Consent>, StoreError> {
        let rows: Vec<(String, String, String, Option<String>, i64)> = read!(self, c => query_as(OF_USER)
            .bind(user.as_str()).bind(LISTED).fetch_all(c))?;
        let consent = |(id, client_id, client_name, channels, at): (_, _, _, Option<String>, _)| {
            let channels = channels.map(|ids| serde_json::from_str(&ids)).transpose()?;
            let channels = channels.map(|ids: Vec<ChannelId>| ids.len());
            let created_at = Timestamp::from_millis(at);
            Ok(Consent { id, client_id, client_name, channels, created_at })
        };
        rows.into_iter().map(consent).collect()
    }

    /// Takes a consent of that user back. `false` when they have none of that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn take_back(&self, user: &UserId, id: &str) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let row: Option<(String,)> = run!(tx_ref, c => query_as(ONE_OF_USER)
            .bind(id).bind(user.as_str()).fetch_optional(c))?;
        if row.is_none() {
            return Ok(false);
        }
        drop_grant(tx_ref, id).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Removes what works no longer, at most `limit` codes and tokens, consents that have none
    /// left, and programs to which nobody consented for a week, or for 90 days since the last
    /// consent; says whether there may be more.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn purge_grants(&self, limit: u32, now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let most = i64::from(limit);
        let ago = |age: Duration| now.millis() - i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let (never, unused) = (ago(NEVER_USED), ago(UNUSED));
        let secrets = exec!(tx_ref, query(PURGE_SECRETS).bind(now.millis()).bind(most))?;
        if secrets > 0 {
            exec!(tx_ref, query(PURGE_GRANTS))?;
        }
        let clients = exec!(tx_ref, query(PURGE_CLIENTS).bind(never).bind(unused).bind(most))?;
        tx.commit().await?;
        Ok(secrets.max(clients) >= u64::from(limit))
    }
}
