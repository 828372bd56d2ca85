//! Jobs: follow-up work that one stage leaves on the bus for another.

use std::collections::BTreeMap;

use chatkeep_core::bus::{Outgoing, Stream};
use chatkeep_core::id::{ChannelId, MessageId};
use serde::{Deserialize, Serialize};

/// The queue of the indexer.
pub const INDEX: &str = "index";

/// Messages in one job, at most.
const MESSAGES: usize = 500;

/// Messages of one shard whose kept state changed. The indexer reads that state itself, so that
/// late and repeated jobs are harmless.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexJob {
    /// Version of this form: 1.
    pub v: u8,
    /// Channel and message ids.
    pub messages: Vec<(ChannelId, MessageId)>,
}

/// The jobs that tell the indexer of changed messages, one or more a shard. `cause` (a batch's
/// first event id) makes publishing them again after a crash harmless.
///
/// # Errors
/// Never in practice: a job is always valid JSON.
pub fn index_jobs(
    changed: impl IntoIterator<Item = (ChannelId, MessageId)>,
    cause: &str,
) -> Result<Vec<Outgoing>, serde_json::Error> {
    let mut shards: BTreeMap<u32, Vec<(ChannelId, MessageId)>> = BTreeMap::new();
    for (channel, message) in changed {
        shards.entry(channel.shard()).or_default().push((channel, message));
    }
    let mut jobs = Vec::with_capacity(shards.len());
    for (shard, messages) in shards {
        for (part, messages) in messages.chunks(MESSAGES).enumerate() {
            let last = messages.last().map_or("", |(_, id)| id.as_str());
            let job = IndexJob { v: 1, messages: messages.to_vec() };
            jobs.push(Outgoing {
                subject: format!("{}.{INDEX}.{shard}", Stream::Jobs.prefix()),
                id: format!("{INDEX}:{cause}:{shard}:{part}:{}:{last}", messages.len()),
                payload: serde_json::to_vec(&job)?.into(),
            });
        }
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_a_shard_and_the_same_id_again() {
        let changed: Vec<(ChannelId, MessageId)> =
            vec![("C1".into(), "1".into()), ("C2".into(), "2".into()), ("C1".into(), "3".into())];
        let jobs = index_jobs(changed.clone(), "E").unwrap();
        assert_eq!(jobs.len(), 2);
        let again = index_jobs(changed, "E").unwrap();
        assert_eq!(jobs[0].id, again[0].id);
        let job: IndexJob = serde_json::from_slice(&jobs[0].payload).unwrap();
        assert_eq!(job.v, 1);
    }
}
