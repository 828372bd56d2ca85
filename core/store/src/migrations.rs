//! The landed migrations: applying them, and what a database lacks of them.

use std::path::Path;
use std::sync::LazyLock;

use async_recursion::async_recursion as boxed;
use chatkeep_core::config::Database;
use secrecy::SecretString;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::time::timeout;

use super::concurrent_indexes::migrate_server;
use super::copy::read_only;
use super::db::{Db, Pools};
use super::pools::{ACQUIRE_TIMEOUT, FILE, server_options};
use super::query::query_as;
use super::{Store, StoreError};

static SQLITE: Migrator = sqlx_macros::migrate!("../../migrations/sqlite");
/// Without the lock of sqlx, which is one of the session: see
/// [`MigrationLock`](super::migration_lock::MigrationLock).
static POSTGRES: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx_macros::migrate!("../../migrations/postgres");
    migrator.set_locking(false);
    migrator
});

const VERSION: &str = "SELECT MAX(version) FROM _sqlx_migrations";

/// Migration that a database lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMigration {
    /// Number.
    pub version: i64,
    /// Name.
    pub name: String,
    /// `true` if it does more than adding tables, columns and indexes.
    pub changes_data: bool,
}

/// Schema of a database, compared with that of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// Number of the database's last migration; `None` without data of chatkeep.
    pub found: Option<i64>,
    /// Number of this version's last migration.
    pub known: i64,
    /// Migrations that the database lacks, in order.
    pub pending: Vec<PendingMigration>,
}

impl SchemaState {
    fn of(migrator: &Migrator, found: Option<i64>) -> Result<Self, StoreError> {
        let known = latest(migrator);
        if let Some(found) = found.filter(|found| *found > known) {
            return Err(StoreError::Newer { found, known });
        }
        let lacking = migrator.iter().filter(|one| found.is_none_or(|found| one.version > found));
        let pending = lacking.map(|one| PendingMigration {
            version: one.version,
            name: one.description.to_string(),
            changes_data: changes_data(one.sql.as_str()),
        });
        Ok(Self { found, known, pending: pending.collect() })
    }

    /// Returns `true` if a pending migration changes data that is there.
    pub fn changes_data(&self) -> bool {
        self.found.is_some() && self.pending.iter().any(|one| one.changes_data)
    }
}

impl Store {
    /// Number of this version's last migration.
    pub fn latest_schema() -> i64 {
        latest(&SQLITE)
    }

    /// Compares the schema of a database with that of this version, without changing anything.
    ///
    /// # Errors
    /// [`StoreError::Newer`], or when the database cannot be opened or reached.
    #[boxed]
    pub async fn schema_state(
        database: &Database,
        folder: &Path,
    ) -> Result<SchemaState, StoreError> {
        match database {
            Database::Sqlite => SchemaState::of(&SQLITE, sqlite_version(folder).await?),
            Database::Postgres(url) => {
                // A server that accepts connections and says nothing counts as away.
                let found = timeout(ACQUIRE_TIMEOUT, server_version(url)).await;
                SchemaState::of(&POSTGRES, found.map_err(|_| sqlx::Error::PoolTimedOut)??)
            }
        }
    }
}

async fn server_version(url: &SecretString) -> Result<Option<i64>, StoreError> {
    let mut conn = server_options(url)?.connect().await?;
    let found = postgres_version(&mut conn).await?;
    conn.close().await?;
    Ok(found)
}

async fn sqlite_version(folder: &Path) -> Result<Option<i64>, StoreError> {
    const TABLE: &str = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
    let mut conn = match read_only(&folder.join(FILE)).await {
        Err(StoreError::NoData) => return Ok(None),
        conn => conn?,
    };
    let (tables,): (i64,) = sqlx::query_as(TABLE).fetch_one(&mut conn).await?;
    let found: (Option<i64>,) = match tables {
        0 => (None,),
        _ => sqlx::query_as(VERSION).fetch_one(&mut conn).await?,
    };
    conn.close().await?;
    Ok(found.0)
}

pub(super) async fn postgres_version(conn: &mut PgConnection) -> Result<Option<i64>, sqlx::Error> {
    const TABLE: &str = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    let (table,): (bool,) = sqlx::query_as(TABLE).fetch_one(&mut *conn).await?;
    if !table {
        return Ok(None);
    }
    let (version,) = sqlx::query_as(VERSION).fetch_one(conn).await?;
    Ok(version)
}

