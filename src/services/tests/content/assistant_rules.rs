//! Rules of the assistant: their limits, partial changes, warnings, and who may see them.

use std::time::Duration;

use chatkeep_core::assistant::{KeywordMatch, RuleDraft, limits};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::RuleId;
use chatkeep_core::role::Scope;

use super::super::{Group, OTHER, OWNER, caller, draft};
use super::conversation::{access, refusal};
use crate::access::{Member, ReadMessages};
use crate::assistant::{
    AssistantChange, KeywordWarningKind, QaChange, RuleOrder, RuleQuery, RuleUpdate,
    SettingsAccess, VisibleRules,
};
use crate::{Caller, Defect, ServiceError};

/// An update that leaves everything as it is.
const NOTHING: RuleUpdate =
    RuleUpdate { keywords: None, question: None, answer: None, not_for: None };

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Returns a whole rule.
fn rule(keywords: &[&str], not_for: &[&str]) -> RuleDraft {
    RuleDraft {
        keywords: words(keywords),
        question: "When?".to_owned(),
        answer: "9-18".to_owned(),
        not_for: words(not_for),
    }
}

/// Returns the texts of a saved rule, and the version of the list.
async fn saved(group: &Group, access: &SettingsAccess, rule: &RuleId) -> (RuleDraft, i64) {
    let (rule, version) = group.assistant.rule(access, rule).await.unwrap();
    (rule.into(), version)
}

#[tokio::test]
async fn each_text_of_a_rule_has_its_limits_and_its_field() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let composed = |characters: usize| "e\u{301}".repeat(characters);
    let whole = RuleDraft {
        keywords: vec![composed(limits::KEYWORD)],
        question: composed(limits::QUESTION),
        answer: composed(limits::ANSWER),
        not_for: vec![composed(limits::NOT_FOR_TEXT)],
    };
    let id = assistant.add_rule(&access, whole.clone(), None).await.unwrap();
    assert_eq!(saved(&group, &access, &id).await.0, whole, "as it was typed");
    let least =
        RuleDraft { keywords: vec!["?".to_owned()], answer: "…".to_owned(), ..rule(&[], &[]) };
    let least = RuleDraft { question: String::new(), ..least };
    assistant.add_rule(&access, least, None).await.unwrap();
    let long = |text: &str| format!("{text}x");
    for (wrong, field, defect) in [
        (
            RuleDraft { keywords: vec![long(&whole.keywords[0])], ..whole.clone() },
            "/keywords/0",
            Defect::TooLong { max: 100 },
        ),
        (
            RuleDraft { question: long(&whole.question), ..whole.clone() },
            "/question",
            Defect::TooLong { max: 500 },
        ),
        (
            RuleDraft { answer: long(&whole.answer), ..whole.clone() },
            "/answer",
            Defect::TooLong { max: 5_000 },
        ),
        (RuleDraft { answer: "\u{3164} ".to_owned(), ..whole.clone() }, "/answer", Defect::Empty),
        (
            RuleDraft { not_for: vec![long(&whole.not_for[0])], ..whole.clone() },
            "/notFor/0",
            Defect::TooLong { max: 500 },
        ),
        (
            RuleDraft { keywords: Vec::new(), ..whole.clone() },
            "/keywords",
            Defect::TooFewKeywords { min: 1 },
        ),
        (
            RuleDraft { keywords: (0..51).map(|number| number.to_string()).collect(), ..whole },
            "/keywords",
            Defect::TooManyKeywords { max: 50 },
        ),
    ] {
        let version = assistant.rules(&access).await.unwrap().version;
        let refused = assistant.add_rule(&access, wrong.clone(), None).await;
        assert_eq!(refusal(refused), (field.to_owned(), defect));
        // An update is checked as a new rule is, before the rule is looked for.
        let unknown = "qa_nowhere".into();
        let refused = assistant.replace_rule(&access, &unknown, wrong.into(), None).await;
        assert_eq!(refusal(refused), (field.to_owned(), defect));
        assert_eq!(assistant.rules(&access).await.unwrap().version, version);
    }
}

#[tokio::test]
async fn a_rule_that_is_not_there_is_not_found_whatever_is_to_become_of_it() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let unknown = "qa_1_gone".into();
    assistant.add_rule(&access, draft("hours"), None).await.unwrap();
    let version = assistant.rules(&access).await.unwrap().version;
    for expected in [None, Some(&[version][..])] {
        let whole = RuleUpdate::from(draft("x"));
        for update in [NOTHING, RuleUpdate { answer: Some("x".to_owned()), ..NOTHING }, whole] {
            let replaced = assistant.replace_rule(&access, &unknown, update, expected).await;
            assert_eq!(replaced, Err(ServiceError::NotFound));
        }
        let removed = assistant.remove_rule(&access, &unknown, expected).await;
        assert_eq!(removed, Err(ServiceError::NotFound));
        assert_eq!(assistant.rule(&access, &unknown).await.unwrap_err(), ServiceError::NotFound);
    }
    assert_eq!(assistant.rules(&access).await.unwrap().version, version);
    let stale = assistant.remove_rule(&access, &unknown, Some(&[version + 1])).await;
    assert_eq!(stale, Err(ServiceError::Stale), "what somebody else removed may have been it");
}

