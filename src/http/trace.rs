//! Span of a request in its trace.

use axum::extract::Request;
use axum::http::StatusCode;
use chatkeep_core::trace::{self, TraceContext};
use tracing::field::Empty;
use tracing::{Span, info_span};

/// Begins the span of a request to `route` (the template, if there is one): the root of a trace, or
/// a part of the one that its header names, where the settings trust that. `path` has no query.
pub(super) fn server_span(
    request: &Request,
    method: &'static str,
    route: Option<&str>,
    path: &str,
) -> Span {
    if !trace::is_enabled() {
        return Span::none();
    }
    // Of the conventions: a method that is none has one name, so that names of spans are few.
    let method = if method == super::measure::OTHER_METHOD { "_OTHER" } else { method };
    let span = info_span!(
        target: trace::TARGET,
        parent: None,
        "request",
        otel.name = Empty,
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        url.path = path,
        url.scheme = "http",
        chatkeep.caller = Empty,
    );
    let name = if method == "_OTHER" { "HTTP" } else { method };
    match route {
        Some(route) => span.record("otel.name", format!("{name} {route}")),
        None => span.record("otel.name", name),
    };
    let header = request.headers().get(trace::HEADER).and_then(|header| header.to_str().ok());
    if let Some(parent) = header.and_then(TraceContext::incoming) {
        trace::continue_from(&span, &parent);
    }
    span
}

/// Notes the response, or that the client left before it: `None`.
pub(super) fn answered(span: &Span, status: Option<StatusCode>, caller: &str) {
    span.record("chatkeep.caller", caller);
    match status {
        Some(status) => {
            span.record("http.response.status_code", status.as_u16());
            if status.is_server_error() {
                trace::fail(span, status.as_str());
            }
        }
        None => trace::fail(span, "client_disconnected"),
    }
}
