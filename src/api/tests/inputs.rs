//! Paths and bodies as odd clients write them.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::fixture::{ApiFixture, OWNER_KEY, ReadAnswer};
use crate::MAX_BODY;

/// Sends a body to a route that takes one.
async fn posted(fixture: &ApiFixture, body: Vec<u8>) -> ReadAnswer {
    let authorization = format!("Bearer {OWNER_KEY}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    fixture.send(("POST", "/api/saved-searches"), &headers, body).await
}

#[tokio::test]
async fn a_body_may_have_a_mebibyte_and_not_a_byte_more() {
    let fixture = ApiFixture::new().await;
    assert_eq!(MAX_BODY, 1_048_576);
    let json = r#"{"name":"n","query":"q"}"#;
    for (bytes, status) in [(MAX_BODY, 201), (MAX_BODY + 1, 413)] {
        let body = format!("{json}{}", " ".repeat(bytes - json.len()));
        let answer = posted(&fixture, body.into_bytes()).await;
        assert_eq!(answer.status, status, "{bytes}");
        let code = if status == 413 { "body_too_large" } else { "" };
        assert_eq!(answer.error().1, code, "{bytes}");
    }
}

#[tokio::test]
async fn texts_come_back_as_they_were_sent() {
    let fixture = ApiFixture::new().await;
    for name in [
        "早安，ありがとう สวัสดี",
        "👩‍👩‍👧‍👦 🏳️‍🌈 e\u{301}",
        "\u{202b}שלום\u{202c} \u{2067}abc\u{2069}",
        "ＦＵＬＬ ｗｉｄｔｈ ㍿",
        "line\r\nbreak\ttab",
        "\"quotes\" \\ / <b>&amp;</b>",
        "\u{10ffff}\u{fffd}\u{e000}",
    ] {
        let body = json!({"name": name, "query": "q"});
        let made = fixture.done("POST", "/api/saved-searches", &body).await;
        let id = made["savedSearchId"].as_str().unwrap();
        let read = fixture.read(&format!("/api/saved-searches/{id}")).await.json();
        assert_eq!((&read["name"], &made["name"]), (&json!(name), &json!(name)));
    }
    // Escaped by the client: the same text.
    let escaped = br#"{"name":"\ud83d\ude00\u65e9\/","query":"q"}"#.to_vec();
    assert_eq!(posted(&fixture, escaped).await.json()["name"], "😀早/");
}

#[tokio::test]
async fn ids_in_paths_are_decoded_once() {
    let fixture = ApiFixture::new().await;
    let ids = ["a/b", "a%2Fb", "訊息 1", "..", "a?b#c", "a+b", "%", "e\u{301}"];
    for id in ids {
        fixture.said(id, &format!("text of {id}")).await;
    }
    for id in ids {
        let encoded = utf8_percent_encode(id, NON_ALPHANUMERIC);
        let path = format!("/api/channels/C1/backup/messages/{encoded}");
        let message = fixture.read(&path).await.json();
        assert_eq!(
            (&message["id"], &message["content"]),
            (&json!(id), &json!(format!("text of {id}")))
        );
    }
    let plain = fixture.read("/api/channels/C1/backup/messages/a+b").await.json();
    assert_eq!(plain["id"], "a+b", "a plus is no blank in a path");
}

#[tokio::test]
async fn a_route_has_its_two_names_and_no_other() {
    let fixture = ApiFixture::new().await;
    let me = fixture.read("/api/me").await;
    assert_eq!(fixture.read("/api/v1/me").await.body, me.body);
    for (path, code) in [
        ("/api/me/", "not_found"),
        ("/api//me", "not_found"),
        ("/api/Me", "not_found"),
        ("/api/v1/me/", "not_found"),
        ("/api/v1/v1/me", "not_found"),
        ("/api/v1/api/me", "not_found"),
        ("/api/v2/me", "unknown_api_version"),
        ("/api/v10/channels/C1", "unknown_api_version"),
        ("/api/v/me", "not_found"),
        ("/api/v1x/me", "not_found"),
        ("/api/channels/C1/", "not_found"),
    ] {
        let answer = fixture.read(path).await;
        assert_eq!(answer.error(), (404, code.to_owned(), String::new()), "{path}");
    }
}
