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

/// Returns the stable code of a reason.
const fn code(why: AbsentMedia) -> ErrorCode {
    match why {
        AbsentMedia::Pending => ErrorCode::MediaPending,
        AbsentMedia::Skipped => ErrorCode::MediaSkipped,
        AbsentMedia::Failed => ErrorCode::MediaFailed,
        AbsentMedia::Expired => ErrorCode::MediaExpired,
        AbsentMedia::Erased => ErrorCode::MediaErased,
        AbsentMedia::Missing => ErrorCode::MediaMissing,
        AbsentMedia::NoPreview => ErrorCode::NoPreview,
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, error, code, header) = match self {
            Self::Error(error) => return error.into_response(),
            Self::Absent(why) => {
                let again = (why == AbsentMedia::Pending).then_some((header::RETRY_AFTER, SOON));
                (StatusCode::NOT_FOUND, "Not found", code(why), again)
            }
            Self::Unsatisfiable(size) => return range_not_satisfiable(size),
        };
        let mut response = HttpError::Refused { status, code, error }.into_response();
        response.headers_mut().extend(header);
        response
    }
}
