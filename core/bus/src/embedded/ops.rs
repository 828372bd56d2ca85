//! Operations of the embedded bus' writer, gathered into one transaction, and the callers that wait
//! for it.

use std::ops::Range;

use tokio::sync::oneshot;

use super::state::Changes;
use crate::{BusError, Outgoing, Stream, subject};

/// Sender of an operation's result.
pub(super) type OpReply<T> = oneshot::Sender<Result<T, BusError>>;

/// Operation of the writer.
#[derive(Debug)]
pub(super) enum Op {
    Publish {
        messages: Vec<RoutedMessage>,
        done: OpReply<()>,
    },
    RetryDead {
        id: i64,
        done: OpReply<bool>,
    },
    DropDead {
        id: i64,
        done: OpReply<bool>,
    },
    RemoveConsumer {
        name: String,
        done: OpReply<bool>,
    },
    /// Writes the changes that so far are only in memory.
    Flush {
        done: OpReply<()>,
    },
    Close {
        done: oneshot::Sender<()>,
    },
}

/// Message to publish, and where its subject sends it.
#[derive(Debug)]
pub(super) struct RoutedMessage {
    pub(super) message: Outgoing,
    pub(super) stream: Stream,
    /// Place of a job's queue in the subject.
    queue: Range<usize>,
}

impl RoutedMessage {
    /// Reads the subject of a message.
    pub(super) fn of(message: Outgoing) -> Result<Self, BusError> {
        let (stream, second) = subject::parse(&message.subject)?;
        let start = stream.prefix().len() + 1;
        let queue = match stream {
            Stream::Events => 0..0,
            Stream::Jobs => start..start + second.len(),
        };
        Ok(Self { message, stream, queue })
    }

    /// Queue of a job; empty for an event.
    pub(super) fn queue(&self) -> &str {
        self.message.subject.get(self.queue.clone()).unwrap_or_default()
    }
}

/// Contents of one transaction.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Messages by [`Stream::index`].
    pub(super) messages: [Vec<RoutedMessage>; 2],
    pub(super) retry_dead: Vec<i64>,
    pub(super) drop_dead: Vec<i64>,
    pub(super) changes: Changes,
    /// Deletes ids older than this (milliseconds).
    pub(super) forget_before: Option<i64>,
    /// `true` if somebody relies on it from its commit on, also after a power cut.
    pub(super) is_synced: bool,
}

/// Callers that wait for the transaction.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) plain: Vec<OpReply<()>>,
    /// `true` if the changes in memory must be written, too.
    pub(super) flush: bool,
    pub(super) retry_dead: Vec<OpReply<bool>>,
    pub(super) drop_dead: Vec<OpReply<bool>>,
    pub(super) remove: Vec<(String, OpReply<bool>)>,
    pub(super) close: Option<oneshot::Sender<()>>,
}

impl Group {
    pub(super) fn size(&self) -> usize {
        self.messages.iter().map(Vec::len).sum::<usize>()
            + self.retry_dead.len()
            + self.drop_dead.len()
    }
}

/// Sends the result; the caller may have gone away, the work is done all the same.
pub(super) fn send_reply<T>(done: OpReply<T>, result: Result<T, BusError>) {
    done.send(result).ok();
}
