//! Health endpoints and metrics for an operator.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chatkeep_bus::{Bus, ConsumerStatus};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::health::Health;
use chatkeep_core::{metric, outage};
use chatkeep_http::HttpError;
use chatkeep_http::server::Server;
use chatkeep_store::Store;
use chatkeep_workers::StageName;
use chatkeep_workers::replica::Replica;
use chatkeep_workers::supervisor::Supervisor;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// Media type of metrics, with the version of their format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Timeout of a readiness check.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Dependencies of readiness.
#[derive(Clone, Debug)]
pub struct Ready {
    pub bus: Bus,
    pub store: Store,
    pub health: Health,
    /// Reserves of free disk space, below which parts of the process pause.
    pub disk: Vec<DiskReserve>,
    /// Replica of the search index, if the process has one.
    pub search: Option<SearchReadiness>,
}

/// Time after its start for which a process may wait for its replica.
const CATCH_UP: Duration = Duration::from_mins(1);

/// Replica whose state is a part of readiness.
#[derive(Clone, Debug)]
pub struct SearchReadiness {
    replica: Replica,
    waiting: ReplicaWaiting,
    started: Instant,
}

/// Time for which a process is not ready while its replica serves no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaWaiting {
    /// Never: nothing may keep webhooks from the process.
    Never,
    /// For a minute after the start: mostly a replica has caught up by then, and when a large one
    /// is filled, all else that the process serves must not wait for it.
    AtFirst,
    /// For as long as that takes: the process serves nothing else.
    Always,
}

impl SearchReadiness {
    /// Creates it for a process that starts now.
    pub fn new(replica: Replica, waiting: ReplicaWaiting) -> Self {
        Self { replica, waiting, started: Instant::now() }
    }
}

impl SearchReadiness {
    /// Adds the state of the replica to the parts that are shown. Returns false if the process waits
    /// for it.
    fn show(&self, parts: &mut Map<String, Value>) -> bool {
        let state = self.replica.state();
        let Some(reason) = state.unready() else {
            parts.insert("search".to_owned(), "ok".into());
            return true;
        };
        parts.insert("search".to_owned(), state.phase.name().into());
        parts.insert("searchReason".to_owned(), reason.into());
        !self.waiting.lasts(self.started.elapsed())
    }
}

impl ReplicaWaiting {
    fn lasts(self, since_start: Duration) -> bool {
        match self {
            Self::Never => false,
            Self::AtFirst => since_start < CATCH_UP,
            Self::Always => true,
        }
    }
}

/// Returns `/healthz` (the process runs) and `/readyz` (bus and store respond, and perhaps the
/// search index).
///
/// Readiness decides whether requests are sent here, and receiving webhooks needs no more than bus
/// and store. So the problems of other parts are listed in the body and leave the status 200; a
/// search index that has not caught up does so for those processes that serve searches and receive
/// no webhooks ([`ReplicaWaiting`]).
pub fn router(ready: Ready) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readiness))
        .with_state(ready)
}

async fn readiness(State(ready): State<Ready>) -> Response {
    let bus = tokio::time::timeout(TIMEOUT, ready.bus.ready());
    let store = tokio::time::timeout(TIMEOUT, ready.store.ready());
    let (bus, store) = tokio::join!(bus, store);
    let state = |ok: bool| if ok { "ok" } else { "down" };
    let (bus, store) = (matches!(bus, Ok(Ok(()))), matches!(store, Ok(Ok(()))));
    let mut parts = Map::new();
    parts.insert("bus".to_owned(), state(bus).into());
    parts.insert("store".to_owned(), state(store).into());
    let is_low = ready.disk.iter().any(DiskReserve::is_low);
    parts.insert("disk".to_owned(), if is_low { "low" } else { "ok" }.into());
    let search = ready.search.as_ref().is_none_or(|search| search.show(&mut parts));
    parts.insert("problems".to_owned(), json!(ready.health.problems()));
    if bus && store && search {
        axum::Json(parts).into_response()
    } else {
        HttpError::Unavailable.with(parts)
    }
}

/// Starts collecting metrics in this process.
///
/// # Errors
/// Returns an error if another recorder was installed before.
pub fn install_metrics() -> Result<PrometheusHandle, metrics_exporter_prometheus::BuildError> {
    let histograms = metric::ALL.iter().filter(|metric| !metric.buckets.is_empty());
    let builder =
        histograms.into_iter().try_fold(PrometheusBuilder::new(), |builder, metric| {
            builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), metric.buckets)
        })?;
    let handle = builder.install_recorder()?;
    metric::describe();
    metric::BUILD_INFO.set([env!("CARGO_PKG_VERSION").into()], 1.0);
    Ok(handle)
}

/// Returns `/metrics`, for a listener of its own so that it is never public by accident.
pub fn metrics_router(
    handle: PrometheusHandle,
    bus: Bus,
    max_backlog: u64,
    replica: Option<Replica>,
) -> Router {
    metric::BACKLOG_LIMIT.count([], max_backlog);
    Router::new().route(
        "/metrics",
        get(async move || {
            if let Ok(Ok(consumers)) = tokio::time::timeout(TIMEOUT, bus.consumers()).await {
                measure_backlog(&consumers);
            }
            if let Ok(Ok(kept)) = tokio::time::timeout(TIMEOUT, bus.count_dead_letters()).await {
                metric::DEAD_LETTERS_KEPT.count([], kept);
            }
            if let Some(replica) = &replica
                && let Ok(Ok(lag)) = tokio::time::timeout(TIMEOUT, replica.lag()).await
            {
                metric::SEARCH_LAG_SECONDS.set([], lag.as_secs_f64());
            }
            outage::show_all();
            handle.run_upkeep();
            ([(header::CONTENT_TYPE, METRICS)], handle.render())
        }),
    )
}

/// Measures what waits for each stage, and for how long.
fn measure_backlog(consumers: &[ConsumerStatus]) {
    let stages = consumers.iter().filter(|consumer| StageName::has_consumer(&consumer.name));
    for ConsumerStatus { name, backlog, oldest_seconds, .. } in stages {
        metric::BACKLOG.count([name.clone().into()], *backlog);
        metric::STAGE_LAG_SECONDS.count([name.clone().into()], oldest_seconds.unwrap_or(0));
    }
}

/// Serves the metrics on `listener`; on another one with its address after a failure.
///
/// # Errors
/// Returns an error if the address of the listener is unknown.
pub(crate) async fn serve_metrics(
    supervisor: &Supervisor,
    server: Server,
    listener: TcpListener,
    drain: Duration,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let mut first = Some(listener);
    let serve = move |stop| {
        let (server, first) = (server.clone(), first.take());
        async move {
            let listener = match first {
                Some(listener) => listener,
                None => TcpListener::bind(address).await?,
            };
            Ok::<_, std::io::Error>(server.run(listener, stop, drain))
        }
    };
    supervisor.run_prepared("metrics", serve).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_waits_for_its_replica_as_far_as_others_can_wait_for_it() {
        for (waiting, at_first, later) in [
            (ReplicaWaiting::Never, false, false),
            (ReplicaWaiting::AtFirst, true, false),
            (ReplicaWaiting::Always, true, true),
        ] {
            assert_eq!(waiting.lasts(Duration::from_secs(59)), at_first, "{waiting:?}");
            assert_eq!(waiting.lasts(CATCH_UP), later, "{waiting:?}");
        }
    }
}
