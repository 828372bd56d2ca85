//! The Fluent files, parsed once.

use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unicode_bidi::{BidiClass, bidi_class};

use super::Language;

/// Texts of one language.
type Bundle = FluentBundle<FluentResource>;

/// Names the files of a language.
macro_rules! files {
    ($tag:literal) => {
        [
            include_str!(concat!("../locales/", $tag, "/consent.ftl")),
            include_str!(concat!("../locales/", $tag, "/console.ftl")),
            include_str!(concat!("../locales/", $tag, "/demo.ftl")),
            include_str!(concat!("../locales/", $tag, "/export.ftl")),
            include_str!(concat!("../locales/", $tag, "/notices.ftl")),
            include_str!(concat!("../locales/", $tag, "/operator.ftl")),
        ]
    };
}

static ENGLISH: LazyLock<Bundle> = LazyLock::new(|| bundle(Language::English));
static CHINESE: LazyLock<Bundle> = LazyLock::new(|| bundle(Language::TraditionalChinese));
static JAPANESE: LazyLock<Bundle> = LazyLock::new(|| bundle(Language::Japanese));
static THAI: LazyLock<Bundle> = LazyLock::new(|| bundle(Language::Thai));

/// Value of a variable in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Text, inserted as it is; isolated if some of it is written from right to left.
    Text(&'a str),
    /// Number, which may choose a plural form.
    Number(i64),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl Language {
    /// Returns the text of a key that has no variables. A key without a text is returned itself.
    pub fn text(self, key: &str) -> String {
        self.format(key, &[])
    }

    /// Returns the text of a key with the values of its variables. A key without a text is
    /// returned itself.
    pub fn format(self, key: &str, values: &[(&str, Value<'_>)]) -> String {
        let bundle = self.bundle();
        debug_assert!(bundle.has_message(key), "the catalogue has no text {key}");
        let Some(pattern) = bundle.get_message(key).and_then(|message| message.value()) else {
            return key.to_owned();
        };
        let mut arguments = FluentArgs::with_capacity(values.len());
        for (name, value) in values {
            let value = match value {
                Value::Text(text) if has_right_to_left(text) => {
                    FluentValue::from(format!("{ISOLATE}{text}{END_OF_ISOLATE}"))
                }
                Value::Text(text) => FluentValue::from(*text),
                Value::Number(number) => FluentValue::from(*number),
            };
            arguments.set(*name, value);
        }
        // Errors are variables without a value, which the tests of the callers show.
        let mut errors = Vec::new();
        bundle.format_pattern(pattern, Some(&arguments), &mut errors).into_owned()
    }

    /// Returns true if the catalogue has a text of that key.
    pub fn has(self, key: &str) -> bool {
        self.bundle().has_message(key)
    }

    fn bundle(self) -> &'static Bundle {
        match self {
            Self::English => &ENGLISH,
            Self::TraditionalChinese => &CHINESE,
            Self::Japanese => &JAPANESE,
            Self::Thai => &THAI,
        }
    }

    /// Returns the Fluent files of the language.
    const fn files(self) -> [&'static str; 6] {
        match self {
            Self::English => files!("en"),
            Self::TraditionalChinese => files!("zh-Hant"),
            Self::Japanese => files!("ja"),
            Self::Thai => files!("th"),
        }
    }
}

/// Parses the files of a language. What is malformed is left out; the tests find it.
fn bundle(language: Language) -> Bundle {
    let tag = language.tag().parse().unwrap_or_default();
    let mut bundle = FluentBundle::new_concurrent(vec![tag]);
    // Only what needs marks of isolation gets them: some chats show them as boxes.
    bundle.set_use_isolating(false);
    bundle.set_formatter(Some(format_number));
    for file in language.files() {
        let resource = match FluentResource::try_new(file.to_owned()) {
            Ok(resource) | Err((resource, _)) => resource,
        };
        // The first text of a key counts; the tests find a second one.
        let _ = bundle.add_resource(resource);
    }
    bundle
}

/// Mark before a text whose direction does not change the order of what is around it.
const ISOLATE: char = '\u{2068}';
/// Mark after such a text.
const END_OF_ISOLATE: char = '\u{2069}';

/// Returns true if a text has letters that are written from right to left, or marks of that direction.
fn has_right_to_left(text: &str) -> bool {
    text.chars().any(|c| {
        matches!(bidi_class(c), BidiClass::R | BidiClass::AL | BidiClass::RLE | BidiClass::RLO)
    })
}

/// Formats the numbers in texts; `None` for what is formatted as usual.
fn format_number<M>(value: &FluentValue<'_>, _: &M) -> Option<String> {
    match value {
        FluentValue::Number(number) => number.as_string().parse().ok().map(grouped),
        _ => None,
    }
}

/// Writes a number with its thousands apart, as all supported languages do: "12,345".
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};

    use super::*;

    type Variables = BTreeSet<String>;

    fn in_pattern(pattern: &Pattern<&str>, found: &mut Variables) {
        for element in &pattern.elements {
            if let PatternElement::Placeable { expression } = element {
                in_expression(expression, found);
            }
        }
    }

    fn in_expression(expression: &Expression<&str>, found: &mut Variables) {
        match expression {
            Expression::Inline(inline) => in_inline(inline, found),
            Expression::Select { selector, variants } => {
                in_inline(selector, found);
                for variant in variants {
                    in_pattern(&variant.value, found);
                }
            }
        }
    }

    fn in_inline(inline: &InlineExpression<&str>, found: &mut Variables) {
        match inline {
            InlineExpression::VariableReference { id } => {
                found.insert(id.name.to_owned());
            }
            InlineExpression::StringLiteral { .. } | InlineExpression::NumberLiteral { .. } => {}
            other => panic!("the catalogue uses {other:?}, which this test does not know"),
        }
    }

    /// Returns the keys of a language with their variables.
    fn keys(language: Language) -> BTreeMap<String, Variables> {
        let mut keys = BTreeMap::new();
        for file in language.files() {
            let parsed = fluent_syntax::parser::parse(file)
                .unwrap_or_else(|(_, errors)| panic!("{language:?}: {errors:?}"));
            for entry in &parsed.body {
                match entry {
                    Entry::Message(message) => {
                        let mut found = Variables::new();
                        in_pattern(message.value.as_ref().unwrap(), &mut found);
                        let earlier = keys.insert(message.id.name.to_owned(), found);
                        assert_eq!(earlier, None, "{language:?} has {} twice", message.id.name);
                    }
                    Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
                    other => panic!("{language:?}: {other:?}"),
                }
            }
        }
        keys
    }

    #[test]
    fn all_languages_have_the_same_keys_and_variables() {
        let english = keys(Language::English);
        assert!(english.len() > 100);
        for language in Language::ALL {
            let other = keys(language);
            for (key, variables) in &english {
                assert_eq!(other.get(key), Some(variables), "{key} in {language:?}");
            }
            let more: Vec<_> = other.keys().filter(|key| !english.contains_key(*key)).collect();
            assert!(more.is_empty(), "only {language:?} has {more:?}");
        }
    }

    #[test]
    fn every_text_is_formatted_without_errors() {
        for language in Language::ALL {
            for (key, variables) in keys(language) {
                for number in [0, 1, 2] {
                    let bundle = language.bundle();
                    let mut arguments = FluentArgs::new();
                    for name in &variables {
                        arguments.set(name.as_str(), number);
                    }
                    let pattern = bundle.get_message(&key).unwrap().value().unwrap();
                    let mut errors = Vec::new();
                    let text = bundle.format_pattern(pattern, Some(&arguments), &mut errors);
                    assert!(errors.is_empty() && !text.is_empty(), "{key}: {errors:?}");
                }
            }
        }
    }

    #[test]
    fn only_what_is_written_from_right_to_left_is_isolated() {
        let title =
            |name: &str| Language::English.format("consent-title", &[("name", name.into())]);
        assert_eq!(title("Ken 7"), "Allow “Ken 7” to read your chats?");
        for name in ["ליאור 7", "ليلى", "a\u{202e}b"] {
            let isolated = format!("Allow “\u{2068}{name}\u{2069}” to read your chats?");
            assert_eq!(title(name), isolated);
        }
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0, 999, 1_000, -12_345, 1_234_567].map(grouped),
            ["0", "999", "1,000", "-12,345", "1,234,567"]
        );
    }

    #[test]
    fn numbers_choose_the_form() {
        let members =
            |count: i64| Language::English.format("chat-members", &[("count", count.into())]);
        assert_eq!((members(1).as_str(), members(2).as_str()), ("1 member", "2 members"));
        assert_eq!(members(1_234_567), "1,234,567 members");
        assert!(!Language::Thai.has("no-such-key") && Language::Thai.has("search"));
    }
}
