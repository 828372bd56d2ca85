//! Event renderer: renders outbox events with the present state of their subject, in one form for
//! the pull feed and for outgoing webhooks. Events of a subject that is gone are dropped; those of
//! a retracted message have its tombstone.

mod subjects;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, MessageId, UserId, WebhookId};
use chatkeep_core::plan::Usage;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_search::SearchError;
use chatkeep_search::saved_searches::{CompareError, Rendering, ReportedHit, SearchMatcher};
use chatkeep_store::{
    EventRef, ImportedTimes, LeasedDelivery, OutboxEvent, OutboxEventKind, Sender, Store,
    StoreError, TEST_EVENT, UnstoredMessage,
};
use chatkeep_view::pseudonyms::Mask;
use chatkeep_view::{
    EventData, EventImport, EventMessage, EventView, Links, MemberView, MessageView, SenderView,
    WebhookPayload,
};
use chatkeep_workers::notifier::Bodies;

use self::subjects::{EventSubject, Subjects};
use crate::masks::{self, MaskFailure};

/// Reason for which events cannot be rendered now. None of them is dropped for it.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The store failed.
    #[error("the subjects of events cannot be read")]
    Store(#[from] StoreError),
    /// It cannot be found out what saved searches find.
    #[error("it is not known what saved searches find")]
    Compare(#[from] CompareError),
    /// It is not known what the reader may see of people.
    #[error("it is not known what the reader may see of people")]
    Mask(#[from] MaskFailure),
    /// A body cannot be written as JSON.
    #[error("the body of an event cannot be serialized")]
    Json(#[from] serde_json::Error),
}

/// Reader of events.
#[derive(Clone, Copy, Debug)]
pub struct EventReader<'a> {
    /// Limits on what they may be shown.
    pub bounds: &'a Bounds,
    /// Mask through which they see people.
    pub mask: &'a Mask,
}

/// Body of a webhook request, as its reader may see it.
pub struct MaskedBody {
    payload: WebhookPayload,
    mask: Mask,
}

impl MaskedBody {
    /// Returns true if it is about a message.
    pub const fn has_message(&self) -> bool {
        self.payload.data.message.is_some()
    }

    /// Returns the bytes that are sent.
    ///
    /// # Errors
    /// Returns an error if it cannot be written as JSON.
    pub fn json(&self) -> Result<Vec<u8>, serde_json::Error> {
        Ok(self.mask.outgoing_json(serde_json::to_vec(&self.payload)?))
    }

    /// Returns the same on several lines, for people.
    ///
    /// # Errors
    /// Those of [`Self::json`].
    pub fn pretty(&self) -> Result<String, serde_json::Error> {
        let json = self.mask.outgoing_json(serde_json::to_vec_pretty(&self.payload)?);
        Ok(String::from_utf8_lossy(&json).into_owned())
    }
}

/// Event renderer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EventRenderer {
    pub store: Store,
    /// Clock that decides whether bounds have ended.
    pub clock: SharedClock,
    /// Addresses of the messages' pages.
    pub links: Links,
    /// Matcher of saved searches, whose events tell of what they find now.
    pub matcher: SearchMatcher,
}

impl EventRenderer {
    /// Renders events, in order, and only those within the bounds.
    #[boxed]
    pub async fn events<'s>(
        &'s self,
        outbox_events: Vec<OutboxEvent>,
        reader: EventReader<'s>,
    ) -> Result<Vec<EventView>, RenderError> {
        let (now, bounds) = (self.clock.now(), reader.bounds);
        let events = outbox_events.into_iter().map(event_ref);
        let admitted: Vec<_> =
            events.filter(|event| bounds.admit(&event.subject(), now).is_ok()).collect();
        let subjects = self.subjects_of(&admitted, reader.mask, Rendering::Delivery).await?;
        let mut events = Vec::with_capacity(admitted.len());
        for event in admitted {
            let Some(kind) = event.kind else { continue };
            let Some(data) = Self::data(kind, &event, &subjects, reader) else { continue };
            events.push(EventView { id: event.id, kind, timestamp: event.at, data });
        }
        Ok(events)
    }

    /// Returns the data of an event; `None` when its subject is gone, or beyond the reader.
    fn data(
        kind: OutboxEventKind,
        event: &EventRef,
        subjects: &Subjects,
        reader: EventReader<'_>,
    ) -> Option<EventData> {
        let data = match EventSubject::of(kind, event) {
            EventSubject::Nothing => data_of_channel(kind, event, reader.bounds)?,
            EventSubject::User(user) => data_of_user(kind, event, user, subjects)?,
            EventSubject::Member(channel, user) => {
                let member = subjects.members.get(&(channel, user)).cloned();
                let member = member.map(|member| MemberView::from(reader.mask.show(member)));
                EventData { member, ..EventData::default() }
            }
            EventSubject::Message(channel, id) => {
                data_of_message(event, &(channel, id), subjects, reader)?
            }
            EventSubject::Unstored(channel, id, unstored) => {
                let sent_at = unstored.sent_at.unwrap_or(event.at);
                let bare = MessageView::bare(id, channel.clone(), sent_at, unstored.kind);
                let message = if kind == OutboxEventKind::MessageUnsent {
                    unsent_message(event, bare, unstored, reader.bounds)
                } else {
                    unstored_message(kind, event, bare, unstored, subjects, reader.mask)
                };
                EventData { message: Some(message?), ..EventData::default() }
            }
        };
        Some(EventData { channel_id: event.channel.clone(), ..data })
    }

    /// Renders the body for a webhook of these bounds, as its reader may see it; `None` when its
    /// subject is gone, or beyond them.
    #[boxed]
    pub async fn webhook_body(
        &self,
        event: &EventRef,
        user: &UserId,
        bounds: &Bounds,
        rendering: Rendering,
    ) -> Result<Option<MaskedBody>, RenderError> {
        if bounds.admit(&event.subject(), self.clock.now()).is_err() {
            return Ok(None);
        }
        let mask = masks::of_reader(&self.store, user, bounds).await?;
        let reader = EventReader { bounds, mask: &mask };
        let payload = self.payload(event, reader, rendering).await?;
        Ok(payload.map(|payload| MaskedBody { payload, mask }))
    }

    async fn payload(
        &self,
        event: &EventRef,
        reader: EventReader<'_>,
        rendering: Rendering,
    ) -> Result<Option<WebhookPayload>, RenderError> {
        let Some(kind) = event.kind else {
            let webhook_id = event.detail.as_deref().map(WebhookId::from);
            let data = EventData { webhook_id, ..EventData::default() };
            return Ok(Some(WebhookPayload { kind: TEST_EVENT, timestamp: event.at, data }));
        };
        let only = std::slice::from_ref(event);
        let subjects = self.subjects_of(only, reader.mask, rendering).await?;
        let data = Self::data(kind, event, &subjects, reader);
        Ok(data.map(|data| WebhookPayload { kind: kind.name(), timestamp: event.at, data }))
    }
}

