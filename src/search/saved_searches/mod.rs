//! Saved searches at work: new messages are compared with them, and the matches reported to their owners.
//!
//! The comparison is a search: the same reading of the query, the same index of the same texts
//! ([`crate`]), made of the new messages alone. So what is reported is what a search finds.

mod follow;
mod found;
mod matcher;
mod present;

use chatkeep_store::StoreError;

use crate::SearchError;

pub use follow::SavedSearchFollower;
pub use found::{FoundSearches, Rendering, ReportedHit};
pub use matcher::SearchMatcher;

/// Reason for which messages could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The messages could not be indexed or searched.
    #[error("messages cannot be compared with saved searches")]
    Search(#[from] SearchError),
    /// The store failed.
    #[error("the store failed while messages were compared with saved searches")]
    Store(#[from] StoreError),
}
