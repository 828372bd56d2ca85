//! Lock for migrations of a PostgreSQL server: of many processes that start at once, one migrates.
//!
//! A transaction holds it, on a connection of its own. A lock of the session would outlive the process
//! behind a pooler that hands the server's connections from transaction to transaction: unlocking
//! reaches another session, and whoever starts next waits until the pooler closes the first one. The
//! transaction takes no snapshot after its first statement, so an index can be built concurrently
//! beside it.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use tokio::time::sleep;
use tracing::info;

/// Key of the lock. Earlier versions locked it for a session, which excludes this, too.
const LOCK: i64 = 0x6368_6174_6b65_6570;
/// Interval between two attempts to lock. Who waits has no transaction open meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A server may have another isolation level as its default, or end transactions that wait.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
                     SET LOCAL idle_in_transaction_session_timeout = 0";
const TRY_LOCK: &str = "SELECT pg_try_advisory_xact_lock($1)";

/// Lock that this process holds; it ends with the connection, however that ends.
pub(super) struct MigrationLock(PgConnection);

impl MigrationLock {
    /// Waits for its turn.
    pub(super) async fn take(options: &PgConnectOptions) -> Result<Self, sqlx::Error> {
        let mut conn = options.connect().await?;
        let mut waits = false;
        loop {
            conn.execute(BEGIN).await?;
            let (locked,): (bool,) =
                sqlx::query_as(TRY_LOCK).bind(LOCK).fetch_one(&mut conn).await?;
            if locked {
                return Ok(Self(conn));
            }
            conn.execute("ROLLBACK").await?;
            if !waits {
                info!("another process migrates the database; waiting for it");
                waits = true;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Lets the next one in.
    ///
    /// # Errors
    /// Returns an error when the lock was lost meanwhile.
    pub(super) async fn release(mut self) -> Result<(), sqlx::Error> {
        self.0.execute("COMMIT").await?;
        self.0.close().await
    }
}
