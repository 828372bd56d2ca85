//! Who calls, and what they may: extractors that a handler cannot do without (architecture,
//! rule 9). There is no other way to a channel's data.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::store::{Key, MemberStatus};
use chatkeep_core::time::Timestamp;
use serde::Deserialize;

use super::Api;
use super::error::ApiError;
use super::extract::Path;

/// A caller with a valid key.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    key: Key,
}

/// A caller who has at least the role `R` in the channel of the path, with a key that has the
/// scope `S`.
#[derive(Clone, Debug)]
pub(super) struct ChannelAccess<R, S> {
    pub(super) channel: ChannelId,
    pub(super) user: UserId,
    pub(super) role: Role,
    /// Nothing sent before this may be read.
    pub(super) not_before: Option<Timestamp>,
    proof: PhantomData<(R, S)>,
}

/// A role as a type.
pub(super) trait AtLeast {
    const ROLE: Role;
}

/// A scope as a type.
pub(super) trait Scoped {
    const SCOPE: Scope;
}

macro_rules! levels {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name;
        impl AtLeast for $name {
            const ROLE: Role = Role::$name;
        }
    )*};
}

macro_rules! scopes {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name;
        impl Scoped for $name {
            const SCOPE: Scope = Scope::$name;
        }
    )*};
}

levels!(Member, Admin);
scopes!(ReadMessages, ReadMedia, ReadMembers, WriteAssistant, WriteBackup);

/// The channel that a path names; only that, and nothing about who may see it.
#[derive(Deserialize)]
pub(super) struct ChannelPath {
    #[serde(rename = "channelId")]
    pub(super) channel: ChannelId,
}

impl Caller {
    pub(super) fn user(&self) -> &UserId {
        &self.key.user
    }

    /// Whether the key may see that channel at all.
    pub(super) fn sees(&self, channel: &ChannelId) -> bool {
        self.key.channels.as_ref().is_none_or(|only| only.contains(channel))
    }

    /// Refuses a key without the scope.
    pub(super) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        let covered = self.key.scopes.contains(&scope);
        if covered { Ok(()) } else { Err(ApiError::InsufficientPermissions) }
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let secret = bearer(parts).ok_or(ApiError::InvalidKey)?;
        let key = api.store.key(secret).await?.ok_or(ApiError::InvalidKey)?;
        let now = api.clock.now();
        if key.expires_at.is_some_and(|at| at <= now) {
            return Err(ApiError::InvalidKey);
        }
        api.store.touch_key(&key, now).await?;
        Ok(Self { key })
    }
}

/// The key of `Authorization: Bearer <key>`.
fn bearer(parts: &Parts) -> Option<&str> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else {
        return None;
    };
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

/// For routes that decide themselves what a refusal means.
impl<R: AtLeast, S: Scoped> axum::extract::OptionalFromRequestParts<Api> for ChannelAccess<R, S> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Option<Self>, ApiError> {
        match <Self as FromRequestParts<Api>>::from_request_parts(parts, api).await {
            Ok(access) => Ok(Some(access)),
            Err(ApiError::PermissionDenied) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl<R: AtLeast, S: Scoped> FromRequestParts<Api> for ChannelAccess<R, S> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, api).await?;
        caller.require(S::SCOPE)?;
        let Path(ChannelPath { channel }) = Path::from_request_parts(parts, api).await?;
        if !caller.sees(&channel) {
            return Err(ApiError::PermissionDenied);
        }
        let member = api.store.member(&channel, caller.user()).await?;
        let member = member.filter(|m| m.status == MemberStatus::Active);
        let role = member.map_or(Role::Guest, |member| member.role);
        if role < R::ROLE {
            return Err(ApiError::PermissionDenied);
        }
        Ok(Self {
            channel,
            user: caller.key.user,
            role,
            not_before: caller.key.not_before,
            proof: PhantomData,
        })
    }
}
