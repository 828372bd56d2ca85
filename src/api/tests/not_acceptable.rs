//! Refusals of media types that no response has: only routes that stream files choose.

use super::fixture::{ApiFixture, OWNER_KEY};

#[tokio::test]
async fn routes_with_json_are_not_taken_for_files_by_their_names() {
    let fixture = ApiFixture::new().await;
    let ids = fixture.objects().await;
    let export = ids.iter().find(|(name, _)| *name == "exportId").unwrap();
    let authorization = format!("Bearer {OWNER_KEY}");
    let headers = [("authorization", authorization.as_str()), ("accept", "text/csv")];
    for path in [
        "/api/me".to_owned(),
        "/api/channels/C1/backup/media".to_owned(),
        "/api/channels/C1/backup/exports".to_owned(),
        format!("/api/v1/channels/C1/backup/exports/{}", export.1),
    ] {
        let answer = fixture.send(("GET", &path), &headers, "").await;
        assert_eq!(answer.error().1, "not_acceptable", "{path}: {:?}", answer.body);
    }
}

#[tokio::test]
async fn routes_that_stream_files_choose_themselves() {
    let fixture = ApiFixture::new().await;
    let ids = fixture.objects().await;
    let export = ids.iter().find(|(name, _)| *name == "exportId").unwrap();
    let authorization = format!("Bearer {OWNER_KEY}");
    let headers = [("authorization", authorization.as_str()), ("accept", "text/csv")];
    for path in [
        "/api/channels/C1/backup/export?format=csv".to_owned(),
        "/api/v1/channels/C1/backup/export?format=csv".to_owned(),
        format!("/api/channels/C1/backup/exports/{}/document", export.1),
        "/api/channels/C1/backup/media/m1".to_owned(),
    ] {
        let answer = fixture.send(("GET", &path), &headers, "").await;
        assert_ne!(answer.error().1, "not_acceptable", "{path}: {:?}", answer.body);
    }
}
