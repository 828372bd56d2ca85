//! Use cases of chatkeep without any surface: no HTTP, no tools, no command line.
//!
//! REST, MCP, and the command line are edges: they parse a request, call a service, and render its
//! result or its [`ServiceError`]. Permission is a type ([`access`]): there is no way to a channel's
//! data without a [`access::ChannelAccess`] or a [`access::Scoped`] caller.

pub(crate) mod access;
pub(crate) mod channels;
mod cursor;
mod error;
mod field_path;
pub(crate) mod members;
mod membership;
pub(crate) mod messages;
pub(crate) mod search;

use std::sync::Arc;

use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use chrono_tz::Tz;

pub(crate) use access::{Caller, Credential};
pub(crate) use cursor::{Window, decode as decode_cursor, encode as encode_cursor};
pub(crate) use error::ServiceError;
pub(crate) use field_path::FieldPath;

use access::AccessService;
use channels::ChannelService;
use members::MemberService;
use messages::MessageService;
use search::MessageSearch;

use crate::search::SearchService;

/// Usual and largest number of rows of a page.
pub(crate) const LIMIT: (u32, u32) = (50, 100);

/// Services of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    /// Permissions of callers.
    pub(crate) access: AccessService,
    /// Channels of callers.
    pub(crate) channels: ChannelService,
    /// Members of channels.
    pub(crate) members: MemberService,
    /// Messages of channels.
    pub(crate) messages: MessageService,
    /// Message search.
    pub(crate) search: MessageSearch,
}

impl Services {
    /// Creates the services. Days begin in `time_zone` in channels without a zone of their own.
    pub(crate) fn new(
        store: &Store,
        clock: &SharedClock,
        bots: Bots,
        index: SearchService,
        time_zone: Tz,
    ) -> Self {
        let access = AccessService::new(store.clone(), Arc::clone(clock), bots);
        let messages = MessageService::new(store.clone(), time_zone);
        let search = MessageSearch::new(
            store.clone(),
            Arc::clone(clock),
            index,
            access.clone(),
            messages.clone(),
        );
        Self {
            access,
            channels: ChannelService::new(store.clone()),
            members: MemberService::new(store.clone()),
            messages,
            search,
        }
    }
}
