//! Reasons for not sending a file.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_blobs::BlobError;
use chatkeep_workers::log_failure;

use crate::api::error::ApiError;

/// Retry-after of a file that is being downloaded, in seconds.
const SOON: HeaderValue = HeaderValue::from_static("5");

/// Reason for not sending a file.
pub(in crate::api) enum Refused {
    /// Any other error of the API.
    Error(ApiError),
    /// 404 with the reason.
    Absent(&'static str),
    /// 416: the range is behind the end of a file of that size.
    Unsatisfiable(u64),
}

impl<E: Into<ApiError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl From<BlobError> for ApiError {
    fn from(cause: BlobError) -> Self {
        if matches!(cause, BlobError::NotFound(_)) {
            // Unsent in the meantime.
            return Self::NotFound;
        }
        let transient = cause.is_transient();
        log_failure!(error, &cause, "media store failed");
        if transient { Self::Unavailable } else { Self::Internal }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, error, code, header) = match self {
            Self::Error(error) => return error.into_response(),
            Self::Absent("media_pending") => {
                let again = Some((header::RETRY_AFTER, SOON));
                (StatusCode::NOT_FOUND, "Not found", "media_pending", again)
            }
            Self::Absent(code) => (StatusCode::NOT_FOUND, "Not found", code, None),
            Self::Unsatisfiable(size) => {
                let range = HeaderValue::try_from(format!("bytes */{size}")).ok();
                let range = range.map(|range| (header::CONTENT_RANGE, range));
                let error = "The range is outside the file";
                (StatusCode::RANGE_NOT_SATISFIABLE, error, "range_not_satisfiable", range)
            }
        };
        let mut response = ApiError::Refused { status, code, error }.into_response();
        response.headers_mut().extend(header);
        response
    }
}
