//! Recording of reads: whoever reads messages or files of a channel is in its activity log.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{ReadAction, Reader, Store};

use super::access::{
    Caller, Credential, HasScope, ManageWebhooks, ReadMedia, ReadMembers, ReadMessages,
    WriteAssistant, WriteBackup, WriteMembers,
};

/// A scope that covers messages or files. Whoever reads them with it is recorded in the activity log
/// of the channel.
pub trait Reads: HasScope {}

impl Reads for ReadMessages {}
impl Reads for ReadMedia {}
/// The body of a delivery may have a message in it.
impl Reads for ManageWebhooks {}

/// A scope that covers neither messages nor files.
pub trait ReadsNone: HasScope {}

impl ReadsNone for ReadMembers {}
impl ReadsNone for WriteAssistant {}
impl ReadsNone for WriteMembers {}
impl ReadsNone for WriteBackup {}

/// Recorder of one request's reads: each action of it counts once for a channel.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    store: Store,
    clock: SharedClock,
    /// Reads that are recorded already.
    recorded: Arc<Mutex<HashSet<(ChannelId, ReadAction)>>>,
}

impl Recorder {
    pub(super) fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock, recorded: Arc::default() }
    }

    /// Records a read, unless the same action of the channel is recorded.
    pub(super) fn note(&self, caller: &Caller, channel: &ChannelId, action: ReadAction) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if !recorded.insert((channel.clone(), action)) {
            return;
        }
        drop(recorded);
        let (reader, now) = (reader(&caller.credential), self.clock.now());
        self.store.activity_log().note_read(channel, (&caller.user, &reader), action, now);
    }
}

/// Returns the reader that a credential stands for.
fn reader(credential: &Credential) -> Reader {
    match credential {
        Credential::Key(id) => Reader::Key(id.clone()),
        Credential::Session(_) => Reader::Person,
        Credential::Token { grant, .. } => Reader::Program(grant.clone()),
    }
}
