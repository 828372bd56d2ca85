//! DTO of a channel's member, shared by all surfaces.

use chatkeep_core::id::UserId;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Member, MemberStatus};
use serde::Serialize;
use utoipa::ToSchema;

use crate::pseudonyms::Masked;

/// Member of a channel.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Member)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    /// ID of the person.
    user_id: UserId,
    /// Display name; null until the platform provides it.
    display_name: Option<String>,
    /// Picture; null until the platform provides it, and for people without one.
    picture_url: Option<String>,
    /// Role of the person in the channel.
    role: Role,
    /// Time at which the person joined or was first seen.
    joined_at: Timestamp,
    /// Time of leaving; null while they are in the channel.
    left_at: Option<Timestamp>,
    /// Membership status: `active` while the person is in the channel, then `left`.
    status: MemberStatus,
    /// Time of the last change.
    updated_at: Timestamp,
}

impl From<Masked<Member>> for MemberView {
    fn from(member: Masked<Member>) -> Self {
        let member = member.into_row();
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
