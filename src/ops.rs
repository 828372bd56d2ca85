//! What an operator watches: liveness, readiness, metrics.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chatkeep_core::bus::Bus;
use chatkeep_core::health::Health;
use chatkeep_core::store::Store;
use chatkeep_workers::StageName;
use chatkeep_workers::replica::Replica;
use metrics::gauge;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde_json::{Map, json};

use crate::api::ApiError;

/// A part that does not answer this fast is not ready.
const PATIENCE: Duration = Duration::from_secs(3);

/// Bounds of the time histograms, in seconds.
const SECONDS: [f64; 12] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// What readiness depends on.
#[derive(Clone, Debug)]
pub struct Ready {
    pub bus: Bus,
    pub store: Store,
    pub health: Health,
}

/// `/healthz` (the process runs) and `/readyz` (bus and store answer).
///
/// Readiness decides whether requests are sent here, and taking webhooks needs no more than bus and
/// store. So the problems of other parts are listed in the body and leave the status 200.
pub fn router(ready: Ready) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readiness))
        .with_state(ready)
}

async fn readiness(State(ready): State<Ready>) -> Response {
    let bus = tokio::time::timeout(PATIENCE, ready.bus.ready());
    let store = tokio::time::timeout(PATIENCE, ready.store.ready());
    let (bus, store) = tokio::join!(bus, store);
    let state = |ok: bool| if ok { "ok" } else { "down" };
    let (bus, store) = (matches!(bus, Ok(Ok(()))), matches!(store, Ok(Ok(()))));
    let mut parts = Map::new();
    parts.insert("bus".to_owned(), state(bus).into());
    parts.insert("store".to_owned(), state(store).into());
    parts.insert("problems".to_owned(), json!(ready.health.problems()));
    if bus && store { axum::Json(parts).into_response() } else { ApiError::Unavailable.with(parts) }
}

/// Starts collecting metrics in this process.
///
/// # Errors
/// When another recorder was installed before.
pub fn install_metrics() -> Result<PrometheusHandle, metrics_exporter_prometheus::BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .install_recorder()
}

/// `/metrics`, for a listener of its own so that it is never public by accident.
pub fn metrics_router(
    handle: PrometheusHandle,
    bus: Bus,
    lease: Duration,
    replica: Option<Replica>,
) -> Router {
    Router::new().route(
        "/metrics",
        get(async move || {
            for stage in StageName::ALL {
                if let Ok(Ok(waiting)) =
                    tokio::time::timeout(PATIENCE, bus.backlog(&stage.consumer(lease))).await
                {
                    #[expect(clippy::cast_precision_loss, reason = "a gauge is an f64")]
                    gauge!("chatkeep_backlog", "stage" => stage.name()).set(waiting as f64);
                }
            }
            if let Some(replica) = &replica
                && let Ok(Ok(lag)) = tokio::time::timeout(PATIENCE, replica.lag()).await
            {
                gauge!("chatkeep_search_lag_seconds").set(lag.as_secs_f64());
            }
            handle.run_upkeep();
            handle.render()
        }),
    )
}
