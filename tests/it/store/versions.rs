//! Settings have versions, so that nobody overwrites unread changes.

use chatkeep_core::assistant::{AssistantConfig, RuleDraft};
use chatkeep_core::id::{ChannelId, RuleId, UserId};
use chatkeep_store::{RuleChange, RuleChanged, SettingVersions, Store};
use futures_util::future::join_all;

use super::{Fixture, at, on_both};

on_both!(
    each_object_has_its_own_version,
    another_version_is_not_overwritten,
    texts_are_changed_together_or_not_at_all,
    of_many_who_read_the_same_one_writes,
);

/// Returns the versions of switches, welcome text, group rules and rules.
async fn versions(store: &Store) -> [i64; 4] {
    let channel = ChannelId::from("C1");
    [
        store.assistant().assistant_setting(&channel).await.unwrap().version,
        store.assistant().welcome(&channel).await.unwrap().version,
        store.assistant().group_rules(&channel).await.unwrap().version,
        store.assistant().rules(&channel).await.unwrap().version,
    ]
}

fn draft() -> RuleDraft {
    RuleDraft { keywords: vec!["k".to_owned()], answer: "a".to_owned(), ..RuleDraft::default() }
}

async fn welcome(store: &Store, text: &str, wanted: Option<i64>) -> Result<(), SettingVersions> {
    let change = |mut config: AssistantConfig, versions: SettingVersions| {
        if wanted.is_some_and(|wanted| wanted != versions.welcome) {
            return Err(versions);
        }
        text.clone_into(&mut config.welcome.message);
        Ok(config)
    };
    let by = "U1".into();
    let changed =
        store.assistant().change_assistant_config(&"C1".into(), &by, at(9), change).await.unwrap();
    changed.map(|_| ())
}

async fn switch(store: &Store, on: bool, wanted: Option<i64>) -> Result<i64, SettingVersions> {
    let change = |mut config: AssistantConfig, versions: SettingVersions| {
        if wanted.is_some_and(|wanted| wanted != versions.config) {
            return Err(versions);
        }
        config.enabled = on;
        Ok(config)
    };
    let by = "U1".into();
    let changed =
        store.assistant().change_assistant_config(&"C1".into(), &by, at(9), change).await.unwrap();
    changed.map(|setting| setting.version)
}

async fn each_object_has_its_own_version(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let (store, channel, user) = (&fixture.store, ChannelId::from("C1"), UserId::from("U1"));
    assert_eq!(versions(store).await, [0, 0, 0, 0]);
    assert_eq!(switch(store, false, None).await.unwrap(), 1);
    assert_eq!(switch(store, false, None).await.unwrap(), 1, "what changes nothing is no edit");
    assert_eq!(versions(store).await, [1, 0, 0, 0]);
    welcome(store, "hi", None).await.unwrap();
    assert_eq!(versions(store).await, [2, 1, 0, 0], "the welcome text is one of the switches");
    assert!(
        store.assistant().set_group_rules(&channel, "be kind", None, &user, at(9)).await.unwrap()
    );
    assert_eq!(versions(store).await, [2, 1, 1, 0]);
    let id = RuleId::from("qa_1");
    for change in [
        RuleChange::Add(&id, &draft()),
        RuleChange::Replace(&id, &RuleDraft { answer: "b".to_owned(), ..draft() }),
        RuleChange::Remove(&id),
    ] {
        let done =
            store.assistant().change_rule(&channel, change, None, &user, at(9)).await.unwrap();
        assert_eq!(done, RuleChanged::Done);
    }
    let gone = RuleChange::Remove(&id);
    let done = store.assistant().change_rule(&channel, gone, None, &user, at(9)).await.unwrap();
    assert_eq!(done, RuleChanged::NoRule);
    assert_eq!(versions(store).await, [2, 1, 1, 3]);
    assert_eq!(
        store.assistant().assistant_state(&channel).await.unwrap().map_or(0, |state| state.version),
        14,
        "workers see every change"
    );
}

