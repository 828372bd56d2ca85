//! Time zones that callers name.

use chatkeep_core::time::zone_hint;
use chrono_tz::Tz;

use super::{FieldPath, ServiceError};

/// Parses the IANA name of a time zone.
///
/// # Errors
/// [`ServiceError::Invalid`] of `field` for an unknown name, with the one that was probably meant.
pub fn parse_time_zone(field: FieldPath, name: &str) -> Result<Tz, ServiceError> {
    name.parse().map_err(|_| {
        let hint = zone_hint(name);
        let why = format_args!("must be an IANA time zone, such as Asia/Taipei{hint}");
        ServiceError::invalid_value(field, why)
    })
}
