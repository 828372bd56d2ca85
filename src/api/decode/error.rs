//! What is wrong with a value, and where it stands.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use crate::api::field_path::FieldPath;

/// What is wrong: a predicate such as `must be a text`, of the value at the end of some steps.
#[derive(Debug)]
pub(super) struct DecodeError {
    /// From the value outwards.
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
    /// Of the value itself.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { steps: Vec::new(), why: why.into() }
    }

    /// Of a member that is given and not known.
    pub(super) fn unknown(name: &str, known: &[&str]) -> Self {
        let why = match known {
            [] => "is unknown: no members are allowed".to_owned(),
            known => format!("is unknown: allowed are {}", list(known)),
        };
        Self::new(why).inside(name)
    }

    /// The same, seen from the object that has the value under that name.
    pub(super) fn inside(mut self, name: &str) -> Self {
        self.steps.push(Step::Member(name.to_owned()));
        self
    }

    /// The same, seen from the list that has the value at that index.
    pub(super) fn at(mut self, index: usize) -> Self {
        self.steps.push(Step::Item(index));
        self
    }

    /// As a place in the body.
    pub(super) fn in_body(self) -> (FieldPath, String) {
        let steps = self.steps.iter().rev();
        let field = steps.fold(FieldPath::BODY, |field, step| match step {
            Step::Member(name) => field.member(name),
            Step::Item(index) => field.item(*index),
        });
        (field, self.why)
    }

    /// As a parameter of the query.
    pub(super) fn in_query(self) -> (FieldPath, String) {
        match self.steps.last() {
            Some(Step::Member(name)) => (FieldPath::named(name), self.why),
            _ => (FieldPath::named(""), self.why),
        }
    }
}

/// Some names in a sentence.
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
    /// What types that read themselves say: a predicate, too.
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
