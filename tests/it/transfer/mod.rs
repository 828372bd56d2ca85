//! Exports and imports by the program itself, on both databases.

mod files;
mod home;
mod import;
mod line;
mod page;
mod round_trip;

use crate::pipeline::on_both;

/// Group of all tests.
pub(crate) const GROUP: &str = "C0123456789abcdef0123456789abcdef";
/// Its subscriber.
pub(crate) const OWNER: &str = "U0123456789abcdef0123456789abcdef";
