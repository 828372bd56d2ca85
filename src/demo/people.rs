//! The people of a sample group: members, newcomers, and the owner.

use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_emulator::{ActError, Chat, Emulator, Told, User};
use chatkeep_store::{MemberStatus, Store};

use super::cast::Cast;

/// Upper bound of the number of people.
const MANY: u32 = 1_000;

/// Reason for refusing an action in a sample group.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeopleError {
    /// The group would have nobody who manages it.
    #[error("{0} owns this group and cannot leave it in the demo")]
    OwnerStays(String),
    /// Everybody is in the group.
    #[error("everybody is already in the group")]
    NobodyLeft,
    /// LINE refuses it.
    #[error(transparent)]
    Refused(#[from] ActError),
}

/// Everybody on the emulator by name: who is in several groups is one person.
#[derive(Debug, Default)]
pub(super) struct Population(HashMap<&'static str, User>);

impl Population {
    fn user(&mut self, line: &Emulator, name: &'static str) -> User {
        self.0.entry(name).or_insert_with(|| line.add_user(name, None)).clone()
    }
}

/// The people of a sample group on the emulator. Their IDs are the same at every start.
#[derive(Debug)]
pub(super) struct People {
    line: Emulator,
    cast: &'static Cast,
    group: ChannelId,
    owner: User,
    /// Everybody, those who joined later first: the order in which they join.
    all: Vec<User>,
    /// True when the owner left in an earlier run and must return.
    owner_left: bool,
}

impl People {
    /// Creates the people and the group as in the store: without those who left in an earlier run,
    /// and with those who joined.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn new(
        line: Emulator,
        store: &Store,
        cast: &'static Cast,
        population: &mut Population,
    ) -> anyhow::Result<Self> {
        let mut users = |names: &'static [&'static str]| -> Vec<User> {
            names.iter().map(|name| population.user(&line, name)).collect()
        };
        let founders = users(cast.founders);
        let all: Vec<User> =
            users(cast.newcomers).into_iter().chain(founders.iter().cloned()).collect();
        let group: ChannelId = line.add_group(cast.name, None, &[]).chat_id.into();
        let known = store.members().list(&group, None, None, None, MANY).await?;
        let status =
            |user: &User| known.iter().find(|m| m.user.as_str() == user.user_id).map(|m| m.status);
        let founder = |user: &User| founders.iter().any(|f| f.user_id == user.user_id);
        let is_in = |user: &&User| match status(user) {
            Some(status) => status == MemberStatus::Active,
            None => founder(user),
        };
        // In the order of a chat's member list: founders first.
        let listed = founders.iter().chain(all.iter().filter(|user| !founder(user)));
        let ids: Vec<&str> = listed.filter(is_in).map(|user| user.user_id.as_str()).collect();
        if !ids.is_empty() {
            line.build(chatkeep_emulator::Action::MembersJoin {
                chat: group.to_string(),
                users: ids.into_iter().map(str::to_owned).collect(),
            })?;
        }
        let owner = founders[0].clone();
        let owner_left = status(&owner) == Some(MemberStatus::Left);
        Ok(Self { line, cast, group, owner, all, owner_left })
    }

    /// Returns the group as it is described.
    pub(super) const fn cast(&self) -> &'static Cast {
        self.cast
    }

    /// Returns everybody who is or was in the group, or may join it.
    pub(super) fn everybody(&self) -> impl Iterator<Item = &User> {
        self.all.iter()
    }

    /// Returns the group's ID.
    pub(super) const fn group(&self) -> &ChannelId {
        &self.group
    }

    /// Returns the owner.
    pub(super) const fn owner(&self) -> &User {
        &self.owner
    }

    /// Returns the owner's ID.
    pub(super) fn owner_id(&self) -> UserId {
        UserId::from(self.owner.user_id.as_str())
    }

    /// Returns true when the owner left in an earlier run and must return.
    pub(super) const fn owner_left(&self) -> bool {
        self.owner_left
    }

    /// Returns the current group.
    pub(super) fn chat(&self) -> Option<Chat> {
        self.line.chats().into_iter().find(|chat| chat.chat_id == self.group.as_str())
    }

    /// Returns the members of the group, in the order of joining.
    pub(super) fn members(&self) -> Vec<User> {
        let members = self.chat().map(|chat| chat.members).unwrap_or_default();
        let named = |id: &String| self.all.iter().find(|user| user.user_id == *id).cloned();
        members.iter().filter_map(named).collect()
    }

    /// Returns the people who may join: those who were never in the group or left it.
    pub(super) fn outside(&self) -> Vec<User> {
        let members = self.chat().map(|chat| chat.members).unwrap_or_default();
        let outside = self.all.iter().filter(|user| !members.contains(&user.user_id));
        outside.cloned().collect()
    }

    /// Adds the next person, or the one with that ID.
    ///
    /// # Errors
    /// Returns an error when nobody is left to join, or the named one is in the group or unknown.
    pub(super) async fn join(&self, wanted: Option<&str>) -> Result<Told, PeopleError> {
        let group = self.group.as_str();
        if let Some(user) = wanted {
            return Ok(self.line.members_join(group, &[user]).await?);
        }
        loop {
            let outside = self.outside();
            let next = outside.first().ok_or(PeopleError::NobodyLeft)?;
            match self.line.members_join(group, &[&next.user_id]).await {
                // A double click: the first one has added the person.
                Err(ActError::AlreadyAMember(_)) => {}
                joined => return Ok(joined?),
            }
        }
    }

    /// Removes a person, who leaves or is removed.
    ///
    /// # Errors
    /// For the owner, and for who is not in the group.
    pub(super) async fn leave(&self, user: &str) -> Result<Told, PeopleError> {
        if user == self.owner.user_id {
            return Err(PeopleError::OwnerStays(self.owner.display_name.clone()));
        }
        Ok(self.line.members_leave(self.group.as_str(), &[user]).await?)
    }
}
