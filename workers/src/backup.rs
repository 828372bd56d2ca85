//! Backup: stores messages, edits and unsends of subscribed channels with their counters, then
//! publishes the jobs for their files (docs/architecture.md#rule-2: commit, publish, acknowledge).

use chatkeep_bus::{Bus, Outgoing};
use chatkeep_core::event::{Event, EventKind, IncomingMessage};
use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, MessageChange, Received};
use chatkeep_core::time::SharedClock;
use chatkeep_core::{metric, trace};
use chatkeep_platform::DecodeError;
use chatkeep_store::{ChannelChange, IngestOutcome, Store, UnknownEvent};
use tracing::debug;

use crate::jobs::media_job;
use crate::outcome::{Outcome, Unfinished};
use crate::recent_traces::RecentTraces;
use crate::runner::{Stage, trace_of};
use crate::stages::StageName;

/// The backup stage.
#[derive(Debug)]
pub struct Backup {
    /// Store of the messages.
    pub store: Store,
    /// Bus of the media stage's jobs.
    pub bus: Bus,
    /// Clock for the times of storing.
    pub clock: SharedClock,
    /// Maximum number of messages in one transaction.
    pub batch: usize,
    /// Traces of the messages that it stores.
    pub traces: RecentTraces,
}

impl Stage for Backup {
    type Item = Event;

    fn name(&self) -> StageName {
        StageName::Backup
    }

    fn batch_size(&self) -> usize {
        self.batch
    }

    fn concurrency(&self) -> usize {
        // One writes while the next reads the bus; more would wait for each other's channels.
        2
    }

    fn decode(&self, payload: &[u8]) -> Result<Event, String> {
        decode_event(payload)
    }

    async fn handle(&self, events: &[Event]) -> Vec<Outcome> {
        vec![self.ingest(events).await; events.len()]
    }
}

/// Decodes an event of the bus, for every stage that reads platform events.
pub(crate) fn decode_event(payload: &[u8]) -> Result<Event, String> {
    let unreadable = |error: serde_json::Error| {
        // Category and position suffice; the text could quote a message.
        format!("unreadable envelope: {:?} at byte {}", error.classify(), error.column())
    };
    let envelope = serde_json::from_slice(payload).map_err(unreadable)?;
    chatkeep_platform::decode(envelope).map_err(|error| match error {
        DecodeError::Json(error) => unreadable(error),
        error @ DecodeError::Id { .. } => error.to_string(),
    })
}

impl Backup {
    async fn ingest(&self, events: &[Event]) -> Result<(), Unfinished> {
        let (mut sources, mut changes) = (Vec::new(), Vec::new());
        for event in events {
            if let Some(change) = change_of(event)? {
                sources.push(event);
                changes.push(change);
            }
        }
        let others: Vec<_> = events.iter().filter_map(other_of).collect();
        self.store.messages().store_unknown(&others).await?;
        let unplaced: Vec<_> = events.iter().filter_map(unplaced_unsend).collect();
        self.store.messages().forget_unplaced(&unplaced).await?;
        self.remember_traces(&sources, &changes);
        let kept = self.store.messages().ingest(&changes, self.clock.now()).await?;
        count(&kept);
        // Known messages are published again: the process may have died right after storing them.
        let stored = sources.iter().zip(&changes).zip(&kept).filter(|(_, kept)| is_stored(**kept));
        let stored: Vec<(&Event, &ChannelChange)> =
            stored.map(|((event, change), _)| (*event, change)).collect();
        self.publish_media_jobs(&stored).await
    }

    async fn publish_media_jobs(
        &self,
        stored: &[(&Event, &ChannelChange)],
    ) -> Result<(), Unfinished> {
        let job = |(event, change): &(&Event, &ChannelChange)| {
            let (channel, message) = (change.channel.clone(), change.message.clone());
            let job = media_job(channel, message, Some(event.bot.clone()), "new");
            Outgoing { trace: trace_of(event.key().as_str()), ..job }
        };
        let files = stored.iter().filter(|(_, change)| has_file(change));
        let jobs: Vec<_> = files.map(job).collect();
        if !jobs.is_empty() {
            self.bus.publish(jobs).await?;
        }
        Ok(())
    }

