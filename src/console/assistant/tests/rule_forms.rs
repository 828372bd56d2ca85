//! The form of a rule at its edges: what browsers do to texts, what addresses fill in, and which
//! part of a long message is meant.

use axum::http::Uri;
use chatkeep_core::assistant::{Rule, RuleDraft, limits};
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{Language, grouped};
use chatkeep_services::assistant::RuleUpdate;
use proptest::prelude::*;

use super::super::rule_form::{RuleForm, RuleHints};
use super::rule;
use crate::visitor::Visitor;

/// Returns texts of any script on one line.
fn word() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "wifi",
        "密碼",
        "ワイファイ",
        "ก็ได้",
        "👩‍👩‍👧",
        "e\u{301}",
        "שלום",
        "，",
        "\"",
        "<b>",
        "&amp;",
    ]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(" "))
}

/// Returns texts on any number of lines.
fn text() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "午", " ", "\n", "\n\n", "\t", "ไทย", "\u{2028}"]);
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// Returns parts of messages: words, white space, and what is longer than a word.
fn parts() -> Vec<String> {
    let short = ["word", "停車場施工", "👩‍👩‍👧", " ", "\n", "\u{3000}"].map(str::to_owned);
    short.into_iter().chain(["x".repeat(45), "字".repeat(120)]).collect()
}

/// Returns a text as a browser sends it.
fn sent(text: &str) -> String {
    text.replace('\n', "\r\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_form_that_a_browser_sends_back_changes_nothing(
        keywords in prop::collection::vec(word(), 1..5),
        question in text(),
        answer in text(),
        not_for in prop::collection::vec(word(), 0..4),
    ) {
        let draft = RuleDraft { keywords, question, answer, not_for };
        let rule = Rule::new("qa_1".into(), draft.clone(), Timestamp::default(), "U1".into());
        let shown = RuleForm::of(&rule, 7);
        let back = RuleForm {
            keywords: sent(&shown.keywords),
            question: sent(&shown.question),
            answer: sent(&shown.answer),
            not_for: shown.not_for.as_deref().map(sent),
            ..shown.clone()
        };
        prop_assert!(back.has_texts_of(&shown));
        prop_assert_eq!(back.texts(), RuleUpdate::from(draft));
        let again = back.typed();
        prop_assert_eq!(
            (again.keywords, again.question, again.answer, again.not_for),
            (shown.keywords, shown.question, shown.answer, shown.not_for)
        );
    }

    #[test]
    fn a_text_that_is_not_for_a_rule_is_the_beginning_of_a_message(
        parts in prop::collection::vec(prop::sample::select(parts()), 0..60),
    ) {
        let message = parts.concat();
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = RuleForm::default().part_not_for(&message);
        prop_assert!(line.starts_with(&cut), "{}", cut);
        prop_assert!(cut.chars().count() <= limits::NOT_FOR_TEXT);
        prop_assert_eq!(cut.trim(), cut.as_str());
        prop_assert_eq!(RuleForm::default().part_not_for(&cut), cut.clone(), "it is short already");
        prop_assert_eq!(cut.is_empty(), line.is_empty(), "something is left of anything");
        let form = RuleForm { keywords: "停車".to_owned(), ..RuleForm::default() };
        let part = form.part_not_for(&message);
        prop_assert!(line.contains(&part), "{}", part);
        let is_short = line.chars().count() <= limits::NOT_FOR_TEXT;
        prop_assert!(!is_short || part == line, "a short message is whole: {}", part);
    }
}

#[test]
fn a_message_is_cut_at_the_limit_and_not_before() {
    let cut = |message: &str| RuleForm::default().part_not_for(message);
    let whole = format!("{} end", "x".repeat(496));
    assert_eq!(cut(&whole), whole, "just as long as it may be");
    assert_eq!(cut(&format!("{whole}ing")), "x".repeat(496), "no half word");
    assert_eq!(cut(&format!("{whole} more")), whole);
    // What is longer than a word may be is cut in the middle.
    let long = format!("see {}", "y".repeat(600));
    assert_eq!(cut(&long), format!("see {}", "y".repeat(496)));
    assert_eq!(cut(" \n\u{3000}"), "");
}

#[test]
fn the_part_of_a_message_begins_with_a_word() {
    let form = RuleForm { keywords: "fees".to_owned(), ..RuleForm::default() };
    let message = format!("{}fees", "abcdefghij ".repeat(60));
    let part = form.part_not_for(&message);
    assert!(part.ends_with("fees") && part.chars().count() <= limits::NOT_FOR_TEXT, "{part}");
    let torn: Vec<_> =
        part.split(' ').filter(|word| !message.split(' ').any(|w| w == *word)).collect();
    assert!(torn.is_empty(), "{torn:?}");
}

#[test]
fn a_message_that_is_short_enough_is_taken_whole() {
    let form = RuleForm { keywords: "fees".to_owned(), ..RuleForm::default() };
    let message = format!("{}ecoffees please", "ab ".repeat(82));
    assert_eq!(form.part_not_for(&message), message);
}

