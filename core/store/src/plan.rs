//! Query plans of an embedded database, for tests that a statement reads no more than it needs.

use chatkeep_core::config::Database;

use crate::Store;
use crate::query::query_as;

/// Returns the steps in which SQLite runs a statement.
pub(crate) async fn plan(sql: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
    // Statements are static.
    let explained: &'static str = format!("EXPLAIN QUERY PLAN {sql}").leak();
    let mut query = query_as(explained);
    for _ in (1_u32..).take_while(|number| sql.contains(&format!("${number}"))) {
        query = query.bind(0_i64);
    }
    let steps: Vec<(i64, i64, i64, String)> = store.db.fetch_all(query).await.unwrap();
    store.close().await;
    steps.into_iter().map(|(.., step)| step).collect()
}
