//! Lists of rules: the choice in their addresses, warnings, numbers, and the words for a pause.

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode, Strictness};
use chatkeep_core::id::RuleId;
use chatkeep_i18n::Language;
use chatkeep_services::assistant::{KeywordWarning, KeywordWarningKind};
use url::form_urlencoded;

use super::super::choice::rule_link;
use super::super::rules::{RulesQuery, counted, warnings_about};
use super::super::words::{duration, match_key, mode_key, scope_key, strictness_key};
use super::rule;

fn asked(query: &str) -> RulesQuery {
    serde_html_form::from_str(query).unwrap()
}

#[test]
fn a_choice_of_rules_is_carried_through_addresses() {
    for (query, address) in [
        ("", "/r"),
        ("page=0&sort=&q=", "/r"),
        ("q=+%20+", "/r"),
        ("q=+wifi+%26+more%0A&sort=hits&page=2", "/r?q=wifi+%26+more&sort=hits&page=2"),
        ("sort=changed", "/r?sort=changed"),
        ("q=%E5%AF%86&page=18446744073709551615", "/r?q=%E5%AF%86&page=18446744073709551615"),
        ("q=10&page=10", "/r?q=10&page=10"),
    ] {
        let to = asked(query).at("/r");
        assert_eq!(to, address, "{query}");
        let (_, again) = to.split_once('?').unwrap_or_default();
        assert_eq!(asked(again).at("/r"), address, "it is read as it was written");
    }
    assert_eq!(RulesQuery::newest("/r"), "/r?sort=changed");
}

#[test]
fn a_searched_zero_is_carried_through_addresses() {
    assert_eq!(asked("q=0&sort=hits").at("/r"), "/r?q=0&sort=hits");
    assert_eq!(asked("sort=0&page=0").at("/r"), "/r?sort=0");
}

fn warning(kind: KeywordWarningKind, keyword: &str, rules: &[&str]) -> KeywordWarning {
    let rule_ids = rules.iter().map(|&id| RuleId::from(id)).collect();
    KeywordWarning { kind, keyword: keyword.to_owned(), rule_ids }
}

#[test]
fn of_rules_with_one_keyword_the_first_one_is_told_that_it_answers() {
    let warnings = [
        warning(KeywordWarningKind::Shared, "密碼", &["qa_1", "qa_2", "qa_3"]),
        warning(KeywordWarningKind::IsTrigger, "群規", &["qa_2"]),
        warning(KeywordWarningKind::Short, "?", &["qa_2", "qa_4"]),
    ];
    for language in Language::ALL {
        let told = |id: &str| warnings_about(&rule(id, &["x"], "y"), &warnings, language);
        let sentence = |key: &str, word: &str| language.format(key, &[("word", word.into())]);
        let [first, later] =
            ["rules-warning-first", "rules-warning-later"].map(|key| sentence(key, "密碼"));
        let (trigger, short) =
            (sentence("rules-warning-trigger", "群規"), sentence("rules-warning-short", "?"));
        assert_eq!(told("qa_1"), [first]);
        assert_eq!(told("qa_2"), [later.clone(), trigger, short.clone()]);
        assert_eq!(told("qa_3"), [later]);
        assert_eq!(told("qa_4"), [short]);
        assert!(told("qa_5").is_empty());
    }
}

#[test]
fn numbers_of_rules_have_the_form_of_their_number() {
    let english = |key: &str, number: usize| counted(key, number, Language::English);
    for (key, number, words) in [
        ("rules-count", 0, "0 rules"),
        ("rules-count", 1, "1 rule"),
        ("rules-count", 10_000, "10,000 rules"),
        ("rules-hits", 0, "Not used yet"),
        ("rules-hits", 1, "1 answer"),
        ("rules-hits", 2, "2 answers"),
    ] {
        assert_eq!(english(key, number), words);
    }
    for language in Language::ALL {
        assert_ne!(counted("rules-hits", 0, language), counted("rules-hits", 2, language));
    }
}

#[test]
fn a_pause_is_told_in_the_largest_unit_that_divides_it() {
    let in_all = |seconds: u32| Language::ALL.map(|language| duration(seconds, language));
    for (seconds, words) in [
        (0, ["不限制", "No pause", "休ませない", "ไม่ต้องพัก"]),
        (1, ["1 秒", "1 second", "1秒", "1 วินาที"]),
        (59, ["59 秒", "59 seconds", "59秒", "59 วินาที"]),
        (60, ["1 分鐘", "1 minute", "1分", "1 นาที"]),
        (61, ["61 秒", "61 seconds", "61秒", "61 วินาที"]),
        (3_540, ["59 分鐘", "59 minutes", "59分", "59 นาที"]),
        (3_600, ["1 小時", "1 hour", "1時間", "1 ชั่วโมง"]),
        (5_400, ["90 分鐘", "90 minutes", "90分", "90 นาที"]),
        (86_400, ["24 小時", "24 hours", "24時間", "24 ชั่วโมง"]),
        (3_600_001, ["3,600,001 秒", "3,600,001 seconds", "3,600,001秒", "3,600,001 วินาที"]),
    ] {
        assert_eq!(in_all(seconds), words, "{seconds}");
    }
}

#[test]
fn each_choice_of_the_assistant_has_a_name_of_its_own_in_every_language() {
    let keys = [
        QaMode::ALL.into_iter().map(mode_key).collect::<Vec<_>>(),
        KeywordMatch::ALL.into_iter().map(match_key).collect(),
        Strictness::ALL.into_iter().map(strictness_key).collect(),
        [NoMatchScope::Always, NoMatchScope::Addressed].into_iter().map(scope_key).collect(),
    ];
    for language in Language::ALL {
        for keys in &keys {
            let mut names: Vec<_> = keys.iter().map(|key| language.text(key)).collect();
            names.sort_unstable();
            names.dedup();
            assert!(names.len() == keys.len() && keys.len() > 1, "{keys:?}");
        }
    }
}

#[test]
fn a_keyword_of_any_script_is_added_by_a_link() {
    let link = |keyword: &str| rule_link("/c/C1/assistant/rules", &"qa_1/2".into(), keyword);
    assert_eq!(link("wifi"), "/c/C1/assistant/rules/qa_1%2F2?keyword=wifi");
    for keyword in ["a&question=x#y", "開門？", "ไทย\nสอง", "+ %20", "👩‍👩‍👧"]
    {
        let address = link(keyword);
        assert!(address.is_ascii(), "{address}");
        let (_, query) = address.split_once('?').unwrap();
        let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        assert_eq!(pairs, [("keyword".to_owned(), keyword.to_owned())]);
    }
}
