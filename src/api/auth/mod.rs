//! Extractors of callers and of their permissions: a handler asks for a [`ChannelAccess`] and runs
//! only with one (see `docs/architecture.md#rule-9`).

mod access;
mod identity;

pub(super) use identity::{bearer, identify};

pub(crate) use crate::services::access::{
    Admin, AtLeast, Caller, ChannelAccess, Credential, HasScope, ManageKeys, ManageWebhooks,
    Member, Owner, Reaches, ReadMedia, ReadMembers, ReadMessages, Scoped, WriteAssistant,
    WriteBackup, WriteMembers,
};