async fn another_version_is_not_overwritten(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let (store, channel, user) = (&fixture.store, ChannelId::from("C1"), UserId::from("U1"));
    // 0 is the version of settings that were never set.
    assert!(
        store.assistant().set_group_rules(&channel, "one", Some(&[0]), &user, at(9)).await.unwrap()
    );
    assert!(
        !store
            .assistant()
            .set_group_rules(&channel, "two", Some(&[0]), &user, at(9))
            .await
            .unwrap()
    );
    assert!(
        !store.assistant().set_group_rules(&channel, "two", Some(&[]), &user, at(9)).await.unwrap()
    );
    assert!(
        store
            .assistant()
            .set_group_rules(&channel, "three", Some(&[7, 1]), &user, at(9))
            .await
            .unwrap()
    );
    assert_eq!(store.assistant().group_rules(&channel).await.unwrap().value.text, "three");
    let id = RuleId::from("qa_1");
    let add = async |wanted: &[i64]| {
        let change = RuleChange::Add(&id, &draft());
        store.assistant().change_rule(&channel, change, Some(wanted), &user, at(9)).await.unwrap()
    };
    assert_eq!(add(&[1]).await, RuleChanged::Stale);
    assert_eq!(add(&[0]).await, RuleChanged::Done);
    let remove = RuleChange::Remove(&id);
    let stale =
        store.assistant().change_rule(&channel, remove, Some(&[0]), &user, at(9)).await.unwrap();
    assert_eq!(stale, RuleChanged::Stale);
    assert_eq!(store.assistant().rules(&channel).await.unwrap().value.items.len(), 1);
    welcome(store, "hi", Some(0)).await.unwrap();
    let refused = welcome(store, "ho", Some(0)).await.unwrap_err();
    assert_eq!((refused.config, refused.welcome), (1, 1));
    assert_eq!(store.assistant().welcome(&channel).await.unwrap().value.text, "hi");
    assert_eq!(versions(store).await, [1, 1, 2, 1]);
}

async fn texts_are_changed_together_or_not_at_all(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let store = &fixture.store;
    let set = async |text: &str, config: i64, rules: i64| {
        let change = |mut settings: AssistantConfig, versions: SettingVersions| {
            text.clone_into(&mut settings.welcome.message);
            if versions.config == config { Ok(settings) } else { Err(versions) }
        };
        let (channel, user, rules) = ("C1".into(), "U1".into(), [rules]);
        let rules = (text, Some(rules.as_slice()));
        store.assistant().change_assistant_texts(&channel, &user, at(9), change, rules).await
    };
    assert!(set("one", 0, 0).await.unwrap().unwrap());
    assert_eq!(versions(store).await, [1, 1, 1, 0]);
    assert!(!set("two", 1, 0).await.unwrap().unwrap(), "others changed the group rules");
    assert!(set("two", 0, 1).await.unwrap().is_err(), "others changed the settings");
    assert_eq!(versions(store).await, [1, 1, 1, 0]);
    assert_eq!(store.assistant().welcome(&"C1".into()).await.unwrap().value.text, "one");
    assert_eq!(store.assistant().group_rules(&"C1".into()).await.unwrap().value.text, "one");
}

async fn of_many_who_read_the_same_one_writes(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let store = &fixture.store;
    let (channel, user) = (ChannelId::from("C1"), UserId::from("U1"));
    let texts = ["a", "b", "c", "d", "e"];
    let written = join_all(texts.map(|text| welcome(store, text, Some(0)))).await;
    assert_eq!(written.iter().filter(|done| done.is_ok()).count(), 1);
    let assistant = store.assistant();
    let set = texts.map(|text| assistant.set_group_rules(&channel, text, Some(&[0]), &user, at(9)));
    let set = join_all(set).await.into_iter().filter(|done| *done.as_ref().unwrap()).count();
    assert_eq!(set, 1);
    assert_eq!(versions(store).await, [1, 1, 1, 0]);
}
