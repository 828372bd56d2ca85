//! The state of a replica, as its process and, through the registry of processes, everybody else
//! sees it.

use chatkeep_core::store::Place;
use serde::{Deserialize, Serialize};

/// The phases of a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaPhase {
    /// It has just been opened, and may be behind.
    #[default]
    CatchingUp,
    /// It is being filled from the store.
    Filling,
    /// It has caught up with the event log, and is asked.
    Ready,
    /// It cannot follow the event log, and is not asked.
    Failing,
}

impl ReplicaPhase {
    /// Its name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CatchingUp => "catching_up",
            Self::Filling => "filling",
            Self::Ready => "ready",
            Self::Failing => "failing",
        }
    }
}

/// Work on a whole index or channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaWork {
    /// Messages read so far.
    pub done: u64,
    /// Messages to read, as counted when the work began.
    pub total: u64,
}

/// The state of a replica.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaState {
    /// Its phase.
    pub phase: ReplicaPhase,
    /// The epoch of the event log that [`ReplicaState::position`] belongs to.
    pub epoch: String,
    /// Everything logged up to here is in the index.
    pub position: Place,
    /// Where the log ended when the index was filled.
    pub filled: Place,
    /// Messages in the index.
    pub messages: u64,
    /// The filling or rebuilding under way. A rebuild goes on beside the index that is asked.
    pub work: Option<ReplicaWork>,
    /// The reason of the last failure, while it lasts.
    pub error: Option<String>,
}

impl ReplicaState {
    /// One sentence about why this replica is not asked; `None` if it is.
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
