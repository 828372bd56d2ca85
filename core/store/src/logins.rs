//! Pending logins at the identity provider: each can be completed once.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::keys::hash;
use super::{SessionStore, StoreError};
use crate::query::{query, query_as};

/// Login to start at the identity provider. No `Debug`: it consists of secrets.
#[derive(Clone, Copy)]
pub struct NewLogin<'a> {
    /// OAuth `state`, known only to this browser; only its hash is stored.
    pub state: &'a str,
    /// Nonce that the ID token has to repeat.
    pub nonce: &'a str,
    /// PKCE code verifier.
    pub verifier: &'a str,
    /// Path to go to afterwards.
    pub return_to: &'a str,
}

/// Login that returned from the provider. No `Debug`: it consists of secrets.
#[derive(Clone)]
pub struct PendingLogin {
    /// Nonce that the ID token has to repeat.
    pub nonce: String,
    /// PKCE code verifier.
    pub verifier: String,
    /// Path to go to now.
    pub return_to: String,
}

#[derive(sqlx_macros::FromRow)]
struct LoginRow {
    nonce: String,
    verifier: String,
    return_to: String,
    created_at: i64,
}

const ADD_LOGIN: &str = "
    INSERT INTO logins (state_hash, nonce, verifier, return_to, created_at)
    VALUES ($1, $2, $3, $4, $5)";
const TAKE_LOGIN: &str = "
    DELETE FROM logins WHERE state_hash = $1 RETURNING nonce, verifier, return_to, created_at";
const PURGE_LOGINS: &str = "
    DELETE FROM logins WHERE state_hash IN
        (SELECT state_hash FROM logins WHERE created_at <= $1 ORDER BY created_at LIMIT $2)";

/// Maximum duration of a login; a longer one has to be started again.
pub const LOGIN_TIME: Duration = Duration::from_mins(10);

impl SessionStore<'_> {
    /// Stores a login for [`LOGIN_TIME`].
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn add_login(&self, login: &NewLogin<'_>, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(
            query(ADD_LOGIN)
                .bind(hash(login.state))
                .bind(login.nonce)
                .bind(login.verifier)
                .bind(login.return_to)
                .bind(now.millis()),
        )
        .await?;
        tx.commit().await
    }

    /// Removes and returns the login of that state; `None` when there is none or it took too long.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn take_login(
        &self,
        state: &str,
        now: Timestamp,
    ) -> Result<Option<PendingLogin>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row: Option<LoginRow> =
            tx.fetch_optional(query_as(TAKE_LOGIN).bind(hash(state))).await?;
        tx.commit().await?;
        let in_time = row.filter(|row| row.created_at > now.minus(LOGIN_TIME).millis());
        Ok(in_time.map(|row| PendingLogin {
            nonce: row.nonce,
            verifier: row.verifier,
            return_to: row.return_to,
        }))
    }

    /// Deletes expired logins, at most `limit`; returns `true` if there may be more.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_logins(&self, limit: u32, now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let late = now.minus(LOGIN_TIME).millis();
        let gone = tx.execute(query(PURGE_LOGINS).bind(late).bind(i64::from(limit))).await?;
        tx.commit().await?;
        Ok(gone >= u64::from(limit))
    }
}
