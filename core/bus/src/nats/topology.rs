//! Streams and consumers on the server: creation, and creation anew.
//!
//! `EVENTS` drops a message that no consumer is interested in. So it is created *shut* (bound to a
//! subject that nobody uses), gets its consumers, and only then takes `event.>`: a publish before
//! that is refused instead of losing the message.

use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::pull::Config as PullConfig;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, Info, PullConsumer};
use async_nats::jetstream::context::{
    ConsumerInfoErrorKind, CreateStreamErrorKind, GetStreamErrorKind,
};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use backon::{ExponentialBuilder, Retryable as _};
use chatkeep_core::causes::with_causes;
use tracing::{debug, warn};

use super::{NatsBus, unavailable};
use crate::{BusError, ConsumerSpec, Stream};

/// Stream of dead letters.
pub(super) const DEAD: &str = "DEAD";

/// Timeout for one attempt of a step of the setting up.
const UNANSWERED: Duration = Duration::from_millis(1_500);

/// Pauses between the attempts, of which there are eleven: 7.5 s, beside 16.5 s of waiting for
/// answers at most.
const PAUSES: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(Duration::from_millis(100))
    .with_max_delay(Duration::from_secs(1))
    .with_max_times(10);

/// No limit, in a server's answer. An unset one is 0 in a request.
const UNLIMITED: i64 = -1;

/// Subject of `EVENTS` until its consumers exist.
const PLACEHOLDER_SUBJECT: &str = "chatkeep.shut";

fn everything(stream: Stream) -> String {
    format!("{}.>", stream.prefix())
}

impl NatsBus {
    /// Ensures that the three streams exist as configured; `EVENTS` may still be shut.
    pub(super) async fn set_up_streams(&self) -> Result<(), BusError> {
        let _one_at_a_time = self.inner.specs.lock().await;
        self.repeated(|| self.set_up_all_streams()).await
    }

    async fn set_up_all_streams(&self) -> Result<(), BusError> {
        for config in self.configs() {
            self.set_up_stream(config).await?;
        }
        Ok(())
    }

    /// Runs a step of the setting up, and again while it fails. A cluster that begins refuses it at
    /// first; and of processes that create the same stream at once, some wait for an answer in vain.
    async fn repeated<T, F>(&self, step: impl Fn() -> F) -> Result<T, BusError>
    where
        F: Future<Output = Result<T, BusError>>,
    {
        let attempt = || self.confirmed_within(UNANSWERED, step());
        let may_pass =
            |error: &BusError| matches!(error, BusError::Unavailable(_)) && self.check().is_ok();
        let notify = |error: &BusError, _pause| {
            debug!(error = with_causes(error), "the bus cannot be set up yet; trying again");
        };
        attempt.retry(PAUSES).when(may_pass).notify(notify).await
    }

    fn configs(&self) -> [Config; 3] {
        let bounded = Config {
            max_messages: i64::try_from(self.inner.limits.max_backlog).unwrap_or(i64::MAX),
            // Refuse new messages rather than lose old ones.
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            num_replicas: self.inner.replicas,
            duplicate_window: self.inner.limits.dedupe_window,
            ..Config::default()
        };
        let events = Config {
            name: Stream::Events.name().into(),
            description: self.owner_text(),
            subjects: vec![PLACEHOLDER_SUBJECT.into()],
            retention: RetentionPolicy::Interest,
            ..bounded.clone()
        };
        let jobs = Config {
            name: Stream::Jobs.name().into(),
            subjects: vec![everything(Stream::Jobs)],
            retention: RetentionPolicy::WorkQueue,
            ..bounded.clone()
        };
        let dead = Config {
            name: DEAD.into(),
            subjects: vec!["dead.>".into()],
            retention: RetentionPolicy::Limits,
            max_messages: -1,
            ..bounded
        };
        [events, jobs, dead]
    }

    async fn set_up_stream(&self, wanted: Config) -> Result<(), BusError> {
        let context = &self.inner.context;
        let existing = match context.get_stream(&wanted.name).await {
            Ok(stream) => stream.cached_info().config.clone(),
            Err(error) if is_missing(&error) => match context.create_stream(&wanted).await {
                Ok(_) => return Ok(()),
                // Another process was faster; its settings are the same.
                Err(error) if is_taken(&error) => return Ok(()),
                Err(error) => return Err(unavailable(&error)),
            },
            Err(error) => return Err(unavailable(&error)),
        };
        let updated = Config {
            max_messages: wanted.max_messages,
            duplicate_window: wanted.duplicate_window,
            num_replicas: wanted.num_replicas,
            ..existing.clone()
        };
        // Somebody may want old dead letters to go.
        let updated = if wanted.name == DEAD { updated } else { keeping_messages(&updated) };
        if updated != existing {
            context.update_stream(updated).await.map_err(|error| unavailable(&error))?;
        }
        Ok(())
    }

