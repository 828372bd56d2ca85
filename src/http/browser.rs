//! Sessions of browsers: their cookies, and protection of what they send against CSRF.

use async_recursion::async_recursion as boxed;
use axum::http::{HeaderMap, Method};
use chatkeep_services::ServiceError;
use chatkeep_services::sessions::SessionService;
use chatkeep_store::{Session, SignedIn};

use super::cookies::{Cookies, csrf_allows, form_allows};
use super::public_url::PublicUrl;

/// Signed-in person in a browser.
#[derive(Clone, Debug)]
pub struct UserSession {
    /// Their session.
    pub session: Session,
    /// Name, once known.
    pub name: Option<String>,
}

/// Sessions of browsers at this deployment. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BrowserSessions {
    sessions: SessionService,
    url: PublicUrl,
    cookies: Cookies,
}

impl BrowserSessions {
    /// Creates them for a service at that address.
    pub fn new(sessions: SessionService, url: PublicUrl) -> Self {
        let cookies = Cookies { secure: url.is_secure() };
        Self { sessions, url, cookies }
    }

    /// Returns the use cases of sessions.
    pub const fn service(&self) -> &SessionService {
        &self.sessions
    }

    /// Returns the public address of this service.
    pub const fn url(&self) -> &PublicUrl {
        &self.url
    }

    /// Returns the cookies of this deployment.
    pub const fn cookies(&self) -> Cookies {
        self.cookies
    }

    /// Returns the value of the session cookie in a request.
    pub fn cookie<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        self.cookies.session(headers)
    }

    /// Returns the session of a request, which counts as used with this; `None` when there is none.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn of_request(&self, headers: &HeaderMap) -> Result<Option<Session>, ServiceError> {
        match self.cookie(headers) {
            Some(secret) => self.sessions.of_secret(secret).await,
            None => Ok(None),
        }
    }

    /// Returns who is signed in by a session; `None` for nobody.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn user_session(
        &self,
        session: Session,
    ) -> Result<Option<UserSession>, ServiceError> {
        let user = self.sessions.user(&session).await?;
        Ok(user.map(|user| UserSession { session, name: user.display_name }))
    }

    /// Begins a session of a person; returns the value of the `Set-Cookie` header.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn begin(&self, person: &SignedIn<'_>) -> Result<String, ServiceError> {
        let secret = self.sessions.begin(person).await?;
        Ok(self.cookies.set_session(&secret))
    }

    /// Ends a session; returns the value of the `Set-Cookie` header.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn end(&self, session: &Session) -> Result<String, ServiceError> {
        self.sessions.end(session).await?;
        Ok(self.cookies.clear_session())
    }

    /// Returns true if a request with this session may change anything: it has the session's CSRF
    /// token, or comes from a page of this service. Safe methods always may.
    pub fn allows(&self, method: &Method, headers: &HeaderMap, session: &Session) -> bool {
        csrf_allows(method, headers, session, self.url.origin())
    }

    /// Returns true if a form with that token is ours and belongs to this session.
    pub fn allows_form(&self, headers: &HeaderMap, session: &Session, token: &str) -> bool {
        form_allows(headers, session, token, self.url.origin())
    }
}
