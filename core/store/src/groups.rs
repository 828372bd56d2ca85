//! Handles of the store, one for each group of what it stores.

use super::Store;

/// Defines the handles and their accessors.
macro_rules! groups {
    ($($(#[$doc:meta])+ $accessor:ident $handle:ident;)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Debug)]
            pub struct $handle<'a> {
                pub(crate) store: &'a Store,
            }
        )+

        impl Store {
            $(
                $(#[$doc])+
                pub const fn $accessor(&self) -> $handle<'_> {
                    $handle { store: self }
                }
            )+
        }
    };
}

groups! {
    /// Users: plans, usage, backup subscriptions, and the notices about usage.
    accounts AccountStore;
    /// Counters of the channels' activity.
    activity ActivityStore;
    /// Activity log of channels: changes, and reads of messages.
    activity_log ActivityLogStore;
    /// The assistant's settings, rules and texts, and the replies that it gave.
    assistant AssistantStore;
    /// Checks and repairs of what is counted and referenced, for `chatkeep doctor`.
    audits AuditStore;
    /// Channels: properties, bots that are in them, retention.
    channels ChannelStore;
    /// Exports that are written in the background.
    exports ExportStore;
    /// Idempotency keys of requests, and their recorded responses.
    idempotency IdempotencyStore;
    /// Imports of chat histories.
    imports ImportStore;
    /// Jobs on channels, and the leases of periodic jobs.
    jobs JobStore;
    /// API keys, and the last uses of keys and sessions.
    keys KeyStore;
    /// Media records and the blobs that they hold.
    media MediaStore;
    /// Members of channels: names, presence, roles.
    members MemberStore;
    /// Messages: storing them, reading them, the gaps between them, and what was retracted.
    messages MessageStore;
    /// OAuth clients, grants and consents.
    oauth OAuthStore;
    /// The outbox of events, and the log of changes that the search index follows.
    outbox OutboxStore;
    /// Registered processes, and the checks of their search replicas.
    processes ProcessStore;
    /// Saved searches, and the messages that they have reported.
    saved_searches SavedSearchStore;
    /// Sign-ins and sessions of people in a browser.
    sessions SessionStore;
    /// Outgoing webhooks and their deliveries.
    webhooks WebhookStore;
}