#[tokio::test]
async fn of_two_partial_changes_at_once_neither_is_lost() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let id = assistant.add_rule(&access, rule(&["hours"], &[]), None).await.unwrap();
    for round in 0..5 {
        let (keyword, answer) = (format!("word {round}"), format!("answer {round}"));
        let (one, other, third) = (
            RuleUpdate { keywords: Some(words(&[keyword.as_str()])), ..NOTHING },
            RuleUpdate { answer: Some(answer.clone()), ..NOTHING },
            RuleUpdate { not_for: Some(words(&["never"])), ..NOTHING },
        );
        let changed = tokio::join!(
            assistant.replace_rule(&access, &id, one, None),
            assistant.replace_rule(&access, &id, other, None),
            assistant.replace_rule(&access, &id, third, None),
        );
        assert_eq!(changed, (Ok(()), Ok(()), Ok(())));
        let expected = RuleDraft { answer, ..rule(&[keyword.as_str()], &["never"]) };
        assert_eq!(saved(&group, &access, &id).await.0, expected);
    }
}

#[tokio::test]
async fn what_changes_nothing_is_no_edit() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let id = assistant.add_rule(&access, rule(&["hours"], &["happy hours"]), None).await.unwrap();
    let before = assistant.rules(&access).await.unwrap();
    group.hands.advance(Duration::from_secs(5));
    let same = rule(&["hours"], &["happy hours"]);
    for update in [
        NOTHING,
        same.into(),
        RuleUpdate { keywords: Some(words(&["hours"])), ..NOTHING },
        // Spellings that match the same collapse to the first one.
        RuleUpdate { keywords: Some(words(&["hours", "ＨＯＵＲＳ", "Hours?"])), ..NOTHING },
        RuleUpdate { not_for: Some(words(&[" happy hours "])), ..NOTHING },
    ] {
        assistant.replace_rule(&access, &id, update, None).await.unwrap();
        let after = assistant.rules(&access).await.unwrap();
        assert_eq!((after.version, &after.rules), (before.version, &before.rules));
        assert_eq!(after.revision.updated_at, before.revision.updated_at);
    }
    // Another spelling is another text.
    let update = RuleUpdate { keywords: Some(words(&["Hours"])), ..NOTHING };
    assistant.replace_rule(&access, &id, update, None).await.unwrap();
    let after = assistant.rules(&access).await.unwrap();
    assert!(after.version > before.version);
    let (rule, revision) = (&after.rules[0], &after.revision);
    assert_eq!((rule.changed_at, revision.updated_at), (group.clock.now(), group.clock.now()));
    assert_eq!(rule.created_at, before.rules[0].created_at);
}

#[tokio::test]
async fn keywords_and_texts_that_a_rule_is_not_for_never_meet() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let id = assistant.add_rule(&access, rule(&["hours"], &["Happy hours!"]), None).await.unwrap();
    let before = saved(&group, &access, &id).await;
    for (update, field, defect) in [
        // What is given is at fault: the keyword, or the text.
        (
            RuleUpdate {
                keywords: Some(words(&["new", "ＨＡＰＰＹ　ＨＯＵＲＳ"])), ..NOTHING
            },
            "/keywords/1",
            Defect::IsNotFor,
        ),
        (
            RuleUpdate { not_for: Some(words(&["a", "b", "Hours?"])), ..NOTHING },
            "/notFor/2",
            Defect::IsKeyword,
        ),
        (
            RuleUpdate {
                keywords: Some(words(&["new"])),
                not_for: Some(words(&["new."])),
                ..NOTHING
            },
            "/notFor/0",
            Defect::IsKeyword,
        ),
    ] {
        let refused = assistant.replace_rule(&access, &id, update, None).await;
        assert_eq!(refusal(refused), (field.to_owned(), defect));
        assert_eq!(saved(&group, &access, &id).await, before);
    }
    // Changed together they may change places.
    let swapped = RuleUpdate {
        keywords: Some(words(&["happy hours"])),
        not_for: Some(words(&["hours"])),
        ..NOTHING
    };
    assistant.replace_rule(&access, &id, swapped, None).await.unwrap();
    let (after, _) = saved(&group, &access, &id).await;
    assert_eq!(after, rule(&["happy hours"], &["hours"]));
}

