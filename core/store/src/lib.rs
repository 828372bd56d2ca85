//! Store: all persistent data of chatkeep, in SQLite or PostgreSQL.
//!
//! One method body serves both databases (docs/architecture.md#rule-5): statements keep to the
//! portable subset (`$1` parameters, `ON CONFLICT`, `RETURNING`, integer milliseconds, JSON as
//! text), lists travel as one JSON parameter read with `json_each` (SQLite's own; on PostgreSQL a
//! function of the first migration), and where the wording must differ the two stand side by side.
//! Every write transaction locks rows in one order (channels, users, the rest; each by key), so
//! that two never deadlock.

mod activity;
mod activity_log;
mod assistant;
mod availability;
mod change_log;
mod channel_jobs;
mod channels;
mod concurrent_indexes;
mod copy;
mod coverage;
mod db;
mod digest;
mod doctor;
mod erasures;
mod fault;
mod figures;
mod gap;
mod gap_list;
mod groups;
mod idempotency;
mod ingest;
mod job_leases;
mod key_usage;
mod keys;
mod ledger;
mod logins;
mod media;
mod members;
mod messages;
mod migrations;
mod names;
mod notices;
mod oauth;
mod oauth_clients;
mod oauth_secrets;
mod opt_out_changes;
mod opt_outs;
mod outbox;
mod outbox_kind;
mod overview;
mod own_data;
mod ownership;
mod param;
#[cfg(test)]
mod plan;
mod presence;
mod presence_evidence;
mod processes;
mod purge;
mod query;
mod replies;
mod retractions;
mod roles;
mod saved_searches;
mod sessions;
mod subscriptions;
mod transaction;
mod unknown_events;
mod unstored;
mod usage_days;
mod users;
mod webhooks;

use std::path::Path;
use std::sync::Arc;

use activity_log::ReadLog;
use chatkeep_core::config::Database;
use chatkeep_core::message::MessageState;
use chatkeep_core::outage::Availability;
pub use db::PoolLimits;
use db::{Db, FILE_CACHE, MAPPED, UNMAPPED};
use key_usage::KeyUsage;
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
pub use change_log::{IndexRequest, LogState, LoggedChanges};
pub use channel_jobs::{ChannelJob, JobBatch, JobKind, JobStatus, NewChannelJob, SMALL_JOB};
pub use channels::{Channel, ChannelStatus};
pub use coverage::{Coverage, MissingMedia};
pub use digest::{
    DigestKey, DigestScope, MemberMove, MessageEvent, NotedText, NotedTexts, PeopleCounts,
    TypeCount,
};
pub use doctor::{ChannelAudit, Check, Difference, MediaAudit, MediaFault, MediaRepair, UserAudit};
pub use erasures::{Erasure, ErasurePosition};
pub use fault::DatabaseFault;
pub(crate) use fault::outage_of;
pub use figures::{ChannelFigures, MediaFigures, WebhookFigures};
pub use gap::Gap;
pub use groups::{
    AccountStore, ActivityLogStore, ActivityStore, AssistantStore, AuditStore, ChannelStore,
    IdempotencyStore, ImportStore, JobStore, KeyStore, MediaStore, MemberStore, MessageStore,
    OAuthStore, OutboxStore, ProcessStore, SavedSearchStore, SessionStore, WebhookStore,
};
pub use idempotency::{IdempotencyClaim, IdempotencyKey, IdempotencyState};
pub use ingest::{
    ChannelChange, ImportId, ImportOutcome, ImportRecord, Imported, ImportedMedia, ImportedMessage,
    ImportedPerson, IngestOutcome, NewImport, Removed,
};
pub use keys::{KEYS_OF_USER, Key, NewKey, Rotated};
pub use logins::{LOGIN_TIME, NewLogin, PendingLogin};
pub use media::{
    BlobClaim, CLAIM, MediaFilter, MediaItem, MediaOutcome, MediaPage, MediaRecord, MediaStatus,
    NewMedia, OrphanSweep, Preview,
};
pub use members::{Member, MemberStatus};
pub use messages::{MessageFilter, MessagePage, Order, ReplyOrigin, Sender, StoredMessage};
pub use migrations::{PendingMigration, SchemaState};
pub use names::ChannelName;
pub use notices::UsageNotice;
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
pub use replies::{Claim, Exchange, ReplyIntent, ReplyRecord, ReplySource, ReplyStatus};
pub use retractions::Retraction;
pub use roles::RoleSet;
pub use saved_searches::{
    NewSavedSearch, SAVED_SEARCHES_OF_USER, SavedSearch, SavedSearchChange, SavedSearchMatch,
    SearchEvent, SearchEventState, WatchingSearch,
};
pub use sessions::{NewSession, Session, SignedIn};
pub use subscriptions::{ChannelUsage, Subscribed, Subscription, UserUsage};
pub use unknown_events::UnknownEvent;
pub use unstored::{UnstoredMessage, UnstoredReason};
pub use usage_days::DayUsage;
pub use users::User;
pub use webhooks::{
    Attempt, ClaimRoom, ClaimedDelivery, DeliveryFilter, DeliveryStatus, DisabledReason, EventRef,
    NewWebhook, Next, PendingNotice, TEST_EVENT, WEBHOOKS_OF_USER, Webhook, WebhookChange,
    WebhookChanged, WebhookDelivery, WebhookMade, WebhookMaker, WebhookQueue,
};

