//! Saved searches: queries of users, whose new hits are reported to them.
//!
//! A search is compared with what is logged after it was made (`since`), by a follower of the event
//! log whose position is stored ([`reported`]).

mod forget;
mod passed_over;
mod reported;

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, SavedSearchId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

pub use passed_over::{SearchEvent, SearchEventState};
pub use reported::{SavedSearchMatch, WatchingSearch};

use super::channels::{channel_keys, channels_of_keys};
use super::db::{Sql, locking};
use super::log_end::own_position;
use super::users::lock_user;
use super::{SavedSearchStore, StoreError, parsed};
use crate::query::{query, query_as};

/// Maximum number of saved searches of a user.
pub const SAVED_SEARCHES_OF_USER: usize = 100;

/// Saved search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSearch {
    /// Id.
    pub id: SavedSearchId,
    /// Owner.
    pub user: UserId,
    /// Name, in its owner's words.
    pub name: String,
    /// Query as typed.
    pub query: String,
    /// Channels to search; `None` for all of its owner's.
    pub channels: Option<Vec<ChannelId>>,
    /// `true` if new hits are reported.
    pub enabled: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Saved search to create.
#[derive(Clone, Copy, Debug)]
pub struct NewSavedSearch<'a> {
    /// Id.
    pub id: &'a SavedSearchId,
    /// Owner.
    pub user: &'a UserId,
    /// Properties.
    pub change: SavedSearchChange<'a>,
}

/// Properties of a saved search that its owner sets.
#[derive(Clone, Copy, Debug)]
pub struct SavedSearchChange<'a> {
    /// Name.
    pub name: &'a str,
    /// Query as typed.
    pub query: &'a str,
    /// Channels to search; `None` for all of its owner's.
    pub channels: Option<&'a [ChannelId]>,
    /// `true` if new hits are reported.
    pub enabled: bool,
}

/// Result of changing a saved search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedSearchChanged {
    /// Changed.
    Done,
    /// It was deleted meanwhile.
    NoSearch,
    /// Somebody else changed it meanwhile.
    Stale,
}

macro_rules! searches {
    ($rest:literal) => {
        concat!(
            "SELECT saved_search_id, user_id, name, query, channel_ids, enabled, created_at,
                    updated_at
             FROM saved_searches WHERE deleted_at IS NULL AND ",
            $rest
        )
    };
}

const OF_USER: &str = searches!("user_id = $1 ORDER BY created_at, saved_search_id");
const ONE: &str = searches!("user_id = $1 AND saved_search_id = $2");
const CHOSEN: &str =
    searches!("saved_search_id IN (SELECT value ->> 's' FROM json_each($1)) ORDER BY 1");

const COUNT: &str = "SELECT COUNT(*) FROM saved_searches WHERE user_id = $1 AND deleted_at IS NULL";
const ADD: &str = "
    INSERT INTO saved_searches (saved_search_id, user_id, name, query, channel_ids, enabled,
                                since_tx, since_seq, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)";
/// Locks a search: a concurrent addition of hits waits, and an earlier one is seen.
const LOCK_ONE: Sql = locking!(searches!("user_id = $1 AND saved_search_id = $2"));
/// Another query, other channels, or the end of a pause: what was logged before is not reported. With
/// another query or other channels the hits so far are of an earlier generation, too. The same
/// channels have to come in the stored order.
const CHANGE: &str = "
    UPDATE saved_searches SET
        since_tx = CASE WHEN query <> $4 OR COALESCE(channel_ids, '') <> COALESCE($5, '')
                          OR enabled <> $6 THEN $7 ELSE since_tx END,
        since_seq = CASE WHEN query <> $4 OR COALESCE(channel_ids, '') <> COALESCE($5, '')
                           OR enabled <> $6 THEN $8 ELSE since_seq END,
        generation = CASE WHEN query <> $4 OR COALESCE(channel_ids, '') <> COALESCE($5, '')
                          THEN generation + 1 ELSE generation END,
        name = $3, query = $4, channel_ids = $5, enabled = $6, updated_at = $9
    WHERE user_id = $1 AND saved_search_id = $2 AND deleted_at IS NULL";
/// Removes name and query at once; the rows about hits are removed later.
const DELETE: &str = "
    UPDATE saved_searches SET deleted_at = $3, enabled = 0, name = '', query = '',
                              channel_ids = NULL
    WHERE user_id = $1 AND saved_search_id = $2 AND deleted_at IS NULL";

#[derive(Debug, sqlx_macros::FromRow)]
struct SearchRow {
    saved_search_id: String,
    user_id: String,
    name: String,
    query: String,
    channel_ids: Option<String>,
    enabled: i64,
    created_at: i64,
    updated_at: i64,
}

/// Element of a JSON list of ids.
#[derive(Serialize)]
struct SearchKey<'a> {
    s: &'a str,
}

