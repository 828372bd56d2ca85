//! Members of channels, and people's names.

use std::collections::{BTreeMap, HashMap};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::named;
use chatkeep_core::plan::Plan;
use chatkeep_core::profile::Profile;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::db::{Sql, locking};
use super::opt_outs::OptOuts;
use super::{MemberStore, StoreError, parsed};
use crate::presence_sql::has_left;
use crate::query::{query, query_as};

/// Presence of a person in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    /// In the channel.
    Active,
    /// No longer in the channel.
    Left,
}

named! {
    pub MemberStatus {
        Active = "active",
        Left = "left",
    }
}

/// Person in a channel.
#[derive(Clone, Debug)]
pub struct Member {
    /// User id.
    pub user: UserId,
    /// Name, once known.
    pub display_name: Option<String>,
    /// Picture, once known.
    pub picture_url: Option<String>,
    /// Role.
    pub role: Role,
    /// Presence.
    pub status: MemberStatus,
    /// Time at which they joined, or were first seen.
    pub joined_at: Timestamp,
    /// Time at which they left; `None` while present.
    pub left_at: Option<Timestamp>,
    /// Time of the last change of any of this.
    pub updated_at: Timestamp,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct MemberRow {
    channel_id: String,
    user_id: String,
    display_name: Option<String>,
    picture_url: Option<String>,
    profile_at: i64,
    role: String,
    role_at: i64,
    first_seen_at: i64,
    last_seen_at: i64,
    joined_at: i64,
    left_at: i64,
}

/// Sorted, so that two processes take the rows in the same order.
const UNKNOWN_PEOPLE: &str = "
    SELECT user_id FROM users
    WHERE profile_at < $2 AND user_id IN (SELECT value ->> 'u' FROM json_each($1))
    ORDER BY user_id";

const LOCK_PEOPLE: Sql = locking!(
    "SELECT user_id FROM users WHERE user_id IN (SELECT value ->> 'u' FROM json_each($1))
     ORDER BY user_id",
    " FOR NO KEY UPDATE"
);

const SAVE_PROFILES: &str = "
    UPDATE users SET display_name = COALESCE(p.name, users.display_name),
                     picture_url = CASE WHEN p.name IS NULL THEN users.picture_url
                                        ELSE p.picture END,
                     profile_at = $2
    FROM (SELECT value ->> 'u' AS id, value ->> 'n' AS name, value ->> 'p' AS picture
          FROM json_each($1)) p
    WHERE users.user_id = p.id";

macro_rules! members {
    ($($where:expr),+) => {
        concat!(
            "SELECT m.channel_id, m.user_id, u.display_name, u.picture_url, u.profile_at, m.role,
                    m.role_at, m.first_seen_at, m.last_seen_at, m.joined_at, m.left_at
             FROM members m JOIN users u ON u.user_id = m.user_id WHERE ",
            $($where),+
        )
    };
}

const ONE_MEMBER: &str = members!("m.channel_id = $1 AND m.user_id = $2");
const CHOSEN: &str = members!(
    "(m.channel_id, m.user_id) IN (SELECT value ->> 'c', value ->> 'u' FROM json_each($1))"
);
const ALL_MEMBERS: &str = members!(
    "m.channel_id = $1
     AND (CAST($2 AS TEXT) IS NULL OR m.role = $2) AND ($2 IS NOT NULL OR m.role <> 'guest')
     AND (CAST($5 AS BIGINT) IS NULL OR $5 = CASE WHEN ",
    has_left!("m"),
    " THEN 1 ELSE 0 END)
     AND m.user_id > $3 ORDER BY m.user_id LIMIT $4"
);

const OWNER_PLAN: &str = "
    SELECT u.plan FROM members m JOIN users u ON u.user_id = m.user_id
    WHERE m.channel_id = $1 AND m.role = 'owner' ORDER BY m.user_id LIMIT 1";

#[derive(Serialize)]
pub(super) struct UserKey<'a> {
    pub(super) u: &'a str,
}

/// Element of the JSON list that [`CHOSEN`] reads.
#[derive(Serialize)]
struct MemberKey<'a> {
    c: &'a str,
    u: &'a str,
}

/// Element of the JSON list that [`SAVE_PROFILES`] reads.
#[derive(Serialize)]
struct ProfileRow<'a> {
    u: &'a str,
    n: Option<&'a str>,
    p: Option<&'a str>,
}

impl<'a> From<(&'a UserId, &'a Option<Profile>)> for ProfileRow<'a> {
    fn from((user, profile): (&'a UserId, &'a Option<Profile>)) -> Self {
        let profile = profile.as_ref();
        Self {
            u: user.as_str(),
            n: profile.map(|profile| profile.display_name.as_str()),
            p: profile.and_then(|profile| profile.picture_url.as_deref()),
        }
    }
}

