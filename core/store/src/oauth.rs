//! OAuth grants: consents of people to programs that read for them, and their tokens. Only the
//! SHA-256 of a code or token is stored, never the code or token.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;

use super::db::Tx;
use super::keys::hash;
use super::oauth_secrets::{
    GrantRow, NewSecret, SECRET, SecretKind, add_secret, add_tokens, drop_grant, once, use_up,
};
use super::users::lock_user;
use super::{OAuthStore, StoreError};
use crate::query::{query, query_as};

/// Maximum number of consents of a user. Beyond it, the one that was used least recently ends.
pub(super) const GRANTS_OF_USER: i64 = 100;

/// Window in which a repeated refresh token counts as lost in transit, not stolen.
const REPEAT_WINDOW: Duration = Duration::from_secs(30);

/// Grant to store, with its authorization code. No `Debug`: it consists of secrets.
#[derive(Clone, Copy)]
pub struct NewGrant<'a> {
    /// Public id.
    pub id: &'a str,
    /// User who consented.
    pub user: &'a UserId,
    /// Client id of the program.
    pub client_id: &'a str,
    /// Name of the program, given by itself.
    pub client_name: &'a str,
    /// Granted scopes.
    pub scopes: &'a [Scope],
    /// Visible channels; `None` for all of the user, later ones included.
    pub channels: Option<&'a [ChannelId]>,
    /// Resource (audience) of its tokens.
    pub resource: &'a str,
    /// Authorization code; only its hash is stored.
    pub code: &'a str,
    /// Expiry of the code.
    pub code_until: Timestamp,
    /// Redirect URI that the code was sent to.
    pub redirect_uri: &'a str,
    /// PKCE challenge.
    pub challenge: &'a str,
}

/// Consent of a user to a program.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Public id.
    pub id: String,
    /// User who consented.
    pub user: UserId,
    /// Client id of the program.
    pub client_id: String,
    /// Granted scopes.
    pub scopes: Vec<Scope>,
    /// Visible channels; `None` for all of the user.
    pub channels: Option<Vec<ChannelId>>,
    /// Resource (audience) of its tokens.
    pub resource: String,
    /// Expiry of the code or token by which the grant was looked up.
    pub expires_at: Timestamp,
    /// Redirect URI that the code was sent to; of codes only.
    pub redirect_uri: Option<String>,
    /// PKCE challenge; of codes only.
    pub challenge: Option<String>,
}

/// Tokens of a grant, each with its expiry. No `Debug`: they are secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// Access token.
    pub access: (String, Timestamp),
    /// Refresh token.
    pub refresh: (String, Timestamp),
}

const CLIENT_USED: &str = "
    UPDATE oauth_clients SET granted = 1, used_at = $2 WHERE client_id = $1";
const ADD_GRANT: &str = "
    INSERT INTO oauth_grants
        (grant_id, user_id, client_id, client_name, scopes, resource, created_at, channel_ids)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
/// Consents of a user that leave no room for another one.
const SURPLUS: &str = "
    SELECT g.grant_id FROM oauth_grants g WHERE g.user_id = $1
    ORDER BY COALESCE((SELECT MAX(s.used_at) FROM oauth_secrets s
                       WHERE s.grant_id = g.grant_id), g.created_at) DESC,
             g.grant_id LIMIT 10000 OFFSET $2";
const GRANT_OF: &str = "SELECT grant_id FROM oauth_secrets WHERE hash = $1";

