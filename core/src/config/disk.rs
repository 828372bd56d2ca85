//! Settings of the reserves of free disk space.

use serde::Deserialize;

use super::deserialize::number;

/// Reserves of free disk space, in bytes; 0 for none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskConfig {
    /// Free space below which no media files are downloaded.
    #[serde(deserialize_with = "number::<0, 1_099_511_627_776, _, _>")]
    pub media_reserve_bytes: u64,
    /// Free space below which webhooks are refused.
    #[serde(deserialize_with = "number::<0, 1_099_511_627_776, _, _>")]
    pub ingress_reserve_bytes: u64,
}

impl DiskConfig {
    /// Returns the reserve that media files leave: at least that of the ingress, so that they pause
    /// first.
    pub const fn media_reserve(self) -> u64 {
        if self.media_reserve_bytes < self.ingress_reserve_bytes {
            self.ingress_reserve_bytes
        } else {
            self.media_reserve_bytes
        }
    }
}
