//! The form of the search: its query, its address, and its filters as chips.

use chatkeep_core::message::MessageType;
use chatkeep_i18n::Language;
use chatkeep_search::Sort;
use chatkeep_view::when::When;
use proptest::prelude::*;

use super::{NOW, at, values_of};
use crate::dates::Dates;
use crate::search_form::SearchForm;

fn form(fields: &[(&str, &str)]) -> SearchForm {
    let query = crate::form::query_of(fields);
    serde_html_form::from_str(&query).unwrap()
}

/// Returns the form that an address has.
fn form_at(address: &str) -> SearchForm {
    serde_html_form::from_str(address.split_once('?').unwrap().1).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_address_has_the_whole_form(
        q in any::<String>(),
        sender in any::<String>(),
        days in prop::collection::vec("[0-9 /-]{0,10}", 2),
        cursor in "[A-Za-z0-9_=+/&%-]{0,20}",
    ) {
        let form = SearchForm {
            q,
            kind: "image".to_owned(),
            sender,
            from: days[0].clone(),
            to: days[1].clone(),
            sort: "newest".to_owned(),
            cursor,
        };
        let address = form.address("/c/C1");
        prop_assert!(address.starts_with("/c/C1/search?") && address.is_ascii(), "{}", address);
        prop_assert_eq!(format!("{:?}", form_at(&address)), format!("{form:?}"));
    }
}

#[test]
fn words_and_filters_are_one_query() {
    let all = form(&[
        ("q", " \"開會\" -取消 "),
        ("type", "image"),
        ("sender", "U1"),
        ("from", "2026-02-28"),
        ("to", "2026-03-01"),
        ("sort", "newest"),
        ("cursor", "c1"),
    ]);
    for language in Language::ALL {
        let query = all.query(language).unwrap();
        assert_eq!(query.text, " \"開會\" -取消 ", "as typed");
        assert_eq!(query.kind, Some(MessageType::Image));
        assert_eq!(query.sender, Some("U1".into()));
        assert_eq!((query.from, query.to), (When::parse("2026-02-28"), When::parse("2026-03-01")));
        assert_eq!((query.sort, query.cursor.as_deref()), (Sort::Newest, Some("c1")));
        assert_eq!(query.bot_name, Some(language.text("bot-name")));
    }
    let words = form(&[("q", "hi"), ("sort", "upside-down"), ("type", "")]);
    let query = words.query(Language::English).unwrap();
    assert_eq!((query.sort, query.kind, query.sender), (Sort::Relevance, None, None));
    assert_eq!((query.from, query.to, query.cursor), (None, None, None));
}

#[test]
fn filters_alone_search_too() {
    for (field, value, words) in [
        ("type", "sticker", "type:\"sticker\""),
        ("type", "photo", "type:\"photo\""),
        ("sender", "U1", "from:\"U1\""),
        ("from", "2026-02-28", "after:\"2026-02-28\""),
        ("to", "2026-02-28", "before:\"2026-02-28\""),
    ] {
        let form = form(&[("q", " \u{3000}"), (field, value)]);
        assert!(!form.is_empty(), "{field}");
        assert_eq!(form.query(Language::English).unwrap().text, words);
    }
}

#[test]
fn a_form_without_words_and_filters_asks_for_nothing() {
    for fields in [
        &[][..],
        &[("q", ""), ("type", ""), ("sender", ""), ("from", ""), ("to", "")],
        &[("q", "\u{3000} \n")],
        &[("sort", "newest"), ("cursor", "c1")],
    ] {
        let form = form(fields);
        assert!(form.is_empty() && form.query(Language::Thai).is_none(), "{fields:?}");
    }
}

#[test]
fn a_field_with_white_space_is_an_empty_one() {
    for field in ["from", "to", "sender", "cursor"] {
        let query = form(&[("q", "wifi"), (field, " \u{3000}\t")]).query(Language::English);
        let query = query.unwrap_or_else(|| panic!("{field}"));
        assert!(query.from.is_none() && query.to.is_none(), "{field}");
        assert!(query.sender.is_none() && query.cursor.is_none(), "{field}");
    }
    let form = form(&[("from", " 2026-02-28 "), ("to", "\t")]);
    let query = form.query(Language::English).unwrap();
    assert_eq!((query.from, query.to), (When::parse("2026-02-28"), None));
    assert_eq!(query.text, "after:\"2026-02-28\"");
}

#[test]
fn what_is_no_day_is_no_search() {
    for wrong in ["2026-02-29", "x", "2026-3-1", "2026-03-01T00:00"] {
        for field in ["from", "to"] {
            let form = form(&[("q", "hi"), (field, wrong)]);
            assert!(!form.is_empty() && form.query(Language::English).is_none(), "{wrong}");
        }
    }
}

#[test]
fn each_chip_removes_its_filter_alone_and_begins_at_the_first_page() {
    let form = form(&[
        ("q", "a&b=c"),
        ("type", "video"),
        ("from", "2026-02-28"),
        ("to", "2025-03-01"),
        ("sort", "newest"),
        ("cursor", "c1"),
    ]);
    for language in Language::ALL {
        let dates = Dates { language, zone: chrono_tz::UTC, now: at(NOW) };
        let chips = form.chips("/c/C1", &[], dates);
        assert_eq!(chips.len(), 3);
        for (chip, removed) in chips.iter().zip(["type", "from", "to"]) {
            assert!(chip.remove.contains(&chip.label), "{}", chip.remove);
            for field in ["q", "type", "from", "to", "sort"] {
                let kept = values_of(&chip.href, field);
                assert_eq!(kept.is_empty(), field == removed, "{field}: {}", chip.href);
            }
            assert_eq!(values_of(&chip.href, "q"), ["a&b=c"]);
            assert_eq!(values_of(&chip.href, "cursor"), [""; 0]);
        }
        assert_eq!(chips[0].label, language.text("kind-video"));
        assert!(chips[1].label.contains("28"), "{}", chips[1].label);
        let year = if language == Language::Thai { "2568" } else { "2025" };
        assert!(chips[2].label.contains(year), "a day of another year: {}", chips[2].label);
    }
}

#[test]
fn filters_that_mean_nothing_have_no_chip() {
    let dates = Dates { language: Language::English, zone: chrono_tz::UTC, now: at(NOW) };
    let form = form(&[("type", "photo"), ("sender", "Unobody"), ("from", "soon"), ("to", "")]);
    assert!(form.chips("/c/C1", &[], dates).is_empty());
}
