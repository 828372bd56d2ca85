//! Consents of people to programs that read for them (OAuth): clients, grants and their tokens.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::random;
use chatkeep_core::role::Scope;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_i18n::Language;
use chatkeep_store::{Channel, Consent, Grant, NewGrant, OAuthClient, Store, Tokens};
use tracing::info;

use super::ServiceError;

/// Scopes that programs may be granted: reading alone.
pub const GRANTABLE_SCOPES: [Scope; 3] =
    [Scope::ReadMessages, Scope::ReadMembers, Scope::ReadMedia];

/// Scopes of a program that asks for none, and of a key for a model: files are asked for by name.
pub const READING_SCOPES: [Scope; 2] = [Scope::ReadMessages, Scope::ReadMembers];

/// Maximum number of channels that a person chooses from.
const OFFERED: u32 = 200;
/// Lifetime of a code, which a client exchanges at once.
const CODE_TIME: Duration = Duration::from_mins(2);
/// Length of a consent's public id in characters.
const ID: usize = 16;

/// Returns the name of a client that declares none.
pub fn nameless_client() -> String {
    Language::English.text("consent-unnamed")
}

/// Returns a client's name as people read it.
pub fn client_name(name: &str, language: Language) -> String {
    if name == nameless_client() { language.text("consent-unnamed") } else { name.to_owned() }
}

/// Access that a person grants to a program.
#[derive(Clone, Copy, Debug)]
pub struct GrantRequest<'a> {
    /// The program.
    pub client: &'a OAuthClient,
    /// Granted scopes.
    pub scopes: &'a [Scope],
    /// Granted channels; all of the person's when absent.
    pub channels: Option<&'a [ChannelId]>,
    /// Resource that tokens are valid for.
    pub resource: &'a str,
    /// Address that the code is sent to.
    pub redirect_uri: &'a str,
    /// PKCE challenge.
    pub challenge: &'a str,
}

/// Consents and their tokens. Cheap to clone.
#[derive(Clone, Debug)]
pub struct GrantService {
    store: Store,
    clock: SharedClock,
}

impl GrantService {
    pub(super) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Returns the registered client of that id.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn client(&self, id: &str) -> Result<Option<OAuthClient>, ServiceError> {
        Ok(self.store.oauth().oauth_client(id).await?)
    }

    /// Registers a client; returns the time of registration.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn add_client(&self, client: &OAuthClient) -> Result<Timestamp, ServiceError> {
        let now = self.clock.now();
        self.store.oauth().add_oauth_client(client, now).await?;
        Ok(now)
    }

    /// Returns the channels that a person may grant.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn offered(&self, user: &UserId) -> Result<Vec<Channel>, ServiceError> {
        Ok(self.store.channels().channels_of(user, None, None, OFFERED).await?)
    }

    /// Returns those of the chosen channels that the person may grant; `None` for all.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn grantable(
        &self,
        user: &UserId,
        chosen: Option<Vec<ChannelId>>,
    ) -> Result<Option<Vec<ChannelId>>, ServiceError> {
        let Some(chosen) = chosen else { return Ok(None) };
        let own = self.store.channels().channels_of(user, Some(&chosen), None, OFFERED).await?;
        Ok(Some(own.into_iter().map(|channel| channel.id).collect()))
    }

    /// Stores a person's consent, whose tokens are given for `code`.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn add(
        &self,
        user: &UserId,
        request: &GrantRequest<'_>,
        code: &str,
    ) -> Result<(), ServiceError> {
        let (id, now) = (random::text(ID), self.clock.now());
        let grant = NewGrant {
            id: &id,
            user,
            client_id: &request.client.id,
            client_name: &request.client.name,
            scopes: request.scopes,
            channels: request.channels,
            resource: request.resource,
            code,
            code_until: now.plus(CODE_TIME),
            redirect_uri: request.redirect_uri,
            challenge: request.challenge,
        };
        self.store.oauth().add_grant(&grant, now).await?;
        info!(%user, grant = id, "consent granted");
        Ok(())
    }

    /// Returns the consents of a person.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn consents(&self, user: &UserId) -> Result<Vec<Consent>, ServiceError> {
        Ok(self.store.oauth().consents(user).await?)
    }

    /// Withdraws a consent of a person, whose tokens end with it; nothing is done for an unknown
    /// one.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn withdraw(&self, user: &UserId, id: &str) -> Result<(), ServiceError> {
        if self.store.oauth().revoke_consent(user, id).await? {
            info!(%user, grant = id, "consent withdrawn");
        }
        Ok(())
    }

    /// Exchanges a code for `tokens`, if `admit` allows it; `None` otherwise.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn exchange_code(
        &self,
        code: &str,
        admit: impl FnOnce(&Grant) -> bool + Send,
        tokens: &Tokens,
    ) -> Result<Option<Grant>, ServiceError> {
        Ok(self.store.oauth().exchange_code(code, admit, tokens, self.clock.now()).await?)
    }

    /// Exchanges a refresh token for the tokens that `make` derives from the seed, if `admit`
    /// allows it; `None` otherwise.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn refresh(
        &self,
        token: &str,
        admit: impl FnOnce(&Grant) -> bool + Send,
        seed: &str,
        make: impl Fn(&str, Timestamp) -> Tokens + Send,
    ) -> Result<Option<(Grant, Tokens)>, ServiceError> {
        Ok(self.store.oauth().refresh_grant(token, admit, seed, make, self.clock.now()).await?)
    }

    /// Ends the consent that a token belongs to, if there is one.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn end(&self, token: &str) -> Result<(), ServiceError> {
        self.store.oauth().end_grant(token).await?;
        Ok(())
    }
}
