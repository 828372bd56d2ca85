//! Metrics of HTTP requests, by route template and status, with their latency; and the line of each
//! in the log.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use chatkeep_core::metric;
use tracing::{Span, debug, info};

use super::caller_kind::KnownCaller;
use super::trace;

/// Status label of requests whose client disconnected before the response.
const GONE: &str = "499";
/// The route of requests that no route is for.
const NO_ROUTE: &str = "none";
/// Routes that are asked all the time, whose lines are at debug level.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];
/// Label of methods that HTTP does not define.
pub(super) const OTHER_METHOD: &str = "other";

/// Measurement of one request. Dropped before [`Measurement::end`], it counts a disconnected
/// client.
#[derive(Debug)]
pub(super) struct Measurement {
    method: &'static str,
    route: String,
    started: Instant,
    caller: KnownCaller,
    /// Span with the request's id, for its line.
    span: Span,
    /// Span of the request in its trace.
    trace: Span,
    ended: bool,
}

impl Measurement {
    /// Begins to measure a request to `path`, after routing.
    pub(super) fn begin(request: &Request, span: Span, path: &str) -> Self {
        let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        // Requests matched by a wildcard have no route, and neither the caller's path nor method
        // becomes a label: their number is unbounded.
        let route = route.filter(|route| !route.contains("{*"));
        let (method, started) = (name(request.method()), Instant::now());
        let is_probe = route.is_some_and(|route| PROBES.contains(&route));
        let trace =
            if is_probe { Span::none() } else { trace::server_span(request, method, route, path) };
        if let Some(id) = chatkeep_core::trace::trace_id(&trace) {
            span.record("trace_id", id);
        }
        let route = route.unwrap_or(NO_ROUTE).to_owned();
        let caller = KnownCaller::of(request.extensions());
        Self { method, route, started, caller, span, trace, ended: false }
    }

    /// Returns the span of the request in its trace.
    pub(super) fn trace(&self) -> Span {
        self.trace.clone()
    }

    /// Counts the response, and writes the line of the request.
    pub(super) fn end(mut self, status: StatusCode) {
        self.ended = true;
        let labels = [self.method.into(), self.route.clone().into()];
        metric::HTTP_REQUEST_SECONDS.record(labels, self.started.elapsed());
        trace::answered(&self.trace, Some(status), self.caller.name());
        self.count(status.as_u16().to_string());
    }

    fn count(&self, status: String) {
        self.log(&status);
        let labels = [self.method.into(), self.route.clone().into(), status.into()];
        metric::HTTP_REQUESTS.add(labels, 1);
    }
}

impl Measurement {
    fn log(&self, status: &str) {
        let Self { route, caller, span, .. } = self;
        let (caller, duration_ms) = (caller.name(), self.started.elapsed().as_millis());
        let _inside = span.enter();
        if PROBES.contains(&route.as_str()) {
            debug!(route, status, duration_ms, caller, "request");
        } else {
            info!(route, status, duration_ms, caller, "request");
        }
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        if !self.ended {
            trace::answered(&self.trace, None, self.caller.name());
            self.count(GONE.to_owned());
        }
    }
}

fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER_METHOD,
    }
}