#[test]
fn a_keyword_in_a_script_without_spaces_is_found_wherever_it_is() {
    let form = RuleForm { keywords: "停車".to_owned(), ..RuleForm::default() };
    for before in [0, 100, 249, 250, 498, 499, 500, 600, 1_249] {
        let message = format!("{}停車{}", "字".repeat(before), "後".repeat(700));
        let part = form.part_not_for(&message);
        assert!(part.contains("停車"), "{before}: {part}");
        assert!(part.chars().count() <= limits::NOT_FOR_TEXT && message.contains(&part));
    }
    // No part begins within a letter with its marks, or within a Latin word.
    let form = RuleForm { keywords: "fees".to_owned(), ..RuleForm::default() };
    let thai = format!("{} fees", "กี่".repeat(400));
    let part = form.part_not_for(&thai);
    assert!(part.starts_with('ก') && part.ends_with(" fees"), "{part}");
    let latin = format!("{}coffees{}", "字".repeat(247), "字".repeat(700));
    assert_eq!(form.part_not_for(&latin), RuleForm::default().part_not_for(&latin));
}

#[test]
fn a_keyword_is_found_wherever_it_is_between_words() {
    let form = RuleForm { keywords: "parking fees".to_owned(), ..RuleForm::default() };
    for before in 0..150 {
        let message = format!("{}parking fees {}", "longerword ".repeat(before), "x ".repeat(300));
        let part = form.part_not_for(&message);
        assert!(part.contains("parking fees"), "{before}: {part}");
        assert!(message.starts_with(&part) || message.contains(&format!(" {part}")), "{part}");
    }
}

fn at(address: &'static str) -> Visitor {
    Visitor::stranger(Language::English, Uri::from_static(address))
}

#[test]
fn an_address_fills_a_form_and_adds_each_keyword_once() {
    let saved = RuleForm::of(&rule("qa_1", &["hours", "時間"], "9–18"), 3);
    let filled = |address| saved.clone().prefilled(&at(address));
    for (address, keywords, question) in [
        ("/rules/qa_1", "hours\n時間", ""),
        ("/rules/qa_1?keyword=hours&keyword=%E6%99%82%E9%96%93", "hours\n時間", ""),
        ("/rules/qa_1?keyword=open+when&keyword=open%20when", "hours\n時間\nopen when", ""),
        ("/rules/qa_1?question=a+%26+b&Keyword=x&q=y", "hours\n時間", "a & b"),
        ("/rules/qa_1?question=1&question=2", "hours\n時間", "2"),
        // Only what says that it is a draft is one.
        ("/rules/qa_1?draft=false&keyword=x&answer=y", "hours\n時間\nx", ""),
        ("/rules/qa_1?draft=yes&keyword=x&answer=y", "hours\n時間\nx", ""),
        ("/rules/qa_1?draft=true&keyword=x&question=Q", "x", "Q"),
        ("/rules/qa_1?draft=true&keyword=x&keyword=x", "x\nx", ""),
        ("/rules/qa_1?draft=true", "", ""),
    ] {
        let form = filled(address);
        assert_eq!((&*form.keywords, &*form.question), (keywords, question), "{address}");
        assert_eq!(form.answer, "9–18", "{address}");
        assert_eq!((form.version, &form.seen), (saved.version, &saved.seen), "{address}");
    }
    let draft = filled("/rules/qa_1?draft=true&keyword=x&answer=A%0AB&notFor=n&notFor=m&version=2");
    assert_eq!((&*draft.answer, draft.not_for.as_deref()), ("A\nB", Some("n\nm")));
    assert_eq!((draft.version, &*draft.seen), (Some(2), ""));
    let empty = RuleForm::default().prefilled(&at("/rules/new?draft=true&keyword=x&version=5"));
    assert_eq!((&*empty.keywords, empty.version), ("x", None), "a new rule has no version");
}

#[test]
fn a_keyword_is_known_in_any_width_and_case_and_with_marks_at_its_end() {
    let form = RuleForm { keywords: "Ｗｉｆｉ\n開門？".to_owned(), ..RuleForm::default() };
    for text in ["wifi", "WIFI!!", " wifi ", "開門", "開門。", "開門?"] {
        assert!(form.has_keyword(text), "{text}");
    }
    for text in ["", "wi-fi", "wifi 開門", "開", "wifi\n開門"] {
        assert!(!form.has_keyword(text), "{text}");
    }
}

#[test]
fn the_limits_of_the_fields_are_named_in_every_language() {
    for language in Language::ALL {
        let hints = RuleHints::new(language);
        for (hint, numbers) in [
            (hints.keywords, [limits::KEYWORDS, limits::KEYWORD]),
            (hints.question, [limits::QUESTION; 2]),
            (hints.answer, [limits::ANSWER; 2]),
            (hints.not_for, [limits::NOT_FOR, limits::NOT_FOR_TEXT]),
        ] {
            for number in numbers {
                let number = grouped(i64::try_from(number).unwrap());
                assert!(hint.contains(&number), "{number}: {hint}");
            }
        }
    }
}
