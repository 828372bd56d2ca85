//! Use cases of chatkeep without any surface: no HTTP, no tools, no command line.
//!
//! REST, MCP, the console, sign-in, the command line and the demo are edges: they parse a request,
//! call a service, and render its result or its [`ServiceError`]. Permission is a type
//! ([`access`]): there is no way to a channel's data without a [`access::ChannelAccess`], a
//! [`access::Scoped`] caller, or, for the program's commands, the [`operator::Operator`].
//!
//! Beside them is the periodic work: [`maintenance`], [`orphan_sweep`], [`retention`] and
//! [`removals`]; the [`doctor`], which checks and repairs; [`event_renderer`], which renders outbox
//! events; [`decode`], which reads the JSON of requests.
//!
//! The futures of public functions are boxed (`#[boxed]`): a future is compiled by the crate that
//! polls it, so every edge would compile the services that it calls, and all that they await, anew.

#![warn(clippy::print_stdout, clippy::print_stderr)]
#![expect(missing_docs, reason = "names of errors and of findings say what they are")]

pub mod access;
pub mod account;
pub mod activity;
pub mod activity_log;
pub mod assistant;
pub mod bot_setup;
pub mod bus_losses;
mod certificates;
pub mod channels;
pub mod citations;
mod claim_renewal;
pub mod consumers;
pub mod context;
pub mod credentials;
mod cursor;
pub mod dead_letters;
pub mod decode;
pub mod deletion;
pub mod deployment_metrics;
pub mod digest;
pub mod disk;
pub mod doctor;
pub mod documents;
pub mod earlier_texts;
mod error;
pub mod event_renderer;
pub mod events;
pub mod export_jobs;
pub mod exports;
mod field_path;
pub mod gaps;
pub mod grants;
pub mod idempotency;
pub mod imports;
pub mod indexing;
mod input;
pub mod jobs;
pub mod keys;
pub mod live;
pub mod maintenance;
pub mod masks;
pub mod mcp_clients;
pub mod media;
pub mod media_store;
pub mod members;
mod membership;
pub mod messages;
pub mod my_data;
mod nullable;
pub mod operator;
pub mod orphan_sweep;
pub mod overview;
pub mod pictures;
pub mod processes;
mod reading;
mod recent;
pub mod removals;
pub mod retention;
pub mod saved_searches;
pub mod search;
pub mod sessions;
pub mod snapshots;
pub mod status;
pub mod subscriptions;
#[cfg(test)]
mod tests;
mod time_zone;
mod user_permits;
pub mod wal_checkpoint;
pub mod webhooks;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_search::SearchService;
use chatkeep_search::saved_searches::SearchMatcher;
use chatkeep_store::Store;
use chatkeep_view::Links;
use chatkeep_workers::assistant::Assistants;
use chrono_tz::Tz;

pub use access::{Caller, Credential};
pub use cursor::{Window, decode as decode_cursor, encode as encode_cursor};
pub use error::{Defect, ServiceError};
pub use field_path::FieldPath;
pub use nullable::Nullable;
pub use time_zone::parse_time_zone;

use access::AccessService;
use account::AccountService;
use activity::ActivityService;
use activity_log::ActivityLogService;
use assistant::AssistantService;
use bot_setup::BotSetupService;
use channels::ChannelService;
use credentials::CredentialService;
use deletion::DeletionService;
use digest::DigestService;
use events::EventService;
use export_jobs::ExportJobService;
use exports::ExportService;
use grants::GrantService;
use idempotency::IdempotencyService;
use keys::KeyService;
use live::LiveService;
use media::MediaService;
use members::MemberService;
use messages::MessageService;
use my_data::MyDataService;
use overview::OverviewService;
use pictures::PictureService;
use saved_searches::SavedSearchService;
use search::MessageSearch;
use sessions::SessionService;
use subscriptions::SubscriptionService;
use webhooks::WebhookService;

use crate::event_renderer::EventRenderer;
use crate::removals::RemovalWorker;

/// Usual and largest number of rows of a page.
pub const LIMIT: (u32, u32) = (50, 100);

/// Parts of a process that services work with.
pub struct ServiceParts {
    pub store: Store,
    pub clock: SharedClock,
    pub bus: Bus,
    pub blobs: Blobs,
    /// Bots that can be asked about people; none in a process without access tokens.
    pub bots: Bots,
    /// Set-up of all bots at their platform.
    pub bot_setup: BotSetupService,
    pub assistants: Assistants,
    pub search: SearchService,
    pub removals: RemovalWorker,
    /// Folder of the pictures of people and channels.
    pub pictures: PathBuf,
    /// Free space of its disk that pictures leave to others.
    pub picture_reserve: DiskReserve,
    /// Zone in which the days of channels begin that have none of their own.
    pub time_zone: Tz,
    /// Addresses of the pages about channels and messages.
    pub links: Links,
    /// True when webhooks may be sent to private addresses.
    pub allow_private_webhooks: bool,
    /// Time after its last use at which a session ends.
    pub session_idle: Duration,
}

