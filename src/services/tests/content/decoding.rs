//! Input of callers, as it is decoded: where a wrong value stands, and what no type may be made of.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;
use serde_json::{Value, json};

use super::conversation::{refusal, sentence};
use crate::decode::{self, Json, is_whole};
use crate::{Nullable, ServiceError};

/// A body as deep as is wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tree {
    children: Vec<Self>,
    named: BTreeMap<String, Self>,
    value: Option<u8>,
}

/// Step from a tree to one in it.
#[derive(Clone, Debug)]
enum Step {
    Child(usize),
    Named(String),
}

/// A form with every kind of value.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Form {
    small: Option<i8>,
    large: Option<u64>,
    ratio: Option<f64>,
    text: Option<String>,
    list: Option<Vec<String>>,
    pair: Option<(u8, u8)>,
    change: Nullable<Vec<u8>>,
    #[serde(deserialize_with = "decode::whole")]
    limit: Option<u32>,
    #[serde(deserialize_with = "decode::nullable_whole")]
    bound: Option<u32>,
}

fn body(json: &Value) -> Result<Form, ServiceError> {
    decode::body(json.to_string().as_bytes())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0_usize..3).prop_map(Step::Child),
        "[/~.0-9 \\[\\]]{0,6}".prop_map(Step::Named),
        "(\\PC|👨‍👩‍👧|ก็|é){0,12}".prop_map(Step::Named),
    ]
}