/// Number of connections of a command that reads everything once.
const FRUGAL: PoolLimits = PoolLimits { connections: 2, cache: 3 * FILE_CACHE };

/// Error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached or refused a statement.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// The schema cannot be brought up to date.
    #[error("the database's schema cannot be migrated")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// There is no data of chatkeep in the database, or no database file.
    #[error("the database contains no chatkeep data")]
    NoData,
    /// A later version has brought the schema beyond what this one can read.
    #[error(
        "this database was written by a newer chatkeep (schema {found}; this one knows {known})"
    )]
    Newer {
        /// Number of the database's last migration.
        found: i64,
        /// Number of this version's last migration.
        known: i64,
    },
    /// A copy of the database is not whole, by SQLite's own check.
    #[error("the copy of the database is damaged: {0}")]
    Damaged(String),
    /// The URL of the database is invalid. It is not repeated: it may contain a password.
    #[error("the database address is not a valid postgres:// URL")]
    BadUrl,
    /// A stored value has a form that this version does not write.
    #[error("unexpected value in {table}.{column} of {row}")]
    Corrupt {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// Key of the row.
        row: String,
    },
    /// The request took so long that its repetition has begun: only one of them may change
    /// anything.
    #[error("another request with this Idempotency-Key has taken over")]
    ClaimLost,
    /// A list of keys or rows could not be encoded as JSON.
    #[error("a statement's parameters cannot be serialized")]
    Encode(#[from] serde_json::Error),
}

impl StoreError {
    /// Returns the class of the error.
    pub fn fault(&self) -> DatabaseFault {
        match self {
            Self::Database(error) => DatabaseFault::of(error),
            Self::Encode(_) => DatabaseFault::Refused,
            Self::Migrate(_)
            | Self::NoData
            | Self::Newer { .. }
            | Self::Damaged(_)
            | Self::BadUrl
            | Self::Corrupt { .. }
            | Self::ClaimLost => DatabaseFault::Unknown,
        }
    }

    /// Describes a refusal for the dead letters: by the database's own code, without any value.
    pub fn refusal(&self) -> String {
        match self {
            Self::Database(error) => fault::refusal(error),
            other => other.to_string(),
        }
    }

    /// Returns whether the database is away, or takes no changes: whoever asks next will fail, too.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Database(error) if outage_of(error).is_some())
    }

    /// Returns `true` if the same request works once the database is back.
    pub fn is_transient(&self) -> bool {
        self.fault() == DatabaseFault::Unavailable
    }
}

/// Store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    db: Db,
    uses: Arc<KeyUsage>,
    reads: Arc<ReadLog>,
}

impl Store {
    /// Opens the database and migrates its schema. `folder` is the data folder, which contains the
    /// SQLite file; `connections` bounds the pool.
    ///
    /// # Errors
    /// Returns an error when the database cannot be opened, reached or migrated.
    pub async fn open(
        database: &Database,
        folder: &Path,
        connections: u32,
    ) -> Result<Self, StoreError> {
        let cache = FILE_CACHE * (u64::from(connections) + 1);
        Self::open_within(database, folder, PoolLimits { connections, cache }).await
    }

