//! Who calls, and what they may: extractors that a handler cannot do without
//! (docs/architecture.md#rule-9). There is no other way to a channel's data.

mod access;
mod identity;

pub(super) use access::Reaches;
pub(crate) use access::{ChannelAccess, Scoped};
pub(crate) use identity::{Caller, Credential};
pub(super) use identity::{bearer, identify};

use chatkeep_core::role::{Role, Scope};

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
