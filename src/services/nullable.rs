//! Change of an optional value.

use serde::{Deserialize, Deserializer};

use crate::decode::nullable;

/// A field of a change that may be absent (unchanged), `null` (none) or given.
#[derive(Clone, Debug, Default)]
pub enum Nullable<T> {
    /// The value stays as it is.
    #[default]
    Unchanged,
    /// The value is set, or removed.
    To(Option<T>),
}

impl<T> Nullable<T> {
    /// Returns the value after the change; `known` is the one before it.
    pub(super) fn over(self, known: impl FnOnce() -> Option<T>) -> Option<T> {
        match self {
            Self::To(value) => value,
            Self::Unchanged => known(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nullable<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        nullable(value).map(Self::To)
    }
}
