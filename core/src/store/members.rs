//! Who is in which channel: evidence from events, merged so that late, repeated and disordered
//! events change nothing that is newer (contract section 3).

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use sqlx::{query, query_as};

use super::channels::channel_keys;
use super::coverage::{Presence, note};
use super::db::{Sql, Tx, exec, locking, read, run};
use super::happenings::{HappeningKind, NewHappening, log};
use super::{Store, StoreError, parsed};
use crate::event::{ChannelRef, PlatformKind};
use crate::id::{ChannelId, UserId};
use crate::plan::Plan;
use crate::platform::Profile;
use crate::role::Role;
use crate::time::Timestamp;

/// One piece of evidence from an event.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// Where.
    pub channel: ChannelRef,
    /// On which platform.
    pub platform: PlatformKind,
    /// By which bot.
    pub bot: String,
    /// When, by the platform's clock.
    pub at: Timestamp,
    /// What.
    pub kind: SightingKind,
}

/// What an event shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SightingKind {
    /// The channel exists.
    Channel,
    /// The bot came in.
    BotJoined,
    /// The bot is out.
    BotLeft,
    /// This person is there (they did something).
    Present(UserId),
    /// This person came in.
    Joined(UserId),
    /// This person left.
    Left(UserId),
}

/// Whether a person is in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberStatus {
    /// They are.
    Active,
    /// They were.
    Left,
}

impl MemberStatus {
    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "active" => Some(Self::Active),
            "left" => Some(Self::Left),
            _ => None,
        }
    }
}

/// A person in a channel (interface specification, "Member").
#[derive(Clone, Debug)]
pub struct Member {
    /// The person.
    pub user: UserId,
    /// Their name, once known.
    pub display_name: Option<String>,
    /// Their picture, once known.
    pub picture_url: Option<String>,
    /// Their role.
    pub role: Role,
    /// Whether they are there.
    pub status: MemberStatus,
    /// When they came in, or were first seen.
    pub joined_at: Timestamp,
    /// When they left; `None` while they are there.
    pub left_at: Option<Timestamp>,
    /// The last change of any of this.
    pub updated_at: Timestamp,
}