impl Bodies for EventRenderer {
    type Error = RenderError;

    async fn body(&self, delivery: &LeasedDelivery) -> Result<Option<Vec<u8>>, RenderError> {
        let LeasedDelivery { event, user, bounds, .. } = delivery;
        let body = self.webhook_body(event, user, bounds, Rendering::Delivery).await?;
        Ok(body.map(|body| body.json()).transpose()?)
    }

    fn is_transient(error: &RenderError) -> bool {
        match error {
            RenderError::Store(error)
            | RenderError::Compare(CompareError::Store(error))
            | RenderError::Mask(MaskFailure::Store(error)) => error.is_transient(),
            RenderError::Compare(CompareError::Search(error)) => {
                matches!(error, SearchError::Unavailable(_))
            }
            RenderError::Mask(MaskFailure::Mask(_)) | RenderError::Json(_) => false,
        }
    }
}

/// Returns the data of an event about a channel alone; `None` for imported messages that were all
/// sent before the time that the reader may read.
fn data_of_channel(kind: OutboxEventKind, event: &EventRef, bounds: &Bounds) -> Option<EventData> {
    if !matches!(kind, OutboxEventKind::ImportAdded | OutboxEventKind::ImportUndone) {
        return Some(EventData::default());
    }
    let import = match event.detail.as_deref().and_then(ImportedTimes::parse) {
        None => EventImport::default(),
        Some(times) if !bounds.reads(times.last) => return None,
        Some(ImportedTimes { first, last }) => EventImport {
            from: Some(bounds.not_before.map_or(first, |bound| bound.max(first))),
            to: Some(Timestamp::from_millis(last.millis().saturating_add(1))),
        },
    };
    Some(EventData { import: Some(import), ..EventData::default() })
}

