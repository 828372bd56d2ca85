//! Permission as a type: callers, the limits of their credentials, and their roles in channels.
//!
//! A [`ChannelAccess`] or [`Scoped`] can only be made here, after the check, so a function that
//! takes one cannot be called without it.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::Arc;

use chatkeep_core::bounds::{Bounds, Subject};
use chatkeep_core::id::{ChannelId, KeyId, SessionId, UserId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::Bots;
use chatkeep_store::{Grant, Key, MemberStatus, ReadAction, Session, Store};

use super::masks::MaskFailure;
use super::reading::{Reads, ReadsNone, Recorder};
use super::{ServiceError, masks};
use crate::pseudonyms::Mask;

/// A role as a type.
pub(crate) trait AtLeast {
    const ROLE: Role;
}

/// A scope as a type.
pub(crate) trait HasScope {
    const SCOPE: Scope;
}

macro_rules! levels {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name;
        impl AtLeast for $name {
            const ROLE: Role = Role::$name;
        }
    )*};
}

macro_rules! scopes {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name;
        impl HasScope for $name {
            const SCOPE: Scope = Scope::$name;
        }
    )*};
}

levels!(Member, Admin, Owner);
scopes!(
    ReadMessages,
    ReadMedia,
    ReadMembers,
    WriteAssistant,
    WriteMembers,
    WriteBackup,
    ManageWebhooks,
    ManageKeys
);

/// A caller with a valid key, session or access token.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The user on whose behalf the call is made.
    pub(crate) user: UserId,
    /// The credential of the call.
    pub(crate) credential: Credential,
    /// Limits on what the caller may be shown.
    pub(crate) bounds: Bounds,
    /// What the caller is shown of people.
    pub(crate) mask: Mask,
}

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credential {
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
    pub(crate) fn owner(&self) -> String {
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
    pub(crate) fn admit(&self, subject: &Subject<'_>, now: Timestamp) -> Result<(), ServiceError> {
        self.bounds.admit(subject, now).map_err(ServiceError::from)
    }

    /// Returns true if the credential may see all of these channels.
    pub(crate) fn sees_all(&self, channels: &[ChannelId]) -> bool {
        let Some(only) = self.channels() else { return true };
        let only: HashSet<_> = only.iter().collect();
        channels.iter().all(|channel| only.contains(channel))
    }

    /// Returns the only channels that the credential may see; `None` for all.
    pub(crate) fn channels(&self) -> Option<&[ChannelId]> {
        self.bounds.channels.as_deref()
    }

    /// Returns the time before which nothing may be read.
    pub(crate) const fn not_before(&self) -> Option<Timestamp> {
        self.bounds.not_before
    }

    /// Checks that the caller sees people as they are: for what is of no use, or of no sense, with
    /// pseudonyms.
    ///
    /// # Errors
    /// [`ServiceError::PseudonymousKey`] if they see pseudonyms.
    pub(crate) const fn sees_people(&self) -> Result<(), ServiceError> {
        if self.mask.is_on() { Err(ServiceError::PseudonymousKey) } else { Ok(()) }
    }

    /// Returns the API key of the call, if it is one.
    pub(crate) const fn key(&self) -> Option<&KeyId> {
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
    pub(crate) async fn of_key(store: &Store, key: Key) -> Result<Self, MaskFailure> {
        let bounds = key.bounds();
        let mask = masks::of_reader(store, &key.user, &bounds).await?;
        Ok(Self { user: key.user, credential: Credential::Key(key.id), bounds, mask })
    }
}

/// A caller whose credential has the scope `S`.
#[derive(Clone, Debug)]
pub(crate) struct Scoped<S> {
    pub(crate) caller: Caller,
    recorder: Recorder,
    proof: PhantomData<S>,
}

/// A caller who has at least the role `R` in a channel, with a credential that has the scope `S`.
///
/// With a scope that [`Reads`], the channel is handed out by [`ChannelAccess::read`] alone, which
/// records the read, and by [`ChannelAccess::without_reading`] for what shows no messages.
#[derive(Clone, Debug)]
pub(crate) struct ChannelAccess<R, S> {
    channel: ChannelId,
    pub(crate) caller: Caller,
    pub(crate) role: Role,
    recorder: Recorder,
    proof: PhantomData<(R, S)>,
}

/// A caller whose credential has the scope `S` and may see a channel, whatever their role there;
/// the use case decides who may proceed.
#[derive(Clone, Debug)]
pub(crate) struct Reaches<S> {
    pub(crate) channel: ChannelId,
    pub(crate) caller: Caller,
    /// Their role; `None` when they have no access.
    pub(crate) role: Option<Role>,
    proof: PhantomData<S>,
}

impl<R, S: ReadsNone> ChannelAccess<R, S> {
    /// Returns the channel.
    pub(crate) const fn channel(&self) -> &ChannelId {
        &self.channel
    }
}

impl<R, S: Reads> ChannelAccess<R, S> {
    /// Returns the channel to read messages or files of, and records that they are read.
    pub(crate) fn read(&self, action: ReadAction) -> &ChannelId {
        self.recorder.note(&self.caller, &self.channel, action);
        &self.channel
    }
}

impl<S: Reads> Scoped<S> {
    /// Records that the caller reads messages of these channels.
    pub(crate) fn record<'a>(
        &self,
        channels: impl IntoIterator<Item = &'a ChannelId>,
        action: ReadAction,
    ) {
        for channel in channels {
            self.recorder.note(&self.caller, channel, action);
        }
    }
}

impl<R, S> ChannelAccess<R, S> {
    /// Returns the channel for what shows none of its messages: addresses, settings, names.
    pub(crate) const fn without_reading(&self) -> &ChannelId {
        &self.channel
    }

    /// Returns the user on whose behalf the call is made.
    pub(crate) const fn user(&self) -> &UserId {
        &self.caller.user
    }

    /// Returns the time before which nothing may be read.
    pub(crate) const fn not_before(&self) -> Option<Timestamp> {
        self.caller.not_before()
    }
}

/// Checks of permissions. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct AccessService {
    pub(super) store: Store,
    pub(super) clock: SharedClock,
    /// Bots that can be asked about people; none in a process without access tokens.
    pub(super) bots: Bots,
}

