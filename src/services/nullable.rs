//! Change of an optional value.

/// A field of a change that may be absent (unchanged), `null` (none) or given.
#[derive(Clone, Debug, Default)]
pub(crate) enum Nullable<T> {
    /// The value stays as it is.
    #[default]
    Unchanged,
    /// The value is set, or removed.
    To(Option<T>),
}
