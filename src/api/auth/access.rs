//! What a caller may: a scope, or a scope and a role in the channel of the path.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use chatkeep_core::bounds::Subject;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Role;
use chatkeep_core::store::MemberStatus;
use chatkeep_core::time::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::ParameterIn;

use super::{AtLeast, Caller, HasScope};
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::extract::Path;
use crate::api::route::{Describe, Input, Need, admitted};

/// A caller whose key has the scope `S`.
#[derive(Clone, Debug)]
pub(crate) struct Scoped<S> {
    pub(crate) caller: Caller,
    proof: PhantomData<S>,
}

/// A caller who has at least the role `R` in the channel of the path, with a key that has the
/// scope `S`.
#[derive(Clone, Debug)]
pub(crate) struct ChannelAccess<R, S> {
    pub(crate) channel: ChannelId,
    pub(crate) caller: Caller,
    pub(crate) role: Role,
    proof: PhantomData<(R, S)>,
}

/// A caller with a key that has the scope `S` and may see the channel of the path, whatever they
/// are there; the handler says who of them may go on.
#[derive(Clone, Debug)]
pub(crate) struct Reaches<S> {
    pub(crate) channel: ChannelId,
    pub(crate) caller: Caller,
    /// Their role; `None` when they have no access.
    pub(crate) role: Option<Role>,
    proof: PhantomData<S>,
}

/// What a caller may in one channel, for what is not about one route.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) role: Role,
}

/// The channel that a path names; only that, and nothing about who may see it.
#[derive(Deserialize, IntoParams)]
struct ChannelPath {
    /// The channel.
    #[serde(rename = "channelId")]
    #[param(value_type = String)]
    channel: ChannelId,
}

impl<S: HasScope> Scoped<S> {
    /// Refuses a caller whose key lacks the scope.
    pub(crate) fn of(api: &Api, caller: Caller) -> Result<Self, ApiError> {
        caller.admit(&Subject::of_itself(Some(S::SCOPE)), api.clock.now())?;
        Ok(Self { caller, proof: PhantomData })
    }
}

impl<R: AtLeast, S: HasScope> ChannelAccess<R, S> {
    /// Refuses a caller whose key lacks the scope, or who lacks the role in the channel.
    pub(crate) async fn of(
        api: &Api,
        caller: Caller,
        channel: ChannelId,
    ) -> Result<Self, ApiError> {
        let Scoped { caller, .. } = Scoped::<S>::of(api, caller)?;
        let Access { role } = api.access(&caller, &channel).await?;
        if role < R::ROLE {
            return Err(ApiError::PermissionDenied);
        }
        Ok(Self { channel, caller, role, proof: PhantomData })
    }
}

impl<R, S> ChannelAccess<R, S> {
    pub(crate) const fn user(&self) -> &UserId {
        &self.caller.user
    }

    /// Nothing sent before this may be read.
    pub(crate) const fn not_before(&self) -> Option<Timestamp> {
        self.caller.not_before()
    }
}

impl Api {
    /// What the caller may in the channel; refused when that is nothing.
    pub(crate) async fn access(
        &self,
        caller: &Caller,
        channel: &ChannelId,
    ) -> Result<Access, ApiError> {
        caller.admit(&Subject::of_channel(channel, None), self.clock.now())?;
        let member = match self.store.member(channel, &caller.user).await? {
            Some(member) => Some(member),
            None => self.ask_platform(channel, &caller.user).await?,
        };
        let member = member.filter(|member| member.status == MemberStatus::Active);
        let role = member.map_or(Role::Guest, |member| member.role);
        if role == Role::Guest { Err(ApiError::PermissionDenied) } else { Ok(Access { role }) }
    }
}

impl<S: HasScope> FromRequestParts<Api> for Scoped<S> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        Self::of(api, Caller::from_request_parts(parts, api).await?)
    }
}

impl<S: HasScope> Input for Scoped<S> {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), ApiError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        route.need = Need::Scope(S::SCOPE);
    }
}

impl<R: AtLeast, S: HasScope> FromRequestParts<Api> for ChannelAccess<R, S> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let Scoped { caller, .. } = Scoped::<S>::from_request_parts(parts, api).await?;
        let channel = channel_of(parts, api).await?;
        Self::of(api, caller, channel).await
    }
}

impl<R: AtLeast, S: HasScope> Input for ChannelAccess<R, S> {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), ApiError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        route.need = Need::Channel { role: R::ROLE, scope: S::SCOPE };
        route.parameters.extend(ChannelPath::into_params(|| Some(ParameterIn::Path)));
        route.refuses(&[StatusCode::FORBIDDEN]);
    }
}

impl<S: HasScope> FromRequestParts<Api> for Reaches<S> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let Scoped { caller, .. } = Scoped::<S>::from_request_parts(parts, api).await?;
        let channel = channel_of(parts, api).await?;
        caller.admit(&Subject::of_channel(&channel, None), api.clock.now())?;
        let role = match api.access(&caller, &channel).await {
            Ok(access) => Some(access.role),
            Err(ApiError::PermissionDenied) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { channel, caller, role, proof: PhantomData })
    }
}

impl<S: HasScope> Input for Reaches<S> {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), ApiError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        route.need = Need::Channel { role: Role::Guest, scope: S::SCOPE };
        route.parameters.extend(ChannelPath::into_params(|| Some(ParameterIn::Path)));
        route.refuses(&[StatusCode::FORBIDDEN]);
    }
}

/// The channel of the path. A name that cannot be one is as unknown as any other.
async fn channel_of(parts: &mut Parts, api: &Api) -> Result<ChannelId, ApiError> {
    let path = Path::<ChannelPath>::from_request_parts(parts, api).await;
    path.map(|Path(path)| path.channel).map_err(|_| ApiError::PermissionDenied)
}
