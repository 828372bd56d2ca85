//! Parts of the account's pages: sections, ends of keys, choices of chats, webhooks and their log.

use std::collections::HashSet;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::ChannelId;
use chatkeep_services::webhooks::DeliveryListQuery;
use chatkeep_store::{
    DeliveryStatus, DisabledReason, EventRef, OutboxEventKind, TEST_EVENT, Webhook, WebhookDelivery,
};
use chrono::NaiveDate;
use chrono_tz::Tz;

use super::reach::{ChatChoice, SentChats, chosen};
use super::webhook_log::{DeliveryRow, LogQuery};
use super::webhooks::{WebhookCard, events, limits};
use super::*;
use crate::tests::group_since;

const NOW: &str = "2026-03-01T04:00:00Z";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn in_zone(language: Language, zone: Tz) -> Dates {
    Dates { language, zone, now: at(NOW) }
}

fn taipei(language: Language) -> Dates {
    in_zone(language, chrono_tz::Asia::Taipei)
}

fn chat(id: &str, name: Option<&str>) -> Channel {
    Channel { name: name.map(str::to_owned), ..group_since(at(NOW), id) }
}

#[test]
fn each_section_is_linked_once_and_marked_on_its_own_page() {
    for language in Language::ALL {
        for section in Section::ALL {
            let links = section.links(language);
            let different: HashSet<_> = links.iter().map(|link| (link.href, &link.label)).collect();
            assert_eq!(different.len(), Section::ALL.len(), "{links:?}");
            let current: Vec<_> = links.iter().filter(|link| link.current).collect();
            assert_eq!(current.len(), 1);
            assert_eq!(current[0].href, section.path());
        }
    }
}

#[test]
fn what_ends_at_midnight_ends_with_the_day_before() {
    for (end, day, told) in [
        ("2026-03-31T16:00:00Z", true, "31\u{a0}Mar"),
        ("2026-12-31T16:00:00Z", true, "31\u{a0}Dec"),
        ("2028-02-28T16:00:00Z", true, "28\u{a0}Feb 2028"),
        ("2028-02-29T16:00:00Z", true, "29\u{a0}Feb 2028"),
        ("2026-03-31T15:59:00Z", false, "31\u{a0}Mar 23:59"),
        ("2026-03-31T16:01:00Z", false, "1\u{a0}Apr 00:01"),
    ] {
        let shown = end_of(at(end), taipei(Language::English));
        assert_eq!(shown == told, day, "{shown}");
        assert!(shown.starts_with(told), "{shown}");
        assert_eq!(shown.contains("Asia/Taipei"), !day, "a time names its zone: {shown}");
    }
    let thai = end_of(at("2026-12-31T16:00:00Z"), taipei(Language::Thai));
    assert_eq!(thai, "31\u{a0}ธ.ค.");
}

#[test]
fn what_ends_just_after_midnight_ends_on_that_day() {
    let shown = end_of(at("2026-03-31T16:00:30Z"), taipei(Language::English));
    assert!(shown.starts_with("1\u{a0}Apr 00:00"), "{shown}");
    // Where midnight comes twice, the day begins with the first one.
    let zone = chrono_tz::America::Havana;
    let ends = |end| end_of(at(end), in_zone(Language::English, zone));
    assert_eq!(ends("2025-11-02T04:00:00Z"), "1\u{a0}Nov 2025");
    assert!(ends("2025-11-02T05:00:00Z").starts_with("2\u{a0}Nov 2025 00:00"));
}

#[test]
fn a_key_ends_with_its_last_day_where_the_next_one_has_no_midnight() {
    let zone = chrono_tz::Asia::Beirut;
    let after = NaiveDate::from_ymd_opt(2025, 3, 30).unwrap();
    let end = key::beginning(after, zone).unwrap();
    assert_eq!(end, at("2025-03-29T22:00:00Z"), "clocks go from 00:00 to 01:00");
    assert_eq!(end_of(end, in_zone(Language::English, zone)), "29\u{a0}Mar 2025");
}

