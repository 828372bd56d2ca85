//! Failures of a search, and the errors that they are for its caller.

use chatkeep_search::SearchError;
use chatkeep_store::StoreError;
use tracing::debug;

use super::Q;
use crate::{Defect, FieldPath, ServiceError};

/// Reason for which a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchFailure {
    /// The index refused the query or cannot be reached.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A value of the request is invalid.
    #[error(transparent)]
    Request(#[from] ServiceError),
}

impl From<SearchFailure> for ServiceError {
    fn from(cause: SearchFailure) -> Self {
        match cause {
            SearchFailure::Search(cause) => cause.into(),
            SearchFailure::Store(cause) => cause.into(),
            SearchFailure::Request(error) => error,
        }
    }
}

impl From<SearchError> for ServiceError {
    fn from(cause: SearchError) -> Self {
        refused(Q, cause)
    }
}

/// Returns the error of a search whose query is in that field.
pub(super) fn refused(field: FieldPath, cause: SearchError) -> ServiceError {
    match cause {
        SearchError::Query(why) => {
            ServiceError::Invalid { field: Some(field), why, defect: Defect::Other }
        }
        SearchError::Unavailable(why) => {
            // The search service logs its outage once.
            debug!(error = why, "search is unavailable");
            ServiceError::Unavailable
        }
    }
}
