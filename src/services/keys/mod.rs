//! API keys: those of callers, who never give away more than they may do themselves, and those that
//! an operator creates for a user.

mod draft;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, KeyId, UserId};
use chatkeep_core::random;
use chatkeep_core::role::Scope;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Key, NewKey, Rotated, Store, StoreError};

pub use draft::{KEY_NAME, KeyDraft, OperatorKey, new_pseudonyms};

use super::access::{Caller, ManageKeys, Scoped};
use super::operator::Operator;
use super::{FieldPath, ServiceError, Window};

/// Keys read at a time.
const PAGE: u32 = 500;
/// Refusal of another successor: nobody may have received the first one, which would go on working.
const REPLACED: &str = "The key was replaced already: rotate or delete the key that replaced it";

/// A rotated key works this long unless the caller says otherwise.
const OVERLAP: Duration = Duration::from_hours(24);
/// Maximum overlap in seconds: 30 days.
const MAX_OVERLAP: u32 = 2_592_000;

/// New key with its secret, which is not shown again. No `Debug`: it holds the secret.
pub struct IssuedKey {
    /// The key.
    pub key: Key,
    /// Its secret.
    pub secret: String,
    /// Time until which the previous key stays valid after a rotation.
    pub previous_until: Option<Timestamp>,
}

/// Reason for which an operator's key cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum IssueKeyError {
    /// The name is empty or too long.
    #[error("the name must have 1 to {KEY_NAME} characters")]
    Name,
    /// The scope shows who people are.
    #[error("a key with pseudonyms cannot have the scope {}", .0.name())]
    ScopeWithPseudonyms(Scope),
    /// The time of expiry is past.
    #[error("the time of expiry must be in the future")]
    Expired,
    /// There is no such user.
    #[error("unknown user {0}")]
    UnknownUser(UserId),
    /// There is no such channel.
    #[error("unknown channel {0}")]
    UnknownChannel(ChannelId),
    /// The user has as many keys as a user can have.
    #[error("the user has the maximum number of active keys")]
    TooMany,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// API keys. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KeyService {
    store: Store,
    clock: SharedClock,
}

