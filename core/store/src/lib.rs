//! Store: all persistent data of chatkeep, in SQLite or PostgreSQL.
//!
//! One method body serves both databases (docs/architecture.md#rule-5): statements keep to the
//! portable subset (`$1` parameters, `ON CONFLICT`, `RETURNING`, integer milliseconds, JSON as
//! text), lists travel as one JSON parameter read with `json_each` (SQLite's own; on PostgreSQL a
//! function of the first migration), and where the wording must differ the two stand side by side.
//! Rows that every new message adds are inserted from arrays on PostgreSQL (`arrays.rs`).
//! Every write transaction locks rows in one order (channels, users, the rest; each by key), so
//! that two never deadlock. On PostgreSQL new messages are stored by transactions that share their
//! channels until their counters are due (`ingest/side_by_side.rs`): they do not wait for each other,
//! and whoever changes what may be stored waits for them.

mod activity;
mod activity_log;
mod address_options;
mod arrays;
mod assistant;
mod availability;
mod bookmark;
mod bus_record;
mod change_log;
mod channel_jobs;
mod channel_locks;
mod channel_properties;
mod channels;
mod claims;
mod concurrent_indexes;
mod copy;
mod coverage;
mod coverage_bound;
mod db;
mod digest;
mod doctor;
mod erasures;
mod error;
mod exports;
mod fault;
mod figures;
mod future_times;
mod gap;
mod gap_list;
mod groups;
mod idempotency;
mod identity;
mod ingest;
mod job_leases;
mod key_usage;
mod keys;
mod ledger;
mod log_end;
mod logged_changes;
mod logins;
mod media;
mod member_moves;
mod members;
mod messages;
mod migration_lock;
mod migrations;
mod nameless;
mod names;
mod notices;
mod oauth;
mod oauth_clients;
mod oauth_secrets;
mod open;
mod opt_out_changes;
mod opt_outs;
mod outbox;
mod outbox_kind;
mod outbox_log;
mod outbox_purge;
mod overview;
mod own_data;
mod ownership;
mod param;
#[cfg(test)]
mod plan;
mod pools;
mod presence;
mod presence_evidence;
mod presence_sql;
mod processes;
mod purge;
mod query;
mod quiet_groups;
mod quiet_members;
mod read_pool;
mod replies;
mod restored_log;
mod retractions;
mod roles;
mod rows;
mod saved_searches;
mod sessions;
mod snapshot_targets;
mod subscriptions;
mod transaction;
mod unknown_events;
mod unstored;
mod usage;
mod usage_days;
mod users;
mod webhooks;

use std::sync::Arc;

use activity_log::ReadLog;
use async_recursion::async_recursion as boxed;
use chatkeep_core::config::Database;
use chatkeep_core::message::MessageState;
use chatkeep_core::outage::Availability;
use db::Db;
use error::parsed;
use key_usage::KeyUsage;
pub use pools::{PoolLimits, check_address};
use query::query_as;
use tokio::sync::watch;

