//! Migrations of PostgreSQL, of which some build indexes beside processes that write.
//!
//! A migration that begins with `-- concurrently` has nothing but `CREATE INDEX IF NOT EXISTS`. Its
//! indexes are built concurrently before it runs, outside of any transaction; those of a partitioned
//! table one by one on its partitions, for PostgreSQL cannot do so on the whole table. Run after
//! that, the migration finds them: it only attaches them, or has nothing to do.

use sqlx::migrate::{MigrateError, Migration, Migrator};
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tracing::info;

use super::migration_lock::MigrationLock;
use super::migrations::{postgres_version, statements};

/// First line of a migration whose indexes are built beside writers.
const MARK: &str = "-- concurrently\n";
/// Statement for the connection: a hosted server may end statements after a while, but the index of a
/// large table takes as long as it takes.
const SESSION: &str = "SET statement_timeout = 0; SET lock_timeout = 0";
/// Partitions of a table; the table itself if it has none.
const PARTITIONS: &str = "
    SELECT CAST(relid AS TEXT) FROM pg_partition_tree(to_regclass($1)) WHERE isleaf
    UNION ALL
    SELECT CAST(CAST(oid AS regclass) AS TEXT) FROM pg_class
    WHERE oid = to_regclass($1) AND relkind = 'r' AND NOT relispartition";
/// Existence of an index of that name that a broken off building has left.
const INVALID: &str = "
    SELECT EXISTS (SELECT 1 FROM pg_index
                   WHERE indexrelid = to_regclass($1) AND NOT indisvalid)";

/// Index of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlannedIndex {
    /// `INDEX` or `UNIQUE INDEX`.
    kind: String,
    name: String,
    table: String,
    /// Columns and condition.
    of: String,
}

impl PlannedIndex {
    /// Parses a statement `CREATE INDEX IF NOT EXISTS name ON table …`.
    fn parse(statement: &str) -> Option<Self> {
        let (kind, rest) = statement.strip_prefix("CREATE ")?.split_once(" IF NOT EXISTS ")?;
        let (name, rest) = rest.split_once(" ON ")?;
        let (table, of) = rest.split_once(' ')?;
        let [kind, name, table, of] = [kind, name, table, of].map(str::to_owned);
        matches!(&*kind, "INDEX" | "UNIQUE INDEX").then_some(Self { kind, name, table, of })
    }

    /// Returns the name of the index on a partition.
    fn name_on(&self, partition: &str) -> String {
        let own = self.name.strip_prefix(&self.table).unwrap_or(&self.name);
        if partition == self.table {
            self.name.clone()
        } else {
            format!("{partition}_{}", own.trim_start_matches('_'))
        }
    }

    /// Builds it on a table and on all of its partitions, or on what is left after a broken off
    /// attempt.
    async fn build(&self, conn: &mut PgConnection) -> Result<(), sqlx::Error> {
        let partitions: Vec<(String,)> =
            sqlx::query_as(PARTITIONS).bind(&self.table).fetch_all(&mut *conn).await?;
        for (partition,) in partitions {
            let (kind, name, of) = (&self.kind, self.name_on(&partition), &self.of);
            let (invalid,): (bool,) =
                sqlx::query_as(INVALID).bind(&name).fetch_one(&mut *conn).await?;
            // Made of words of our own migrations and names of our own tables.
            if invalid {
                let drop = format!("DROP INDEX CONCURRENTLY IF EXISTS {name}");
                sqlx::query(AssertSqlSafe(drop)).execute(&mut *conn).await?;
            }
            let create =
                format!("CREATE {kind} CONCURRENTLY IF NOT EXISTS {name} ON {partition} {of}");
            sqlx::query(AssertSqlSafe(create)).execute(&mut *conn).await?;
        }
        Ok(())
    }
}

/// Migrates a database. Of many processes that do so at once the others wait.
pub(super) async fn migrate_server(pool: &PgPool, migrator: &Migrator) -> Result<(), MigrateError> {
    let options = pool.connect_options();
    let lock = MigrationLock::take(&options).await?;
    // Not one of the pool, for its settings are others.
    let mut conn = options.connect().await?;
    conn.execute(SESSION).await?;
    migrate_locked(&mut conn, migrator).await?;
    conn.close().await?;
    Ok(lock.release().await?)
}

async fn migrate_locked(conn: &mut PgConnection, migrator: &Migrator) -> Result<(), MigrateError> {
    // Nobody writes to a database without tables.
    if let Some(found) = postgres_version(conn).await? {
        let pending = migrator.iter().filter(|one| one.version > found);
        for one in pending.filter(|one| one.sql.as_str().starts_with(MARK)) {
            migrator.run_direct(Some(one.version - 1), conn, false).await?;
            build(conn, one).await?;
        }
    }
    migrator.run_direct(None, conn, false).await
}

/// Builds the indexes of a migration.
async fn build(conn: &mut PgConnection, migration: &Migration) -> Result<(), MigrateError> {
    for statement in statements(migration.sql.as_str()) {
        let failed = |error| MigrateError::ExecuteMigration(error, migration.version);
        // Within the migration it would be built while writers wait.
        let unknown =
            || sqlx::Error::Protocol(format!("cannot be built concurrently: {statement}"));
        let index = PlannedIndex::parse(&statement).ok_or_else(unknown).map_err(failed)?;
        info!(index = index.name, table = index.table, "building an index beside writers");
        index.build(conn).await.map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_named_after_its_partition() {
        let text = "CREATE UNIQUE INDEX IF NOT EXISTS t_late ON t (a, b) WHERE c IS NULL";
        let index = PlannedIndex::parse(text).unwrap();
        assert_eq!((&*index.table, &*index.of), ("t", "(a, b) WHERE c IS NULL"));
        assert_eq!(index.name_on("t"), "t_late");
        assert_eq!(index.name_on("t_3"), "t_3_late");
        for other in ["CREATE INDEX t_late ON t (a)", "CREATE TABLE IF NOT EXISTS t ON x y"] {
            assert_eq!(PlannedIndex::parse(other), None, "{other}");
        }
    }
}
