//! Processes of a deployment: each one registers itself and sends a heartbeat every few seconds.
//! Their shared properties are compared before a process starts its work.
//!
//! Times are the database's own, for the clocks of several machines differ.

use std::collections::BTreeMap;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::db::{Sql, Tx};
use super::identity::STORE_ID;
use super::{ProcessStore, StoreError, parsed};
use crate::query::{query, query_as};

/// Retention of registrations and results of checks, in milliseconds: an hour.
const FORGOTTEN: i64 = 3_600_000;

/// Process to register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewProcess {
    /// Id, unique among all processes ever.
    pub id: String,
    /// Host name.
    pub host: String,
    /// Process id on that host.
    pub pid: u32,
    /// Version of the program.
    pub version: String,
    /// Process roles.
    pub roles: Vec<String>,
    /// Running stages.
    pub stages: Vec<String>,
    /// Properties that all processes must have in common, by name: parts and settings. Never a
    /// secret.
    pub shared: BTreeMap<String, String>,
    /// Settings that it should have in common with others, by name, as far as its roles use them: one
    /// that differs runs beside them, and tells it. Never a secret.
    pub settings: BTreeMap<String, String>,
}

/// Registered process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRecord {
    /// Process.
    pub process: NewProcess,
    /// State of its search replica as JSON; `None` if it has none.
    pub search: Option<String>,
    /// Time of registration.
    pub started_at: Timestamp,
    /// Time since the last heartbeat.
    pub silent_for: Duration,
}

/// Result of a search replica's comparison with the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaCheck {
    /// Process of the replica.
    pub process_id: String,
    /// Result as JSON.
    pub result: String,
}

/// Builds a statement with the database's clock in it, in milliseconds since 1970. `$lock` ends it on
/// PostgreSQL: SQLite has one writer at a time.
macro_rules! at_now {
    ($before:literal, $after:literal) => {
        at_now!($before, $after, "")
    };
    ($before:literal, $after:literal, $lock:literal) => {
        Sql {
            sqlite: concat!($before, "CAST(unixepoch('subsec') * 1000 AS INTEGER)", $after),
            postgres: concat!(
                $before,
                "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
                $after,
                $lock
            ),
        }
    };
}
pub(super) use at_now;

