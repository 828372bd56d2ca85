//! Consistency check: every counter is recomputed from the rows that it counts, and repaired where
//! it differs (docs/architecture.md#rule-3).
//!
//! A channel is checked in one snapshot, so that the result is exact while the service runs. A
//! repair recomputes everything under the locks that every writer takes, and writes in that same
//! transaction. Rows are read page by page: memory does not grow with them.
//!
//! Data that cannot be recomputed is not checked: names and pictures, membership times, the
//! messages skipped in a gap. Ended subscriptions count for nothing, so their baselines are left.

mod activity;
mod count;
mod gaps;
mod loose;
mod media;
mod media_repair;
mod rules;
mod users;

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::db::Tx;
use super::exports::outdate_exports;
use super::ingest::lock_ledger;
use super::subscriptions::resume;
use super::{AuditStore, StoreError};
use crate::query::{query, query_as};

pub use media::{MediaAudit, MediaFault};
pub use media_repair::MediaRepair;
pub use users::UserAudit;

use count::{ChannelCounts, recount};

/// Kind of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// `channels.bytes` against messages and media.
    ChannelBytes,
    /// `channels.message_count` against messages.
    ChannelMessages,
    /// `subscriptions.bytes_at_subscribe` against what was there then and still is.
    Baseline,
    /// A retracted message has no content.
    TakenBack,
    /// Quota gaps: their start and end.
    Gap,
    /// `qa_rules.hit_count` and `suppressed_count` against replies.
    RuleHits,
    /// `users.used_bytes` against channels and baselines.
    UserBytes,
    /// The newest day of `usage_days` against the usage of the user.
    UsageDay,
    /// Last recorded usage status against the present one.
    UserStatus,
    /// A media record against its message and its own state.
    MediaRecord,
    /// A media record against its file.
    MediaFile,
    /// A media record against its preview picture.
    MediaPreview,
    /// A file against the records that reference it.
    File,
    /// `activity_counters` against messages and media.
    Activity,
    /// Rows of missing channels.
    LooseRows,
    /// The search index against messages.
    Index,
}

impl Check {
    /// Returns the name of the check for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ChannelBytes => "bytes of the channel",
            Self::ChannelMessages => "messages of the channel",
            Self::Baseline => "baseline of the subscription",
            Self::TakenBack => "retracted message",
            Self::Gap => "gap",
            Self::RuleHits => "hits of the rule",
            Self::UserBytes => "used bytes of the user",
            Self::UsageDay => "usage of the newest day",
            Self::UserStatus => "usage status of the user",
            Self::MediaRecord => "media record",
            Self::MediaFile => "media file",
            Self::MediaPreview => "preview",
            Self::File => "file in the media store",
            Self::Activity => "activity counter",
            Self::LooseRows => "rows without a channel",
            Self::Index => "search index",
        }
    }
}

/// Difference between a recorded and a recomputed value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Kind of the check.
    pub check: Check,
    /// Location: ids, separated by a blank.
    pub place: String,
    /// Recorded value.
    pub recorded: String,
    /// True value.
    pub truth: String,
}

impl Difference {
    /// Creates a difference.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and words as they come")]
    pub fn new(
        check: Check,
        place: impl Into<String>,
        recorded: impl ToString,
        truth: impl ToString,
    ) -> Self {
        let (recorded, truth) = (recorded.to_string(), truth.to_string());
        Self { check, place: place.into(), recorded, truth }
    }
}

/// Result of the check of a channel.
#[derive(Clone, Debug, Default)]
pub struct ChannelAudit {
    /// Differences.
    pub differences: Vec<Difference>,
    /// Error of each subscriber's part of the channel by its counters, in bytes: true less
    /// recorded. Only the subscribers with an error.
    pub parts: Vec<(UserId, i64)>,
    /// Number of checked messages, tombstones included.
    pub messages: i64,
}

const COUNTERS: &str = "SELECT bytes, message_count FROM channels WHERE channel_id = $1";
const SET_COUNTERS: &str =
    "UPDATE channels SET bytes = $2, message_count = $3 WHERE channel_id = $1";
