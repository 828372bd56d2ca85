//! Pages of a list in REST: a body with its next cursor, and a `Link` header.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chatkeep_http::NextPage;
use serde::Serialize;
use utoipa::ToSchema;

use super::route::{Describe, Output};

/// A page; the response has a `Link` header to the next one.
pub(super) struct Page<T> {
    pub(super) body: T,
    pub(super) next: Option<String>,
}

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
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
