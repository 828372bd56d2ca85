//! Properties of channels: name, picture and size, as the platform says, and the time zone, which people
//! set.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::profile::ChannelSummary;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::activity_log::{ChangeKind, NewChange, log_change};
use super::channel_locks::lock_counters;
use super::channels::channel_keys;
use super::{ChannelStore, StoreError};
use crate::query::{query, query_as};

const WITHOUT_SUMMARY: &str = "
    SELECT channel_id FROM channels
    WHERE summary_at < $2 AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))
    ORDER BY channel_id";

const TIME_ZONE: &str = "SELECT time_zone FROM channels WHERE channel_id = $1";
const SET_TIME_ZONE: &str = "UPDATE channels SET time_zone = $2 WHERE channel_id = $1";

const SAVE_SUMMARIES: &str = "
    UPDATE channels SET name = COALESCE(s.name, channels.name),
                        picture_url = COALESCE(s.picture, channels.picture_url),
                        member_count = COALESCE(s.members, channels.member_count),
                        summary_at = $2
    FROM (SELECT value ->> 'c' AS id, value ->> 'n' AS name, value ->> 'p' AS picture,
                 CAST(value ->> 'm' AS BIGINT) AS members FROM json_each($1)) s
    WHERE channels.channel_id = s.id";

/// Element of the JSON list that [`SAVE_SUMMARIES`] reads.
#[derive(Serialize)]
struct SummaryRow<'a> {
    c: &'a str,
    n: Option<&'a str>,
    p: Option<&'a str>,
    m: Option<i64>,
}

impl<'a> From<(&'a ChannelId, &'a ChannelSummary)> for SummaryRow<'a> {
    fn from((channel, summary): (&'a ChannelId, &'a ChannelSummary)) -> Self {
        Self {
            c: channel.as_str(),
            n: summary.name.as_deref(),
            p: summary.picture_url.as_deref(),
            m: summary.member_count,
        }
    }
}

impl ChannelStore<'_> {
    /// Returns those of `channels` whose name and size are older than `than` or were never fetched.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn without_summary(
        &self,
        channels: &[ChannelId],
        than: Timestamp,
    ) -> Result<Vec<ChannelId>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String,)> = self
            .store
            .db
            .fetch_all(query_as(WITHOUT_SUMMARY).bind(keys).bind(than.millis()))
            .await?;
        Ok(rows.into_iter().map(|(id,)| ChannelId::new(id)).collect())
    }

    /// Sets the zone in which a channel's days begin, by its IANA name; `None` for the service's.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn set_time_zone(
        &self,
        channel: &ChannelId,
        zone: Option<&str>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let c = channel.as_str();
        let mut tx = self.store.db.begin().await?;
        let known: Option<(Option<String>,)> =
            tx.fetch_optional(query_as(TIME_ZONE).bind(c)).await?;
        let before = known.and_then(|(zone,)| zone);
        tx.execute(query(SET_TIME_ZONE).bind(c).bind(zone)).await?;
        if before.as_deref() != zone {
            let (kind, before) = (ChangeKind::TimeZone, before.as_deref());
            let change = NewChange { channel, by, kind, subject: None, before, after: zone };
            log_change(&mut tx, change, now).await?;
        }
        tx.commit().await
    }

    /// Stores names, pictures and sizes of channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn save_summaries(
        &self,
        summaries: &BTreeMap<ChannelId, ChannelSummary>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if summaries.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = summaries.iter().map(SummaryRow::from).collect();
        let rows = serde_json::to_string(&rows)?;
        let mut tx = self.store.db.begin().await?;
        lock_counters(&mut tx, summaries.keys()).await?;
        tx.execute(query(SAVE_SUMMARIES).bind(rows).bind(now.millis())).await?;
        tx.commit().await
    }
}
