//! Position of a replica in the store's event log; stored in each commit of its index, so that
//! index and position never differ.

use chatkeep_store::{Bookmark, LogState, OutboxPosition};
use serde::{Deserialize, Serialize};

/// The position of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// Epoch of the log that it follows.
    pub epoch: String,
    /// Last event that is in the index.
    #[serde(rename = "at")]
    pub last: Bookmark,
    /// End of the log when the index was filled.
    pub filled: OutboxPosition,
}

impl LogPosition {
    /// Returns the position of an index that is filled from the store's current state.
    pub fn start(log: &LogState) -> Self {
        let last = log.newest();
        Self { epoch: log.epoch.clone(), last, filled: last.at }
    }

    /// Parses the position of a commit; `None` if this version did not write it.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the text for a commit.
    pub fn to_text(&self) -> String {
        // Two numbers and a name: JSON can represent them all.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the reason why an index at this position cannot follow the log any more, and has to
    /// be filled anew.
    pub fn broken(&self, log: &LogState) -> Option<&'static str> {
        if self.epoch != log.epoch {
            Some("the event log began anew")
        } else if self.last.logged_at.is_none() && self.last.at > log.latest() {
            // With the time of its last event, the event itself is looked for.
            Some("it is of a later state of the database")
        } else if self.last.at < log.purged {
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
    use chatkeep_core::time::Timestamp;

    use super::*;

    const fn ended(at: OutboxPosition) -> Bookmark {
        Bookmark { at, logged_at: Some(Timestamp::from_millis(7)) }
    }

    fn log() -> LogState {
        LogState {
            epoch: "a".to_owned(),
            purged: OutboxPosition(0, 10),
            end: ended(OutboxPosition(0, 50)),
            limit: OutboxPosition(0, 50),
            rebuild: None,
        }
    }

    #[test]
    fn a_position_survives_its_commit() {
        let position = LogPosition::start(&log());
        assert_eq!(LogPosition::parse(&position.to_text()), Some(position));
        assert_eq!(LogPosition::parse("filled"), None);
    }

    #[test]
    fn a_position_of_an_earlier_version_is_one_without_a_time() {
        let parsed = LogPosition::parse(r#"{"epoch":"a","at":[0,50],"filled":[0,50]}"#);
        let expected =
            LogPosition { last: OutboxPosition(0, 50).into(), ..LogPosition::start(&log()) };
        assert_eq!(parsed, Some(expected));
    }

    #[test]
    fn an_index_that_missed_something_is_filled_anew() {
        let at =
            |seq| LogPosition { last: ended(OutboxPosition(0, seq)), ..LogPosition::start(&log()) };
        assert_eq!(at(10).broken(&log()), None);
        assert_eq!(at(50).broken(&log()), None);
        assert!(at(9).broken(&log()).is_some(), "purged");
        assert_eq!(at(51).broken(&log()), None, "its event is looked for");
        let untimed = LogPosition { last: OutboxPosition(0, 51).into(), ..at(51) };
        assert!(untimed.broken(&log()).is_some(), "of a later state");
        let other = LogPosition { epoch: "b".to_owned(), ..at(50) };
        assert!(other.broken(&log()).is_some(), "another log");
    }

    #[test]
    fn a_filled_index_is_never_filled_again_for_the_same_log() {
        for (purged, end) in [(10, 50), (60, 0)] {
            let log = LogState {
                purged: OutboxPosition(0, purged),
                end: ended(OutboxPosition(0, end)),
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
