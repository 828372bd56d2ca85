//! Exports and imports by the program itself, on both databases.

mod files;
mod home;
mod import;
mod line;
mod page;
mod round_trip;

use crate::pipeline::on_both;

/// The group that everything is about.
pub(crate) const GROUP: &str = "C0123456789abcdef0123456789abcdef";
/// Who subscribes to it.
pub(crate) const OWNER: &str = "U0123456789abcdef0123456789abcdef";
