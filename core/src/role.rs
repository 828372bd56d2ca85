//! Roles in a channel and scopes of a key: the permissions of a caller.

use std::fmt;

use crate::named;

/// Role of a person in a channel, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// No permissions.
    Guest,
    /// Reads the channel and its stored messages.
    Member,
    /// Also manages the assistant.
    Admin,
    /// Also manages roles and everything else.
    Owner,
}

named! {
    pub Role {
        Guest = "guest",
        Member = "member",
        Admin = "admin",
        Owner = "owner",
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Permission that a key can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Messages, search, export, events.
    ReadMessages,
    /// Media files.
    ReadMedia,
    /// Channels and members.
    ReadMembers,
    /// The assistant's settings.
    WriteAssistant,
    /// Roles.
    WriteMembers,
    /// Subscriptions and deletion.
    WriteBackup,
    /// Outgoing webhooks.
    ManageWebhooks,
    /// API keys.
    ManageKeys,
}

named! {
    pub Scope {
        ReadMessages = "read:messages",
        ReadMedia = "read:media",
        ReadMembers = "read:members",
        WriteAssistant = "write:assistant",
        WriteMembers = "write:members",
        WriteBackup = "write:backup",
        ManageWebhooks = "manage:webhooks",
        ManageKeys = "manage:keys",
    }
}

impl Scope {
    /// Returns a phrase for people about what a key with it may do.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::ReadMessages => "read, search and export messages, and read events",
            Self::ReadMedia => "read media files",
            Self::ReadMembers => "read the settings and members of channels",
            Self::WriteAssistant => "read and change the settings of the assistant",
            Self::WriteMembers => "change the roles of members",
            Self::WriteBackup => {
                "manage backup subscriptions and retention, delete messages and erase people"
            }
            Self::ManageWebhooks => "manage webhooks",
            Self::ManageKeys => "manage keys with at most the permissions of this one",
        }
    }

    /// Returns true if a key that shows pseudonyms may have it: everything that only reads, and the
    /// management of such keys and webhooks. What administers people needs to know who they are.
    pub const fn allows_pseudonyms(self) -> bool {
        match self {
            Self::ReadMessages
            | Self::ReadMedia
            | Self::ReadMembers
            | Self::ManageWebhooks
            | Self::ManageKeys => true,
            Self::WriteAssistant | Self::WriteMembers | Self::WriteBackup => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_in_order() {
        assert!(Role::Owner > Role::Admin && Role::Admin > Role::Member);
        assert!(Role::Member > Role::Guest);
    }
}
