//! Connections to PostgreSQL that would refuse for good what a new one does not.

use chatkeep_core::config::Database;
use chatkeep_store::Store;
use tempfile::TempDir;

use super::at;
use crate::harness::postgres::{Postgres, TestDb};

/// Opens a store with one connection.
async fn store(database: &TestDb) -> Store {
    let folder = TempDir::new().unwrap();
    Store::open(&Database::Postgres(database.url().into()), folder.path(), 1).await.unwrap()
}

/// Has new sessions of the database write or not, as those of a standby.
async fn writable(database: &TestDb, writable: bool) {
    let value = if writable { "off" } else { "on" };
    let set = format!("ALTER DATABASE %I SET default_transaction_read_only = {value}");
    let set = format!("EXECUTE format('{set}', current_database())");
    database.query(&format!("SET TRANSACTION READ WRITE; DO $$ BEGIN {set}; END $$")).await;
}

#[tokio::test]
async fn a_server_that_became_a_standby_is_left_for_its_successor() {
    let database = Postgres::migrated().await;
    let store = store(&database).await;
    writable(&database, false).await;
    let others = "FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    database.query(&format!("SELECT pg_terminate_backend(pid) {others}")).await;
    let add = async || store.accounts().add_user(&"U1".into(), None, at(1)).await;
    // The first attempt may find the connection that was cut.
    let cut = add().await.unwrap_err();
    let refused =
        if format!("{cut:?}").contains("read-only") { cut } else { add().await.unwrap_err() };
    assert!(format!("{refused:?}").contains("read-only"), "{refused:?}");
    assert!(refused.is_transient() && refused.is_outage(), "{refused:?}");
    writable(&database, true).await;
    add().await.unwrap();
}

#[tokio::test]
async fn a_statement_planned_for_another_schema_fails_once() {
    let database = Postgres::migrated().await;
    let store = store(&database).await;
    let read = async || store.accounts().user(&"U1".into()).await;
    assert!(read().await.unwrap().is_none());
    database.query("ALTER TABLE users ALTER COLUMN display_name TYPE VARCHAR(999)").await;
    let refused = read().await.unwrap_err();
    assert!(format!("{refused:?}").contains("cached plan"), "{refused:?}");
    assert!(read().await.unwrap().is_none());
}