/// Returns a tree with that object at the end of the steps.
fn grown(steps: &[Step], end: Value) -> Value {
    steps.iter().rev().fold(end, |inner, step| match step {
        Step::Child(nth) => {
            let mut children = vec![json!({}); *nth];
            children.push(inner);
            json!({ "children": children, "value": 1 })
        }
        Step::Named(name) => json!({ "value": 2, "named": { name.as_str(): inner } }),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The field is a JSON Pointer (RFC 6901), whatever the names are.
    #[test]
    fn the_field_of_an_error_leads_to_the_wrong_value(
        steps in vec(step(), 0..6),
        wrong in select(vec![json!("wrong"), json!(256), json!(-1), json!({}), json!([1])]),
    ) {
        let tree = grown(&steps, json!({ "value": wrong }));
        let (field, _) = refusal(decode::body::<Tree>(tree.to_string().as_bytes()));
        prop_assert_eq!(tree.pointer(&field), Some(&wrong), "{}", field);
        let (of_tool, _) = refusal(decode::arguments::<Tree>(tree.clone()));
        prop_assert_eq!(field, of_tool);
    }

    #[test]
    fn an_unknown_member_is_refused_where_it_stands(
        steps in vec(step(), 0..6),
        name in "(\\PC|[/~]|👨‍👩‍👧|ก็){0,20}",
    ) {
        prop_assume!(!["children", "named", "value"].contains(&name.as_str()));
        let tree = grown(&steps, json!({ name.as_str(): "unknown" }));
        let (field, _) = refusal(decode::body::<Tree>(tree.to_string().as_bytes()));
        prop_assert_eq!(tree.pointer(&field), Some(&json!("unknown")), "{}", field);
    }

    #[test]
    fn what_is_right_is_read_whatever_its_names(steps in vec(step(), 0..6), value: u8) {
        let tree = grown(&steps, json!({ "value": value }));
        let read: Tree = decode::body(tree.to_string().as_bytes()).unwrap();
        let end = steps.iter().fold(&read, |tree, step| match step {
            Step::Child(nth) => &tree.children[*nth],
            Step::Named(name) => &tree.named[name],
        });
        prop_assert_eq!(end.value, Some(value));
    }

    /// Numbers in queries have no `+` and no zeros before them: they are those of JSON.
    #[test]
    fn a_whole_number_is_one_of_json(text in "[-+]?[0-9]{0,5}[.eE]?[0-9]{0,2}") {
        let of_json = serde_json::from_str::<serde_json::Number>(&text);
        let is_plain = !text.contains(['.', 'e', 'E']);
        prop_assert_eq!(is_whole(&text), of_json.is_ok() && is_plain, "{}", text);
    }

    #[test]
    fn json_is_read_as_it_was_written(text in "(\\PC|\n|\\\\|\"){0,20}", number: i64, flag: bool) {
        let value = json!([{ "t": text, "n": number }, flag, null, [1.5, {}]]);
        let read = decode::parse(value.to_string().as_bytes()).unwrap();
        prop_assert_eq!(read, Json::from(value));
    }
}

#[test]
fn members_keep_their_order_and_are_all_there() {
    let read = decode::parse(br#"{"b":1,"a":null,"b":true}"#).unwrap();
    let Json::Object(members) = read else { panic!("{read:?}") };
    let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b", "a", "b"]);
    assert!(matches!(members[0].1, Json::Number(_)));
    assert_eq!((&members[1].1, &members[2].1), (&Json::Null, &Json::Bool(true)));
}

#[test]
fn what_is_given_twice_is_refused_also_deep_inside() {
    for (given, field) in [
        (r#"{"value":1,"value":1}"#, "/value"),
        (r#"{"children":[{},{"value":1,"value":2}]}"#, "/children/1/value"),
        (r#"{"named":{"a/b":{"children":[],"children":[]}}}"#, "/named/a~1b/children"),
    ] {
        let refused = decode::body::<Tree>(given.as_bytes());
        assert_eq!(refusal(refused).0, field, "{given}");
        let refused = sentence(decode::body::<Tree>(given.as_bytes()));
        assert!(refused.ends_with(" is given more than once"), "{refused}");
    }
}

#[test]
fn numbers_are_read_up_to_the_ends_of_their_types() {
    let read = |json: Value| body(&json);
    for small in [-128, 0, 127] {
        assert_eq!(read(json!({ "small": small })).unwrap().small.map(i32::from), Some(small));
    }
    assert_eq!(read(json!({ "large": u64::MAX })).unwrap().large, Some(u64::MAX));
    for (given, why) in [
        (json!({"small": 128}), "small must be a whole number from -128 to 127"),
        (json!({"small": -129}), "small must be a whole number from -128 to 127"),
        (json!({"small": "1"}), "small must be a whole number from -128 to 127"),
        (json!({"large": -1}), "large must be a whole number from 0 to 18446744073709551615"),
        (json!({"large": 1.0e20}), "large must be a whole number from 0 to 18446744073709551615"),
        (json!({"ratio": "0.5"}), "ratio must be a number"),
        (json!({"ratio": true}), "ratio must be a number"),
    ] {
        assert_eq!(sentence(read(given)), why);
    }
    let ratio = |ratio: Value| read(json!({ "ratio": ratio })).unwrap().ratio.unwrap();
    assert!((ratio(json!(2)) - 2.0).abs() < 1e-9 && (ratio(json!(-0.25)) + 0.25).abs() < 1e-9);
    // A number that no type holds is no JSON that can be read.
    let huge = decode::body::<Form>(br#"{"ratio":1e999}"#);
    assert_eq!(refusal(huge).0, "");
}

#[test]
fn three_is_whole_however_it_is_written() {
    for (given, limit) in [("3", 3), ("3.0", 3), ("3e2", 300), ("0", 0), ("-0.0", 0)] {
        let read: Form = decode::body(format!(r#"{{"limit":{given}}}"#).as_bytes()).unwrap();
        assert_eq!(read.limit, Some(limit), "{given}");
    }
    // Every field has a limit of its own, which says so.
    for large in ["4294967295", "4294967296", "1e300"] {
        let read: Form = decode::body(format!(r#"{{"limit":{large}}}"#).as_bytes()).unwrap();
        assert_eq!(read.limit, Some(u32::MAX), "{large}");
    }
    for (given, why) in [
        ("3.5", "limit must be a whole number"),
        ("\"3\"", "limit must be a whole number"),
        ("[]", "limit must be a whole number"),
        ("-1", "limit must not be negative"),
        ("-3.0", "limit must not be negative"),
        ("null", "limit must not be null"),
    ] {
        let read = decode::body::<Form>(format!(r#"{{"limit":{given}}}"#).as_bytes());
        assert_eq!(sentence(read), why, "{given}");
    }
    for given in [json!({ "bound": null }), json!({})] {
        assert_eq!(body(&given).unwrap().bound, None);
    }
    assert_eq!(body(&json!({ "bound": 7.0 })).unwrap().bound, Some(7));
    assert_eq!(sentence(body(&json!({ "bound": -7 }))), "bound must not be negative");
}

#[test]
fn a_null_and_an_absent_value_are_told_apart_where_both_mean_something() {
    let change = |json: Value| body(&json).unwrap().change;
    assert!(matches!(change(json!({})), Nullable::Unchanged));
    assert!(matches!(change(json!({ "change": null })), Nullable::To(None)));
    let Nullable::To(Some(list)) = change(json!({ "change": [1, 2] })) else { panic!() };
    assert_eq!(list, [1, 2]);
    // The permission to be null is the value's own, and not that of what is in it.
    let (field, _) = refusal(body(&json!({ "change": [1, null] })));
    assert_eq!(field, "/change/1");
    let read: Form = decode::arguments(json!({ "change": null, "text": null })).unwrap();
    assert!(matches!(read.change, Nullable::To(None)) && read.text.is_none());
}

#[test]
fn halves_of_a_surrogate_pair_and_bytes_that_are_no_utf_8_are_no_text() {
    for given in [
        br#"{"text":"\ud83d"}"#.as_slice(),
        br#"{"text":"\udc00 \ud800"}"#,
        b"{\"text\":\"\xff\"}",
        b"{\"text\":\"\xed\xa0\x80\"}",
        b"\xef\xbb\xbf{}",
        br#"{"text":"a
b"}"#,
    ] {
        let why = sentence(decode::body::<Form>(given));
        assert!(why.starts_with("The body is not valid JSON: error at line "), "{why}");
    }
    let pair: Form = decode::body(br#"{"text":"\ud83d\ude00"}"#).unwrap();
    assert_eq!(pair.text.as_deref(), Some("😀"));
}

#[test]
fn a_body_without_end_is_refused_and_not_followed() {
    let deep = [r#"{"children":["#.repeat(100_000), "]}".repeat(100_000)].concat();
    assert_eq!(refusal(decode::body::<Tree>(deep.as_bytes())).0, "");
    let lists = ["[".repeat(100_000), "]".repeat(100_000)].concat();
    assert_eq!(refusal(decode::body::<Tree>(lists.as_bytes())).0, "");
}

#[test]
fn u0000_is_refused_wherever_a_text_is() {
    for (given, field) in
        [(json!({ "text": "\0" }), "/text"), (json!({ "list": ["a", "b\0"] }), "/list/1")]
    {
        assert_eq!(refusal(body(&given)).0, field);
        assert_eq!(refusal(decode::arguments::<Form>(given)).0, field);
    }
    let (field, _) = refusal(decode::query::<Form>("text=%00"));
    assert_eq!(field, "text");
    // The names of members are texts as well.
    let named = json!({ "children": [{ "named": { "a\0b": {} } }] });
    let of_body = decode::body::<Tree>(named.to_string().as_bytes());
    for read in [of_body, decode::arguments(named)] {
        let why = sentence(read);
        assert_eq!(why, "children[0].named has a name in it that contains U+0000");
    }
    // Written out, it is six characters like any others.
    let read = body(&json!({ "text": r"\u0000", "list": [r"\0"] })).unwrap();
    assert_eq!((read.text.as_deref(), read.list), (Some(r"\u0000"), Some(vec![r"\0".to_owned()])));
}

#[test]
fn numbers_of_queries_are_texts_and_those_of_tools_are_not() {
    let read: Form = decode::query("small=-5&large=18446744073709551615").unwrap();
    assert_eq!((read.small, read.large), (Some(-5), Some(u64::MAX)));
    for wrong in ["large=18446744073709551616", "small=128", "small=--1", "small=-", "small="] {
        let (field, _) = refusal(decode::query::<Form>(wrong));
        assert_eq!(Some(field.as_str()), wrong.split('=').next());
    }
    // An id that a client made a number of has lost its last digits.
    let number = decode::arguments::<Form>(json!({ "text": 508_200_000_000_000_001_u64 }));
    assert_eq!(sentence(number), "text must be a string: put it in quotes");
    assert_eq!(sentence(body(&json!({ "text": 5 }))), "text must be a string");
}

#[test]
fn a_pair_has_two_values() {
    assert_eq!(body(&json!({ "pair": [1, 2] })).unwrap().pair, Some((1, 2)));
    let (field, _) = refusal(body(&json!({ "pair": [1, "2"] })));
    assert_eq!(field, "/pair/1");
    for wrong in [json!([1]), json!([]), json!({ "0": 1, "1": 2 }), json!([1, 2, 3])] {
        let why = sentence(body(&json!({ "pair": wrong })));
        assert_eq!(why, "pair must be a list of 2 values");
    }
}