pub use activity::{
    ActivityAnswer, ActivityCounts, ActivityPerson, ActivityQuery, ActivityRange, ActivityStorage,
    AnswerCause, ClockShift,
};
pub use activity_log::{
    ActivityChange, ActivityFilter, ActivityRead, Actor, ChangeKind, FullLog, ReadAction,
    ReadPosition, Reader,
};
pub use assistant::{AssistantState, IfMatch, RuleChange, RuleChanged, Setting, SettingVersions};
pub use bookmark::Bookmark;
pub use bus_record::BusRecord;
pub use change_log::{IndexRequest, LogState};
pub use channel_jobs::{ChannelJob, JobBatch, JobKind, JobStatus, NewChannelJob, SMALL_JOB};
pub use channels::{Channel, ChannelStatus};
pub use coverage::{Coverage, MissingMedia};
pub use digest::{
    DigestKey, DigestScope, MemberMove, MessageEvent, NotedText, NotedTexts, PeopleCounts,
    TypeCount,
};
pub use doctor::{ChannelAudit, Check, Difference, MediaAudit, MediaFault, MediaRepair, UserAudit};
pub use erasures::{Erasure, ErasurePosition};
pub use error::StoreError;
pub use exports::{
    EXPORT_INTERRUPTIONS, EXPORT_RETENTION, EXPORTS_OF_PERSON, ExportJob, ExportKeyset, ExportPart,
    ExportStep, NewExportJob, PartBlob, PartOutcome, WrittenPart,
};
pub use fault::DatabaseFault;
pub use figures::{ChannelFigures, JobFigures, MediaFigures, WebhookFigures};
pub use future_times::CLOCK_SKEW;
pub use gap::{Gap, GapReason};
pub use gap_list::PeriodCoverage;
pub use groups::{
    AccountStore, ActivityLogStore, ActivityStore, AssistantStore, AuditStore, ChannelStore,
    ExportStore, IdempotencyStore, ImportStore, JobStore, KeyStore, MediaStore, MemberStore,
    MessageStore, OAuthStore, OutboxStore, ProcessStore, SavedSearchStore, SessionStore,
    WebhookStore,
};
pub use idempotency::{IdempotencyClaim, IdempotencyKey, IdempotencyState};
pub use identity::OTHER_DATABASE;
pub use ingest::{
    ChannelChange, ImportId, ImportOutcome, ImportRecord, ImportState, Imported, ImportedMedia,
    ImportedMessage, ImportedPerson, ImportedTimes, IngestOutcome, NewImport, Removed,
};
pub use keys::{KEYS_OF_USER, Key, NewKey, Rotated};
pub use logged_changes::LoggedChanges;
pub use logins::{LOGIN_TIME, NewLogin, PendingLogin};
pub use media::{
    BlobClaim, CLAIM, MediaFilter, MediaItem, MediaOutcome, MediaPage, MediaReason, MediaRecord,
    MediaStatus, NewMedia, OrphanSweep, Preview, SWEEP_LEASE,
};
pub use members::{Member, MemberStatus};
pub use messages::{MessageFilter, MessagePage, Order, ReplyOrigin, Sender, StoredMessage};
pub use migrations::{PendingMigration, SchemaState};
pub use nameless::{NamelessChannel, NamelessMember};
pub use names::ChannelName;
pub use notices::{NoticeOutcome, UsageNotice};
pub use oauth::{Grant, NewGrant, Tokens};
pub use oauth_clients::{Consent, OAuthClient};
pub use opt_out_changes::OptOutChange;
pub use opt_outs::OptOuts;
pub use outbox::{FeedReader, OutboxEvent, OutboxPage, OutboxPosition};
pub use outbox_kind::OutboxEventKind;
pub use own_data::OwnMessages;
pub use ownership::{BotChannels, Standing};
pub use presence_evidence::{PresenceEvidence, PresenceEvidenceKind};
pub use processes::{NewProcess, ProcessRecord, ReplicaCheck};
pub use quiet_groups::QuietGroup;
pub use quiet_members::QuietMember;
pub use replies::{
    Claim, Exchange, ReplyFailure, ReplyIntent, ReplyRecord, ReplySource, ReplyStatus,
};
pub use retractions::Retraction;
pub use roles::{MembershipCheck, RoleSet};
pub use saved_searches::{
    NewSavedSearch, SAVED_SEARCHES_OF_USER, SavedSearch, SavedSearchChange, SavedSearchChanged,
    SavedSearchMatch, SearchEvent, SearchEventState, WatchingSearch,
};
pub use sessions::{NewSession, Session, SignedIn};
pub use subscriptions::{BackupState, Subscribed, Subscription};
pub use unknown_events::UnknownEvent;
pub use unstored::{UnstoredMessage, UnstoredReason};
pub use usage::{ChannelUsage, UserUsage};
pub use usage_days::DayUsage;
pub use users::User;
pub use webhooks::{
    Attempt, DeliveryFailure, DeliveryFilter, DeliveryStatus, DisabledReason, EventRef, LeaseRoom,
    LeasedDelivery, NewWebhook, Next, PendingNotice, SecretRotated, TEST_EVENT, WEBHOOKS_OF_USER,
    Webhook, WebhookChange, WebhookChanged, WebhookDelivery, WebhookMade, WebhookMaker,
    WebhookQueue,
};

/// Store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    db: Arc<Db>,
    uses: Arc<KeyUsage>,
    reads: Arc<ReadLog>,
}

impl Store {
    /// Makes new connections to PostgreSQL with the credentials of that address, which names the
    /// same database; those that are open keep theirs. Does nothing for SQLite.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`], or [`StoreError::UnknownOption`].
    pub fn replace_credentials(&self, database: &Database) -> Result<(), StoreError> {
        match database {
            Database::Sqlite => Ok(()),
            Database::Postgres(url) => self.db.replace_credentials(url),
        }
    }

    /// Checks that the database responds.
    ///
    /// # Errors
    /// Returns the reason for which it does not.
    #[boxed]
    pub async fn ready(&self) -> Result<(), StoreError> {
        let _: (i64,) = self.db.fetch_one(query_as("SELECT CAST(1 AS BIGINT)")).await?;
        Ok(())
    }

    /// The availability of the database.
    pub fn availability(&self) -> &Availability {
        &self.db.watch.availability
    }

    /// Returns `true` if the database is this machine's own file.
    pub fn is_embedded(&self) -> bool {
        matches!(self.db.pools, db::Pools::Sqlite { .. })
    }

    /// Returns a receiver that changes whenever something was logged through this store or a clone
    /// of it.
    pub fn watch_log(&self) -> watch::Receiver<u64> {
        self.db.logged.subscribe()
    }

    /// Removes retracted content from parts of the database files that no query shows. Cheap; to be
    /// called periodically. Returns `false` when a reader kept it from that.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn checkpoint_wal(&self) -> Result<bool, StoreError> {
        self.db.checkpoint_wal().await
    }

    /// Closes every connection.
    #[boxed]
    pub async fn close(&self) {
        self.db.close().await;
    }
}
