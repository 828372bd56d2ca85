//! Gaps of a channel in the time of a page.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Gap, MessageFilter, Order, PeriodCoverage};

use super::ServiceError;
use super::messages::MessageService;

/// Maximum number of channels whose gaps are examined at once.
const EXAMINED: usize = 1_000;

/// Time of a page: from its oldest to its newest message, and where nothing more follows, to the
/// end of the requested range, also where the reader may not read all of it. All pages of a list
/// together cover that range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpan {
    /// Start; `None` for the start of the channel.
    pub from: Option<Timestamp>,
    /// End; `None` for now.
    pub to: Option<Timestamp>,
}

/// Gaps of several channels.
#[derive(Debug, Default)]
pub struct ChannelGaps {
    /// Gaps of each channel that has any, in the order of the channels.
    pub of: Vec<(ChannelId, Vec<Gap>)>,
    /// Channels of whose messages in the time some were removed, and the time before which these were
    /// sent.
    pub removed: Vec<(ChannelId, Timestamp)>,
    /// Channels whose backup began later than the start of the time, and the time before which
    /// nothing of them is stored: when it did, or when their oldest imported message was sent.
    pub begun: Vec<(ChannelId, Timestamp)>,
    /// Channels whose backup began later than the start of the time, and when it did, with imported
    /// messages before that: nothing else is stored of that time.
    pub imported: Vec<(ChannelId, Timestamp)>,
    /// Time before which the reader may read nothing, if the time begins before it.
    pub unreadable: Option<Timestamp>,
    /// Number of channels that were not examined, because there were too many.
    pub unexamined: usize,
}

impl TimeSpan {
    /// Returns the part of this time that is also within these bounds.
    pub(super) fn within(self, (from, to): (Option<Timestamp>, Option<Timestamp>)) -> Self {
        let to = match (self.to, to) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { from: self.from.max(from), to }
    }

    /// Returns the time of a page of all that was requested, which follows the filter's position.
    pub(super) fn of_page(self, filter: &MessageFilter, next: Option<Timestamp>) -> Self {
        let after = filter.after.as_ref().map(|(at, _)| *at);
        match filter.order {
            Order::Descending => Self { from: next.or(self.from), to: after.or(self.to) },
            Order::Ascending => Self { from: after.or(self.from), to: next.or(self.to) },
        }
    }
}

impl ChannelGaps {
    /// Adds a channel whose backup began later than the start of a time that ends at `to`, with its
    /// oldest message.
    fn add_begin(
        &mut self,
        channel: &ChannelId,
        begin: Timestamp,
        oldest: Option<Timestamp>,
        to: Option<Timestamp>,
    ) {
        match oldest.filter(|oldest| *oldest < begin) {
            Some(oldest) if to.is_none_or(|to| oldest < to) => {
                self.imported.push((channel.clone(), begin));
            }
            oldest => self.begun.push((channel.clone(), oldest.unwrap_or(begin))),
        }
    }
}

impl MessageService {
    /// Returns the gaps of a channel that overlap the given time, within the bounds; those of people
    /// who opted out [joined](Gap::joined).
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn gaps(
        &self,
        bounds: &Bounds,
        channel: &ChannelId,
        span: TimeSpan,
    ) -> Result<Vec<Gap>, ServiceError> {
        Ok(Gap::joined(self.each_gap(bounds, channel, span).await?))
    }

    /// Returns the gaps of the first thousand of these channels that overlap the given time, within
    /// the bounds; those of people who opted out [joined](Gap::joined). And what was removed of them,
    /// since when they are backed up, and since when the reader may read: nothing else tells that
    /// messages of long ago are missing.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn gaps_of(
        &self,
        bounds: &Bounds,
        channels: &[ChannelId],
        span: TimeSpan,
    ) -> Result<ChannelGaps, ServiceError> {
        let examined = &channels[..channels.len().min(EXAMINED)];
        let from = span.from.max(bounds.not_before);
        let unreadable =
            bounds.not_before.filter(|start| span.from.is_none_or(|from| from < *start));
        if bounds.not_before.zip(span.to).is_some_and(|(start, to)| to <= start) {
            // Of none of that time the reader may know anything.
            return Ok(ChannelGaps { unreadable, ..ChannelGaps::default() });
        }
        let covered = self.store.messages().coverage_in(examined, from, span.to).await?;
        let is_begun = |coverage: &PeriodCoverage| from.is_none_or(|from| from < coverage.begin);
        let late = covered.iter().filter(|(_, coverage)| is_begun(coverage));
        let late: Vec<_> = late.map(|(channel, _)| channel.clone()).collect();
        let oldest = self.store.messages().oldest_in(&late, bounds.not_before).await?;
        let mut found = ChannelGaps {
            unexamined: channels.len() - examined.len(),
            unreadable,
            ..ChannelGaps::default()
        };
        for channel in examined {
            let Some(coverage) = covered.get(channel) else { continue };
            let begin = coverage.begin;
            let is_begun = is_begun(coverage);
            if is_begun {
                found.add_begin(channel, begin, oldest.get(channel).copied(), span.to);
            }
            // What is said of the time before the backup says it of the first gap, too.
            let is_before = |gap: &Gap| is_begun && gap.to.is_some_and(|to| to <= begin);
            let gaps = coverage.gaps.iter().filter(|gap| !is_before(gap) && !gap.is_moment());
            let gaps = Gap::joined(gaps.filter_map(|gap| gap.clone().since(bounds.not_before)));
            if !gaps.is_empty() {
                found.of.push((channel.clone(), gaps));
            }
        }
        let removed = self.store.channels().removed_before(examined).await?;
        let begins: HashMap<_, _> = found.begun.iter().map(|(id, at)| (id, *at)).collect();
        let in_time = |(channel, before): &(ChannelId, Timestamp)| {
            from.is_none_or(|from| from < *before)
                && begins.get(channel).is_none_or(|begin| begin < before)
        };
        found.removed = removed.into_iter().filter(in_time).collect();
        Ok(found)
    }

    /// Returns the gaps of a channel that overlap the given time, within the bounds; those of people
    /// who opted out by day, for a list in which each stands at its time.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn each_gap(
        &self,
        bounds: &Bounds,
        channel: &ChannelId,
        span: TimeSpan,
    ) -> Result<Vec<Gap>, ServiceError> {
        let from = span.from.max(bounds.not_before);
        let gaps = self.store.messages().gaps(channel, from, span.to).await?;
        let gaps = gaps.into_iter().filter(|gap| !gap.is_moment());
        Ok(gaps.filter_map(|gap| gap.since(bounds.not_before)).collect())
    }
}
