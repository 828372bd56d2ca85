//! The people of a sample group: members, newcomers, and the owner.

use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::time::Timestamp;
use chatkeep_emulator::{ActError, Chat, Delivered, Emulator, User};
use chatkeep_store::{MemberStatus, Store};

use super::cast::Cast;
use super::media;

/// Number of pictures of people; more people share them.
const PICTURES: usize = 12;
/// One of so many people has no picture.
const PLAIN: usize = 4;
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
pub(super) struct Population {
    people: HashMap<&'static str, User>,
    /// Addresses of the pictures that are drawn.
    pictures: Vec<String>,
    /// Number of people and groups with a picture.
    pictured: usize,
}

impl Population {
    /// Returns the people with these names, most of them with a picture.
    async fn users(
        &mut self,
        line: &Emulator,
        names: &[&'static str],
    ) -> anyhow::Result<Vec<User>> {
        let mut users = Vec::with_capacity(names.len());
        for name in names {
            if let Some(known) = self.people.get(name) {
                users.push(known.clone());
                continue;
            }
            let plain = self.people.len() % PLAIN == PLAIN - 1;
            let picture = if plain { None } else { Some(self.picture(line).await?) };
            let user = line.add_user(name, picture.as_deref());
            self.people.insert(name, user.clone());
            users.push(user);
        }
        Ok(users)
    }

    /// Returns the address of the next picture.
    async fn picture(&mut self, line: &Emulator) -> anyhow::Result<String> {
        let number = self.pictured % PICTURES;
        self.pictured += 1;
        if let Some(drawn) = self.pictures.get(number) {
            return Ok(drawn.clone());
        }
        let drawn = line.add_picture(media::portrait(number).await?);
        self.pictures.push(drawn.clone());
        Ok(drawn)
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
        let founders = population.users(&line, cast.founders).await?;
        let newcomers = population.users(&line, cast.newcomers).await?;
        let all: Vec<User> = newcomers.into_iter().chain(founders.iter().cloned()).collect();
        let picture = population.picture(&line).await?;
        let group: ChannelId = line.add_group(cast.name, Some(&picture), &[]).chat_id.into();
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

    /// Tells the store the present addresses of pictures: the emulator's address is another one at
    /// every start.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn store_pictures(&self, store: &Store, now: Timestamp) -> anyhow::Result<()> {
        let profile = |user: &User| {
            let (display_name, picture_url) = (user.display_name.clone(), user.picture_url.clone());
            let profile = Profile { display_name, picture_url, language: None };
            (UserId::from(user.user_id.as_str()), Some(profile))
        };
        store.members().save_profiles(&self.all.iter().map(profile).collect(), now).await?;
        let picture_url = self.chat().and_then(|chat| chat.picture_url);
        let summary = ChannelSummary { picture_url, ..ChannelSummary::default() };
        store.channels().save_summaries(&[(self.group.clone(), summary)].into(), now).await?;
        Ok(())
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
    pub(super) async fn join(&self, wanted: Option<&str>) -> Result<Delivered, PeopleError> {
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
    pub(super) async fn leave(&self, user: &str) -> Result<Delivered, PeopleError> {
        if user == self.owner.user_id {
            return Err(PeopleError::OwnerStays(self.owner.display_name.clone()));
        }
        Ok(self.line.members_leave(self.group.as_str(), &[user]).await?)
    }
}
