//! Where a replica stands in the store's event log; kept in each commit of its index, so that index
//! and position never differ.

use chatkeep_core::store::{LogState, Place};
use serde::{Deserialize, Serialize};

/// The position of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// The epoch of the log that it follows.
    pub epoch: String,
    /// Everything up to here is in the index.
    pub at: Place,
    /// Where the log ended when the index was filled.
    pub filled: Place,
}

impl LogPosition {
    /// The position of an index that is filled from the store as of now.
    pub fn start(log: &LogState) -> Self {
        // What was purged is in the store, whatever the rest of the log says.
        let end = log.end.max(log.purged);
        Self { epoch: log.epoch.clone(), at: end, filled: end }
    }

    /// Reads what a commit says; `None` if this version did not write it.
    pub fn parse(progress: &str) -> Option<Self> {
        serde_json::from_str(progress).ok()
    }

    /// The text for a commit.
    pub fn to_progress(&self) -> String {
        // Two numbers and a name: there is nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The reason why an index at this position cannot go on following the log, and has to be
    /// filled anew.
    pub fn broken(&self, log: &LogState) -> Option<&'static str> {
        if self.epoch != log.epoch {
            Some("the event log began anew")
        } else if self.at > log.limit.max(log.end).max(log.purged) {
            Some("it is of a later state of the database")
        } else if self.at < log.purged {
            Some("it fell behind what the event log keeps")
        } else {
            None
        }
    }

    /// Whether somebody asked for a rebuild after this index was filled.
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
            purged: Place(0, 10),
            end: Place(0, 50),
            limit: Place(0, 50),
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
        let at = |seq| LogPosition { at: Place(0, seq), ..LogPosition::start(&log()) };
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
            let log = LogState { purged: Place(0, purged), end: Place(0, end), ..log() };
            assert_eq!(LogPosition::start(&log).broken(&log), None);
        }
    }

    #[test]
    fn a_rebuild_is_due_until_the_index_is_newer_than_the_request() {
        let position = LogPosition::start(&log());
        let asked = |seq| LogState { rebuild: Some(Place(0, seq)), ..log() };
        assert!(!position.is_rebuild_due(&log()));
        assert!(!position.is_rebuild_due(&asked(50)));
        assert!(position.is_rebuild_due(&asked(51)));
    }
}
