//! Settings of the reserves of free disk space.

use serde::Deserialize;

use super::deserialize::number;

/// Setting of the reserve of the ingress.
pub const INGRESS_RESERVE: &str = "disk.ingress_reserve_bytes";

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
    /// Returns the reserve that media files leave, and the setting that it comes from: at least that
    /// of the ingress, so that they pause first, unless there is to be none.
    pub const fn media_reserve(self) -> (u64, &'static str) {
        let Self { media_reserve_bytes: media, ingress_reserve_bytes: ingress } = self;
        if media > 0 && media < ingress {
            (ingress, INGRESS_RESERVE)
        } else {
            (media, "disk.media_reserve_bytes")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_leave_what_the_ingress_needs_unless_they_leave_nothing() {
        let of = |media_reserve_bytes, ingress_reserve_bytes| {
            DiskConfig { media_reserve_bytes, ingress_reserve_bytes }.media_reserve()
        };
        assert_eq!(of(5, 3), (5, "disk.media_reserve_bytes"));
        assert_eq!(of(2, 3), (3, INGRESS_RESERVE));
        assert_eq!(of(0, 3), (0, "disk.media_reserve_bytes"));
    }
}