#[test]
fn a_day_begins_with_its_first_moment_wherever_it_is() {
    for (zone, day, beginning) in [
        (chrono_tz::Asia::Taipei, (2026, 3, 1), Some("2026-02-28T16:00:00Z")),
        (Tz::UTC, (2024, 2, 29), Some("2024-02-29T00:00:00Z")),
        (chrono_tz::America::New_York, (2026, 3, 8), Some("2026-03-08T05:00:00Z")),
        (chrono_tz::America::New_York, (2026, 3, 9), Some("2026-03-09T04:00:00Z")),
        // Midnight comes twice: the first one counts.
        (chrono_tz::America::Havana, (2025, 11, 2), Some("2025-11-02T04:00:00Z")),
        // The day after 9999 begins as the last one ends.
        (Tz::UTC, (10_000, 1, 1), Some("9999-12-31T23:59:59.999Z")),
        (Tz::UTC, (10_000, 1, 2), None),
    ] {
        let (year, month, number) = day;
        let first = NaiveDate::from_ymd_opt(year, month, number).unwrap();
        let expected = beginning.map(at);
        assert_eq!(key::beginning(first, zone), expected, "{first} in {zone}");
    }
}

#[test]
fn what_is_missing_in_an_account_is_no_message() {
    assert_eq!(refused(ServiceError::NotFound), PageError::NotInAccount);
    assert_eq!(refused(ServiceError::Unavailable), PageError::Busy);
    let language = Language::English;
    assert_eq!(wrong_with(ServiceError::NotFound, language).unwrap_err(), PageError::NotInAccount);
    let errors = wrong_with(ServiceError::Stale, language).unwrap();
    assert_eq!(errors.whole, Some(language.text("form-stale")));
    for (typed, yes) in [("yes", true), ("Yes", false), ("", false), ("yes ", false)] {
        assert_eq!(Confirmation { confirmed: typed.to_owned() }.is_yes(), yes, "{typed}");
    }
}

fn ids(others: &str) -> Vec<String> {
    let sent = SentChats { reach: "chosen", ticked: &[], others };
    chosen(sent, Language::English).map(Option::unwrap_or_default).unwrap_or_default()
}

#[test]
fn chats_are_typed_by_their_ids_or_by_addresses_of_their_pages() {
    for (typed, expected) in [
        ("C1", vec!["C1"]),
        ("C1,C2\r\nC3\tC4  ,, C1", vec!["C1", "C2", "C3", "C4"]),
        ("https://chat.test/c/C1", vec!["C1"]),
        ("https://chat.test/c/C1/", vec!["C1"]),
        ("https://chat.test/c/C1?around=m1#m-m1 http://chat.test/c/C2#x", vec!["C1", "C2"]),
        ("/c/C1/assistant/rules?q=/c/C9", vec!["C1"]),
        ("https://chat.test/c/", vec![]),
        (" , \n", vec![]),
    ] {
        assert_eq!(ids(typed), expected, "{typed}");
    }
}

#[test]
fn an_address_of_any_id_names_that_id() {
    assert_eq!(ids("https://chat.test/c/telegram%3A-100123/search"), ["telegram:-100123"]);
    assert_eq!(ids("https://chat.test/c/C%2F1~second/m/m%201?x#y"), ["C/1~second"]);
    // What is no address is an id as it is, and so is what cannot be decoded.
    assert_eq!(ids("C%2F1 https://chat.test/c/%FF/search"), ["C%2F1", "%FF"]);
}

#[test]
fn chats_are_called_by_what_is_known_of_them() {
    let own = [chat("C1", Some("週末")), chat("C2", None), chat("C3", Some("\u{200b}"))];
    let only = ["C3", "C9", "C1", "C2"].map(ChannelId::from);
    for language in Language::ALL {
        let nameless = language.text("chat-nameless");
        assert_eq!(
            reach::names(Some(&only), &own, language),
            [&*nameless, "C9", "週末", &*nameless]
        );
        assert_eq!(reach::names(None, &own, language), [language.text("reach-all")]);
        assert_eq!(reach::names(Some(&[]), &own, language), [language.text("reach-no-chats")]);
    }
    let offered = OfferedChats { list: own.into(), is_cut: false };
    let ticked = ["C9".to_owned(), "C1".to_owned()];
    let sent = SentChats { reach: "chosen", ticked: &ticked, others: "" };
    let choice = ChatChoice::new(&offered, sent, Language::English);
    let options = choice.chats.iter().map(|chat| (&*chat.id, chat.chosen));
    assert!(!choice.all);
    assert_eq!(
        options.collect::<Vec<_>>(),
        [("C1", true), ("C2", false), ("C3", false), ("C9", true)]
    );
}

fn asked(query: &str) -> LogQuery {
    serde_html_form::from_str(query).unwrap()
}

fn request(query: &str) -> DeliveryListQuery {
    asked(query).request(taipei(Language::English))
}

