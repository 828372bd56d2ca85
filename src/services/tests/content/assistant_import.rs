//! Import of rules: what is planned is what happens, all of it or nothing.

use std::time::Duration;

use chatkeep_core::assistant::{Rule, RuleDraft};
use chatkeep_core::id::RuleId;

use super::super::{Group, OWNER};
use crate::ServiceError;
use crate::assistant::{ImportRow, RowFate, RuleUpdate, SettingsAccess};

fn texts(keywords: &[&str], answer: &str) -> RuleUpdate {
    let keywords = keywords.iter().map(ToString::to_string).collect();
    RuleDraft { keywords, answer: answer.to_owned(), ..RuleDraft::default() }.into()
}

/// Returns rows, each two lines below the one before.
fn rows(rows: Vec<(Option<&str>, RuleUpdate)>) -> Vec<ImportRow> {
    let lines = (2..).step_by(2);
    let row = |(line, (id, texts)): (_, (Option<&str>, _))| ImportRow {
        line,
        id: id.map(RuleId::from),
        texts,
    };
    lines.zip(rows).map(row).collect()
}

async fn stored(group: &Group, access: &SettingsAccess) -> (Vec<Rule>, i64) {
    let book = group.assistant.rules(access).await.unwrap();
    (book.rules, book.version)
}

/// Returns the fates of rows.
async fn fates(group: &Group, access: &SettingsAccess, rows: Vec<ImportRow>) -> Vec<RowFate> {
    let plan = group.assistant.plan_import(access, rows).await.unwrap();
    plan.rows.into_iter().map(|row| row.fate).collect()
}

#[tokio::test]
async fn new_rules_are_in_the_order_of_their_rows_behind_the_older_ones() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let old = assistant.add_rule(&access, super::super::draft("old"), None).await.unwrap();
    group.hands.advance(Duration::from_secs(1));
    let names: Vec<_> = (0..12).rev().map(|number| format!("word {number}")).collect();
    let table = || -> Vec<(Option<&str>, RuleUpdate)> {
        names.iter().map(|name| (None, texts(&[name.as_str()], "x"))).collect()
    };
    let (_, version) = stored(&group, &access).await;
    let plan = assistant.import_rules(&access, rows(table()), version).await.unwrap();
    assert_eq!((plan.added(), plan.changed(), plan.same(), plan.refused()), (12, 0, 0, 0));
    let (rules, after) = stored(&group, &access).await;
    assert!(rules[0].id == old && after > version);
    let imported: Vec<_> = rules[1..].iter().map(|rule| rule.keywords.concat()).collect();
    assert_eq!(imported, names, "all of them came in one moment");
    let by = rules[1..].iter().all(|rule| rule.created_by.as_str() == OWNER);
    assert!(by && rules[1..].iter().all(|rule| rule.created_at == group.clock.now()));
    // The same once more is nothing to do.
    let again = assistant.import_rules(&access, rows(table()), after).await;
    assert!(matches!(again, Err(ServiceError::Conflict(_))), "{again:?}");
    let same: Vec<_> = rules[1..].iter().map(|rule| RowFate::Same(rule.id.clone())).collect();
    assert_eq!(fates(&group, &access, rows(table())).await, same);
}

#[tokio::test]
async fn a_table_of_the_rules_as_a_spreadsheet_saves_it_changes_nothing() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    for (keyword, answer, not_for) in [
        ("營業時間", "一\n二\r\n三", "免費\n停車"),
        ("ก็", "ได้", "ไม่ได้"),
        ("👨\u{200d}👩\u{200d}👧", "\u{202e}a\u{202c}", "b"),
    ] {
        let draft = RuleDraft {
            keywords: vec![keyword.to_owned()],
            question: format!("{keyword}\n?"),
            answer: answer.to_owned(),
            not_for: vec![not_for.to_owned()],
        };
        assistant.add_rule(&access, draft, None).await.unwrap();
    }
    let (rules, _) = stored(&group, &access).await;
    let expected: Vec<_> = rules.iter().map(|rule| RowFate::Same(rule.id.clone())).collect();
    for line_break in ["\n", "\r\n", "\r"] {
        let broken = |text: &str| text.replace("\r\n", "\n").replace('\n', line_break);
        let of_rule = |rule: &Rule| {
            let update = RuleUpdate {
                keywords: Some(rule.keywords.clone()),
                question: Some(broken(&rule.question)),
                answer: Some(broken(&rule.answer)),
                not_for: Some(rule.not_for.iter().map(|text| broken(text)).collect()),
            };
            (None, update)
        };
        let table = rows(rules.iter().map(of_rule).collect());
        assert_eq!(fates(&group, &access, table).await, expected, "{line_break:?}");
    }
}

