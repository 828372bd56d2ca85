//! Identity of the database behind an address: one that has taken the place of the database that the
//! process started with is neither read nor written.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use chatkeep_core::outage::Work;
use sqlx::PgConnection;

use super::StoreError;
use super::db::Db;
use super::query::query_as;

/// Statement for the id of a database. Copies of it have the same one.
pub(super) const STORE_ID: &str = "SELECT store_id FROM deployment";

/// Sentence about a database that has taken the place of the known one.
pub const OTHER_DATABASE: &str = "the database is another one than at the start of this process, and is \
    not used: correct what its address leads to, or restart the process";

/// Another database is where the one of the start was.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{OTHER_DATABASE}")]
pub(super) struct OtherDatabase;

/// Id of the database that a process uses, once it is known. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownIdentity(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    id: OnceLock<String>,
    is_other: AtomicBool,
}

impl KnownIdentity {
    /// Sets the id of the database that is used from now on; the first one stays.
    pub(super) fn set(&self, id: String) {
        self.0.id.get_or_init(|| id);
    }

    /// Compares the id of the database that was just read; `true` if it is the known one.
    pub(super) fn compare(&self, id: &str) -> bool {
        let is_known = self.0.id.get().is_none_or(|known| known == id);
        self.0.is_other.store(!is_known, Ordering::Release);
        is_known
    }

    /// Refuses work while the last comparison found another database: a pooler may lead there over
    /// connections that stay open.
    pub(super) fn admit(&self) -> Result<(), sqlx::Error> {
        if self.0.is_other.load(Ordering::Acquire) { Err(other_database()) } else { Ok(()) }
    }

    /// Refuses a new connection to another database.
    pub(super) async fn check(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let Some(known) = self.0.id.get() else { return Ok(()) };
        let found: Result<Option<String>, _> =
            sqlx::query_scalar(STORE_ID).persistent(false).fetch_optional(connection).await;
        let is_known = match found {
            Ok(id) => id.as_ref() == Some(known),
            // An empty database has no tables.
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42P01") => false,
            Err(error) => return Err(error),
        };
        if !is_known {
            // Others need not try, until a comparison finds the known one.
            self.0.is_other.store(true, Ordering::Release);
            return Err(other_database());
        }
        Ok(())
    }
}

impl Db {
    /// Reads the id of the database, which is the one to use from now on.
    pub(super) async fn identify(&self) -> Result<(), StoreError> {
        let (id,): (String,) = self.fetch_one(query_as(STORE_ID)).await?;
        self.watch.identity.set(id);
        Ok(())
    }

    /// Returns true if the database is still the one of the start. Once it is not, all other work fails
    /// as on one that is away, until a further call finds that it is again.
    pub(super) async fn is_same(&self) -> Result<bool, StoreError> {
        match self.fetch_of_any(query_as(STORE_ID)).await {
            Ok(found) => {
                let is_same =
                    found.is_some_and(|(id,): (String,)| self.watch.identity.compare(&id));
                if is_same {
                    self.watch.availability.works(Work::Reading);
                }
                Ok(is_same)
            }
            Err(_) if self.watch.leads_elsewhere().await => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the error of a connection that leads elsewhere. It counts as an outage: what waits for the
/// database waits on.
fn other_database() -> sqlx::Error {
    sqlx::Error::Io(io::Error::other(OtherDatabase))
}

/// Returns true for the error of a connection that leads to another database.
pub(super) fn is_other_database(error: &sqlx::Error) -> bool {
    let sqlx::Error::Io(error) = error else { return false };
    matches!(error.get_ref(), Some(inner) if inner.is::<OtherDatabase>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_is_refused_until_the_known_one_is_back() {
        let known = KnownIdentity::default();
        assert!(known.compare("a"), "nothing is known yet");
        known.set("a".to_owned());
        known.set("b".to_owned());
        assert!(known.admit().is_ok());
        assert!(!known.compare("b"));
        assert!(is_other_database(&known.clone().admit().unwrap_err()));
        assert!(known.compare("a"));
        assert!(known.admit().is_ok());
    }
}
