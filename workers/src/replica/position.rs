//! Position of a replica in the store's event log; stored in each commit of its index, so that
//! index and position never differ.

use chatkeep_store::{LogState, OutboxPosition};
use serde::{Deserialize, Serialize};

/// The position of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// Epoch of the log that it follows.
    pub epoch: String,
    /// Last position that is in the index.
    pub at: OutboxPosition,
    /// End of the log when the index was filled.
    pub filled: OutboxPosition,
}

impl LogPosition {
    /// Returns the position of an index that is filled from the store's current state.
    pub fn start(log: &LogState) -> Self {
        // Purged rows are in the store, whatever the rest of the log says.
        let end = log.end.max(log.purged);
        Self { epoch: log.epoch.clone(), at: end, filled: end }
    }

    /// Parses the progress of a commit; `None` if this version did not write it.
    pub fn parse(progress: &str) -> Option<Self> {
        serde_json::from_str(progress).ok()
    }

    /// Returns the progress for a commit.
    pub fn to_progress(&self) -> String {
        // Two numbers and a name: JSON can represent them all.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the reason why an index at this position cannot follow the log any more, and has to
    /// be filled anew.
    pub fn broken(&self, log: &LogState) -> Option<&'static str> {
        if self.epoch != log.epoch {
            Some("the event log began anew")
        } else if self.at > log.latest() {
            Some("it is of a later state of the database")
        } else if self.at < log.purged {
            Some("it fell behind what the event log keeps")
        } else {
            None
        }
    }

    /// Returns whether a rebuild was requested after this index was filled.
    pub fn is_rebuild_due(&self, log: &LogState) -> bool {
        log.rebuild.is_some_and(|asked| asked > self.filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> LogState {
        LogState {
            epoch: "a".to_owned(),
            purged: OutboxPosition(0, 10),
            end: OutboxPosition(0, 50),
            limit: OutboxPosition(0, 50),
            rebuild: None,
        }
    }

    #[test]
    fn a_position_survives_its_commit() {
        let position = LogPosition::start(&log());
        assert_eq!(LogPosition::parse(&position.to_progress()), Some(position));
        assert_eq!(LogPosition::parse("filled"), None);
    }

    #[test]
    fn an_index_that_missed_something_is_filled_anew() {
        let at = |seq| LogPosition { at: OutboxPosition(0, seq), ..LogPosition::start(&log()) };
        assert_eq!(at(10).broken(&log()), None);
        assert_eq!(at(50).broken(&log()), None);
        assert!(at(9).broken(&log()).is_some(), "purged");
        assert!(at(51).broken(&log()).is_some(), "of a later state");
        let other = LogPosition { epoch: "b".to_owned(), ..at(50) };
        assert!(other.broken(&log()).is_some(), "another log");
    }

    #[test]
    fn a_filled_index_is_never_filled_again_for_the_same_log() {
        for (purged, end) in [(10, 50), (60, 0)] {
            let log = LogState {
                purged: OutboxPosition(0, purged),
                end: OutboxPosition(0, end),
                ..log()
            };
            assert_eq!(LogPosition::start(&log).broken(&log), None);
        }
    }

    #[test]
    fn a_rebuild_is_due_until_the_index_is_newer_than_the_request() {
        let position = LogPosition::start(&log());
        let asked = |seq| LogState { rebuild: Some(OutboxPosition(0, seq)), ..log() };
        assert!(!position.is_rebuild_due(&log()));
        assert!(!position.is_rebuild_due(&asked(50)));
        assert!(position.is_rebuild_due(&asked(51)));
    }
}
