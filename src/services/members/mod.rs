//! Members of channels.

mod by_name;
mod senders;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::slice;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Role;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_index::fold;
use chatkeep_store::{Member as StoredMember, MemberStatus, RoleSet, Store};
use chatkeep_view::pseudonyms::Masked;

pub use self::senders::ChannelSenders;
use super::access::{
    Admin, ChannelAccess, Member, ReadMembers, ReadMessages, Scoped, WriteMembers,
};
use super::cursor::not_ours;
use super::{ServiceError, Window, encode_cursor};

/// Page size when all members of a channel are needed.
const PAGE: u32 = 1_000;

/// Request for a page of members.
#[derive(Clone, Debug, Default)]
pub struct MemberQuery {
    /// Only people of this role; guests are listed only if requested.
    pub role: Option<Role>,
    /// Only present members, or former ones.
    pub status: Option<MemberStatus>,
    /// Maximum number of people.
    pub limit: u32,
    /// Cursor of the page; the first page without it.
    pub cursor: Option<String>,
}

impl MemberQuery {
    /// Returns the cursor of a page that continues after that member of the list.
    pub fn cursor_after(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        member: &StoredMember,
    ) -> Option<String> {
        encode_cursor(&self.binding(access.channel()), &member.user)
    }

    /// Returns the text that cursors of this list are bound to.
    fn binding(&self, channel: &ChannelId) -> String {
        let Self { role, status, .. } = self;
        format!("members:{channel}:{role:?}:{status:?}")
    }
}

/// Members of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MemberService {
    store: Store,
    clock: SharedClock,
}

impl MemberService {
    pub(super) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Returns the people in a channel, and the cursor of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        query: &MemberQuery,
    ) -> Result<(Vec<Masked<StoredMember>>, Option<String>), ServiceError> {
        let (role, status) = (query.role, query.status);
        let window =
            Window::open(query.binding(access.channel()), query.limit, query.cursor.as_deref())?;
        let (after, wanted) = (window.after.as_ref(), window.wanted());
        if after.is_some_and(|user| !access.caller.mask.knows(user)) {
            return Err(not_ours());
        }
        let mut members = if access.caller.mask.is_on() {
            self.by_stand_in(access, query, after, wanted).await?
        } else {
            self.store.members().list(access.channel(), role, status, after, wanted).await?
        };
        let next = window.cut(&mut members, |member| member.user.clone());
        Ok((access.caller.mask.show_all(members), next))
    }

    /// Returns the people of a page in the order of their stand-ins: that of their own ids would tell
    /// whoever has these who is who.
    async fn by_stand_in(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        query: &MemberQuery,
        after: Option<&UserId>,
        wanted: u32,
    ) -> Result<Vec<StoredMember>, ServiceError> {
        let mask = &access.caller.mask;
        let after = after.map(|user| mask.id(user));
        let all = self.all(access.channel(), query).await?;
        let named = all.into_iter().map(|member| (mask.id(&member.user), member));
        let mut found: Vec<_> =
            named.filter(|(id, _)| after.as_ref().is_none_or(|after| id > after)).collect();
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        found.truncate(wanted as usize);
        Ok(found.into_iter().map(|(_, member)| member).collect())
    }

    /// Returns all people of a query, whatever its limit and its cursor.
    async fn all(
        &self,
        channel: &ChannelId,
        query: &MemberQuery,
    ) -> Result<Vec<StoredMember>, ServiceError> {
        let (role, status) = (query.role, query.status);
        let mut all: Vec<StoredMember> = Vec::new();
        loop {
            let last = all.last().map(|member| &member.user);
            let page = self.store.members().list(channel, role, status, last, PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Returns at most `limit` people of a channel whose name has a text in it, by name: guests and
    /// those who left, too; and true if there are more.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn find(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        text: &str,
        limit: usize,
    ) -> Result<(Vec<Masked<StoredMember>>, bool), ServiceError> {
        let text = fold(text);
        let names = self.names(&access.caller, slice::from_ref(access.channel())).await?;
        let folded = names.into_iter().filter_map(|(user, name)| Some((fold(&name?), user)));
        let mut hits: Vec<_> = folded.filter(|(name, _)| name.contains(text.as_str())).collect();
        hits.sort();
        let mut found = Vec::new();
        for (_, user) in hits {
            // Who was imported with messages is no member.
            let Some(member) = self.one(access, &user).await? else { continue };
            if found.len() == limit {
                return Ok((found, true));
            }
            found.push(member);
        }
        Ok((found, false))
    }

    /// Returns a person in a channel, also after they left; `None` for somebody who was never there.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn one(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        user: &UserId,
    ) -> Result<Option<Masked<StoredMember>>, ServiceError> {
        let member = self.store.members().member(access.channel(), user).await?;
        Ok(member.map(|member| access.caller.mask.show(member)))
    }

    /// Returns the number of people whose messages were imported into a channel and who are none of
    /// its members; 0 for callers who may not read all of its messages.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn imported_only(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
    ) -> Result<i64, ServiceError> {
        if access.not_before().is_some() {
            return Ok(0);
        }
        Ok(self.store.members().imported_only(access.channel()).await?)
    }

    /// Sets the role of a person. An owner sets any role for anyone except an owner; an admin may
    /// only promote a guest to member.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for a role that the caller may not set,
    /// [`ServiceError::NotFound`] for somebody who is not in the channel.
    #[boxed]
    pub async fn set_role(
        &self,
        access: &ChannelAccess<Admin, WriteMembers>,
        user: &UserId,
        role: Role,
    ) -> Result<(), ServiceError> {
        let (channel, now) = (access.channel(), self.clock.now());
        match self.store.members().set_role(channel, access.user(), user, role, now).await? {
            RoleSet::Done => Ok(()),
            RoleSet::Denied => Err(ServiceError::PermissionDenied),
            RoleSet::NoMember => Err(ServiceError::NotFound),
        }
    }

    /// Returns at most `limit` of these people of a channel: those who wrote last before those who
    /// wrote nothing, and whoever is `chosen` in any case.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn latest(
        &self,
        channel: &ChannelId,
        mut people: Vec<(UserId, Option<String>)>,
        chosen: &str,
        limit: usize,
    ) -> Result<Vec<(UserId, Option<String>)>, ServiceError> {
        if people.len() <= limit {
            return Ok(people);
        }
        let ids: Vec<_> = people.iter().map(|(user, _)| user.clone()).collect();
        let last = self.store.members().last_messages(slice::from_ref(channel), &ids).await?;
        people.sort_by_cached_key(|(user, name)| {
            let is_other = user.as_str() != chosen;
            (is_other, Reverse(last.get(user).copied()), name.is_none(), name.clone())
        });
        people.truncate(limit);
        Ok(people)
    }

    /// Returns the time of the newest message of each of these people in these channels that the
    /// caller may read; people without any are left out.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn last_messages(
        &self,
        access: &Scoped<ReadMessages>,
        channels: &[ChannelId],
        people: &[UserId],
    ) -> Result<HashMap<UserId, Timestamp>, ServiceError> {
        let mut last = self.store.members().last_messages(channels, people).await?;
        last.retain(|_, at| access.caller.bounds.reads(*at));
        Ok(last)
    }
}
