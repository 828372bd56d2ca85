//! Settings and texts of the assistant: limits, versions, and what a refusal leaves as it was.

use std::time::Duration;

use chatkeep_core::assistant::{QaMode, limits};
use chatkeep_store::{ActivityFilter, PresenceEvidenceKind};

use super::super::{GROUP, Group, OWNER, draft, mode};
use super::conversation::refusal;
use crate::assistant::{
    AssistantChange, FieldText, IdlePart, QaChange, TextVersions, TriggerChange, VersionedText,
    WelcomeChange,
};
use crate::{Defect, FieldPath, Nullable, ServiceError};

fn no_match(reply: String) -> AssistantChange {
    let qa = QaChange { no_match_reply: Nullable::To(Some(reply)), ..QaChange::default() };
    AssistantChange { qa: Some(qa), ..AssistantChange::default() }
}

fn welcome(message: String) -> AssistantChange {
    let welcome = WelcomeChange { enabled: Some(true), message: Some(message) };
    AssistantChange { welcome: Some(welcome), ..AssistantChange::default() }
}

fn cooldown(seconds: u32) -> AssistantChange {
    let qa = QaChange { cooldown_seconds: Some(seconds), ..QaChange::default() };
    AssistantChange { qa: Some(qa), ..AssistantChange::default() }
}

fn triggers(words: Vec<String>) -> TriggerChange {
    TriggerChange { enabled: Some(true), trigger_keywords: Some(words) }
}

fn group_rules(text: &str) -> FieldText {
    FieldText { field: FieldPath::body("/content"), text: text.to_owned() }
}

/// Returns what tells one state of a text from another.
fn state(text: VersionedText) -> (i64, i64, String, String) {
    let VersionedText { version, revision, text } = text;
    (version, revision.updated_at.millis(), revision.updated_by.into_string(), text)
}

async fn changes(group: &Group) -> usize {
    let (log, all) = (group.store.activity_log(), ActivityFilter::default());
    log.changes(&GROUP.into(), &all, None, 100).await.unwrap().len()
}

#[tokio::test]
async fn texts_are_as_long_as_their_characters_composed() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let whole = "e\u{301}".repeat(limits::TEXT);
    let longer = format!("{whole}x");
    let changes = [
        ("/assistant/qa/noMatchReply", no_match(whole.clone()), no_match(longer.clone())),
        ("/assistant/welcome/message", welcome(whole.clone()), welcome(longer.clone())),
    ];
    for (field, allowed, beyond) in changes {
        assistant.change_settings(&access, allowed, None).await.unwrap();
        let refused = assistant.change_settings(&access, beyond, None).await;
        assert_eq!(refusal(refused), (field.to_owned(), Defect::TooLong { max: 5_000 }));
    }
    let config = assistant.settings(&access).await.unwrap().config;
    assert_eq!(config.qa.no_match_reply.as_deref(), Some(&*whole), "as it was typed");
    assert_eq!(config.welcome.message, whole);
    let set = assistant.set_group_rules(&access, Some(group_rules(&whole)), None).await.unwrap();
    assert_eq!(set.text, whole);
    let refused = assistant.set_group_rules(&access, Some(group_rules(&longer)), None).await;
    assert_eq!(refusal(refused), ("/content".to_owned(), Defect::TooLong { max: 5_000 }));
}

