//! Tests of the NATS bus on a cluster of three servers, of the version that `deploy/` names: replicas
//! of 2.9 lose events.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::GetStreamErrorKind;
use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusError, BusLimits};
use chatkeep_core::time::SystemClock;
use futures_util::future::{join_all, try_join_all};
use tokio::time::Instant;

use crate::fixture::{TIMEOUT, ack_all, events, gather, publish, set};
use crate::nats_server::{NatsServer, free_port};

/// Three servers, and their addresses for clients.
struct Cluster {
    /// Killed with this value.
    _servers: Vec<NatsServer>,
    url: String,
}

impl Cluster {
    /// Starts the servers and waits until they have elected a leader.
    async fn start() -> Self {
        let routes: Vec<_> = (0..3).map(|_| format!("nats://127.0.0.1:{}", free_port())).collect();
        let all = routes.join(",");
        let start = async |(n, route): (usize, &String)| {
            let name = format!("n{n}");
            let cluster = ["--cluster_name", "c", "--cluster", route, "--routes", &all];
            NatsServer::start_current(&[&["--name", &name][..], &cluster[..]].concat()).await
        };
        let servers = join_all(routes.iter().enumerate().map(start)).await;
        let addresses: Vec<_> = servers.iter().map(NatsServer::address).collect();
        let cluster = Self { _servers: servers, url: format!("nats://{}", addresses.join(",")) };
        cluster.elected().await;
        cluster
    }

    async fn elected(&self) {
        let client = async_nats::connect(&addresses(&self.url)).await.unwrap();
        let mut context = async_nats::jetstream::new(client);
        context.set_timeout(Duration::from_millis(500));
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let error = context.get_stream("NOTHING").await.unwrap_err();
            if let GetStreamErrorKind::JetStream(error) = error.kind()
                && error.error_code() == ErrorCode::STREAM_NOT_FOUND
            {
                return;
            }
            assert!(Instant::now() < deadline, "no leader: {error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn connect(&self) -> Result<Bus, BusError> {
        let (limits, clock) = (BusLimits::default(), Arc::new(SystemClock));
        Ok(Bus::Nats(NatsBus::connect_replicated(&self.url, 3, limits, clock).await?))
    }
}

fn addresses(url: &str) -> Vec<String> {
    url.trim_start_matches("nats://").split(',').map(ToOwned::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_set_up_a_new_cluster_at_once() {
    let cluster = Cluster::start().await;
    let buses = try_join_all((0..6).map(|_| cluster.connect())).await.unwrap();
    let consumers = buses.iter().map(async |bus| bus.consume(&events("backup")).await);
    let mut consumers = try_join_all(consumers).await.unwrap();
    publish(&buses[5], &["e1", "e2", "e3"]).await;
    let come = gather(&mut consumers[0], 3).await;
    assert_eq!(set(&come).len(), 3);
    ack_all(come).await;
    for bus in buses {
        bus.close().await;
    }
}
