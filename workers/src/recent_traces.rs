//! Traces of the messages that this process has stored lately, for what follows from the outbox,
//! which holds ids alone.

use std::sync::LazyLock;
use std::time::Duration;

use chatkeep_core::cache::Cache;
use chatkeep_core::id::ChannelId;
use chatkeep_core::trace::{self, TraceContext};

/// Maximum number of messages.
const MAX: usize = 10_000;
/// Time for which a message is remembered: what comes later is seldom looked at as one.
const TIME: Duration = Duration::from_mins(10);

static RECENT: LazyLock<Cache<(ChannelId, String), TraceContext>> =
    LazyLock::new(|| Cache::new(MAX, TIME));

/// Remembers the trace in which a message was changed.
pub(crate) fn remember(channel: &ChannelId, message: &str, trace: TraceContext) {
    RECENT.insert((channel.clone(), message.to_owned()), trace);
}

/// Returns the trace in which a message was changed last, if this process did that lately.
pub(crate) fn of(channel: &ChannelId, message: &str) -> Option<TraceContext> {
    let key = (channel.clone(), message.to_owned());
    if trace::is_enabled() { RECENT.get(&key) } else { None }
}