#[tokio::test]
async fn a_change_that_is_refused_changes_nothing() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    assistant.change_settings(&access, welcome("Hello".to_owned()), None).await.unwrap();
    let (before, logged) = (assistant.settings(&access).await.unwrap(), changes(&group).await);
    let off = |change: AssistantChange| AssistantChange { enabled: Some(false), ..change };
    let many = (0..=limits::TRIGGERS).map(|number| number.to_string()).collect();
    for (change, expected) in [
        (off(welcome("x".repeat(limits::TEXT + 1))), "/assistant/welcome/message"),
        (off(cooldown(86_401)), "/assistant/qa/cooldownSeconds"),
        (off(no_match("a\0".to_owned())), "/assistant/qa/noMatchReply"),
        (
            AssistantChange { rules: Some(triggers(many)), ..welcome("Bye".to_owned()) },
            "/assistant/rules/triggerKeywords",
        ),
        (
            AssistantChange {
                link: Some(triggers(vec!["a".to_owned(), "\u{200b}".to_owned()])),
                ..welcome("Bye".to_owned())
            },
            "/assistant/link/triggerKeywords/1",
        ),
    ] {
        let refused = assistant.change_settings(&access, change, None).await;
        assert_eq!(refusal(refused).0, expected);
    }
    let semantic = AssistantChange { enabled: Some(false), ..mode(QaMode::Semantic) };
    let refused = assistant.change_settings(&access, semantic, None).await.unwrap_err();
    assert_eq!(refused, ServiceError::PlanRequired);
    // No version is expected of an empty list.
    let stale = assistant.change_settings(&access, off(cooldown(1)), Some(&[])).await;
    assert_eq!(stale.unwrap_err(), ServiceError::Stale);
    let after = assistant.settings(&access).await.unwrap();
    assert_eq!((after.version, after.config), (before.version, before.config));
    assert_eq!(changes(&group).await, logged);
}

#[tokio::test]
async fn what_is_wrong_is_told_before_what_is_stale() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let refused = assistant.change_settings(&access, cooldown(86_401), Some(&[99])).await;
    assert_eq!(refusal(refused).0, "/assistant/qa/cooldownSeconds");
    let day = assistant.change_settings(&access, cooldown(86_400), None).await.unwrap();
    assert_eq!(day.config.qa.cooldown_seconds, 86_400);
    let refused = assistant.set_group_rules(&access, Some(group_rules("\0")), Some(&[99])).await;
    assert_eq!(refusal(refused).0, "/content");
    let stale = assistant.set_group_rules(&access, Some(group_rules("x")), Some(&[99])).await;
    assert_eq!(stale.unwrap_err(), ServiceError::Stale);
    let stale = assistant.set_group_rules(&access, None, Some(&[99])).await;
    assert_eq!(stale.unwrap_err(), ServiceError::Stale, "also of a request without a text");
}

#[tokio::test]
async fn trigger_words_that_match_the_same_are_one_and_may_be_none() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let set = async |words: &[&str]| {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        let (rules, link) = (Some(triggers(words.clone())), Some(triggers(words)));
        let change = AssistantChange { rules, link, ..AssistantChange::default() };
        let config = assistant.change_settings(&access, change, None).await.unwrap().config;
        assert_eq!(config.rules, config.link);
        config.rules.trigger_keywords
    };
    assert_eq!(
        set(&["Rules", "rules!", "ＲＵＬＥＳ", " 版規 ", "版規。"]).await,
        ["Rules", "版規"]
    );
    assert_eq!(set(&[]).await, [""; 0]);
    let fifty: Vec<_> = (0..50).map(|number| format!("word {number}")).collect();
    let fifty: Vec<_> = fifty.iter().map(String::as_str).collect();
    assert_eq!(set(&fifty).await, fifty);
}

