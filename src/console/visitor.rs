//! Visitor of a page: who they are and which language they read; and what all pages have in common.

use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use chatkeep_http::{HttpError, UserSession, caller, session, weighted};
use chatkeep_i18n::Language;
use chatkeep_services::access::{AtLeast, ChannelAccess, HasScope, Scoped};
use chatkeep_services::bot_setup::BotOperator;
use chatkeep_services::{Caller, Credential, ServiceError};
use chatkeep_store::Session;
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::Console;
use super::error::{PageError, error_page};
use super::form::Done;
use super::frame::Frame;

/// Cookie of the chosen language.
const LANGUAGE: &str = "chatkeep_language";
/// Maximum age of cookies in browsers.
const LANGUAGE_AGE: Duration = Duration::days(400);

/// Content security policy of all pages: nothing but our own files, and no script or style inside
/// of a page.
macro_rules! policy {
    ($ancestors:literal) => {
        concat!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
             media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
             frame-ancestors ",
            $ancestors
        )
    };
}

/// Policy of deployments: no page may frame these.
const POLICY: &str = policy!("'none'");
/// Policy where pages of the same origin may frame these.
const FRAMED_POLICY: &str = policy!("'self'");

/// Visitor of a page.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub language: Language,
    /// Their session; `None` for somebody who is not signed in.
    pub user_session: Option<UserSession>,
    /// The request as a caller of services; `None` without a session.
    caller: Option<Caller>,
    /// True for an operator of the bots.
    pub(super) operates: bool,
    /// Path and query of the page.
    pub address: Uri,
}

impl Visitor {
    /// Creates a visitor who is not signed in.
    pub(crate) const fn stranger(language: Language, address: Uri) -> Self {
        Self { language, user_session: None, caller: None, operates: false, address }
    }

    /// Returns the visitor as a caller of services.
    ///
    /// # Errors
    /// [`PageError::SignedOut`] for somebody who is not signed in.
    pub(crate) fn caller(&self) -> Result<Caller, PageError> {
        self.caller.clone().ok_or(PageError::SignedOut)
    }

    /// Makes the person of a session, whose form it is, the caller.
    pub(super) fn signed_in(&mut self, console: &Console, session: Session) {
        let caller = Caller::from(session);
        self.operates = console.services.bot_setup.operator(&caller).is_some();
        self.caller = Some(caller);
    }

    /// Returns their permission as an operator of the bots. To everybody else a page of operators is
    /// one that does not exist; where there are operators, they may first have to sign in.
    ///
    /// # Errors
    /// [`PageError::Hidden`], [`PageError::SignedOut`].
    pub(super) fn operator(&self, console: &Console) -> Result<BotOperator, PageError> {
        let setup = &console.services.bot_setup;
        if !setup.has_operators() {
            return Err(PageError::Hidden);
        }
        setup.operator(&self.caller()?).ok_or(PageError::Hidden)
    }

    /// Returns their access to a channel.
    ///
    /// # Errors
    /// [`PageError::SignedOut`] for somebody who is not signed in, [`PageError::LowRole`] for
    /// somebody who reads the channel without the role, [`PageError::NoChannel`] for everybody else.
    pub(crate) async fn channel<R: AtLeast, S: HasScope>(
        &self,
        console: &Console,
        channel: &str,
    ) -> Result<ChannelAccess<R, S>, PageError> {
        let (caller, channel) = (self.caller()?, ChannelId::from(channel));
        let access = &console.services.access;
        let refused = match access.channel(caller.clone(), channel.clone()).await {
            Ok(access) => return Ok(access),
            Err(error) => error,
        };
        let is_about_the_role = refused == ServiceError::PermissionDenied && R::ROLE > Role::Member;
        if is_about_the_role && access.role(&caller, &channel).await.is_ok() {
            return Err(PageError::LowRole { least: R::ROLE });
        }
        Err(refused.into())
    }

    /// Returns their permission in general.
    ///
    /// # Errors
    /// [`PageError::SignedOut`] for somebody who is not signed in.
    pub(crate) fn scoped<S: HasScope>(&self, console: &Console) -> Result<Scoped<S>, PageError> {
        Ok(console.services.access.scoped(self.caller()?)?)
    }

    /// Returns path and query of the page.
    pub(super) fn here(&self) -> String {
        self.address.path_and_query().map_or("/", |address| address.as_str()).to_owned()
    }

    /// Returns the frame of a page with that title.
    pub(crate) fn frame(&self, title: impl Into<String>) -> Frame {
        Frame::new(self, title.into())
    }

