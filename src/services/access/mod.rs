//! Permission as a type: callers, the limits of their credentials, and their roles in channels.
//!
//! A [`ChannelAccess`] or [`Scoped`] can only be made here, after the check, so a function that
//! takes one cannot be called without it.

mod caller;
mod jobs;
mod renewal;

use std::marker::PhantomData;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Subject;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::Bots;
use chatkeep_store::{MemberStatus, ReadAction, Store};

pub use self::caller::{Caller, Credential, is_me};
pub use self::jobs::JobAccess;
use super::ServiceError;
use super::reading::{Reads, ReadsNone, Recorder};

/// A role as a type.
pub trait AtLeast {
    const ROLE: Role;
}

/// A scope as a type.
pub trait HasScope {
    const SCOPE: Scope;
}

macro_rules! levels {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl AtLeast for $name {
            const ROLE: Role = Role::$name;
        }
    )*};
}

macro_rules! scopes {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
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

/// A caller whose credential has the scope `S`.
#[derive(Clone, Debug)]
pub struct Scoped<S> {
    pub caller: Caller,
    service: AccessService,
    recorder: Recorder,
    proof: PhantomData<S>,
}

/// A caller who has at least the role `R` in a channel, with a credential that has the scope `S`.
///
/// With a scope that `Reads`, the channel is handed out by [`ChannelAccess::read`] alone, which
/// records the read, and by [`ChannelAccess::without_reading`] for what shows no messages.
#[derive(Clone, Debug)]
pub struct ChannelAccess<R, S> {
    channel: ChannelId,
    pub caller: Caller,
    pub role: Role,
    service: AccessService,
    recorder: Recorder,
    proof: PhantomData<(R, S)>,
}

/// A caller whose credential has the scope `S` and may see a channel, whatever their role there;
/// the use case decides who may proceed.
#[derive(Clone, Debug)]
pub struct Reaches<S> {
    pub channel: ChannelId,
    pub caller: Caller,
    /// Their role; `None` when they have no access.
    pub role: Option<Role>,
    proof: PhantomData<S>,
}

impl<R, S: ReadsNone> ChannelAccess<R, S> {
    /// Returns the channel.
    pub const fn channel(&self) -> &ChannelId {
        &self.channel
    }
}

impl<R, S: Reads> ChannelAccess<R, S> {
    /// Returns the channel to read messages or files of, and records that they are read.
    pub fn read(&self, action: ReadAction) -> &ChannelId {
        self.recorder.note(&self.caller, &self.channel, action);
        &self.channel
    }
}

impl<S: Reads> Scoped<S> {
    /// Records that the caller reads messages of these channels.
    pub fn record<'a>(
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
    pub const fn without_reading(&self) -> &ChannelId {
        &self.channel
    }

    /// Returns the user on whose behalf the call is made.
    pub const fn user(&self) -> &UserId {
        &self.caller.user
    }

    /// Returns the time before which nothing may be read.
    pub const fn not_before(&self) -> Option<Timestamp> {
        self.caller.not_before()
    }

    /// Returns the present time.
    pub(super) fn now(&self) -> Timestamp {
        self.service.clock.now()
    }
}

/// Checks of permissions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AccessService {
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
    pub fn scoped<S: HasScope>(&self, caller: Caller) -> Result<Scoped<S>, ServiceError> {
        caller.admit(&Subject::of_itself(Some(S::SCOPE)), self.clock.now())?;
        let service = self.clone();
        Ok(Scoped { caller, service, recorder: self.recorder(), proof: PhantomData })
    }

    /// Checks that the caller's credential has the scope `S`, and the caller the role `R` in the
    /// channel.
    ///
    /// # Errors
    /// Those of [`Self::scoped`]; [`ServiceError::PermissionDenied`] without the role.
    pub async fn channel<R: AtLeast, S: HasScope>(
        &self,
        caller: Caller,
        channel: ChannelId,
    ) -> Result<ChannelAccess<R, S>, ServiceError> {
        let Scoped { caller, service, recorder, .. } = self.scoped::<S>(caller)?;
        let role = self.role(&caller, &channel).await?;
        if role < R::ROLE {
            return Err(ServiceError::PermissionDenied);
        }
        Ok(ChannelAccess { channel, caller, role, service, recorder, proof: PhantomData })
    }

    fn recorder(&self) -> Recorder {
        Recorder::new(self.store.clone(), Arc::clone(&self.clock))
    }

    /// Checks that the caller's credential has the scope `S` and may see the channel.
    ///
    /// # Errors
    /// Those of [`Self::scoped`]; [`ServiceError::PermissionDenied`] for a channel that the
    /// credential is not valid for.
    pub async fn reaches<S: HasScope>(
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
    #[boxed]
    pub async fn role(&self, caller: &Caller, channel: &ChannelId) -> Result<Role, ServiceError> {
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
