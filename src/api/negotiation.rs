//! Content negotiation: responses are JSON.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_http::{ErrorCode, HttpError, takes_json};

/// 406 for callers who take nothing that the API has. Routes that stream files decide themselves.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let streams = ["/export", "/media/"].iter().any(|part| request.uri().path().contains(part));
    if streams || takes_json(request.headers()) {
        return next.run(request).await;
    }
    HttpError::Refused {
        status: StatusCode::NOT_ACCEPTABLE,
        code: ErrorCode::NotAcceptable,
        error: "Responses are application/json",
    }
    .into_response()
}