impl SavedSearchStore<'_> {
    /// Returns a user's saved searches, oldest first; at most [`SAVED_SEARCHES_OF_USER`].
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(&self, user: &UserId) -> Result<Vec<SavedSearch>, StoreError> {
        let rows: Vec<SearchRow> =
            self.store.db.fetch_all(query_as(OF_USER).bind(user.as_str())).await?;
        rows.into_iter().map(SavedSearch::try_from).collect()
    }

    /// Returns one saved search of a user.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn saved_search(
        &self,
        user: &UserId,
        id: &SavedSearchId,
    ) -> Result<Option<SavedSearch>, StoreError> {
        let one = query_as(ONE).bind(user.as_str()).bind(id.as_str());
        let row: Option<SearchRow> = self.store.db.fetch_optional(one).await?;
        row.map(SavedSearch::try_from).transpose()
    }

    /// Returns those of these saved searches that exist, whoever owns them.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn chosen_searches(
        &self,
        ids: &[SavedSearchId],
    ) -> Result<Vec<SavedSearch>, StoreError> {
        let keys = search_keys(ids)?;
        let rows: Vec<SearchRow> = self.store.db.fetch_all(query_as(CHOSEN).bind(&keys)).await?;
        rows.into_iter().map(SavedSearch::try_from).collect()
    }

    /// Saves a search: what is logged from now on is compared with it. `false` when the user has
    /// [`SAVED_SEARCHES_OF_USER`] already.
    ///
    /// # Errors
    /// Returns an error when the database fails or the user is unknown.
    #[boxed]
    pub async fn add_saved_search<'s>(
        &'s self,
        new: NewSavedSearch<'s>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let channels = new.change.channels.map(channel_keys).transpose()?;
        let user = new.user.as_str();
        let mut tx = self.store.db.begin().await?;
        lock_user(&mut tx, user).await?;
        let (count,): (i64,) = tx.fetch_one(query_as(COUNT).bind(user)).await?;
        if usize::try_from(count).unwrap_or(usize::MAX) >= SAVED_SEARCHES_OF_USER {
            return Ok(false);
        }
        let since = own_position(&mut tx).await?;
        tx.execute(
            query(ADD)
                .bind(new.id.as_str())
                .bind(user)
                .bind(new.change.name)
                .bind(new.change.query)
                .bind(&channels)
                .bind(i64::from(new.change.enabled))
                .bind(since.0)
                .bind(since.1)
                .bind(now.millis()),
        )
        .await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Sets the properties of a saved search, if they are still as in `known`. With another query
    /// or other channels, and when it is enabled again, it begins anew: what was logged before is
    /// not reported. What was reported for another query or other channels counts no more: a
    /// message that is edited then may be reported again, by the new query. The rows about those
    /// hits go later.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn change_saved_search<'s>(
        &'s self,
        known: &SavedSearch,
        change: SavedSearchChange<'s>,
        now: Timestamp,
    ) -> Result<SavedSearchChanged, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let (user, id) = (known.user.as_str(), known.id.as_str());
        let row: Option<SearchRow> =
            tx.fetch_optional(query_as(LOCK_ONE).bind(user).bind(id)).await?;
        let Some(present) = row.map(SavedSearch::try_from).transpose()? else {
            return Ok(SavedSearchChanged::NoSearch);
        };
        if !present.is_set_as(known) {
            return Ok(SavedSearchChanged::Stale);
        }
        let channels = if present.is_of(change.channels) {
            present.channels.as_deref()
        } else {
            change.channels
        };
        let channels = channels.map(channel_keys).transpose()?;
        let since = own_position(&mut tx).await?;
        tx.execute(
            query(CHANGE)
                .bind(user)
                .bind(id)
                .bind(change.name)
                .bind(change.query)
                .bind(&channels)
                .bind(i64::from(change.enabled))
                .bind(since.0)
                .bind(since.1)
                .bind(now.millis()),
        )
        .await?;
        tx.commit().await?;
        Ok(SavedSearchChanged::Done)
    }

    /// Deletes a saved search; the rows about its hits go later. `false` when the user has none of
    /// that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn delete_saved_search(
        &self,
        user: &UserId,
        id: &SavedSearchId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let gone = tx
            .execute(query(DELETE).bind(user.as_str()).bind(id.as_str()).bind(now.millis()))
            .await?;
        tx.commit().await?;
        Ok(gone > 0)
    }
}

impl SavedSearch {
    /// Returns `true` if it searches these channels, in whatever order they are.
    pub fn is_of(&self, channels: Option<&[ChannelId]>) -> bool {
        fn set(channels: &[ChannelId]) -> BTreeSet<&ChannelId> {
            channels.iter().collect()
        }
        self.channels.as_deref().map(set) == channels.map(set)
    }

    /// Returns true if the properties that its owner sets are those of the other.
    fn is_set_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.query == other.query
            && self.channels == other.channels
            && self.enabled == other.enabled
    }
}

fn search_keys<'a>(ids: impl IntoIterator<Item = &'a SavedSearchId>) -> Result<String, StoreError> {
    let keys: Vec<_> = ids.into_iter().map(|id| SearchKey { s: id.as_str() }).collect();
    Ok(serde_json::to_string(&keys)?)
}

fn channels_in(json: Option<&str>, id: &str) -> Result<Option<Vec<ChannelId>>, StoreError> {
    json.map(|json| parsed(channels_of_keys(json), "saved_searches", "channel_ids", id)).transpose()
}

impl TryFrom<SearchRow> for SavedSearch {
    type Error = StoreError;

    fn try_from(row: SearchRow) -> Result<Self, StoreError> {
        Ok(Self {
            channels: channels_in(row.channel_ids.as_deref(), &row.saved_search_id)?,
            user: row.user_id.into(),
            name: row.name,
            query: row.query,
            enabled: row.enabled != 0,
            created_at: Timestamp::from_millis(row.created_at),
            updated_at: Timestamp::from_millis(row.updated_at),
            id: row.saved_search_id.into(),
        })
    }
}
