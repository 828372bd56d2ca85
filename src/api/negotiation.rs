//! Content negotiation: responses are JSON.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_http::{ErrorCode, HttpError, takes_json};

use super::{is_media_file, parts_of};

/// 406 for callers who take nothing that the API has. Routes that stream files decide themselves.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    if streams(request.uri().path()) || takes_json(request.headers()) {
        return next.run(request).await;
    }
    HttpError::Refused {
        status: StatusCode::NOT_ACCEPTABLE,
        code: ErrorCode::NotAcceptable,
        error: "Responses are application/json",
    }
    .into_response()
}

/// Returns true for the path of a route that streams a file: a media file, an export, or the document
/// of one that was made in the background.
fn streams(path: &str) -> bool {
    is_media_file(path)
        || match parts_of(path).as_slice() {
            ["channels", _, "backup", "export"] => true,
            ["channels", _, "backup", "exports", export, "document"] => !export.is_empty(),
            _ => false,
        }
}
