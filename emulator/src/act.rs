//! Effects of actions on the world, and the resulting webhook events.

use serde_json::{Map, Value, json};

use super::action::{ActError, Action};
use super::outbox::Token;
use super::post::{Media, Post, Text};
use super::transcript::{Author, Change, Entry};
use super::webhook::{Draft, Event, fields};
use super::world::{ChatKind, User, World};

/// Result of an action.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The events, to be sent in one webhook.
    pub(super) events: Vec<Event>,
    pub(super) changes: Vec<Change>,
}

impl World {
    /// Performs an action.
    pub(super) fn act(&mut self, action: Action) -> Result<Outcome, ActError> {
        match action {
            Action::BotJoins { chat } => self.bot_joins(&chat),
            Action::BotLeaves { chat } => self.bot_leaves(&chat),
            Action::Follow { user } => self.follow(&user),
            Action::Unfollow { user } => self.unfollow(&user),
            Action::MembersJoin { chat, users } => self.members_join(&chat, &users),
            Action::MembersLeave { chat, users } => self.members_leave(&chat, &users),
            Action::Send { chat, user, post } => self.send(&chat, &user, &post),
            Action::SendImages { chat, user, images } => self.send_images(&chat, &user, images),
            Action::Unsend { message } => self.unsend(&message),
            Action::Edit { message, text } => self.edit(&message, text),
            Action::Postback { chat, user, data } => {
                self.member(&chat, &user)?;
                let fields = fields(json!({ "postback": { "data": data } }));
                let event = self.event("postback", &chat, Some(&user), None, fields);
                Ok(Outcome { events: event.into_iter().collect(), changes: Vec::new() })
            }
            Action::Unknown { chat, user, kind, fields } => {
                self.chat_of(&chat)?;
                let event = self.event(&kind, &chat, user.as_deref(), None, fields);
                Ok(Outcome { events: event.into_iter().collect(), changes: Vec::new() })
            }
        }
    }

    fn send(&mut self, chat: &str, user: &str, post: &Post) -> Result<Outcome, ActError> {
        self.post(chat, user, post, Map::new())
    }

    fn send_images(
        &mut self,
        chat: &str,
        user: &str,
        images: Vec<Media>,
    ) -> Result<Outcome, ActError> {
        let (now, total) = (self.now(), images.len());
        let id = self.ids.image_set(now);
        let mut all = Outcome::default();
        for (index, media) in (1..).zip(images) {
            let set = json!({ "imageSet": { "id": id, "index": index, "total": total } });
            let one = self.post(chat, user, &Post::Image(media), fields(set))?;
            all.events.extend(one.events);
            all.changes.extend(one.changes);
        }
        Ok(all)
    }

    fn post(
        &mut self,
        chat: &str,
        user: &str,
        post: &Post,
        extra: Map<String, Value>,
    ) -> Result<Outcome, ActError> {
        let author = self.member(chat, user)?.clone();
        let mut message = fields(post.object(&self.bot.user_id)?);
        message.extend(extra);
        if let Some(quoted) = post.quoted() {
            let line = self.line(quoted).filter(|line| line.chat_id == chat);
            line.ok_or_else(|| ActError::NoMessage(quoted.to_owned()))?;
            message.insert("quotedMessageId".to_owned(), quoted.into());
        }
        let at = self.now();
        let id = self.ids.message(at);
        message.insert("id".to_owned(), id.as_str().into());
        if post.is_quotable() {
            message.insert("quoteToken".to_owned(), self.quotable(&id).into());
        }
        let entry = line_of(chat, at, author, &id, &message);
        let change = self.write(entry, post.media().cloned());
        let event = fields(json!({ "message": message }));
        let event = self.event("message", chat, Some(user), Some(&id), event);
        Ok(Outcome { events: event.into_iter().collect(), changes: vec![change] })
    }

