//! Traces of the messages that this process has stored lately, for what follows from the outbox,
//! which holds ids alone.

use std::time::Duration;

use chatkeep_core::cache::Cache;
use chatkeep_core::id::ChannelId;
use chatkeep_core::trace::TraceContext;

/// Maximum number of messages.
const MAX: usize = 10_000;
/// Time for which a message is remembered: what comes later is seldom looked at as one.
const TIME: Duration = Duration::from_mins(10);

/// Traces by message, for [`Backup`](crate::backup::Backup) and
/// [`Notifier`](crate::notifier::Notifier) of one process. Clones share them.
#[derive(Clone, Debug)]
pub struct RecentTraces(Cache<(ChannelId, String), TraceContext>);

impl Default for RecentTraces {
    fn default() -> Self {
        Self(Cache::new(MAX, TIME))
    }
}

impl RecentTraces {
    /// Remembers the trace in which a message was changed.
    pub(crate) fn remember(&self, channel: &ChannelId, message: &str, trace: TraceContext) {
        self.0.insert((channel.clone(), message.to_owned()), trace);
    }

    /// Returns the trace in which a message was changed last, if this process did that lately.
    pub(crate) fn of(&self, channel: &ChannelId, message: &str) -> Option<TraceContext> {
        self.0.get(&(channel.clone(), message.to_owned()))
    }
}
