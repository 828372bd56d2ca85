//! Indexes that are built beside processes that write.

use std::path::Path;

use chatkeep_core::config::Database;
use chatkeep_store::Store;
use sqlx::{Connection as _, Executor as _, PgConnection};

use super::postgres_of;
use super::rules::FIRST_CONCURRENT;
use crate::harness::postgres::Postgres;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

#[tokio::test]
async fn an_interrupted_index_is_built_again_by_one_of_many_processes() {
    let database = Postgres::database().await;
    postgres_of(&database.url(), FIRST_CONCURRENT).await;
    // What a build leaves that was broken off: some partitions are done, and PostgreSQL marks the
    // index of the next one as invalid.
    let of = "(channel_id, message_id) WHERE unsent_at IS NOT NULL";
    database.query(&format!("CREATE INDEX messages_3_unsent ON messages_3 {of}")).await;
    database.query("CREATE INDEX messages_4_unsent ON messages_4 (channel_id)").await;
    database
        .query(
            "UPDATE pg_index SET indisvalid = FALSE
             WHERE indexrelid = CAST('messages_4_unsent' AS regclass)",
        )
        .await;
    let url = Database::Postgres(database.url().into());
    let starts = (0..8).map(|_| Store::open(&url, Path::new(""), 1));
    for store in futures_util::future::join_all(starts).await {
        store.unwrap().close().await;
    }
    let attached = "FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid
                    WHERE inhparent = CAST('messages_unsent' AS regclass)";
    let names = database
        .query(&format!(
            "SELECT string_agg(CAST(CAST(inhrelid AS regclass) AS TEXT), ' ') {attached}"
        ))
        .await;
    for n in 0..16 {
        let name = format!("messages_{n}_unsent");
        assert!(names.split(' ').any(|one| one == name), "{name} in {names}");
    }
    let whole = "SELECT bool_and(indisvalid), count(DISTINCT pg_get_expr(indpred, indrelid)),
                        count(*) FILTER (WHERE indnatts = 2)";
    assert_eq!(database.query(&format!("{whole} {attached}")).await, "t|1|16");
    let parent = "SELECT indisvalid FROM pg_index
                  WHERE indexrelid = CAST('messages_unsent' AS regclass)";
    assert_eq!(database.query(parent).await, "t");
}

#[tokio::test]
async fn writers_go_on_while_an_index_is_built() {
    let database = Postgres::database().await;
    postgres_of(&database.url(), FIRST_CONCURRENT).await;
    let mut writer = PgConnection::connect(&database.url()).await.unwrap();
    // The building waits for the transaction, and the writer for nobody.
    let mut tx = writer.begin().await.unwrap();
    tx.execute("UPDATE messages SET edited_at = 12 WHERE message_id = 'm1'").await.unwrap();
    let url = Database::Postgres(database.url().into());
    let opening = tokio::spawn(async move { Store::open(&url, Path::new(""), 1).await });
    until("the building waits for the writer", DEADLINE, async || {
        let waits = "SELECT count(*) FROM pg_stat_activity
                     WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'
                       AND datname = current_database()";
        database.query(waits).await == "1"
    })
    .await;
    // The lock of migrations is of a transaction that does nothing else: a pooler could not keep it
    // for a session.
    let lock = "SELECT count(*), min(a.state) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                WHERE l.locktype = 'advisory' AND a.datname = current_database()";
    assert_eq!(database.query(lock).await, "1|idle in transaction");
    let mut other = PgConnection::connect(&database.url()).await.unwrap();
    other.execute("SET lock_timeout = '5s'").await.unwrap();
    other.execute("UPDATE messages SET edited_at = 13 WHERE message_id = 'm2'").await.unwrap();
    tx.commit().await.unwrap();
    opening.await.unwrap().unwrap().close().await;
}

#[tokio::test]
async fn an_index_takes_longer_than_statements_may() {
    let database = Postgres::database().await;
    postgres_of(&database.url(), FIRST_CONCURRENT).await;
    let mut writer = PgConnection::connect(&database.url()).await.unwrap();
    let mut tx = writer.begin().await.unwrap();
    tx.execute("UPDATE messages SET edited_at = 12 WHERE message_id = 'm1'").await.unwrap();
    // As a hosted server sets it for a role.
    let url = format!("{}?options[statement_timeout]=3s", database.url());
    let url = Database::Postgres(url.into());
    let opening = tokio::spawn(async move { Store::open(&url, Path::new(""), 1).await });
    until("the building takes too long", DEADLINE, async || {
        let builds = "SELECT count(*) FROM pg_stat_activity
                      WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active'
                        AND clock_timestamp() - query_start > interval '3.3 s'
                        AND datname = current_database()";
        database.query(builds).await == "1"
    })
    .await;
    tx.commit().await.unwrap();
    opening.await.unwrap().unwrap().close().await;
}
