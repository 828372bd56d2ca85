//! Schedule of the housekeeping of the bus file: deletion of old ids, release of free pages, and the
//! WAL checkpoint: once nothing else happens, and every half minute in which something does.

use std::time::Duration;

use tokio::time::Instant;

/// Interval between rounds.
const INTERVAL: Duration = Duration::from_secs(1);

/// Interval between rounds while more remains to be deleted.
const SWEEP: Duration = Duration::from_millis(5);

/// Number of rounds without other work before the WAL checkpoint.
const IDLE_ROUNDS: u32 = 10;

/// Longest time for which what was written stays in the WAL, where nothing may be left of a message
/// after about a minute.
const LONGEST: Duration = Duration::from_secs(30);

/// Due WAL checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DueCheckpoint {
    /// Nothing else happens: it may take its time.
    Idle,
    /// Others wait for it.
    Busy,
}

/// Schedule of the process that serves the bus file. Any other process that has the file open has
/// none: it never wakes for housekeeping.
#[derive(Debug)]
pub(super) struct Housekeeping {
    /// Time of the next round; `None` in a process that does not serve the file.
    next: Option<Instant>,
    /// Rounds since the last other work; [`IDLE_ROUNDS`] once the checkpoint is done.
    idle: u32,
    /// Time of the first work since the last checkpoint.
    written_since: Option<Instant>,
    /// Time of the next checkpoint after one that was not complete.
    repeat_at: Option<Instant>,
}

impl Housekeeping {
    /// Creates the schedule; `serves` tells whether this process serves the bus file.
    pub(super) fn new(serves: bool) -> Self {
        let next = serves.then(|| Instant::now() + INTERVAL);
        Self { next, idle: 0, written_since: None, repeat_at: None }
    }

    /// Returns the earlier one of the next round and `other`; `None` when neither is to come.
    pub(super) fn next_or(&self, other: Option<Instant>) -> Option<Instant> {
        self.next.into_iter().chain(other).min()
    }

    /// Begins a round if one is due, and puts the next one off, whatever becomes of this one: a
    /// time that has passed would wake the writer without end.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        let is_due = self.next.is_some_and(|next| next <= now);
        if is_due {
            self.next = Some(now + INTERVAL);
        }
        is_due
    }

    /// Brings the next round forward, because the last one left something to delete.
    pub(super) fn continue_soon(&mut self) {
        self.next = self.next.map(|next| next.min(Instant::now() + SWEEP));
    }

    /// Notes other work.
    pub(super) fn note_work(&mut self, now: Instant) {
        self.idle = 0;
        self.written_since.get_or_insert(now);
    }

    /// Notes a round without other work.
    pub(super) const fn note_idle(&mut self) {
        self.idle = self.idle.saturating_add(1);
    }

    /// Returns the WAL checkpoint that is due after a round, and takes it for done.
    pub(super) fn due_checkpoint(&mut self, now: Instant) -> Option<DueCheckpoint> {
        let is_old = self.written_since.is_some_and(|since| now - since >= LONGEST);
        let is_repeated = self.repeat_at.is_some_and(|at| at <= now);
        let due = match self.idle {
            IDLE_ROUNDS => DueCheckpoint::Idle,
            0..IDLE_ROUNDS if is_old => DueCheckpoint::Busy,
            _ if is_repeated => DueCheckpoint::Busy,
            _ => return None,
        };
        (self.written_since, self.repeat_at) = (None, None);
        Some(due)
    }

    /// Has a checkpoint that was not complete repeated after half a minute, whether or not anything
    /// is written until then.
    pub(super) fn repeat_checkpoint(&mut self, now: Instant) {
        self.repeat_at = Some(now + LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of the role `api` has the file open beside a worker; it wrote empty transactions as
    /// fast as it could once the time of the first round had passed.
    #[test]
    fn a_process_that_does_not_serve_the_file_never_wakes_for_it() {
        let mut housekeeping = Housekeeping::new(false);
        let now = Instant::now();
        assert_eq!(housekeeping.next_or(None), None);
        assert_eq!(housekeeping.next_or(Some(now)), Some(now));
        assert!(!housekeeping.begin(now + INTERVAL * 2));
        housekeeping.continue_soon();
        assert_eq!(housekeeping.next_or(None), None);
    }

    #[test]
    fn a_round_that_has_begun_is_not_due_again_at_once() {
        let mut housekeeping = Housekeeping::new(true);
        let due = Instant::now() + INTERVAL * 2;
        assert!(housekeeping.begin(due));
        assert!(!housekeeping.begin(due));
        assert_eq!(housekeeping.next_or(Some(due + INTERVAL * 2)), Some(due + INTERVAL));
        housekeeping.continue_soon();
        assert!(housekeeping.next_or(None).is_some_and(|next| next < due + INTERVAL));
    }

    #[test]
    fn the_checkpoint_is_due_once_after_idle_rounds() {
        let mut housekeeping = Housekeeping::new(true);
        let now = Instant::now();
        let due = |housekeeping: &mut Housekeeping| -> Vec<_> {
            let round = |_| {
                housekeeping.note_idle();
                housekeeping.due_checkpoint(now)
            };
            (0..30).filter_map(round).collect()
        };
        assert_eq!(due(&mut housekeeping), [DueCheckpoint::Idle]);
        assert_eq!(due(&mut housekeeping), []);
        housekeeping.note_work(now);
        assert_eq!(due(&mut housekeeping), [DueCheckpoint::Idle]);
    }

    #[test]
    fn a_checkpoint_that_was_not_complete_is_repeated_although_nothing_happens() {
        let mut housekeeping = Housekeeping::new(true);
        let start = Instant::now();
        let mut due = Vec::new();
        for second in 0..100 {
            let now = start + Duration::from_secs(second);
            housekeeping.note_idle();
            if housekeeping.due_checkpoint(now).is_some() {
                due.push(second);
                // The third one is complete.
                if due.len() < 3 {
                    housekeeping.repeat_checkpoint(now);
                }
            }
        }
        assert_eq!(due, [9, 39, 69]);
    }

    /// One event in nine seconds put the checkpoint off for hours, and texts that were taken back
    /// stayed on disk as long.
    #[test]
    fn a_checkpoint_is_due_in_each_half_minute_with_work() {
        let mut housekeeping = Housekeeping::new(true);
        let start = Instant::now();
        let mut due = Vec::new();
        for second in 0..100 {
            let now = start + Duration::from_secs(second);
            if second % 9 == 0 {
                housekeeping.note_work(now);
            } else {
                housekeeping.note_idle();
            }
            due.extend(housekeeping.due_checkpoint(now).map(|due| (second, due)));
        }
        let busy = |second| (second, DueCheckpoint::Busy);
        assert_eq!(due, [busy(30), busy(66)]);
    }
}
