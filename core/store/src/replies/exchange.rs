//! Stores a reply with the message that it replies to, in that order.

use chatkeep_core::time::Timestamp;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::ingest::{ChannelChange, IngestOutcome, ingest_in, lock_ledger};
use super::super::presence_evidence::{PresenceEvidence, record_presence_in};

/// Content to store for a reply that was sent.
///
/// The original message is stored with it unless another stage has stored it already: so its event
/// precedes the reply's in the log, whichever stage comes first and however many processes run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchange<'a> {
    /// Message replied to.
    pub question: &'a [ChannelChange],
    /// Evidence of the welcomed person.
    pub joined: &'a [PresenceEvidence],
    /// The bot's own messages.
    pub own: &'a [ChannelChange],
}

/// Stores an exchange in its order, and returns the outcome for the question.
pub(super) async fn store_exchange(
    tx: &mut Tx,
    exchange: Exchange<'_>,
    now: Timestamp,
) -> Result<Vec<IngestOutcome>, StoreError> {
    let Exchange { question, joined, own } = exchange;
    if own.is_empty() {
        return Ok(Vec::new());
    }
    // The first locked row: the transactions of one channel take their positions in the log in the
    // order in which they get this lock.
    lock_ledger(tx, &own.iter().map(|change| &change.channel).collect()).await?;
    record_presence_in(tx, joined, now).await?;
    let all: Vec<_> = question.iter().chain(own).cloned().collect();
    let mut kept = ingest_in(tx, &all, now).await?;
    kept.truncate(question.len());
    Ok(kept)
}
