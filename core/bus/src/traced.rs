//! Traces of publishing: one span a call, whose context travels with its messages.

use chatkeep_core::trace::{self, TraceContext};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use crate::{BusError, Outgoing};

/// Returns the span of a call that publishes `messages`; `None` while traces are not exported.
pub(crate) fn publish_span(system: &'static str, messages: &[Outgoing]) -> Option<Span> {
    let first = messages.first().filter(|_| trace::is_enabled())?;
    let destination = template(&first.subject);
    let span = info_span!(
        target: trace::TARGET,
        "publish",
        otel.name = format!("publish {destination}"),
        otel.kind = "producer",
        messaging.system = system,
        messaging.operation.name = "publish",
        messaging.operation.type = "send",
        messaging.destination.name = destination,
        messaging.message.id = Empty,
        messaging.batch.message_count = Empty,
    );
    match messages {
        [one] => span.record("messaging.message.id", &*one.id),
        many => span.record("messaging.batch.message_count", many.len()),
    };
    Some(span)
}

/// Publishes in `span`, which every message continues that names no other trace.
pub(crate) async fn publish<F>(
    span: Span,
    mut messages: Vec<Outgoing>,
    send: impl FnOnce(Vec<Outgoing>) -> F,
) -> Result<(), BusError>
where
    F: Future<Output = Result<(), BusError>>,
{
    let context = span.in_scope(TraceContext::current);
    for message in &mut messages {
        if let Some(other) = &message.trace {
            // Published together, but each follows from a trace of its own.
            trace::link(&span, other);
        } else {
            message.trace.clone_from(&context);
        }
    }
    let result = send(messages).instrument(span.clone()).await;
    if let Err(error) = &result {
        trace::fail(&span, error.class());
    }
    result
}

/// Returns a subject without its shard: destinations in traces are few.
pub(crate) fn template(subject: &str) -> &str {
    subject.rsplit_once('.').map_or(subject, |(template, _)| template)
}