    async fn of(console: &Console, parts: &Parts) -> Result<Self, ServiceError> {
        let caller = match caller(parts) {
            Ok(caller) => Some(caller),
            Err(HttpError::Unavailable) => return Err(ServiceError::Unavailable),
            Err(HttpError::Internal) => return Err(ServiceError::Internal),
            Err(_) => None,
        };
        let caller = caller.filter(|caller| matches!(caller.credential, Credential::Session(_)));
        // A form is sent in a session that is no caller yet: its token tells whose form it is. A key,
        // where one is given, is who calls, and it sends no form.
        let user_session = match session(parts) {
            Some(session) => console.sessions.user_session(session).await?,
            None => None,
        };
        let caller = caller.filter(|_| user_session.is_some());
        let language = language_of(&parts.headers);
        let setup = &console.services.bot_setup;
        let operates = caller.as_ref().is_some_and(|caller| setup.operator(caller).is_some());
        let address = address_of(&parts.method, &parts.uri);
        Ok(Self { language, user_session, caller, operates, address })
    }
}

/// Returns the address of the page that a request is about. Without script, the form of a page that
/// says what was done is sent to an address that says so, too: that was another form.
pub(super) fn address_of(method: &Method, address: &Uri) -> Uri {
    if method.is_safe() || address.query().is_none() {
        return address.clone();
    }
    let path = address.path_and_query().map_or("/", |address| address.as_str());
    Done::removed_from(path).parse().unwrap_or_else(|_| address.clone())
}

/// Returns the language that a browser chose or prefers.
pub fn language_of(headers: &HeaderMap) -> Language {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(Cookie::split_parse).filter_map(Result::ok);
    let chosen = cookies.find(|cookie| cookie.name() == LANGUAGE);
    let chosen = chosen.and_then(|cookie| Language::from_tag(cookie.value()));
    chosen.unwrap_or_else(|| Language::preferred(weighted(headers, header::ACCEPT_LANGUAGE)))
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageError> {
        parts.extensions.get::<Self>().cloned().ok_or(PageError::Internal)
    }
}

/// Query string of a page. Unknown parameters are ignored: other sites add theirs to links.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageError> {
        asked(&parts.uri).map(Self)
    }
}

/// Returns what the query string of an address asks for.
///
/// # Errors
/// [`PageError::Input`] for a value that is none of its field.
pub(super) fn asked<T: DeserializeOwned>(address: &Uri) -> Result<T, PageError> {
    Query::try_from_uri(address).map(|Query(query)| query).map_err(|_| PageError::Input)
}

/// Finds out who looks, switches the language, renders refusals, and adds the headers of all pages.
pub(super) async fn layer(
    State(console): State<Console>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() == Method::GET
        && let Some(switched) = switch_language(console.sessions.url().is_secure(), request.uri())
    {
        return switched;
    }
    let (mut parts, body) = request.into_parts();
    let visitor = match Visitor::of(&console, &parts).await {
        Ok(visitor) => visitor,
        Err(error) => {
            let address = address_of(&parts.method, &parts.uri);
            let visitor = Visitor::stranger(language_of(&parts.headers), address);
            let page = error_page(&console, &visitor, &error.into());
            return secured(page, console.entrances.framed);
        }
    };
    if let Some(error) = unstorable(&parts.uri) {
        return secured(error_page(&console, &visitor, &error), console.entrances.framed);
    }
    parts.extensions.insert(visitor.clone());
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(error) = response.extensions_mut().remove::<PageError>() {
        response = error_page(&console, &visitor, &error);
    }
    secured(response, console.entrances.framed)
}

/// Returns the refusal of an address with U+0000: no id or text has it, and PostgreSQL takes none.
fn unstorable(address: &Uri) -> Option<PageError> {
    const NUL: &str = "%00";
    if address.path().contains(NUL) {
        return Some(PageError::NoPage);
    }
    address.query().is_some_and(|query| query.contains(NUL)).then_some(PageError::Input)
}

/// Adds the headers of all pages. What is shown depends on who looks, so browsers ask again.
/// `framed`: pages of the same origin may frame them.
pub(super) fn secured(mut response: Response, framed: bool) -> Response {
    let policy = if framed { FRAMED_POLICY } else { POLICY };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::VARY, "Accept-Language, Cookie"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Handles `lang=`: stores the choice, in a cookie for TLS alone if `secure`, and leads to the page
/// without it.
pub fn switch_language(secure: bool, address: &Uri) -> Option<Response> {
    let pairs = form_urlencoded::parse(address.query()?.as_bytes());
    let pairs = pairs.filter(|(name, _)| name != "done");
    let (chosen, kept): (Vec<_>, Vec<_>) = pairs.partition(|(name, _)| name == "lang");
    let (_, tag) = chosen.first()?;
    let language = Language::from_tag(tag);
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish();
    let path = address.path();
    let to = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    let cookie = language.map(|language| {
        let cookie = Cookie::build((LANGUAGE, language.tag()))
            .path("/")
            .http_only(true)
            .secure(secure)
            .same_site(SameSite::Lax)
            .max_age(LANGUAGE_AGE);
        (header::SET_COOKIE, cookie.to_string())
    });
    Some((AppendHeaders(cookie), Redirect::to(&to)).into_response())
}
