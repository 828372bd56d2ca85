//! Metrics of HTTP requests: by route template and status, with their latency.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use chatkeep_core::metric;

/// Status label of requests whose client disconnected before the response.
const GONE: &str = "499";
/// The route of requests that no route is for.
const NO_ROUTE: &str = "none";

/// Measurement of one request. Dropped before [`Measurement::end`], it counts a disconnected
/// client.
#[derive(Debug)]
pub(super) struct Measurement {
    method: &'static str,
    route: String,
    started: Instant,
    ended: bool,
}

impl Measurement {
    /// Begins to measure a request, after routing.
    pub(super) fn begin(request: &Request) -> Self {
        let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        // Requests matched by a wildcard have no route, and neither the caller's path nor method
        // becomes a label: their number is unbounded.
        let route = route.filter(|route| !route.contains("{*")).unwrap_or(NO_ROUTE).to_owned();
        Self { method: name(request.method()), route, started: Instant::now(), ended: false }
    }

    /// Counts the response.
    pub(super) fn end(mut self, status: StatusCode) {
        self.ended = true;
        let labels = [self.method.into(), self.route.clone().into()];
        metric::HTTP_REQUEST_SECONDS.record(labels, self.started.elapsed());
        self.count(status.as_u16().to_string());
    }

    fn count(&self, status: String) {
        let labels = [self.method.into(), self.route.clone().into(), status.into()];
        metric::HTTP_REQUESTS.add(labels, 1);
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        if !self.ended {
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
        _ => "other",
    }
}
