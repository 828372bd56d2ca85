//! Watches the answers of the database for outages.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use chatkeep_core::causes::with_causes;
use chatkeep_core::outage::{Availability, Work};
use chatkeep_core::panics;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::StoreError;
use super::fault::outage_of;
use super::identity::{KnownIdentity, is_other_database};
use super::pools::ACQUIRE_TIMEOUT;

/// Hands the outages of the database to its [`Availability`]. Clones share it.
#[derive(Clone)]
pub(super) struct Watch {
    pub(super) availability: Availability,
    pub(super) identity: KnownIdentity,
    server: Option<Arc<Server>>,
}

/// A PostgreSQL server, to be asked why the pool has no connection.
struct Server {
    options: RwLock<PgConnectOptions>,
    identity: KnownIdentity,
    /// A check is running.
    asking: AtomicBool,
}

/// Without the server, whose options hold credentials.
impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.availability).finish()
    }
}

/// An error that may come from the database.
pub(super) trait MaybeSql {
    /// The error of the database.
    fn sql(&self) -> Option<&sqlx::Error>;
}

impl MaybeSql for sqlx::Error {
    fn sql(&self) -> Option<&sqlx::Error> {
        Some(self)
    }
}

impl MaybeSql for StoreError {
    fn sql(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl Watch {
    /// Watches a SQLite file.
    pub(super) fn file(path: &Path) -> Self {
        let address = path.display().to_string();
        let availability = Availability::new("database", address, "CHATKEEP_DATA");
        Self { availability, identity: KnownIdentity::default(), server: None }
    }

    /// Watches a PostgreSQL server at `address`, which is shown.
    pub(super) fn server(address: String, options: PgConnectOptions) -> Self {
        let availability = Availability::new("database", address, "CHATKEEP_DATABASE");
        let identity = KnownIdentity::default();
        let server = Server {
            options: RwLock::new(options),
            identity: identity.clone(),
            asking: AtomicBool::new(false),
        };
        Self { availability, identity, server: Some(Arc::new(server)) }
    }

    /// Connects with other options from now on.
    pub(super) fn replace_options(&self, options: PgConnectOptions) {
        if let Some(server) = &self.server {
            *server.options.write().unwrap_or_else(PoisonError::into_inner) = options;
        }
    }

    /// Returns true if the server cannot be used because its database is another one than the known one.
    pub(super) async fn leads_elsewhere(&self) -> bool {
        let Some(server) = &self.server else { return false };
        server.why_not().await.as_ref().is_some_and(is_other_database)
    }

    /// Refuses work on another database than the known one, and notes it.
    pub(super) fn admit(&self) -> Result<(), sqlx::Error> {
        self.identity.admit().inspect_err(|error| self.note_failure(error))
    }

    /// Notes what became of a statement that does `work`, and hands it on.
    pub(super) fn noted<T, E: MaybeSql>(&self, work: Work, done: Result<T, E>) -> Result<T, E> {
        match &done {
            Ok(_) => self.availability.works(work),
            Err(error) => {
                if let Some(error) = error.sql() {
                    self.note_failure(error);
                }
            }
        }
        done
    }

    /// Notes a failure that may be an outage.
    pub(super) fn note_failure(&self, error: &sqlx::Error) {
        let Some(work) = outage_of(error) else { return };
        match &self.server {
            Some(server) if matches!(error, sqlx::Error::PoolTimedOut) => self.ask_why(server),
            _ => self.availability.fails(work, &with_causes(error)),
        }
    }

    /// Notes that the pool has no connection, with the reason: the pool keeps it to itself.
    fn ask_why(&self, server: &Arc<Server>) {
        if self.availability.is_away() || server.asking.swap(true, Ordering::AcqRel) {
            return;
        }
        let (server, availability) = (Arc::clone(server), self.availability.clone());
        panics::spawn("database_check", async move {
            let why = server.why_not().await.unwrap_or(sqlx::Error::PoolTimedOut);
            availability.fails(Work::Reading, &with_causes(&why));
            server.asking.store(false, Ordering::Release);
        });
    }
}

impl Server {
    async fn why_not(&self) -> Option<sqlx::Error> {
        let options = self.options.read().unwrap_or_else(PoisonError::into_inner).clone();
        why_not(&options, &self.identity).await
    }
}

/// Returns why no connection can be made to a PostgreSQL server with the database of `identity`; `None`
/// when one can, and when the server says nothing at all.
pub(super) async fn why_not(
    options: &PgConnectOptions,
    identity: &KnownIdentity,
) -> Option<sqlx::Error> {
    let connected = async {
        let mut connection = options.connect().await?;
        identity.check(&mut connection).await?;
        connection.close().await
    };
    tokio::time::timeout(ACQUIRE_TIMEOUT, connected).await.ok()?.err()
}
