//! Claim of a bus that many processes share for the database of this process: with another database it
//! would take its share of the events, and nobody would see what it took.

use chatkeep_bus::{BusError, BusOwner};
use chatkeep_store::{Store, StoreError};

use super::PreflightError;

/// Returns the owner that processes of a database claim their bus for.
///
/// # Errors
/// Returns an error when the database fails.
pub(crate) async fn bus_owner(store: &Store) -> Result<BusOwner, StoreError> {
    let (database, restored_at) = store.processes().bus_owner().await?;
    Ok(BusOwner { database, restored_at })
}

/// Returns the error of a claim at the start of a process.
pub(super) fn refused(error: BusError) -> anyhow::Error {
    match error {
        BusError::Foreign(_) => PreflightError(foreign(&error)).into(),
        error => error.into(),
    }
}

/// Returns the sentence about a bus that is another database's.
pub(super) fn foreign(error: &BusError) -> String {
    format!(
        "CHATKEEP_BUS: {error}: CHATKEEP_DATABASE has to be that of the other processes; once none of \
         them runs, `chatkeep bus adopt` gives the bus to the database of these settings"
    )
}
