//! Identity of the caller: a key, a session, or unknown. It is looked up once a request, first of
//! all, because the rate limit depends on it.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{Caller, Credential};
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::route::{Describe, Input, Need, admitted};
use crate::login::{LoginError, csrf_allows};
use crate::oauth::is_access_token;
use crate::random::is_api_key;
use crate::rate_limit::{Address, Lookup, RateDecision};

/// Whose request it is; a forged one came from somebody else's page.
struct Known {
    caller: Caller,
    forged: bool,
}

/// Result of [`identify`], for the extractors.
#[derive(Clone, Debug)]
struct Identity(Result<Caller, ApiError>);

impl Caller {
    /// The caller of a request, whatever they showed.
    pub(crate) fn of_any_kind(parts: &Parts) -> Result<Self, ApiError> {
        match parts.extensions.get::<Identity>() {
            Some(Identity(caller)) => caller.clone(),
            // No layer ran: nobody is known then.
            None => Err(ApiError::InvalidKey),
        }
    }
}

/// Finds out who calls and leaves it to the extractors.
pub(crate) async fn identify(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let address = Address::of(request.extensions(), request.headers(), api.proxies);
    let entry = api.gate.enter(api.secret(request.headers()), address).await;
    if !entry.verdict.allowed {
        return refused(entry.verdict);
    }
    let identity = api.known(request.method(), request.headers()).await;
    let lookup = match &identity {
        Ok(known) => Lookup::Of(&known.caller.user),
        Err(ApiError::InvalidKey) => Lookup::Nobody,
        Err(_) => Lookup::Failed,
    };
    let verdict = api.gate.looked_up(&entry, lookup).await;
    if !verdict.allowed {
        return refused(verdict);
    }
    let identity = match identity {
        Ok(Known { forged: true, .. }) => Err(LoginError::Forged.into()),
        Ok(Known { caller, .. }) => Ok(caller),
        Err(error) => Err(error),
    };
    if let Ok(caller) = &identity
        && !matches!(caller.credential, Credential::Token { .. })
    {
        request.extensions_mut().insert(caller.clone());
    }
    request.extensions_mut().insert(Identity(identity));
    limited(next.run(request).await, verdict)
}

fn refused(verdict: RateDecision) -> Response {
    let retry_after = verdict.retry_after.into();
    limited(ApiError::RateLimited { retry_after }.into_response(), verdict)
}

/// Tells how much is left of the limit.
fn limited(mut response: Response, verdict: RateDecision) -> Response {
    if verdict.limit > 0 {
        let headers = response.headers_mut();
        headers.insert("x-ratelimit-limit", verdict.limit.into());
        headers.insert("x-ratelimit-remaining", verdict.remaining.into());
        headers.insert("x-ratelimit-reset", verdict.reset.into());
    }
    response
}

impl Api {
    /// Returns the secret that [`Self::known`] looks up; `None` without one, or for one that has
    /// no valid form.
    fn secret<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        if headers.contains_key(AUTHORIZATION) {
            return bearer(headers).filter(|secret| is_access_token(secret) || is_api_key(secret));
        }
        self.login.session_cookie(headers)
    }

    /// A key, where one is given; else a session.
    async fn known(&self, method: &Method, headers: &HeaderMap) -> Result<Known, ApiError> {
        if !headers.contains_key(AUTHORIZATION)
            && let Some(session) = self.login.session(headers).await?
        {
            let forged = !csrf_allows(method, headers, &session, self.login.origin());
            return Ok(Known { caller: session.into(), forged });
        }
        let secret = bearer(headers).ok_or(ApiError::InvalidKey)?;
        if is_access_token(secret) {
            let grant = self.store.oauth().access_token(secret, self.clock.now()).await?;
            let caller = grant.map(Caller::from).ok_or(ApiError::InvalidKey)?;
            return Ok(Known { caller, forged: false });
        }
        if !is_api_key(secret) {
            return Err(ApiError::InvalidKey);
        }
        let key = self.store.keys().key(secret).await?.ok_or(ApiError::InvalidKey)?;
        let now = self.clock.now();
        if key.expires_at.is_some_and(|at| at <= now) {
            return Err(ApiError::InvalidKey);
        }
        self.store.keys().note_key_use(&key, now);
        Ok(Known { caller: key.into(), forged: false })
    }
}

/// The key of `Authorization: Bearer <key>`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
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

    /// Access tokens are for other surfaces than the API.
    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, ApiError> {
        let caller = Self::of_any_kind(parts)?;
        if matches!(caller.credential, Credential::Token { .. }) {
            return Err(ApiError::InvalidKey);
        }
        Ok(caller)
    }
}

impl Input for Caller {
    async fn admit(parts: &mut Parts, api: &Api) -> Result<(), ApiError> {
        admitted::<Self>(parts, api).await
    }

    fn describe(route: &mut Describe) {
        if route.need == Need::Nothing {
            route.need = Need::Key;
        }
        route.refuses(&[StatusCode::UNAUTHORIZED]);
    }
}
