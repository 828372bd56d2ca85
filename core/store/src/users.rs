//! Users: people with a plan.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::UserId;
use chatkeep_core::plan::{Plan, Usage};
use chatkeep_core::time::Timestamp;

use super::db::{Sql, Tx, locking};
use super::ingest::{add_notice, lock_ledger};
use super::members::UserKey;
use super::subscriptions::resume;
use super::{AccountStore, StoreError, parsed};
use crate::query::{query, query_as};

/// User.
#[derive(Clone, Debug)]
pub struct User {
    /// User id.
    pub id: UserId,
    /// Name, once known.
    pub display_name: Option<String>,
    /// Picture, once known.
    pub picture_url: Option<String>,
    /// Plan.
    pub plan: Plan,
    /// Bytes that count against the plan.
    pub used: i64,
    /// Time at which they became known.
    pub created_at: Timestamp,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct UserRow {
    user_id: String,
    display_name: Option<String>,
    picture_url: Option<String>,
    plan: String,
    used_bytes: i64,
    created_at: i64,
}

macro_rules! users {
    ($rest:literal) => {
        concat!(
            "SELECT user_id, display_name, picture_url, plan, used_bytes, created_at FROM users ",
            $rest
        )
    };
}

const ONE: &str = users!("WHERE user_id = $1");
const CHOSEN: &str = users!("WHERE user_id IN (SELECT value ->> 'u' FROM json_each($1))");
const PAGE: &str = users!("WHERE user_id > $1 ORDER BY user_id LIMIT $2");
const LOCK: Sql = locking!("SELECT plan, used_bytes FROM users WHERE user_id = $1");

const LOCK_ONLY: Sql = locking!("SELECT user_id FROM users WHERE user_id = $1");

const ADD: &str = "
    INSERT INTO users (user_id, display_name, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (user_id) DO UPDATE SET
        display_name = COALESCE(excluded.display_name, users.display_name)";

const SET_PLAN: &str = "UPDATE users SET plan = $2 WHERE user_id = $1";

/// Locks a user until the transaction ends, if there is one.
pub(super) async fn lock_user(tx: &mut Tx, user: &str) -> Result<(), StoreError> {
    let _: Option<(String,)> = tx.fetch_optional(query_as(LOCK_ONLY).bind(user)).await?;
    Ok(())
}

impl AccountStore<'_> {
    /// Creates a user; an existing one is unchanged but for the name, if one is given.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn add_user(
        &self,
        id: &UserId,
        display_name: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(ADD).bind(id.as_str()).bind(display_name).bind(now.millis())).await?;
        tx.commit().await
    }

    /// Returns one user.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn user(&self, id: &UserId) -> Result<Option<User>, StoreError> {
        let row: Option<UserRow> =
            self.store.db.fetch_optional(query_as(ONE).bind(id.as_str())).await?;
        row.map(User::try_from).transpose()
    }

    /// Returns those users; unknown ones are left out.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn chosen_users(&self, ids: &[UserId]) -> Result<HashMap<UserId, User>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let keys: Vec<_> = ids.iter().map(|id| UserKey { u: id.as_str() }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<UserRow> = self.store.db.fetch_all(query_as(CHOSEN).bind(&keys)).await?;
        let users = rows.into_iter().map(User::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(users.into_iter().map(|user| (user.id.clone(), user)).collect())
    }

    /// Returns users by id, after `after`, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn users(&self, after: Option<&UserId>, limit: u32) -> Result<Vec<User>, StoreError> {
        let after = after.map_or("", UserId::as_str);
        let rows: Vec<UserRow> =
            self.store.db.fetch_all(query_as(PAGE).bind(after).bind(i64::from(limit))).await?;
        rows.into_iter().map(User::try_from).collect()
    }

    /// Changes a user's plan; closes the gaps of backup that resumes by this. `false` when there is
    /// no such user.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn set_plan(
        &self,
        id: &UserId,
        plan: Plan,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let subscribed = self.subscribed_channels(id).await?;
        let mut tx = self.store.db.begin().await?;
        // Channels first: the lock order of every transaction.
        lock_ledger(&mut tx, &subscribed.iter().collect()).await?;
        let before: Option<(String, i64)> =
            tx.fetch_optional(query_as(LOCK).bind(id.as_str())).await?;
        let Some((old, used)) = before else {
            return Ok(false);
        };
        let old = parsed(Plan::parse(&old), "users", "plan", id.as_str())?;
        tx.execute(query(SET_PLAN).bind(id.as_str()).bind(plan.name())).await?;
        let (was, is) = (Usage::new(used, old).status(), Usage::new(used, plan).status());
        if was != is {
            add_notice(&mut tx, id, is, now).await?;
        }
        resume(&mut tx, &subscribed, now).await?;
        tx.commit().await?;
        Ok(true)
    }
}

impl TryFrom<UserRow> for User {
    type Error = StoreError;

    fn try_from(row: UserRow) -> Result<Self, StoreError> {
        let plan = parsed(Plan::parse(&row.plan), "users", "plan", &row.user_id)?;
        Ok(Self {
            id: row.user_id.into(),
            display_name: row.display_name,
            picture_url: row.picture_url,
            plan,
            used: row.used_bytes,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}