#[test]
fn the_log_is_filtered_by_whole_days_of_the_account() {
    let found = request("status=failed&event=message.sent&from=2026-02-28&to=2026-02-28&cursor=c");
    assert_eq!(found.status, Some(DeliveryStatus::Failed));
    assert_eq!(found.event, Some("message.sent"));
    assert_eq!(found.from, Some(at("2026-02-27T16:00:00Z")));
    assert_eq!(found.to, Some(at("2026-02-28T16:00:00Z")), "the last day is within");
    assert_eq!(found.cursor.as_deref(), Some("c"));
    assert_eq!(request(&format!("event={TEST_EVENT}")).event, Some(TEST_EVENT));
    assert_eq!(request("to=9999-12-31").to, Some(at("9999-12-31T16:00:00Z")));
    // What makes no sense filters nothing.
    for query in [
        "",
        "status=&event=&from=&to=",
        "status=Failed",
        "status=gone&event=message",
        "event=message.sent.",
        "from=2026-02-29&to=soon",
        "from=2026-2-1&to=20260201",
        "other=1",
    ] {
        let found = request(query);
        let is_all = found.status.is_none() && found.event.is_none();
        assert!(is_all && found.from.is_none() && found.to.is_none(), "{query}: {found:?}");
    }
}

#[test]
fn a_page_of_the_log_keeps_its_filters() {
    for (query, next, filtered) in [
        ("", "cursor=a%2B1", false),
        ("cursor=before", "cursor=a%2B1", false),
        ("status=failed&to=2026-02-28", "status=failed&to=2026-02-28&cursor=a%2B1", true),
        ("event=message.sent&from=x+%26", "event=message.sent&from=x+%26&cursor=a%2B1", true),
    ] {
        let log = asked(query);
        assert_eq!(log.with_cursor("a+1"), next);
        assert_eq!(log.is_filtered(), filtered, "{query}");
        let again = asked(next).request(taipei(Language::English));
        assert_eq!(again.cursor.as_deref(), Some("a+1"));
        assert_eq!((again.status, again.to), (request(query).status, request(query).to));
    }
}

#[test]
fn each_filter_of_the_log_has_a_name_and_at_most_one_is_chosen() {
    for language in Language::ALL {
        let log = asked("status=failed&event=member.left");
        for (options, count) in [
            (log.statuses(language), DeliveryStatus::ALL.len()),
            (log.events(language), OutboxEventKind::ALL.len() + 1),
        ] {
            let names: HashSet<_> = options.iter().map(|option| option.label.as_str()).collect();
            assert_eq!((options.len(), names.len()), (count, count), "{names:?}");
            assert_eq!(options.iter().filter(|option| option.chosen).count(), 1);
        }
        let none = asked("status=x&event=y");
        let options = none.statuses(language).into_iter().chain(none.events(language));
        assert_eq!(options.filter(|option| option.chosen).count(), 0);
        assert_eq!(events(language).count(), OutboxEventKind::ALL.len());
    }
}

fn delivery(status: DeliveryStatus, kind: Option<OutboxEventKind>) -> WebhookDelivery {
    let event = EventRef {
        id: "evt_1".to_owned(),
        kind,
        at: at(NOW),
        channel: None,
        subject: None,
        detail: None,
        unstored: None,
    };
    WebhookDelivery {
        number: 12,
        status,
        event,
        created_at: at("2026-02-28T16:05:00Z"),
        attempts: 1,
        due_at: None,
        tried_at: None,
        took_ms: None,
        http_status: Some(503),
        error: None,
        answer: None,
        request_bytes: None,
    }
}

#[test]
fn a_row_of_the_log_leads_to_its_delivery() {
    for language in Language::ALL {
        for status in DeliveryStatus::ALL {
            let sent = delivery(status, Some(OutboxEventKind::MessageSent));
            let row = DeliveryRow::of(&sent, "/console/account/webhooks/wh_1", taipei(language));
            assert_eq!(row.path, "/console/account/webhooks/wh_1/deliveries/dlv_12");
            assert_eq!((row.failed, row.answer), (status == DeliveryStatus::Failed, Some(503)));
            assert_eq!(row.event, language.text("event-message-sent"));
            assert_eq!(row.datetime, "2026-02-28T16:05:00.000Z");
            assert!(row.when.ends_with("00:05"), "in the account's zone: {}", row.when);
        }
        let test = DeliveryRow::of(&delivery(DeliveryStatus::ALL[0], None), "", taipei(language));
        let (_, words) = events(language).find(|(name, _)| *name == "message.sent").unwrap();
        assert_ne!(test.event, words);
        assert_eq!(test.event, webhooks::event(TEST_EVENT, language));
    }
}

