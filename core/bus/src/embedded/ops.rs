//! Operations of the embedded bus' writer, gathered into one transaction, and the callers that wait
//! for it.

use tokio::sync::oneshot;

use super::state::Changes;
use crate::{BusError, Outgoing};

/// Sender of an operation's result.
pub(super) type OpReply<T> = oneshot::Sender<Result<T, BusError>>;

/// Operation of the writer.
#[derive(Debug)]
pub(super) enum Op {
    /// Publishes messages with already checked subjects.
    Publish {
        messages: Vec<Outgoing>,
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

/// Contents of one transaction.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Messages of [`Stream::Events`] and [`Stream::Jobs`].
    pub(super) messages: [Vec<Outgoing>; 2],
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
