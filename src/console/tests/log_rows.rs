//! Rows of the activity log: every kind of change and of reading, in the words of each language.

use chatkeep_core::assistant::AssistantConfig;
use chatkeep_i18n::Language;
use chatkeep_store::{ActivityChange, ActivityRead, Actor, ChangeKind, ReadAction, Reader};
use serde_json::Value;

use super::{NOW, at};
use crate::activity_row::{LogRow, PeopleNames, action_key, kind_key};
use crate::dates::Dates;

fn actor(name: Option<&str>) -> Actor {
    Actor { user: "Uann".into(), display_name: name.map(str::to_owned) }
}

fn change(kind: ChangeKind, subject: Option<&str>, values: [Option<&str>; 2]) -> ActivityChange {
    let [before, after] = values.map(|value| value.map(str::to_owned));
    let subject = subject.map(str::to_owned);
    ActivityChange { id: 1, at: at(NOW), by: actor(Some("Ann")), kind, subject, before, after }
}

fn row(change: ActivityChange, language: Language) -> LogRow {
    let dates = Dates { language, zone: chrono_tz::Asia::Taipei, now: at(NOW) };
    let names = PeopleNames::from([("Ubob".into(), Some("Bob".to_owned())), ("Ux".into(), None)]);
    LogRow::of_change(change, (dates, &names))
}

/// Returns the values before and after a change as the log shows them.
fn values(change: ActivityChange, language: Language) -> (Option<String>, Option<String>) {
    let row = row(change, language);
    (row.before, row.after)
}

