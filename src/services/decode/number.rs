//! Whole numbers: `3.0` is one, too, as JSON Schema says.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::nullable;

/// A whole number. In JSON, `3.0` is one too, as JSON Schema says.
struct Whole(u32);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let wrong = |_| D::Error::custom("must be a whole number");
        let number = serde_json::Number::deserialize(value).map_err(wrong)?;
        let value = number.as_f64().unwrap_or(f64::NAN);
        if value.fract() != 0.0 {
            return Err(D::Error::custom("must be a whole number"));
        }
        if value < 0.0 {
            return Err(D::Error::custom("must not be negative"));
        }
        // Every field has a limit, which its own sentence names.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative, and no greater than the greatest"
        )]
        let whole = value.min(f64::from(u32::MAX)) as u32;
        Ok(Self(whole))
    }
}

/// Deserialises a whole number: for `deserialize_with`.
pub fn whole<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    Option::<Whole>::deserialize(value).map(|number| number.map(|Whole(number)| number))
}

/// Deserialises a whole number that may be null: for `deserialize_with`.
pub fn nullable_whole<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    nullable::<Whole, D>(value).map(|number| number.map(|Whole(number)| number))
}