/// Processes that start at the same moment are compared one after the other.
const LOCK: &str = "UPDATE deployment SET id = id";
const ALL: Sql = at_now!(
    "SELECT process_id, host, pid, version, roles, stages, shared, settings, search, started_at, ",
    " - seen_at FROM processes ORDER BY started_at, process_id"
);
const REGISTER: Sql = at_now!(
    "INSERT INTO processes
         (process_id, host, pid, version, roles, stages, shared, settings, started_at, seen_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, n.now, n.now FROM (SELECT ",
    " AS now) n WHERE TRUE
     ON CONFLICT (process_id) DO UPDATE SET seen_at = excluded.seen_at, shared = excluded.shared"
);
const HEARTBEAT: Sql =
    at_now!("UPDATE processes SET search = $2, seen_at = ", " WHERE process_id = $1");
const SHARE: &str = "UPDATE processes SET shared = $2 WHERE process_id = $1";
const UNREGISTER: &str = "DELETE FROM processes WHERE process_id = $1";
const FORGET: Sql = at_now!("DELETE FROM processes WHERE seen_at < ", " - $1");
const ADD_CHECK: Sql = at_now!(
    "INSERT INTO replica_checks (check_id, process_id, result, ended_at) VALUES ($1, $2, $3, ",
    ") ON CONFLICT (check_id, process_id) DO UPDATE SET result = excluded.result"
);
const CHECKS: &str = "
    SELECT process_id, result FROM replica_checks WHERE check_id = $1 ORDER BY process_id";
const FORGET_CHECKS: Sql = at_now!("DELETE FROM replica_checks WHERE ended_at < ", " - $1");

#[derive(Debug, sqlx_macros::FromRow)]
struct Row(String, String, i64, String, String, String, String, String, Option<String>, i64, i64);

impl ProcessStore<'_> {
    /// Returns the id of this database. Copies of it have the same one.
    ///
    /// # Errors
    /// Fails when the database fails.
    #[boxed]
    pub async fn store_id(&self) -> Result<String, StoreError> {
        let (id,): (String,) = self.store.db.fetch_one(query_as(STORE_ID)).await?;
        Ok(id)
    }

    /// Returns true if the database is still the one that was opened. Once it is not, as after a change
    /// of what its address leads to, everything else fails as on a database that is away, until a further
    /// call finds that it is again.
    ///
    /// # Errors
    /// Fails when the database fails.
    #[boxed]
    pub async fn is_same_database(&self) -> Result<bool, StoreError> {
        self.store.db.is_same().await
    }

    /// Registers a process, unless one with a heartbeat within `live` differs in the shared
    /// properties. Returns those that differ; if there is none, the process is registered.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn register_process(
        &self,
        process: &NewProcess,
        live: Duration,
    ) -> Result<Vec<ProcessRecord>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(LOCK)).await?;
        let mut others = all(&mut tx).await?;
        others.retain(|other| other.process.id != process.id && other.silent_for <= live);
        others.retain(|other| differs(&process.shared, &other.process.shared));
        if others.is_empty() {
            add(&mut tx, process).await?;
            tx.commit().await?;
        }
        Ok(others)
    }

    /// Records a heartbeat of a process, with the state of its search replica as JSON. A process
    /// removed meanwhile is registered again; returns `false` for it, for others may have started
    /// without being compared with it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn heartbeat(
        &self,
        process: &NewProcess,
        search: Option<&str>,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let known = tx.execute(query(HEARTBEAT).bind(&process.id).bind(search)).await?;
        if known == 0 {
            add(&mut tx, process).await?;
            tx.execute(query(HEARTBEAT).bind(&process.id).bind(search)).await?;
        }
        tx.commit().await?;
        Ok(known > 0)
    }

    /// Replaces the shared properties of a registered process by those that it has now.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn share(&self, process: &NewProcess) -> Result<(), StoreError> {
        let shared = serde_json::to_string(&process.shared)?;
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(SHARE).bind(&process.id).bind(&shared)).await?;
        tx.commit().await
    }

    /// Removes a process that ends.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn unregister_process(&self, id: &str) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(UNREGISTER).bind(id)).await?;
        tx.commit().await
    }

    /// Returns the processes with a heartbeat within `live`, oldest first.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(&self, live: Duration) -> Result<Vec<ProcessRecord>, StoreError> {
        let mut tx = self.store.db.snapshot().await?;
        let mut found = all(&mut tx).await?;
        found.retain(|process| process.silent_for <= live);
        Ok(found)
    }

    /// Stores the result of a replica for the caller of the check.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn add_replica_check(
        &self,
        check: &str,
        process: &str,
        result: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(FORGET_CHECKS).bind(FORGOTTEN)).await?;
        tx.execute(query(ADD_CHECK).bind(check).bind(process).bind(result)).await?;
        tx.commit().await
    }

    /// Returns the results of replicas in a check so far.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn replica_checks(&self, check: &str) -> Result<Vec<ReplicaCheck>, StoreError> {
        let rows: Vec<(String, String)> =
            self.store.db.fetch_all(query_as(CHECKS).bind(check)).await?;
        let check = |(process_id, result)| ReplicaCheck { process_id, result };
        Ok(rows.into_iter().map(check).collect())
    }
}

async fn all(tx: &mut Tx) -> Result<Vec<ProcessRecord>, StoreError> {
    let rows: Vec<Row> = tx.fetch_all(query_as(ALL)).await?;
    rows.into_iter().map(ProcessRecord::try_from).collect()
}

async fn add(tx: &mut Tx, process: &NewProcess) -> Result<(), StoreError> {
    let (roles, stages) =
        (serde_json::to_string(&process.roles)?, serde_json::to_string(&process.stages)?);
    let (shared, settings) =
        (serde_json::to_string(&process.shared)?, serde_json::to_string(&process.settings)?);
    // A process that died did not remove its registration: the next one that starts does.
    tx.execute(query(FORGET).bind(FORGOTTEN)).await?;
    tx.execute(
        query(REGISTER)
            .bind(&process.id)
            .bind(&process.host)
            .bind(i64::from(process.pid))
            .bind(&process.version)
            .bind(&roles)
            .bind(&stages)
            .bind(&shared)
            .bind(&settings),
    )
    .await?;
    Ok(())
}

/// Returns `true` if two processes differ in a property that both of them have. Another version may
/// have more.
fn differs(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> bool {
    one.iter().any(|(name, value)| other.get(name).is_some_and(|theirs| theirs != value))
}

impl TryFrom<Row> for ProcessRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let Row(id, host, pid, version, roles, stages, shared, settings, search, started_at, age) =
            row;
        let list =
            |json: &str, column| parsed(serde_json::from_str(json).ok(), "processes", column, &id);
        let map =
            |json: &str, column| parsed(serde_json::from_str(json).ok(), "processes", column, &id);
        let (roles, stages) = (list(&roles, "roles")?, list(&stages, "stages")?);
        let (shared, settings) = (map(&shared, "shared")?, map(&settings, "settings")?);
        let pid = u32::try_from(pid).unwrap_or_default();
        Ok(Self {
            process: NewProcess { id, host, pid, version, roles, stages, shared, settings },
            search,
            started_at: Timestamp::from_millis(started_at),
            // A heartbeat far in the future is one of before the clock was set back.
            silent_for: Duration::from_millis(age.unsigned_abs()),
        })
    }
}
