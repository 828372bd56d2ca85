//! State of a replica, as seen by its process and, through the registry of processes, by all
//! others.

use chatkeep_core::named;
use chatkeep_store::OutboxPosition;
use serde::{Deserialize, Serialize};

/// Phase of a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplicaPhase {
    /// It has just been opened, and may be behind.
    #[default]
    CatchingUp,
    /// It is being filled from the store.
    Filling,
    /// It has caught up with the event log, and serves requests.
    Ready,
    /// It cannot follow the event log, and serves no requests.
    Failing,
}

named! {
    pub ReplicaPhase {
        CatchingUp = "catching_up",
        Filling = "filling",
        Ready = "ready",
        Failing = "failing",
    }
}

/// Progress on a whole index or channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaWork {
    /// Number of messages read so far.
    pub done: u64,
    /// Number of messages to read, counted at the start.
    pub total: u64,
}

/// The state of a replica.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaState {
    /// Phase.
    pub phase: ReplicaPhase,
    /// Epoch of the event log that [`ReplicaState::position`] belongs to.
    pub epoch: String,
    /// Last logged position that is in the index.
    pub position: OutboxPosition,
    /// End of the log when the index was filled.
    pub filled: OutboxPosition,
    /// Number of messages in the index.
    pub messages: u64,
    /// Fill or rebuild under way. A rebuild runs beside the index that serves requests.
    pub work: Option<ReplicaWork>,
    /// Reason of the last failure, while it lasts.
    pub error: Option<String>,
}

impl ReplicaState {
    /// Returns one sentence about why this replica serves no requests; `None` if it does.
    pub fn unready(&self) -> Option<String> {
        match (self.phase, &self.work, &self.error) {
            (ReplicaPhase::Ready, ..) => None,
            (ReplicaPhase::CatchingUp, ..) => {
                Some("the search index is catching up with the store".to_owned())
            }
            (ReplicaPhase::Filling, Some(ReplicaWork { done, total }), _) => {
                Some(format!("the search index is being filled: {done} of {total} messages"))
            }
            (ReplicaPhase::Filling, None, _) => Some("the search index is being filled".to_owned()),
            (ReplicaPhase::Failing, _, error) => {
                let error = error.as_deref().unwrap_or("unknown reason");
                Some(format!("the search index cannot follow the store: {error}"))
            }
        }
    }
}
