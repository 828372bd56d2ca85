//! The assistant's settings (interface specification, "Assistant config" and after).

pub(super) mod config;
pub(super) mod qa;
pub(super) mod texts;

use super::auth::{Admin, ChannelAccess, WriteAssistant};

/// Settings are for admins and owners, reading included.
type Settings = ChannelAccess<Admin, WriteAssistant>;
