//! Errors about a value and its location.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use crate::FieldPath;

/// Error about a value: a predicate such as `must be a string`, and the steps to the value.
#[derive(Debug)]
pub(super) struct DecodeError {
    /// Steps from the value outwards.
    steps: Vec<Step>,
    why: String,
}

/// A step into a value.
#[derive(Debug)]
enum Step {
    Member(String),
    Item(usize),
}

impl DecodeError {
    /// Creates an error about the value itself.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { steps: Vec::new(), why: why.into() }
    }

    /// Creates an error about an unknown member.
    pub(super) fn unknown(name: &str, known: &[&str]) -> Self {
        let why = match known {
            [] => "is unknown: no members are allowed".to_owned(),
            known => format!("is unknown: allowed are {}", list(known)),
        };
        Self::new(why).inside(name)
    }

    /// Prepends the object that has the value under that name.
    pub(super) fn inside(mut self, name: &str) -> Self {
        self.steps.push(Step::Member(name.to_owned()));
        self
    }

    /// Prepends the list that has the value at that index.
    pub(super) fn at(mut self, index: usize) -> Self {
        self.steps.push(Step::Item(index));
        self
    }

    /// Returns the location as a field of the body.
    pub(super) fn in_body(self) -> (FieldPath, String) {
        let steps = self.steps.iter().rev();
        let field = steps.fold(FieldPath::BODY, |field, step| match step {
            Step::Member(name) => field.member(name),
            Step::Item(index) => field.item(*index),
        });
        (field, self.why)
    }

    /// Returns the location as a query parameter.
    pub(super) fn in_query(self) -> (FieldPath, String) {
        match self.steps.last() {
            Some(Step::Member(name)) => (FieldPath::named(name), self.why),
            _ => (FieldPath::QUERY, self.why),
        }
    }
}

/// Joins names for a sentence.
pub(super) fn list(names: &[&str]) -> String {
    names.join(", ")
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for DecodeError {}

impl Error for DecodeError {
    /// Creates an error from a custom type's message, also a predicate.
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::new(why.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("must be {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("must be {expected}"))
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("must be {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("must be one of {}", list(expected)))
    }

    fn unknown_field(name: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown(name, expected)
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new("is missing").inside(name)
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::new("is given more than once").inside(name)
    }
}