fn data_of_user(
    kind: OutboxEventKind,
    event: &EventRef,
    user: UserId,
    subjects: &Subjects,
) -> Option<EventData> {
    if kind == OutboxEventKind::EndpointDisabled {
        let webhook_id = event.detail.as_deref().map(WebhookId::from);
        return Some(EventData { user_id: Some(user), webhook_id, ..EventData::default() });
    }
    let known = subjects.users.get(&user)?;
    let percentage = Some(Usage::new(known.used, known.plan).percentage());
    Some(EventData { percentage, user_id: Some(user), ..EventData::default() })
}

fn data_of_message(
    event: &EventRef,
    key: &(ChannelId, MessageId),
    subjects: &Subjects,
    reader: EventReader<'_>,
) -> Option<EventData> {
    // An edit of today may be of a message of long ago.
    let readable = |message: &&MessageView| reader.bounds.reads(message.timestamp);
    let message = subjects.messages.get(key).filter(readable).cloned()?;
    let search = match subjects.searches.of(event) {
        ReportedHit::NoSearch => None,
        // It would tell which messages have what is masked.
        _ if reader.mask.is_on() => return None,
        ReportedHit::NotFound => return None,
        ReportedHit::Found(search) if !reader.bounds.sees_all(search.channels.as_deref()) => {
            return None;
        }
        ReportedHit::Found(search) => Some(search.shown.clone()),
    };
    Some(EventData { message: Some(message.into()), search, ..EventData::default() })
}

/// Renders the tombstone of an unstored message; `None` for one that is beyond the reader.
fn unsent_message(
    event: &EventRef,
    bare: MessageView,
    unstored: &UnstoredMessage,
    bounds: &Bounds,
) -> Option<EventMessage> {
    let readable = bounds.reads(bare.timestamp);
    let message = MessageView { unsent_at: Some(event.at), ..bare };
    readable.then_some(EventMessage { message, kept: false, reason: Some(unstored.reason) })
}

/// Renders an unstored message: nothing of its content, and nothing at all once it was retracted or
/// its sender erased.
fn unstored_message(
    kind: OutboxEventKind,
    event: &EventRef,
    bare: MessageView,
    unstored: &UnstoredMessage,
    subjects: &Subjects,
    mask: &Mask,
) -> Option<EventMessage> {
    if subjects.retracted.contains(&event.id) {
        return None;
    }
    let sender = unstored.sender.as_ref().map(|user| {
        let known = subjects.users.get(user).cloned();
        let (display_name, picture_url) =
            known.map(|user| (user.display_name, user.picture_url)).unwrap_or_default();
        let sender = Sender { id: user.clone(), display_name, picture_url };
        SenderView::from(mask.show(sender))
    });
    let is_bot = kind == OutboxEventKind::MessageSent;
    let message = MessageView { sender, is_bot, ..bare };
    Some(EventMessage { message, kept: false, reason: Some(unstored.reason) })
}

fn event_ref(outbox_event: OutboxEvent) -> EventRef {
    EventRef {
        id: outbox_event.place.event_id(),
        kind: Some(outbox_event.kind),
        at: outbox_event.at,
        channel: outbox_event.channel,
        subject: outbox_event.subject,
        detail: outbox_event.detail,
        unstored: outbox_event.unstored,
    }
}
