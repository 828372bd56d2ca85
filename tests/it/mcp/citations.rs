//! Cited messages: each verdict on one, and what is told to whom.

use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use serde_json::{Value, json};

use super::{ANN, BO, CHANNEL, Models, message, message_in};
use crate::store::{at, edited, erase_person, unsent};

const BASE: &str = "https://chat.example.org/x";

async fn cited() -> Models {
    let models = Models::start(&[("CHATKEEP_API_BASE_URL", BASE)]).await;
    models
        .keep(&[
            message("m1", ANN, "2026-01-02T03:00:00Z", "The train leaves at 8:30, not at 9."),
            message("m2", ANN, "2026-01-02T03:01:00Z", "gate A"),
            message("m3", ANN, "2026-01-02T03:02:00Z", "never mind"),
            message("m4", BO, "2026-01-02T03:03:00Z", "my number is 0912"),
            edited(CHANNEL, "m2", 1_767_416_500_000, "gate B"),
            unsent(CHANNEL, "m3", 1_767_420_100_000),
        ])
        .await;
    models
}

fn verdict(given: &Value) -> &str {
    given["verdict"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_citation_is_what_it_was_or_the_reason_is_told() {
    let models = cited().await;
    let (channel, before) = (CHANNEL.into(), Timestamp::parse("2026-02-01T00:00:00Z").unwrap());
    erase_person(&models.store, &channel, &BO.into(), before, before).await;
    let link = |id: &str| format!("{BASE}/c/{CHANNEL}/m/{id}");
    for (url, quoted, expected) in [
        (link("m1"), json!("the train … not at ９"), "same"),
        (link("m1"), Value::Null, "same"),
        ("m1".to_owned(), json!("leaves at 8:30"), "same"),
        (format!("chatkeep://channel/{CHANNEL}/message/m1"), json!("leaves"), "same"),
        (link("m1"), json!("leaves at 8:45"), "different"),
        (link("m2"), json!("gate A"), "edited_since"),
        (link("m2"), json!("gate B"), "same"),
        (link("m3"), json!("never mind"), "unsent"),
        (link("m4"), json!("0912"), "erased"),
        (link("m9"), json!("x"), "unreachable"),
        ("/c/Cnowhere/m/m1".to_owned(), json!("x"), "unreachable"),
    ] {
        let asked = json!({"url": url, "quoted": quoted});
        let answer = models.call("verify_citation", asked).await;
        let (given, text) = (answer.given(), answer.text());
        assert_eq!(verdict(given), expected, "{url} {quoted}: {given}");
        assert!(text.starts_with(&format!("{expected}: ")), "{text}");
        assert!(!text.contains("0912") && !given.to_string().contains("0912"), "{given}");
        assert_eq!(given["message"].is_object(), expected != "unreachable" && url != link("m9"));
    }
    let bare = models.call("verify_citation", json!({"url": "m2"})).await;
    let told = "same: The message is there. No words were given to compare. Edited at ";
    assert!(bare.text().starts_with(told), "{}", bare.text());
    let edited = models.call("verify_citation", json!({"url": "m2", "quoted": "gate A"})).await;
    assert_eq!(edited.given()["message"]["text"], "gate B");
    assert!(edited.given()["editedAt"].is_string() && edited.text().contains("\"gate B\""));
    // The one message is there as a whole, however long it is.
    let whole = format!("{}ends here", "ha ".repeat(1_000));
    models.keep(&[message("m6", ANN, "2026-01-02T03:05:00Z", &whole)]).await;
    let long = models.call("verify_citation", json!({"url": "m6", "quoted": "ends here"})).await;
    assert_eq!(long.given()["message"]["text"], whole);
    assert_eq!((verdict(long.given()), &long.given()["truncated"]), ("same", &json!(false)));
    // What was shown can be cited, though the text has more in it than is shown.
    let odd = "doors\u{1b}[1m open\u{7} at\u{85}ei\u{fffa}ght";
    models.keep(&[message("m7", ANN, "2026-01-02T03:06:00Z", odd)]).await;
    let seen = models.call("verify_citation", json!({"url": "m7"})).await;
    let seen = &seen.given()["message"]["text"];
    assert_eq!(seen, "doors[1m open at\neight");
    let cited = models.call("verify_citation", json!({"url": "m7", "quoted": seen})).await;
    assert_eq!(verdict(cited.given()), "same");
    let elsewhere =
        models.call("verify_citation", json!({"url": "https://x.example/c/1/m/2"})).await;
    assert!(elsewhere.refusal().starts_with("url "), "{}", elsewhere.refusal());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_key_may_not_read_is_out_of_its_reach() {
    let models = cited().await;
    models.channel("Cother", &[ANN]).await;
    models.keep(&[message_in("Cother", "o1", ANN, "2026-01-02T03:00:00Z", "secret")]).await;
    models.key("ck_later", ANN, |key| key.not_before = Some(at(1_767_400_000_000))).await;
    models.bound_key("ck_here", ANN, &[CHANNEL.into()]).await;
    // Of this one only the ledger knows.
    let quiet = UserId::from("Uquiet");
    models
        .store
        .members()
        .set_opted_out(&quiet, Some(&CHANNEL.into()), true, || at(5))
        .await
        .unwrap();
    models.keep(&[message("m5", "Uquiet", "2026-01-02T03:04:00Z", "never stored")]).await;
    let link = |id: &str| format!("{BASE}/c/{CHANNEL}/m/{id}");
    let known = models.call("verify_citation", json!({"url": link("m5")})).await;
    assert_eq!(verdict(known.given()), "erased");
    let mut told = Vec::new();
    for id in ["m1", "m5", "m9"] {
        let answer = models.call_as("ck_later", "verify_citation", json!({"url": link(id)})).await;
        assert_eq!(verdict(answer.given()), "unreachable", "{id}");
        told.push(answer.body.to_string());
    }
    assert!(told.iter().all(|answer| *answer == told[0]), "{told:?}");
    for (key, url) in [
        ("ck_bo", format!("{BASE}/c/Cother/m/o1")),
        ("ck_bo", "o1".to_owned()),
        ("ck_here", format!("{BASE}/c/Cother/m/o1")),
        ("ck_later", "m1".to_owned()),
    ] {
        let answer = models.call_as(key, "verify_citation", json!({"url": url})).await;
        assert_eq!(verdict(answer.given()), "unreachable", "{key} {url}");
        assert!(!answer.body.to_string().contains("secret"), "{}", answer.body);
    }
}
