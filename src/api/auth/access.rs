//! Extractors of scopes, and of roles in the channel of the path.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::ParameterIn;

use super::{AtLeast, Caller, ChannelAccess, HasScope, Reaches, Scoped};
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::extract::Path;
use crate::api::route::{Describe, Input, Need, admitted};

/// The channel that a path names; only that, and nothing about who may see it.
#[derive(Deserialize, IntoParams)]
struct ChannelPath {
    /// The channel.
    #[serde(rename = "channelId")]
    #[param(value_type = String)]
    channel: ChannelId,
}

impl<S: HasScope> FromRequestParts<Api> for Scoped<S> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, api).await?;
        Ok(api.services.access.scoped(caller)?)
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
        Ok(api.services.access.channel(caller, channel).await?)
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
        Ok(api.services.access.reaches(caller, channel).await?)
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
