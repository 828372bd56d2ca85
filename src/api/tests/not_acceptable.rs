//! Refusals of media types that no response has: only routes that stream files choose.

use super::fixture::{ApiFixture, OWNER_KEY, ReadAnswer};

/// Makes an export, and returns its id.
async fn export(fixture: &ApiFixture) -> String {
    let mut made = fixture.objects().await.into_iter();
    made.find(|(name, _)| *name == "exportId").unwrap().1
}

/// Reads a path as somebody who takes nothing but tables.
async fn tables_alone(fixture: &ApiFixture, path: &str) -> ReadAnswer {
    let authorization = format!("Bearer {OWNER_KEY}");
    let headers = [("authorization", authorization.as_str()), ("accept", "text/csv")];
    fixture.send(("GET", path), &headers, "").await
}

#[tokio::test]
async fn routes_with_json_are_not_taken_for_files_by_their_names() {
    let fixture = ApiFixture::new().await;
    let export = export(&fixture).await;
    for path in [
        "/api/me".to_owned(),
        "/api/channels/C1/backup/media".to_owned(),
        "/api/channels/C1/backup/exports".to_owned(),
        format!("/api/v1/channels/C1/backup/exports/{export}"),
    ] {
        let answer = tables_alone(&fixture, &path).await;
        assert_eq!(answer.error().1, "not_acceptable", "{path}: {:?}", answer.body);
    }
}

#[tokio::test]
async fn routes_that_stream_files_choose_themselves() {
    let fixture = ApiFixture::new().await;
    let export = export(&fixture).await;
    for path in [
        "/api/channels/C1/backup/export?format=csv".to_owned(),
        "/api/v1/channels/C1/backup/export?format=csv".to_owned(),
        format!("/api/channels/C1/backup/exports/{export}/document"),
        "/api/channels/C1/backup/media/m1".to_owned(),
    ] {
        let answer = tables_alone(&fixture, &path).await;
        assert_ne!(answer.error().1, "not_acceptable", "{path}: {:?}", answer.body);
    }
}
