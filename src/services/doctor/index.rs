//! Check of search indexes against the store: those in local folders, and those of running
//! processes, which compare themselves on request.

use std::collections::{BTreeMap, BTreeSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::causes::with_causes;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_index::search::MessageIndex;
use chatkeep_store::{Check, Difference, IndexRequest, LoggedChanges, OutboxPosition, Store};
use chatkeep_workers::replica::{Drift, IndexAudit, LogPosition};

use super::report::ReportWriter;
use super::{Doctor, DoctorError};

/// Maximum number of messages named in one line.
const NAMED: usize = 5;
/// Page size when reading the log.
const ROWS: u32 = 5_000;
/// Maximum lag, in changes, of an index that is still compared.
const BEHIND: usize = 200_000;

type Key = (ChannelId, MessageId);

/// Search index in a local folder.
pub struct LocalIndex {
    /// Prefix of lines about it; empty where there is only one.
    pub name: String,
    pub index: MessageIndex,
    /// True if a process updates it.
    pub running: bool,
}

impl std::fmt::Debug for LocalIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalIndex").field("name", &self.name).finish_non_exhaustive()
    }
}

impl LocalIndex {
    /// Creates the only index, with or without a process that updates it.
    pub fn only(index: MessageIndex, running: bool) -> Self {
        Self { name: String::new(), index, running }
    }

    /// Returns the position up to which it has read the log.
    pub fn position(&self) -> Option<LogPosition> {
        self.index.position().as_deref().and_then(LogPosition::parse)
    }

    /// Returns its name for use in a sentence.
    pub fn known(&self) -> &str {
        if self.name.is_empty() { "the index" } else { &self.name }
    }

    /// Returns the messages that it has yet to read from the log; `None` if it is to be rebuilt, or
    /// too far behind to be compared.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    #[boxed]
    pub async fn unread(&self, store: &Store) -> Result<Option<BTreeSet<Key>>, DoctorError> {
        let log = store.outbox().log_state().await?;
        let Some(position) = self.position().filter(|position| position.broken(&log).is_none())
        else {
            return Ok(None);
        };
        let (mut at, mut behind) = (position.last, BTreeSet::new());
        loop {
            let Some(changes) = store.outbox().logged_changes(at, ROWS).await? else {
                return Ok(None);
            };
            let LoggedChanges { messages, next, more, channels, .. } = changes;
            behind.extend(messages);
            at = next;
            if !channels.is_empty() || behind.len() > BEHIND {
                return Ok(None);
            }
            if !more {
                return Ok(Some(behind));
            }
        }
    }
}

impl Doctor<'_> {
    /// Compares the indexes in local folders.
    pub(super) async fn local_indexes(
        &self,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        for local in self.indexes {
            match self.local_index(local, report).await {
                Err(error) if error.is_of_index() => {
                    let (name, error) = (local.known(), with_causes(&error));
                    report.uncheck(format!("{name} is not compared: {error}"));
                }
                done => done?,
            }
        }
        Ok(())
    }

    async fn local_index(
        &self,
        local: &LocalIndex,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let behind =
            if local.running { Some(BTreeSet::new()) } else { local.unread(self.store).await? };
        let Some(behind) = behind else {
            let name = local.known();
            let why = "it is brought up to date at the next start";
            report.skip(format!("{name} is not compared: {why}"));
            return Ok(());
        };
        report.checked.replicas += 1;
        match &self.options.channels {
            None => self.part(local, &behind, None, report).await,
            Some(channels) => {
                for channel in channels {
                    self.part(local, &behind, Some(channel), report).await?;
                }
                Ok(())
            }
        }
    }

    async fn part(
        &self,
        local: &LocalIndex,
        behind: &BTreeSet<Key>,
        only: Option<&ChannelId>,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let mut audit = IndexAudit::new(self.store, &local.index, only, self.options.timeout);
        let mut compared = 0;
        while let Some((mut drifts, read)) = audit.next().await? {
            compared += i64::try_from(read).unwrap_or(i64::MAX);
            drifts.retain(|key, _| !behind.contains(key));
            self.set_right(BTreeMap::from([(local.name.clone(), drifts)]), report).await?;
        }
        report.compared(compared);
        Ok(())
    }

    /// Reports the drifts of indexes by their names, and makes all replicas reindex the messages that
    /// differ in one of them. What cannot be read is not repaired by that.
    pub(super) async fn set_right(
        &self,
        found: BTreeMap<String, BTreeMap<Key, Drift>>,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let readable = |(_, drift): &(&Key, &Drift)| **drift != Drift::Unreadable;
        let keys: BTreeSet<_> = found
            .values()
            .flat_map(|drifts| drifts.iter().filter(readable).map(|(key, _)| key.clone()))
            .collect();
        let repaired = if keys.is_empty() { None } else { self.reindex(keys).await? };
        for (name, drifts) in found {
            let (unreadable, drifts) =
                drifts.into_iter().partition(|(_, drift)| *drift == Drift::Unreadable);
            report.add(lines(&name, drifts), repaired.is_some());
            report.add(lines(&name, unreadable), false);
        }
        Ok(())
    }

    /// Makes every replica reindex these messages. Returns the position in the log at which that is
    /// done; `None` if there is nothing to repair.
    async fn reindex(
        &self,
        messages: BTreeSet<Key>,
    ) -> Result<Option<OutboxPosition>, DoctorError> {
        let Some(repair) = &self.options.repair else {
            return Ok(None);
        };
        let request = IndexRequest::Messages(&messages);
        Ok(Some(self.store.outbox().request_indexing(request, repair.clock.now()).await?))
    }
}

/// Summarises a channel's drifts in one line each.
fn lines(name: &str, drifts: BTreeMap<Key, Drift>) -> Vec<Difference> {
    let mut groups: BTreeMap<(ChannelId, Drift), Vec<MessageId>> = BTreeMap::new();
    for ((channel, message), drift) in drifts {
        groups.entry((channel, drift)).or_default().push(message);
    }
    let line = |((channel, drift), messages): ((ChannelId, Drift), Vec<MessageId>)| {
        let named: Vec<_> = messages.iter().take(NAMED).map(MessageId::as_str).collect();
        let more = if messages.len() > NAMED { ", …" } else { "" };
        let place = format!("{channel} {}{more}", named.join(", "));
        let place = if name.is_empty() { place } else { format!("{name}: {place}") };
        let (recorded, truth) = match drift {
            Drift::Missing => ("not found", "kept"),
            Drift::Extra => ("found", "not kept"),
            Drift::Repeated => ("found twice", "kept"),
            Drift::Unreadable => ("not as stored", "kept, but their content cannot be read"),
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