#[tokio::test]
async fn rules_may_change_places_and_keep_what_a_table_leaves_out() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let mut ids = Vec::new();
    for word in ["one", "two"] {
        let question = format!("{word}?");
        let draft = RuleDraft {
            question,
            not_for: vec![format!("not {word}")],
            ..super::super::draft(word)
        };
        ids.push(assistant.add_rule(&access, draft, None).await.unwrap());
        group.hands.advance(Duration::from_secs(1));
    }
    let keywords = |word: &str| RuleUpdate {
        keywords: Some(vec![word.to_owned()]),
        question: None,
        answer: Some("new".to_owned()),
        not_for: None,
    };
    let swapped = || {
        rows(vec![
            (Some(ids[0].as_str()), keywords("two")),
            (Some(ids[1].as_str()), keywords("one")),
        ])
    };
    let changed = [0, 1].map(|nth: usize| RowFate::Changed(ids[nth].clone()));
    assert_eq!(fates(&group, &access, swapped()).await, changed);
    let (_, version) = stored(&group, &access).await;
    assistant.import_rules(&access, swapped(), version).await.unwrap();
    let (rules, _) = stored(&group, &access).await;
    for (rule, (id, word, other)) in
        rules.iter().zip([(&ids[0], "one", "two"), (&ids[1], "two", "one")])
    {
        assert_eq!((&rule.id, &*rule.keywords.concat()), (id, other));
        assert_eq!(rule.question, format!("{word}?"), "absent texts stay as they are");
        assert_eq!(rule.not_for, [format!("not {word}")]);
        assert_eq!(rule.answer, "new");
    }
}

#[tokio::test]
async fn no_two_rows_are_about_one_rule() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let id = assistant.add_rule(&access, super::super::draft("hours"), None).await.unwrap();
    let (before, version) = stored(&group, &access).await;
    let by_id = || (Some(id.as_str()), texts(&["opening"], "x"));
    for (table, expected) in [
        // One row by its id, the other by the keywords that it has now.
        (vec![by_id(), (None, texts(&["Hours?"], "y"))], RowFate::Repeated(2)),
        (vec![by_id(), by_id()], RowFate::Repeated(2)),
        // Two new ones.
        (
            vec![(None, texts(&["a", "b"], "x")), (None, texts(&["Ｂ!", "A"], "y"))],
            RowFate::Repeated(2),
        ),
        // An id of elsewhere is none.
        (
            vec![(Some("qa_9"), texts(&["a"], "x")), (Some("qa_8"), texts(&["a"], "x"))],
            RowFate::Repeated(2),
        ),
    ] {
        let planned = fates(&group, &access, rows(table.clone())).await;
        assert_eq!(planned[1], expected, "{table:?}");
        assert!(!planned[0].is_refused(), "the first one is good");
        let refused = assistant.import_rules(&access, rows(table), version).await;
        assert!(matches!(refused, Err(ServiceError::Conflict(_))), "{refused:?}");
        assert_eq!(stored(&group, &access).await, (before.clone(), version));
    }
    // Another set of keywords is another rule, also with a word in common.
    let apart = vec![(None, texts(&["a", "b"], "x")), (None, texts(&["a"], "y"))];
    assert_eq!(fates(&group, &access, rows(apart)).await, [RowFate::Added, RowFate::Added]);
}

#[tokio::test]
async fn an_import_for_another_version_changes_nothing() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let table = || rows(vec![(None, texts(&["new"], "x"))]);
    let plan = assistant.plan_import(&access, table()).await.unwrap();
    assert!(plan.is_possible());
    assistant.add_rule(&access, super::super::draft("meanwhile"), None).await.unwrap();
    let before = stored(&group, &access).await;
    let stale = assistant.import_rules(&access, table(), plan.version).await;
    assert_eq!(stale.unwrap_err(), ServiceError::Stale);
    assert_eq!(stored(&group, &access).await, before);
    let nothing = assistant.import_rules(&access, Vec::new(), before.1).await;
    assert!(matches!(nothing, Err(ServiceError::Conflict(_))), "nothing to import");
    assistant.import_rules(&access, table(), before.1).await.unwrap();
    assert_eq!(stored(&group, &access).await.0.len(), 2);
}
