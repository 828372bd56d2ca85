//! Reasons for not sending a file.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_http::{ErrorCode, HttpError, range_not_satisfiable};
use chatkeep_services::media::{AbsentMedia, MediaError};

/// Retry-after of a file that is being downloaded, in seconds.
const SOON: HeaderValue = HeaderValue::from_static("5");

/// Reason for not sending a file.
pub(crate) enum Refused {
    /// Any other error.
    Error(HttpError),
    /// 404 with the reason.
    Absent(AbsentMedia),
    /// 416: the range is behind the end of a file of that size.
    Unsatisfiable(u64),
}

impl From<HttpError> for Refused {
    fn from(error: HttpError) -> Self {
        Self::Error(error)
    }
}

impl From<MediaError> for Refused {
    fn from(error: MediaError) -> Self {
        match error {
            MediaError::Absent(why) => Self::Absent(why),
            MediaError::Service(error) => Self::Error(error.into()),
        }
    }
}

/// Returns the stable code of a reason, and a sentence about it.
const fn refusal(why: AbsentMedia) -> (ErrorCode, &'static str) {
    match why {
        AbsentMedia::Pending => {
            (ErrorCode::MediaPending, "The file is still to be fetched: try again soon")
        }
        AbsentMedia::Skipped => {
            (ErrorCode::MediaSkipped, "The file is not stored: the quota was used up when it came")
        }
        AbsentMedia::Failed => {
            (ErrorCode::MediaFailed, "The file could not be stored: the list of media says why")
        }
        AbsentMedia::Expired => (
            ErrorCode::MediaExpired,
            "The platform no longer had the file, or an import did not bring it",
        ),
        AbsentMedia::Erased => {
            (ErrorCode::MediaErased, "The message of the file was unsent or erased")
        }
        AbsentMedia::Missing => {
            (ErrorCode::MediaMissing, "The file is not in the media store any more")
        }
        AbsentMedia::NoPreview => (ErrorCode::NoPreview, "The file has no preview"),
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, error, code, header) = match self {
            Self::Error(error) => return error.into_response(),
            Self::Absent(why) => {
                let again = (why == AbsentMedia::Pending).then_some((header::RETRY_AFTER, SOON));
                let (code, error) = refusal(why);
                (StatusCode::NOT_FOUND, error, code, again)
            }
            Self::Unsatisfiable(size) => return range_not_satisfiable(size),
        };
        let mut response = HttpError::Refused { status, code, error }.into_response();
        response.headers_mut().extend(header);
        response
    }
}
