//! Traces of handling: one span a message and call, in the trace that the message continues.

use std::collections::HashMap;
use std::sync::Arc;

use chatkeep_bus::Delivery;
use chatkeep_core::trace::{self, TraceContext};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use crate::outcome::{Outcome, name_of};
use crate::stages::StageName;

tokio::task_local! {
    /// Places in their traces of the messages that the call under way handles, by their ids.
    static HANDLED: Arc<HashMap<String, TraceContext>>;
}

/// Returns the place in its trace of a message that the call under way handles, by its id on the
/// bus. What follows from one message of a batch names it: the batch has no trace of its own.
pub(crate) fn trace_of(id: &str) -> Option<TraceContext> {
    HANDLED.try_with(|handled| handled.get(id).cloned()).ok().flatten()
}

/// Spans of one call of a stage.
#[derive(Debug, Default)]
pub(super) struct CallSpans {
    /// One a message; empty while traces are not exported.
    spans: Vec<Span>,
    /// The places of the spans.
    handled: HashMap<String, TraceContext>,
}

impl CallSpans {
    /// Begins the spans of a call.
    pub(super) fn begin(stage: StageName, system: &'static str, deliveries: &[Delivery]) -> Self {
        if !trace::is_enabled() {
            return Self::default();
        }
        let mut call = Self::default();
        for delivery in deliveries {
            let span = span(stage, system, delivery);
            if deliveries.len() > 1 {
                span.record("messaging.batch.message_count", deliveries.len());
            }
            if let Some(parent) = &delivery.trace {
                trace::continue_from(&span, parent);
            }
            if let Some(context) = span.in_scope(TraceContext::current) {
                call.handled.insert(delivery.id.clone(), context);
            }
            call.spans.push(span);
        }
        call
    }

    /// Returns the id of the trace of a message that is handled alone, for the log.
    pub(super) fn trace_id(&self) -> Option<String> {
        match &*self.spans {
            [one] => trace::trace_id(one),
            _ => None,
        }
    }

    /// Runs the call. What a batch does as one, such as a call to the platform, is shown in the
    /// trace of its first message that is recorded.
    pub(super) async fn run<T>(&self, call: impl Future<Output = T>) -> T {
        let recorded = self.spans.iter().find(|span| trace::is_recorded(span));
        match recorded.or(self.spans.first()) {
            None => call.await,
            Some(span) => {
                let handled = Arc::new(self.handled.clone());
                HANDLED.scope(handled, call.instrument(span.clone())).await
            }
        }
    }

    /// Notes the outcomes. The spans end with this.
    pub(super) fn end(&self, outcomes: &[Outcome]) {
        for (span, outcome) in self.spans.iter().zip(outcomes) {
            span.record("chatkeep.outcome", name_of(outcome));
            if let Err(unfinished) = outcome {
                trace::fail(span, unfinished.name());
            }
        }
    }
}

fn span(stage: StageName, system: &'static str, delivery: &Delivery) -> Span {
    info_span!(
        target: trace::TARGET,
        parent: None,
        "process",
        otel.name = format!("process {stage}"),
        otel.kind = "consumer",
        messaging.system = system,
        messaging.operation.name = "process",
        messaging.operation.type = "process",
        messaging.destination.name = delivery.destination(),
        messaging.consumer.group.name = stage.name(),
        messaging.message.id = &*delivery.id,
        messaging.batch.message_count = Empty,
        chatkeep.attempt = delivery.attempt,
        chatkeep.outcome = Empty,
    )
}
