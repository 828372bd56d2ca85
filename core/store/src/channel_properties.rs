//! Properties of channels: name, picture and size, as the platform says, and the time zone, which people
//! set.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::profile::ChannelSummary;
use chatkeep_core::time::Timestamp;

use super::activity_log::{ChangeKind, NewChange, log_change};
use super::{ChannelStore, StoreError};
use crate::query::{query, query_as};

const WITHOUT_SUMMARY: &str = "SELECT 1 FROM channels WHERE channel_id = $1 AND summary_at < $2";

const TIME_ZONE: &str = "SELECT time_zone FROM channels WHERE channel_id = $1";
const SET_TIME_ZONE: &str = "UPDATE channels SET time_zone = $2 WHERE channel_id = $1";

const SAVE_SUMMARY: &str = "
    UPDATE channels SET name = COALESCE($2, name), picture_url = COALESCE($3, picture_url),
                        member_count = COALESCE($4, member_count), summary_at = $5
    WHERE channel_id = $1";

impl ChannelStore<'_> {
    /// Returns `true` if the channel's name and size are older than `than` or were never fetched.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn lacks_summary(
        &self,
        channel: &ChannelId,
        than: Timestamp,
    ) -> Result<bool, StoreError> {
        let row: Option<(i32,)> = self
            .store
            .db
            .fetch_optional(query_as(WITHOUT_SUMMARY).bind(channel.as_str()).bind(than.millis()))
            .await?;
        Ok(row.is_some())
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

    /// Stores a channel's name, picture and size.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn save_summary(
        &self,
        channel: &ChannelId,
        summary: &ChannelSummary,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(
            query(SAVE_SUMMARY)
                .bind(channel.as_str())
                .bind(summary.name.as_deref())
                .bind(summary.picture_url.as_deref())
                .bind(summary.member_count)
                .bind(now.millis()),
        )
        .await?;
        tx.commit().await
    }
}
