//! Tests of documents whose strings are translated: all else stays byte for byte, and each string
//! is found with the member that it belongs to.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::Value;

use super::json::{JsonString, translated};

/// Returns documents of all kinds of values, with names and texts that need escapes.
fn document() -> impl Strategy<Value = Value> {
    let text = string_regex("(\\PC|[\"\\\\/:,{}\\[\\]\n\t\u{0}\u{2028}]|\\\\u0){0,6}");
    let text = text.unwrap().boxed();
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let members = prop::collection::vec((text.clone(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Returns a document with every name and text longer by a mark.
fn marked(value: &Value) -> Value {
    match value {
        Value::String(text) => format!("{text}!\"").into(),
        Value::Array(items) => items.iter().map(marked).collect(),
        Value::Object(members) => {
            let marked = members.iter().map(|(name, value)| (format!("{name}!\""), marked(value)));
            Value::Object(marked.collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_nobody_translates_stays_byte_for_byte(
        value in document(),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        for document in [serde_json::to_vec(&value).unwrap(), pretty, bytes] {
            prop_assert_eq!(&translated(&document, |_, _| None), &document);
        }
    }

    #[test]
    fn every_string_and_nothing_else_is_translated(value in document()) {
        let mark = |_: JsonString<'_>, text: &str| Some(format!("{text}!\""));
        for document in [serde_json::to_vec(&value), serde_json::to_vec_pretty(&value)] {
            let shown = translated(&document.unwrap(), mark);
            let read: Value = serde_json::from_slice(&shown).unwrap();
            prop_assert_eq!(&read, &marked(&value));
        }
    }

    #[test]
    fn a_text_that_is_broken_off_is_translated_as_far_as_it_goes(
        value in document(),
        at in any::<prop::sample::Index>(),
    ) {
        let whole = serde_json::to_vec(&value).unwrap();
        let cut = &whole[..at.index(whole.len())];
        let seen = RefCell::new(Vec::new());
        let note = |place: JsonString<'_>, text: &str| {
            seen.borrow_mut().push((place == JsonString::Name, text.to_owned()));
            None
        };
        translated(cut, note);
        let of_cut = seen.take();
        translated(&whole, note);
        let of_whole = seen.take();
        // Of the last one it is not known yet whether it is a name.
        let (texts, all): (Vec<_>, Vec<_>) = of_cut.iter().zip(&of_whole).unzip();
        prop_assert_eq!(texts.len(), of_cut.len());
        for (at, (text, whole)) in texts.iter().zip(&all).enumerate() {
            prop_assert_eq!(&text.1, &whole.1);
            prop_assert!(text.0 == whole.0 || at + 1 == texts.len());
        }
    }
}

#[test]
fn a_value_is_of_the_member_before_it_whatever_is_between() {
    let json = br#"{ "a"
        :	"1" , "b":["2",["3"],"x:"],"\u0063" : {"d":"4"},"e":":"}"#;
    let seen = RefCell::new(Vec::new());
    translated(json, |place, text| {
        let place = match place {
            JsonString::Name => "name",
            JsonString::Value(member) => member,
        };
        seen.borrow_mut().push(format!("{place}={text}"));
        None
    });
    let expected = "name=a;a=1;name=b;b=2;b=3;b=x:;name=c;name=d;d=4;name=e;e=:";
    assert_eq!(seen.into_inner().join(";"), expected);
}
