//! Codes and tokens of OAuth grants: how they are stored, used up and dropped.

use chatkeep_core::time::Timestamp;

use super::db::{Sql, Tx, locking};
use super::keys::hash;
use super::oauth::{Grant, Tokens};
use super::{StoreError, parsed};
use crate::query::{query, query_as};

/// Kind of a secret. Codes and refresh tokens are used once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretKind {
    Code,
    Access,
    Refresh,
}

#[derive(sqlx_macros::FromRow)]
pub(super) struct GrantRow {
    grant_id: String,
    user_id: String,
    client_id: String,
    scopes: String,
    channel_ids: Option<String>,
    resource: String,
    expires_at: i64,
    used_at: Option<i64>,
    seed: Option<String>,
    redirect_uri: Option<String>,
    challenge: Option<String>,
}

const ADD_SECRET: &str = "
    INSERT INTO oauth_secrets (hash, kind, grant_id, expires_at, redirect_uri, challenge)
    VALUES ($1, $2, $3, $4, $5, $6)";
pub(super) const SECRET: Sql = locking!(
    "SELECT g.grant_id, g.user_id, g.client_id, g.scopes, g.channel_ids, g.resource, s.expires_at,
            s.used_at, s.seed, s.redirect_uri, s.challenge
     FROM oauth_secrets s JOIN oauth_grants g ON g.grant_id = s.grant_id
     WHERE s.hash = $1 AND s.kind = $2"
);
const USED: &str = "
    UPDATE oauth_secrets SET used_at = $2, seed = $3 WHERE hash = $1 AND used_at IS NULL";
const DROP_SECRETS: &str = "DELETE FROM oauth_secrets WHERE grant_id = $1";
const DROP_GRANT: &str = "DELETE FROM oauth_grants WHERE grant_id = $1";

/// Returns the grant of a single-use secret, with the time and the seed of its first use. The
/// secret is locked until the transaction ends.
pub(super) async fn once(
    tx: &mut Tx,
    kind: SecretKind,
    secret: &str,
) -> Result<Option<(Grant, Option<Timestamp>, Option<String>)>, StoreError> {
    let row: Option<GrantRow> =
        tx.fetch_optional(query_as(SECRET).bind(hash(secret)).bind(kind.name())).await?;
    let Some(mut row) = row else {
        return Ok(None);
    };
    let (used, seed) = (row.used_at.map(Timestamp::from_millis), row.seed.take());
    Ok(Some((Grant::try_from(row)?, used, seed)))
}

/// Notes the first use of a secret.
pub(super) async fn use_up(
    tx: &mut Tx,
    secret: &str,
    seed: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(query(USED).bind(hash(secret)).bind(now.millis()).bind(seed)).await?;
    Ok(())
}

/// Stores the tokens of a grant.
pub(super) async fn add_tokens(
    tx: &mut Tx,
    grant: &str,
    tokens: &Tokens,
) -> Result<(), StoreError> {
    let secrets = [(SecretKind::Access, &tokens.access), (SecretKind::Refresh, &tokens.refresh)];
    for (kind, (secret, until)) in secrets {
        let until = *until;
        let secret = NewSecret { kind, grant, secret, until, redirect_uri: None, challenge: None };
        add_secret(tx, &secret).await?;
    }
    Ok(())
}

/// Code or token of a grant. No `Debug`: it holds a secret.
pub(super) struct NewSecret<'a> {
    pub(super) kind: SecretKind,
    pub(super) grant: &'a str,
    pub(super) secret: &'a str,
    pub(super) until: Timestamp,
    /// Address that a code was made for.
    pub(super) redirect_uri: Option<&'a str>,
    /// Challenge that whoever exchanges a code answers.
    pub(super) challenge: Option<&'a str>,
}

/// Stores a code or token of a grant.
pub(super) async fn add_secret(tx: &mut Tx, new: &NewSecret<'_>) -> Result<(), StoreError> {
    tx.execute(
        query(ADD_SECRET)
            .bind(hash(new.secret))
            .bind(new.kind.name())
            .bind(new.grant)
            .bind(new.until.millis())
            .bind(new.redirect_uri)
            .bind(new.challenge),
    )
    .await?;
    Ok(())
}

/// Deletes a grant with its codes and tokens.
pub(super) async fn drop_grant(tx: &mut Tx, grant: &str) -> Result<(), StoreError> {
    tx.execute(query(DROP_SECRETS).bind(grant)).await?;
    tx.execute(query(DROP_GRANT).bind(grant)).await?;
    Ok(())
}

impl SecretKind {
    /// Returns its name in the database.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Access => "access",
            Self::Refresh => "refresh",
        }
    }
}

impl TryFrom<GrantRow> for Grant {
    type Error = StoreError;

    fn try_from(row: GrantRow) -> Result<Self, StoreError> {
        let scopes = serde_json::from_str(&row.scopes).ok();
        let channels = row.channel_ids.as_deref().map(serde_json::from_str).transpose().ok();
        Ok(Self {
            channels: parsed(channels, "oauth_grants", "channel_ids", &row.grant_id)?,
            scopes: parsed(scopes, "oauth_grants", "scopes", &row.grant_id)?,
            id: row.grant_id,
            user: row.user_id.into(),
            client_id: row.client_id,
            resource: row.resource,
            expires_at: Timestamp::from_millis(row.expires_at),
            redirect_uri: row.redirect_uri,
            challenge: row.challenge,
        })
    }
}
