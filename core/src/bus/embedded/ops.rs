//! What the writer of the embedded bus is asked for, gathered into one transaction, and who waits
//! for it.

use tokio::sync::oneshot;

use super::state::Changes;
use crate::bus::{BusError, Outgoing};

/// Where an operation's answer goes.
pub(super) type Answer<T> = oneshot::Sender<Result<T, BusError>>;

/// What the writer is asked for.
#[derive(Debug)]
pub(super) enum Op {
    /// The subjects are checked already.
    Publish {
        messages: Vec<Outgoing>,
        done: Answer<()>,
    },
    RetryDead {
        id: i64,
        done: Answer<bool>,
    },
    DropDead {
        id: i64,
        done: Answer<bool>,
    },
    RemoveConsumer {
        name: String,
        done: Answer<bool>,
    },
    /// Write what memory is ahead by.
    Flush {
        done: Answer<()>,
    },
    Close {
        done: oneshot::Sender<()>,
    },
}

/// What one transaction is made of.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Messages of [`Stream::Events`] and [`Stream::Jobs`].
    pub(super) messages: [Vec<Outgoing>; 2],
    pub(super) retry_dead: Vec<i64>,
    pub(super) drop_dead: Vec<i64>,
    pub(super) changes: Changes,
    /// Forget ids older than this (milliseconds).
    pub(super) forget_before: Option<i64>,
}

/// Who waits for the transaction.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) plain: Vec<Answer<()>>,
    /// Whether memory's lead must go along.
    pub(super) flush: bool,
    pub(super) retry_dead: Vec<Answer<bool>>,
    pub(super) drop_dead: Vec<Answer<bool>>,
    pub(super) remove: Vec<(String, Answer<bool>)>,
    pub(super) close: Option<oneshot::Sender<()>>,
}

impl Group {
    pub(super) fn size(&self) -> usize {
        self.messages.iter().map(Vec::len).sum::<usize>()
            + self.retry_dead.len()
            + self.drop_dead.len()
    }
}

/// Whoever asked may have gone away; the work is done all the same.
pub(super) fn answer<T>(done: Answer<T>, result: Result<T, BusError>) {
    done.send(result).ok();
}
