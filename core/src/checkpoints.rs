//! Checkpoints that empty the write-ahead log of an SQLite file. What was erased stays in the log
//! until one is complete, which an open reader prevents.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use crate::metric;

/// Watch over the checkpoints of one file. Clones share it.
#[derive(Clone, Debug)]
pub struct CheckpointWatch {
    /// Name of the file in metrics and logs.
    file: &'static str,
    /// Time of the first incomplete checkpoint since the last complete one.
    incomplete_since: Arc<Mutex<Option<Instant>>>,
}

impl CheckpointWatch {
    /// Creates the watch over a file that is called so in metrics and logs.
    pub fn new(file: &'static str) -> Self {
        Self { file, incomplete_since: Arc::default() }
    }

    /// Notes a checkpoint, and whether it has emptied the log.
    pub fn note(&self, is_complete: bool) {
        let (file, now) = (self.file, Instant::now());
        let mut since = self.incomplete_since.lock().unwrap_or_else(PoisonError::into_inner);
        let overdue = if is_complete {
            *since = None;
            Duration::ZERO
        } else {
            debug!(file, "a checkpoint has not emptied the write-ahead log, and is repeated");
            now - *since.get_or_insert(now)
        };
        drop(since);
        metric::WAL_CHECKPOINT_OVERDUE_SECONDS.set([file.into()], overdue.as_secs_f64());
    }

    /// Returns the time for which no checkpoint has emptied the log; `None` if the last one has.
    pub fn overdue(&self) -> Option<Duration> {
        let since = *self.incomplete_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_log_is_overdue_from_the_first_incomplete_checkpoint_to_a_complete_one() {
        let watch = CheckpointWatch::new("database");
        let minute = Duration::from_mins(1);
        assert_eq!(watch.overdue(), None);
        watch.note(true);
        advance(minute * 60).await;
        for minutes in 0..3 {
            watch.note(false);
            assert_eq!(watch.overdue(), Some(minute * minutes));
            advance(minute).await;
        }
        watch.note(true);
        assert_eq!(watch.overdue(), None);
    }
}
