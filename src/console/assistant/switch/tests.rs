//! Addresses of comparisons: they are read as they were written, and say what is compared.

use chatkeep_core::assistant::{AssistantConfig, QaConfig};
use chatkeep_i18n::Language;
use chatkeep_services::assistant::{AssistantSettings, ComparisonRequest, RuleEdit};
use proptest::prelude::*;

use super::*;

const PAGE: &str = "/c/C1/assistant/switch";

fn asked(query: &str) -> SwitchQuery {
    serde_html_form::from_str(query).unwrap()
}

fn settings() -> AssistantSettings {
    let qa = QaConfig {
        mode: QaMode::Fuzzy,
        keyword_match: KeywordMatch::Contains,
        strictness: Strictness::Balanced,
        ..QaConfig::default()
    };
    let config = AssistantConfig { qa, ..AssistantConfig::default() };
    AssistantSettings { version: 1, config, effective_mode: QaMode::Fuzzy, semantic: true }
}

fn text() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        "停車",
        "ไทย",
        "👩‍👩‍👧",
        " ",
        "&",
        "=",
        "+",
        "%20",
        "#",
        "\n",
        "\u{0}",
        "\u{202e}",
    ]);
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// Returns `None`, or a text that is not empty.
fn some_text() -> impl Strategy<Value = Option<String>> {
    text().prop_map(|text| (!text.is_empty()).then_some(text))
}

