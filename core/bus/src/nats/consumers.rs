//! Durable consumers on the server: listing and removal.

use async_nats::jetstream::consumer::Info;
use chatkeep_core::time::Timestamp;
use futures_util::TryStreamExt as _;

use super::dead::found;
use super::{NatsBus, unavailable};
use crate::{BusError, BusState, ConsumerStatus, Stream};

impl NatsBus {
    pub(crate) async fn consumers(&self) -> Result<Vec<ConsumerStatus>, BusError> {
        let mut found = Vec::new();
        for stream in Stream::ALL {
            let consumers = self.confirmed(self.consumers_of(stream)).await?;
            for info in consumers {
                found.push(self.status(stream, &info).await?);
            }
        }
        Ok(found)
    }

    async fn consumers_of(&self, stream: Stream) -> Result<Vec<Info>, BusError> {
        let handle = self.inner.context.get_stream_no_info(stream.name()).await;
        let handle = handle.map_err(|error| unavailable(&error))?;
        handle.consumers().try_collect().await.map_err(|error| unavailable(&error))
    }

    async fn status(&self, stream: Stream, info: &Info) -> Result<ConsumerStatus, BusError> {
        let now = self.inner.clock.now();
        let seconds = |nanoseconds: i128| {
            let at = i64::try_from(nanoseconds / 1_000_000).unwrap_or(0);
            now.since(Timestamp::from_millis(at)).as_secs()
        };
        let idle = info.delivered.last_active.map(|at| seconds(at.unix_timestamp_nanos()));
        let backlog = info.num_pending + info.num_ack_pending as u64;
        let oldest = if backlog == 0 { None } else { self.oldest(stream, info).await? };
        Ok(ConsumerStatus {
            name: info.name.clone(),
            stream: stream.name(),
            backlog,
            oldest_seconds: oldest.map(seconds),
            idle_seconds: idle,
        })
    }

    /// Returns the time in nanoseconds at which the oldest unfinished message of a consumer was
    /// published: the first one after those that it has acknowledged without a gap.
    async fn oldest(&self, stream: Stream, info: &Info) -> Result<Option<i128>, BusError> {
        let first = info.ack_floor.stream_sequence + 1;
        let filter = info.config.filter_subject.as_str();
        let all = format!("{}.>", stream.prefix());
        let subject = if filter.is_empty() { all.as_str() } else { filter };
        self.confirmed(async {
            let handle = self.inner.context.get_stream_no_info(stream.name()).await;
            let handle = handle.map_err(|error| unavailable(&error))?;
            let message = handle.get_first_raw_message_by_subject(subject, first).await;
            // None is there when it was finished meanwhile.
            Ok(found(message)?.map(|message| message.time.unix_timestamp_nanos()))
        })
        .await
    }

    pub(crate) async fn remove_consumer(&self, name: &str) -> Result<bool, BusError> {
        let mut specs = self.inner.specs.lock().await;
        specs.retain(|spec| spec.name != name);
        let mut removed = false;
        for stream in Stream::ALL {
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

    /// Returns the state of the stream of events. It is created once for all processes, so the time
    /// of that identifies it.
    pub(crate) async fn bus_state(&self) -> Result<BusState, BusError> {
        self.confirmed(async {
            let stream = self.inner.context.get_stream(Stream::Events.name()).await;
            let stream = stream.map_err(|error| unavailable(&error))?;
            let info = stream.cached_info();
            Ok(BusState {
                identity: format!("NATS JetStream {}", info.created.unix_timestamp_nanos()),
                last_sequence: info.state.last_sequence,
            })
        })
        .await
    }
}
