//! A person in a channel, as every surface shows them.

use chatkeep_core::id::UserId;
use chatkeep_core::role::Role;
use chatkeep_core::store::{Member, MemberStatus};
use chatkeep_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// A person in a channel.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Member)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberView {
    /// The id of the person.
    user_id: UserId,
    /// Null until the platform told it.
    display_name: Option<String>,
    /// Null until the platform told it, and for people without a picture.
    picture_url: Option<String>,
    /// The role of the person in the channel.
    role: Role,
    /// When they joined, or were first seen.
    joined_at: Timestamp,
    /// Null while they are in the channel.
    left_at: Option<Timestamp>,
    /// `active` while they are in the channel, `left` after.
    status: MemberStatus,
    /// When anything of this last changed.
    updated_at: Timestamp,
}

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        Self {
            user_id: member.user,
            display_name: member.display_name,
            picture_url: member.picture_url,
            role: member.role,
            joined_at: member.joined_at,
            left_at: member.left_at,
            status: member.status,
            updated_at: member.updated_at,
        }
    }
}
