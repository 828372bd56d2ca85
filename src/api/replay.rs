//! Responses to repeated requests: stored ones, and large ones, which are rebuilt from a note.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::route::{Describe, Input, Output};

/// Data from which a handler rebuilds a large response. A handler that returns one finds it in the
/// repeated request, and must then change nothing.
#[derive(Clone, Debug)]
pub(super) struct ReplayNote(pub(super) String);

/// Response that is rebuilt from a note when the request is repeated.
pub(super) struct Replayable<T> {
    pub(super) response: T,
    pub(super) note: ReplayNote,
}

impl<T: IntoResponse> IntoResponse for Replayable<T> {
    fn into_response(self) -> Response {
        let mut response = self.response.into_response();
        response.extensions_mut().insert(self.note);
        response
    }
}

impl<T: Output> Output for Replayable<T> {
    fn describe(route: &mut Describe) {
        T::describe(route);
    }
}

/// The note of the first request with the same key, if this one repeats it.
pub(super) struct Replayed(pub(super) Option<ReplayNote>);

impl<S: Send + Sync> FromRequestParts<S> for Replayed {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

impl Input for Replayed {}

/// Stored response to a repeated request, which is given to those who may call the route.
#[derive(Clone, Debug)]
pub(super) struct StoredReplay {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl IntoResponse for StoredReplay {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.body).into_response()
    }
}
