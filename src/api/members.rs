//! The people in a channel: who they are, their roles, erasing what they wrote.

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::UserId;
use chatkeep_core::role::Role;
use chatkeep_http::{Body, HttpError, Path, Query};
use chatkeep_services::Services;
use chatkeep_services::access::{
    Admin, ChannelAccess, Member, Reaches, ReadMembers, WriteBackup, WriteMembers,
};
use chatkeep_services::members::MemberQuery;
use chatkeep_store::{ChannelJob, MemberStatus};
use chatkeep_view::MemberView;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::address::ApiUrl;
use super::cursor::Page;
use super::extract::WholeLimit;
use super::jobs::Removal;
use super::subscriptions::Success;

/// Page of members.
#[derive(Serialize, ToSchema)]
#[schema(as = MemberList)]
#[serde(rename_all = "camelCase")]
pub(super) struct Members {
    /// Members of the page.
    members: Vec<MemberView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberListQuery {
    /// Only members with this role; guests are included only when requested.
    #[param(inline)]
    role: Option<Role>,
    /// Only members with this status.
    #[param(inline)]
    status: Option<MemberStatus>,
    /// Maximum number of items on the page. When absent, all items up to 1,000 are returned, with
    /// `nextCursor` when there are more.
    #[serde(default)]
    #[param(inline)]
    limit: WholeLimit,
    /// `nextCursor` of the previous page.
    cursor: Option<String>,
}

#[derive(Deserialize, IntoParams)]
pub(super) struct UserPath {
    /// The person.
    #[serde(rename = "userId")]
    #[param(value_type = String)]
    user: UserId,
}

/// Role to set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleBody {
    /// New role of the person.
    role: SettableRole,
}

/// Roles that can be set.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SettableRole {
    Admin,
    Member,
    Guest,
}

/// Result of erasing a person's messages.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErasedView {
    /// Number of erased messages; messages that were unsent earlier are not counted.
    erased_count: i64,
    /// Bytes that were freed, media included.
    freed_bytes: i64,
}

pub(super) async fn list(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMembers>,
    Query(query): Query<MemberListQuery>,
) -> Result<Page<Members>, HttpError> {
    let MemberListQuery { role, status, limit, cursor } = query;
    let query = MemberQuery { role, status, limit: limit.0, cursor };
    let (members, next) = services.members.page(&access, &query).await?;
    let members = members.into_iter().map(MemberView::from).collect();
    Ok(Page { body: Members { members, next_cursor: next.clone() }, next })
}

pub(super) async fn set_role(
    State(services): State<Services>,
    access: ChannelAccess<Admin, WriteMembers>,
    Path(path): Path<UserPath>,
    Body(body): Body<RoleBody>,
) -> Result<Json<Success>, HttpError> {
    services.members.set_role(&access, &path.user, body.role.into()).await?;
    Ok(Success::answer())
}

pub(super) async fn erase(
    State(services): State<Services>,
    url: ApiUrl,
    access: Reaches<WriteBackup>,
    Path(path): Path<UserPath>,
) -> Result<Removal<ErasedView>, HttpError> {
    let job = services.deletion.erase(&access, path.user).await?;
    let done =
        |job: &ChannelJob| ErasedView { erased_count: job.done, freed_bytes: job.freed_bytes };
    Ok(Removal::of(job, &url, done))
}

impl From<SettableRole> for Role {
    fn from(role: SettableRole) -> Self {
        match role {
            SettableRole::Admin => Self::Admin,
            SettableRole::Member => Self::Member,
            SettableRole::Guest => Self::Guest,
        }
    }
}
