//! Who calls: a key, a session, or nobody known. Found out once a request, before anything else,
//! because the rate limit goes by it.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use chatkeep_core::id::{ChannelId, KeyId, SessionId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::store::{Key, Session};
use chatkeep_core::time::Timestamp;

use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::route::{Describe, Input, Need};
use crate::login::{LoginError, csrf_allows};

/// A caller with a valid key or session.
#[derive(Clone, Debug)]
pub(in crate::api) struct Caller {
    pub(in crate::api) user: UserId,
    pub(in crate::api) credential: Credential,
    scopes: Vec<Scope>,
    channels: Option<Vec<ChannelId>>,
    /// Nothing sent before this may be read.
    pub(in crate::api) not_before: Option<Timestamp>,
}

/// What a caller showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api) enum Credential {
    /// An API key.
    Key(KeyId),
    /// A person's session.
    Session(SessionId),
}

impl Credential {
    /// Names it among all credentials.
    pub(in crate::api) fn owner(&self) -> String {
        match self {
            Self::Key(id) => format!("key:{id}"),
            Self::Session(id) => format!("session:{id}"),
        }
    }
}

/// What [`identify`] found out, for the extractors.
#[derive(Clone, Debug)]
struct Identity(Result<Caller, ApiError>);

impl Caller {
    /// Whether the key may see that channel at all.
    pub(in crate::api) fn sees(&self, channel: &ChannelId) -> bool {
        self.channels.as_ref().is_none_or(|only| only.contains(channel))
    }

    /// The only channels that the key may see; `None` for all.
    pub(in crate::api) fn channels(&self) -> Option<&[ChannelId]> {
        self.channels.as_deref()
    }

    pub(in crate::api) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Refuses a key without the scope.
    pub(in crate::api) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.has(scope) { Ok(()) } else { Err(ApiError::InsufficientPermissions) }
    }
}

/// Finds out who calls and leaves it to the extractors.
pub(in crate::api) async fn identify(
    State(api): State<Api>,
    mut request: Request,
    next: Next,
) -> Response {
    let identity = api.caller(request.method(), request.headers()).await;
    if let Ok(caller) = &identity {
        request.extensions_mut().insert(caller.clone());
    }
    request.extensions_mut().insert(Identity(identity));
    next.run(request).await
}

impl Api {
    /// A key, where one is given; else a session.
    async fn caller(&self, method: &Method, headers: &HeaderMap) -> Result<Caller, ApiError> {
        if !headers.contains_key(AUTHORIZATION)
            && let Some(session) = self.login.session(headers).await?
        {
            if !csrf_allows(method, headers, &session, self.login.origin()) {
                return Err(LoginError::Forged.into());
            }
            return Ok(session.into());
        }
        let secret = bearer(headers).ok_or(ApiError::InvalidKey)?;
        let key = self.store.key(secret).await?.ok_or(ApiError::InvalidKey)?;
        let now = self.clock.now();
        if key.expires_at.is_some_and(|at| at <= now) {
            return Err(ApiError::InvalidKey);
        }
        self.store.touch_key(&key, now).await?;
        Ok(key.into())
    }
}

/// A session may do what a key with all scopes may.
impl From<Session> for Caller {
    fn from(session: Session) -> Self {
        Self {
            user: session.user,
            credential: Credential::Session(session.id),
            scopes: Scope::ALL.to_vec(),
            channels: None,
            not_before: None,
        }
    }
}

impl From<Key> for Caller {
    fn from(key: Key) -> Self {
        Self {
            user: key.user,
            credential: Credential::Key(key.id),
            scopes: key.scopes,
            channels: key.channels,
            not_before: key.not_before,
        }
    }
}

/// The key of `Authorization: Bearer <key>`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else {
        return None;
    };
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

impl FromRequestParts<Api> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, ApiError> {
        match parts.extensions.get::<Identity>() {
            Some(Identity(caller)) => caller.clone(),
            // No layer ran: nobody is known then.
            None => Err(ApiError::InvalidKey),
        }
    }
}

impl Input for Caller {
    fn describe(route: &mut Describe) {
        if route.need == Need::Nothing {
            route.need = Need::Key;
        }
        route.refuses(&[StatusCode::UNAUTHORIZED]);
    }
}