fn latest(migrator: &Migrator) -> i64 {
    migrator.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// Statements that leave all rows as they are. An index may go, and the cost of a function change:
/// neither holds anything of its own.
const ADDITIONS: [&str; 5] =
    ["CREATE TABLE", "CREATE INDEX", "CREATE UNIQUE INDEX", "DROP INDEX", "ALTER FUNCTION"];

/// Returns whether a migration does more than adding to the schema: it writes, renames or drops
/// what is there.
fn changes_data(sql: &str) -> bool {
    let adds = |statement: String| {
        let statement = statement.to_uppercase();
        ADDITIONS.iter().any(|begin| statement.starts_with(begin))
            || statement.strip_prefix("ALTER TABLE ").is_some_and(leaves_rows)
    };
    !statements(sql).all(adds)
}

/// Returns the statements of a migration without comments, each in one line.
pub(super) fn statements(sql: &str) -> impl Iterator<Item = String> {
    let code: Vec<_> =
        sql.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let words = |statement: &str| statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let all: Vec<_> = code.join("\n").split(';').map(words).collect();
    all.into_iter().filter(|statement| !statement.is_empty())
}

/// Returns whether every action of an `ALTER TABLE` adds a column, or sets how later rows are placed;
/// `rest` begins with the table. A comma in a text counts as the end of an action: in doubt the data
/// is copied.
fn leaves_rows(rest: &str) -> bool {
    let Some((_table, actions)) = rest.trim_start_matches("IF EXISTS ").split_once(' ') else {
        return false;
    };
    let mut depth = 0_i32;
    let actions = actions.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    actions
        .map(str::trim_start)
        .all(|action| action.starts_with("ADD COLUMN ") || action.starts_with("SET (FILLFACTOR = "))
}

impl Db {
    /// Migrates the schema to the latest version. Many processes may do so at once.
    pub(super) async fn migrate(&self) -> Result<(), StoreError> {
        let (migrator, done) = match &self.pools {
            Pools::Sqlite { write, .. } => (&SQLITE, SQLITE.run(write).await),
            Pools::Postgres(pool) => (&*POSTGRES, migrate_server(pool, &POSTGRES).await),
        };
        match done {
            Err(MigrateError::VersionMissing(missing)) => {
                let found = self.schema_version().await?;
                let known = latest(migrator);
                Err(StoreError::Newer { found: found.unwrap_or(missing), known })
            }
            // Of no migration, but of the connection.
            Err(MigrateError::Execute(error)) => Err(error.into()),
            done => Ok(done?),
        }
    }

    /// Returns the number of the last applied migration.
    async fn schema_version(&self) -> Result<Option<i64>, StoreError> {
        let (version,) = self.fetch_one(query_as(VERSION)).await?;
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_additions_leave_the_data_as_it_is() {
        let adds = "-- UPDATE it; later.\nCREATE TABLE t (a INTEGER); DROP INDEX i;\n
                    ALTER TABLE t ADD COLUMN b TEXT; -- DELETE";
        assert!(!changes_data(adds));
        for changes in [
            "UPDATE t SET a = 1;",
            "INSERT INTO t SELECT 1;",
            "ALTER TABLE t RENAME TO u;",
            "ALTER TABLE t DROP COLUMN a;",
            "DROP TABLE t;",
            "ALTER TABLE t ADD COLUMN c TEXT, DROP COLUMN b;",
            "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT (a + 1), RENAME TO u;",
            "ALTER TABLE t ADD COLUMN c TEXT, ALTER COLUMN b TYPE BIGINT;",
            "ALTER TABLE t ALTER COLUMN b SET DEFAULT 'ADD COLUMN ';",
            "ALTER TABLE t SET (fillfactor = 70), DROP COLUMN a;",
            "ALTER TABLE t SET LOGGED;",
            "ALTER TABLE t;",
        ] {
            assert!(changes_data(&format!("{adds}\n{changes}")), "{changes}");
        }
        for adds in [
            "ALTER TABLE t ADD COLUMN c TEXT, ADD COLUMN d NUMERIC(3, 1) DEFAULT (f(1, 2));",
            "ALTER TABLE IF EXISTS t ADD COLUMN c TEXT;",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON t (a);",
            "ALTER FUNCTION f(text) ROWS 20;",
            "ALTER TABLE t SET (fillfactor = 70);",
        ] {
            assert!(!changes_data(adds), "{adds}");
        }
    }

    #[test]
    fn both_databases_agree_on_what_changes_data() {
        // Functions of PostgreSQL, in the first one, are not told from changes.
        let of = |migrator: &Migrator| SchemaState::of(migrator, Some(1)).unwrap().pending;
        assert_eq!(of(&SQLITE), of(&POSTGRES));
        let changing: Vec<_> = of(&SQLITE).into_iter().filter(|one| one.changes_data).collect();
        assert!(changing.iter().any(|one| one.version == 16), "a renaming: {changing:?}");
        assert!(!changing.iter().any(|one| one.version == 20), "a new column: {changing:?}");
    }

    #[test]
    fn a_schema_of_a_later_version_is_refused() {
        let known = Store::latest_schema();
        let state = SchemaState::of(&SQLITE, Some(known)).unwrap();
        assert!(state.pending.is_empty() && !state.changes_data());
        let older = SchemaState::of(&SQLITE, Some(1)).unwrap();
        assert!(older.changes_data());
        assert!(!SchemaState::of(&SQLITE, None).unwrap().changes_data(), "nothing is there");
        let refused = SchemaState::of(&SQLITE, Some(known + 1)).unwrap_err().to_string();
        assert!(refused.contains("written by a newer chatkeep"), "{refused}");
    }
}
