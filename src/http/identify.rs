//! Identity of the caller: a key, a session, or unknown. It is looked up once a request, first of
//! all, because the rate limit depends on it.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::UserId;
use chatkeep_core::random::{is_access_token, is_api_key};
use chatkeep_services::credentials::CredentialService;
use chatkeep_services::{Caller, Credential};
use chatkeep_store::Session;
use chatkeep_view::pseudonyms::Mask;
use futures_util::future::BoxFuture;

use super::browser::BrowserSessions;
use super::caller_kind::{CallerKind, KnownCaller};
use super::error::HttpError;
use super::pseudonymous;
use crate::rate_limit::{Address, Lookup, RateDecision, RateLimitGate, RequestClass};

/// Parts that tell who calls.
#[derive(Debug)]
pub struct Identification {
    /// API keys and access tokens.
    pub credentials: CredentialService,
    /// Sessions of browsers.
    pub sessions: BrowserSessions,
    /// Rate limits of callers.
    pub gate: RateLimitGate,
    /// Returns true for the path of a picture or file that pages show.
    pub is_file: fn(&str) -> bool,
    /// Returns the response to a request of a known caller over the rate limit, who may go on in so
    /// many seconds, where it is not that of all others.
    pub over_limit: fn(Request, u64) -> BoxFuture<'static, Option<Response>>,
    /// Number of proxies in front, for telling a caller's address.
    pub proxies: usize,
}

/// Whose request it is; a forged one came from somebody else's page.
struct IdentifiedCaller {
    caller: Caller,
    /// Session of a browser, by which it is known.
    session: Option<Session>,
    forged: bool,
}

/// Session of a request, for the pages: a form may have its token among its fields.
#[derive(Clone, Debug)]
struct RequestSession(Session);

/// Result of [`identify`], for the extractors.
#[derive(Clone, Debug)]
struct Identity(Result<Caller, HttpError>);

/// Returns the caller of a request, whatever they showed.
///
/// # Errors
/// [`HttpError::InvalidKey`] for a caller without a valid credential.
pub fn caller(parts: &Parts) -> Result<Caller, HttpError> {
    match parts.extensions.get::<Identity>() {
        Some(Identity(caller)) => caller.clone(),
        // No layer ran: nobody is known then.
        None => Err(HttpError::InvalidKey),
    }
}

/// Returns the person whose request it is, if a valid credential says so.
pub(super) fn user(extensions: &Extensions) -> Option<UserId> {
    let Identity(caller) = extensions.get::<Identity>()?;
    caller.as_ref().ok().map(|caller| caller.user.clone())
}

/// Returns the session of a request. What is sent in it may be forged: only a form whose token was
/// checked is of the session.
pub fn session(parts: &Parts) -> Option<Session> {
    parts.extensions.get::<RequestSession>().map(|found| found.0.clone())
}

/// Finds out who calls, counts the request, and leaves the caller to the extractors.
#[boxed]
pub async fn identify(
    State(parts): State<Arc<Identification>>,
    mut request: Request,
    next: Next,
) -> Response {
    let address = Address::of(request.extensions(), request.headers(), parts.proxies);
    let class = parts.class(&request);
    let entry = parts.gate.enter(parts.secret(request.headers()), address, class);
    if !entry.verdict.allowed {
        let known = entry.is_of_known_caller().then_some(request);
        return parts.refused(entry.verdict, known).await;
    }
    let identity = parts.identified(request.method(), request.headers()).await;
    let lookup = match &identity {
        Ok(known) => Lookup::Of(&known.caller.user),
        Err(HttpError::InvalidKey) => Lookup::Nobody,
        Err(_) => Lookup::Failed,
    };
    let verdict = parts.gate.looked_up(&entry, lookup);
    if !verdict.allowed {
        let known = identity.is_ok().then_some(request);
        return parts.refused(verdict, known).await;
    }
    let identity = identity.and_then(|IdentifiedCaller { caller, session, forged }| {
        if let Some(session) = session {
            request.extensions_mut().insert(RequestSession(session));
        }
        if forged { Err(HttpError::FORGED) } else { Ok(caller) }
    });
    if let Ok(caller) = &identity {
        KnownCaller::of(request.extensions()).set(CallerKind::from(&caller.credential));
    }
    if let Ok(caller) = &identity
        && !matches!(caller.credential, Credential::Token { .. })
    {
        request.extensions_mut().insert(caller.clone());
    }
    let mask = identity.as_ref().map_or_else(|_| Mask::none(), |caller| caller.mask.clone());
    request.extensions_mut().insert(Identity(identity));
    limited(pseudonymous::run(mask, request, next).await, verdict)
}

/// Adds the headers of the rate limit.
fn limited(mut response: Response, verdict: RateDecision) -> Response {
    if verdict.limit > 0 {
        let headers = response.headers_mut();
        headers.insert("x-ratelimit-limit", verdict.limit.into());
        headers.insert("x-ratelimit-remaining", verdict.remaining.into());
        headers.insert("x-ratelimit-reset", verdict.reset.into());
    }
    response
}

impl Identification {
    /// Returns the response to a request over the rate limit, which is given if its caller is known.
    async fn refused(&self, verdict: RateDecision, request: Option<Request>) -> Response {
        let retry_after = verdict.retry_after.into();
        let told = match request {
            Some(request) => (self.over_limit)(request, retry_after).await,
            None => None,
        };
        let refusal = || HttpError::RateLimited { retry_after }.into_response();
        limited(told.unwrap_or_else(refusal), verdict)
    }

    /// Returns the secret that [`Self::identified`] looks up; `None` without one, or for one that has
    /// no valid form.
    fn secret<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        if headers.contains_key(AUTHORIZATION) {
            return bearer(headers).filter(|secret| is_access_token(secret) || is_api_key(secret));
        }
        self.sessions.cookie(headers)
    }

    /// Returns the class of a request: what a browser loads for a page is shown there alone, with
    /// the cookie of its session.
    fn class(&self, request: &Request) -> RequestClass {
        let of_page = !request.headers().contains_key(AUTHORIZATION)
            && request.method() == Method::GET
            && (self.is_file)(request.uri().path());
        if of_page { RequestClass::File } else { RequestClass::Ordinary }
    }

    /// Returns the caller: of a key, where one is given; else of a session.
    async fn identified(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<IdentifiedCaller, HttpError> {
        if !headers.contains_key(AUTHORIZATION)
            && let Some(session) = self.sessions.of_request(headers).await?
        {
            let forged = !self.sessions.allows(method, headers, &session);
            let caller = session.clone().into();
            return Ok(IdentifiedCaller { caller, session: Some(session), forged });
        }
        let secret = bearer(headers).ok_or(HttpError::InvalidKey)?;
        let caller = self.credentials.caller(secret).await?;
        Ok(IdentifiedCaller { caller, session: None, forged: false })
    }
}

/// The key of `Authorization: Bearer <key>`.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else {
        return None;
    };
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}
