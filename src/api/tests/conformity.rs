//! Real responses are what the OpenAPI document says of them.

use serde_json::Value;

use super::fixture::{ApiFixture, ReadAnswer, filled_in};
use super::schemas::{ReadDocument, ReadOperation};

/// Headers that are always there when they are documented.
const SURE: [&str; 4] = ["ETag", "Location", "X-Request-Id", "X-API-Version"];

/// Operations that something keeps from a success here: there is no search index and no file, the
/// export is not written, and the delivery waits.
const KEPT: [&str; 5] =
    ["search", "search_channel", "get_media", "get_export_document", "redeliver"];

/// Sends the request of an operation as its documentation would.
async fn called(
    fixture: &ApiFixture,
    operation: &ReadOperation<'_>,
    ids: &[(&str, String)],
) -> ReadAnswer {
    let query = match operation.id {
        "search" | "search_channel" => "?q=%E6%97%A9%E5%AE%89",
        "delete_messages" => "?before=2020-01-01T00:00:00Z",
        "export_messages" => "?format=jsonl",
        _ => "",
    };
    let path = format!("{}{query}", filled_in(operation.path, ids));
    let body = operation.body().map_or(Value::Null, |body| body["example"].clone());
    fixture.ask(&operation.method, &path, &body).await
}

/// Asserts that an answer is one of those that the document describes.
fn conforms(document: &ReadDocument, operation: &ReadOperation<'_>, answer: &ReadAnswer) {
    let at = format!("{} {}", operation.id, answer.status);
    let described = &operation.form["responses"][answer.status.to_string()];
    assert!(described.is_object(), "{at} is not documented: {:?}", answer.body);
    let described = document.resolved(described);
    for name in SURE {
        if described["headers"][name].is_object() {
            assert!(!answer.header(name).is_empty(), "{at}: {name}");
        }
    }
    let content = described["content"].as_object().unwrap();
    let kind = answer.header("content-type");
    let form = content.get(kind).unwrap_or_else(|| panic!("{at}: {kind}"));
    if kind == "application/json" {
        let faults = document.faults(&form["schema"], &answer.json());
        assert!(faults.is_empty(), "{at}: {faults:#?} in {:?}", answer.body);
    }
}

#[tokio::test]
async fn every_operation_answers_as_it_is_documented() {
    let (fixture, document) = (ApiFixture::new().await, ReadDocument::new());
    let ids = fixture.objects().await;
    let operations = document.operations();
    let mut kept = Vec::new();
    // What is read is read again after changes; what is removed is removed at the end.
    for methods in [&["GET"][..], &["POST", "PUT"], &["GET"], &["DELETE"]] {
        for operation in operations.iter().filter(|one| methods.contains(&one.method.as_str())) {
            let answer = called(&fixture, operation, &ids).await;
            conforms(&document, operation, &answer);
            if answer.status >= 300 {
                kept.push(operation.id);
            }
        }
    }
    kept.retain(|id| !KEPT.contains(id));
    assert!(kept.is_empty(), "{kept:?}");
}

#[tokio::test]
async fn what_is_not_there_is_told_as_it_is_documented() {
    let (fixture, document) = (ApiFixture::new().await, ReadDocument::new());
    let known = [("channelId", "C1".to_owned()), ("userId", "U2".to_owned())];
    let unknown = ["messageId", "qaId", "savedSearchId", "webhookId", "deliveryId", "exportId"]
        .into_iter()
        .chain(["jobId", "keyId"])
        .map(|name| (name, "none".to_owned()));
    let ids: Vec<_> = known.into_iter().chain(unknown).collect();
    let mut asked = 0;
    for operation in document.operations() {
        let names = operation.parameters("path");
        if names.iter().all(|name| ["channelId", "userId"].contains(name)) {
            continue;
        }
        let answer = called(&fixture, &operation, &ids).await;
        conforms(&document, &operation, &answer);
        assert_eq!(
            answer.error(),
            (404, "not_found".to_owned(), String::new()),
            "{}",
            operation.id
        );
        asked += 1;
    }
    assert!(asked > 15, "{asked}");
}

#[tokio::test]
async fn whoever_has_no_key_learns_nothing_of_any_operation() {
    let (fixture, document) = (ApiFixture::new().await, ReadDocument::new());
    let ids = fixture.objects().await;
    for operation in document.operations() {
        let path = filled_in(operation.path, &ids);
        for credential in ["", "Bearer", "Bearer ck_owner2", "Basic Y2tfb3duZXI6", "ck_owner"] {
            let headers = [("authorization", credential), ("content-type", "application/json")];
            let request = (operation.method.as_str(), path.as_str());
            let answer = fixture.send(request, &headers, "{\"nope\":").await;
            conforms(&document, &operation, &answer);
            let expected = (401, "invalid_api_key".to_owned(), String::new());
            assert_eq!(answer.error(), expected, "{} {credential}", operation.id);
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{}", operation.id);
        }
    }
}
