//! Sessions of people who signed in with a browser, and logins that are under way.

use std::cmp::Reverse;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::SessionId;
use chatkeep_core::random;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{
    NewLogin, NewSession, PendingLogin, Session, SignedIn, Store, StoreError, User,
};

use super::ServiceError;

/// Length of a session's secret in characters.
const SECRET: usize = 40;
/// Length of a session's public id in characters.
const ID: usize = 16;
/// Maximum number of rows removed in one transaction.
const BATCH: u32 = 500;

/// Sessions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SessionService {
    store: Store,
    clock: SharedClock,
    /// Time after its last use at which a session ends.
    idle: Duration,
}

impl SessionService {
    pub(super) const fn new(store: Store, clock: SharedClock, idle: Duration) -> Self {
        Self { store, clock, idle }
    }

    /// Returns the session with this secret, which counts as used with this; `None` when there is
    /// none, or when it has ended.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn of_secret(&self, secret: &str) -> Result<Option<Session>, ServiceError> {
        let now = self.clock.now();
        let mut session = self.store.sessions().session(secret, self.idle, now).await?;
        if let Some(session) = &mut session {
            self.store.keys().note_session_use(session, now);
        }
        Ok(session)
    }

    /// Returns the time at which a session ends unless it is used before.
    pub fn expires_at(&self, session: &Session) -> Timestamp {
        session.seen_at.plus(self.idle)
    }

    /// Returns the person of a session; `None` when they are gone.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn user(&self, session: &Session) -> Result<Option<User>, ServiceError> {
        Ok(self.store.accounts().user(&session.user).await?)
    }

    /// Begins a session of a person and stores what the identity provider says about them; returns
    /// its secret.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn begin(&self, person: &SignedIn<'_>) -> Result<String, ServiceError> {
        let id = SessionId::new(random::text(ID));
        let (secret, csrf) = (random::text(SECRET), random::text(SECRET));
        let session = NewSession { id: &id, secret: &secret, csrf: &csrf };
        self.store.sessions().sign_in(person, &session, self.clock.now()).await?;
        Ok(secret)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn end(&self, session: &Session) -> Result<(), ServiceError> {
        self.store.sessions().end_session(&session.user, &session.id).await?;
        Ok(())
    }

    /// Returns the live sessions of a session's person, the last used first.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn of_person(&self, session: &Session) -> Result<Vec<Session>, ServiceError> {
        let now = self.clock.now();
        let mut sessions = self.store.sessions().list(&session.user, self.idle, now).await?;
        sessions.sort_by_key(|one| Reverse((one.seen_at, one.created_at)));
        Ok(sessions)
    }

    /// Ends a session of the same person.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] when they have none of that id.
    #[boxed]
    pub async fn end_one(&self, own: &Session, id: &SessionId) -> Result<(), ServiceError> {
        let ended = self.store.sessions().end_session(&own.user, id).await?;
        if ended { Ok(()) } else { Err(ServiceError::NotFound) }
    }

    /// Ends all other sessions of the same person; returns their number.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn end_others(&self, own: &Session) -> Result<u64, ServiceError> {
        Ok(self.store.sessions().end_other_sessions(&own.user, &own.id).await?)
    }

    /// Stores a login until the identity provider sends the browser back.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn add_login(&self, login: &NewLogin<'_>) -> Result<(), ServiceError> {
        Ok(self.store.sessions().add_login(login, self.clock.now()).await?)
    }

    /// Takes the pending login with that state; there is none a second time, or too late.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn take_login(&self, state: &str) -> Result<Option<PendingLogin>, ServiceError> {
        Ok(self.store.sessions().take_login(state, self.clock.now()).await?)
    }

    /// Removes a batch of ended sessions, logins and consents; returns true if there may be more.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn purge_batch(&self) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let sessions = self.store.sessions().purge_sessions(self.idle, BATCH, now).await?;
        let logins = self.store.sessions().purge_logins(BATCH, now).await?;
        let grants = self.store.oauth().purge_grants(BATCH, now).await?;
        Ok(sessions || logins || grants)
    }
}
