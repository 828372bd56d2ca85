//! SQLite as the store and the embedded bus use it, which both keep a file: timeouts for other
//! connections, emptying the log, primary result codes (<https://sqlite.org/rescode.html>), and which
//! of these are an outage of the file.

use std::time::Duration;

use crate::outage::Work;

/// Timeout of a statement for other connections to the file, those of other processes included.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Statement that makes a connection wait for others no more.
pub const WAIT_FOR_NONE: &str = "PRAGMA busy_timeout = 0";
/// Statement that makes a connection wait for others again, for [`BUSY_TIMEOUT`].
pub const WAIT_FOR_OTHERS: &str = "PRAGMA busy_timeout = 10000";
/// Checkpoint that empties the write-ahead log. The first column of its row is 1 if it could not.
pub const EMPTY_WAL: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// Access permission was denied.
pub const PERM: i32 = 3;
/// A statement was aborted.
pub const ABORT: i32 = 4;
/// Another connection has the lock.
pub const BUSY: i32 = 5;
/// The same connection has the lock.
pub const LOCKED: i32 = 6;
/// Memory could not be had.
pub const NO_MEMORY: i32 = 7;
/// The database cannot be written.
pub const READ_ONLY: i32 = 8;
/// The statement was interrupted.
pub const INTERRUPT: i32 = 9;
/// The disk failed.
pub const IO: i32 = 10;
/// The file is damaged.
pub const CORRUPT: i32 = 11;
/// The disk is full.
pub const FULL: i32 = 13;
/// The file cannot be opened.
pub const CANNOT_OPEN: i32 = 14;
/// The protocol of locks failed.
pub const PROTOCOL: i32 = 15;
/// The schema changed.
pub const SCHEMA: i32 = 17;
/// A value is too long.
pub const TOO_BIG: i32 = 18;
/// A constraint was violated.
pub const CONSTRAINT: i32 = 19;
/// A value is of another type than its column.
pub const MISMATCH: i32 = 20;
/// The system cannot have files of that size.
pub const NO_LARGE_FILES: i32 = 22;
/// Authorization was denied.
pub const AUTHORIZATION: i32 = 23;
/// A parameter is out of range.
pub const RANGE: i32 = 25;
/// The file is no database.
pub const NOT_A_DATABASE: i32 = 26;

/// Returns the primary code of a code that may be an extended one.
pub const fn primary(code: i32) -> i32 {
    code & 0xff
}

/// Returns what cannot be done with the file at all just now, by the primary code of an error;
/// `None` for one that is about its statement alone.
pub const fn outage_of(code: i32) -> Option<Work> {
    match code {
        BUSY | READ_ONLY | IO | FULL => Some(Work::Writing),
        PERM | NO_MEMORY | CORRUPT | CANNOT_OPEN | PROTOCOL | NO_LARGE_FILES | AUTHORIZATION
        | NOT_A_DATABASE => Some(Work::Reading),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_waited_for_as_long_as_before() {
        let again = format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT.as_millis());
        assert_eq!(WAIT_FOR_OTHERS, again);
    }
}
