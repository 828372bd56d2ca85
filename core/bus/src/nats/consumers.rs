//! Durable consumers on the server: listing and removal.

use std::time::Duration;

use async_nats::jetstream::consumer::Info;
use futures_util::TryStreamExt as _;

use super::{NatsBus, unavailable};
use crate::{BusError, ConsumerStatus, Stream};

const STREAMS: [Stream; 2] = [Stream::Events, Stream::Jobs];

impl NatsBus {
    pub(crate) async fn consumers(&self) -> Result<Vec<ConsumerStatus>, BusError> {
        let mut found = Vec::new();
        for stream in STREAMS {
            let consumers = self.confirmed(self.consumers_of(stream)).await?;
            found.extend(consumers.into_iter().map(|info| self.status(stream, &info)));
        }
        Ok(found)
    }

    async fn consumers_of(&self, stream: Stream) -> Result<Vec<Info>, BusError> {
        let handle = self.inner.context.get_stream_no_info(stream.name()).await;
        let handle = handle.map_err(|error| unavailable(&error))?;
        handle.consumers().try_collect().await.map_err(|error| unavailable(&error))
    }

    fn status(&self, stream: Stream, info: &Info) -> ConsumerStatus {
        let idle = info.delivered.last_active.map(|at| {
            let at = i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
            Duration::from_millis(
                self.inner.clock.now().millis().saturating_sub(at).max(0).unsigned_abs(),
            )
        });
        ConsumerStatus {
            name: info.name.clone(),
            stream: stream.name(),
            backlog: info.num_pending + info.num_ack_pending as u64,
            idle_seconds: idle.map(|idle| idle.as_secs()),
        }
    }

    pub(crate) async fn remove_consumer(&self, name: &str) -> Result<bool, BusError> {
        let mut specs = self.inner.specs.lock().await;
        specs.retain(|spec| spec.name != name);
        let mut removed = false;
        for stream in STREAMS {
            let consumers = self.confirmed(self.consumers_of(stream)).await?;
            let Some(info) = consumers.into_iter().find(|info| info.name == name) else {
                continue;
            };
            self.confirmed(self.remove_from(stream, &info)).await?;
            removed = true;
        }
        Ok(removed)
    }

    /// Removes the messages of a removed consumer; `EVENTS` drops them by itself, a work queue
    /// keeps them.
    async fn remove_from(&self, stream: Stream, info: &Info) -> Result<(), BusError> {
        let handle = self.inner.context.get_stream_no_info(stream.name()).await;
        let handle = handle.map_err(|error| unavailable(&error))?;
        handle.delete_consumer(&info.name).await.map_err(|error| unavailable(&error))?;
        let subject = info.config.filter_subject.as_str();
        if stream == Stream::Jobs && !subject.is_empty() {
            let purged = handle.purge().filter(subject).await;
            purged.map_err(|error| unavailable(&error))?;
        }
        Ok(())
    }

    /// Returns the creation time of the stream of events: it is created once for all processes, so
    /// the time identifies it.
    pub(crate) async fn identity(&self) -> Result<String, BusError> {
        self.confirmed(async {
            let stream = self.inner.context.get_stream(Stream::Events.name()).await;
            let stream = stream.map_err(|error| unavailable(&error))?;
            let created = stream.cached_info().created.unix_timestamp_nanos();
            Ok(format!("NATS JetStream {created}"))
        })
        .await
    }
}
