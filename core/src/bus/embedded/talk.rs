//! Pubsub inside the process: channels by topic.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::EmbeddedBus;
use crate::bus::BusError;
use crate::bus::talk::{Question, Refused, Reply};

/// Number of messages that a subscriber may fall behind by.
const BEHIND: usize = 1024;

/// Capacity of the queue of requests of one server.
const QUEUE: usize = 1024;

/// Subscribers and servers by topic.
#[derive(Debug, Default)]
pub(super) struct Talk(Mutex<Topics>);

#[derive(Debug, Default)]
struct Topics {
    told: HashMap<&'static str, broadcast::Sender<Bytes>>,
    asked: HashMap<&'static str, VecDeque<mpsc::Sender<Question>>>,
}

impl Talk {
    fn topics(&self) -> MutexGuard<'_, Topics> {
        // No step under this lock stops half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every subscription and every server.
    pub(super) fn close(&self) {
        *self.topics() = Topics::default();
    }
}

impl Topics {
    /// Dispatches a request to the next server that has room for it.
    fn hand_out(&mut self, topic: &'static str, mut question: Question) -> Result<(), BusError> {
        let answering = self.asked.entry(topic).or_default();
        for _ in 0..answering.len() {
            let Some(next) = answering.pop_front() else { break };
            match next.try_send(question) {
                Ok(()) => {
                    answering.push_back(next);
                    return Ok(());
                }
                Err(TrySendError::Full(back)) => {
                    answering.push_back(next);
                    question = back;
                }
                // Has stopped serving.
                Err(TrySendError::Closed(back)) => question = back,
            }
        }
        let nobody = answering.is_empty();
        Err(if nobody { BusError::Unanswered(topic) } else { Refused::Busy.error(topic) })
    }
}

impl EmbeddedBus {
    pub(in crate::bus) fn tell(&self, topic: &'static str, message: Bytes) -> Result<(), BusError> {
        self.inner.check_open()?;
        if let Some(told) = self.inner.talk.topics().told.get(topic) {
            // An error means that there is no subscriber any more.
            told.send(message).ok();
        }
        Ok(())
    }

    pub(in crate::bus) fn listen(
        &self,
        topic: &'static str,
    ) -> Result<broadcast::Receiver<Bytes>, BusError> {
        let mut topics = self.inner.talk.topics();
        // Checked under the lock that closing takes, so that no subscription waits for ever.
        self.inner.check_open()?;
        let told = topics.told.entry(topic).or_insert_with(|| broadcast::Sender::new(BEHIND));
        Ok(told.subscribe())
    }

    pub(in crate::bus) async fn ask(
        &self,
        topic: &'static str,
        payload: Bytes,
        patience: Duration,
    ) -> Result<Bytes, BusError> {
        self.inner.check_open()?;
        let (reply, answer) = oneshot::channel();
        let until = Instant::now() + patience;
        let question = Question { payload, until, reply: Reply::Embedded(reply) };
        self.inner.talk.topics().hand_out(topic, question)?;
        match timeout_at(until, answer).await {
            Ok(Ok(answer)) => answer.map_err(|refused| refused.error(topic)),
            // Dropped without a reply.
            Ok(Err(_)) => Err(BusError::Unanswered(topic)),
            Err(_) => Err(BusError::Late(topic)),
        }
    }

    pub(in crate::bus) fn answer(
        &self,
        topic: &'static str,
    ) -> Result<mpsc::Receiver<Question>, BusError> {
        let mut topics = self.inner.talk.topics();
        self.inner.check_open()?;
        let (questions, asked) = mpsc::channel(QUEUE);
        topics.asked.entry(topic).or_default().push_back(questions);
        Ok(asked)
    }
}
