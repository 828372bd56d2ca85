//! The people of a channel in the order of their names, for pages that people read.

use async_recursion::async_recursion as boxed;
use chatkeep_core::role::Role;
use chatkeep_index::fold;
use chatkeep_store::Member as StoredMember;
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::sanitize::is_visible;
use serde::{Deserialize, Serialize};

use super::super::access::{ChannelAccess, Member, ReadMembers};
use super::super::{ServiceError, Window};
use super::{MemberQuery, MemberService};

/// Place of a person in the list: those who manage the channel first, then by name as the reader sees
/// it, and those without a name last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct ListPlace {
    role: u8,
    is_nameless: bool,
    name: String,
    user: String,
}

impl ListPlace {
    fn of(member: &StoredMember) -> Self {
        let name = member.display_name.as_deref().filter(|name| is_visible(name));
        Self {
            role: match member.role {
                Role::Owner => 0,
                Role::Admin => 1,
                Role::Member | Role::Guest => 2,
            },
            is_nameless: name.is_none(),
            name: name.map(fold).unwrap_or_default(),
            user: member.user.as_str().to_owned(),
        }
    }
}

impl MemberService {
    /// Returns the people in a channel as [`page`](Self::page) does: the owner, admins, and all others,
    /// each by name. Reads all of them for each page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page_by_name(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
        query: &MemberQuery,
    ) -> Result<(Vec<Masked<StoredMember>>, Option<String>), ServiceError> {
        let binding = format!("{}:by name", query.binding(access.channel()));
        let window = Window::open(binding, query.limit, query.cursor.as_deref())?;
        let all = self.all(access.channel(), query).await?;
        let shown = access.caller.mask.show_all(all).into_iter();
        let placed = shown.map(|member| (ListPlace::of(&member), member));
        let after: Option<&ListPlace> = window.after.as_ref();
        let mut page: Vec<_> =
            placed.filter(|(place, _)| after.is_none_or(|after| place > after)).collect();
        page.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let next = window.cut(&mut page, |(place, _)| place.clone());
        Ok((page.into_iter().map(|(_, member)| member).collect(), next))
    }
}
