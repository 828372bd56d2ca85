//! Sign-in with a browser: OpenID Connect, authorization code with PKCE, state and nonce, at any
//! issuer with discovery. A login ends in a session, which is a row in the store and a cookie with
//! its key.

mod discovery;
mod error;
mod person;
mod provider;
mod routes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use chatkeep_core::config::LoginConfig;
use chatkeep_core::secret::SharedSecret;
use chatkeep_core::time::SharedClock;
use chatkeep_http::BrowserSessions;
use provider::Provider;

pub(crate) use routes::router;

/// Path of the provider's callback.
const CALLBACK: &str = "/auth/callback";

#[derive(Clone, Debug)]
pub(crate) struct Login(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Identity provider; `None`: login is not configured.
    provider: Option<Provider>,
    user_prefix: String,
    sessions: BrowserSessions,
}

impl Login {
    /// Creates it as configured, with the client secret if there is one; sends no request to the
    /// provider yet.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up.
    pub(crate) fn new(
        config: &LoginConfig,
        secret: Option<SharedSecret>,
        sessions: BrowserSessions,
        clock: SharedClock,
    ) -> anyhow::Result<Self> {
        let callback = format!("{}{CALLBACK}", sessions.url());
        let provider = Provider::new(config, secret, &callback, clock)?;
        let user_prefix = config.user_prefix.clone();
        Ok(Self(Arc::new(Inner { provider, user_prefix, sessions })))
    }

    /// Returns true if people sign in with LINE.
    pub(crate) fn is_line(&self) -> bool {
        self.0.provider.as_ref().is_some_and(Provider::is_line)
    }

    /// Returns true if an identity provider is configured.
    pub(crate) fn is_set_up(&self) -> bool {
        self.0.provider.is_some()
    }
}
