//! Failures as they are logged: at debug level when an outage explains them, which is told once
//! where it is noticed.

use std::error::Error;
use std::fmt;

use crate::blobs::BlobError;
use crate::bus::BusError;
use crate::causes::with_causes;
use crate::platform::PlatformError;
use crate::store::{StoreError, outage_of};

/// A failure in words, which may belong to an outage that is told already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error with its causes, each once.
    pub text: String,
    /// It is the failure of a dependency whose outage is in the log.
    pub is_outage: bool,
}

impl Failure {
    /// Describes an error.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        Self { text: with_causes(error), is_outage: is_outage(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A failure that has nothing to do with an outage.
impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, is_outage: false }
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
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
            || error.downcast_ref::<BlobError>().is_some_and(|error| error.outage().is_some())
            || error.downcast_ref::<sqlx::Error>().is_some_and(|error| outage_of(error).is_some());
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
        let failure = $crate::outage::Failure::of($error);
        $crate::log_reason!($level, failure, $($rest)+);
    }};
}

/// Logs a [`Failure`] as [`log_failure!`](crate::log_failure) does an error.
#[macro_export]
macro_rules! log_reason {
    ($level:ident, $failure:expr, $($rest:tt)+) => {{
        let failure: &$crate::outage::Failure = &$failure;
        if failure.is_outage {
            ::tracing::debug!(error = failure.text, $($rest)+);
        } else {
            ::tracing::$level!(error = failure.text, $($rest)+);
        }
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
        let failure = Failure::of(&Wrapped(BusError::Unavailable("gone".into())));
        assert_eq!(failure.text, "cannot do it: the bus is unavailable: gone");
        assert!(failure.is_outage && !Failure::from("x").is_outage);
    }
}
