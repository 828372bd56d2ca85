//! Disks of the folders on this machine.

use std::path::PathBuf;

use chatkeep_core::config::{BlobsKind, Config};
use chatkeep_core::disk::DiskReserve;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::disk::{DiskReserves, DiskSpace};

/// Disk of a folder on this machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskStatus {
    /// `data` or `media`.
    pub folder: &'static str,
    pub path: PathBuf,
    /// Its space, or the reason why that cannot be read.
    #[serde(flatten, serialize_with = "space_or_error")]
    pub space: Result<DiskFigures, String>,
}

/// Space of a disk.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskFigures {
    pub free_bytes: u64,
    pub total_bytes: u64,
    /// Free bytes below which the work that fills the folder pauses; 0 where none does.
    pub reserve_bytes: u64,
    /// True below the reserve. A pause ends with a quarter more than that.
    pub low: bool,
}

/// Serializes the figures, or the reason as `error`.
fn space_or_error<S: Serializer>(
    space: &Result<DiskFigures, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match space {
        Ok(figures) => figures.serialize(serializer),
        Err(error) => {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry("error", error)?;
            map.end()
        }
    }
}

/// Returns the disks of the folders on this machine.
pub(super) fn statuses(config: &Config) -> Vec<DiskStatus> {
    let reserves = DiskReserves::new(config);
    let mut folders = vec![("data", &config.data, reserves.ingress)];
    if let BlobsKind::Folder(folder) = &config.blobs {
        folders.push(("media", folder, reserves.media));
    }
    let status = |(folder, path, reserve): (&'static str, &PathBuf, DiskReserve)| {
        let figures = |DiskSpace { free, total }| DiskFigures {
            free_bytes: free,
            total_bytes: total,
            reserve_bytes: reserve.minimum(),
            low: reserve.record(free),
        };
        let space = DiskSpace::of(path).map(figures).map_err(|error| error.to_string());
        DiskStatus { folder, path: path.clone(), space }
    };
    folders.into_iter().map(status).collect()
}
