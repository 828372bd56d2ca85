//! Kind of a request's caller, for the line of the request in the log.

use std::sync::{Arc, OnceLock};

use axum::http::Extensions;
use chatkeep_services::Credential;

/// Kind of a caller. The log names no more of them than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    /// Program with an API key.
    Key,
    /// Person in a browser.
    Session,
    /// Program with an access token that a person consented to.
    Token,
    /// Platform, by a signed webhook.
    Platform,
}

/// Kind of the caller of one request, once it is known. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct KnownCaller(Arc<OnceLock<CallerKind>>);

impl CallerKind {
    /// Returns its name in the log.
    const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Session => "session",
            Self::Token => "token",
            Self::Platform => "platform",
        }
    }
}

impl From<&Credential> for CallerKind {
    fn from(credential: &Credential) -> Self {
        match credential {
            Credential::Key(_) => Self::Key,
            Credential::Session(_) => Self::Session,
            Credential::Token { .. } => Self::Token,
        }
    }
}

impl KnownCaller {
    /// Returns the one of a request, by its extensions.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// Records the kind.
    pub fn set(&self, kind: CallerKind) {
        // A request has one caller.
        let _ = self.0.set(kind);
    }

    /// Returns its name in the log; `none` for a caller who is unknown.
    pub(super) fn name(&self) -> &'static str {
        self.0.get().map_or("none", |kind| kind.name())
    }
}