impl OAuthStore<'_> {
    /// Stores a grant and its code. A user has at most a hundred grants: the one that was used least
    /// recently makes room.
    ///
    /// # Errors
    /// Returns an error when the database fails or the user is unknown.
    #[boxed]
    pub async fn add_grant(&self, grant: &NewGrant<'_>, now: Timestamp) -> Result<(), StoreError> {
        let scopes = serde_json::to_string(grant.scopes)?;
        let channels = grant.channels.map(serde_json::to_string).transpose()?;
        let mut tx = self.store.db.begin().await?;
        lock_user(&mut tx, grant.user.as_str()).await?;
        make_room(&mut tx, grant.user).await?;
        tx.execute(
            query(ADD_GRANT)
                .bind(grant.id)
                .bind(grant.user.as_str())
                .bind(grant.client_id)
                .bind(grant.client_name)
                .bind(&scopes)
                .bind(grant.resource)
                .bind(now.millis())
                .bind(&channels),
        )
        .await?;
        tx.execute(query(CLIENT_USED).bind(grant.client_id).bind(now.millis())).await?;
        let code = NewSecret {
            kind: SecretKind::Code,
            grant: grant.id,
            secret: grant.code,
            until: grant.code_until,
            redirect_uri: Some(grant.redirect_uri),
            challenge: Some(grant.challenge),
        };
        add_secret(&mut tx, &code).await?;
        tx.commit().await
    }

    /// Exchanges a code for tokens, in one transaction: the code is used up exactly when there are
    /// tokens. `None` when there is none, it has expired, or `admit` refuses the grant, which
    /// changes nothing; a second use ends the grant, for one of the two was not the program's.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn exchange_code(
        &self,
        code: &str,
        admit: impl FnOnce(&Grant) -> bool,
        tokens: &Tokens,
        now: Timestamp,
    ) -> Result<Option<Grant>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let Some((grant, used, _)) = once(&mut tx, SecretKind::Code, code).await? else {
            return Ok(None);
        };
        if used.is_some() {
            drop_grant(&mut tx, &grant.id).await?;
            tx.commit().await?;
            return Ok(None);
        }
        if grant.expires_at <= now || !admit(&grant) {
            return Ok(None);
        }
        use_up(&mut tx, code, None, now).await?;
        add_tokens(&mut tx, &grant.id, tokens).await?;
        tx.commit().await?;
        Ok(Some(grant))
    }

    /// Exchanges a refresh token for the next tokens, which `make` derives from a seed and the time
    /// of the first use. A token repeated within 30 seconds was lost in transit, or is used twice
    /// concurrently: the result has the same tokens, so that there is never more than one chain;
    /// after that a second use ends the grant. `None` when there is none, it has expired, or
    /// `admit` refuses the grant, which changes nothing.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn refresh_grant(
        &self,
        refresh: &str,
        admit: impl FnOnce(&Grant) -> bool,
        seed: &str,
        make: impl Fn(&str, Timestamp) -> Tokens,
        now: Timestamp,
    ) -> Result<Option<(Grant, Tokens)>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let Some((grant, used, known)) = once(&mut tx, SecretKind::Refresh, refresh).await? else {
            return Ok(None);
        };
        if used.is_some_and(|at| now.since(at) > REPEAT_WINDOW) {
            drop_grant(&mut tx, &grant.id).await?;
            tx.commit().await?;
            return Ok(None);
        }
        if grant.expires_at <= now || !admit(&grant) {
            return Ok(None);
        }
        if let Some(at) = used {
            // A token used before seeds were introduced has no response to repeat.
            return Ok(known.map(|seed| (grant, make(&seed, at))));
        }
        let tokens = make(seed, now);
        use_up(&mut tx, refresh, Some(seed), now).await?;
        add_tokens(&mut tx, &grant.id, &tokens).await?;
        tx.commit().await?;
        Ok(Some((grant, tokens)))
    }

    /// Returns the grant of a valid access token.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn access_token(
        &self,
        secret: &str,
        now: Timestamp,
    ) -> Result<Option<Grant>, StoreError> {
        // Reading locks nothing: the statement of SQLite serves both.
        let row: Option<GrantRow> = self
            .store
            .db
            .fetch_optional(
                query_as(SECRET.sqlite).bind(hash(secret)).bind(SecretKind::Access.name()),
            )
            .await?;
        let grant = row.map(Grant::try_from).transpose()?;
        Ok(grant.filter(|grant| grant.expires_at > now))
    }

    /// Deletes the grant of any of its codes or tokens. `false` when there is none.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn end_grant(&self, secret: &str) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row: Option<(String,)> =
            tx.fetch_optional(query_as(GRANT_OF).bind(hash(secret))).await?;
        let Some((grant,)) = row else {
            return Ok(false);
        };
        drop_grant(&mut tx, &grant).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// Deletes grants of a user with a locked row until there is room for one more.
async fn make_room(tx: &mut Tx, user: &UserId) -> Result<(), StoreError> {
    let surplus = query_as(SURPLUS).bind(user.as_str()).bind(GRANTS_OF_USER - 1);
    let surplus: Vec<(String,)> = tx.fetch_all(surplus).await?;
    for (grant,) in surplus {
        drop_grant(tx, &grant).await?;
    }
    Ok(())
}
