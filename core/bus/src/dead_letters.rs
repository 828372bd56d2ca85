//! Dead letters of either adapter.

use async_recursion::async_recursion as boxed;
use chatkeep_core::outage::Work;

use crate::{Bus, BusError, DeadLetter, noted, on};

impl Bus {
    /// Returns the oldest dead letters, oldest first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.dead_letters_after(None, limit).await
    }

    /// Returns the dead letters after the one of that id, oldest first, at most `limit`; the letter
    /// itself may be gone. `None`: from the oldest on.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn dead_letters_after(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, BusError> {
        on!(self, bus => bus.dead_letters(None, after, limit).await)
    }

    /// Returns the oldest dead letters of a consumer, oldest first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn dead_letters_of(
        &self,
        consumer: &str,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, BusError> {
        on!(self, bus => bus.dead_letters(Some(consumer), None, limit).await)
    }

    /// Returns the number of dead letters.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn count_dead_letters(&self) -> Result<u64, BusError> {
        on!(self, bus => bus.count_dead_letters().await)
    }

    /// Returns one dead letter.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, BusError> {
        on!(self, bus => bus.dead_letter(id).await)
    }

    /// Returns a dead letter to the consumer that gave up on it (and to no other). `false` when
    /// there is none of that id.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn retry_dead_letter(&self, id: &str) -> Result<bool, BusError> {
        on!(self, bus => bus.retry_dead_letter(id).await)
    }

    /// Deletes a dead letter for good. `false` when there is none of that id.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn drop_dead_letter(&self, id: &str) -> Result<bool, BusError> {
        on!(self, bus => bus.drop_dead_letter(id).await)
    }
}
