//! Event renderer: renders outbox events with the present state of their subject, in one form for
//! the pull feed and for outgoing webhooks. Events of a subject that is gone are dropped; those of
//! a retracted message have its tombstone.

use std::collections::HashMap;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::event::EventOrigin;
use chatkeep_core::id::{ChannelId, MessageId, UserId, WebhookId};
use chatkeep_core::plan::Usage;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{
    EventRef, OutboxEvent, OutboxEventKind, Store, StoreError, TEST_EVENT, UnstoredMessage,
};
use chatkeep_workers::notifier::Bodies;

use crate::view::{
    EventData, EventMessage, EventView, Links, MemberView, MessageView, SenderView, WebhookPayload,
};

type Messages = HashMap<(ChannelId, MessageId), MessageView>;

/// Event renderer. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct EventRenderer {
    pub(crate) store: Store,
    /// Clock that decides whether bounds have ended.
    pub(crate) clock: SharedClock,
    /// Addresses of the messages' pages.
    pub(crate) links: Links,
}

impl EventRenderer {
    /// Renders events, in order, and only those within the bounds.
    pub(crate) async fn events(
        &self,
        outbox_events: Vec<OutboxEvent>,
        bounds: &Bounds,
    ) -> Result<Vec<EventView>, StoreError> {
        let now = self.clock.now();
        let told = outbox_events.into_iter().map(told);
        let told: Vec<_> = told.filter(|told| bounds.admit(&told.subject(), now).is_ok()).collect();
        let messages = self.messages_of(&told).await?;
        let mut events = Vec::with_capacity(told.len());
        for told in told {
            let Some(kind) = told.kind else { continue };
            let Some(data) = self.data(kind, &told, &messages, bounds).await? else {
                continue;
            };
            events.push(EventView { id: told.id, kind, timestamp: told.at, data });
        }
        Ok(events)
    }

    async fn messages_of(&self, told: &[EventRef]) -> Result<Messages, StoreError> {
        let about = told.iter().filter(|told| {
            told.unstored.is_none() && told.kind.is_some_and(OutboxEventKind::is_about_message)
        });
        let keys: Vec<_> = about
            .filter_map(|told| {
                Some((told.channel.clone()?, MessageId::from(told.subject.clone()?)))
            })
            .collect();
        if keys.is_empty() {
            return Ok(Messages::new());
        }
        let messages = self.store.messages().chosen_messages(&keys).await?;
        let keyed = messages.into_iter().map(|message| {
            let key = (message.channel.clone(), message.id.clone());
            (key, MessageView::new(message, &self.links))
        });
        Ok(keyed.collect())
    }

    async fn data(
        &self,
        kind: OutboxEventKind,
        told: &EventRef,
        messages: &Messages,
        bounds: &Bounds,
    ) -> Result<Option<EventData>, StoreError> {
        let channel_id = told.channel.clone();
        let (Some(channel), Some(subject)) = (&channel_id, &told.subject) else {
            return match (&told.channel, &told.subject) {
                (None, Some(user)) => self.data_of_user(kind, told, &user.as_str().into()).await,
                _ => Ok(Some(EventData { channel_id, ..EventData::default() })),
            };
        };
        if let Some(unstored) = &told.unstored {
            let message = self.unstored_message(kind, told, channel, subject, unstored).await?;
            return Ok(message.map(|message| EventData {
                channel_id,
                message: Some(message),
                ..EventData::default()
            }));
        }
        if kind.is_about_message() {
            let key = (channel.clone(), MessageId::from(subject.as_str()));
            // An edit of today may be of a message of long ago.
            let readable = |message: &&MessageView| bounds.reads(message.timestamp);
            let message = messages.get(&key).filter(readable).cloned();
            return Ok(message.map(|message| EventData {
                channel_id,
                message: Some(message.into()),
                ..EventData::default()
            }));
        }
        let member = self.store.members().member(channel, &UserId::from(subject.as_str())).await?;
        let member = member.map(MemberView::from);
        Ok(Some(EventData { channel_id, member, ..EventData::default() }))
    }

    /// Renders an unstored message: nothing of its content, and nothing at all once it was
    /// retracted or its sender erased.
    async fn unstored_message(
        &self,
        kind: OutboxEventKind,
        told: &EventRef,
        channel: &ChannelId,
        subject: &str,
        unstored: &UnstoredMessage,
    ) -> Result<Option<EventMessage>, StoreError> {
        let id = MessageId::from(subject);
        let trace = EventOrigin {
            channel: channel.clone(),
            chat: channel.clone(),
            message: Some(id.clone()),
            author: unstored.sender.clone(),
            at: told.at,
        };
        if !self.store.messages().taken_back(&[&trace], self.clock.now()).await?.is_empty() {
            return Ok(None);
        }
        let sender = match &unstored.sender {
            Some(user) => {
                let known = self.store.accounts().user(user).await?;
                let (display_name, picture_url) =
                    known.map(|user| (user.display_name, user.picture_url)).unwrap_or_default();
                Some(SenderView { user_id: user.clone(), display_name, picture_url })
            }
            None => None,
        };
        let bare = MessageView::bare(id, channel.clone(), told.at, unstored.kind);
        let is_bot = kind == OutboxEventKind::MessageSent;
        let message = MessageView { sender, is_bot, ..bare };
        Ok(Some(EventMessage { message, kept: false, reason: Some(unstored.reason) }))
    }

    async fn data_of_user(
        &self,
        kind: OutboxEventKind,
        told: &EventRef,
        user: &UserId,
    ) -> Result<Option<EventData>, StoreError> {
        if kind == OutboxEventKind::EndpointDisabled {
            let webhook_id = told.detail.as_deref().map(WebhookId::from);
            let user_id = Some(user.clone());
            return Ok(Some(EventData { user_id, webhook_id, ..EventData::default() }));
        }
        let user = self.store.accounts().user(user).await?;
        Ok(user.map(|user| EventData {
            percentage: Some(Usage::new(user.used, user.plan).percentage()),
            user_id: Some(user.id),
            ..EventData::default()
        }))
    }

    /// Renders the body for a webhook of these bounds; `None` when its subject is gone, or beyond
    /// them.
    pub(crate) async fn webhook_body(
        &self,
        told: &EventRef,
        bounds: &Bounds,
    ) -> Result<Option<WebhookPayload>, StoreError> {
        if bounds.admit(&told.subject(), self.clock.now()).is_err() {
            return Ok(None);
        }
        let Some(kind) = told.kind else {
            let webhook_id = told.detail.as_deref().map(WebhookId::from);
            let data = EventData { webhook_id, ..EventData::default() };
            return Ok(Some(WebhookPayload { kind: TEST_EVENT, timestamp: told.at, data }));
        };
        let messages = self.messages_of(std::slice::from_ref(told)).await?;
        let data = self.data(kind, told, &messages, bounds).await?;
        Ok(data.map(|data| WebhookPayload { kind: kind.name(), timestamp: told.at, data }))
    }
}

impl Bodies for EventRenderer {
    async fn body(&self, told: &EventRef, bounds: &Bounds) -> Result<Option<Vec<u8>>, StoreError> {
        let body = self.webhook_body(told, bounds).await?;
        Ok(body.map(|body| serde_json::to_vec(&body)).transpose()?)
    }
}

fn told(outbox_event: OutboxEvent) -> EventRef {
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