prop_compose! {
    fn edited_rule()(
        rule in some_text(),
        keyword in prop::collection::vec(text(), 0..4),
        question in text(),
        answer in text(),
        not_for in prop::collection::vec(text(), 0..3),
        version in prop::option::of(any::<i64>()),
        seen in text(),
        cut in any::<bool>(),
    ) -> SwitchQuery {
        let cut = if cut { "yes".to_owned() } else { String::new() };
        SwitchQuery {
            rule, keyword, question, answer, not_for, version, seen, cut, ..SwitchQuery::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_address_is_read_as_the_comparison_that_it_was_written_for(
        edited in edited_rule(),
        mode in prop::option::of(prop::sample::select(QaMode::ALL.to_vec())),
        keyword_match in prop::option::of(prop::sample::select(KeywordMatch::ALL.to_vec())),
        strictness in prop::option::of(prop::sample::select(Strictness::ALL.to_vec())),
        show in prop::option::of(prop::sample::select(vec!["new", "lost", "other", "same"])),
        page in 0_usize..1_000,
    ) {
        let query = SwitchQuery { mode, keyword_match, strictness, ..edited };
        let address = query.address(PAGE, show, page);
        prop_assert!(address.is_ascii() && !address.contains('#'), "{}", address);
        let again = asked(address.strip_prefix(PAGE).unwrap().strip_prefix('?').unwrap());
        let expected = SwitchQuery { show: show.map(str::to_owned), page, ..query };
        prop_assert_eq!(format!("{again:?}"), format!("{expected:?}"));
        // The fields of the page's form carry the rule as the address does.
        prop_assert_eq!(again.draft(), expected.draft());
        prop_assert_eq!(again.request(), expected.request());
    }
}

#[test]
fn what_is_as_it_is_now_is_not_compared() {
    for (query, changes) in [
        ("", false),
        ("mode=fuzzy&match=contains&strictness=balanced", false),
        ("show=new&page=3&answer=x&question=y&notFor=z", false),
        ("mode=keyword", true),
        ("mode=fuzzy&match=exact", true),
        ("strictness=eager", true),
        ("rule=qa_1", true),
        ("keyword=x", true),
    ] {
        assert_eq!(asked(query).changes(&settings()), changes, "{query}");
    }
    for wrong in ["mode=best", "match=Exact", "strictness=", "page=-1", "page=x", "version=1.5"] {
        let read = serde_html_form::from_str::<SwitchQuery>(wrong);
        let is_absent = read.as_ref().is_ok_and(|query| !query.changes(&settings()));
        assert!(read.is_err() || is_absent, "{wrong}");
    }
}

#[test]
fn a_comparison_asks_for_the_rule_as_it_is_edited() {
    let edit = |query: &str| asked(query).request().rule;
    assert_eq!(edit("question=x&answer=y"), None, "a rule without keywords is none");
    let texts = |keywords: &[&str], answer: &str, not_for: Option<&[&str]>| {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        RuleUpdate {
            keywords: Some(owned(keywords)),
            question: Some(String::new()),
            answer: Some(answer.to_owned()),
            not_for: not_for.map(owned),
        }
    };
    let new = RuleEdit { rule: None, texts: texts(&["a", "b"], "y", None) };
    assert_eq!(edit("keyword=a&keyword=b&answer=y"), Some(new));
    for (query, not_for) in [
        ("rule=qa_1&keyword=a", None),
        // An empty one says that there are none, and is none itself.
        ("rule=qa_1&keyword=a&notFor=", Some(&[][..])),
        ("rule=qa_1&keyword=a&notFor=x&notFor=&notFor=y", Some(&["x", "y"][..])),
    ] {
        let expected = RuleEdit { rule: Some("qa_1".into()), texts: texts(&["a"], "", not_for) };
        assert_eq!(edit(query), Some(expected), "{query}");
    }
    let request = asked("mode=semantic&strictness=eager").request();
    let expected = ComparisonRequest {
        mode: Some(QaMode::Semantic),
        strictness: Some(Strictness::Eager),
        ..ComparisonRequest::default()
    };
    assert_eq!(request, expected);
}

#[test]
fn a_comparison_is_called_by_what_differs() {
    for language in Language::ALL {
        let named = |keys: &[&str]| {
            keys.iter().map(|key| language.text(key)).collect::<Vec<_>>().join(" · ")
        };
        for (query, keys) in [
            ("", &["qa-mode-fuzzy"][..]),
            ("mode=keyword", &["qa-mode-keyword"]),
            ("mode=fuzzy&match=exact", &["overview-match-exact"]),
            ("match=contains&strictness=eager", &["overview-strictness-eager"]),
            (
                "mode=semantic&match=exact&strictness=careful",
                &["qa-mode-semantic", "overview-match-exact", "overview-strictness-careful"],
            ),
            ("keyword=x", &["switch-with-rule"]),
            ("rule=qa_1&mode=keyword", &["switch-with-rule", "qa-mode-keyword"]),
        ] {
            assert_eq!(asked(query).name(&settings(), language), named(keys), "{query}");
        }
    }
}

#[test]
fn a_comparison_carries_the_form_that_it_was_opened_from() {
    let form = OverviewForm::of(&settings()).encoded();
    let query = SwitchQuery { overview: form.clone(), ..asked("mode=keyword&match=exact") };
    let address = query.address(PAGE, Some("new"), 2);
    let again = asked(address.strip_prefix(PAGE).unwrap().strip_prefix('?').unwrap());
    assert_eq!(again.draft(), [("overview", form)]);
    // What is compared there takes the place of what was chosen before.
    let expected = OverviewForm::of(&settings());
    let expected = expected.with(Some(QaMode::Keyword), Some(KeywordMatch::Exact), None);
    assert_eq!(again.form().unwrap().encoded(), expected.encoded());
    assert!(!again.has_rule() && asked("mode=keyword").form().is_none());
}

#[test]
fn an_answer_that_is_not_complete_fills_no_form() {
    let whole = asked("rule=qa_1&keyword=a&keyword=b&answer=A&notFor=n&version=2&seen=s");
    let saved = RuleForm { answer: "before".to_owned(), version: Some(9), ..RuleForm::default() };
    let form = whole.texts().unwrap().over(saved.clone());
    assert_eq!((&*form.keywords, &*form.answer), ("a\nb", "A"));
    assert_eq!((form.not_for.as_deref(), form.version, &*form.seen), (Some("n"), Some(2), "s"));
    assert!(asked("keyword=a&answer=A&cut=yes").texts().is_none());
    let kept = asked("rule=qa_1&keyword=a").texts().unwrap().over(saved);
    assert_eq!((&*kept.answer, kept.version), ("before", Some(9)));
}
