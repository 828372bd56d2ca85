//! Settings of snapshots.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::BlobsKind;
use super::deserialize::{days_if_any, number, words};

/// Snapshots: where they are, when they are made, and which of them stay.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotConfig {
    /// Folder or bucket of the snapshots; `None` for no place.
    #[serde(deserialize_with = "place")]
    pub target: Option<BlobsKind>,
    /// Interval between two snapshots; `None` to make none by itself.
    #[serde(rename = "every_hours", deserialize_with = "hours_if_any::<8_760, _>")]
    pub every: Option<Duration>,
    /// Number of the newest snapshots that stay.
    #[serde(deserialize_with = "number::<1, 10_000, _, _>")]
    pub keep: usize,
    /// Days of which the newest snapshot stays as well.
    #[serde(deserialize_with = "number::<0, 3_650, _, _>")]
    pub keep_days: u32,
    /// Public keys to which snapshots are encrypted, in the form of `age`.
    #[serde(deserialize_with = "words")]
    pub recipients: Vec<String>,
    /// Time for which the copy of before a migration that changes data is kept; `None` for making
    /// none.
    #[serde(rename = "before_migration_days", deserialize_with = "days_if_any::<3_650, _>")]
    pub before_migration: Option<Duration>,
}

/// Deserializes a folder or bucket, if any.
fn place<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BlobsKind>, D::Error> {
    let empty = BlobsKind::Folder(PathBuf::new());
    BlobsKind::deserialize(from).map(|place| Some(place).filter(|place| *place != empty))
}

/// Deserializes a duration of up to `MAX` whole hours, with `None` for 0.
fn hours_if_any<'de, const MAX: i64, D>(from: D) -> Result<Option<Duration>, D::Error>
where
    D: Deserializer<'de>,
{
    let hours: u64 = number::<0, MAX, _, _>(from)?;
    Ok((hours > 0).then(|| Duration::from_hours(hours)))
}
