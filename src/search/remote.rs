//! Searches over the bus: those of other processes, and those in their replicas.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_bus::{Bus, BusError};
use chatkeep_workers::log_failure;
use chatkeep_workers::replica::{Replica, ReplicaPhase};
use tokio_util::sync::CancellationToken;

use super::local::find_in;
use super::{SearchError, SearchRequest, SearchResults, unavailable};

/// Topic of search requests.
const TOPIC: &str = "search";

/// Timeout of the request to one replica. It reads memory and disk, so longer than that is an outage: its
/// process may have died with the request, or hang.
const TIMEOUT: Duration = Duration::from_millis(1_500);
/// Timeout of the request to all of them that follows: the bus, which chooses one, does not know that it
/// hangs.
const TIMEOUT_OF_ALL: Duration = Duration::from_millis(3_500);

/// Interval between attempts to subscribe on a bus that refuses it.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Concurrency of searches served for other processes: each keeps a processor busy.
const AT_ONCE: usize = 4;

/// Serves searches in `replica` to other processes on the bus, whenever it is ready, until `stop`.
#[boxed]
pub async fn answer(bus: Bus, replica: Replica, stop: CancellationToken) {
    let mut state = replica.watch();
    loop {
        let ready = state.wait_for(|state| state.phase == ReplicaPhase::Ready);
        // The replica outlives its watchers here.
        let Some(Ok(_)) = stop.run_until_cancelled(ready).await else { return };
        let asked = replica.clone();
        let handler = move |question: Bytes| {
            let replica = asked.clone();
            async move {
                let found = match serde_json::from_slice(&question) {
                    Ok(find) => find_in(&replica, Arc::new(find)).await,
                    Err(_) => {
                        Err(SearchError::Unavailable("asked in another version's words".into()))
                    }
                };
                // Numbers and texts: always valid JSON.
                serde_json::to_vec(&found).unwrap_or_default().into()
            }
        };
        match bus.serve(TOPIC, AT_ONCE, handler).await {
            Ok(answering) => {
                let mut state = replica.watch();
                let stop = stop.clone();
                let end = async move {
                    let unready = state.wait_for(|state| state.phase != ReplicaPhase::Ready);
                    let _ = stop.run_until_cancelled(unready).await;
                };
                answering.run(end).await;
            }
            Err(error) => {
                log_failure!(warn, &error, "cannot serve searches of other processes");
                stop.run_until_cancelled(tokio::time::sleep(RETRY_INTERVAL)).await;
            }
        }
    }
}

/// Requests a search of one replica, and of all of them if that one does not reply or is not ready.
pub(super) async fn request_remote(
    bus: &Bus,
    find: &SearchRequest,
) -> Result<SearchResults, SearchError> {
    let question = Bytes::from(serde_json::to_vec(find).map_err(|error| unavailable(&error))?);
    let reply = bus.request(TOPIC, question.clone(), TIMEOUT).await;
    let may_others =
        matches!(reply, Ok(_) | Err(BusError::RequestTimeout(_) | BusError::Unavailable(_)));
    let mut failure = match found(reply) {
        Err(error @ SearchError::Unavailable(_)) if may_others => error,
        found => return found,
    };
    let replies = bus.request_all(TOPIC, question.clone(), TIMEOUT_OF_ALL).await;
    let Ok(mut replies) = replies else { return Err(failure) };
    while let Some(reply) = replies.next().await {
        if matches!(reply, Err(BusError::NoResponder(_))) {
            // Servers of an earlier version are asked one by one.
            return found(bus.request(TOPIC, question, TIMEOUT).await);
        }
        match found(reply) {
            Err(error @ SearchError::Unavailable(_)) => failure = error,
            found => return found,
        }
    }
    Err(failure)
}

/// Returns what a replica found, or why it found nothing.
fn found(reply: Result<Bytes, BusError>) -> Result<SearchResults, SearchError> {
    match reply {
        Ok(reply) => serde_json::from_slice(&reply).map_err(|error| unavailable(&error))?,
        Err(BusError::NoResponder(_)) => Err(SearchError::Unavailable(
            "no process has the role search (chatkeep serve --roles search)".to_owned(),
        )),
        Err(error) => Err(unavailable(&error)),
    }
}