impl AccessService {
    pub(super) const fn new(store: Store, clock: SharedClock, bots: Bots) -> Self {
        Self { store, clock, bots }
    }

    /// Checks that the caller's credential has the scope `S`.
    ///
    /// # Errors
    /// [`ServiceError::InsufficientPermissions`] without the scope, [`ServiceError::InvalidKey`]
    /// when the credential has ended.
    pub(crate) fn scoped<S: HasScope>(&self, caller: Caller) -> Result<Scoped<S>, ServiceError> {
        caller.admit(&Subject::of_itself(Some(S::SCOPE)), self.clock.now())?;
        Ok(Scoped { caller, recorder: self.recorder(), proof: PhantomData })
    }

    /// Checks that the caller's credential has the scope `S`, and the caller the role `R` in the
    /// channel.
    ///
    /// # Errors
    /// As of [`Self::scoped`]; [`ServiceError::PermissionDenied`] without the role.
    pub(crate) async fn channel<R: AtLeast, S: HasScope>(
        &self,
        caller: Caller,
        channel: ChannelId,
    ) -> Result<ChannelAccess<R, S>, ServiceError> {
        let Scoped { caller, recorder, .. } = self.scoped::<S>(caller)?;
        let role = self.role(&caller, &channel).await?;
        if role < R::ROLE {
            return Err(ServiceError::PermissionDenied);
        }
        Ok(ChannelAccess { channel, caller, role, recorder, proof: PhantomData })
    }

    fn recorder(&self) -> Recorder {
        Recorder::new(self.store.clone(), Arc::clone(&self.clock))
    }

    /// Checks that the caller's credential has the scope `S` and may see the channel.
    ///
    /// # Errors
    /// As of [`Self::scoped`]; [`ServiceError::PermissionDenied`] for a channel that the credential
    /// is not valid for.
    pub(crate) async fn reaches<S: HasScope>(
        &self,
        caller: Caller,
        channel: ChannelId,
    ) -> Result<Reaches<S>, ServiceError> {
        let Scoped { caller, .. } = self.scoped::<S>(caller)?;
        caller.admit(&Subject::of_channel(&channel, None), self.clock.now())?;
        let role = match self.role(&caller, &channel).await {
            Ok(role) => Some(role),
            Err(ServiceError::PermissionDenied) => None,
            Err(error) => return Err(error),
        };
        Ok(Reaches { channel, caller, role, proof: PhantomData })
    }

    /// Returns the role of the caller in the channel. Somebody whom the store does not know there
    /// is looked up on the platform once.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for guests, for people who left or were never there, and
    /// for a channel that the credential is not valid for.
    pub(crate) async fn role(
        &self,
        caller: &Caller,
        channel: &ChannelId,
    ) -> Result<Role, ServiceError> {
        caller.admit(&Subject::of_channel(channel, None), self.clock.now())?;
        let member = match self.store.members().member(channel, &caller.user).await? {
            Some(member) => Some(member),
            None => self.ask_platform(channel, &caller.user).await?,
        };
        let member = member.filter(|member| member.status == MemberStatus::Active);
        let role = member.map_or(Role::Guest, |member| member.role);
        if role == Role::Guest { Err(ServiceError::PermissionDenied) } else { Ok(role) }
    }
}
