//! The assistant's settings: every change raises the version.

use chatkeep_core::assistant::{AssistantConfig, QaMode, RuleDraft};
use chatkeep_core::id::{ChannelId, RuleId};
use chatkeep_store::{RuleChange, RuleChanged};

use super::{Fixture, at, on_both};

on_both!(
    defaults_until_something_is_set,
    welcome_is_one_value_in_two_places,
    rules_are_added_replaced_and_removed,
    a_lost_version_is_given_to_no_other_state,
    a_refused_change_changes_nothing,
    all_rules_together_are_bounded,
    texts_that_a_rule_must_not_answer_are_its_own,
);

fn draft(keyword: &str) -> RuleDraft {
    RuleDraft {
        keywords: vec![keyword.to_owned()],
        question: "q".to_owned(),
        answer: "a".to_owned(),
        ..RuleDraft::default()
    }
}

async fn defaults_until_something_is_set(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let store = &fixture.store;
    assert_eq!(
        store.assistant().assistant_config(&"C1".into()).await.unwrap(),
        AssistantConfig::default()
    );
    assert_eq!(
        store
            .assistant()
            .assistant_state(&"C1".into())
            .await
            .unwrap()
            .map_or(0, |state| state.version),
        0
    );
    assert!(store.assistant().rules(&"C1".into()).await.unwrap().value.items.is_empty());
    assert_eq!(store.assistant().group_rules(&"C1".into()).await.unwrap().value.text, "");
}

async fn welcome_is_one_value_in_two_places(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let store = &fixture.store;
    let change = |mut config: AssistantConfig, _| -> Result<_, ()> {
        "歡迎 {displayName}".clone_into(&mut config.welcome.message);
        Ok(config)
    };
    let changed =
        store.assistant().change_assistant_config(&"C1".into(), &"U1".into(), at(9), change).await;
    assert_eq!(changed.unwrap().unwrap().value.welcome.message, "歡迎 {displayName}");
    let welcome = store.assistant().welcome(&"C1".into()).await.unwrap().value;
    assert_eq!(welcome.text, "歡迎 {displayName}");
    assert_eq!(welcome.revision.updated_at, Some(at(9)));
    let again =
        store.assistant().change_assistant_config(&"C1".into(), &"U2".into(), at(10), change).await;
    assert_eq!(again.unwrap().unwrap().version, 1);
    let welcome = store.assistant().welcome(&"C1".into()).await.unwrap().value;
    assert_eq!(welcome.revision.updated_at, Some(at(9)), "the same text is no edit");
    for time in [10, 11] {
        let (text, user) = ("be kind\n別吵", "U1".into());
        store.assistant().set_group_rules(&"C1".into(), text, None, &user, at(time)).await.unwrap();
    }
    let rules = store.assistant().group_rules(&"C1".into()).await.unwrap().value;
    assert_eq!(rules.revision.updated_at, Some(at(10)));
    assert_eq!(
        store.assistant().group_rules(&"C1".into()).await.unwrap().value.text,
        "be kind\n別吵"
    );
    assert_eq!(
        store
            .assistant()
            .assistant_state(&"C1".into())
            .await
            .unwrap()
            .map_or(0, |state| state.version),
        10
    );
}

async fn texts_that_a_rule_must_not_answer_are_its_own(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let (store, channel, user) = (&fixture.store, "C1".into(), "U1".into());
    let apply = async |change: RuleChange<'_>, time| {
        store.assistant().change_rule(&channel, change, None, &user, at(time)).await.unwrap()
    };
    let not_for = |texts: &[&str]| RuleDraft {
        not_for: texts.iter().map(ToString::to_string).collect(),
        ..draft("hours")
    };
    let id = "qa_1_a".into();
    assert_eq!(
        apply(RuleChange::Add(&id, &not_for(&["happy \"hours\""])), 10).await,
        RuleChanged::Done
    );
    let same = RuleChange::Replace(&id, &not_for(&["happy \"hours\""]));
    assert_eq!(apply(same, 11).await, RuleChanged::Unchanged);
    let bytes = store.assistant().rule_sizes(&channel).await.unwrap().1;
    let other = not_for(&["happy \"hours\"", "快樂"]);
    assert_eq!(apply(RuleChange::Replace(&id, &other), 12).await, RuleChanged::Done);
    let rule = &store.assistant().rules(&channel).await.unwrap().value.items[0];
    assert_eq!((&rule.not_for, rule.changed_at), (&other.not_for, at(12)));
    let grown = store.assistant().rule_sizes(&channel).await.unwrap().1 - bytes;
    assert_eq!(grown, 9, "a comma, two quotation marks, and six bytes");
}

