//! Locations in a request, as errors name them in `field`.
//!
//! Each part of a request has its form: in a body a JSON Pointer (RFC 6901, such as
//! `/assistant/qa/mode` or `/keywords/0`; empty for the whole body), for query and path parameters
//! and headers their name. A location cannot be created from a bare text, so that every rejection
//! names the part of the request.

use std::borrow::Cow;
use std::fmt;

use chatkeep_core::text::shortened;

/// Maximum characters of a caller's own name when it is echoed.
const ECHO: usize = 100;

/// Location in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    part: Part,
    field: Cow<'static, str>,
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Body,
    Query,
    Parameter,
    Header,
}

impl FieldPath {
    /// The body as a whole.
    pub const BODY: Self = Self::body("");

    /// Creates the location of a value in the body from its JSON Pointer.
    pub const fn body(pointer: &'static str) -> Self {
        Self { part: Part::Body, field: Cow::Borrowed(pointer) }
    }

    /// The query as a whole.
    pub(super) const QUERY: Self = Self { part: Part::Query, field: Cow::Borrowed("") };

    /// Creates the location of a query or path parameter.
    pub const fn parameter(name: &'static str) -> Self {
        Self { part: Part::Parameter, field: Cow::Borrowed(name) }
    }

    /// The parameters that name a span of time.
    pub const FROM: Self = Self::parameter("from");
    pub const TO: Self = Self::parameter("to");

    /// Creates the location of a parameter with a caller's own name.
    pub fn named(name: &str) -> Self {
        Self { part: Part::Parameter, field: Cow::Owned(cut(name)) }
    }

    /// Creates the location of a header.
    pub const fn header(name: &'static str) -> Self {
        Self { part: Part::Header, field: Cow::Borrowed(name) }
    }

    /// Returns the location of a member of this object.
    #[must_use]
    pub fn member(self, name: &str) -> Self {
        let name = cut(name).replace('~', "~0").replace('/', "~1");
        Self { part: self.part, field: format!("{}/{name}", self.field).into() }
    }

    /// Returns the location of an item of this list.
    #[must_use]
    pub fn item(self, index: usize) -> Self {
        Self { part: self.part, field: format!("{}/{index}", self.field).into() }
    }

    /// Returns the form used in `field`.
    pub fn text(&self) -> Cow<'static, str> {
        self.field.clone()
    }
}

/// Form of an empty name in sentences.
const NAMELESS: &str = "\"\"";

/// For sentences: `assistant.qa.mode`, `keywords[0]`, `The body`.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Body => {}
            Part::Query => return f.write_str("The query"),
            Part::Parameter | Part::Header if self.field.is_empty() => {
                return f.write_str(NAMELESS);
            }
            Part::Parameter | Part::Header => return f.write_str(&self.field),
        }
        let Some(steps) = self.field.strip_prefix('/') else {
            return f.write_str("The body");
        };
        for (nth, step) in steps.split('/').enumerate() {
            let step = step.replace("~1", "/").replace("~0", "~");
            let step = if step.is_empty() { NAMELESS } else { step.as_str() };
            let is_index = step.bytes().all(|byte| byte.is_ascii_digit());
            match (nth, is_index) {
                (0, _) => f.write_str(step)?,
                (_, true) => write!(f, "[{step}]")?,
                (_, false) => write!(f, ".{step}")?,
            }
        }
        Ok(())
    }
}

/// Truncates an echoed name.
fn cut(name: &str) -> String {
    shortened(name, ECHO).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_form_for_programs_and_one_for_people() {
        let path = FieldPath::body("/rules").item(3).member("keywords").item(0);
        assert_eq!(
            (&*path.text(), &*path.to_string()),
            ("/rules/3/keywords/0", "rules[3].keywords[0]")
        );
        let path = FieldPath::BODY.member("a/b~c");
        assert_eq!((&*path.text(), &*path.to_string()), ("/a~1b~0c", "a/b~c"));
        assert_eq!((&*FieldPath::BODY.text(), &*FieldPath::BODY.to_string()), ("", "The body"));
        assert_eq!(&*FieldPath::parameter("from").text(), "from");
        for (path, field, shown) in [
            (FieldPath::BODY.member(""), "/", "\"\""),
            (FieldPath::body("/rules").item(3).member(""), "/rules/3/", "rules[3].\"\""),
            (FieldPath::BODY.member("").member("a"), "//a", "\"\".a"),
            (FieldPath::named(""), "", "\"\""),
            (FieldPath::QUERY, "", "The query"),
        ] {
            assert_eq!((&*path.text(), &*path.to_string()), (field, shown));
        }
        assert_eq!(FieldPath::named(&"x".repeat(200)).text().chars().count(), ECHO + 1);
    }
}
