//! Failures in a round of periodic work on many channels or people: one of them that fails holds up
//! none of the others.

use std::fmt;

use chatkeep_store::{DatabaseFault, StoreError};

use crate::log_failure;

/// Failures of single items in a round of a periodic job, which goes on with the others and fails
/// in the end.
#[derive(Debug)]
pub struct ItemFailures {
    job: &'static str,
    first: Option<StoreError>,
}

impl ItemFailures {
    /// Creates the failures of a round of that job, none at first.
    pub const fn of(job: &'static str) -> Self {
        Self { job, first: None }
    }

    /// Returns the result of work on one item. A failure of the item alone is logged, and is
    /// `None`.
    ///
    /// # Errors
    /// Returns the error of a database that is not available, which ends the round: the others
    /// would fail, too.
    pub fn isolate<T>(
        &mut self,
        item: &dyn fmt::Display,
        result: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.fault() == DatabaseFault::Unavailable => Err(error),
            Err(error) => {
                let job = self.job;
                log_failure!(warn, &error, job, %item, "a part of a job failed; the rest goes on");
                self.first.get_or_insert(error);
                Ok(None)
            }
        }
    }

    /// Ends the round.
    ///
    /// # Errors
    /// Returns the first failure of an item.
    pub fn into_result(self) -> Result<(), StoreError> {
        self.first.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrupt(row: &str) -> Result<(), StoreError> {
        Err(StoreError::Corrupt { table: "channels", column: "platform", row: row.to_owned() })
    }

    #[test]
    fn an_item_that_fails_holds_up_no_other_and_fails_the_round_in_the_end() {
        let mut failures = ItemFailures::of("test");
        assert_eq!(failures.isolate(&"C1", Ok(1)).unwrap(), Some(1));
        for row in ["C2", "C3"] {
            assert_eq!(failures.isolate(&row, corrupt(row)).unwrap(), None);
        }
        let first = failures.into_result().unwrap_err();
        assert!(matches!(first, StoreError::Corrupt { row, .. } if row == "C2"));
        ItemFailures::of("test").into_result().unwrap();
    }

    #[test]
    fn an_outage_ends_the_round() {
        let mut failures = ItemFailures::of("test");
        let away = Err::<(), _>(StoreError::from(sqlx::Error::PoolTimedOut));
        assert!(failures.isolate(&"C1", away).unwrap_err().is_outage());
        failures.into_result().unwrap();
    }
}
