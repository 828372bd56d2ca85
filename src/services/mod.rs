//! Use cases of chatkeep without any surface: no HTTP, no tools, no command line.
//!
//! REST, MCP, the console, sign-in, the command line and the demo are edges: they parse a request,
//! call a service, and render its result or its [`ServiceError`]. Permission is a type
//! ([`access`]): there is no way to a channel's data without a [`access::ChannelAccess`], a
//! [`access::Scoped`] caller, or, for the program's commands, the [`operator::Operator`].

pub(crate) mod access;
pub(crate) mod account;
pub(crate) mod activity;
pub(crate) mod activity_log;
pub(crate) mod assistant;
pub(crate) mod bot_setup;
mod certificates;
pub(crate) mod channels;
pub(crate) mod citations;
pub(crate) mod consumers;
pub(crate) mod context;
pub(crate) mod credentials;
mod cursor;
pub(crate) mod dead_letters;
pub(crate) mod deletion;
pub(crate) mod deployment_metrics;
pub(crate) mod digest;
mod error;
pub(crate) mod events;
pub(crate) mod exports;
mod field_path;
pub(crate) mod gaps;
pub(crate) mod grants;
pub(crate) mod idempotency;
pub(crate) mod imports;
pub(crate) mod indexing;
mod input;
pub(crate) mod keys;
pub(crate) mod live;
pub(crate) mod masks;
pub(crate) mod media;
pub(crate) mod members;
mod membership;
pub(crate) mod messages;
pub(crate) mod my_data;
mod nullable;
pub(crate) mod operator;
pub(crate) mod overview;
pub(crate) mod pictures;
pub(crate) mod processes;
mod reading;
mod recent;
pub(crate) mod saved_searches;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod snapshots;
pub(crate) mod status;
pub(crate) mod subscriptions;
#[cfg(test)]
mod tests;
mod time_zone;
pub(crate) mod webhooks;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use chatkeep_workers::assistant::Assistants;
use chrono_tz::Tz;

pub(crate) use access::{Caller, Credential};
pub(crate) use channels::REACH;
pub(crate) use cursor::{Window, decode as decode_cursor, encode as encode_cursor};
pub(crate) use error::{Defect, ServiceError};
pub(crate) use field_path::FieldPath;
pub(crate) use nullable::Nullable;
pub(crate) use time_zone::parse_time_zone;

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
use crate::saved_searches::SearchMatcher;
use crate::search::SearchService;
use crate::view::Links;

/// Usual and largest number of rows of a page.
pub(crate) const LIMIT: (u32, u32) = (50, 100);

/// Parts of a process that services work with.
pub(crate) struct ServiceParts {
    pub(crate) store: Store,
    pub(crate) clock: SharedClock,
    pub(crate) bus: Bus,
    pub(crate) blobs: Blobs,
    /// Bots that can be asked about people; none in a process without access tokens.
    pub(crate) bots: Bots,
    /// Set-up of all bots at their platform.
    pub(crate) bot_setup: BotSetupService,
    pub(crate) assistants: Assistants,
    pub(crate) search: SearchService,
    pub(crate) removals: RemovalWorker,
    /// Folder of the pictures of people and channels.
    pub(crate) pictures: PathBuf,
    /// Zone in which the days of channels begin that have none of their own.
    pub(crate) time_zone: Tz,
    /// Addresses of the pages about channels and messages.
    pub(crate) links: Links,
    /// True when webhooks may be sent to private addresses.
    pub(crate) allow_private_webhooks: bool,
    /// Time after its last use at which a session ends.
    pub(crate) session_idle: Duration,
}

/// Services of one process. Cheap to clone: every layer and handler of a request has one.
#[derive(Clone, Debug)]
pub(crate) struct Services(Arc<ServiceSet>);

/// The services, each for one kind of use cases.
#[derive(Debug)]
pub(crate) struct ServiceSet {
    /// Permissions of callers.
    pub(crate) access: AccessService,
    /// Accounts of callers.
    pub(crate) account: AccountService,
    /// Activity of channels.
    pub(crate) activity: ActivityService,
    /// Activity logs of channels.
    pub(crate) activity_log: ActivityLogService,
    /// Assistants of channels.
    pub(crate) assistant: AssistantService,
    /// Set-up of the bots at their platform.
    pub(crate) bot_setup: BotSetupService,
    /// Channels of callers.
    pub(crate) channels: ChannelService,
    /// Credentials of callers.
    pub(crate) credentials: CredentialService,
    /// Deletion of messages.
    pub(crate) deletion: DeletionService,
    /// Digests of channels.
    pub(crate) digest: DigestService,
    /// Feed of events.
    pub(crate) events: EventService,
    /// Exports of channels.
    pub(crate) exports: ExportService,
    /// Consents of people to programs.
    pub(crate) grants: GrantService,
    /// Claims of idempotency keys.
    pub(crate) idempotency: IdempotencyService,
    /// API keys.
    pub(crate) keys: KeyService,
    /// Addresses of the pages about channels and messages.
    pub(crate) links: Links,
    /// News of channels.
    pub(crate) live: LiveService,
    /// Media files of channels.
    pub(crate) media: MediaService,
    /// Members of channels.
    pub(crate) members: MemberService,
    /// Messages of channels.
    pub(crate) messages: MessageService,
    /// Service of the data stored about callers themselves.
    pub(crate) my_data: MyDataService,
    /// Channels at a glance.
    pub(crate) overview: OverviewService,
    /// Pictures of people and channels.
    pub(crate) pictures: PictureService,
    /// Saved searches.
    pub(crate) saved_searches: SavedSearchService,
    /// Message search.
    pub(crate) search: MessageSearch,
    /// Sessions of browsers.
    pub(crate) sessions: SessionService,
    /// Backup subscriptions.
    pub(crate) subscriptions: SubscriptionService,
    /// Outgoing webhooks.
    pub(crate) webhooks: WebhookService,
}

impl Services {
    /// Creates the services.
    pub(crate) fn new(parts: ServiceParts) -> Self {
        let ServiceParts { store, clock, bus, blobs, bots, assistants, search, links, .. } = parts;
        let zone = parts.time_zone;
        let (store, clock) = (|| store.clone(), || Arc::clone(&clock));
        let renderer = EventRenderer {
            store: store(),
            clock: clock(),
            links: links.clone(),
            matcher: SearchMatcher::new(store(), zone),
        };
        let pictures = PictureService::new(store(), bots.clone(), parts.pictures);
        let access = AccessService::new(store(), clock(), bots);
        let account = AccountService::new(store(), clock());
        let channels = ChannelService::new(store(), clock(), zone);
        let messages = MessageService::new(store(), zone);
        let search = MessageSearch::new(store(), clock(), search, access.clone(), messages.clone());
        let deletion = DeletionService::new(store(), clock(), messages.clone(), parts.removals);
        let private = parts.allow_private_webhooks;
        let assistant = AssistantService::new(store(), clock(), bus, assistants);
        let figures = assistant.figures();
        Self(Arc::new(ServiceSet {
            live: LiveService::new(store(), access.clone()),
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
            my_data: MyDataService::new(store(), clock(), deletion.clone(), zone),
            access,
            deletion,
            digest: DigestService::new(store(), clock()),
            events: EventService::new(store(), renderer.clone()),
            exports: ExportService::new(store(), zone, links.clone()),
            grants: GrantService::new(store(), clock()),
            idempotency: IdempotencyService::new(store(), clock()),
            keys: KeyService::new(store(), clock()),
            links,
            media: MediaService::new(store(), blobs),
            members: MemberService::new(store(), clock()),
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
