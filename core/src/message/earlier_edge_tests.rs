//! Laws of earlier texts: any contents survive storing, and the newest few stay.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn texts() -> impl Strategy<Value = Vec<EarlierText>> {
    let text = (-9_i64..40, prop::collection::vec(any::<char>(), 0..4)).prop_map(|(at, text)| {
        let text: String = text.iter().collect();
        let content = serde_json::to_string(&Content::text(text)).unwrap();
        EarlierText { at: Timestamp::from_millis(at), content }
    });
    prop::collection::vec(text, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_newest_stay_one_of_each_time(texts in texts()) {
        let mut by_time = BTreeMap::<_, String>::new();
        for EarlierText { at, content } in &texts {
            let known = by_time.entry(*at).or_default();
            *known = known.clone().max(content.clone());
        }
        let expected: Vec<_> =
            by_time.into_iter().map(|(at, content)| EarlierText { at, content }).collect();
        let kept: EarlierTexts = texts.into_iter().collect();
        let first = expected.len().saturating_sub(EarlierTexts::MOST);
        prop_assert_eq!(kept.as_slice(), &expected[first..]);
    }

    #[test]
    fn a_stored_list_is_read_and_sized_as_it_was(texts in texts()) {
        let kept: EarlierTexts = texts.into_iter().collect();
        let json = kept.to_json().unwrap_or_else(|| "[]".to_owned());
        let read = EarlierTexts::parse(&json).unwrap();
        prop_assert_eq!(&read, &kept);
        prop_assert_eq!(kept.bytes() > 0, !kept.is_empty());
        prop_assert!(kept.as_slice().iter().all(|text| text.parsed().is_some()));
        prop_assert_eq!(read.into_iter().collect::<EarlierTexts>(), kept);
    }

    #[test]
    fn what_is_known_is_not_added_again(texts in texts()) {
        let mut kept: EarlierTexts = texts.iter().cloned().collect();
        let before = kept.clone();
        for EarlierText { at, content } in &texts {
            prop_assert!(!kept.add(*at, content));
        }
        prop_assert_eq!(kept, before);
    }
}

#[test]
fn a_content_of_a_later_version_is_kept_and_not_read() {
    let stored = r#"[{"at":1,"content":{ "type":"poll", "n":1.50 }}]"#;
    let texts = EarlierTexts::parse(stored).unwrap();
    assert_eq!(texts.as_slice()[0].content, r#"{ "type":"poll", "n":1.50 }"#);
    assert!(texts.as_slice()[0].parsed().is_none());
    assert_eq!(texts.to_json().as_deref(), Some(stored));
    for broken in ["", "null", "[1]", r#"[{"at":"1","content":{}}]"#, r#"[{"at":1}]"#] {
        assert!(EarlierTexts::parse(broken).is_err(), "{broken}");
    }
}
