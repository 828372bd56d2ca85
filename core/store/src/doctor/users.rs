//! Checks users' usage against their channels, and their recorded usage status.

use std::collections::{BTreeMap, BTreeSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::{Plan, Usage, UsageStatus};
use chatkeep_core::time::Timestamp;

use super::super::channels::channel_keys;
use super::super::ingest::{add_notice, lock_ledger};
use super::super::subscriptions::resume;
use super::super::usage_days::save_usage;
use super::super::users::lock_user;
use super::super::{AuditStore, StoreError, parsed};
use super::{Check, Difference};
use crate::query::{query, query_as};

/// Result of the check of a user.
#[derive(Clone, Debug)]
pub struct UserAudit {
    /// User.
    pub user: UserId,
    /// Differences.
    pub differences: Vec<Difference>,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct UserRow {
    user_id: String,
    plan: String,
    used_bytes: i64,
    held: i64,
    newest_day: Option<i64>,
    notified_status: Option<String>,
}

/// Builds a statement with the expected usage of users, by the counters of their channels.
macro_rules! users {
    ($rest:literal) => {
        concat!(
            "SELECT u.user_id, u.plan, u.used_bytes,
                    CAST(COALESCE((SELECT SUM(c.bytes - s.bytes_at_subscribe)
                                   FROM subscriptions s
                                   JOIN channels c ON c.channel_id = s.channel_id
                                   WHERE s.user_id = u.user_id AND s.cancelled_at = 0), 0)
                         AS BIGINT) AS held,
                    (SELECT d.bytes FROM usage_days d WHERE d.user_id = u.user_id
                     ORDER BY d.day DESC LIMIT 1) AS newest_day,
                    (SELECT n.status FROM usage_notices n WHERE n.user_id = u.user_id
                     ORDER BY n.notice_id DESC LIMIT 1) AS notified_status
             FROM users u ",
            $rest
        )
    };
}

const PAGE: &str = users!(
    "WHERE u.user_id > $1
       AND (CAST($3 AS TEXT) IS NULL
            OR EXISTS (SELECT 1 FROM subscriptions s
                       WHERE s.user_id = u.user_id
                         AND s.channel_id IN (SELECT value ->> 'c' FROM json_each($3))))
     ORDER BY u.user_id LIMIT $2"
);
const ONE: &str = users!("WHERE u.user_id = $1");
const SET: &str = "UPDATE users SET used_bytes = $2 WHERE user_id = $1";

impl AuditStore<'_> {
    /// Compares the counters of users with those of their channels, by id, after `after`, at most
    /// `limit`; only subscribers of the channels in `only` if given. `parts` are the errors of the
    /// channels' own counters for a user in bytes ([`super::ChannelAudit::parts`]). The result has
    /// all checked users.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn audit_users(
        &self,
        after: Option<&UserId>,
        only: Option<&[ChannelId]>,
        parts: &BTreeMap<UserId, i64>,
        limit: u32,
    ) -> Result<Vec<UserAudit>, StoreError> {
        let after = after.map_or("", UserId::as_str);
        let only = only.map(channel_keys).transpose()?;
        // One statement sees one state of all tables.
        let rows: Vec<UserRow> = self
            .store
            .db
            .fetch_all(query_as(PAGE).bind(after).bind(i64::from(limit)).bind(&only))
            .await?;
        rows.into_iter().map(|row| row.audit(parts)).collect()
    }

    /// Repairs the differences of [`AuditStore::audit_users`](crate::AuditStore::audit_users) for a
    /// user, by the counters of their channels; closes the gaps of backup that resumes by this.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn repair_user(&self, user: &UserId, now: Timestamp) -> Result<(), StoreError> {
        let channels = self.store.accounts().subscribed_channels(user).await?;
        let mut tx = self.store.db.begin().await?;
        // Channels first: the lock order of every transaction.
        let locked: BTreeSet<_> = channels.iter().collect();
        lock_ledger(&mut tx, &locked).await?;
        lock_user(&mut tx, user.as_str()).await?;
        // After the lock: a change to the user's usage holds it until it is committed.
        let row: Option<UserRow> = tx.fetch_optional(query_as(ONE).bind(user.as_str())).await?;
        let Some(row) = row else {
            return Ok(());
        };
        let status = row.status(row.held)?;
        if row.used_bytes != row.held {
            tx.execute(query(SET).bind(user.as_str()).bind(row.held)).await?;
        }
        if row.newest_day.unwrap_or_default() != row.held {
            let users = serde_json::json!([{ "u": user.as_str() }]).to_string();
            save_usage(&mut tx, &users, now).await?;
        }
        if row.notified_status() != status.name() {
            add_notice(&mut tx, user, status, now).await?;
        }
        resume(&mut tx, &channels, now).await?;
        tx.commit().await
    }
}

impl UserRow {
    fn audit(self, parts: &BTreeMap<UserId, i64>) -> Result<UserAudit, StoreError> {
        let user = UserId::from(self.user_id.as_str());
        let truth = self.held + parts.get(&user).copied().unwrap_or_default();
        let mut differences = Vec::new();
        if self.used_bytes != truth {
            let id = user.as_str();
            differences.push(Difference::new(Check::UserBytes, id, self.used_bytes, truth));
        }
        // A wrong counter is one difference, not two.
        let newest = self.newest_day.unwrap_or_default();
        if newest != self.used_bytes && newest != truth {
            differences.push(Difference::new(Check::UsageDay, user.as_str(), newest, truth));
        }
        // By the recorded value: a wrong counter is one difference, not two.
        let status = self.status(self.used_bytes)?;
        if self.notified_status() != status.name() {
            let id = user.as_str();
            differences.push(Difference::new(
                Check::UserStatus,
                id,
                self.notified_status(),
                status.name(),
            ));
        }
        Ok(UserAudit { user, differences })
    }

    fn status(&self, used: i64) -> Result<UsageStatus, StoreError> {
        let plan = parsed(Plan::parse(&self.plan), "users", "plan", &self.user_id)?;
        Ok(Usage::new(used, plan).status())
    }

    /// Returns the last notified status; a user without any notice is at the first one.
    fn notified_status(&self) -> &str {
        self.notified_status.as_deref().unwrap_or(UsageStatus::Ok.name())
    }
}