#[derive(Debug, sqlx::FromRow)]
struct MemberRow {
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

const SAVE_CHANNELS: &str = "
    INSERT INTO channels (channel_id, platform, bot, type, created_at, enabled_at, disabled_at)
    SELECT value ->> 'c', value ->> 'platform', value ->> 'bot', value ->> 'type',
           CAST(value ->> 'first' AS BIGINT), CAST(value ->> 'on' AS BIGINT),
           CAST(value ->> 'off' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id) DO UPDATE SET
        created_at = CASE WHEN excluded.created_at < channels.created_at
                          THEN excluded.created_at ELSE channels.created_at END,
        enabled_at = CASE WHEN excluded.enabled_at > channels.enabled_at
                          THEN excluded.enabled_at ELSE channels.enabled_at END,
        disabled_at = CASE WHEN excluded.disabled_at > channels.disabled_at
                           THEN excluded.disabled_at ELSE channels.disabled_at END
    WHERE excluded.created_at < channels.created_at OR excluded.enabled_at > channels.enabled_at
       OR excluded.disabled_at > channels.disabled_at";

const SAVE_USERS: &str = "
    INSERT INTO users (user_id, created_at)
    SELECT value ->> 'u', CAST($2 AS BIGINT) FROM json_each($1) WHERE TRUE
    ON CONFLICT (user_id) DO NOTHING";

const SAVE_MEMBERS: &str = "
    INSERT INTO members (channel_id, user_id, first_seen_at, last_seen_at, joined_at, left_at)
    SELECT value ->> 'c', value ->> 'u', CAST(value ->> 'first' AS BIGINT),
           CAST(value ->> 'seen' AS BIGINT), CAST(value ->> 'on' AS BIGINT),
           CAST(value ->> 'off' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, user_id) DO UPDATE SET
        first_seen_at = CASE WHEN excluded.first_seen_at < members.first_seen_at
                             THEN excluded.first_seen_at ELSE members.first_seen_at END,
        last_seen_at = CASE WHEN excluded.last_seen_at > members.last_seen_at
                            THEN excluded.last_seen_at ELSE members.last_seen_at END,
        joined_at = CASE WHEN excluded.joined_at > members.joined_at
                         THEN excluded.joined_at ELSE members.joined_at END,
        left_at = CASE WHEN excluded.left_at > members.left_at
                       THEN excluded.left_at ELSE members.left_at END
    WHERE excluded.first_seen_at < members.first_seen_at
       OR excluded.last_seen_at > members.last_seen_at
       OR excluded.joined_at > members.joined_at OR excluded.left_at > members.left_at";

/// Sorted, so that two processes take the rows in the same order.
const UNKNOWN_PEOPLE: &str = "
    SELECT user_id FROM users
    WHERE profile_at < $2 AND user_id IN (SELECT value ->> 'u' FROM json_each($1))
    ORDER BY user_id";

const SAVE_PROFILE: &str = "
    UPDATE users SET display_name = COALESCE($2, display_name),
                     picture_url = CASE WHEN CAST($2 AS TEXT) IS NULL THEN picture_url ELSE $3 END,
                     profile_at = $4
    WHERE user_id = $1";

macro_rules! members {
    ($where:literal) => {
        concat!(
            "SELECT m.user_id, u.display_name, u.picture_url, u.profile_at, m.role, m.role_at,
                    m.first_seen_at, m.last_seen_at, m.joined_at, m.left_at
             FROM members m JOIN users u ON u.user_id = m.user_id WHERE ",
            $where
        )
    };
}

const ONE_MEMBER: &str = members!("m.channel_id = $1 AND m.user_id = $2");
const ALL_MEMBERS: &str = members!(
    "m.channel_id = $1
     AND (CAST($2 AS TEXT) IS NULL OR m.role = $2) AND ($2 IS NOT NULL OR m.role <> 'guest')
     AND (CAST($5 AS BIGINT) IS NULL OR $5 = CASE WHEN m.left_at > 0
          AND m.left_at >= m.joined_at AND m.left_at >= m.last_seen_at THEN 1 ELSE 0 END)
     AND m.user_id > $3 ORDER BY m.user_id LIMIT $4"
);

const NAMES: &str = "
    SELECT DISTINCT u.user_id, u.display_name FROM members m JOIN users u ON u.user_id = m.user_id
    WHERE u.display_name IS NOT NULL
      AND m.channel_id IN (SELECT value ->> 'c' FROM json_each($1))";

const KNOWN_MOVES: Sql = locking!(
    "SELECT channel_id, user_id, joined_at, left_at FROM members
     WHERE (channel_id, user_id) IN (SELECT value ->> 'c', value ->> 'u' FROM json_each($1))
     ORDER BY channel_id, user_id"
);

const OWNER_PLAN: &str = "
    SELECT u.plan FROM members m JOIN users u ON u.user_id = m.user_id
    WHERE m.channel_id = $1 AND m.role = 'owner' ORDER BY m.user_id LIMIT 1";

#[derive(Serialize)]
struct ChannelEvidence<'a> {
    c: &'a str,
    platform: &'static str,
    bot: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    first: i64,
    on: i64,
    off: i64,
}

#[derive(Serialize)]
struct MemberEvidence<'a> {
    c: &'a str,
    u: &'a str,
    first: i64,
    seen: i64,
    on: i64,
    off: i64,
}

#[derive(Serialize)]
struct UserKey<'a> {
    u: &'a str,
}