const SET_BASELINE: &str = "
    UPDATE subscriptions SET bytes_at_subscribe = $3 WHERE channel_id = $1 AND user_id = $2";
const FORGET: &str = "
    UPDATE messages SET content = NULL, earlier_texts = NULL
    WHERE channel_id = $1 AND unsent_at IS NOT NULL
      AND (content IS NOT NULL OR earlier_texts IS NOT NULL)
    RETURNING sent_at";

impl AuditStore<'_> {
    /// Compares a channel's counters, baselines, gaps, rules and activity with its rows, in one snapshot.
    /// `None` when there is no such channel.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn audit_channel(
        &self,
        channel: &ChannelId,
    ) -> Result<Option<ChannelAudit>, StoreError> {
        let mut tx = self.store.db.snapshot().await?;
        let audit = audit_in(&mut tx, channel).await?;
        tx.commit().await?;
        Ok(audit)
    }

    /// Repairs the differences of [`AuditStore::audit_channel`](crate::AuditStore::audit_channel).
    /// Users' own counters are left to [`AuditStore::repair_user`](crate::AuditStore::repair_user).
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn repair_channel(
        &self,
        channel: &ChannelId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        lock_ledger(&mut tx, &BTreeSet::from([channel])).await?;
        rules::lock(&mut tx, channel).await?;
        let forgotten: Vec<(Option<i64>,)> =
            tx.fetch_all(query_as(FORGET).bind(channel.as_str())).await?;
        let sent = forgotten.iter().filter_map(|(at,)| at.map(Timestamp::from_millis));
        outdate_exports(&mut tx, sent.map(|at| (channel, at))).await?;
        let count = recount(&mut tx, channel).await?;
        save(&mut tx, channel, &count).await?;
        rules::mend(&mut tx, channel).await?;
        activity::mend(&mut tx, channel).await?;
        gaps::mend(&mut tx, channel).await?;
        resume(&mut tx, &BTreeSet::from([channel.clone()]), now).await?;
        tx.commit().await
    }
}

async fn audit_in(tx: &mut Tx, channel: &ChannelId) -> Result<Option<ChannelAudit>, StoreError> {
    let c = channel.as_str();
    let counters: Option<(i64, i64)> = tx.fetch_optional(query_as(COUNTERS).bind(c)).await?;
    let Some((bytes, messages)) = counters else {
        return Ok(None);
    };
    let count = recount(tx, channel).await?;
    let mut audit = ChannelAudit { messages: count.rows, ..ChannelAudit::default() };
    let found = &mut audit.differences;
    if bytes != count.bytes {
        found.push(Difference::new(Check::ChannelBytes, c, bytes, count.bytes));
    }
    if messages != count.messages {
        found.push(Difference::new(Check::ChannelMessages, c, messages, count.messages));
    }
    if count.taken_back > 0 {
        let recorded = format!("{} with content", count.taken_back);
        found.push(Difference::new(Check::TakenBack, c, recorded, "no content"));
    }
    for part in &count.parts {
        if part.recorded != part.truth {
            let place = format!("{c} {}", part.user);
            found.push(Difference::new(Check::Baseline, place, part.recorded, part.truth));
        }
        let off = (count.bytes - part.truth) - (bytes - part.recorded);
        if off != 0 {
            audit.parts.push((part.user.clone(), off));
        }
    }
    audit.differences.extend(gaps::audit(tx, channel).await?);
    audit.differences.extend(rules::audit(tx, channel).await?);
    audit.differences.extend(activity::audit(tx, channel).await?);
    Ok(Some(audit))
}

async fn save(tx: &mut Tx, channel: &ChannelId, count: &ChannelCounts) -> Result<(), StoreError> {
    let c = channel.as_str();
    tx.execute(query(SET_COUNTERS).bind(c).bind(count.bytes).bind(count.messages)).await?;
    for part in count.parts.iter().filter(|part| part.recorded != part.truth) {
        tx.execute(query(SET_BASELINE).bind(c).bind(part.user.as_str()).bind(part.truth)).await?;
    }
    Ok(())
}
