//! Traces: spans of the work that an event goes through, from its webhook to the reply, and the
//! context by which they find each other across tasks, the bus and processes.
//!
//! A span of a trace is a `tracing` span with the target [`TARGET`], which no log shows. It is
//! exported when the settings name a collector ([`crate::telemetry`]); otherwise it is disabled
//! where it is made, at the cost of a comparison. Names and attributes are those of OpenTelemetry's
//! semantic conventions; never a text of a message, a name, a query string or a secret.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Target of spans that belong to traces.
pub const TARGET: &str = "otel";

/// Name of the header with the context, on HTTP and on the bus (W3C Trace Context).
pub const HEADER: &str = "traceparent";

/// Maximum length of a header that is read. One of version 00 has 55 bytes; later versions may be
/// longer.
const MAX_HEADER: usize = 128;

/// `true` once traces are exported.
static EXPORTED: AtomicBool = AtomicBool::new(false);

/// `true` if requests continue the traces that they name.
static TRUSTED: AtomicBool = AtomicBool::new(false);

/// Notes that traces are exported from now on, and whether requests may name the trace that they
/// belong to.
pub(crate) fn enable(trust_incoming: bool) {
    TRUSTED.store(trust_incoming, Ordering::Release);
    EXPORTED.store(true, Ordering::Release);
}

/// Returns whether traces are exported.
pub fn is_enabled() -> bool {
    EXPORTED.load(Ordering::Acquire)
}

/// Place in a trace: its id, the id of a span, and whether it is sampled, as a `traceparent` of W3C
/// Trace Context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext(Box<str>);

impl TraceContext {
    /// Returns the place of the work under way; `None` when it belongs to no trace.
    pub fn current() -> Option<Self> {
        if is_enabled() { Self::of(&Context::current()) } else { None }
    }

    /// Parses the value of a `traceparent` header; `None` if it is invalid, or if traces are not
    /// exported.
    pub fn parse(header: &str) -> Option<Self> {
        let is_usable = is_enabled() && header.len() <= MAX_HEADER;
        // As it is understood here, which is never more than what may be passed on.
        if is_usable { Self::of(&extracted(header)) } else { None }
    }

    /// Parses the header of a request; `None` as well unless the settings trust it: anybody could
    /// have theirs recorded, whatever the sampling ratio, or put it into the trace of others.
    pub fn incoming(header: &str) -> Option<Self> {
        if TRUSTED.load(Ordering::Acquire) { Self::parse(header) } else { None }
    }

    /// Returns the value of a `traceparent` header.
    pub fn header(&self) -> &str {
        &self.0
    }

    fn of(context: &Context) -> Option<Self> {
        let mut carrier = HashMap::with_capacity(2);
        TraceContextPropagator::new().inject_context(context, &mut carrier);
        carrier.remove(HEADER).map(|header| Self(header.into()))
    }
}

fn extracted(header: &str) -> Context {
    let carrier = HashMap::from([(HEADER.to_owned(), header.to_owned())]);
    // An explicit empty context: the work under way is no parent.
    TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier)
}

/// Makes `span`, which has not been entered yet, the child of `parent`.
pub fn continue_from(span: &Span, parent: &TraceContext) {
    if is_enabled() {
        // Fails only for a span that is disabled, or was entered.
        let _ = span.set_parent(extracted(parent.header()));
    }
}

/// Links `span` to a place in another trace, or elsewhere in its own.
pub fn link(span: &Span, to: &TraceContext) {
    if is_enabled() {
        span.add_link(extracted(to.header()).span().span_context().clone());
    }
}

/// Marks `span` as failed, with a class of errors of low cardinality: `error.type`.
pub fn fail(span: &Span, error_type: &str) {
    if is_enabled() {
        span.set_attribute("error.type", error_type.to_owned());
        span.set_status(opentelemetry::trace::Status::error(""));
    }
}

/// Returns whether `span` is exported: sampled, as its trace is.
pub fn is_recorded(span: &Span) -> bool {
    is_enabled() && span.context().span().span_context().is_sampled()
}

/// Returns the id of the trace that `span` belongs to, for the log.
pub fn trace_id(span: &Span) -> Option<String> {
    if !is_enabled() {
        return None;
    }
    let context = span.context();
    let id = context.span().span_context().trace_id();
    (id != opentelemetry::trace::TraceId::INVALID).then(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    /// One test, since the switches are the process' own.
    #[test]
    fn a_context_is_read_and_written_as_w3c_says() {
        assert_eq!(TraceContext::parse(HEADER), None, "traces are not exported");
        enable(false);
        assert_eq!(TraceContext::parse(HEADER).unwrap().header(), HEADER);
        assert_eq!(TraceContext::incoming(HEADER), None, "nobody trusts it");
        assert_eq!(TraceContext::current(), None, "no work is under way");
        let unsampled = HEADER.replace("-01", "-00");
        assert_eq!(TraceContext::parse(&unsampled).unwrap().header(), unsampled);
        for wrong in [
            "",
            "no header",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        ] {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong}");
        }
        assert_eq!(TraceContext::parse(&format!("{HEADER}{}", "-x".repeat(100))), None);
        enable(true);
        assert_eq!(TraceContext::incoming(HEADER).unwrap().header(), HEADER);
        assert_eq!(trace_id(&Span::none()), None);
        assert!(!is_recorded(&Span::none()));
    }
}
