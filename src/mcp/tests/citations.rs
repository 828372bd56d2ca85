//! Citations: the same words in another form are the same, and what is shown can be cited.

use chatkeep_core::bounds::Bounds;
use serde_json::{Value, json};

use super::{ANN, BO, GROUP, ToolBench, bounded, edited, said, time, unsent};

async fn verdict(bench: &ToolBench, arguments: Value) -> String {
    let answer = bench.call("verify_citation", arguments).await;
    let verdict = answer.given["verdict"].as_str().unwrap().to_owned();
    assert!(answer.text.starts_with(&format!("{verdict}: ")), "{}", answer.text);
    verdict
}

/// Texts that are shown otherwise than they were written.
const WRITTEN: [&str; 9] = [
    "plain words",
    "two\r\nlines\u{2028}and\tmore",
    "hid\u{200b}den \u{202e}marks\u{feff}",
    "Ａｌｌ ＷＩＤＥ １２３",
    "e\u{301}t\u{e9} caf\u{e9}",
    "แม่น้ำ กำลัง",
    "👩‍👩‍👧 family 👍🏽",
    "عربي \u{200f}abc\u{200f} ١٢٣",
    "… starts and ends …",
];

#[tokio::test]
async fn what_a_tool_shows_can_be_cited_as_it_is_shown() {
    let bench = ToolBench::new().await;
    let changes = WRITTEN.iter().enumerate().map(|(nth, words)| {
        said(&format!("m{nth}"), BO, &format!("2026-05-01T08:0{nth}:00Z"), words)
    });
    bench.keep(&changes.collect::<Vec<_>>()).await;
    for (nth, words) in WRITTEN.iter().enumerate() {
        let url = format!("m{nth}");
        let shown = bench.call("get_context", json!({"message": url})).await;
        let rows = shown.given["messages"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == url).unwrap();
        let text = row["text"].as_str().unwrap();
        for quoted in [text, *words, &text.to_uppercase(), &format!("  {text}\n")] {
            let asked = json!({"url": url, "quoted": quoted});
            assert_eq!(verdict(&bench, asked).await, "same", "{quoted:?} of {words:?}");
        }
        let wrong = json!({"url": url, "quoted": format!("{text} never")});
        assert_eq!(verdict(&bench, wrong).await, "different", "{words:?}");
    }
}

/// Returns short words of that length together, the last with a space behind it.
fn filler(length: usize) -> String {
    format!("{}{}", "a ".repeat(length / 2), " ".repeat(length % 2))
}

/// Returns a text with a number at each place where a tool would cut it: after 100 characters among
/// the newest of a channel, after 400 among others, and 60 before what is found.
fn with_numbers(nth: usize) -> String {
    let [first, second, last] = [filler(96 + nth), filler(294), filler(100)];
    let (near, rest) = (filler(55 + nth), filler(300));
    format!("{first}12500 {second}12500 {last}12500 {near}paid before Friday {rest}")
}

#[tokio::test]
async fn what_is_cut_has_whole_numbers_and_can_be_cited_as_it_is_shown() {
    let bench = ToolBench::searching().await;
    let changes = (0..3).map(|nth| {
        said(&format!("m{nth}"), BO, &format!("2026-05-01T08:0{nth}:00Z"), &with_numbers(nth))
    });
    bench.keep(&changes.collect::<Vec<_>>()).await;
    for (tool, arguments, rows) in [
        ("list_channels", json!({"recent": true}), "/channels/0/recent"),
        ("get_messages", json!({"channelId": GROUP}), "/messages"),
        ("search_messages", json!({"query": "paid"}), "/hits"),
    ] {
        let answer = bench.call(tool, arguments).await;
        let rows = answer.given.pointer(rows).and_then(Value::as_array).unwrap();
        assert_eq!(rows.len(), 3, "{tool}");
        for row in rows {
            let text = row["text"].as_str().unwrap();
            let mut numbers = text.split(|c: char| !c.is_ascii_digit());
            assert!(numbers.all(|number| ["", "12500"].contains(&number)), "{tool}: {text}");
            assert!(text.ends_with('…'), "{tool}: {text}");
            let asked = json!({"url": row["id"], "quoted": text});
            assert_eq!(verdict(&bench, asked).await, "same", "{tool}: {text}");
        }
    }
    for (quoted, expected) in [("…paid bef…", "same"), ("…500 a a", "different")] {
        let asked = json!({"url": "m0", "quoted": quoted});
        assert_eq!(verdict(&bench, asked).await, expected, "{quoted}");
    }
}

