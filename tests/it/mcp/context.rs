//! Messages by reference: their links and ids, what is around them, what they quote, and what quotes
//! them.

use chatkeep_store::PresenceEvidenceKind;
use serde_json::{Value, json};

use super::{ANN, BO, CHANNEL, Models, message, message_in, quote, texts};
use crate::store::{at, item, unsent};

const BASE: &str = "https://chat.example.org/x";

fn link(id: &str) -> String {
    format!("{BASE}/c/{CHANNEL}/m/{id}")
}

/// Starts a program with thirty messages, one a minute. m12 quotes m05, m20 quotes m12; m25 and m26
/// quote m20, m27 quotes m25.
async fn quoted() -> Models {
    let models = Models::start(&[("CHATKEEP_API_BASE_URL", BASE)]).await;
    let pairs = [(12, "m05"), (20, "m12"), (25, "m20"), (26, "m20"), (27, "m25")];
    let batch: Vec<_> = (0..30)
        .map(|n| {
            let time = format!("2026-01-02T03:{n:02}:00Z");
            let (id, text) = (format!("m{n:02}"), format!("text {n}"));
            match pairs.iter().find(|(from, _)| *from == n) {
                Some((_, to)) => quote(&id, BO, &time, &text, to),
                None => message(&id, ANN, &time, &text),
            }
        })
        .collect();
    models.keep(&batch).await;
    models
}

