//! The conversation at its edges: pages that are just full, days and senders that just change, and
//! rows of messages that changed.

use std::time::Duration;

use axum::http::StatusCode;
use chatkeep_core::message::{Content, MessageChange, Received};
use chatkeep_i18n::Language;

use super::{ConsoleBench, JOINED, NOW, at, escaped, said};

/// Returns the classes of the rows of messages on a page, by the ids of these.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("<li id=\"m-").skip(1);
    let row = |part| {
        let (id, rest) = str::split_once(part, '"').unwrap();
        let (_, rest) = rest.split_once("class=\"").unwrap();
        (id, rest.split('"').next().unwrap())
    };
    parts.map(row).collect()
}

fn ids(page: &str) -> Vec<&str> {
    rows(page).into_iter().map(|(id, _)| id).collect()
}

/// Returns the address that a page links to as its neighbour.
fn neighbour(page: &str, rel: &str) -> Option<String> {
    let (before, _) = page.split_once(&format!("\" rel=\"{rel}\""))?;
    let href = before.rsplit("href=\"").next()?;
    Some(href.replace("&amp;", "&"))
}

/// Stores that many messages, a minute apart.
async fn fill(bench: &ConsoleBench, count: u64) {
    let names: Vec<_> = (0..count).map(|number| format!("n{number:03}")).collect();
    let changes = names.iter().zip(0..).map(|(name, number)| {
        let sent = at(JOINED).plus(Duration::from_mins(number));
        (name.as_str(), said("Umember", sent, name))
    });
    bench.change(&changes.collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn fifty_messages_are_one_page_and_one_more_makes_another() {
    let bench = ConsoleBench::new().await;
    fill(&bench, 50).await;
    let page = bench.open("/c/C1", "Uowner").await.body;
    assert_eq!((ids(&page).len(), neighbour(&page, "prev")), (50, None));
    assert_eq!(neighbour(&page, "next"), None, "it ends with the newest");
    fill(&bench, 51).await;
    let newest = bench.open("/c/C1", "Uowner").await.body;
    assert_eq!((ids(&newest).len(), ids(&newest)[0]), (50, "n001"));
    let older = neighbour(&newest, "prev").unwrap();
    let oldest = bench.open(&older, "Uowner").await.body;
    assert_eq!(ids(&oldest), ["n000"]);
    assert_eq!(neighbour(&oldest, "prev"), None);
    let newer = neighbour(&oldest, "next").unwrap();
    let again = bench.open(&newer, "Uowner").await.body;
    assert_eq!(ids(&again), ids(&newest));
    // A message between two pages that is taken back changes neither.
    let unsent = MessageChange::Unsent { at: at(NOW) };
    bench.change(&[("n000", unsent)]).await;
    assert_eq!(ids(&bench.open(&older, "Uowner").await.body), ["n000"], "its tombstone stays");
}

#[tokio::test]
async fn a_sender_is_shown_again_after_a_pause_somebody_else_or_midnight() {
    let bench = ConsoleBench::new().await;
    for (id, user, time) in [
        ("a", "Umember", "2026-02-27T15:50:00Z"),
        ("b", "Umember", "2026-02-27T15:54:59.999Z"),
        ("c", "Umember", "2026-02-27T15:59:59.999Z"),
        ("d", "Umember", "2026-02-27T16:00:00Z"),
        ("e", "Uadmin", "2026-02-27T16:00:00.001Z"),
        ("f", "Uadmin", "2026-02-27T16:00:00.002Z"),
        ("g", "Umember", "2026-02-27T16:00:00.003Z"),
    ] {
        bench.say(id, user, time, "hello").await;
    }
    let page = bench.open("/c/C1", "Uadmin").await.body;
    let expected = [
        ("a", "row head"),
        ("b", "row"),
        ("c", "row head"),
        ("d", "row head"),
        ("e", "row mine head"),
        ("f", "row mine"),
        ("g", "row head"),
    ];
    assert_eq!(rows(&page), expected);
    let days: Vec<_> =
        page.split("data-day=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect();
    assert_eq!(days, ["2026-02-27", "2026-02-28"], "by the clock of the chat");
    let around = bench.open("/c/C1?around=f", "Uowner").await.body;
    assert!(rows(&around).contains(&("f", "row target")), "{around}");
}

#[tokio::test]
async fn a_day_begins_in_the_zone_of_the_chat_and_leads_to_its_first_message() {
    let bench = ConsoleBench::new().await;
    bench.say("before", "Umember", "2026-02-28T15:59:59.999Z", "one").await;
    bench.say("first", "Umember", "2026-02-28T16:00:00Z", "two").await;
    for (date, to) in [
        ("2026-03-01", "first"),
        ("2026-02-28", "before"),
        ("2024-02-29", "before"),
        ("0000-01-01", "before"),
    ] {
        let led = bench.open(&format!("/c/C1?date={date}"), "Umember").await;
        led.leads_to(&format!("/c/C1?around={to}#m-{to}"));
    }
    for (date, status) in [
        ("2026-03-02", StatusCode::OK),
        ("9999-12-31", StatusCode::OK),
        ("", StatusCode::OK),
        ("%20", StatusCode::OK),
        ("2026-02-29", StatusCode::BAD_REQUEST),
        ("2026-3-1", StatusCode::BAD_REQUEST),
        ("%EF%BC%92026-03-01", StatusCode::BAD_REQUEST),
    ] {
        let page = bench.open(&format!("/c/C1?date={date}"), "Umember").await;
        assert_eq!(page.status, status, "{date}: {}", page.body);
    }
}

#[tokio::test]
async fn rows_of_changed_messages_come_in_their_order_up_to_a_hundred() {
    let bench = ConsoleBench::new().await;
    fill(&bench, 101).await;
    let asked = |count: usize| {
        let ids = (0..count).rev().map(|number| format!("id=n{number:03}"));
        format!("/c/C1/rows?{}", ids.collect::<Vec<_>>().join("&"))
    };
    let hundred = bench.open(&asked(100), "Umember").await;
    assert_eq!(hundred.status, StatusCode::OK);
    let found = ids(&hundred.body);
    assert!(found.len() == 100 && found.is_sorted(), "{found:?}");
    assert!(!hundred.body.contains("<html"), "rows alone: {}", hundred.body);
    assert_eq!(bench.open(&asked(101), "Umember").await.status, StatusCode::BAD_REQUEST);
    let some = bench.open("/c/C1/rows?ID=n001&id=nothing&x=n002&id=n%30%303", "Umember").await;
    assert_eq!(ids(&some.body), ["n003"]);
    let twice = bench.open("/c/C1/rows?id=n003&id=n001&id=n003&id=n00%33", "Umember").await;
    assert_eq!(ids(&twice.body), ["n001", "n003"], "each has one row");
    let none = bench.open("/c/C1/rows", "Umember").await;
    assert_eq!((none.status, ids(&none.body).len()), (StatusCode::OK, 0));
}

#[tokio::test]
async fn a_chat_without_messages_says_so_in_every_language() {
    let bench = ConsoleBench::new().await;
    for language in Language::ALL {
        let page = bench.open_in("/c/C1", "Umember", language).await;
        page.says(StatusCode::OK, &language.text("timeline-empty-title"));
        let media = bench.open_in("/c/C1/media", "Umember", language).await;
        media.says(StatusCode::OK, &language.text("media-empty-title"));
        let activity = bench.open_in("/c/C1/activity?period=all", "Umember", language).await;
        activity.says(StatusCode::OK, &language.text("activity-empty-title"));
        let exports = bench.open_in("/c/C1/exports", "Umember", language).await;
        exports.says(StatusCode::OK, &language.text("exports-empty"));
        let search = bench.open_in("/c/C1/search?q=x", "Umember", language).await;
        search.says(StatusCode::OK, &language.text("search-away"));
        let log = bench.open_in("/c/C1/activity-log?kind=deletion", "Uowner", language).await;
        log.says(StatusCode::OK, &language.text("log-empty-title"));
    }
}

#[tokio::test]
async fn words_that_mean_something_in_pages_mean_nothing() {
    let bench = ConsoleBench::new().await;
    let words = [
        "<script>alert('1')</script> & \"two\"",
        "</textarea><img src=x onerror=alert(1)>",
        "{{ frame.title }} {% raw %} { $count }",
        "a\u{1b}[31m\u{7f}\u{85}b\u{202e}c",
        "line\r\nbreak",
    ];
    for (number, words) in words.iter().enumerate() {
        let time = format!("2026-02-28T00:0{number}:00Z");
        bench.say(&format!("w\"<{number}>"), "Umember", &time, words).await;
    }
    bench.rename("Umember", "<i>\"Ann\"</i>").await;
    for path in ["/c/C1", "/c/C1?around=w%22%3C0%3E", "/c/C1/people", "/console"] {
        let page = bench.open(path, "Uowner").await;
        page.says(StatusCode::OK, "<i>\"Ann\"</i>");
        let raw = ["<script>alert", "<img src=x", "<i>", "w\"<", "\u{1b}", "\u{7f}", "\r"];
        let found: Vec<_> = raw.into_iter().filter(|part| page.body.contains(part)).collect();
        assert!(found.is_empty(), "{path}: {found:?}");
    }
    let page = bench.open("/c/C1", "Uowner").await;
    for words in words {
        let shown = words.replace('\r', "").replace(['\u{1b}', '\u{7f}', '\u{85}'], "\u{fffd}");
        page.says(StatusCode::OK, &shown);
    }
}

#[tokio::test]
async fn a_message_is_told_what_became_of_it_in_every_language() {
    let bench = ConsoleBench::new().await;
    bench.say("m1", "Umember", "2026-02-28T00:00:00Z", "its first words").await;
    let later = serde_json::json!({"type": "text", "text": "a later text"}).to_string();
    let edited = at("2026-02-28T18:30:00Z");
    let edit = MessageChange::Edited { at: edited, by: None, content: later };
    bench.change(&[("m1", edit)]).await;
    for language in Language::ALL {
        let page = bench.open_in("/c/C1/m/m1", "Umember", language).await;
        page.says(StatusCode::OK, &language.text("permalink-title"));
        assert!(page.body.contains("a later text") && page.body.contains("02:30"), "{}", page.body);
        assert!(!page.body.contains("its first words"), "earlier texts are not kept");
    }
    let unsent = MessageChange::Unsent { at: at(NOW) };
    bench.change(&[("m1", unsent)]).await;
    for language in Language::ALL {
        let page = bench.open_in("/c/C1/m/m1", "Umember", language).await;
        page.says(StatusCode::OK, &language.text("permalink-gone"));
        assert!(!page.body.contains("a later text"), "{}", page.body);
    }
    let missing = bench.open("/c/C1/m/m2", "Umember").await;
    missing.says(StatusCode::NOT_FOUND, "Message not found");
    assert!(missing.body.contains(&format!("href=\"{}\"", escaped("/c/C1"))), "{}", missing.body);
}

#[tokio::test]
async fn a_place_with_a_title_of_nothing_is_called_a_location() {
    let bench = ConsoleBench::new().await;
    for (number, title) in ["", "\u{200b}\u{feff}"].into_iter().enumerate() {
        let content = Content::Location {
            title: Some(title.to_owned()),
            address: None,
            latitude: 25.0,
            longitude: 121.5,
        };
        let received = Received {
            at: at(NOW),
            sender: Some("Umember".into()),
            kind: content.kind(),
            content: serde_json::to_string(&content).unwrap(),
            quoted: None,
            is_bot: false,
        };
        let id = format!("place-{number}");
        bench.change(&[(id.as_str(), MessageChange::Received(received))]).await;
        let page = bench.open(&format!("/c/C1/m/{id}"), "Umember").await;
        page.says(StatusCode::OK, &Language::English.text("map-open"));
        let named = "<b lang=\"\" dir=\"auto\">Location</b>";
        assert!(page.body.contains(named), "{title:?}: {}", page.body);
    }
}
