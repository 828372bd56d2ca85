//! Pubsub: light messages beside the durable streams, for content that expires within moments.
//!
//! A broadcast reaches every current subscriber, in every process; a request is served by one of
//! the current servers. Nothing is stored, repeated or confirmed: an absent process misses it. On
//! the embedded bus all of it stays in the process; on NATS it is plain publish and request, under
//! subjects of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Subscriber;
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{debug, warn};

use super::nats::NatsReply;
use super::{Bus, BusError, subject};

/// Maximum size of a pubsub message, in bytes: the default limit of every NATS server, with room
/// for headers.
pub const MAX_TALK: usize = 900_000;

/// Number of requests that may wait for each one being served; one more is refused at once, for its
/// reply would come too late.
const WAITING: usize = 16;

/// Timeout for requests already on their way when serving ends.
const LAST: Duration = Duration::from_secs(2);

impl Bus {
    /// Broadcasts to all subscribers of `topic`, in every process, this one included.
    ///
    /// # Errors
    /// [`BusError::TooLarge`] for more than [`MAX_TALK`] bytes, [`BusError::Unavailable`] when the
    /// bus cannot be reached. Success does not mean that there was a subscriber.
    pub async fn tell(&self, topic: &'static str, message: Bytes) -> Result<(), BusError> {
        check(topic, &message)?;
        match self {
            Self::Embedded(bus) => bus.tell(topic, message),
            Self::Nats(bus) => bus.tell(topic, message).await,
        }
    }

    /// Subscribes to everything broadcast on `topic` from now on, over outages of the bus.
    ///
    /// # Errors
    /// [`BusError::Unavailable`] when the bus is closed.
    pub async fn listen(&self, topic: &'static str) -> Result<Listener, BusError> {
        check(topic, &[])?;
        Ok(Listener(match self {
            Self::Embedded(bus) => Ear::Embedded(bus.listen(topic)?),
            Self::Nats(bus) => Ear::Nats(bus.listen(topic).await?),
        }))
    }

    /// Sends a request to one of the servers of `topic`, in any process.
    ///
    /// # Errors
    /// [`BusError::Unanswered`] when there is none, [`BusError::Late`] when no reply came within
    /// `patience`, [`BusError::TooLarge`] when request or reply have more than [`MAX_TALK`] bytes,
    /// [`BusError::Unavailable`] when the bus cannot be reached or all servers are busy.
    pub async fn ask(
        &self,
        topic: &'static str,
        question: Bytes,
        patience: Duration,
    ) -> Result<Bytes, BusError> {
        check(topic, &question)?;
        match self {
            Self::Embedded(bus) => bus.ask(topic, question, patience).await,
            Self::Nats(bus) => Box::pin(bus.ask(topic, question, patience)).await,
        }
    }

    /// Prepares to serve `topic`, `at_once` requests at a time; all servers of a topic share its
    /// requests. Requests come from now on and are served by [`Answering::run`].
    ///
    /// # Errors
    /// [`BusError::Unavailable`] when the bus is closed.
    pub async fn answer<H, F>(
        &self,
        topic: &'static str,
        at_once: usize,
        handler: H,
    ) -> Result<Answering<H>, BusError>
    where
        H: Fn(Bytes) -> F + Send + Sync + 'static,
        F: Future<Output = Bytes> + Send + 'static,
    {
        check(topic, &[])?;
        let questions = match self {
            Self::Embedded(bus) => Questions::Embedded(bus.answer(topic)?),
            Self::Nats(bus) => Questions::Nats(bus.answer(topic).await?, bus.clone()),
        };
        Ok(Answering { topic, questions, at_once: at_once.max(1), handler: Arc::new(handler) })
    }
}

/// Refuses what NATS would refuse, on both adapters alike.
fn check(topic: &'static str, message: &[u8]) -> Result<(), BusError> {
    if !subject::is_token(topic) {
        return Err(BusError::Config(format!("{topic:?} is no topic")));
    }
    if message.len() > MAX_TALK { Err(BusError::TooLarge(topic)) } else { Ok(()) }
}

/// Subscription to a topic.
#[derive(Debug)]
pub struct Listener(Ear);