/// Services of one process. Cheap to clone: every layer and handler of a request has one.
#[derive(Clone, Debug)]
pub struct Services(Arc<ServiceSet>);

/// The services, each for one kind of use cases.
#[derive(Debug)]
pub struct ServiceSet {
    /// Permissions of callers.
    pub access: AccessService,
    /// Accounts of callers.
    pub account: AccountService,
    /// Activity of channels.
    pub activity: ActivityService,
    /// Activity logs of channels.
    pub activity_log: ActivityLogService,
    /// Assistants of channels.
    pub assistant: AssistantService,
    /// Set-up of the bots at their platform.
    pub bot_setup: BotSetupService,
    /// Channels of callers.
    pub channels: ChannelService,
    /// Credentials of callers.
    pub credentials: CredentialService,
    /// Deletion of messages.
    pub deletion: DeletionService,
    /// Digests of channels.
    pub digest: DigestService,
    /// Feed of events.
    pub events: EventService,
    /// Exports of channels in the background.
    pub export_jobs: ExportJobService,
    /// Exports of channels.
    pub exports: ExportService,
    /// Consents of people to programs.
    pub grants: GrantService,
    /// Claims of idempotency keys.
    pub idempotency: IdempotencyService,
    /// API keys.
    pub keys: KeyService,
    /// Addresses of the pages about channels and messages.
    pub links: Links,
    /// News of channels.
    pub live: LiveService,
    /// Media files of channels.
    pub media: MediaService,
    /// Members of channels.
    pub members: MemberService,
    /// Messages of channels.
    pub messages: MessageService,
    /// Service of the data stored about callers themselves.
    pub my_data: MyDataService,
    /// Channels at a glance.
    pub overview: OverviewService,
    /// Pictures of people and channels.
    pub pictures: PictureService,
    /// Saved searches.
    pub saved_searches: SavedSearchService,
    /// Message search.
    pub search: MessageSearch,
    /// Sessions of browsers.
    pub sessions: SessionService,
    /// Backup subscriptions.
    pub subscriptions: SubscriptionService,
    /// Outgoing webhooks.
    pub webhooks: WebhookService,
}

impl Services {
    /// Creates the services.
    pub fn new(parts: ServiceParts) -> Self {
        let ServiceParts { store, clock, bus, blobs, bots, assistants, search, links, .. } = parts;
        let zone = parts.time_zone;
        let (store, clock) = (|| store.clone(), || Arc::clone(&clock));
        let renderer = EventRenderer {
            store: store(),
            clock: clock(),
            links: links.clone(),
            matcher: SearchMatcher::new(store(), zone),
        };
        let (folder, reserve) = (parts.pictures, parts.picture_reserve);
        let pictures = PictureService::new(store(), bots.clone(), clock(), folder, reserve);
        let access = AccessService::new(store(), clock(), bots);
        let account = AccountService::new(store(), clock());
        let channels = ChannelService::new(store(), clock(), zone);
        let messages = MessageService::new(store(), zone);
        let members = MemberService::new(store(), clock());
        let search =
            MessageSearch::new(store(), search, access.clone(), members.clone(), messages.clone());
        let deletion = DeletionService::new(store(), clock(), messages.clone(), parts.removals);
        let private = parts.allow_private_webhooks;
        let assistant = AssistantService::new(store(), clock(), bus, assistants);
        let figures = assistant.figures();
        let exports = ExportService::new(store(), zone, links.clone());
        Self(Arc::new(ServiceSet {
            live: LiveService::new(store()),
            overview: OverviewService::new(
                store(),
                clock(),
                channels.clone(),
                account.clone(),
                figures,
            ),
            account,
            activity: ActivityService::new(store(), clock(), zone, assistant.clone()),
            activity_log: ActivityLogService::new(store(), zone),
            assistant,
            bot_setup: parts.bot_setup,
            channels,
            credentials: CredentialService::new(store(), clock()),
            my_data: MyDataService::new(
                store(),
                clock(),
                deletion.clone(),
                zone,
                exports.permits(),
                links.clone(),
            ),
            access,
            deletion,
            digest: DigestService::new(store(), clock()),
            events: EventService::new(store(), renderer.clone()),
            export_jobs: ExportJobService::new(store(), blobs.clone(), clock(), exports.clone()),
            exports,
            grants: GrantService::new(store(), clock()),
            idempotency: IdempotencyService::new(store(), clock()),
            keys: KeyService::new(store(), clock()),
            links,
            media: MediaService::new(store(), blobs),
            members,
            messages,
            pictures,
            saved_searches: SavedSearchService::new(store(), clock(), zone),
            search,
            sessions: SessionService::new(store(), clock(), parts.session_idle),
            subscriptions: SubscriptionService::new(store(), clock()),
            webhooks: WebhookService::new(store(), clock(), renderer, private),
        }))
    }
}

impl Deref for Services {
    type Target = ServiceSet;

    fn deref(&self) -> &ServiceSet {
        &self.0
    }
}
