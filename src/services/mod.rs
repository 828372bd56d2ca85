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
pub(crate) mod live;
pub(crate) mod members;
mod membership;
pub(crate) mod messages;
pub(crate) mod overview;
pub(crate) mod search;

use std::sync::Arc;

use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use chrono_tz::Tz;
use tokio_util::sync::CancellationToken;

pub(crate) use access::{Caller, Credential};
pub(crate) use cursor::{Window, decode as decode_cursor, encode as encode_cursor};
pub(crate) use error::ServiceError;
pub(crate) use field_path::FieldPath;

use access::AccessService;
use channels::ChannelService;
use live::LiveService;
use members::MemberService;
use messages::MessageService;
use overview::OverviewService;
use search::MessageSearch;

use crate::search::SearchService;
use crate::view::Links;

/// Usual and largest number of rows of a page.
pub(crate) const LIMIT: (u32, u32) = (50, 100);

/// Services of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    /// Permissions of callers.
    pub(crate) access: AccessService,
    /// Channels of callers.
    pub(crate) channels: ChannelService,
    /// Addresses of the pages about channels and messages.
    pub(crate) links: Links,
    /// News of channels.
    pub(crate) live: LiveService,
    /// Members of channels.
    pub(crate) members: MemberService,
    /// Messages of channels.
    pub(crate) messages: MessageService,
    /// Channels at a glance.
    pub(crate) overview: OverviewService,
    /// Message search.
    pub(crate) search: MessageSearch,
}

impl Services {
    /// Creates the services. Days begin in `time_zone` in channels without a zone of their own;
    /// `links` are those of the public address. Nobody follows a channel after `stop`.
    pub(crate) fn new(
        store: &Store,
        clock: &SharedClock,
        bots: Bots,
        index: SearchService,
        (time_zone, links): (Tz, Links),
        stop: CancellationToken,
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
        let channels = ChannelService::new(store.clone());
        Self {
            live: LiveService::new(store.clone(), access.clone(), stop),
            overview: OverviewService::new(store.clone(), Arc::clone(clock), channels.clone()),
            access,
            channels,
            links,
            members: MemberService::new(store.clone()),
            messages,
            search,
        }
    }
}