    /// Opens the database as [`Store::open`] does, within these limits.
    ///
    /// # Errors
    /// Returns an error when the database cannot be opened, reached or migrated.
    pub async fn open_within(
        database: &Database,
        folder: &Path,
        limits: PoolLimits,
    ) -> Result<Self, StoreError> {
        Self::open_mapped(database, folder, limits, MAPPED).await
    }

    /// Opens the database as [`Store::open`] does, for a command that reads everything once and
    /// ends.
    ///
    /// # Errors
    /// Returns an error when the database cannot be opened, reached or migrated.
    pub async fn open_for_scan(database: &Database, folder: &Path) -> Result<Self, StoreError> {
        Self::open_mapped(database, folder, FRUGAL, UNMAPPED).await
    }

    /// Opens a database with data of chatkeep, for a command that reads everything once and ends.
    /// Creates neither a file nor a table where there is none.
    ///
    /// # Errors
    /// [`StoreError::NoData`], or when the database cannot be opened, reached or migrated.
    pub async fn open_existing(database: &Database, folder: &Path) -> Result<Self, StoreError> {
        let db = Self::existing(database, folder).await?;
        if !db.has_schema().await? {
            db.close().await;
            return Err(StoreError::NoData);
        }
        Self::ready_to_use(db).await
    }

    /// Makes new connections to PostgreSQL with the credentials of that address, which names the
    /// same database; those that are open keep theirs. Does nothing for SQLite.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`].
    pub fn replace_credentials(&self, database: &Database) -> Result<(), StoreError> {
        match database {
            Database::Sqlite => Ok(()),
            Database::Postgres(url) => self.db.replace_credentials(url),
        }
    }

    async fn existing(database: &Database, folder: &Path) -> Result<Db, StoreError> {
        match database {
            Database::Sqlite => Db::existing_sqlite(folder, FRUGAL, UNMAPPED).await,
            Database::Postgres(url) => {
                Db::postgres(url, database.to_string(), FRUGAL.connections).await
            }
        }
    }

    async fn open_mapped(
        database: &Database,
        folder: &Path,
        limits: PoolLimits,
        mapped: &'static str,
    ) -> Result<Self, StoreError> {
        let db = match database {
            Database::Sqlite => Db::sqlite(folder, limits, mapped).await?,
            Database::Postgres(url) => {
                Db::postgres(url, database.to_string(), limits.connections).await?
            }
        };
        Self::ready_to_use(db).await
    }

    /// Migrates the schema.
    async fn ready_to_use(db: Db) -> Result<Self, StoreError> {
        db.migrate().await?;
        let store = Self::over(db);
        store.outbox().adopt_outbox_events().await?;
        Ok(store)
    }

    fn over(db: Db) -> Self {
        Self { db, uses: Arc::default(), reads: Arc::default() }
    }

    /// Checks that the database responds.
    ///
    /// # Errors
    /// Returns the reason for which it does not.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let _: (i64,) = self.db.fetch_one(query_as("SELECT CAST(1 AS BIGINT)")).await?;
        Ok(())
    }

    /// The availability of the database.
    pub const fn availability(&self) -> &Availability {
        &self.db.watch.availability
    }

    /// Returns `true` if the database is this machine's own file.
    pub const fn is_embedded(&self) -> bool {
        matches!(self.db.pools, db::Pools::Sqlite { .. })
    }

    /// Returns a receiver that changes whenever something was logged through this store or a clone
    /// of it.
    pub fn watch_log(&self) -> watch::Receiver<u64> {
        self.db.logged.subscribe()
    }

    /// Removes retracted content from parts of the database files that no query shows. Cheap; to be
    /// called periodically.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn checkpoint_wal(&self) -> Result<(), StoreError> {
        self.db.checkpoint_wal().await
    }

    /// Closes every connection.
    pub async fn close(&self) {
        self.db.close().await;
    }
}

/// Parses a row's text that has to be one of a fixed set.
fn parsed<T>(
    value: Option<T>,
    table: &'static str,
    column: &'static str,
    row: &str,
) -> Result<T, StoreError> {
    value.ok_or_else(|| StoreError::Corrupt { table, column, row: row.to_owned() })
}
