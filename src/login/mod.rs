//! Sign-in with a browser: OpenID Connect, authorization code with PKCE, state and nonce, at any
//! issuer with discovery. A login ends in a session, which is a row in the store and a cookie with
//! its key.

mod address;
mod discovery;
mod error;
mod guard;
mod person;
mod provider;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use chatkeep_core::config::Config;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{Session, SignedIn, Store, StoreError};
use chatkeep_workers::periodic::{JobFailure, PeriodicJob, Scope};
use tokio_util::sync::CancellationToken;

use address::Base;
use guard::Cookies;
use provider::Provider;

pub(crate) use address::is_local;
pub(crate) use error::LoginError;
pub(crate) use guard::{csrf_allows, form_allows};
pub(crate) use routes::router;

/// Maximum number of rows removed in one transaction.
const BATCH: u32 = 500;

/// Purges old sessions and logins.
#[derive(Debug)]
pub(crate) struct LoginPurge(pub(crate) Login);

impl PeriodicJob for LoginPurge {
    const NAME: &'static str = "session_purge";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot remove old sessions";
    const SCOPE: Scope = Scope::Deployment;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        while !stop.is_cancelled() && self.0.purge_batch().await? {}
        Ok(())
    }
}

/// Signed-in person in a browser.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// Their session.
    pub(crate) session: Session,
    /// Name, once known.
    pub(crate) name: Option<String>,
}

/// Login service. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Login(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Identity provider; `None`: login is not configured.
    provider: Option<Provider>,
    base: Base,
    cookies: Cookies,
    user_prefix: String,
    idle: Duration,
    store: Store,
    clock: SharedClock,
}

impl Login {
    /// Creates it as configured; sends no request to the provider yet.
    ///
    /// # Errors
    /// Returns an error if the address of this service is invalid or TLS cannot be set up.
    pub(crate) fn new(config: &Config, store: Store, clock: SharedClock) -> anyhow::Result<Self> {
        let listen: SocketAddr = config.listen;
        let base = Base::new(config.api.base_url.as_deref(), listen)?;
        let provider = Provider::new(&config.login, &base.callback, Arc::clone(&clock))?;
        Ok(Self(Arc::new(Inner {
            provider,
            cookies: Cookies { secure: base.secure },
            base,
            user_prefix: config.login.user_prefix.clone(),
            idle: config.login.idle,
            store,
            clock,
        })))
    }

    /// Returns the value of the session cookie in a request.
    pub(crate) fn session_cookie<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        self.0.cookies.session(headers)
    }

    /// Returns the session of a request, which counts as used with this; `None` when there is none.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn session(&self, headers: &HeaderMap) -> Result<Option<Session>, StoreError> {
        let Some(secret) = self.session_cookie(headers) else {
            return Ok(None);
        };
        let (store, now) = (&self.0.store, self.0.clock.now());
        let mut session = store.session(secret, self.0.idle, now).await?;
        if let Some(session) = &mut session {
            store.note_session_use(session, now);
        }
        Ok(session)
    }

    /// Returns who is signed in; `None` for nobody.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn visit(&self, headers: &HeaderMap) -> Result<Option<Visit>, StoreError> {
        let Some(session) = self.session(headers).await? else {
            return Ok(None);
        };
        let user = self.0.store.user(&session.user).await?;
        Ok(user.map(|user| Visit { session, name: user.display_name }))
    }

    /// Begins a session of a person whom somebody else vouches for; returns the value of the
    /// `Set-Cookie` header.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn begin_session(&self, person: &SignedIn<'_>) -> Result<String, StoreError> {
        let secret = routes::begin_session(&self.0, person).await?;
        Ok(self.0.cookies.set_session(&secret))
    }

    /// Ends a session; returns the value of the `Set-Cookie` header.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn leave(&self, session: &Session) -> Result<String, StoreError> {
        self.0.store.end_session(&session.user, &session.id).await?;
        Ok(self.0.cookies.clear_session())
    }

    /// Returns true if cookies travel over TLS only.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.cookies.secure
    }

    /// Returns true if people sign in with LINE.
    pub(crate) fn is_line(&self) -> bool {
        self.0.provider.as_ref().is_some_and(Provider::is_line)
    }

    /// Returns scheme, host and port of this service, as browsers write it into `Origin`.
    pub(crate) fn origin(&self) -> &str {
        &self.0.base.origin
    }

    /// Returns true if an identity provider is configured.
    pub(crate) fn is_set_up(&self) -> bool {
        self.0.provider.is_some()
    }

    /// Returns the public address of this service, without a slash at its end.
    pub(crate) fn base_url(&self) -> &str {
        &self.0.base.url
    }

    /// Purges one batch; returns true if there may be more.
    async fn purge_batch(&self) -> Result<bool, StoreError> {
        let Inner { store, clock, idle, .. } = &*self.0;
        let sessions = store.purge_sessions(*idle, BATCH, clock.now()).await?;
        let logins = store.purge_logins(BATCH, clock.now()).await?;
        let grants = store.purge_grants(BATCH, clock.now()).await?;
        Ok(sessions || logins || grants)
    }
}
