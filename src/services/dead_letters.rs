//! Dead letters: events that no stage could handle.

use async_recursion::async_recursion as boxed;
use chatkeep_bus::{Bus, BusError, DeadLetter};

use super::operator::Operator;

/// Number of dead letters that are in memory at once.
const BATCH: usize = 500;

/// Decision about a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadLetterDecision {
    /// It is returned to its stage for another attempt.
    Retry,
    /// It is deleted permanently.
    Drop,
}

/// Dead letters. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DeadLetterService {
    bus: Bus,
}

impl DeadLetterService {
    /// Creates the service; commands have it without the others.
    pub const fn new(bus: Bus) -> Self {
        Self { bus }
    }

    /// Returns the oldest dead letters, oldest first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the bus fails.
    #[boxed]
    pub async fn list(&self, _: &Operator, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.bus.dead_letters(limit).await
    }

    /// Returns one dead letter.
    ///
    /// # Errors
    /// Returns an error when the bus fails.
    #[boxed]
    pub async fn one(&self, _: &Operator, id: &str) -> Result<Option<DeadLetter>, BusError> {
        self.bus.dead_letter(id).await
    }

    /// Decides about one dead letter; `false` for an unknown one.
    ///
    /// # Errors
    /// Returns an error when the bus fails.
    #[boxed]
    pub async fn decide(
        &self,
        _: &Operator,
        id: &str,
        decision: DeadLetterDecision,
    ) -> Result<bool, BusError> {
        match decision {
            DeadLetterDecision::Retry => self.bus.retry_dead_letter(id).await,
            DeadLetterDecision::Drop => self.bus.drop_dead_letter(id).await,
        }
    }

    /// Decides about all present dead letters, and returns their number.
    ///
    /// # Errors
    /// Returns an error when the bus fails; those before it are decided about.
    #[boxed]
    pub async fn decide_all(
        &self,
        operator: &Operator,
        decision: DeadLetterDecision,
    ) -> Result<usize, BusError> {
        // Only the present ones: one that fails again at once must not be retried for ever.
        let mut left = usize::try_from(self.bus.count_dead_letters().await?).unwrap_or(usize::MAX);
        let (mut count, mut last) = (0, None::<String>);
        while left > 0 {
            let letters = self.bus.dead_letters_after(last.as_deref(), left.min(BATCH)).await?;
            let Some(newest) = letters.last() else { break };
            last = Some(newest.id.clone());
            left -= letters.len();
            for letter in &letters {
                count += usize::from(self.decide(operator, &letter.id, decision).await?);
            }
        }
        Ok(count)
    }
}