    /// Remembers the traces of messages before they can be followed.
    fn remember_traces(&self, sources: &[&Event], changes: &[ChannelChange]) {
        if !trace::is_enabled() {
            return;
        }
        for (event, change) in sources.iter().zip(changes) {
            if let Some(trace) = trace_of(event.key().as_str()) {
                self.traces.remember(&change.channel, change.message.as_str(), trace);
            }
        }
    }
}

fn has_file(change: &ChannelChange) -> bool {
    matches!(&change.change, MessageChange::Received(received) if received.kind.is_media())
}

fn is_stored(kept: IngestOutcome) -> bool {
    matches!(kept, IngestOutcome::Changed | IngestOutcome::Known)
}

/// Counts the results of messages, whichever stage stored them.
pub(crate) fn count(kept: &[IngestOutcome]) {
    for (name, kind) in [
        ("stored", IngestOutcome::Changed),
        ("known", IngestOutcome::Known),
        ("skipped", IngestOutcome::Skipped),
        ("not_subscribed", IngestOutcome::NotBackedUp),
        ("opted_out", IngestOutcome::OptedOut),
    ] {
        let number = kept.iter().filter(|kept| **kept == kind).count();
        if number > 0 {
            metric::MESSAGES.add([name.into()], number as u64);
        }
    }
    debug!(messages = kept.len(), "stored");
}

/// Returns the change to a stored message that an event is, if it is one.
///
/// # Errors
/// [`Unfinished::Drop`] when the content cannot be stored: the event becomes a dead letter.
pub(crate) fn change_of(event: &Event) -> Result<Option<ChannelChange>, Unfinished> {
    let Some(channel) = event.channel.as_ref() else {
        return Ok(None);
    };
    let (message, change) = match &event.kind {
        EventKind::Message(message) => (message.id.clone(), received(event, message)?),
        EventKind::Edited(message) => (message.id.clone(), edited(event, message)?),
        EventKind::Unsent(id) => (id.clone(), MessageChange::Unsent { at: event.at }),
        _ => return Ok(None),
    };
    Ok(Some(ChannelChange { channel: channel.id.clone(), message, change }))
}

/// Returns the JSON under which a content is stored.
///
/// # Errors
/// [`Unfinished::Drop`] when it cannot be represented.
pub(crate) fn stored_content(content: &Content) -> Result<String, Unfinished> {
    // The category suffices; the text could quote the message.
    serde_json::to_string(content)
        .map_err(|error| Unfinished::Drop(format!("content not storable: {:?}", error.classify())))
}

fn received(event: &Event, message: &IncomingMessage) -> Result<MessageChange, Unfinished> {
    Ok(MessageChange::Received(Received {
        at: event.at,
        sender: event.sender.clone(),
        kind: message.content.kind(),
        content: stored_content(&message.content)?,
        quoted: message.quoted.clone(),
        is_bot: false,
    }))
}

fn edited(event: &Event, message: &IncomingMessage) -> Result<MessageChange, Unfinished> {
    let content = stored_content(&message.content)?;
    Ok(MessageChange::Edited { at: event.at, by: event.sender.clone(), content })
}

/// Returns an event that has no table of its own: of unknown type, or a message or an edit without a
/// chat, or in one of an unknown kind.
fn other_of(event: &Event) -> Option<UnknownEvent<'_>> {
    let (kind, message) = match &event.kind {
        EventKind::Other { name, message } => (name.as_str(), message.as_ref()),
        EventKind::Message(message) if event.channel.is_none() => ("message", Some(&message.id)),
        EventKind::Edited(message) if event.channel.is_none() => {
            ("messageEdited", Some(&message.id))
        }
        _ => return None,
    };
    Some(UnknownEvent { event, kind, message })
}

/// Returns an unsend without a chat, with its message.
fn unplaced_unsend(event: &Event) -> Option<(&Event, &MessageId)> {
    match &event.kind {
        EventKind::Unsent(message) if event.channel.is_none() => Some((event, message)),
        _ => None,
    }
}
