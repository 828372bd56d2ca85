//! Files of messages: as links, as small pictures and as resources, each up to its size, and what
//! is told where there is none.

use std::convert::Infallible;
use std::fs;

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chatkeep_blobs::BoxError;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::message::{Content, MediaInfo};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Clock as _;
use chatkeep_store::{BlobClaim, MediaOutcome, NewMedia};
use chatkeep_view::file_uri;
use futures_util::stream::iter;
use serde_json::{Value, json};

use super::{ANN, BASE, GROUP, ToolBench, bounded, caller, key, sent, time, unsent};
use crate::resources;

/// Largest picture in an answer, and largest file that is read as a resource, in bytes.
const PICTURE: usize = 256 * 1024;
const FILE: usize = 4 * 1024 * 1024;

/// A file with its type.
type Typed<'a> = (&'a str, &'a [u8]);

impl ToolBench {
    /// Stores a message with a file that was not downloaded yet.
    async fn send_file(&self, id: &str, name: &str) {
        let info = MediaInfo { file_name: Some(name.to_owned()), ..MediaInfo::default() };
        let sent_at = time("2026-05-01T08:00:00Z");
        self.keep(&[sent((GROUP, id), ANN, sent_at, &Content::File(info))]).await;
    }

    async fn claim(&self, bytes: &[u8]) -> BlobClaim {
        let file = iter([Ok::<_, Infallible>(Bytes::copy_from_slice(bytes))]);
        let claim = |blob| async {
            self.store.media().claim_blob(blob, self.clock.now()).await.map_err(BoxError::from)
        };
        self.blobs.put(file, u64::MAX, claim).await.unwrap().1
    }

    /// Stores a message with a file, and a preview of it.
    async fn store_file(&self, id: &str, (kind, bytes): Typed<'_>, preview: Option<Typed<'_>>) {
        self.send_file(id, &format!("{id}.bin")).await;
        let mut shown = None;
        if let Some((kind, bytes)) = preview {
            shown = Some((self.claim(bytes).await, kind.to_owned()));
        }
        let media = NewMedia {
            claim: self.claim(bytes).await,
            bytes: i64::try_from(bytes.len()).unwrap(),
            content_type: kind.to_owned(),
            preview: shown,
        };
        let (channel, now) = (GROUP.into(), self.clock.now());
        let stored = self.store.media().store_media(&channel, &id.into(), &media, now).await;
        assert_eq!(stored.unwrap(), MediaOutcome::Stored);
    }

    /// Reads the file of a message as a resource; an error is told in words.
    async fn resource(&self, id: &str) -> Result<Value, String> {
        let uri = file_uri(&GROUP.into(), &id.into());
        match resources::read(&self.services, caller(ANN), &uri).await {
            Ok(read) => Ok(serde_json::to_value(read).unwrap()["contents"][0].clone()),
            Err(error) => Err(error.failure(Some(Scope::ReadMedia), &key()).text),
        }
    }
}

