//! Export of traces to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! Spans that have ended wait in a bounded queue; a thread of its own sends them in batches. When
//! the collector is away the queue fills up and further spans are dropped: nothing that the process
//! does ever waits for it.

use std::fmt;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, RetryPolicy, SpanExporter, WithExportConfig as _,
    WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider,
};
use tokio::runtime::Handle;
use url::Url;

use crate::causes::with_causes;
use crate::config::TelemetryConfig;
use crate::http::{bounded_body, is_this_machine, local_client, patient_client};
use crate::outage::{Availability, Work};
use crate::random::random_name;
use crate::{metric, panics};

/// Name of this program among others in a trace, unless `OTEL_SERVICE_NAME` gives another.
const SERVICE: &str = "chatkeep";
/// Path of traces below the address of a collector.
const PATH: &str = "/v1/traces";
/// Maximum number of ended spans that wait to be sent.
const QUEUE: usize = 4_096;
/// Interval between two batches.
const INTERVAL: Duration = Duration::from_secs(2);
/// Timeout of sending one batch.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Error of setting up the export of traces.
#[derive(Debug, thiserror::Error)]
pub enum TraceExportError {
    /// The HTTP client cannot be made.
    #[error("cannot make the client for traces")]
    Client(#[from] reqwest::Error),
    /// The exporter refuses its settings, which may come from a variable `OTEL_…`.
    #[error("cannot export traces")]
    Exporter(#[from] ExporterBuildError),
}

/// Creates the provider of spans for an address, and its tracer.
pub(super) fn provider(
    config: &TelemetryConfig,
    endpoint: &str,
    runtime: Handle,
) -> Result<(SdkTracerProvider, SdkTracer), TraceExportError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(CollectorClient::new(endpoint, runtime)?)
        .with_endpoint(format!("{endpoint}{PATH}"))
        .with_protocol(Protocol::HttpBinary)
        .with_timeout(TIMEOUT)
        // What cannot be sent is dropped: later spans are worth more.
        .with_retry_policy(RetryPolicy::disabled())
        .build()?;
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_scheduled_delay(INTERVAL)
        .build();
    let batches = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
    let sampler = Sampler::TraceIdRatioBased(config.sample_ratio);
    let provider = SdkTracerProvider::builder()
        .with_span_processor(batches)
        // A trace is recorded whole, in every process, or not at all.
        .with_sampler(Sampler::ParentBased(Box::new(sampler)))
        .with_resource(resource())
        .build();
    let tracer = provider.tracer(SERVICE);
    Ok((provider, tracer))
}

/// Returns what describes this process in its traces: `OTEL_SERVICE_NAME` and
/// `OTEL_RESOURCE_ATTRIBUTES` add to it.
fn resource() -> Resource {
    let detected = Resource::builder().build();
    let name = detected.get(&Key::new("service.name")).map(|name| name.to_string());
    let is_given = name.as_deref().is_some_and(|name| !name.starts_with("unknown_service"));
    let own = [
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", random_name()),
    ];
    let resource = Resource::builder().with_attributes(own);
    match name {
        Some(name) if is_given => resource.with_service_name(name).build(),
        _ => resource.with_service_name(SERVICE).build(),
    }
}

/// HTTP client of the exporter, on the runtime of the process: the exporter's own thread has none.
struct CollectorClient {
    http: reqwest::Client,
    runtime: Handle,
    available: Availability,
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectorClient").finish_non_exhaustive()
    }
}

impl CollectorClient {
    fn new(endpoint: &str, runtime: Handle) -> Result<Self, reqwest::Error> {
        let is_local = Url::parse(endpoint).is_ok_and(|url| is_this_machine(&url));
        let http = if is_local { local_client(TIMEOUT)? } else { patient_client(TIMEOUT)? };
        let available = Availability::new("trace collector", endpoint, "telemetry.endpoint");
        Ok(Self { http, runtime, available })
    }
}

#[async_trait::async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (http, available) = (self.http.clone(), self.available.clone());
        let sent = panics::spawn_on(&self.runtime, "trace_export", async move {
            let sent = send(&http, request).await;
            match &sent {
                Ok(response) if response.status().is_success() => available.works(Work::Writing),
                Ok(response) => available.fails(Work::Writing, response.status().as_str()),
                Err(error) => available.fails(Work::Writing, &with_causes(error)),
            }
            let result = match &sent {
                Ok(response) if response.status().is_success() => "ok",
                Ok(_) => "refused",
                Err(_) => "unavailable",
            };
            metric::TRACE_EXPORTS.add([result.into()], 1);
            sent
        });
        Ok(sent.await???)
    }
}

/// Sends a batch and reads the whole response.
async fn send(
    http: &reqwest::Client,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, reqwest::Error> {
    let answer = http.execute(request.try_into()?).await?;
    let status = answer.status();
    let mut response = Response::new(bounded_body(answer).await?.into());
    *response.status_mut() = status;
    Ok(response)
}