#[tokio::test]
async fn a_reply_without_a_match_is_taken_away_by_null_or_a_blank_text() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    assistant.change_settings(&access, no_match("Pardon?".to_owned()), None).await.unwrap();
    let kept = assistant.change_settings(&access, mode(QaMode::Fuzzy), None).await.unwrap();
    assert_eq!(kept.config.qa.no_match_reply.as_deref(), Some("Pardon?"));
    let said = async || {
        let tried = assistant.simulate(&access, "anybody there".to_owned()).await.unwrap();
        tried.reply
    };
    assert_eq!(said().await.as_deref(), Some("Pardon?"));
    // What nobody sees is not sent, and is no reply.
    for unseen in ["", " \n", "\u{200b}\u{3164}"] {
        let again = no_match("Pardon?".to_owned());
        assistant.change_settings(&access, again, None).await.unwrap();
        let blank = no_match(unseen.to_owned());
        let blank = assistant.change_settings(&access, blank, None).await.unwrap();
        assert_eq!((blank.config.qa.no_match_reply, said().await), (None, None), "{unseen:?}");
    }
    assistant.change_settings(&access, no_match("Pardon?".to_owned()), None).await.unwrap();
    let qa = QaChange { no_match_reply: Nullable::To(None), ..QaChange::default() };
    let none = AssistantChange { qa: Some(qa), ..AssistantChange::default() };
    let none = assistant.change_settings(&access, none, None).await.unwrap();
    assert_eq!((none.config.qa.no_match_reply, none.config.qa.mode), (None, QaMode::Fuzzy));
}

#[tokio::test]
async fn the_welcome_and_the_settings_have_one_text_and_two_versions() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let created = group.clock.now().millis();
    let first = state(assistant.welcome(&access).await.unwrap());
    assert_eq!(first, (0, created, "system".to_owned(), String::new()));
    group.hands.advance(Duration::from_secs(1));
    assistant.change_settings(&access, welcome("Hi".to_owned()), None).await.unwrap();
    let by_settings = state(assistant.welcome(&access).await.unwrap());
    assert!(by_settings.0 > first.0, "{by_settings:?}");
    assert_eq!(by_settings.1, created + 1_000);
    assert_eq!((&*by_settings.2, &*by_settings.3), (OWNER, "Hi"));
    group.hands.advance(Duration::from_secs(1));
    let settings = assistant.change_settings(&access, cooldown(9), None).await.unwrap();
    let same = state(assistant.welcome(&access).await.unwrap());
    assert_eq!(same, by_settings, "another setting is no edit of the welcome");

    let text = || FieldText { field: FieldPath::body("/message"), text: "Hello".to_owned() };
    let version = by_settings.0;
    let set = assistant.set_welcome(&access, Some(text()), Some(&[version])).await.unwrap();
    let set = state(set);
    let both = assistant.settings(&access).await.unwrap();
    assert_eq!(both.config.welcome.message, "Hello");
    assert!(set.0 > version && both.version > settings.version);
    let stale = assistant.set_welcome(&access, Some(text()), Some(&[version])).await;
    assert_eq!(stale.unwrap_err(), ServiceError::Stale);
    group.hands.advance(Duration::from_secs(1));
    let logged = changes(&group).await;
    let again = assistant.set_welcome(&access, Some(text()), Some(&[version, set.0])).await;
    assert_eq!(state(again.unwrap()), set, "the same text again is no edit");
    assert_eq!(assistant.settings(&access).await.unwrap().version, both.version);
    assert_eq!(changes(&group).await, logged);
    let read = assistant.set_welcome(&access, None, Some(&[set.0])).await.unwrap();
    assert_eq!(state(read), set);
}

