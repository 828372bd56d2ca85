//! Data folders with a SQLite database: copies of one that was migrated once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use chatkeep_core::config::Database;
use chatkeep_store::Store;
use tokio::sync::OnceCell;

use super::scratch;

/// Name of the database in a data folder.
const FILE: &str = "chatkeep.db";

/// Puts a database with chatkeep's tables into an empty data folder.
pub(crate) async fn migrate(folder: &Path) {
    static TEMPLATE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let template = TEMPLATE.get_or_init(|| async {
        let folder = scratch::folder("template-");
        let store = Store::open(&Database::Sqlite, folder.path(), 1).await;
        store.unwrap_or_else(|error| panic!("cannot migrate: {error}")).close().await;
        fs::read(folder.path().join(FILE)).unwrap_or_else(|error| panic!("no database: {error}"))
    });
    let file = folder.join(FILE);
    fs::write(&file, template.await)
        .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(0o600)))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}
