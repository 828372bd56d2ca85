//! The search index against the store.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::store::{Check, Difference};
use chatkeep_index::search::MessageIndex;
use chatkeep_workers::indexer::{self, Drift, IndexAudit};
use chatkeep_workers::jobs::index_jobs;

use super::report::Writer;
use super::{Doctor, DoctorError};

/// Messages named in one line.
const NAMED: usize = 5;

impl Doctor<'_> {
    pub(super) async fn index(
        &self,
        index: &MessageIndex,
        report: &mut Writer<'_>,
    ) -> Result<(), DoctorError> {
        report.looked.indexed = Some(0);
        match &self.options.channels {
            None => self.part(index, None, report).await,
            Some(channels) => {
                for channel in channels {
                    self.part(index, Some(channel), report).await?;
                }
                Ok(())
            }
        }
    }

    async fn part(
        &self,
        index: &MessageIndex,
        only: Option<&ChannelId>,
        report: &mut Writer<'_>,
    ) -> Result<(), DoctorError> {
        let mut audit = IndexAudit::new(self.store, index, only, self.options.patience);
        while let Some((drifts, read)) = audit.next().await? {
            if let Some(indexed) = &mut report.looked.indexed {
                *indexed += i64::try_from(read).unwrap_or(i64::MAX);
            }
            if drifts.is_empty() {
                continue;
            }
            let mended = self.reindex(index, drifts.keys().cloned().collect()).await?;
            report.add(lines(drifts), mended);
        }
        Ok(())
    }

    /// Makes the index what the store says, here or by whoever writes it.
    async fn reindex(
        &self,
        index: &MessageIndex,
        messages: BTreeSet<(ChannelId, MessageId)>,
    ) -> Result<bool, DoctorError> {
        let Some(repair) = &self.options.repair else {
            return Ok(false);
        };
        if indexer::mend(self.store, index, &messages).await? {
            return Ok(true);
        }
        let Some(bus) = &repair.bus else {
            return Ok(false);
        };
        bus.publish(index_jobs(messages, &crate::api::random::text(16))?).await?;
        Ok(true)
    }
}

/// One line for what a channel's messages have in common.
fn lines(drifts: BTreeMap<(ChannelId, MessageId), Drift>) -> Vec<Difference> {
    let mut groups: BTreeMap<(ChannelId, Drift), Vec<MessageId>> = BTreeMap::new();
    for ((channel, message), drift) in drifts {
        groups.entry((channel, drift)).or_default().push(message);
    }
    let line = |((channel, drift), messages): ((ChannelId, Drift), Vec<MessageId>)| {
        let named: Vec<_> = messages.iter().take(NAMED).map(MessageId::as_str).collect();
        let more = if messages.len() > NAMED { ", …" } else { "" };
        let place = format!("{channel} {}{more}", named.join(", "));
        let (recorded, truth) = match drift {
            Drift::Missing => ("not found", "kept"),
            Drift::Extra => ("found", "not kept"),
            Drift::Repeated => ("found twice", "kept"),
        };
        let count = messages.len();
        Difference::new(
            Check::Index,
            place,
            format!("{count} {recorded}"),
            format!("{count} {truth}"),
        )
    };
    groups.into_iter().map(line).collect()
}