    /// Ensures that a consumer exists as specified.
    pub(super) async fn set_up_consumer(
        &self,
        spec: &ConsumerSpec,
    ) -> Result<PullConsumer, BusError> {
        let mut specs = self.inner.specs.lock().await;
        let consumer = self.repeated(|| self.create_consumer(spec)).await?;
        specs.retain(|known| known.name != spec.name);
        specs.push(spec.clone());
        Ok(consumer)
    }

    async fn create_consumer(&self, spec: &ConsumerSpec) -> Result<PullConsumer, BusError> {
        let filter_subject = match (spec.stream, spec.queue) {
            (Stream::Jobs, Some(queue)) => format!("{}.{queue}.>", Stream::Jobs.prefix()),
            // No filter at all: `EVENTS` may be shut, and then a filter on its subjects is refused.
            _ => String::new(),
        };
        let config = PullConfig {
            durable_name: Some(spec.name.into()),
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::Explicit,
            ack_wait: spec.lease,
            // The consuming stage decides when to give up.
            max_deliver: -1,
            max_ack_pending: i64::from(spec.max_in_flight.max(1)),
            filter_subject,
            ..PullConfig::default()
        };
        self.inner
            .context
            .create_consumer_on_stream(config, spec.stream.name())
            .await
            .map_err(|error| unavailable(&error))
    }

    /// Returns the server's state of a consumer.
    pub(super) async fn consumer_info(&self, spec: &ConsumerSpec) -> Result<Info, BusError> {
        self.confirmed(async {
            let stream = self.inner.context.get_stream_no_info(spec.stream.name()).await;
            let stream = stream.map_err(|error| unavailable(&error))?;
            stream.consumer_info(spec.name).await.map_err(|error| unavailable(&error))
        })
        .await
    }

    /// Returns `true` if the server still has a consumer.
    pub(super) async fn has_consumer(&self, consumer: &PullConsumer) -> Result<bool, BusError> {
        self.confirmed(async {
            match consumer.get_info().await {
                Ok(_) => Ok(true),
                Err(error) => match error.kind() {
                    ConsumerInfoErrorKind::NotFound | ConsumerInfoErrorKind::StreamNotFound => {
                        Ok(false)
                    }
                    _ => Err(unavailable(&error)),
                },
            }
        })
        .await
    }

    /// Returns `true` if `EVENTS` exists; a round trip to JetStream.
    pub(super) async fn is_set_up(&self) -> Result<bool, BusError> {
        match self.inner.context.get_stream(Stream::Events.name()).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Sets up everything that this process has requested, and opens `EVENTS`: on first use, and
    /// when a server came back empty.
    pub(super) async fn set_up_again(&self) -> Result<(), BusError> {
        let specs = self.inner.specs.lock().await;
        self.confirmed(async {
            self.set_up_all_streams().await?;
            for spec in specs.iter() {
                self.create_consumer(spec).await?;
            }
            if specs.iter().any(|spec| spec.stream == Stream::Events) {
                self.open_events().await?;
            }
            Ok(())
        })
        .await
    }

    async fn open_events(&self) -> Result<(), BusError> {
        let context = &self.inner.context;
        let stream = context.get_stream(Stream::Events.name()).await;
        let mut config = stream.map_err(|error| unavailable(&error))?.cached_info().config.clone();
        let open = vec![everything(Stream::Events)];
        if config.subjects != open {
            config.subjects = open;
            context.update_stream(config).await.map_err(|error| unavailable(&error))?;
        }
        Ok(())
    }
}

/// Returns a stream's settings without those of somebody else by which the server would delete
/// messages that nobody has handled: a greatest age, and limits at which old ones make room for new
/// ones. A limit of its size stays: at that, new messages are refused.
fn keeping_messages(config: &Config) -> Config {
    let kept = Config {
        discard: DiscardPolicy::New,
        max_age: Duration::ZERO,
        max_messages_per_subject: config.max_messages_per_subject.min(UNLIMITED),
        // It needs that limit.
        discard_new_per_subject: false,
        ..config.clone()
    };
    if kept != *config {
        warn!(stream = config.name, "a stream would have deleted messages: its limits are reset");
    }
    kept
}

fn is_missing(error: &async_nats::jetstream::context::GetStreamError) -> bool {
    matches!(
        error.kind(),
        GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND
    )
}

fn is_taken(error: &async_nats::jetstream::context::CreateStreamError) -> bool {
    matches!(
        error.kind(),
        CreateStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NAME_EXIST
    )
}

#[cfg(test)]
#[path = "topology_edge_tests.rs"]
mod edge_tests;
