//! Whole numbers: `3.0` is one, too, as JSON Schema says.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::nullable;

/// A whole number. In JSON, `3.0` is one too, as JSON Schema says.
struct Whole(u32);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let wrong = |_| D::Error::custom("must be a whole number from 0");
        let number = serde_json::Number::deserialize(value).map_err(wrong)?;
        // Written without the fraction of zeros; one that is no zeros stays and is refused.
        let text = number.to_string();
        let whole = text.strip_suffix(".0").unwrap_or(&text).parse();
        whole.map(Self).map_err(|_| D::Error::custom("must be a whole number from 0"))
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
