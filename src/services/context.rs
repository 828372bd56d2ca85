//! Context of a message: its neighbours in time, what it quotes, and what quotes it.

use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_store::{MessageFilter, Order, ReadAction, StoredMessage};
use chatkeep_view::pseudonyms::Masked;

use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages, Scoped};
use super::messages::MessageService;

/// Maximum number of messages up a chain of quotes.
const QUOTED: u32 = 10;
/// Maximum number of messages that quote one, directly or by quoting one that does.
const QUOTING: usize = 20;

/// Request for the context of a message.
#[derive(Clone, Debug)]
pub struct ContextQuery {
    /// The message.
    pub message: MessageId,
    /// Maximum number of messages before it.
    pub before: u32,
    /// Maximum number of messages after it.
    pub after: u32,
}

/// Context of a message.
#[derive(Debug)]
pub struct MessageContext {
    /// The message.
    pub message: Masked<StoredMessage>,
    /// Messages before it, nearest first.
    pub before: Neighbours,
    /// Messages after it, nearest first.
    pub after: Neighbours,
    /// Messages that it quotes: the one that it quotes, the one that this quotes, and so on, as far
    /// as they are stored and the caller may read them.
    pub quoted: Vec<Masked<StoredMessage>>,
    /// Messages that quote it, and those that quote them, oldest first.
    pub quoting: Vec<Masked<StoredMessage>>,
    /// True if there may be more of them.
    pub more_quoting: bool,
}

/// Messages on one side of a message.
#[derive(Debug, Default)]
pub struct Neighbours {
    /// Messages, nearest first.
    pub messages: Vec<Masked<StoredMessage>>,
    /// True if more follow.
    pub more: bool,
}

impl MessageService {
    /// Returns a message with its context.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] when the channel has no such message that the caller may read.
    #[boxed]
    pub async fn context(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        query: &ContextQuery,
    ) -> Result<MessageContext, ServiceError> {
        let message = self.one(access, &query.message).await?;
        let before = self.neighbours(access, &message, Order::Descending, query.before).await?;
        let after = self.neighbours(access, &message, Order::Ascending, query.after).await?;
        let bounds = &access.caller.bounds;
        let quoted = self.quoted(bounds, &message).await?;
        let (quoting, more_quoting) = self.quoting(bounds, &message).await?;
        let mask = &access.caller.mask;
        let (quoted, quoting) = (mask.show_all(quoted), mask.show_all(quoting));
        Ok(MessageContext { message, before, after, quoted, quoting, more_quoting })
    }

    /// Returns those of these channels in which the caller may read a message of that id; they must
    /// be the caller's.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn channels_with<S>(
        &self,
        access: &Scoped<S>,
        channels: impl IntoIterator<Item = ChannelId>,
        message: &MessageId,
    ) -> Result<Vec<ChannelId>, ServiceError> {
        let keys: Vec<_> = channels.into_iter().map(|id| (id, message.clone())).collect();
        let found = self.store.messages().chosen_messages(&keys).await?;
        let readable = |message: &StoredMessage| access.caller.bounds.reads(message.sent_at);
        let found = found.into_iter().filter(readable);
        Ok(found.map(|message| message.channel).collect())
    }

    /// Returns the messages next to one in that order.
    async fn neighbours(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        message: &StoredMessage,
        order: Order,
        limit: u32,
    ) -> Result<Neighbours, ServiceError> {
        let filter = MessageFilter {
            from: access.not_before(),
            order,
            after: Some((message.sent_at, message.id.clone())),
            // One tells whether there are any.
            limit: limit.max(1),
            ..MessageFilter::default()
        };
        let page = self.store.messages().list(access.read(ReadAction::List), &filter).await?;
        if limit == 0 {
            return Ok(Neighbours { messages: Vec::new(), more: !page.messages.is_empty() });
        }
        let messages = access.caller.mask.show_all(page.messages);
        Ok(Neighbours { messages, more: page.next.is_some() })
    }

    /// Returns the messages that one quotes, nearest first. The chain ends at one that is not
    /// stored or that the caller may not read, as if there were nothing behind it.
    async fn quoted(
        &self,
        bounds: &Bounds,
        message: &StoredMessage,
    ) -> Result<Vec<StoredMessage>, ServiceError> {
        if message.quoted.is_none() {
            return Ok(Vec::new());
        }
        let (store, channel) = (self.store.messages(), &message.channel);
        let ids = store.quoted_by(channel, &message.id, QUOTED).await?;
        let mut found = self.chosen(bounds, channel, ids.iter().cloned()).await?;
        let mut chain = Vec::new();
        for id in ids {
            // In a circle an id comes again, and is gone.
            let Some(at) = found.iter().position(|one| one.id == id && id != message.id) else {
                break;
            };
            chain.push(found.swap_remove(at));
        }
        Ok(chain)
    }

    /// Returns the messages that quote one, directly or by quoting one that does, oldest first, and
    /// true if there may be more. Those nearest to it are preferred.
    async fn quoting(
        &self,
        bounds: &Bounds,
        message: &StoredMessage,
    ) -> Result<(Vec<StoredMessage>, bool), ServiceError> {
        let (store, channel) = (self.store.messages(), &message.channel);
        let mut seen = HashSet::from([message.id.clone()]);
        let (mut layer, mut all, mut more) = (vec![message.id.clone()], Vec::new(), false);
        while !layer.is_empty() && !more {
            let each = u32::try_from(QUOTING - all.len()).unwrap_or_default() + 1;
            layer = store.quoting(channel, &layer, each).await?;
            layer.retain(|id| seen.insert(id.clone()));
            more = all.len() + layer.len() > QUOTING;
            layer.truncate(QUOTING - all.len());
            all.extend(layer.iter().cloned());
        }
        let mut found = self.chosen(bounds, channel, all).await?;
        found.sort_by(|a, b| (a.sent_at, &a.id).cmp(&(b.sent_at, &b.id)));
        Ok((found, more))
    }

    /// Returns those of these messages of a channel that may be read within the bounds.
    pub(super) async fn chosen(
        &self,
        bounds: &Bounds,
        channel: &ChannelId,
        messages: impl IntoIterator<Item = MessageId>,
    ) -> Result<Vec<StoredMessage>, ServiceError> {
        let keys: Vec<_> = messages.into_iter().map(|id| (channel.clone(), id)).collect();
        let mut found = self.store.messages().chosen_messages(&keys).await?;
        found.retain(|message| bounds.reads(message.sent_at));
        Ok(found)
    }
}
