//! API keys as callers and operators want them, and their validation.

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::random;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;

use super::super::access::Caller;
use super::super::input::{channel_ids, text};
use super::super::{Defect, FieldPath, ServiceError};
use super::IssueKeyError;

/// Maximum characters of a key's name.
pub const KEY_NAME: usize = 100;
/// Maximum number of channels that a key is restricted to.
const CHANNELS: usize = 1_000;
/// Location in the request.
const CHANNEL_IDS: FieldPath = FieldPath::body("/channelIds");

/// API key that a caller wants.
#[derive(Clone, Debug)]
pub struct KeyDraft {
    /// Name for people.
    pub name: String,
    /// Scopes: at least one, and only scopes that the caller has.
    pub scopes: Vec<Scope>,
    /// Channels that the key is restricted to; the caller's when absent.
    pub channels: Option<Vec<String>>,
    /// The key cannot read messages sent before this time.
    pub not_before: Option<Timestamp>,
    /// Time of expiry, in the future.
    pub expires_at: Option<Timestamp>,
    /// `true` to show pseudonyms in place of people; `None` to do as the caller's credential does.
    pub pseudonyms: Option<bool>,
}

/// API key that an operator creates for a user.
#[derive(Clone, Debug)]
pub struct OperatorKey {
    /// User who owns the key.
    pub user: UserId,
    /// Name for people.
    pub name: String,
    /// Scopes.
    pub scopes: Vec<Scope>,
    /// Channels that the key is restricted to; all when absent.
    pub channels: Option<Vec<ChannelId>>,
    /// The key cannot read messages sent before this time.
    pub not_before: Option<Timestamp>,
    /// Time of expiry, in the future.
    pub expires_at: Option<Timestamp>,
    /// Secret of its pseudonyms; `None` if it shows people as they are.
    pub pseudonyms: Option<PseudonymKey>,
}

impl OperatorKey {
    /// Checks it as that of a caller is checked.
    pub(super) fn checked(self, now: Timestamp) -> Result<Self, IssueKeyError> {
        let name = text(FieldPath::body("/name"), self.name, 1, KEY_NAME)
            .map_err(|_| IssueKeyError::Name)?;
        if self.expires_at.is_some_and(|at| at <= now) {
            return Err(IssueKeyError::Expired);
        }
        let mut channels = self.channels;
        if let Some(ids) = &mut channels {
            *ids = without_repetitions(std::mem::take(ids));
        }
        let scopes = without_repetitions(self.scopes);
        let named = scopes.iter().find(|scope| !scope.allows_pseudonyms());
        match named.filter(|_| self.pseudonyms.is_some()) {
            Some(scope) => Err(IssueKeyError::ScopeWithPseudonyms(*scope)),
            None => Ok(Self { name, scopes, channels, ..self }),
        }
    }
}

/// Returns each of them once, in their order.
fn without_repetitions<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

impl KeyDraft {
    /// Checks the draft: a key never exceeds the permissions of its creator.
    pub(super) fn checked(
        self,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<OperatorKey, ServiceError> {
        let name = text(FieldPath::body("/name"), self.name, 1, KEY_NAME)?;
        let scopes = without_repetitions(self.scopes);
        if scopes.is_empty() {
            return Err(ServiceError::defective(FieldPath::body("/scopes"), Defect::NoScope));
        }
        if !scopes.iter().all(|scope| caller.bounds.has(*scope)) {
            return Err(ServiceError::InsufficientPermissions);
        }
        let channels = self.channels;
        let channels = channels.map(|ids| channel_ids(&CHANNEL_IDS, ids, CHANNELS)).transpose()?;
        let channels = match (channels, caller.channels()) {
            (None, own) => own.map(<[_]>::to_vec),
            (Some(asked), _) if caller.sees_all(&asked) => Some(asked),
            (Some(_), _) => return Err(ServiceError::InsufficientPermissions),
        };
        if self.expires_at.is_some_and(|at| at <= now) {
            let field = FieldPath::body("/expiresAt");
            return Err(ServiceError::defective(field, Defect::Past));
        }
        let pseudonyms = pseudonyms(self.pseudonyms, caller)?;
        if pseudonyms.is_some() {
            check_scopes(&scopes)?;
        }
        let not_before = self.not_before.max(caller.not_before());
        let expires_at = self.expires_at.into_iter().chain(caller.bounds.expires_at).min();
        Ok(OperatorKey {
            user: caller.user.clone(),
            name,
            scopes,
            channels,
            not_before,
            expires_at,
            pseudonyms,
        })
    }
}

/// Returns the secret of a new key's pseudonyms. A caller who sees pseudonyms gives their own on,
/// and nothing else.
fn pseudonyms(asked: Option<bool>, caller: &Caller) -> Result<Option<PseudonymKey>, ServiceError> {
    match (&caller.bounds.pseudonyms, asked) {
        (Some(_), Some(false)) => Err(ServiceError::InsufficientPermissions),
        (Some(own), _) => Ok(Some(own.clone())),
        (None, Some(true)) => Ok(Some(new_pseudonyms())),
        (None, _) => Ok(None),
    }
}

/// Creates the secret of a key that shows pseudonyms.
pub fn new_pseudonyms() -> PseudonymKey {
    PseudonymKey::new(random::bytes())
}

/// Checks that a key with pseudonyms only reads.
///
/// # Errors
/// [`ServiceError::Conflict`] for a scope that needs to know who people are.
fn check_scopes(scopes: &[Scope]) -> Result<(), ServiceError> {
    if scopes.iter().all(|scope| scope.allows_pseudonyms()) {
        return Ok(());
    }
    Err(ServiceError::Conflict("A key that shows pseudonyms cannot have scopes that write"))
}
