//! Extractors of callers and of their permissions: a handler asks for a [`ChannelAccess`] and runs
//! only with one (see `docs/architecture.md#rule-9`).

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::StatusCode;
use axum::http::request::Parts;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::{Role, Scope};
use chatkeep_http::{HttpError, caller};
use chatkeep_services::access::{
    AtLeast, Caller, ChannelAccess, Credential, HasScope, JobAccess, Reaches, Scoped,
};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::ParameterIn;

use super::Api;
use super::route::{Describe, Input, Need, admitted};

/// The channel that a path names; only that, and nothing about who may see it.
#[derive(Deserialize, IntoParams)]
struct ChannelPath {
    /// The channel.
    #[serde(rename = "channelId")]
    #[param(value_type = String)]
    channel: ChannelId,
}

impl FromRequestParts<Api> for Caller {
    type Rejection = HttpError;

    /// Access tokens are for other surfaces than the API.
    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, HttpError> {
        let caller = caller(parts)?;
        if matches!(caller.credential, Credential::Token { .. }) {
            return Err(HttpError::InvalidKey);
        }
        Ok(caller)
    }
}

impl Input for Caller {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), HttpError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        if route.need == Need::Nothing {
            route.need = Need::Key;
        }
        route.refuses(&[StatusCode::UNAUTHORIZED]);
    }
}

impl<S: HasScope> FromRequestParts<Api> for Scoped<S> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, HttpError> {
        let caller = Caller::from_request_parts(parts, api).await?;
        Ok(api.services.access.scoped(caller)?)
    }
}

impl<S: HasScope> Input for Scoped<S> {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), HttpError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        route.need = Need::Scope(S::SCOPE);
    }
}

impl<R: AtLeast, S: HasScope> FromRequestParts<Api> for ChannelAccess<R, S> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, HttpError> {
        let Scoped { caller, .. } = Scoped::<S>::from_request_parts(parts, api).await?;
        let channel = channel_of(parts)?;
        Ok(api.services.access.channel(caller, channel).await?)
    }
}

impl<R: AtLeast, S: HasScope> Input for ChannelAccess<R, S> {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), HttpError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        route.need = Need::Channel { role: R::ROLE, scope: S::SCOPE };
        route.parameters.extend(ChannelPath::into_params(|| Some(ParameterIn::Path)));
        route.refuses(&[StatusCode::FORBIDDEN]);
    }
}

impl<S: HasScope> FromRequestParts<Api> for Reaches<S> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, HttpError> {
        let Scoped { caller, .. } = Scoped::<S>::from_request_parts(parts, api).await?;
        let channel = channel_of(parts)?;
        Ok(api.services.access.reaches(caller, channel).await?)
    }
}

impl<S: HasScope> Input for Reaches<S> {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), HttpError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        route.need = Need::Channel { role: Role::Guest, scope: S::SCOPE };
        route.parameters.extend(ChannelPath::into_params(|| Some(ParameterIn::Path)));
        route.refuses(&[StatusCode::FORBIDDEN]);
    }
}

impl FromRequestParts<Api> for JobAccess {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, HttpError> {
        let caller = Caller::from_request_parts(parts, api).await?;
        // A key without either scope learns nothing about the channel.
        api.services.access.any_jobs(&caller)?;
        let channel = channel_of(parts)?;
        Ok(api.services.access.jobs(caller, channel).await?)
    }
}

impl Input for JobAccess {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), HttpError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        let (removals, exports) = (Scope::WriteBackup, Scope::ReadMessages);
        route.need = Need::Job { removals, exports };
        route.parameters.extend(ChannelPath::into_params(|| Some(ParameterIn::Path)));
        route.refuses(&[StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN]);
    }
}

/// The channel of the path. A name that cannot be one is as unknown as any other; what else the path
/// names is not looked at.
fn channel_of(parts: &Parts) -> Result<ChannelId, HttpError> {
    let named = segment(parts, "{channelId}").filter(|channel| !channel.contains('\0'));
    // A chat with one person has that person's id.
    let mask = caller(parts).map(|caller| caller.mask).unwrap_or_default();
    let path = named.map(|id| serde_json::from_value(json!({ "channelId": mask.incoming(&id) })));
    let path: Option<ChannelPath> = path.and_then(Result::ok);
    Ok(path.ok_or(HttpError::PermissionDenied)?.channel)
}

/// Returns the part of the path in the place of a parameter, if it is UTF-8; `RawPathParams` gives none
/// when another one is not.
fn segment(parts: &Parts, parameter: &str) -> Option<String> {
    let route = parts.extensions.get::<MatchedPath>()?;
    // From the end: the route has a prefix that the path has no more.
    let at = route.as_str().rsplit('/').position(|part| part == parameter)?;
    let given = percent_decode_str(parts.uri.path().rsplit('/').nth(at)?);
    Some(given.decode_utf8().ok()?.into_owned())
}
