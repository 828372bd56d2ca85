//! Changes of people's roles, and membership checks on the platform for unseen people.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;

use super::activity_log::{ChangeKind, NewChange, log_change};
use super::db::{Sql, locking};
use super::{MemberStore, StoreError, parsed};
use crate::query::{query, query_as};

/// Result of setting a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleSet {
    /// Set, or unchanged.
    Done,
    /// Denied: the caller's own role is too low.
    Denied,
    /// The person was never seen in the channel.
    NoMember,
}

/// Claim of a membership check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipCheck {
    /// The caller is to ask the platform.
    Claimed,
    /// Somebody else is asking it.
    UnderWay,
    /// It was asked, and did not know the person.
    Done,
}

/// Time for which a check is claimed, more than the platform takes to answer.
const CHECK_LEASE: Duration = Duration::from_secs(30);

/// Both rows in key order, so that two changes never deadlock.
const LOCK: Sql = locking!(
    "SELECT user_id, role, left_at, joined_at, last_seen_at FROM members
     WHERE channel_id = $1 AND user_id IN ($2, $3) ORDER BY user_id"
);
const SET: &str =
    "UPDATE members SET role = $3, role_at = $4 WHERE channel_id = $1 AND user_id = $2";
/// Sets `checked_at` so that the platform may be asked again as soon as the claim ends, and by nobody
/// else before.
const CLAIM: &str = "
    INSERT INTO membership_checks (channel_id, user_id, checked_at, claimed_until)
    VALUES ($1, $2, $3, $5)
    ON CONFLICT (channel_id, user_id) DO UPDATE SET
        checked_at = excluded.checked_at, claimed_until = excluded.claimed_until
    WHERE membership_checks.checked_at < $4";
const CLAIMED_UNTIL: &str =
    "SELECT claimed_until FROM membership_checks WHERE channel_id = $1 AND user_id = $2";
const SETTLE: &str = "
    UPDATE membership_checks SET checked_at = $3, claimed_until = 0
    WHERE channel_id = $1 AND user_id = $2";
const RELEASE: &str = "DELETE FROM membership_checks WHERE channel_id = $1 AND user_id = $2";

#[derive(Debug, sqlx_macros::FromRow)]
struct Row {
    user_id: String,
    role: String,
    left_at: i64,
    joined_at: i64,
    last_seen_at: i64,
}

impl MemberStore<'_> {
    /// Sets a person's role on behalf of `by`, whose own role is read in the same transaction: an
    /// owner sets `admin`, `member` and `guest` for anyone but an owner; an admin only raises a
    /// `guest` to `member`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn set_role(
        &self,
        channel: &ChannelId,
        by: &UserId,
        user: &UserId,
        role: Role,
        now: Timestamp,
    ) -> Result<RoleSet, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let rows: Vec<Row> = tx
            .fetch_all(query_as(LOCK).bind(channel.as_str()).bind(by.as_str()).bind(user.as_str()))
            .await?;
        let find = |id: &UserId| rows.iter().find(|row| row.user_id == id.as_str());
        let role_of = |row: &Row| parsed(Role::parse(&row.role), "members", "role", &row.user_id);
        let caller = find(by).filter(|row| row.is_active()).map(role_of).transpose()?;
        let Some(before) = find(user).map(role_of).transpose()? else {
            let may = caller.is_some_and(|caller| caller >= Role::Admin);
            return Ok(if may { RoleSet::NoMember } else { RoleSet::Denied });
        };
        if !may_set(caller.unwrap_or(Role::Guest), before, role) {
            return Ok(RoleSet::Denied);
        }
        if before != role {
            let (c, u) = (channel.as_str(), user.as_str());
            tx.execute(query(SET).bind(c).bind(u).bind(role.name()).bind(now.millis())).await?;
            let change = NewChange {
                channel,
                by,
                kind: ChangeKind::Role,
                subject: Some(u),
                before: Some(before.name()),
                after: Some(role.name()),
            };
            log_change(&mut tx, change, now).await?;
        }
        tx.commit().await?;
        Ok(RoleSet::Done)
    }

    /// Claims a membership check of a person in a channel for half a minute: who claims it and goes
    /// away does not keep others from it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn claim_membership_check(
        &self,
        channel: &ChannelId,
        user: &UserId,
        now: Timestamp,
        again: Duration,
    ) -> Result<MembershipCheck, StoreError> {
        let before = now.minus(again);
        let (c, u) = (channel.as_str(), user.as_str());
        let claim = query(CLAIM)
            .bind(c)
            .bind(u)
            .bind(before.plus(CHECK_LEASE).millis())
            .bind(before.millis())
            .bind(now.plus(CHECK_LEASE).millis());
        let mut tx = self.store.db.begin().await?;
        let claimed = tx.execute(claim).await?;
        let until: Option<(i64,)> =
            tx.fetch_optional(query_as(CLAIMED_UNTIL).bind(c).bind(u)).await?;
        tx.commit().await?;
        Ok(match until {
            _ if claimed > 0 => MembershipCheck::Claimed,
            Some((until,)) if until < now.millis() => MembershipCheck::Done,
            // Also one that was released in between: whoever asks next claims it.
            _ => MembershipCheck::UnderWay,
        })
    }

    /// Records that the platform does not know the person of a claimed check in the channel.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn settle_membership_check(
        &self,
        channel: &ChannelId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        let settled = query(SETTLE).bind(channel.as_str()).bind(user.as_str()).bind(now.millis());
        tx.execute(settled).await?;
        tx.commit().await
    }

    /// Releases a claim, because the platform could not tell.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn release_membership_check(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RELEASE).bind(channel.as_str()).bind(user.as_str())).await?;
        tx.commit().await
    }
}

/// Returns `true` if a caller with the role `caller` may change `before` into `after`.
fn may_set(caller: Role, before: Role, after: Role) -> bool {
    match caller {
        Role::Owner => before != Role::Owner && after != Role::Owner,
        Role::Admin => before == Role::Guest && after == Role::Member,
        Role::Member | Role::Guest => false,
    }
}

impl Row {
    fn is_active(&self) -> bool {
        self.left_at == 0 || self.left_at < self.joined_at.max(self.last_seen_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_turn_what_into_what() {
        const ROLES: [Role; 4] = [Role::Guest, Role::Member, Role::Admin, Role::Owner];
        for (before, after) in ROLES.iter().flat_map(|b| ROLES.map(|a| (*b, a))) {
            let owner = before != Role::Owner && after != Role::Owner;
            assert_eq!(may_set(Role::Owner, before, after), owner);
            let admin = (before, after) == (Role::Guest, Role::Member);
            assert_eq!(may_set(Role::Admin, before, after), admin);
            assert!(!may_set(Role::Member, before, after) && !may_set(Role::Guest, before, after));
        }
    }
}
