//! Digests of what a form was filled with, which tell a change of its own fields from one of other
//! settings under the same version.

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// Separator of the digests.
const SEPARATOR: &str = ".";
/// Length of a digest in bytes.
const LENGTH: usize = 8;

/// Digests of the values that a form was filled with; empty in a page of an earlier version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct SeenValues(String);

impl SeenValues {
    /// Returns the digests of fields with their values.
    pub(super) fn of(fields: &[(&str, &str)]) -> Self {
        let digests: Vec<_> = fields.iter().map(|(name, value)| digest(name, value)).collect();
        Self(digests.join(SEPARATOR))
    }

    /// Returns the digests as a page carries them.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true unless the form was filled with that value of a field.
    pub(super) fn lacks(&self, name: &str, value: &str) -> bool {
        let wanted = digest(name, value);
        self.0.split(SEPARATOR).all(|digest| digest != wanted)
    }
}

/// Returns the value of a switch.
pub(super) const fn state(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn digest(name: &str, value: &str) -> String {
    hex::encode(&Sha256::digest(format!("{name}={value}"))[..LENGTH])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_knows_the_values_that_it_was_filled_with() {
        let seen = SeenValues::of(&[("mode", "fuzzy"), ("text", "a.b\nc"), ("words", "")]);
        assert!(!seen.lacks("mode", "fuzzy") && !seen.lacks("text", "a.b\nc"));
        assert!(!seen.lacks("words", ""), "an empty value is one");
        assert!(seen.lacks("mode", "keyword") && seen.lacks("text", "fuzzy"));
        let again: SeenValues = serde_json::from_value(seen.as_str().into()).unwrap();
        assert_eq!(again, seen, "it is read as it is written");
        assert!(SeenValues::default().lacks("mode", "fuzzy"), "the page of an earlier version");
    }
}
