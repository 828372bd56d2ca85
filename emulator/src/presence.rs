//! Membership: joining and leaving of the bot and of people.

use serde_json::{Map, Value, json};

use super::act::Outcome;
use super::action::ActError;
use super::transcript::Change;
use super::webhook::fields;
use super::world::{Chat, ChatKind, User, World};

impl World {
    pub(super) fn chat_of(&self, chat: &str) -> Result<&Chat, ActError> {
        self.chats.get(chat).ok_or_else(|| ActError::NoChat(chat.to_owned()))
    }

    pub(super) fn user_of(&self, user: &str) -> Result<&User, ActError> {
        self.users.get(user).ok_or_else(|| ActError::NoUser(user.to_owned()))
    }

    /// Returns a person who is in the chat.
    pub(super) fn member(&self, chat: &str, user: &str) -> Result<&User, ActError> {
        let found = self.user_of(user)?;
        if self.chat_of(chat)?.members.iter().any(|member| member == user) {
            return Ok(found);
        }
        Err(ActError::NotAMember(user.to_owned()))
    }

    pub(super) fn bot_joins(&mut self, chat: &str) -> Result<Outcome, ActError> {
        self.shared_chat(chat)?;
        self.bot_comes(chat, "join", |_| Map::new())
    }

    pub(super) fn bot_leaves(&mut self, chat: &str) -> Result<Outcome, ActError> {
        self.shared_chat(chat)?;
        self.bot_goes(chat, "leave")
    }

    pub(super) fn follow(&mut self, user: &str) -> Result<Outcome, ActError> {
        self.user_of(user)?;
        self.bot_comes(user, "follow", |was_there| {
            fields(json!({ "follow": { "isUnblocked": was_there } }))
        })
    }

    pub(super) fn unfollow(&mut self, user: &str) -> Result<Outcome, ActError> {
        self.user_of(user)?;
        self.bot_goes(user, "unfollow")
    }

    pub(super) fn members_join(
        &mut self,
        chat: &str,
        users: &[String],
    ) -> Result<Outcome, ActError> {
        let members = &self.shared_chat(chat)?.members;
        if let Some(there) = users.iter().find(|user| members.contains(user)) {
            return Err(ActError::AlreadyAMember(there.clone()));
        }
        let names = self.names(users)?;
        self.change(chat, |chat| chat.members.extend_from_slice(users));
        Ok(self.members_event(chat, "memberJoined", "joined", users, names))
    }

    pub(super) fn members_leave(
        &mut self,
        chat: &str,
        users: &[String],
    ) -> Result<Outcome, ActError> {
        self.shared_chat(chat)?;
        for user in users {
            self.member(chat, user)?;
        }
        let names = self.names(users)?;
        self.change(chat, |chat| {
            chat.members.retain(|member| !users.contains(member));
        });
        Ok(self.members_event(chat, "memberLeft", "left", users, names))
    }

    /// Returns a group or room; a one-to-one chat has a fixed member.
    fn shared_chat(&self, chat: &str) -> Result<&Chat, ActError> {
        match self.chat_of(chat)? {
            Chat { kind: ChatKind::User, .. } => Err(ActError::WrongKind(chat.to_owned())),
            shared => Ok(shared),
        }
    }

    fn bot_comes(
        &mut self,
        chat: &str,
        kind: &str,
        fields: impl FnOnce(bool) -> Map<String, Value>,
    ) -> Result<Outcome, ActError> {
        let Chat { has_bot, had_bot, .. } = *self.chat_of(chat)?;
        if has_bot {
            return Err(ActError::NoChange(chat.to_owned()));
        }
        self.change(chat, |chat| (chat.has_bot, chat.had_bot) = (true, true));
        let event = self.event(kind, chat, None, None, fields(had_bot));
        Ok(Outcome { events: event.into_iter().collect(), changes: self.moved(chat, kind) })
    }

    fn bot_goes(&mut self, chat: &str, kind: &str) -> Result<Outcome, ActError> {
        if !self.chat_of(chat)?.has_bot {
            return Err(ActError::NoChange(chat.to_owned()));
        }
        self.change(chat, |chat| chat.has_bot = false);
        let event = self.event(kind, chat, None, None, Map::new());
        Ok(Outcome { events: event.into_iter().collect(), changes: self.moved(chat, kind) })
    }

    fn change(&mut self, chat: &str, how: impl FnOnce(&mut Chat)) {
        if let Some(chat) = self.chats.get_mut(chat) {
            how(chat);
        }
    }

    /// Records that the bot joined or left: a line in the chat, and the changed chat.
    fn moved(&mut self, chat: &str, kind: &str) -> Vec<Change> {
        let line = self.note(chat, kind, self.bot.display_name.clone());
        self.with_chat(chat, line)
    }

    fn with_chat(&self, chat: &str, line: Change) -> Vec<Change> {
        let chat = self.chats.get(chat).cloned().map(Change::Chat);
        std::iter::once(line).chain(chat).collect()
    }

    fn members_event(
        &mut self,
        chat: &str,
        kind: &str,
        field: &str,
        users: &[String],
        names: String,
    ) -> Outcome {
        let each = |user: &String| json!({ "type": "user", "userId": user });
        let members: Vec<Value> = users.iter().map(each).collect();
        let event = fields(json!({ field: { "members": members } }));
        let event = self.event(kind, chat, None, None, event);
        let line = self.note(chat, kind, names);
        Outcome { events: event.into_iter().collect(), changes: self.with_chat(chat, line) }
    }

    fn names(&self, users: &[String]) -> Result<String, ActError> {
        let name = |user: &String| Ok(self.user_of(user)?.display_name.as_str());
        Ok(users.iter().map(name).collect::<Result<Vec<_>, ActError>>()?.join(", "))
    }
}
