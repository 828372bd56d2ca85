//! OpenTelemetry collector: receives traces by OTLP over HTTP and keeps their spans.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use prost::Message as _;
use tokio::net::TcpListener;

/// A span as it was exported.
#[derive(Clone, Debug)]
pub(crate) struct ExportedSpan {
    /// Attributes of the process that exported it.
    pub(crate) resource: BTreeMap<String, String>,
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for the root of a trace.
    pub(crate) parent: String,
    /// 2: server; 3: client; 4: producer; 5: consumer.
    pub(crate) kind: i32,
    /// `true` if its status is an error.
    pub(crate) failed: bool,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) events: usize,
}

/// The collector. Dropping it leaves its port open until the test ends.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<ExportedSpan>>>,
}

impl Collector {
    /// Starts one.
    #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let collector = Self { address, spans: Arc::default() };
        let router = Router::new().route("/v1/traces", post(receive)).with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        collector
    }

    /// Returns the base address for the settings.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the spans received so far.
    pub(crate) fn spans(&self) -> Vec<ExportedSpan> {
        self.lock().clone()
    }

    /// Returns the spans of a trace.
    pub(crate) fn trace(&self, trace: &str) -> Vec<ExportedSpan> {
        self.spans().into_iter().filter(|span| span.trace == trace).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ExportedSpan>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn receive(
    State(collector): State<Collector>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Bytes) {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    for spans in request.resource_spans {
        let resource = attributes(spans.resource.unwrap_or_default().attributes);
        for span in spans.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            collector.lock().push(ExportedSpan {
                resource: resource.clone(),
                name: span.name,
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                kind: span.kind,
                failed: span.status.is_some_and(|status| status.code == 2),
                attributes: attributes(span.attributes),
                events: span.events.len(),
            });
        }
    }
    (StatusCode::OK, Bytes::new())
}

fn attributes(given: Vec<KeyValue>) -> BTreeMap<String, String> {
    given.into_iter().map(|one| (one.key, text(one.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(on)) => on.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}
