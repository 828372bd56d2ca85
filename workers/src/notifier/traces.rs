//! Spans of webhook deliveries in their traces.
//!
//! The outbox has no room for a trace, so a delivery continues the one of its message where the
//! same process stored that message a short time ago; otherwise it begins one. The endpoint gets no
//! context: it is somebody else's.

use chatkeep_core::trace;
use chatkeep_store::{DeliveryFailure, LeasedDelivery};
use reqwest::{StatusCode, Url};
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::recent_traces::RecentTraces;

/// Begins the span of an attempt.
pub(super) fn delivery_span(recent: &RecentTraces, delivery: &LeasedDelivery) -> Span {
    if !trace::is_enabled() {
        return Span::none();
    }
    let url = Url::parse(&delivery.url).ok();
    let span = info_span!(
        target: trace::TARGET,
        parent: None,
        "delivery",
        otel.name = "POST webhook",
        otel.kind = "client",
        http.request.method = "POST",
        http.request.resend_count = resends(delivery.attempts),
        http.response.status_code = Empty,
        server.address = url.as_ref().and_then(Url::host_str),
        server.port = url.as_ref().and_then(Url::port_or_known_default),
        chatkeep.webhook = %delivery.webhook,
        chatkeep.event = &*delivery.event.id,
    );
    let (channel, message) = (&delivery.event.channel, &delivery.event.subject);
    let parent = channel.as_ref().zip(message.as_ref());
    if let Some(parent) = parent.and_then(|(channel, id)| recent.of(channel, id)) {
        trace::continue_from(&span, &parent);
    }
    span
}

/// Returns the number of an attempt that is not the first.
fn resends(attempts: u32) -> Option<u32> {
    (attempts > 0).then_some(attempts)
}

/// Notes the response to an attempt, or why there is none.
pub(super) fn delivered(span: &Span, result: Result<StatusCode, DeliveryFailure>) {
    match result {
        Ok(status) => {
            span.record("http.response.status_code", status.as_u16());
            if !status.is_success() {
                trace::fail(span, status.as_str());
            }
        }
        Err(error) => trace::fail(span, error.name()),
    }
}