#[derive(Debug)]
enum Ear {
    Embedded(broadcast::Receiver<Bytes>),
    Nats(Subscriber),
}

impl Listener {
    /// Returns the next message; `None` when the bus is closed. A subscriber that falls far behind
    /// misses some. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Ear::Embedded(ear) => loop {
                match ear.recv().await {
                    Ok(message) => return Some(message),
                    Err(broadcast::error::RecvError::Lagged(missed)) => {
                        debug!(missed, "a subscriber fell behind");
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            },
            Ear::Nats(ear) => ear.next().await.map(|message| message.payload),
        }
    }
}

/// Server of a topic, ready to [`run`](Answering::run).
pub struct Answering<H> {
    topic: &'static str,
    questions: Questions,
    at_once: usize,
    handler: Arc<H>,
}

impl<H> fmt::Debug for Answering<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answering").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl<H, F> Answering<H>
where
    H: Fn(Bytes) -> F + Send + Sync + 'static,
    F: Future<Output = Bytes> + Send + 'static,
{
    /// Serves until `stop` is done or the bus is closed, and then the requests made before.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let permits = Arc::new(Semaphore::new(self.at_once));
        let mut running = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                question = self.questions.next() => match question {
                    Some(question) => self.start(question, &permits, &mut running).await,
                    None => break,
                },
                Some(_) = running.join_next() => {}
            }
        }
        self.questions.end().await;
        // An unreachable server says nothing about requests still on their way.
        let rest = async {
            while let Some(question) = self.questions.next().await {
                self.start(question, &permits, &mut running).await;
            }
        };
        timeout(LAST, rest).await.ok();
        while running.join_next().await.is_some() {}
    }

    async fn start(&self, question: Question, permits: &Arc<Semaphore>, running: &mut JoinSet<()>) {
        if running.len() >= self.at_once.saturating_mul(WAITING + 1) {
            warn!(topic = self.topic, "a request is refused: too many are waiting");
            question.reply.send(Err(Refused::Busy)).await;
            return;
        }
        let (permits, handler) = (Arc::clone(permits), Arc::clone(&self.handler));
        running.spawn(async move {
            // Later, nobody waits for the reply.
            let Ok(Ok(_permit)) = timeout_at(question.until, permits.acquire()).await else {
                return;
            };
            let answer = handler(question.payload).await;
            let fits = answer.len() <= MAX_TALK;
            question.reply.send(if fits { Ok(answer) } else { Err(Refused::TooLarge) }).await;
        });
    }
}

/// Source of requests.
enum Questions {
    Embedded(mpsc::Receiver<Question>),
    Nats(Subscriber, super::nats::NatsBus),
}

impl Questions {
    async fn next(&mut self) -> Option<Question> {
        match self {
            Self::Embedded(questions) => questions.recv().await,
            Self::Nats(questions, bus) => {
                questions.next().await.map(|message| bus.question(message))
            }
        }
    }

    /// Stops taking new requests; those on their way still come.
    async fn end(&mut self) {
        match self {
            Self::Embedded(questions) => questions.close(),
            Self::Nats(questions, _) => drop(questions.drain().await),
        }
    }
}

/// Request on its way to its reply.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) payload: Bytes,
    /// Deadline of the caller.
    pub(super) until: Instant,
    pub(super) reply: Reply,
}

/// Reason for refusing a received request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Busy,
    TooLarge,
}

impl Refused {
    pub(super) fn error(self, topic: &'static str) -> BusError {
        match self {
            Self::Busy => BusError::Unavailable(format!("whoever answers {topic} is busy")),
            Self::TooLarge => BusError::TooLarge(topic),
        }
    }
}

/// Reply channel of a request.
#[derive(Debug)]
pub(super) enum Reply {
    Embedded(oneshot::Sender<Result<Bytes, Refused>>),
    Nats(NatsReply),
}

impl Reply {
    async fn send(self, answer: Result<Bytes, Refused>) {
        match self {
            // An error means that nobody waits any more.
            Self::Embedded(reply) => drop(reply.send(answer)),
            Self::Nats(reply) => reply.send(answer).await,
        }
    }
}
