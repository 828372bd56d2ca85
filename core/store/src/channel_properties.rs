//! Properties of channels: name, picture and size, as the platform says, and the time zone and whether
//! earlier texts of edited messages are kept, which people set.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::profile::ChannelSummary;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::activity_log::{ChangeKind, NewChange, log_change};
use super::channel_locks::{lock_counters, lock_one};
use super::channels::channel_keys;
use super::exports::outdate_all_exports;
use super::{ChannelStore, StoreError};
use crate::query::{query, query_as};

const WITHOUT_SUMMARY: &str = "
    SELECT channel_id FROM channels
    WHERE summary_at < $2 AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))
    ORDER BY channel_id";

const TIME_ZONE: &str = "SELECT time_zone FROM channels WHERE channel_id = $1";
const SET_TIME_ZONE: &str = "UPDATE channels SET time_zone = $2 WHERE channel_id = $1";

const KEEPS_EARLIER_TEXTS: &str = "SELECT keep_earlier_texts FROM channels WHERE channel_id = $1";
const KEEP_EARLIER_TEXTS: &str =
    "UPDATE channels SET keep_earlier_texts = TRUE WHERE channel_id = $1";
const END_EARLIER_TEXTS: &str = "
    UPDATE channels SET keep_earlier_texts = FALSE, erase_earlier_texts = TRUE,
                        earlier_texts_ended_at = $2
    WHERE channel_id = $1";
const TO_ERASE: &str = "
    SELECT channel_id, earlier_texts_ended_at FROM channels
    WHERE erase_earlier_texts AND earlier_texts_ended_at IS NOT NULL ORDER BY channel_id";
/// Unless it was switched off once more meanwhile.
const ERASED: &str = "
    UPDATE channels SET erase_earlier_texts = FALSE
    WHERE channel_id = $1 AND earlier_texts_ended_at = $2";

/// A chat with a name and no picture has none any more; rooms, and chats that the platform does not
/// know, have neither.
const SAVE_SUMMARIES: &str = "
    UPDATE channels SET name = COALESCE(s.name, channels.name),
                        picture_url = CASE WHEN s.name IS NULL THEN channels.picture_url
                                           ELSE s.picture END,
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
        // Otherwise the log of two changes at once would have the same value before both.
        lock_one(&mut tx, channel).await?;
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

    /// Sets whether a channel keeps earlier texts of edited messages, on behalf of `by`. Once it does
    /// not, nothing shows those that are stored, and they are to be erased
    /// ([`Self::with_texts_to_erase`]); none are kept until that is done, should it be switched on
    /// again.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn set_earlier_texts(
        &self,
        channel: &ChannelId,
        keep: bool,
        by: &UserId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let c = channel.as_str();
        let mut tx = self.store.db.begin().await?;
        // What is stored in the channel meanwhile is stored by the setting of before.
        lock_one(&mut tx, channel).await?;
        let known: Option<(bool,)> =
            tx.fetch_optional(query_as(KEEPS_EARLIER_TEXTS).bind(c)).await?;
        let before = known.is_some_and(|(keeps,)| keeps);
        if before != keep {
            tx.execute(if keep {
                query(KEEP_EARLIER_TEXTS).bind(c)
            } else {
                query(END_EARLIER_TEXTS).bind(c).bind(now.millis())
            })
            .await?;
            if !keep {
                outdate_all_exports(&mut tx, channel).await?;
            }
            let [before, after] = [before, keep].map(|keeps| if keeps { "true" } else { "false" });
            let (kind, before, after) = (ChangeKind::EarlierTexts, Some(before), Some(after));
            let change = NewChange { channel, by, kind, subject: None, before, after };
            log_change(&mut tx, change, now).await?;
        }
        tx.commit().await
    }

    /// Returns the channels that have switched earlier texts off and whose stored ones are still to
    /// be erased, with the times of that.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn with_texts_to_erase(&self) -> Result<Vec<(ChannelId, Timestamp)>, StoreError> {
        let rows: Vec<(String, i64)> = self.store.db.fetch_all(query_as(TO_ERASE)).await?;
        let channel = |(id, ended)| (ChannelId::new(id), Timestamp::from_millis(ended));
        Ok(rows.into_iter().map(channel).collect())
    }

    /// Records that no earlier text is left of a channel that had switched them off at that time.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn note_texts_erased(
        &self,
        channel: &ChannelId,
        ended: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        lock_one(&mut tx, channel).await?;
        tx.execute(query(ERASED).bind(channel.as_str()).bind(ended.millis())).await?;
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