#[tokio::test]
async fn a_verdict_is_of_the_text_as_it_is_now() {
    let bench = ToolBench::new().await;
    let m1 = || said("m1", ANN, "2026-05-01T08:00:00Z", "gate A at nine");
    bench.keep(&[m1(), said("m2", ANN, "2026-05-01T08:01:00Z", "gate A")]).await;
    let cited = |quoted: &str| json!({"url": "m1", "quoted": quoted});
    assert_eq!(verdict(&bench, cited("gate A")).await, "same");
    assert_eq!(verdict(&bench, cited("gate B")).await, "different");
    bench.keep(&[edited("m1", "2026-05-01T09:00:00Z", "gate B at nine")]).await;
    assert_eq!(verdict(&bench, cited("gate A")).await, "edited_since");
    assert_eq!(verdict(&bench, cited("gate B")).await, "same");
    assert_eq!(verdict(&bench, cited("at nine")).await, "same");
    assert_eq!(verdict(&bench, cited("never said")).await, "edited_since");
    // The same change again changes nothing.
    bench.keep(&[m1(), edited("m1", "2026-05-01T09:00:00Z", "gate B at nine")]).await;
    let answer = bench.call("verify_citation", cited("gate B")).await;
    assert_eq!(answer.given["editedAt"], "2026-05-01T09:00:00Z");
    assert!(answer.text.contains(" Edited at 2026-05-01T09:00:00Z."), "{}", answer.text);
    bench.keep(&[unsent("m1", "2026-05-01T10:00:00Z")]).await;
    let answer = bench.call("verify_citation", cited("gate B")).await;
    assert_eq!(answer.given["verdict"], "unsent");
    assert_eq!(answer.given["unsentAt"], "2026-05-01T10:00:00Z");
    assert!(answer.given.get("editedAt").is_none(), "{}", answer.given);
    let whole = format!("{}{}", answer.given, answer.text);
    assert!(!whole.contains("gate"), "nothing of it is repeated: {whole}");
    assert_eq!(verdict(&bench, json!({"url": "m2", "quoted": "gate A"})).await, "same");
}

#[tokio::test]
async fn a_quotation_without_words_asks_only_whether_the_message_is_there() {
    let bench = ToolBench::new().await;
    bench.keep(&[said("m1", ANN, "2026-05-01T08:00:00Z", "x")]).await;
    for quoted in [json!(null), json!(""), json!(" \u{3000}")] {
        let answer = bench.call("verify_citation", json!({"url": "m1", "quoted": quoted})).await;
        let told = "same: The message is there. No words were given to compare.";
        assert!(answer.text.starts_with(told), "{}", answer.text);
    }
    bench.set_zone(GROUP, "Asia/Kathmandu").await;
    let answer = bench.call("verify_citation", json!({"url": "m1"})).await;
    assert_eq!(answer.given["message"]["time"], "2026-05-01T13:45:00+05:45");
}

#[tokio::test]
async fn who_may_read_nothing_is_told_no_more_than_of_nothing() {
    let bench = ToolBench::new().await;
    bench.keep(&[said("m1", ANN, "2026-05-01T08:00:00Z", "secret")]).await;
    let later = Bounds { not_before: Some(time("2026-05-02T00:00:00Z")), ..Bounds::full() };
    let elsewhere = Bounds { channels: Some(vec!["Cother".into()]), ..Bounds::full() };
    let mut told = Vec::new();
    for (user, bounds) in [(ANN, later), (ANN, elsewhere), ("Ustranger", Bounds::full())] {
        for url in ["m1", "m9", &format!("/c/{GROUP}/m/m1"), &format!("/c/{GROUP}/m/m9")] {
            let asked = json!({"url": url, "quoted": "secret"});
            let caller = bounded(user, bounds.clone());
            let answer = bench.try_call(caller, "verify_citation", asked).await.unwrap();
            told.push((answer.given, answer.text));
        }
    }
    assert!(told.iter().all(|one| *one == told[0]), "{told:#?}");
    assert_eq!(told[0].0["verdict"], "unreachable");
}