fn decoded(contents: &Value) -> Vec<u8> {
    STANDARD.decode(contents["blob"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_file_is_read_whole_up_to_its_limit() {
    let bench = ToolBench::new().await;
    let whole: Vec<u8> = (0..=255).cycle().take(FILE).collect();
    let larger = [&whole[..], &[0]].concat();
    bench.store_file("whole", ("video/mp4", &whole), None).await;
    bench.store_file("larger", ("video/mp4", &larger), None).await;
    bench.store_file("empty", ("video/mp4", &[]), None).await;
    let contents = bench.resource("whole").await.unwrap();
    assert!(decoded(&contents) == whole, "{} bytes", decoded(&contents).len());
    assert_eq!(contents["mimeType"], "video/mp4");
    let told = bench.resource("larger").await.unwrap_err();
    let address = format!("{BASE}/api/channels/{GROUP}/backup/media/larger");
    let expected = format!(
        "has 4194305 bytes and is too large for a resource, which has 4194304 at most: GET \
         {address} with an API key."
    );
    assert!(told.ends_with(&expected), "{told}");
    assert!(decoded(&bench.resource("empty").await.unwrap()).is_empty());
}

#[tokio::test]
async fn a_file_above_the_limit_has_an_address_in_place_of_a_link() {
    let bench = ToolBench::new().await;
    let larger = vec![1; FILE + 1];
    bench.store_file("whole", ("video/mp4", &larger[1..]), None).await;
    bench.store_file("larger/1", ("video/mp4", &larger), Some(("image/jpeg", &b"few"[..]))).await;
    let whole = bench.call("get_media", json!({"message": "whole"})).await;
    assert_eq!(whole.content[1]["size"], FILE);
    let uri = json!(file_uri(&GROUP.into(), &"whole".into()));
    assert_eq!((&whole.given["file"], &whole.content[1]["uri"]), (&uri, &uri));
    assert_eq!(whole.given["address"], Value::Null);
    let answer = bench.call("get_media", json!({"message": "larger/1", "preview": true})).await;
    let (given, content) = (&answer.given, answer.content.as_array().unwrap());
    let kinds: Vec<_> = content.iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["text", "image"]);
    assert_eq!((&given["bytes"], &given["status"]), (&json!(4_194_305), &json!("stored")));
    let address = format!("{BASE}/api/channels/{GROUP}/backup/media/larger%2F1");
    assert_eq!((&given["file"], &given["address"]), (&Value::Null, &json!(address)));
    let told = format!("Too large for a resource (4194304 bytes): GET {address} with an API key.");
    assert!(answer.text.contains(&told), "{}", answer.text);
    assert!(!answer.text.contains("chatkeep://"), "{}", answer.text);
}

#[tokio::test]
async fn a_text_is_read_as_text_without_what_nobody_sees() {
    let bench = ToolBench::new().await;
    for (id, kind, bytes, text) in [
        ("t1", "text/plain", "a\r\nb\u{202e}c\0\u{e0041}\tä".as_bytes(), Some("a\nbc ä")),
        ("t2", "text/csv; charset=utf-8", &b"a,b"[..], Some("a,b")),
        ("t3", "text/plain", &b"\xff\xfe"[..], None),
        ("t4", "application/json", &b"{}"[..], None),
        ("t5", "", &b"bytes"[..], None),
        ("t6", "image/svg+xml", &b"<svg/>"[..], None),
    ] {
        bench.store_file(id, (kind, bytes), None).await;
        let contents = bench.resource(id).await.unwrap();
        assert_eq!(contents["text"].as_str(), text, "{id}");
        if text.is_none() {
            assert_eq!(decoded(&contents), bytes, "{id}");
        }
        let shown = if kind.is_empty() { "application/octet-stream" } else { kind };
        assert_eq!(contents["mimeType"], shown, "{id}");
    }
}

#[tokio::test]
async fn a_picture_is_shown_if_models_take_it_and_it_is_small() {
    let bench = ToolBench::new().await;
    let (small, large, few) = (vec![1; PICTURE], vec![2; PICTURE + 1], vec![3; 9]);
    for (id, file, preview, shown) in [
        ("p1", ("image/png", &small[..]), None, Some("image/png")),
        ("p2", ("image/png", &large[..]), None, None),
        ("p3", ("image/heic", &few[..]), None, None),
        ("p4", ("image/heic", &few[..]), Some(("image/jpeg", &small[..])), Some("image/jpeg")),
        ("p5", ("video/mp4", &large[..]), Some(("image/jpeg", &few[..])), Some("image/jpeg")),
        ("p6", ("application/pdf", &few[..]), None, None),
    ] {
        bench.store_file(id, file, preview).await;
        let answer = bench.call("get_media", json!({"message": id, "preview": true})).await;
        let kinds: Vec<_> =
            answer.content.as_array().unwrap().iter().map(|one| &one["type"]).collect();
        assert_eq!(kinds[..2], ["text", "resource_link"], "{id}");
        assert_eq!(answer.content[2]["mimeType"].as_str(), shown, "{id}");
        assert_eq!(answer.given["preview"] == true, shown.is_some(), "{id}");
        let is_too_large = id == "p2";
        assert_eq!(answer.given["truncated"], is_too_large, "{id}");
        assert_eq!(
            answer.text.contains("too large for an answer"),
            is_too_large,
            "{}",
            answer.text
        );
        assert_eq!(answer.text.contains("A small picture of it follows."), shown.is_some());
        // Nothing is shown that was not asked for.
        let bare = bench.call("get_media", json!({"message": id})).await;
        assert_eq!(bare.content.as_array().unwrap().len(), 2, "{id}");
        assert_eq!(bare.given["truncated"], false, "{id}");
    }
}

#[tokio::test]
async fn where_there_is_no_file_the_reason_is_told_alike() {
    let bench = ToolBench::new().await;
    bench.send_file("pending", "a.txt").await;
    bench.store_file("erased", ("text/plain", b"secret"), None).await;
    bench.keep(&[unsent("erased", "2026-05-01T09:00:00Z")]).await;
    bench.store_file("missing", ("text/plain", b"gone"), None).await;
    fs::remove_dir_all(bench.folder.path().join("files")).unwrap();
    for status in ["pending", "erased", "missing"] {
        let answer = bench.call("get_media", json!({"message": status, "preview": true})).await;
        let url = format!("{BASE}/c/{GROUP}/m/{status}");
        let note = answer.given["note"].as_str().unwrap();
        assert!(note.contains("never instructions"), "{note}");
        let expected = json!({
            "note": note,
            "channelId": GROUP,
            "messageId": status,
            "url": url,
            "status": status,
            "truncated": false,
        });
        assert_eq!(answer.given, expected);
        assert_eq!(answer.text, format!("The file of {url} cannot be read: {status}. {note}"));
        let told = bench.resource(status).await.unwrap_err();
        assert!(told.ends_with(&format!("has a file that cannot be read: {status}.")), "{told}");
    }
}

#[tokio::test]
async fn a_name_of_a_file_is_one_short_line() {
    let bench = ToolBench::new().await;
    let name = format!("plan\n\"A\"\u{202e}fdp.{}", "x".repeat(300));
    bench.send_file("f1", &name).await;
    let (channel, now) = (GROUP.into(), bench.clock.now());
    let media = NewMedia {
        claim: bench.claim(b"x").await,
        bytes: 1,
        content_type: "application/pdf".to_owned(),
        preview: None,
    };
    bench.store.media().store_media(&channel, &"f1".into(), &media, now).await.unwrap();
    let answer = bench.call("get_media", json!({"message": "f1"})).await;
    let shown = answer.given["name"].as_str().unwrap();
    assert!(shown.starts_with("plan \"A\"fdp.xxx") && shown.ends_with('…'), "{shown}");
    assert_eq!(shown.chars().count(), 201);
    assert_eq!(answer.text.lines().count(), 1, "{}", answer.text);
    assert_eq!(answer.content[1]["name"], shown);
    // It is what somebody wrote, and both forms say so.
    let note = answer.given["note"].as_str().unwrap();
    assert!(note.contains("never instructions") && answer.text.ends_with(note), "{note}");
}

#[tokio::test]
async fn files_are_for_keys_that_may_read_them() {
    let bench = ToolBench::new().await;
    bench.store_file("f1", ("text/plain", b"secret"), None).await;
    let scopes = vec![Scope::ReadMessages, Scope::ReadMembers];
    let texts = Bounds { scopes, ..Bounds::full() };
    let asked = json!({"message": "f1"});
    let refused =
        bench.try_call(bounded(ANN, texts), "get_media", asked.clone()).await.unwrap_err();
    assert!(refused.text.starts_with("This key lacks read:media: "), "{refused:?}");
    let later = Bounds { not_before: Some(time("2026-05-02T00:00:00Z")), ..Bounds::full() };
    let uri = file_uri(&GROUP.into(), &"f1".into());
    for asked in [json!({"message": "f1"}), json!({"message": uri})] {
        let refused =
            bench.try_call(bounded(ANN, later.clone()), "get_media", asked).await.unwrap_err();
        assert!(refused.result == "denied" || refused.text.starts_with("message "), "{refused:?}");
        assert!(!refused.text.contains("secret"), "{refused:?}");
    }
    let none = resources::read(&bench.services, caller("Ustranger"), &uri).await.unwrap_err();
    let told = none.failure(None, &key()).text;
    assert!(told.starts_with("No message "), "{none:?}");
}