fn webhook() -> Webhook {
    Webhook {
        id: "wh/1".into(),
        user: "U1".into(),
        url: "https://hooks.example:8443/secret?token=1".to_owned(),
        description: String::new(),
        events: vec![OutboxEventKind::MessageSent, OutboxEventKind::MemberLeft],
        channels: None,
        key: None,
        bounds: Bounds::full(),
        enabled: true,
        mask: "abcd".to_owned(),
        old_until: None,
        created_at: at("2025-12-31T16:00:00Z"),
        updated_at: at(NOW),
        failing_since: None,
        disabled: None,
    }
}

#[test]
fn a_webhook_is_called_by_what_its_owner_wrote_or_by_its_host() {
    let card = |description: &str| {
        let described = Webhook { description: description.to_owned(), ..webhook() };
        WebhookCard::of(&described, &[], taipei(Language::English))
    };
    for nothing in ["", " ", "\u{200b}\u{feff}"] {
        let shown = card(nothing);
        assert!(shown.name.starts_with("hooks.example") && !shown.name.contains("secret"));
        assert_eq!(shown.description, None, "{nothing:?}");
    }
    let named = card("備份 👍");
    assert_eq!((&*named.name, named.description.as_deref()), ("備份 👍", Some("備份 👍")));
    assert_eq!(named.path, "/console/account/webhooks/wh%2F1");
    assert_eq!(named.created, "1\u{a0}Jan", "in the account's zone");
}

#[test]
fn a_webhook_tells_the_worst_that_is_known_of_it() {
    let failing = Some(at("2026-02-27T16:05:00Z"));
    let off = |reason| Some((reason, at("2026-02-28T16:05:00Z")));
    for language in Language::ALL {
        let zoned = |time: &str| taipei(language).zoned(at(time));
        for (one, label, why) in [
            (webhook(), "webhook-on", None),
            (Webhook { enabled: false, ..webhook() }, "webhook-off", None),
            (Webhook { enabled: false, failing_since: failing, ..webhook() }, "webhook-off", None),
            (
                Webhook { failing_since: failing, ..webhook() },
                "webhook-unanswering",
                Some(("webhook-failing-since", zoned("2026-02-27T16:05:00Z"))),
            ),
            (
                Webhook {
                    enabled: false,
                    failing_since: failing,
                    disabled: off(DisabledReason::Failing),
                    ..webhook()
                },
                "webhook-off",
                Some(("webhook-off-failing", zoned("2026-02-28T16:05:00Z"))),
            ),
            (
                Webhook { disabled: off(DisabledReason::Gone), ..webhook() },
                "webhook-off",
                Some(("webhook-off-gone", zoned("2026-02-28T16:05:00Z"))),
            ),
            (
                Webhook { disabled: off(DisabledReason::KeyEnded), ..webhook() },
                "webhook-off",
                Some(("webhook-off-key", zoned("2026-02-28T16:05:00Z"))),
            ),
        ] {
            let state = WebhookCard::of(&one, &[], taipei(language)).state;
            assert_eq!((state.label, state.warning), (language.text(label), why.is_some()));
            assert_eq!(state.why, why.map(|(key, date)| dated(key, &date, language)));
        }
    }
}

#[test]
fn a_former_secret_is_told_as_long_as_it_signs() {
    for (until, told) in [
        (None, false),
        (Some(at("2026-03-01T03:59:59Z")), false),
        (Some(at(NOW)), false),
        (Some(at("2026-03-01T04:00:01Z")), true),
    ] {
        let shown = Webhook { old_until: until, ..webhook() };
        let card = WebhookCard::of(&shown, &[], taipei(Language::English));
        assert_eq!(card.previous.is_some(), told, "{until:?}");
    }
}

#[test]
fn bounds_of_a_webhook_are_told_where_there_are_some() {
    for language in Language::ALL {
        let dates = taipei(language);
        assert!(limits(&Bounds::full(), dates).is_empty());
        let limited = language.text("webhook-limited");
        let few = Bounds { channels: Some(vec!["C1".into()]), ..Bounds::full() };
        assert_eq!(limits(&few, dates), std::slice::from_ref(&limited));
        let bounds = Bounds {
            not_before: Some(at("2026-01-31T16:00:00Z")),
            expires_at: Some(at("2026-03-31T16:00:00Z")),
            ..Bounds::full()
        };
        let day = |month, day| dates.date(NaiveDate::from_ymd_opt(2026, month, day).unwrap());
        let since = dated("key-since", &day(2, 1), language);
        let end = dated("webhook-ends", &day(3, 31), language);
        assert_eq!(limits(&bounds, dates), [limited, since, end]);
    }
}