impl KeyService {
    /// Creates the service; commands have it without the others.
    pub const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Returns at most `limit` keys of the caller within the caller's permissions, and the cursor
    /// of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        access: &Scoped<ManageKeys>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<Key>, Option<String>), ServiceError> {
        let window = Window::open("keys", limit, cursor)?;
        let (after, wanted) = (window.after.clone(), window.wanted());
        let mut keys = self.within(&access.caller, after, wanted).await?;
        let next = window.cut(&mut keys, |key| (key.created_at, key.id.clone()));
        Ok((keys, next))
    }

    /// Returns a key.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for a key that is unknown or beyond the caller's permissions.
    #[boxed]
    pub async fn one(&self, access: &Scoped<ManageKeys>, key: &KeyId) -> Result<Key, ServiceError> {
        self.of(&access.caller, key).await?.ok_or(ServiceError::NotFound)
    }

    /// Creates a key.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad value, [`ServiceError::InsufficientPermissions`] for
    /// more than the caller may do, [`ServiceError::TooManyKeys`].
    #[boxed]
    pub async fn create(
        &self,
        access: &Scoped<ManageKeys>,
        draft: KeyDraft,
    ) -> Result<IssuedKey, ServiceError> {
        let wanted = draft.checked(&access.caller, self.clock.now())?;
        self.add(wanted).await?.ok_or(ServiceError::TooManyKeys)
    }

    /// Replaces a key by a new one with the same permissions; the old one stays valid for `overlap`
    /// seconds, a day when absent.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for an unknown key, [`ServiceError::InsufficientPermissions`] for
    /// one beyond the caller's permissions, [`ServiceError::Invalid`] for too long an overlap,
    /// [`ServiceError::Conflict`] for one that was replaced before.
    #[boxed]
    pub async fn rotate(
        &self,
        access: &Scoped<ManageKeys>,
        key: &KeyId,
        overlap: Option<u32>,
    ) -> Result<IssuedKey, ServiceError> {
        let overlap = checked_overlap(overlap)?;
        let caller = &access.caller;
        let known = self.of(caller, key).await?;
        // A bounded caller does not learn which keys there are beyond its bounds.
        if known.is_none() && !Bounds::full().within(&caller.bounds) {
            return Err(ServiceError::InsufficientPermissions);
        }
        let now = self.clock.now();
        let until = now.plus(overlap);
        let (id, secret) = (KeyId::new(random::key_id()), random::api_key());
        let rotated =
            self.store.keys().rotate_key(&caller.user, key, (&id, &secret), until, now).await?;
        let key = match rotated {
            Rotated::Done(key) => *key,
            Rotated::NoKey => return Err(ServiceError::NotFound),
            Rotated::Replaced => return Err(ServiceError::Conflict(REPLACED)),
        };
        let until = key.expires_at.map_or(until, |end| end.min(until));
        Ok(IssuedKey { key, secret, previous_until: Some(until) })
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for a key that is unknown or beyond the caller's permissions.
    #[boxed]
    pub async fn remove(
        &self,
        access: &Scoped<ManageKeys>,
        key: &KeyId,
    ) -> Result<(), ServiceError> {
        let known = self.one(access, key).await?;
        let user = &access.caller.user;
        let dropped = self.store.keys().drop_key_of(user, &known.id, self.clock.now()).await?;
        if dropped { Ok(()) } else { Err(ServiceError::NotFound) }
    }

    /// Creates a key with any permission.
    ///
    /// # Errors
    /// Returns an error when a value is bad, the user has too many keys, or the store fails.
    #[boxed]
    pub async fn issue(
        &self,
        _: &Operator,
        wanted: OperatorKey,
    ) -> Result<IssuedKey, IssueKeyError> {
        let wanted = wanted.checked(self.clock.now())?;
        if self.store.accounts().user(&wanted.user).await?.is_none() {
            return Err(IssueKeyError::UnknownUser(wanted.user));
        }
        for channel in wanted.channels.iter().flatten() {
            if self.store.channels().channel(channel).await?.is_none() {
                return Err(IssueKeyError::UnknownChannel(channel.clone()));
            }
        }
        self.add(wanted).await?.ok_or(IssueKeyError::TooMany)
    }

    /// Returns all keys of a user, oldest first.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn all_of(&self, _: &Operator, user: &UserId) -> Result<Vec<Key>, StoreError> {
        let mut keys: Vec<Key> = Vec::new();
        loop {
            let after = keys.last().map(|key| (key.created_at, key.id.clone()));
            let page = self.store.keys().list(user, after.as_ref(), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            keys.extend(page);
            if is_last {
                return Ok(keys);
            }
        }
    }

    /// Deletes any key; returns false for an unknown one.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn revoke(&self, _: &Operator, key: &KeyId) -> Result<bool, StoreError> {
        self.store.keys().drop_key(key, self.clock.now()).await
    }

    /// Stores a new key; `None` when the user has as many keys as a user can have.
    async fn add(&self, wanted: OperatorKey) -> Result<Option<IssuedKey>, StoreError> {
        let (id, secret) = (KeyId::new(random::key_id()), random::api_key());
        let new = NewKey {
            id: &id,
            secret: &secret,
            user: &wanted.user,
            name: &wanted.name,
            scopes: &wanted.scopes,
            channels: wanted.channels.as_deref(),
            not_before: wanted.not_before,
            expires_at: wanted.expires_at,
            pseudonyms: wanted.pseudonyms.as_ref(),
        };
        let added = self.store.keys().add_key(&new, self.clock.now()).await?;
        Ok(added.map(|key| IssuedKey { key, secret, previous_until: None }))
    }

    /// Returns the caller's key of that ID, if it is within the caller's permissions; otherwise it
    /// is as unknown as another person's.
    async fn of(&self, caller: &Caller, id: &KeyId) -> Result<Option<Key>, ServiceError> {
        let key = self.store.keys().key_of(&caller.user, id).await?;
        Ok(key.filter(|key| key.bounds().within(&caller.bounds)))
    }

    /// Returns the caller's keys within the caller's permissions, from after `after`, at most
    /// `wanted`.
    async fn within(
        &self,
        caller: &Caller,
        mut after: Option<(Timestamp, KeyId)>,
        wanted: u32,
    ) -> Result<Vec<Key>, ServiceError> {
        let mut found = Vec::new();
        while found.len() < wanted as usize {
            let page = self.store.keys().list(&caller.user, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some((last.created_at, last.id.clone()));
            found.extend(page.into_iter().filter(|key| key.bounds().within(&caller.bounds)));
        }
        found.truncate(wanted as usize);
        Ok(found)
    }
}

/// Returns the time for which a rotated secret stays valid.
///
/// # Errors
/// [`ServiceError::Invalid`] when it is too long.
pub(super) fn checked_overlap(seconds: Option<u32>) -> Result<Duration, ServiceError> {
    match seconds {
        None => Ok(OVERLAP),
        Some(seconds) if seconds <= MAX_OVERLAP => Ok(Duration::from_secs(seconds.into())),
        Some(_) => {
            let why = format_args!("must be at most {MAX_OVERLAP}");
            Err(ServiceError::invalid_value(FieldPath::body("/overlapSeconds"), why))
        }
    }
}