fn ids(list: &Value) -> Vec<String> {
    texts(list, "id")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_comes_with_its_neighbours_and_quotes() {
    let models = quoted().await;
    let asked = json!({"message": link("m20"), "before": 3, "after": 3});
    let answer = models.call("get_context", asked).await;
    let given = answer.given();
    assert_eq!(ids(&given["messages"]), ["m17", "m18", "m19", "m20", "m21", "m22", "m23"]);
    assert_eq!(ids(&given["quotes"]), ["m05", "m12"]);
    assert_eq!(ids(&given["quotedBy"]), ["m25", "m26", "m27"]);
    assert_eq!((&given["messageId"], &given["channelId"]), (&json!("m20"), &json!(CHANNEL)));
    assert_eq!((&given["moreBefore"], &given["moreAfter"]), (&json!(true), &json!(true)));
    for part in ["quotes", "messages", "quotedBy"] {
        for row in given[part].as_array().unwrap() {
            let url = link(row["id"].as_str().unwrap());
            assert_eq!(row["url"], url, "{row}");
            assert!(answer.text().contains(&url), "{url} in {}", answer.text());
        }
    }
    let lines: Vec<_> = answer.text().lines().collect();
    let marked = format!("> 03:20:00 p1 \"text 20\" (quotes m12) {}", link("m20"));
    assert!(lines.contains(&&*marked), "{lines:?}");
    assert!(lines.contains(&"It quotes, oldest first:"), "{lines:?}");
    // What is among the neighbours is there only once.
    let wide = models.call("get_context", json!({"message": "m20", "before": 20})).await;
    assert_eq!(ids(&wide.given()["messages"]).len(), 30);
    assert_eq!((&wide.given()["quotes"], &wide.given()["quotedBy"]), (&json!([]), &json!([])));
    assert_eq!(wide.given()["moreBefore"], false);
    assert!(wide.text().contains("The channel has no other messages."), "{}", wide.text());
    // The message alone.
    let asked = json!({"message": "m05", "channelId": CHANNEL, "before": 0, "after": 0});
    let alone = models.call("get_context", asked).await;
    assert_eq!(ids(&alone.given()["messages"]), ["m05"]);
    assert_eq!(ids(&alone.given()["quotedBy"]), ["m12", "m20", "m25", "m26", "m27"]);
    assert_eq!(alone.given()["moreBefore"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_stand_for_ids() {
    let models = quoted().await;
    let around = async |around: &str| {
        let asked = json!({"channelId": CHANNEL, "around": around, "limit": 5});
        ids(&models.call("get_messages", asked).await.given()["messages"])
    };
    let expected = ["m22", "m21", "m20", "m19", "m18"];
    assert_eq!(around(&link("m20")).await, expected);
    assert_eq!(around("m20").await, expected);
    assert_eq!(around("2026-01-02T03:20:30Z").await, expected);
    let asked = json!({"channelId": link("m20"), "limit": 1});
    let messages = models.call("get_messages", asked).await;
    assert_eq!(ids(&messages.given()["messages"]), ["m29"]);
    assert_eq!(messages.given()["interpreted"], json!({"channelId": CHANNEL}));
    assert!(messages.text().contains(&format!("\nRead as: channelId {CHANNEL}.")));
    assert_eq!(messages.given()["messages"][0]["url"], link("m29"));
    let members = models.call("get_members", json!({"channelId": format!("{BASE}/c/{CHANNEL}")}));
    assert_eq!(members.await.given()["members"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_references_say_what_is_wrong() {
    let models = quoted().await;
    models.channel("C2", &[ANN]).await;
    models.keep(&[message_in("C2", "m20", ANN, "2026-01-05T00:00:00Z", "also m20")]).await;
    let elsewhere = format!("https://evil.example.org/x/c/{CHANNEL}/m/m20");
    let here = format!("those of this one begin with {BASE}/c/");
    for (tool, arguments, expected) in [
        ("get_context", json!({"message": elsewhere}), &*here),
        ("get_messages", json!({"channelId": CHANNEL, "around": elsewhere}), &here),
        ("get_messages", json!({"channelId": elsewhere}), &here),
        ("get_context", json!({"message": format!("{BASE}/c/{CHANNEL}")}), "those end with /m/"),
        ("get_context", json!({"message": format!("{BASE}/console")}), "those end with /m/"),
        ("get_context", json!({"message": link("m99")}), "No message \"https://chat"),
        ("get_context", json!({"message": "m99"}), "No message \"m99\" that this key may read"),
        ("get_context", json!({"message": "m99", "channelId": CHANNEL}), "No message \"m99\""),
        ("get_context", json!({"message": format!("{BASE}/c/Cx/m/m20")}), "No message"),
        ("get_messages", json!({"channelId": CHANNEL, "around": "m99"}), "No message \"m99\""),
        ("get_context", json!({"message": link("m20"), "channelId": "C2"}), "another channel"),
        ("get_messages", json!({"channelId": "C2", "around": link("m20")}), "another channel"),
        ("get_context", json!({"message": "m20"}), "in 2 channels"),
        ("get_context", json!({"message": ""}), "message must be the link or id of a message"),
        ("get_context", json!({}), "message is missing"),
        ("get_context", json!({"message": "m20", "before": 51}), "whole number from 0 to 50"),
        ("get_context", json!({"message": "m20", "after": -1}), "whole number from 0 to 50"),
        ("get_context", json!({"message": "a\u{0}b"}), "contains U+0000"),
        ("get_context", json!({"message": format!("/c/{CHANNEL}/m/%00")}), "those end with /m/"),
    ] {
        let answer = models.call(tool, arguments.clone()).await;
        let refusal = answer.refusal();
        assert!(refusal.contains(expected), "{tool} {arguments}: {refusal}");
    }
    let chosen = models.call("get_context", json!({"message": "m20", "channelId": "C2"})).await;
    assert_eq!(chosen.given()["messages"][0]["text"], "also m20");
    // Without a public address links are those of the listener; paths work, too.
    let models = Models::start(&[]).await;
    models.keep(&[message("m1", ANN, "2026-01-02T03:04:05Z", "hi")]).await;
    let path = format!("/c/{CHANNEL}/m/m1");
    let answer = models.call("get_context", json!({"message": path})).await;
    assert_eq!(ids(&answer.given()["messages"]), ["m1"]);
    let own = models.url().replace("/mcp", &path);
    assert_eq!(answer.given()["messages"][0]["url"], own);
    assert!(answer.text().contains(&own), "{}", answer.text());
    let answer = models.call("get_context", json!({"message": link("m1")})).await;
    assert!(answer.refusal().contains("link of another server"), "{}", answer.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_retracted_leaves_its_place_and_nothing_else() {
    let models = quoted().await;
    let late = 1_767_500_000_000;
    models.keep(&[unsent(CHANNEL, "m12", late), unsent(CHANNEL, "m19", late)]).await;
    let asked = json!({"message": "m20", "before": 1, "after": 0});
    let answer = models.call("get_context", asked).await;
    let (text, whole) = (answer.text(), answer.body.to_string());
    for row in [&answer.given()["quotes"][1], &answer.given()["messages"][0]] {
        assert_eq!((&row["unsent"], &row["text"]), (&json!(true), &Value::Null), "{row}");
    }
    assert_eq!(ids(&answer.given()["quotes"]), ["m05", "m12"]);
    assert!(!whole.contains("text 12") && !whole.contains("text 19"), "{text}");
    let gone = models.call("get_context", json!({"message": "m12", "before": 0, "after": 0})).await;
    assert_eq!(gone.given()["messages"][0]["unsent"], true);
    assert_eq!(ids(&gone.given()["quotedBy"]), ["m20", "m25", "m26", "m27"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gaps_among_the_neighbours_are_told() {
    let models = quoted().await;
    let minute = |minute: i64| 1_767_322_800_000 + minute * 60_000;
    let evidence = [
        item(CHANNEL, minute(19) + 1_000, PresenceEvidenceKind::BotLeft),
        item(CHANNEL, minute(19) + 30_000, PresenceEvidenceKind::BotJoined),
        item(CHANNEL, minute(10) + 1_000, PresenceEvidenceKind::BotLeft),
        item(CHANNEL, minute(10) + 30_000, PresenceEvidenceKind::BotJoined),
    ];
    models.store.members().record_presence(&evidence, at(minute(40))).await.unwrap();
    let gaps = async |before: u32| {
        let asked = json!({"message": "m20", "before": before, "after": 2});
        texts(&models.call("get_context", asked).await.given()["gaps"], "from")
    };
    assert_eq!(gaps(0).await, [] as [&str; 0]);
    assert_eq!(gaps(3).await, ["2026-01-02T03:19:01Z"]);
    assert_eq!(gaps(12).await, ["2026-01-02T03:10:01Z", "2026-01-02T03:19:01Z"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_contexts_are_cut_from_outside() {
    let models = Models::start(&[]).await;
    let long = |n: usize| format!("{n} {}", "日本語".repeat(500));
    let batch: Vec<_> = (0..100)
        .map(|n| {
            let time = format!("2026-01-02T03:{:02}:{:02}Z", n / 60, n % 60);
            let id = format!("m{n:02}");
            match n {
                60..80 => quote(&id, BO, &time, &long(n), "m50"),
                _ => message(&id, ANN, &time, &long(n)),
            }
        })
        .collect();
    models.keep(&batch).await;
    let asked = json!({"message": "m50", "before": 50, "after": 50});
    let answer = models.call("get_context", asked).await;
    let size = serde_json::to_string(answer.result()).unwrap().len();
    assert!(size < 36_000, "{size} bytes");
    let given = answer.given();
    let shown = ids(&given["messages"]);
    let at = shown.iter().position(|id| id == "m50").unwrap();
    assert!(at > 0 && at + 1 < shown.len(), "on both sides: {shown:?}");
    assert_eq!(given["messages"][at]["text"], long(50), "in full");
    let first: usize = shown[0][1..].parse().unwrap();
    let expected: Vec<_> = (first..first + shown.len()).map(|n| format!("m{n:02}")).collect();
    assert_eq!(shown, expected, "without holes");
    for flag in ["truncated", "moreBefore", "moreAfter", "moreQuotedBy"] {
        assert_eq!(given[flag], true, "{flag}");
    }
    assert!(ids(&given["quotedBy"]).contains(&"m60".to_owned()), "{}", given["quotedBy"]);
    // What a message quotes comes before what is around it.
    let asked = json!({"message": "m79", "before": 50, "after": 50});
    let answer = models.call("get_context", asked).await;
    assert_eq!(ids(&answer.given()["quotes"]), ["m50"], "{:?}", ids(&answer.given()["messages"]));
}
