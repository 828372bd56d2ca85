//! Tests of webhook bodies at their limits: ids of any scripts, odd encodings, deep nesting.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn envelopes(body: &str) -> Vec<Envelope> {
    WebhookBody::parse(body.as_bytes()).unwrap().envelopes("main", Timestamp::from_millis(7))
}

fn body(events: &[String]) -> String {
    format!(r#"{{"destination":"U1","events":[{}]}}"#, events.join(" ,\n"))
}

#[test]
fn the_length_of_an_id_is_counted_in_bytes() {
    for letter in ["x", "é", "早", "👍"] {
        let longest = letter.repeat(LONGEST / letter.len());
        for (id, is_own) in [(longest.clone(), true), (format!("{longest}{letter}"), false)] {
            let all = envelopes(&body(&[format!(r#"{{"webhookEventId":"{id}"}}"#)]));
            assert_eq!(all[0].id.as_str() == id, is_own, "{} bytes", id.len());
            assert_eq!(all[0].id.as_str().starts_with("sha256:"), !is_own);
        }
    }
}

#[test]
fn what_is_not_json_in_utf_8_is_no_webhook() {
    for bad in [
        b"\xef\xbb\xbf{\"events\":[]}".as_slice(),
        b"{\"events\":[\"\xff\"]}",
        b"{\"events\":[]} {}",
        b"{\"events\":[]}\0",
        b"{\"events\":[],\"events\":[]}",
        b"{\"events\":null}",
        b"{\"events\":[{\"a\":1,}]}",
        b"{'events':[]}",
        b"\xff\xfe{\0}\0",
        b"null",
    ] {
        assert!(WebhookBody::parse(bad).is_err(), "{bad:?}");
    }
    for good in ["{}", " \r\n\t{\"events\" : [ ] }\n", r#"{"addedLater":{"x":[1]},"events":[]}"#] {
        assert!(envelopes(good).is_empty(), "{good:?}");
    }
}

#[test]
fn an_event_may_be_nested_as_deeply_as_anybody_likes() {
    let nested = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let event = format!(r#"{{"x":{nested},"webhookEventId":"A","source":{{"groupId":"C1"}}}}"#);
    let all = envelopes(&body(&[event.clone(), nested.clone()]));
    assert_eq!((all[0].id.as_str(), all[0].raw.get()), ("A", event.as_str()));
    assert_eq!(all[0].channel, Some("C1".into()));
    assert_eq!(all[1].raw.get(), nested);
}

#[test]
fn equal_events_without_an_id_are_as_many_as_there_are() {
    let event = |kind: &str| format!(r#"{{"type":"{kind}","source":{{"groupId":"C1"}}}}"#);
    let of = |kinds: &[&str]| {
        let events: Vec<_> = kinds.iter().map(|kind| event(kind)).collect();
        envelopes(&body(&events)).into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    let ids = of(&["x", "x", "y", "x", "x"]);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 5, "the bus drops what it knows: {ids:?}");
    assert_eq!(of(&["x", "x", "y", "x", "x"]), ids, "a redelivery has the same ids");
    assert_eq!(of(&["x"]), ids[..1], "whatever else is in the body");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_event_arrives_once_in_order_and_byte_for_byte(
        ids in prop::collection::vec("[A-Z0-9早👍]{1,30}", 0..12),
        spaces in "[ \t\n]{0,3}",
    ) {
        let mut seen = HashSet::new();
        let ids: Vec<_> = ids.into_iter().filter(|id| seen.insert(id.clone())).collect();
        let event = |(place, id): (usize, &String)| {
            format!(r#"{{{spaces}"n":{place}.0,"webhookEventId":"{id}","text":"\ud83d\u0000"}}"#)
        };
        let events: Vec<_> = ids.iter().enumerate().map(event).collect();
        let all = envelopes(&body(&events));
        let found: Vec<_> = all.iter().map(|one| one.id.as_str()).collect();
        prop_assert_eq!(found, ids.iter().map(String::as_str).collect::<Vec<_>>());
        let raw: Vec<_> = all.iter().map(|one| one.raw.get()).collect();
        prop_assert_eq!(raw, events.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn a_body_that_is_sent_again_has_the_same_ids_and_none_twice(
        numbers in prop::collection::btree_set(0_u32..1_000, 0..20),
        own in prop::collection::vec(prop::option::of("[AB]"), 20),
    ) {
        // Some events have an id of their own, which several share.
        let event = |(number, own): (&u32, &Option<String>)| {
            let id = own.as_ref().map_or_else(|| "null".to_owned(), |id| format!("\"{id}\""));
            format!(r#"{{"webhookEventId":{id},"message":{{"id":"{number}"}}}}"#)
        };
        let events: Vec<_> = numbers.iter().zip(&own).map(event).collect();
        let ids = || envelopes(&body(&events)).into_iter().map(|one| one.id).collect::<Vec<_>>();
        let first = ids();
        prop_assert_eq!(&ids(), &first);
        prop_assert_eq!(first.len(), events.len());
        prop_assert_eq!(first.into_iter().collect::<HashSet<_>>().len(), events.len());
    }
}