async fn rules_are_added_replaced_and_removed(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let (store, channel, user) = (&fixture.store, "C1".into(), "U1".into());
    let apply = async |change: RuleChange<'_>, time| {
        store.assistant().change_rule(&channel, change, None, &user, at(time)).await.unwrap()
    };
    let (a, b, gone) = ("qa_1_a".into(), "qa_2_b".into(), "qa_9_x".into());
    assert_eq!(apply(RuleChange::Add(&a, &draft("one")), 10).await, RuleChanged::Done);
    assert_eq!(apply(RuleChange::Add(&b, &draft("two")), 11).await, RuleChanged::Done);
    assert_eq!(apply(RuleChange::Replace(&b, &draft("zwei")), 12).await, RuleChanged::Done);
    assert_eq!(apply(RuleChange::Replace(&b, &draft("zwei")), 13).await, RuleChanged::Unchanged);
    assert_eq!(apply(RuleChange::Replace(&gone, &draft("no")), 13).await, RuleChanged::NoRule);
    assert_eq!(apply(RuleChange::Remove(&gone), 13).await, RuleChanged::NoRule);
    let list = store.assistant().rules(&channel).await.unwrap().value;
    let keywords: Vec<_> = list.items.iter().map(|rule| rule.keywords[0].as_str()).collect();
    assert_eq!(keywords, ["one", "zwei"]);
    assert_eq!(
        list.revision.updated_at,
        Some(at(12)),
        "neither what is refused nor what is so already counts"
    );
    assert_eq!(apply(RuleChange::Remove(&a), 14).await, RuleChanged::Done);
    assert_eq!(store.assistant().rules(&channel).await.unwrap().value.items.len(), 1);
    assert_eq!(
        store.assistant().assistant_state(&channel).await.unwrap().map_or(0, |state| state.version),
        14
    );
}

/// A database that lost its last transactions has earlier versions again; what is compiled by one of
/// the lost versions must not pass for what is set next.
async fn a_lost_version_is_given_to_no_other_state(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let (store, channel) = (&fixture.store, ChannelId::from("C1"));
    let version = async || {
        let state = store.assistant().assistant_state(&channel).await.unwrap();
        state.map_or(0, |state| state.version)
    };
    let set = async |text: &str, time| {
        let user = "U1".into();
        store.assistant().set_group_rules(&channel, text, None, &user, at(time)).await.unwrap();
        version().await
    };
    let kept = set("kept", 1_000).await;
    let lost = set("lost", 2_000).await;
    let rolled_back = format!("UPDATE assistants SET version = {kept}, rules_text = 'kept'");
    fixture.run(&rolled_back).await;
    assert_eq!(version().await, kept);
    let next = set("another", 2_500).await;
    assert!(next > lost, "{next} {lost}");
    // A clock that is behind takes no version back.
    assert!(set("one more", 10).await > next);
}

async fn a_refused_change_changes_nothing(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let change = |mut config: AssistantConfig, _| {
        config.qa.mode = QaMode::Semantic;
        Err("no")
    };
    let refused = fixture
        .store
        .assistant()
        .change_assistant_config(&"C1".into(), &"U1".into(), at(9), change)
        .await;
    assert_eq!(refused.unwrap().unwrap_err(), "no");
    assert_eq!(
        fixture
            .store
            .assistant()
            .assistant_state(&"C1".into())
            .await
            .unwrap()
            .map_or(0, |state| state.version),
        0
    );
}

async fn all_rules_together_are_bounded(fixture: Fixture) {
    const MIB: usize = 1024 * 1024;
    fixture.group("C1", &["U1"]).await;
    let (store, channel, user) = (&fixture.store, "C1".into(), "U1".into());
    let apply = async |change: RuleChange<'_>| {
        store.assistant().change_rule(&channel, change, None, &user, at(10)).await.unwrap()
    };
    // `["k"]` and `q` are 6 bytes.
    let sized = |bytes: usize| RuleDraft { answer: "x".repeat(bytes - 6), ..draft("k") };
    let ids: Vec<RuleId> = (0..9).map(|n| format!("qa_{n}").into()).collect();
    for id in &ids[..8] {
        assert_eq!(apply(RuleChange::Add(id, &sized(MIB))).await, RuleChanged::Done);
    }
    let full = i64::try_from(8 * MIB).unwrap();
    assert_eq!(store.assistant().rule_sizes(&channel).await.unwrap(), (8, full));
    let one_more = RuleChanged::TooLarge(full + 7);
    assert_eq!(apply(RuleChange::Add(&ids[8], &sized(7))).await, one_more);
    let grown = RuleChanged::TooLarge(full + 1);
    assert_eq!(apply(RuleChange::Replace(&ids[0], &sized(MIB + 1))).await, grown);
    assert_eq!(store.assistant().rule_sizes(&channel).await.unwrap(), (8, full), "nothing changed");
    assert_eq!(apply(RuleChange::Replace(&ids[0], &sized(MIB - 7))).await, RuleChanged::Done);
    assert_eq!(apply(RuleChange::Add(&ids[8], &sized(7))).await, RuleChanged::Done);
    // A list from before there was a bound: it can be read, and shrink in steps.
    fixture.run("UPDATE qa_rules SET answer = answer || answer").await;
    assert_eq!(store.assistant().rules(&channel).await.unwrap().value.items.len(), 9);
    assert_eq!(apply(RuleChange::Replace(&ids[1], &sized(MIB))).await, RuleChanged::Done);
    assert_eq!(apply(RuleChange::Replace(&ids[1], &draft("k"))).await, RuleChanged::Done);
    let still = apply(RuleChange::Add(&"qa_new".into(), &draft("k"))).await;
    assert!(matches!(still, RuleChanged::TooLarge(_)), "{still:?}");
    assert_eq!(apply(RuleChange::Remove(&ids[2])).await, RuleChanged::Done);
}
