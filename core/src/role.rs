//! Roles in a channel and scopes of a key: the permissions of a caller.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Role of a person in a channel, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

impl Role {
    /// Parses a role from its name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "guest" => Some(Self::Guest),
            "member" => Some(Self::Member),
            "admin" => Some(Self::Admin),
            "owner" => Some(Self::Owner),
            _ => None,
        }
    }

    /// Returns its name in every interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Member => "member",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Permission that a key can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// Messages, search, export, events.
    #[serde(rename = "read:messages")]
    ReadMessages,
    /// Media files.
    #[serde(rename = "read:media")]
    ReadMedia,
    /// Channels and members.
    #[serde(rename = "read:members")]
    ReadMembers,
    /// The assistant's settings.
    #[serde(rename = "write:assistant")]
    WriteAssistant,
    /// Roles.
    #[serde(rename = "write:members")]
    WriteMembers,
    /// Subscriptions and deletion.
    #[serde(rename = "write:backup")]
    WriteBackup,
    /// Outgoing webhooks.
    #[serde(rename = "manage:webhooks")]
    ManageWebhooks,
    /// API keys.
    #[serde(rename = "manage:keys")]
    ManageKeys,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 8] = [
        Self::ReadMessages,
        Self::ReadMedia,
        Self::ReadMembers,
        Self::WriteAssistant,
        Self::WriteMembers,
        Self::WriteBackup,
        Self::ManageWebhooks,
        Self::ManageKeys,
    ];

    /// Returns its name in every interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadMessages => "read:messages",
            Self::ReadMedia => "read:media",
            Self::ReadMembers => "read:members",
            Self::WriteAssistant => "write:assistant",
            Self::WriteMembers => "write:members",
            Self::WriteBackup => "write:backup",
            Self::ManageWebhooks => "manage:webhooks",
            Self::ManageKeys => "manage:keys",
        }
    }

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

    /// Parses a scope from its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.name()), Some(scope));
            let json = serde_json::to_string(&scope).unwrap();
            assert_eq!(json, format!("\"{}\"", scope.name()));
        }
        assert!(Role::Owner > Role::Admin && Role::Admin > Role::Member);
        assert!(Role::Member > Role::Guest);
    }
}
