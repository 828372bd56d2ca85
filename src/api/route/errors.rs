//! Responses that many operations share, error responses above all: each is described once in the
//! document and referenced by its name.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use chatkeep_http::{ErrorView, HttpError, sentence};
use serde_json::{Value, json};
use utoipa::ToSchema as _;
use utoipa::openapi::schema::Components;
use utoipa::openapi::{ContentBuilder, Ref, Response, ResponseBuilder};

use super::{Need, Route, Routes, headers};

/// Adds the shared responses of all routes to the components.
pub(super) fn described(components: &mut Components, routes: &Routes, request_id: &Value) {
    let statuses: BTreeSet<StatusCode> = routes.all().iter().flat_map(statuses).collect();
    for status in statuses {
        components.responses.insert(name(status), response(status, request_id).into());
    }
}

/// Returns the statuses of a route's shared responses, with references to their descriptions.
pub(super) fn references(route: &Route) -> impl Iterator<Item = (StatusCode, Ref)> {
    statuses(route).into_iter().map(|status| (status, Ref::from_response_name(name(status))))
}

/// Returns the statuses of a route's shared responses: its own errors, and those of every route of
/// its kind.
fn statuses(route: &Route) -> BTreeSet<StatusCode> {
    let mut statuses = route.describe.errors.clone();
    // Any route may be called with something that it does not take.
    statuses.extend([400, 406, 429, 500, 503]);
    if route.describe.need != Need::Nothing {
        statuses.extend([401, 403]);
    }
    if route.method == Method::GET && !route.describe.is_streamed {
        statuses.insert(304);
    }
    if route.method == Method::POST {
        statuses.extend([409, 422]);
    }
    statuses.into_iter().filter_map(|status| StatusCode::from_u16(status).ok()).collect()
}

/// Returns the component name of a status: its reason phrase without spaces, such as `NotFound`.
fn name(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or(status.as_str()).replace(' ', "")
}

fn response(status: StatusCode, request_id: &Value) -> Response {
    if status == StatusCode::NOT_MODIFIED {
        let response =
            ResponseBuilder::new().description("Not modified: the caller's copy is current");
        return headers::with(response, &["ETag"]).build();
    }
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(ErrorView::name())))
        .example(Some(example(status, request_id)))
        .build();
    let response =
        ResponseBuilder::new().description(sentence(status)).content("application/json", content);
    headers::of_refusal(response, status).build()
}

/// Returns the error with that status that serves as its example, where it is one of many routes.
const fn common(status: StatusCode) -> Option<HttpError> {
    Some(match status.as_u16() {
        401 => HttpError::InvalidKey,
        403 => HttpError::PermissionDenied,
        404 => HttpError::NotFound,
        409 => HttpError::RUNNING,
        412 => HttpError::Stale,
        413 => HttpError::TooLarge,
        415 => HttpError::UnsupportedMediaType,
        429 => HttpError::RateLimited { retry_after: 12 },
        503 => HttpError::Unavailable,
        _ => return None,
    })
}

/// Returns an example of an error with that status.
fn example(status: StatusCode, request_id: &Value) -> Value {
    let common = common(status).map(|error| error.code_and_sentence());
    let (code, error) = match (&common, status.as_u16()) {
        (Some((code, error)), _) => (code.text(), error.as_ref()),
        (None, 400) => ("invalid_request", "limit must be a whole number from 1 to 100"),
        (None, 406) => ("not_acceptable", "Responses are application/json"),
        (None, 410) => ("cursor_expired", sentence(status)),
        (None, 416) => ("range_not_satisfiable", "The range is outside the file"),
        (None, 422) => ("idempotency_key_reused", sentence(status)),
        (None, _) => ("internal", sentence(status)),
    };
    let field = match status.as_u16() {
        400 => Some(("field", json!("limit"))),
        429 => Some(("retryAfter", json!(12))),
        _ => None,
    };
    let mut example = json!({"error": error, "code": code, "requestId": request_id});
    if let Some((name, value)) = field {
        example[name] = value;
    }
    example
}