#[tokio::test]
async fn a_page_of_rules_has_the_warnings_about_its_rules_alone() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let mut ids = Vec::new();
    for (keyword, not_for) in [("wifi", "免費"), ("hours", "x"), ("ＷＩＦＩ?", "y"), ("車", "z")]
    {
        ids.push(assistant.add_rule(&access, rule(&[keyword], &[not_for]), None).await.unwrap());
        group.hands.advance(Duration::from_secs(1));
    }
    let qa = QaChange { keyword_match: Some(KeywordMatch::Contains), ..QaChange::default() };
    let change = AssistantChange { qa: Some(qa), ..AssistantChange::default() };
    assistant.change_settings(&access, change, None).await.unwrap();
    let found = async |text: &str| {
        let query = RuleQuery { text: text.to_owned(), ..RuleQuery::default() };
        let found = assistant.find_rules(&access, query).await.unwrap();
        assert_eq!((found.total, found.found), (4, found.rules.len()));
        let rules = found.rules.into_iter().map(|rule| rule.id).collect::<Vec<_>>();
        let warned = found.warnings.into_iter().map(|one| (one.kind, one.rule_ids));
        (rules, warned.collect::<Vec<_>>())
    };
    let shared = (KeywordWarningKind::Shared, vec![ids[0].clone(), ids[2].clone()]);
    let short = (KeywordWarningKind::Short, vec![ids[3].clone()]);
    let all = found("").await;
    assert_eq!(all, (ids.clone(), vec![shared.clone(), short.clone()]));
    // Found in keywords, questions, answers and texts that a rule is not for, in any spelling.
    assert_eq!(found("WiFi").await, (vec![ids[0].clone(), ids[2].clone()], vec![shared.clone()]));
    assert_eq!(found("免費").await, (vec![ids[0].clone()], vec![shared]));
    assert_eq!(found(" 車 ").await, (vec![ids[3].clone()], vec![short]));
    assert_eq!(found("HOURS").await, (vec![ids[1].clone()], Vec::new()));
    assert_eq!(found("ｗｈｅｎ?").await.0, ids);
    assert_eq!(found("nowhere").await, (Vec::new(), Vec::new()));
    let query = RuleQuery { order: RuleOrder::Changed, page: 1, ..RuleQuery::default() };
    let beyond = assistant.find_rules(&access, query).await.unwrap();
    assert!(beyond.rules.is_empty() && beyond.warnings.is_empty() && !beyond.has_more);
    let reviewed = assistant.saved_rules(&access, ids[1].clone()).await.unwrap();
    assert!(reviewed.warnings.is_empty(), "others are not this rule's");
}

#[tokio::test]
async fn rules_are_seen_by_those_who_may_read_the_settings() {
    let group = Group::new().await;
    let settings = group.settings().await;
    let id = group.assistant.add_rule(&settings, draft("hours"), None).await.unwrap();
    let gone: RuleId = "qa_1_gone".into();
    let seen = async |caller: Caller| {
        let reader = access::<Member, ReadMessages>(&group, caller).await;
        let asked = [&id, &gone, &id].into_iter();
        group.assistant.visible_rules(&reader, asked).await.unwrap()
    };
    let VisibleRules::Of(rules) = seen(caller(OWNER)).await else { panic!("an owner may") };
    assert_eq!(rules.keys().collect::<Vec<_>>(), [&id], "what is gone is left out");
    assert_eq!(rules[&id].answer, "Yes");
    assert!(matches!(seen(caller(OTHER)).await, VisibleRules::Hidden), "a member");
    let scopes = Scope::ALL.into_iter().filter(|scope| *scope != Scope::WriteAssistant);
    let bounds = Bounds { scopes: scopes.collect(), ..Bounds::full() };
    let key = Caller { bounds, ..caller(OWNER) };
    assert!(matches!(seen(key).await, VisibleRules::Hidden), "an owner's key without the scope");
    let chosen = group.assistant.chosen_rules(&settings, [&id, &gone].into()).await.unwrap();
    assert_eq!(chosen.into_keys().collect::<Vec<_>>(), std::slice::from_ref(&id));
    let none = group.assistant.chosen_rules(&settings, [].into()).await.unwrap();
    assert!(none.is_empty());
}

#[tokio::test]
async fn the_size_of_the_rules_counts_their_texts_in_bytes() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    assert_eq!(assistant.rules_size(&access).await.unwrap(), 0);
    let id = assistant.add_rule(&access, rule(&["hours"], &[]), None).await.unwrap();
    let small = assistant.rules_size(&access).await.unwrap();
    let update = RuleUpdate { answer: Some("長".repeat(1_000)), ..NOTHING };
    assistant.replace_rule(&access, &id, update, None).await.unwrap();
    let large = assistant.rules_size(&access).await.unwrap();
    assert_eq!(large - small, 3_000 - "9-18".len());
    let update = RuleUpdate { not_for: Some(words(&["free"])), ..NOTHING };
    assistant.replace_rule(&access, &id, update, None).await.unwrap();
    let more = assistant.rules_size(&access).await.unwrap();
    assert_eq!(more - large, r#"["free"]"#.len() - "[]".len());
    assistant.remove_rule(&access, &id, None).await.unwrap();
    assert_eq!(assistant.rules_size(&access).await.unwrap(), 0);
}
