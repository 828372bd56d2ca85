//! Spans of calls to LINE in their traces.
//!
//! LINE gets no context of them: it is somebody else's.

use chatkeep_core::trace;
use reqwest::{Client, Error, Method, Request, RequestBuilder, Response};
use tracing::field::Empty;
use tracing::{Span, info_span};
use url::Url;

use super::client::LineApi;
use super::endpoint::{Endpoint, Host};
use super::refusal::request_id;
use crate::PlatformError;

/// Begins the span of a call. Its name cannot change later.
pub(super) fn call_span(api: &LineApi, endpoint: Endpoint, method: &Method) -> Span {
    if !trace::is_enabled() {
        return Span::none();
    }
    let base = match endpoint.host() {
        Host::Api => &api.api_base,
        Host::Data => &api.data_api_base,
    };
    let url = Url::parse(base).ok();
    info_span!(
        target: trace::TARGET,
        "platform call",
        otel.name = format!("{method} {}", endpoint.name()),
        otel.kind = "client",
        http.request.method = method.as_str(),
        http.response.status_code = Empty,
        server.address = url.as_ref().and_then(Url::host_str),
        server.port = url.as_ref().and_then(Url::port_or_known_default),
        chatkeep.bot = &*api.bot,
        chatkeep.endpoint = endpoint.name(),
        chatkeep.request_id = Empty,
    )
}

/// A request that is built, or the reason why it cannot be, with its client.
pub(super) struct Built {
    http: Client,
    request: Result<Request, Error>,
}

impl Built {
    pub(super) fn new(request: RequestBuilder) -> Self {
        let (http, request) = request.build_split();
        Self { http, request }
    }

    /// Returns the method.
    pub(super) fn method(&self) -> Method {
        self.request.as_ref().map_or(Method::GET, |request| request.method().clone())
    }

    /// Sends the request, in the span that the call is in.
    pub(super) async fn send(self) -> Result<Response, Error> {
        let answer = self.http.execute(self.request?).await?;
        let span = Span::current();
        span.record("http.response.status_code", answer.status().as_u16());
        span.record("chatkeep.request_id", request_id(answer.headers()));
        Ok(answer)
    }
}

/// Notes the result of a call.
pub(super) fn ended<T>(span: &Span, result: &Result<T, PlatformError>) {
    if let Err(error) = result {
        trace::fail(span, error.code());
    }
}