impl MemberStore<'_> {
    /// Returns those of `users` whose profile is older than `than` or was never fetched.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn without_profile(
        &self,
        users: &[UserId],
        than: Timestamp,
    ) -> Result<Vec<UserId>, StoreError> {
        let keys: Vec<_> = users.iter().map(|id| UserKey { u: id.as_str() }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<(String,)> = self
            .store
            .db
            .fetch_all(query_as(UNKNOWN_PEOPLE).bind(&keys).bind(than.millis()))
            .await?;
        Ok(rows.into_iter().map(|(id,)| UserId::new(id)).collect())
    }

    /// Stores people's profiles; `None` records that the platform was asked and did not know.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn save_profiles(
        &self,
        profiles: &BTreeMap<UserId, Option<Profile>>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if profiles.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = profiles.iter().map(ProfileRow::from).collect();
        let rows = serde_json::to_string(&rows)?;
        let mut tx = self.store.db.begin().await?;
        let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK_PEOPLE).bind(&rows)).await?;
        tx.execute(query(SAVE_PROFILES).bind(&rows).bind(now.millis())).await?;
        tx.commit().await
    }

    /// Stores profiles that the platform was asked for, each with the channel in which the person was
    /// seen; but for those of people who have opted out there meanwhile.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn save_fetched_profiles(
        &self,
        fetched: &BTreeMap<UserId, (ChannelId, Option<Profile>)>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if fetched.is_empty() {
            return Ok(());
        }
        let people: Vec<_> = fetched.keys().map(|user| UserKey { u: user.as_str() }).collect();
        let people = serde_json::to_string(&people)?;
        let mut tx = self.store.db.begin().await?;
        // Whoever opts out locks the same row.
        let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK_PEOPLE).bind(&people)).await?;
        let opt_outs = OptOuts::load(&mut tx, fetched.keys()).await?;
        let wanted =
            fetched.iter().filter(|(user, (channel, _))| !opt_outs.refuse(channel, user, now));
        let rows: Vec<_> =
            wanted.map(|(user, (_, profile))| ProfileRow::from((user, profile))).collect();
        let rows = serde_json::to_string(&rows)?;
        tx.execute(query(SAVE_PROFILES).bind(&rows).bind(now.millis())).await?;
        tx.commit().await
    }

    /// Returns the plan of the channel's owner; `None` while it has no owner.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn owner_plan(&self, channel: &ChannelId) -> Result<Option<Plan>, StoreError> {
        let row: Option<(String,)> =
            self.store.db.fetch_optional(query_as(OWNER_PLAN).bind(channel.as_str())).await?;
        row.map(|(plan,)| parsed(Plan::parse(&plan), "users", "plan", channel.as_str())).transpose()
    }

    /// Returns one person in a channel; `None` when they were never seen there.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn member(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Option<Member>, StoreError> {
        let row: Option<MemberRow> = self
            .store
            .db
            .fetch_optional(query_as(ONE_MEMBER).bind(channel.as_str()).bind(user.as_str()))
            .await?;
        row.map(Member::try_from).transpose()
    }

    /// Returns those people in their channels; those who were never seen there are left out.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn chosen_members(
        &self,
        keys: &[(ChannelId, UserId)],
    ) -> Result<HashMap<(ChannelId, UserId), Member>, StoreError> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let keys = keys.iter().map(|(c, u)| MemberKey { c: c.as_str(), u: u.as_str() });
        let keys = serde_json::to_string(&keys.collect::<Vec<_>>())?;
        let rows: Vec<MemberRow> = self.store.db.fetch_all(query_as(CHOSEN).bind(&keys)).await?;
        let keyed = rows.into_iter().map(|row| {
            let key =
                (ChannelId::from(row.channel_id.as_str()), UserId::from(row.user_id.as_str()));
            Ok((key, Member::try_from(row)?))
        });
        keyed.collect()
    }

    /// Returns people of a channel by user id, after `after`, at most `limit`; guests only when
    /// requested by role.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(
        &self,
        channel: &ChannelId,
        role: Option<Role>,
        status: Option<MemberStatus>,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<Member>, StoreError> {
        let after = after.map_or("", UserId::as_str);
        let rows: Vec<MemberRow> = self
            .store
            .db
            .fetch_all(
                query_as(ALL_MEMBERS)
                    .bind(channel.as_str())
                    .bind(role.map(Role::name))
                    .bind(after)
                    .bind(i64::from(limit))
                    .bind(status.map(|s| i64::from(s == MemberStatus::Left))),
            )
            .await?;
        rows.into_iter().map(Member::try_from).collect()
    }
}

impl TryFrom<MemberRow> for Member {
    type Error = StoreError;

    fn try_from(row: MemberRow) -> Result<Self, StoreError> {
        let role = parsed(Role::parse(&row.role), "members", "role", &row.user_id)?;
        let there = row.joined_at.max(row.last_seen_at);
        // Leave and other evidence in the same millisecond: the person is gone.
        let left = row.left_at > 0 && row.left_at >= there;
        let joined = if row.joined_at > 0 { row.joined_at } else { row.first_seen_at };
        let updated = joined.max(row.left_at).max(row.role_at).max(row.profile_at);
        Ok(Self {
            user: row.user_id.into(),
            display_name: row.display_name,
            picture_url: row.picture_url,
            role,
            status: if left { MemberStatus::Left } else { MemberStatus::Active },
            joined_at: Timestamp::from_millis(joined),
            left_at: left.then(|| Timestamp::from_millis(row.left_at)),
            updated_at: Timestamp::from_millis(updated),
        })
    }
}
