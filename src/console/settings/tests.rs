//! A backup as the settings show it: its state, since when there is one, and what is missing.

use std::collections::HashSet;

use chatkeep_core::assistant::{AssistantConfig, QaMode};
use chatkeep_services::assistant::AssistantSettings;
use chatkeep_store::{Channel, MediaReason, MediaStatus};
use chatkeep_view::pseudonyms::Mask;

use super::*;
use crate::tests::group_since;

const NOW: &str = "2026-03-01T04:00:00Z";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn dates_in(language: Language) -> Dates {
    Dates { language, zone: chrono_tz::Asia::Taipei, now: at(NOW) }
}

fn settings(status: ChannelStatus, is_paused: bool) -> ChannelSettings {
    let channel = Channel { status, ..group_since(at(NOW), "C1") };
    let assistant = AssistantSettings {
        version: 1,
        config: AssistantConfig::default(),
        effective_mode: QaMode::Keyword,
        semantic: false,
    };
    ChannelSettings {
        channel: Mask::none().show(channel),
        assistant,
        is_backed_up: true,
        is_paused,
        zone: chrono_tz::Asia::Taipei,
    }
}

#[test]
fn the_state_is_told_by_what_is_in_the_way_of_the_visitor() {
    use ChannelStatus::{Active, Disabled};
    for (status, paused, subscribed, key) in [
        // Without the bot nothing else matters.
        (Disabled, false, true, "settings-left-subscribed"),
        (Disabled, true, true, "settings-left-subscribed"),
        (Disabled, false, false, "settings-left"),
        (Disabled, true, false, "settings-left"),
        (Active, false, false, "settings-unsubscribed"),
        (Active, true, false, "attention-paused-others"),
        (Active, true, true, "attention-paused"),
        (Active, false, true, "settings-subscribed"),
    ] {
        let state = BackupState::new(&settings(status, paused), subscribed);
        assert_eq!(state.key(), key, "{status:?}, paused {paused}, subscribed {subscribed}");
    }
}

#[test]
fn zones_that_are_offered_are_those_of_places() {
    let offered: HashSet<_> =
        TZ_VARIANTS.iter().map(|zone| zone.name()).filter(|zone| is_place(zone)).collect();
    for zone in ["Asia/Taipei", "America/Argentina/Buenos_Aires", "Atlantic/Azores"] {
        assert!(offered.contains(zone), "{zone}");
    }
    for zone in ["UTC", "Etc/GMT+8", "US/Pacific", "EST", "Japan", "Brazil/East", "GB"] {
        assert!(!offered.contains(zone), "{zone}");
    }
    assert!(!is_place("Asia") && !is_place("asia/Taipei") && !is_place(""));
}

/// Returns the facts as pairs of labels and values.
fn told(coverage: &Coverage, language: Language) -> Vec<(String, String)> {
    facts(coverage, dates_in(language)).into_iter().map(|fact| (fact.label, fact.value)).collect()
}

#[test]
fn facts_are_dates_of_the_chat_in_the_language_of_the_reader() {
    let whole = Coverage {
        since: Some(at("2025-12-31T16:00:00Z")),
        messages: Some((at("2024-02-28T16:00:00Z"), at("2026-02-28T16:05:00Z"))),
        removed_before: Some(at("2024-02-28T15:59:59Z")),
        ..Coverage::default()
    };
    for (language, values) in [
        (
            Language::English,
            ["1\u{a0}Jan", "29\u{a0}Feb 2024", "1\u{a0}Mar 00:05", "28\u{a0}Feb 2024"],
        ),
        (
            Language::TraditionalChinese,
            ["1月1日", "2024年2月29日", "3月1日 00:05", "2024年2月28日"],
        ),
        (Language::Japanese, ["1月1日", "2024年2月29日", "3月1日 00:05", "2024年2月28日"]),
        (
            Language::Thai,
            ["1\u{a0}ม.ค.", "29\u{a0}ก.พ. 2567", "1\u{a0}มี.ค. 00:05", "28\u{a0}ก.พ. 2567"],
        ),
    ] {
        let keys = ["coverage-since", "coverage-first", "coverage-last", "coverage-removed"];
        let labels = keys.map(|key| language.text(key));
        let expected: Vec<_> = labels.into_iter().zip(values.map(str::to_owned)).collect();
        assert_eq!(told(&whole, language), expected);
    }
}

#[test]
fn a_chat_that_nobody_ever_backed_up_says_so_and_no_more() {
    for language in Language::ALL {
        let never = (language.text("coverage-since"), language.text("coverage-never"));
        assert_eq!(told(&Coverage::default(), language), [never]);
    }
}

fn missing(status: MediaStatus, reason: Option<MediaReason>) -> MissingMedia {
    MissingMedia { status, reason, count: 12_345 }
}

#[test]
fn missing_files_are_counted_under_the_words_for_their_state() {
    for language in Language::ALL {
        for (status, key) in [
            (MediaStatus::Skipped, "media-skipped"),
            (MediaStatus::Failed, "media-failed"),
            (MediaStatus::Expired, "media-expired"),
        ] {
            let facts = lost_files(&[missing(status, None)], language);
            assert_eq!((facts.len(), &facts[0].label), (1, &language.text(key)));
            assert!(facts[0].value.contains("12,345"), "{}", facts[0].value);
        }
        assert!(lost_files(&[], language).is_empty());
    }
}

#[test]
fn files_that_an_imported_text_did_not_have_are_told_as_such() {
    for language in Language::ALL {
        let status = MediaStatus::Expired;
        let facts = lost_files(&[missing(status, Some(MediaReason::NotInExport))], language);
        assert_eq!(facts[0].label, language.text("media-not-in-import"));
    }
}

#[test]
fn missing_files_are_added_up_where_their_words_are_the_same() {
    for language in Language::ALL {
        let expired = |reason| missing(MediaStatus::Expired, reason);
        let lost = [
            expired(None),
            expired(Some(MediaReason::GoneFromPlatform)),
            expired(Some(MediaReason::NotInExport)),
            missing(MediaStatus::Failed, Some(MediaReason::TooLarge)),
            missing(MediaStatus::Failed, Some(MediaReason::TooSlow)),
            missing(MediaStatus::Failed, Some(MediaReason::NotInExport)),
        ];
        let facts = lost_files(&lost, language);
        let labels: Vec<_> = facts.iter().map(|fact| fact.label.clone()).collect();
        let keys = ["media-expired", "media-not-in-import", "media-failed"];
        assert_eq!(labels, keys.map(|key| language.text(key)));
        assert!(facts.iter().all(|fact| fact.value.contains("24,690")), "each is of two reasons");
    }
}
