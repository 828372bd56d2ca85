//! Members of channels.

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Role;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{Member as StoredMember, MemberStatus, RoleSet, Store};

use super::access::{Admin, ChannelAccess, Member, ReadMembers, WriteMembers};
use super::{ServiceError, Window};

/// Request for a page of members.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberQuery {
    /// Only people of this role; guests are listed only if requested.
    pub(crate) role: Option<Role>,
    /// Only present members, or former ones.
    pub(crate) status: Option<MemberStatus>,
    /// Maximum number of people.
    pub(crate) limit: u32,
    /// Cursor of the page; the first page without it.
    pub(crate) cursor: Option<String>,
}

/// Members of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct MemberService {
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
    pub(crate) async fn page(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        query: &MemberQuery,
    ) -> Result<(Vec<StoredMember>, Option<String>), ServiceError> {
        let (role, status) = (query.role, query.status);
        let binding = format!("members:{}:{role:?}:{status:?}", access.channel());
        let window = Window::open(binding, query.limit, query.cursor.as_deref())?;
        let (after, wanted) = (window.after.as_ref(), window.wanted());
        let mut members =
            self.store.members().list(access.channel(), role, status, after, wanted).await?;
        let next = window.cut(&mut members, |member| member.user.clone());
        Ok((members, next))
    }

    /// Returns a person in a channel, also after they left; `None` for somebody who was never there.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(crate) async fn one(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        user: &UserId,
    ) -> Result<Option<StoredMember>, ServiceError> {
        Ok(self.store.members().member(access.channel(), user).await?)
    }

    /// Sets the role of a person. An owner sets any role for anyone except an owner; an admin may
    /// only promote a guest to member.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for a role that the caller may not set,
    /// [`ServiceError::NotFound`] for somebody who is not in the channel.
    pub(crate) async fn set_role(
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

    /// Returns the ids and names of the people in these channels, and of those whose messages were
    /// imported into them.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(crate) async fn names(
        &self,
        channels: &[ChannelId],
    ) -> Result<Vec<(UserId, Option<String>)>, ServiceError> {
        Ok(self.store.members().names_in(channels).await?)
    }
}
