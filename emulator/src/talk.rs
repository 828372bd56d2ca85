//! The platform's side of the emulator: actions and their webhooks.

use serde_json::{Map, Value};

use super::action::{ActError, Action};
use super::deliver::Delivery;
use super::post::{Media, Post, Text};
use super::webhook::{Event, Signed, Webhook};
use super::{Emulator, lock};

/// Events of an action and their delivery.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The events; none when the bot was not there.
    pub events: Vec<Event>,
    /// Result of the webhook; `None` without events.
    pub delivery: Option<Delivery>,
}

impl Delivered {
    /// Returns the ID of the first message that was sent, edited or unsent.
    pub fn message_id(&self) -> Option<&str> {
        self.events.iter().find_map(|event| event.message_id.as_deref())
    }

    /// Returns the ID of the first event.
    pub fn event_id(&self) -> Option<&str> {
        self.events.first().map(|event| event.id.as_str())
    }

    /// Returns true when the service accepted the webhook.
    pub fn is_accepted(&self) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.accepted)
    }
}

impl Emulator {
    /// Performs an action without sending its webhook: the caller sends the events in any order and
    /// number.
    pub fn build(&self, action: Action) -> Result<Vec<Event>, ActError> {
        let outcome = lock(&self.shared.world).act(action)?;
        for change in outcome.changes {
            self.shared.announce(change);
        }
        Ok(outcome.events)
    }

    /// Builds a webhook with these events.
    pub fn webhook(&self, events: Vec<Event>) -> Webhook {
        Webhook { destination: self.bot().user_id, events }
    }

    /// Returns the body of a webhook with these events and its signature.
    pub fn sign(&self, events: Vec<Event>, redelivery: bool) -> Signed {
        self.sign_webhook(&self.webhook(events), redelivery)
    }

    /// Any body with a right signature.
    pub fn sign_raw(&self, body: impl Into<bytes::Bytes>) -> Signed {
        Signed::new(&self.shared.channel_secret, body)
    }

    /// Performs an action and sends its webhook, until it is accepted or given up.
    pub async fn act(&self, action: Action) -> Result<Delivered, ActError> {
        let events = self.build(action)?;
        Ok(self.deliver_events(events).await)
    }

    /// Sends events in one webhook.
    pub async fn deliver_events(&self, events: Vec<Event>) -> Delivered {
        let delivery = match events.len() {
            0 => None,
            _ => Some(self.deliver(self.webhook(events.clone())).await),
        };
        Delivered { events, delivery }
    }

    /// LINE's check that the service is there: a webhook without events.
    pub async fn connection_check(&self) -> Delivery {
        self.deliver(self.webhook(Vec::new())).await
    }

    /// The bot is invited to a group or room.
    pub async fn bot_joins(&self, chat: &str) -> Result<Delivered, ActError> {
        self.act(Action::BotJoins { chat: chat.to_owned() }).await
    }

    /// The bot is removed from a group or room.
    pub async fn bot_leaves(&self, chat: &str) -> Result<Delivered, ActError> {
        self.act(Action::BotLeaves { chat: chat.to_owned() }).await
    }

    /// A person adds the bot as a friend, or unblocks it.
    pub async fn follow(&self, user: &str) -> Result<Delivered, ActError> {
        self.act(Action::Follow { user: user.to_owned() }).await
    }

    /// A person blocks the bot.
    pub async fn unfollow(&self, user: &str) -> Result<Delivered, ActError> {
        self.act(Action::Unfollow { user: user.to_owned() }).await
    }

    /// People join a group or room together.
    pub async fn members_join(&self, chat: &str, users: &[&str]) -> Result<Delivered, ActError> {
        let (chat, users) = (chat.to_owned(), owned(users));
        self.act(Action::MembersJoin { chat, users }).await
    }

    /// People leave a group or room.
    pub async fn members_leave(&self, chat: &str, users: &[&str]) -> Result<Delivered, ActError> {
        let (chat, users) = (chat.to_owned(), owned(users));
        self.act(Action::MembersLeave { chat, users }).await
    }

    /// A person sends a text.
    pub async fn say(
        &self,
        chat: &str,
        user: &str,
        text: impl Into<Text> + Send,
    ) -> Result<Delivered, ActError> {
        self.post_message(chat, user, Post::Text(text.into())).await
    }

    /// A person sends a message of any type.
    pub async fn post_message(
        &self,
        chat: &str,
        user: &str,
        post: Post,
    ) -> Result<Delivered, ActError> {
        let (chat, user) = (chat.to_owned(), user.to_owned());
        self.act(Action::Send { chat, user, post }).await
    }

    /// A person sends images together.
    pub async fn send_images(
        &self,
        chat: &str,
        user: &str,
        images: Vec<Media>,
    ) -> Result<Delivered, ActError> {
        let (chat, user) = (chat.to_owned(), user.to_owned());
        self.act(Action::SendImages { chat, user, images }).await
    }

    /// The author unsends a message.
    pub async fn unsend(&self, message: &str) -> Result<Delivered, ActError> {
        self.act(Action::Unsend { message: message.to_owned() }).await
    }

    /// The author edits a text.
    pub async fn edit(
        &self,
        message: &str,
        text: impl Into<Text> + Send,
    ) -> Result<Delivered, ActError> {
        self.act(Action::Edit { message: message.to_owned(), text: text.into() }).await
    }

    /// A person presses a button of the bot's.
    pub async fn postback(
        &self,
        chat: &str,
        user: &str,
        data: &str,
    ) -> Result<Delivered, ActError> {
        let (chat, user, data) = (chat.to_owned(), user.to_owned(), data.to_owned());
        self.act(Action::Postback { chat, user, data }).await
    }

    /// Sends an event of an unknown type.
    pub async fn unknown_event(
        &self,
        chat: &str,
        kind: &str,
        fields: Map<String, Value>,
    ) -> Result<Delivered, ActError> {
        let (chat, kind) = (chat.to_owned(), kind.to_owned());
        self.act(Action::Unknown { chat, user: None, kind, fields }).await
    }
}

fn owned(users: &[&str]) -> Vec<String> {
    users.iter().map(|&user| user.to_owned()).collect()
}