/// Returns the paths of all settings in an object.
fn paths(of: &Value, above: &str, found: &mut Vec<String>) {
    for (name, value) in of.as_object().unwrap() {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        if value.is_object() {
            paths(value, &path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_setting_of_the_assistant_has_a_name() {
    let (config, mut found) = (serde_json::to_value(AssistantConfig::default()), Vec::new());
    paths(&config.unwrap(), "", &mut found);
    assert!(found.iter().any(|path| path == "link.triggerKeywords"), "{found:?}");
    for language in Language::ALL {
        for path in &found {
            let named =
                row(change(ChangeKind::Assistant, Some(path.as_str()), [None, None]), language);
            assert_ne!(named.what, *path, "{language:?}");
        }
        let later = row(change(ChangeKind::Assistant, Some("qa.new"), [None, None]), language);
        assert_eq!(later.what, "qa.new", "a setting of a later version is better than none");
    }
}

#[test]
fn values_of_settings_are_those_of_their_page() {
    for language in Language::ALL {
        let shown = |path: &str, value: &str| {
            values(change(ChangeKind::Assistant, Some(path), [None, Some(value)]), language).1
        };
        let named = |key: &str| Some(language.text(key));
        for path in ["enabled", "qa.enabled", "welcome.enabled", "rules.enabled", "link.enabled"] {
            assert_eq!(shown(path, "true"), named("overview-on"));
            assert_eq!(shown(path, "false"), named("overview-off"));
        }
        assert_eq!(shown("qa.mode", "semantic"), named("qa-mode-semantic"));
        assert_eq!(shown("qa.keywordMatch", "contains"), named("overview-match-contains"));
        assert_eq!(shown("qa.strictness", "eager"), named("overview-strictness-eager"));
        assert_eq!(shown("qa.noMatchScope", "addressed"), named("overview-scope-addressed"));
        assert_eq!(shown("qa.cooldownSeconds", "0"), named("overview-cooldown-none"));
        let minutes = language.format("overview-minutes", &[("count", 90_i64.into())]);
        assert_eq!(shown("qa.cooldownSeconds", "5400"), Some(minutes));
        // What this version does not know is shown as it is stored.
        for (path, value) in [
            ("qa.strictness", "wild"),
            ("qa.keywordMatch", ""),
            ("qa.noMatchScope", "never"),
            ("qa.cooldownSeconds", "-1"),
            ("enabled", "maybe"),
        ] {
            assert_eq!(shown(path, value).unwrap_or_default(), value, "{path}");
        }
        // Words of people are never taken for values.
        for path in ["welcome.message", "qa.noMatchReply"] {
            for words in ["true", "fuzzy", "0", "[]"] {
                assert_eq!(shown(path, words).as_deref(), Some(words), "{path}");
            }
        }
    }
}

#[test]
fn words_of_a_list_are_joined_and_a_list_that_was_cut_is_shown_as_it_is() {
    let shown = |value: &str, language| {
        let path = Some("rules.triggerKeywords");
        values(change(ChangeKind::Assistant, path, [None, Some(value)]), language).1
    };
    let words = r#"["一, 二","דנה","a\"b"]"#;
    assert_eq!(shown(words, Language::Japanese).unwrap(), "一, 二、דנה、a\"b");
    assert_eq!(shown(words, Language::English).unwrap(), "一, 二, דנה, a\"b");
    assert_eq!(shown("[]", Language::Thai), None, "a list of none says nothing");
    let cut = r#"["一","二"#;
    assert_eq!(shown(cut, Language::English).as_deref(), Some(cut));
}

#[test]
fn a_change_of_a_rule_is_told_by_what_there_was() {
    let language = Language::English;
    for (values, said) in [
        ([None, Some("b")], "Added a rule"),
        ([Some("a"), Some("b")], "Changed a rule"),
        ([Some("a"), None], "Deleted a rule"),
    ] {
        let row = row(change(ChangeKind::Rule, Some("qa_1"), values), language);
        assert_eq!(
            (&*row.what, row.before.as_deref(), row.after.as_deref()),
            (said, values[0], values[1])
        );
    }
}

#[test]
fn a_change_about_a_person_names_them() {
    for language in Language::ALL {
        let unknown = language.text("name-unknown");
        for (subject, name) in [
            (Some("Ubob"), "Bob"),
            (Some("Ux"), unknown.as_str()),
            (Some("Ugone"), unknown.as_str()),
            (None, unknown.as_str()),
        ] {
            for kind in [ChangeKind::Role, ChangeKind::Erasure] {
                let row = row(change(kind, subject, [Some("guest"), Some("admin")]), language);
                assert!(row.what.contains(name), "{kind:?}: {}", row.what);
            }
        }
        let role = change(ChangeKind::Role, Some("Ubob"), [Some("guest"), Some("admin")]);
        let expected = ["role-guest", "role-admin"].map(|key| Some(language.text(key)));
        assert_eq!(values(role, language), expected.into());
        let erased = change(ChangeKind::Erasure, Some("Ubob"), [Some("x"), Some("y")]);
        assert_eq!(values(erased, language), (None, None), "the sentence says it");
    }
}

#[test]
fn limits_of_time_are_told_as_days_and_moments() {
    let retention = |before, after| {
        values(change(ChangeKind::Retention, None, [before, after]), Language::English)
    };
    let days = (Some("Never".to_owned()), Some("After 1 day".to_owned()));
    assert_eq!(retention(None, Some("1")), days);
    let longer = (Some("After 1,000 days".to_owned()), Some("Never".to_owned()));
    assert_eq!(retention(Some("1000"), None), longer);
    let before = Some("2025-12-31T16:30:00Z");
    let deleted = row(change(ChangeKind::Deletion, None, [None, before]), Language::English);
    assert_eq!(deleted.what, "Deleted the messages from before 1\u{a0}Jan 00:30");
    assert_eq!((deleted.before, deleted.after), (None, None));
    let zone = change(ChangeKind::TimeZone, None, [None, Some("Asia/Tokyo")]);
    assert_eq!(values(zone, Language::Thai), (None, Some("Asia/Tokyo".to_owned())));
    let keep = change(ChangeKind::EarlierTexts, None, [Some("false"), Some("true")]);
    let expected = (Some("off".to_owned()), Some("on".to_owned()));
    assert_eq!(values(keep, Language::English), expected);
}

#[test]
fn a_subscription_begins_or_ends() {
    let said = |values| row(change(ChangeKind::Subscription, None, values), Language::English).what;
    assert_eq!(said([None, Some("yes")]), "Began to back up this chat");
    assert_eq!(said([Some("yes"), None]), "Stopped backing up this chat");
}

#[test]
fn a_text_of_which_nothing_is_seen_is_no_value() {
    let rules = change(ChangeKind::GroupRules, None, [Some("\u{200b}"), Some(" be kind ")]);
    assert_eq!(values(rules, Language::English), (None, Some(" be kind ".to_owned())));
}

#[test]
fn a_row_has_its_author_and_its_time() {
    let row = row(change(ChangeKind::TimeZone, None, [None, None]), Language::English);
    let time = ("2026-03-01T04:00:00.000Z".to_owned(), "12:00".to_owned());
    assert_eq!((&*row.name, &*row.initial, row.time), ("Ann", "A", Some(time)));
    assert!(row.by.is_none() && row.times.is_none() && row.day.is_none());
}

#[test]
fn a_reader_is_named_with_the_key_or_program() {
    let read = |reader, name: Option<&str>, requests| ActivityRead {
        day: at("2026-03-01T00:00:00Z"),
        by: actor(None),
        reader,
        reader_name: name.map(str::to_owned),
        action: ReadAction::Search,
        requests,
    };
    let by = |read| {
        let row = LogRow::of_read(read, Language::English);
        (row.by, row.times.unwrap())
    };
    assert_eq!(by(read(Reader::Person, None, 1)), (None, "once".to_owned()));
    let key = by(read(Reader::Key("k1".into()), Some("My <key>"), 2));
    assert_eq!(key, (Some("Key “My <key>”".to_owned()), "2 times".to_owned()));
    let program = by(read(Reader::Program("g1".to_owned()), Some("Claude"), 12_345));
    assert_eq!(program, (Some("Program “Claude”".to_owned()), "12,345 times".to_owned()));
    for language in Language::ALL {
        let row = LogRow::of_read(read(Reader::Others, None, 0), language);
        assert_eq!(row.by, Some(language.text("log-others")));
        assert_eq!(row.name, language.text("name-unknown"));
        assert_eq!(row.what, language.text("log-read-search"));
    }
}

#[test]
fn kinds_that_can_be_chosen_differ_from_each_other() {
    for language in Language::ALL {
        let kinds = ChangeKind::ALL.map(|kind| language.text(kind_key(kind)));
        let actions = ReadAction::ALL.map(|action| language.text(action_key(action)));
        for mut names in [kinds.to_vec(), actions.to_vec()] {
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "{language:?}: {names:?}");
        }
    }
}