#[tokio::test]
async fn settings_and_group_rules_are_changed_together_or_not_at_all() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    assistant.change_settings(&access, cooldown(1), None).await.unwrap();
    assistant.set_group_rules(&access, Some(group_rules("Be kind")), None).await.unwrap();
    let present = async || {
        let settings = assistant.settings(&access).await.unwrap();
        let rules = assistant.group_rules(&access).await.unwrap();
        let versions = TextVersions { settings: settings.version, group_rules: rules.version };
        (versions, settings.config.qa.cooldown_seconds, rules.text)
    };
    let (versions, ..) = present().await;
    let TextVersions { settings, group_rules: rules } = versions;
    let long = "x".repeat(limits::TEXT + 1);
    for (expected, change, content, error) in [
        (
            TextVersions { settings, group_rules: rules + 1 },
            cooldown(2),
            "New",
            Some(ServiceError::Stale),
        ),
        (
            TextVersions { settings: settings + 1, group_rules: rules },
            cooldown(2),
            "New",
            Some(ServiceError::Stale),
        ),
        (versions, mode(QaMode::Semantic), "New", Some(ServiceError::PlanRequired)),
        (versions, cooldown(86_401), "New", None),
        (versions, cooldown(2), long.as_str(), None),
    ] {
        let text = group_rules(content);
        let refused = assistant.change_texts(&access, change, text, expected).await.unwrap_err();
        let is_invalid = matches!(refused, ServiceError::Invalid { .. });
        assert!(error.map_or(is_invalid, |error| error == refused), "{refused}");
        assert_eq!(present().await, (versions, 1, "Be kind".to_owned()), "{refused}");
    }
    let text = || group_rules("Be kinder");
    assistant.change_texts(&access, cooldown(2), text(), versions).await.unwrap();
    let changed = present().await;
    assert_eq!((changed.1, &*changed.2), (2, "Be kinder"));
    assert!(changed.0.settings > settings && changed.0.group_rules > rules, "{changed:?}");
    assistant.change_texts(&access, cooldown(2), text(), changed.0).await.unwrap();
    assert_eq!(present().await, changed, "the same again is no edit");
}

#[tokio::test]
async fn what_is_switched_on_and_says_nothing_is_told_while_it_could_speak() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let idle = async || assistant.idle_parts(&access).await.unwrap();
    assert_eq!(idle().await, [IdlePart::Questions]);
    assistant.change_settings(&access, no_match("\u{3164}".to_owned()), None).await.unwrap();
    assert_eq!(idle().await, [IdlePart::Questions], "nobody sees that reply");
    let rule = assistant.add_rule(&access, draft("hours"), None).await.unwrap();
    assert_eq!(idle().await, []);
    assistant.change_settings(&access, welcome(String::new()), None).await.unwrap();
    assert_eq!(idle().await, [IdlePart::Welcome]);
    assistant.remove_rule(&access, &rule, None).await.unwrap();
    assert_eq!(idle().await, [IdlePart::Questions, IdlePart::Welcome]);
    group.hands.advance(Duration::from_secs(1));
    group.happened(GROUP, PresenceEvidenceKind::BotLeft).await;
    assert_eq!(idle().await, [IdlePart::Everything], "the bot is not there");
    let off = AssistantChange { enabled: Some(false), ..AssistantChange::default() };
    assistant.change_settings(&access, off, None).await.unwrap();
    assert_eq!(idle().await, []);
}

#[tokio::test]
async fn a_preview_greets_whoever_has_no_name_in_the_language_of_the_text() {
    let group = Group::new().await;
    let (access, assistant) = (group.settings().await, &group.assistant);
    let preview = async |template: &str, name: Option<&str>| {
        let name = name.map(str::to_owned);
        assistant.welcome_preview(&access, template, name).await.unwrap()
    };
    for (template, expected) in [
        (
            "Hi {displayName}, welcome to {groupName}! {x} {",
            "Hi friend, welcome to our group! {x} {",
        ),
        ("歡迎 {displayName} 加入{groupName}", "歡迎 新朋友 加入本群組"),
        ("{displayName}さん、{groupName}へようこそ", "新メンバーさん、このグループへようこそ"),
        ("ยินดีต้อนรับ {displayName} สู่ {groupName}", "ยินดีต้อนรับ เพื่อนใหม่ สู่ กลุ่มของเรา"),
    ] {
        assert_eq!(preview(template, None).await, expected);
    }
    // Nobody injects anything by their name.
    let named = preview("{displayName} · {groupName}", Some("{groupName}{displayName}")).await;
    assert_eq!(named, "{groupName}{displayName} · our group");
    let family = "👨\u{200d}👩\u{200d}👧 阿明";
    assert_eq!(preview("{displayName}{displayName}", Some(family)).await, family.repeat(2));
}