impl Store {
    /// Merges a batch of evidence into channels and members. Order and repetition do not matter.
    ///
    /// # Errors
    /// When the database fails; nothing of the batch is kept then.
    pub async fn sight(&self, sightings: &[Sighting], now: Timestamp) -> Result<(), StoreError> {
        if sightings.is_empty() {
            return Ok(());
        }
        let (channels, members) = merged(sightings);
        let users: Vec<_> = {
            let ids: std::collections::BTreeSet<_> = members.keys().map(|(_, u)| *u).collect();
            ids.into_iter().map(|u| UserKey { u }).collect()
        };
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let rows = serde_json::to_string(&channels.into_values().collect::<Vec<_>>())?;
        exec!(tx_ref, query(SAVE_CHANNELS).bind(&rows))?;
        for sighting in sightings {
            let presence = match sighting.kind {
                SightingKind::BotJoined => Presence::BotJoined,
                SightingKind::BotLeft => Presence::BotLeft,
                _ => continue,
            };
            note(tx_ref, &sighting.channel.id, sighting.at, presence).await?;
        }
        if !members.is_empty() {
            let rows = serde_json::to_string(&users)?;
            exec!(tx_ref, query(SAVE_USERS).bind(&rows).bind(now.millis()))?;
            let moves: Vec<_> = members.values().filter(|m| m.on > 0 || m.off > 0).collect();
            let known = known_moves(tx_ref, &moves).await?;
            let told = moves.iter().flat_map(|member| member.told(&known)).collect::<Vec<_>>();
            log(tx_ref, &told, now).await?;
            let rows = serde_json::to_string(&members.into_values().collect::<Vec<_>>())?;
            exec!(tx_ref, query(SAVE_MEMBERS).bind(&rows))?;
        }
        tx.commit().await
    }

    /// Those of `users` whose profile is older than `than` or was never asked for.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn without_profile(
        &self,
        users: &[UserId],
        than: Timestamp,
    ) -> Result<Vec<UserId>, StoreError> {
        let keys: Vec<_> = users.iter().map(|id| UserKey { u: id.as_str() }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<(String,)> = read!(self, c => query_as(UNKNOWN_PEOPLE)
            .bind(&keys).bind(than.millis()).fetch_all(c))?;
        Ok(rows.into_iter().map(|(id,)| UserId::new(id)).collect())
    }

    /// Keeps people's profiles; `None` records that the platform was asked and did not know.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn save_profiles(
        &self,
        profiles: &BTreeMap<UserId, Option<Profile>>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if profiles.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        for (user, profile) in profiles {
            let name = profile.as_ref().map(|p| p.display_name.as_str());
            let picture = profile.as_ref().and_then(|p| p.picture_url.as_deref());
            exec!(
                tx_ref,
                query(SAVE_PROFILE).bind(user.as_str()).bind(name).bind(picture).bind(now.millis())
            )?;
        }
        tx.commit().await
    }

    /// The plan of the channel's owner; `None` while it has no owner.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn owner_plan(&self, channel: &ChannelId) -> Result<Option<Plan>, StoreError> {
        let row: Option<(String,)> =
            read!(self, c => query_as(OWNER_PLAN).bind(channel.as_str()).fetch_optional(c))?;
        row.map(|(plan,)| parsed(Plan::parse(&plan), "users", "plan", channel.as_str())).transpose()
    }

    /// Names of the people who are or were in these channels.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn names_in(
        &self,
        channels: &[ChannelId],
    ) -> Result<Vec<(UserId, String)>, StoreError> {
        let channels = channel_keys(channels)?;
        let rows: Vec<(String, String)> =
            read!(self, c => query_as(NAMES).bind(&channels).fetch_all(c))?;
        Ok(rows.into_iter().map(|(id, name)| (UserId::new(id), name)).collect())
    }

    /// One person in a channel; `None` when they were never seen there.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn member(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Option<Member>, StoreError> {
        let row: Option<MemberRow> = read!(self, c => query_as(ONE_MEMBER)
            .bind(channel.as_str()).bind(user.as_str()).fetch_optional(c))?;
        row.map(Member::try_from).transpose()
    }

    /// People of a channel by user id, from after `after`, at most `limit`; guests only when
    /// asked for by role.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn members(
        &self,
        channel: &ChannelId,
        role: Option<Role>,
        status: Option<MemberStatus>,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<Member>, StoreError> {
        let after = after.map_or("", UserId::as_str);
        let rows: Vec<MemberRow> = read!(self, c => query_as(ALL_MEMBERS)
            .bind(channel.as_str()).bind(role.map(Role::name)).bind(after)
            .bind(i64::from(limit)).bind(status.map(|s| i64::from(s == MemberStatus::Left)))
            .fetch_all(c))?;
        rows.into_iter().map(Member::try_from).collect()
    }
}

