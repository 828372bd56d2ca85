//! Failures of what the process depends on, as they are logged: at debug level when an outage
//! explains them, which is logged once where it is noticed.

use std::error::Error;

use chatkeep_blobs::BlobError;
use chatkeep_bus::BusError;
use chatkeep_core::outage::Failure;
use chatkeep_platform::PlatformError;
use chatkeep_store::StoreError;

/// Describes an error with its causes, and says whether it belongs to an outage.
pub fn of(error: &(dyn Error + 'static)) -> Failure {
    Failure::new(error, is_outage(error))
}

/// Returns whether an error, or what caused it, belongs to an outage of a dependency.
fn is_outage(error: &(dyn Error + 'static)) -> bool {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(error) = error.downcast_ref::<BusError>() {
            return error.is_outage();
        }
        if let Some(error) = error.downcast_ref::<PlatformError>() {
            return error.is_outage();
        }
        let known = error.downcast_ref::<StoreError>().is_some_and(StoreError::is_outage)
            || error.downcast_ref::<BlobError>().is_some_and(|error| error.outage().is_some());
        if known {
            return true;
        }
        link = error.source();
    }
    false
}

/// Logs a failure at the level given (`warn` or `error`), or at debug level when it belongs to an
/// outage: `log_failure!(warn, &error, field = value, "message")`, with an error that becomes a
/// `&(dyn Error + 'static)`.
#[macro_export]
macro_rules! log_failure {
    ($level:ident, $error:expr, $($rest:tt)+) => {{
        let failure = $crate::failure::of($error);
        ::chatkeep_core::log_reason!($level, failure, $($rest)+);
    }};
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot do it")]
    struct Wrapped<E: Error + 'static>(#[source] E);

    #[test]
    fn only_what_is_away_is_an_outage_however_deep_it_is_wrapped() {
        let store = |error: sqlx::Error| StoreError::from(error);
        assert!(is_outage(&Wrapped(Wrapped(store(sqlx::Error::PoolTimedOut)))));
        assert!(is_outage(&BlobError::Claim(Box::new(store(sqlx::Error::PoolTimedOut)))));
        assert!(!is_outage(&Wrapped(store(sqlx::Error::RowNotFound))));
        assert!(is_outage(&Wrapped(BusError::Unavailable("gone".into()))));
        assert!(!is_outage(&Wrapped(BusError::NoResponder("topic"))));
        let left = Duration::from_secs(1);
        assert!(is_outage(&Wrapped(PlatformError::Unavailable { retry_after: left })));
        assert!(!is_outage(&Wrapped(PlatformError::NotFound)));
    }

    #[test]
    fn a_failure_names_every_cause_once() {
        let failure = of(&Wrapped(BusError::Unavailable("gone".into())));
        assert_eq!(failure.text, "cannot do it: the bus is unavailable: gone");
        assert!(failure.is_explained && !Failure::from("x").is_explained);
    }
}
