//! Claims of which nobody knows whether the store has them: their commit failed, and may have been
//! made all the same, as when the connection broke at that moment.
//!
//! Each claim has a token. As long as its outcome is unknown, the token is kept for the next
//! attempt to claim the same reply, which is granted what the one before it claimed. A token is with
//! one attempt at a time, and is gone once its outcome is known: nobody replies twice with it.

use std::mem;
use std::time::Duration;

use chatkeep_core::cache::Cache;
use chatkeep_core::id::EventId;
use chatkeep_core::random::random_name;

/// Maximum number of claims that are kept.
const CLAIMS: usize = 10_000;
/// Time for which one is kept; a reply is given within some minutes, or not at all.
const KEEP: Duration = Duration::from_mins(10);

/// Tokens of claims of unknown outcome, by the key of their event. Clones share them.
#[derive(Clone, Debug)]
pub struct UnsureClaims(Cache<EventId, String>);

/// One attempt to claim a reply. Dropped before its outcome is known, it leaves its token for the
/// next one.
#[derive(Debug)]
pub(super) struct ClaimAttempt<'a> {
    claims: &'a UnsureClaims,
    event: &'a EventId,
    token: String,
    is_known: bool,
}

impl Default for UnsureClaims {
    fn default() -> Self {
        Self(Cache::new(CLAIMS, KEEP))
    }
}

impl UnsureClaims {
    /// Begins an attempt, with the token of the last one if its outcome is unknown.
    pub(super) fn begin<'a>(&'a self, event: &'a EventId) -> ClaimAttempt<'a> {
        let token = self.0.take(event).unwrap_or_else(random_name);
        ClaimAttempt { claims: self, event, token, is_known: false }
    }
}

impl ClaimAttempt<'_> {
    /// Returns the token of the claim.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Ends the attempt: the store knows its outcome.
    pub(super) fn end(mut self) {
        self.is_known = true;
    }
}

impl Drop for ClaimAttempt<'_> {
    fn drop(&mut self) {
        if !self.is_known {
            self.claims.0.insert(self.event.clone(), mem::take(&mut self.token));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_an_unknown_claim_is_for_the_next_attempt_alone() {
        let (claims, event, other) =
            (UnsureClaims::default(), EventId::new("E1"), EventId::new("E2"));
        let failed = claims.begin(&event);
        let token = failed.token().to_owned();
        assert_ne!(claims.begin(&other).token(), token);
        drop(failed);
        let (next, beside) = (claims.begin(&event), claims.begin(&event));
        assert_eq!(next.token(), token);
        assert_ne!(beside.token(), token, "it is with the other one");
        next.end();
        beside.end();
        assert_ne!(claims.begin(&event).token(), token, "it was used");
    }
}
