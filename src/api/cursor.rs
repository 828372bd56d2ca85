//! Pages of a list in REST: a body with its next cursor, and a `Link` header.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use chatkeep_http::{HttpError, NextPage};
use serde::Serialize;
use tracing::error;
use utoipa::ToSchema;

use super::route::{Describe, Output};

/// Bytes of most pages. `Json` begins with 128 and copies what it has whenever they are full, which is
/// a third of its time.
const ROOM: usize = 32 * 1024;

/// A page; the response has a `Link` header to the next one.
pub(super) struct Page<T> {
    pub(super) body: T,
    pub(super) next: Option<String>,
}

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        let mut json = Vec::with_capacity(ROOM);
        if let Err(error) = serde_json::to_writer(&mut json, &self.body) {
            error!(%error, "a page cannot be serialized");
            return HttpError::Internal.into_response();
        }
        let mut response = ([(CONTENT_TYPE, "application/json")], json).into_response();
        if let Some(cursor) = self.next {
            response.extensions_mut().insert(NextPage(cursor));
        }
        response
    }
}

impl<T: Serialize + ToSchema> Output for Page<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(axum::http::StatusCode::OK, "A page of the list");
        route.carries("Link");
    }
}