/// When people were last known to come in and to leave, by channel and person.
type Moves = HashMap<(String, String), (i64, i64)>;

/// Reads it for those who come or leave now, so that only what is new is told.
async fn known_moves(tx: &mut Tx, moves: &[&MemberEvidence<'_>]) -> Result<Moves, StoreError> {
    if moves.is_empty() {
        return Ok(Moves::new());
    }
    let keys = serde_json::to_string(moves)?;
    let rows: Vec<(String, String, i64, i64)> =
        run!(tx, KNOWN_MOVES, |sql, c| query_as(sql).bind(&keys).fetch_all(c))?;
    Ok(rows.into_iter().map(|(c, u, on, off)| ((c, u), (on, off))).collect())
}

impl<'a> MemberEvidence<'a> {
    /// What of it is news.
    fn told(&self, known: &Moves) -> Vec<NewHappening<'a>> {
        let key = (self.c.to_owned(), self.u.to_owned());
        let (on, off) = known.get(&key).copied().unwrap_or_default();
        let moves = [
            (HappeningKind::MemberJoined, self.on, on),
            (HappeningKind::MemberLeft, self.off, off),
        ];
        let mut told: Vec<_> = moves
            .into_iter()
            .filter(|(_, at, known)| at > known)
            .map(|(kind, at, _)| NewHappening {
                kind: kind.name(),
                at,
                c: Some(self.c),
                s: Some(self.u),
            })
            .collect();
        told.sort_by_key(|told| told.at);
        told
    }
}

type Merged<'a> =
    (BTreeMap<&'a str, ChannelEvidence<'a>>, BTreeMap<(&'a str, &'a str), MemberEvidence<'a>>);

/// One row a channel and one a member, in key order: a statement may touch a row only once, and
/// every process locks in the same order.
fn merged(sightings: &[Sighting]) -> Merged<'_> {
    let (mut channels, mut members) = (BTreeMap::new(), BTreeMap::new());
    for sighting in sightings {
        let (id, at) = (sighting.channel.id.as_str(), sighting.at.millis());
        let channel = channels.entry(id).or_insert(ChannelEvidence {
            c: id,
            platform: sighting.platform.name(),
            bot: &sighting.bot,
            kind: sighting.channel.kind.name(),
            first: at,
            on: 0,
            off: 0,
        });
        channel.first = channel.first.min(at);
        match &sighting.kind {
            SightingKind::BotJoined => channel.on = channel.on.max(at),
            SightingKind::BotLeft => channel.off = channel.off.max(at),
            _ => {}
        }
        let (SightingKind::Present(user) | SightingKind::Joined(user) | SightingKind::Left(user)) =
            &sighting.kind
        else {
            continue;
        };
        let empty = MemberEvidence { c: id, u: user.as_str(), first: at, seen: 0, on: 0, off: 0 };
        let member = members.entry((id, user.as_str())).or_insert(empty);
        member.first = member.first.min(at);
        match &sighting.kind {
            SightingKind::Joined(_) => member.on = member.on.max(at),
            SightingKind::Left(_) => member.off = member.off.max(at),
            _ => member.seen = member.seen.max(at),
        }
    }
    (channels, members)
}

impl TryFrom<MemberRow> for Member {
    type Error = StoreError;

    fn try_from(row: MemberRow) -> Result<Self, StoreError> {
        let role = parsed(Role::parse(&row.role), "members", "role", &row.user_id)?;
        let there = row.joined_at.max(row.last_seen_at);
        // Leaving and another sign of life in the same millisecond: the person is gone.
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
