//! Failures as they are logged: at debug level when the log explains them elsewhere, as by an outage,
//! which is logged once where it is noticed.

use std::error::Error;
use std::fmt;

use crate::causes::with_causes;

/// A failure in words, whose cause may be in the log already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error with its causes, each once.
    pub text: String,
    /// The log tells the cause elsewhere: the outage of a dependency, or work in progress.
    pub is_explained: bool,
}

impl Failure {
    /// Describes an error with its causes, which the log explains elsewhere or not.
    pub fn new(error: &(dyn Error + 'static), is_explained: bool) -> Self {
        Self { text: with_causes(error), is_explained }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A failure that nothing else in the log explains.
impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, is_explained: false }
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Logs a [`Failure`] at the level given (`warn` or `error`), or at debug level when the log explains
/// it elsewhere: `log_reason!(warn, failure, field = value, "message")`.
#[macro_export]
macro_rules! log_reason {
    ($level:ident, $failure:expr, $($rest:tt)+) => {{
        let failure: &$crate::outage::Failure = &$failure;
        if failure.is_explained {
            ::tracing::debug!(error = failure.text, $($rest)+);
        } else {
            ::tracing::$level!(error = failure.text, $($rest)+);
        }
    }};
}
