//! Callers and their credentials.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::{Bounds, Subject};
use chatkeep_core::id::{ChannelId, KeyId, SessionId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Grant, Key, Session, Store};
use chatkeep_view::pseudonyms::Mask;

use crate::masks::MaskFailure;
use crate::{ServiceError, masks};

/// Word by which callers name themselves in place of their ID. No platform has such an ID.
const ME: &str = "me";

/// Returns true for the word by which callers name themselves.
pub fn is_me(text: &str) -> bool {
    text.eq_ignore_ascii_case(ME)
}

/// A caller with a valid key, session or access token.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The user on whose behalf the call is made.
    pub user: UserId,
    /// The credential of the call.
    pub credential: Credential,
    /// Limits on what the caller may be shown.
    pub bounds: Bounds,
    /// Form in which the caller is shown people.
    pub mask: Mask,
}

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// API key.
    Key(KeyId),
    /// Session of a person in a browser.
    Session(SessionId),
    /// Access token, by its consent. It is valid for that resource alone, which is none of the
    /// REST API's.
    Token { grant: String, resource: String },
}

impl Credential {
    /// Returns its name among all credentials.
    pub fn owner(&self) -> String {
        match self {
            Self::Key(id) => format!("key:{id}"),
            Self::Session(id) => format!("session:{id}"),
            Self::Token { grant, .. } => format!("grant:{grant}"),
        }
    }
}

impl Caller {
    /// Checks the bounds of the credential: on every surface, before anything else is looked up.
    ///
    /// # Errors
    /// Returns the bound that `subject` is beyond.
    pub fn admit(&self, subject: &Subject<'_>, now: Timestamp) -> Result<(), ServiceError> {
        self.bounds.admit(subject, now).map_err(ServiceError::from)
    }

    /// Returns the person that a caller names: themselves as `me`, else the one with that ID.
    pub fn person(&self, given: UserId) -> UserId {
        if is_me(given.as_str()) { self.user.clone() } else { given }
    }

    /// Returns true if the credential may see all of these channels.
    pub fn sees_all(&self, channels: &[ChannelId]) -> bool {
        self.bounds.sees_all(Some(channels))
    }

    /// Returns the only channels that the credential may see; `None` for all.
    pub fn channels(&self) -> Option<&[ChannelId]> {
        self.bounds.channels.as_deref()
    }

    /// Returns the time before which nothing may be read.
    pub const fn not_before(&self) -> Option<Timestamp> {
        self.bounds.not_before
    }

    /// Checks that the caller sees people as they are: for what is of no use, or of no sense, with
    /// pseudonyms.
    ///
    /// # Errors
    /// [`ServiceError::PseudonymousKey`] if they see pseudonyms.
    pub const fn sees_people(&self) -> Result<(), ServiceError> {
        if self.mask.is_on() { Err(ServiceError::PseudonymousKey) } else { Ok(()) }
    }

    /// Checks that the caller may read all times: who may not would remove what they cannot see.
    ///
    /// # Errors
    /// [`ServiceError::InsufficientPermissions`] if there is a time before which they may not.
    pub const fn reads_all_times(&self) -> Result<(), ServiceError> {
        if self.bounds.not_before.is_some() {
            return Err(ServiceError::InsufficientPermissions);
        }
        Ok(())
    }

    /// Returns the API key of the call, if it is one.
    pub const fn key(&self) -> Option<&KeyId> {
        match &self.credential {
            Credential::Key(key) => Some(key),
            Credential::Session(_) | Credential::Token { .. } => None,
        }
    }
}

/// A session may do what a key with all scopes may.
impl From<Session> for Caller {
    fn from(session: Session) -> Self {
        Self {
            user: session.user,
            credential: Credential::Session(session.id),
            bounds: Bounds::full(),
            mask: Mask::none(),
        }
    }
}

impl From<Grant> for Caller {
    fn from(grant: Grant) -> Self {
        Self {
            user: grant.user,
            credential: Credential::Token { grant: grant.id, resource: grant.resource },
            bounds: Bounds {
                scopes: grant.scopes,
                channels: grant.channels,
                not_before: None,
                expires_at: Some(grant.expires_at),
                pseudonyms: None,
            },
            mask: Mask::none(),
        }
    }
}

impl Caller {
    /// Returns the caller of a key, with the mask that its bounds ask for.
    ///
    /// # Errors
    /// Returns an error when the store fails or the mask cannot be made.
    #[boxed]
    pub async fn of_key(store: &Store, key: Key) -> Result<Self, MaskFailure> {
        let bounds = key.bounds();
        let mask = masks::of_reader(store, &key.user, &bounds).await?;
        Ok(Self { user: key.user, credential: Credential::Key(key.id), bounds, mask })
    }
}
