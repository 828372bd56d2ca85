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

/// Timeout of each attempt. A replica reads memory and disk, so longer than that is an outage: its process
/// may have died with the request, or hang. The bus chooses among all of them each time, so that several
/// attempts may come to the one that hangs.
const TIMEOUTS: [Duration; 4] = [
    Duration::from_millis(1_500),
    Duration::from_secs(1),
    Duration::from_secs(1),
    Duration::from_millis(1_500),
];

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

/// Requests a search of one replica, and of another one if that does not reply or is not ready.
pub(super) async fn request_remote(
    bus: &Bus,
    find: &SearchRequest,
) -> Result<SearchResults, SearchError> {
    let question = Bytes::from(serde_json::to_vec(find).map_err(|error| unavailable(&error))?);
    let mut failure = SearchError::Unavailable(String::new());
    for timeout in TIMEOUTS {
        failure = match bus.request(TOPIC, question.clone(), timeout).await {
            Ok(answer) => {
                match serde_json::from_slice::<Result<SearchResults, SearchError>>(&answer) {
                    Ok(Err(error @ SearchError::Unavailable(_))) => error,
                    Ok(found) => return found,
                    Err(error) => unavailable(&error),
                }
            }
            Err(BusError::NoResponder(_)) => {
                let why = "no process has the role search (chatkeep serve --roles search)";
                return Err(SearchError::Unavailable(why.to_owned()));
            }
            Err(error @ BusError::RequestTimeout(_)) => unavailable(&error),
            Err(error) => return Err(unavailable(&error)),
        };
    }
    Err(failure)
}
