//! Sessions of signed-in people. A cookie's value is never stored, only its SHA-256.

use std::fmt;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{SessionId, UserId};
use chatkeep_core::time::Timestamp;

use super::keys::hash;
use super::{SessionStore, StoreError};
use crate::query::{query, query_as};

/// Person as described by the identity provider.
#[derive(Clone, Copy, Debug)]
pub struct SignedIn<'a> {
    /// User.
    pub user: &'a UserId,
    /// Name; without one, the stored name and picture stay.
    pub display_name: Option<&'a str>,
    /// Picture; `None` beside a name: they have none.
    pub picture_url: Option<&'a str>,
}

/// Session to create. No `Debug`: it consists of secrets.
#[derive(Clone, Copy)]
pub struct NewSession<'a> {
    /// Public id.
    pub id: &'a SessionId,
    /// Cookie value; only its hash is stored.
    pub secret: &'a str,
    /// CSRF token that the session's own pages send with every change.
    pub csrf: &'a str,
}

/// Signed-in browser.
#[derive(Clone)]
pub struct Session {
    /// Public id.
    pub id: SessionId,
    /// User.
    pub user: UserId,
    /// CSRF token that the session's own pages send with every change.
    pub csrf: String,
    /// Time of signing in.
    pub created_at: Timestamp,
    /// Time of its last use, to the hour.
    pub seen_at: Timestamp,
}

#[derive(sqlx_macros::FromRow)]
struct SessionRow {
    session_id: String,
    user_id: String,
    csrf: String,
    created_at: i64,
    seen_at: i64,
}

const SIGN_IN: &str = "
    INSERT INTO users (user_id, display_name, picture_url, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id) DO UPDATE SET
        display_name = COALESCE(excluded.display_name, users.display_name),
        picture_url = CASE WHEN excluded.display_name IS NULL
                           THEN users.picture_url ELSE excluded.picture_url END";
const ADD: &str = "
    INSERT INTO sessions (hash, session_id, user_id, csrf, created_at, seen_at)
    VALUES ($1, $2, $3, $4, $5, $5)";
const ONE: &str = "
    SELECT session_id, user_id, csrf, created_at, seen_at FROM sessions
    WHERE hash = $1 AND seen_at > $2";
const OF_USER: &str = "
    SELECT session_id, user_id, csrf, created_at, seen_at FROM sessions
    WHERE user_id = $1 AND seen_at > $2 ORDER BY created_at, session_id";
const KNOWN: &str = "
    SELECT COUNT(*) FROM sessions WHERE user_id = $1 AND session_id = $2";
const END: &str = "DELETE FROM sessions WHERE user_id = $1 AND session_id = $2";
const END_ALL: &str = "DELETE FROM sessions WHERE user_id = $1";
const END_OTHERS: &str = "DELETE FROM sessions WHERE user_id = $1 AND session_id <> $2";
/// The age is tested twice: a session may be used while the statement runs.
const PURGE: &str = "
    DELETE FROM sessions WHERE seen_at <= $1 AND hash IN
        (SELECT hash FROM sessions WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2)";

impl SessionStore<'_> {
    /// Creates the user, or updates their profile, and creates a session for them.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn sign_in(
        &self,
        person: &SignedIn<'_>,
        session: &NewSession<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(
            query(SIGN_IN)
                .bind(person.user.as_str())
                .bind(person.display_name)
                .bind(person.picture_url)
                .bind(now.millis()),
        )
        .await?;
        tx.execute(
            query(ADD)
                .bind(hash(session.secret))
                .bind(session.id.as_str())
                .bind(person.user.as_str())
                .bind(session.csrf)
                .bind(now.millis()),
        )
        .await?;
        tx.commit().await
    }

    /// Returns the session whose cookie is `secret`; `None` for an unknown one and for one that was
    /// not used for `idle`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn session(
        &self,
        secret: &str,
        idle: Duration,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let row: Option<SessionRow> = self
            .store
            .db
            .fetch_optional(query_as(ONE).bind(hash(secret)).bind(now.minus(idle).millis()))
            .await?;
        Ok(row.map(|row| {
            let session = Session::from(row);
            let unwritten = self.store.uses.unwritten_session(&session.id);
            used(session, unwritten)
        }))
    }

    /// Returns a user's live sessions, oldest first.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(
        &self,
        user: &UserId,
        idle: Duration,
        now: Timestamp,
    ) -> Result<Vec<Session>, StoreError> {
        let rows: Vec<SessionRow> = self
            .store
            .db
            .fetch_all(query_as(OF_USER).bind(user.as_str()).bind(now.minus(idle).millis()))
            .await?;
        let sessions = rows.into_iter().map(|row| {
            let session = Session::from(row);
            let last = self.store.uses.session(&session.id);
            used(session, last)
        });
        Ok(sessions.collect())
    }

    /// Returns whether a user has a session of that id which was not ended.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn has_session(&self, user: &UserId, id: &SessionId) -> Result<bool, StoreError> {
        let known = query_as(KNOWN).bind(user.as_str()).bind(id.as_str());
        let (count,): (i64,) = self.store.db.fetch_one(known).await?;
        Ok(count > 0)
    }

    /// Ends one session of a user. `false` when they have none of that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn end_session(&self, user: &UserId, id: &SessionId) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let ended = tx.execute(query(END).bind(user.as_str()).bind(id.as_str())).await?;
        tx.commit().await?;
        Ok(ended > 0)
    }

    /// Ends every session of a user but one and returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn end_other_sessions(
        &self,
        user: &UserId,
        kept: &SessionId,
    ) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let ended = tx.execute(query(END_OTHERS).bind(user.as_str()).bind(kept.as_str())).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Ends every session of a user and returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn end_sessions(&self, user: &UserId) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let ended = tx.execute(query(END_ALL).bind(user.as_str())).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Deletes sessions that were not used for `idle`, at most `limit`; returns `true` if there may
    /// be more.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_sessions(
        &self,
        idle: Duration,
        limit: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone =
            tx.execute(query(PURGE).bind(now.minus(idle).millis()).bind(i64::from(limit))).await?;
        tx.commit().await?;
        Ok(gone >= u64::from(limit))
    }
}

/// Returns the session with its last use, if that is later than its row says.
fn used(session: Session, last: Option<Timestamp>) -> Session {
    Session { seen_at: last.map_or(session.seen_at, |at| at.max(session.seen_at)), ..session }
}

impl From<SessionRow> for Session {
    fn from(row: SessionRow) -> Self {
        Self {
            id: row.session_id.into(),
            user: row.user_id.into(),
            csrf: row.csrf,
            created_at: Timestamp::from_millis(row.created_at),
            seen_at: Timestamp::from_millis(row.seen_at),
        }
    }
}

/// Omits the CSRF token.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .field("user", &self.user)
            .field("created_at", &self.created_at)
            .field("seen_at", &self.seen_at)
            .finish_non_exhaustive()
    }
}
