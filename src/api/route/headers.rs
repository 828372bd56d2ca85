//! Headers of responses: described once, and referenced by every response that may carry them.

use axum::http::{Method, StatusCode};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::{ComponentsBuilder, ObjectBuilder, Type};
use utoipa::openapi::{Ref, ResponseBuilder};

use super::{Answer, Route};

/// All headers: name, type, pattern and description.
const HEADERS: [(&str, Type, &str, &str); 15] = [
    ("Accept-Ranges", Type::String, "^bytes$", "Byte ranges are supported"),
    (
        "Content-Disposition",
        Type::String,
        "^(inline|attachment); ",
        "Disposition and name of the file",
    ),
    ("Content-Range", Type::String, "^bytes ", "Range of the part and size of the file"),
    (
        "ETag",
        Type::String,
        "^(W/)?\"[^\"]+\"$",
        "Version of the content, for If-None-Match; where the route takes it, for If-Match",
    ),
    (
        "Idempotent-Replayed",
        Type::String,
        "^true$",
        "True when the response is a replay of the first one",
    ),
    ("Link", Type::String, "^<[^>]+>; rel=\"next\"$", "Address of the next page, if there is one"),
    ("Location", Type::String, "^https?://", "Address of the job"),
    ("Retry-After", Type::Integer, "", "Seconds to wait before the next attempt"),
    ("WWW-Authenticate", Type::String, "^Bearer", "Accepted authentication scheme"),
    ("X-API-Version", Type::String, "^v1$", "API version of the response"),
    (
        "X-Deprecated",
        Type::String,
        "",
        "Deprecated route or field that was used, and the date of its removal; absent otherwise",
    ),
    ("X-Request-Id", Type::String, "^.{1,128}$", "ID of the request, as in the service's log"),
    ("X-RateLimit-Limit", Type::Integer, "", "Maximum number of requests in a burst"),
    ("X-RateLimit-Remaining", Type::Integer, "", "Remaining number of requests"),
    (
        "X-RateLimit-Reset",
        Type::Integer,
        "",
        "Time at which the full limit is available again, in Unix seconds",
    ),
];

/// Headers that every response may carry.
const ALWAYS: [&str; 6] = [
    "X-API-Version",
    "X-Deprecated",
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
];

/// Adds the descriptions to the document.
pub(super) fn described(mut components: ComponentsBuilder) -> ComponentsBuilder {
    for (name, kind, pattern, description) in HEADERS {
        let pattern = (!pattern.is_empty()).then_some(pattern);
        let schema = ObjectBuilder::new().schema_type(kind).pattern(pattern);
        let header = HeaderBuilder::new().schema(Some(schema)).description(Some(description));
        components = components.header(name, header.build());
    }
    components
}

/// Adds the headers of a successful response.
pub(super) fn of_answer(
    response: ResponseBuilder,
    route: &Route,
    answer: &Answer,
) -> ResponseBuilder {
    let mut names = answer.headers.clone();
    if route.method == Method::GET && !route.describe.is_streamed {
        names.push("ETag");
    }
    if route.method == Method::POST {
        names.push("Idempotent-Replayed");
    }
    with(response, &names)
}

/// Adds the headers of an error response.
pub(super) fn of_refusal(response: ResponseBuilder, status: StatusCode) -> ResponseBuilder {
    let own: &[&str] = match status {
        StatusCode::UNAUTHORIZED => &["WWW-Authenticate"],
        StatusCode::RANGE_NOT_SATISFIABLE => &["Content-Range"],
        StatusCode::NOT_FOUND | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            &["Retry-After"]
        }
        _ => &[],
    };
    with(response, own)
}

/// Adds these headers, and those that every response may carry.
pub(super) fn with(response: ResponseBuilder, own: &[&str]) -> ResponseBuilder {
    own.iter().chain(&ALWAYS).fold(response, |response, name| {
        response.header_ref(*name, Ref::new(format!("#/components/headers/{name}")))
    })
}