    fn unsend(&mut self, message: &str) -> Result<Outcome, ActError> {
        let (chat, user, _) = self.own_message(message)?;
        let now = self.now();
        let erase = |line: &mut Entry| {
            (line.text, line.message, line.unsent_at) = (None, Value::Null, Some(now));
        };
        let changes = self.alter(message, erase).into_iter().collect();
        if let Some(posted) = self.posts.get_mut(message) {
            posted.media = None;
        }
        let event = fields(json!({ "unsend": { "messageId": message } }));
        let event = self.event("unsend", &chat, Some(&user), Some(message), event);
        Ok(Outcome { events: event.into_iter().collect(), changes })
    }

    fn edit(&mut self, message: &str, text: Text) -> Result<Outcome, ActError> {
        let (chat, user, last) = self.own_message(message)?;
        if self.chat_of(&chat)?.kind != ChatKind::Group {
            return Err(ActError::WrongKind(chat));
        }
        if self.line(message).is_none_or(|line| line.kind != "text") {
            return Err(ActError::NotAText(message.to_owned()));
        }
        let mut object = fields(Post::Text(text).object(&self.bot.user_id)?);
        object.insert("id".to_owned(), message.into());
        object.insert("quoteToken".to_owned(), self.quotable(message).into());
        // The edit with the largest timestamp wins, so timestamps are unique.
        let at = self.now().max(last + 1);
        let change = self.alter(message, |line| {
            line.text = object["text"].as_str().map(str::to_owned);
            (line.message, line.edited_at) = (object.clone().into(), Some(at));
        });
        let event = fields(json!({ "message": object }));
        let event = self.event_at(at, "messageEdited", &chat, Some(&user), Some(message), event);
        Ok(Outcome { events: event.into_iter().collect(), changes: change.into_iter().collect() })
    }

    /// Returns chat, author and last change of a person's message that was not unsent.
    fn own_message(&self, message: &str) -> Result<(String, String, i64), ActError> {
        let line = self.line(message).filter(|line| line.unsent_at.is_none());
        match line.map(|line| (line, &line.author)) {
            Some((line, Author::User(user))) => {
                let last = line.edited_at.unwrap_or(line.at);
                Ok((line.chat_id.clone(), user.user_id.clone(), last))
            }
            _ => Err(ActError::NoMessage(message.to_owned())),
        }
    }

    /// Builds an event, if the bot is in the chat to receive it.
    pub(super) fn event(
        &mut self,
        kind: &str,
        chat: &str,
        user: Option<&str>,
        message: Option<&str>,
        fields: Map<String, Value>,
    ) -> Option<Event> {
        self.event_at(self.now(), kind, chat, user, message, fields)
    }

    fn event_at(
        &mut self,
        at: i64,
        kind: &str,
        chat: &str,
        user: Option<&str>,
        message: Option<&str>,
        fields: Map<String, Value>,
    ) -> Option<Event> {
        let has_bot = self.chats.get(chat).is_some_and(|chat| chat.has_bot);
        // The bot's removal is the last event that it receives of a chat.
        if !has_bot && !matches!(kind, "leave" | "unfollow") {
            return None;
        }
        let id = self.ids.event(at);
        let token = (is_answerable(kind) && !self.standby).then(|| self.ids.reply_token(&id));
        if let Some(token) = &token {
            let (chat_id, event_id) = (chat.to_owned(), id.clone());
            let fresh = Token { chat_id, event_id, at, delivered_at: at, used: false };
            self.tokens.insert(token.clone(), fresh);
        }
        let draft = Draft { kind, chat_id: chat, user_id: user, message_id: message, fields };
        Some(draft.finish(id, at, token, self.standby))
    }
}

/// Returns true when events of this type carry a reply token.
fn is_answerable(kind: &str) -> bool {
    matches!(kind, "message" | "messageEdited" | "follow" | "join" | "memberJoined" | "postback")
}

fn line_of(chat: &str, at: i64, author: User, id: &str, message: &Map<String, Value>) -> Entry {
    let text = |name: &str| message.get(name).and_then(Value::as_str).map(str::to_owned);
    Entry {
        chat_id: chat.to_owned(),
        at,
        author: Author::User(author),
        kind: text("type").unwrap_or_default(),
        message_id: Some(id.to_owned()),
        text: text("text"),
        message: message.clone().into(),
        edited_at: None,
        unsent_at: None,
        answers: None,
    }
}
