//! Runs mutating requests to completion, also when the client disconnects.
//!
//! The server drops a request's future as soon as its connection closes, which could leave a change
//! half done and its `Idempotency-Key` claimed. So each request that may change something runs in a
//! task of its own, which the process awaits at shutdown.

use async_recursion::async_recursion as boxed;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_workers::supervisor::track;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, error};

use super::error::HttpError;
use super::respond;

/// Runs requests that may change something in a task of `tasks`.
#[boxed]
pub async fn layer(State(tasks): State<TaskTracker>, request: Request, next: Next) -> Response {
    if !may_change(&request) {
        return next.run(request).await;
    }
    // Panics are caught inside the task: the caller may be gone.
    let work = respond::catch_panics(request, next).in_current_span();
    match track(&tasks, "request", work).await {
        Ok(Ok(response)) => response,
        Ok(Err(_panicked)) => HttpError::Internal.into_response(),
        Err(error) => {
            error!(%error, "a request was not completed");
            HttpError::Unavailable.into_response()
        }
    }
}

/// Returns true when the request may change something. Login changes sessions with GET, too.
fn may_change(request: &Request) -> bool {
    let path = request.uri().path();
    !request.method().is_safe() || path.starts_with("/auth/") || path.starts_with("/oauth/")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Method;

    use super::*;

    #[test]
    fn only_reading_is_cut_off() {
        let request = |method: Method, path: &str| {
            Request::builder().method(method).uri(path).body(Body::empty()).unwrap()
        };
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            assert!(may_change(&request(method, "/api/keys")));
        }
        assert!(may_change(&request(Method::GET, "/auth/callback?code=x")));
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            assert!(!may_change(&request(method, "/api/channels")));
        }
    }
}
