//! Content of messages: bytes, previews, preparation, and what is gone.

use super::*;

fn video(state: MediaState) -> Post {
    Post::Video(Media { state, ..Media::new("video/mp4", "film") }, 2_000)
}

impl Stage {
    async fn content(&self, event: &Event, what: &str) -> (u16, String, String) {
        let id = event.message_id.as_deref().unwrap();
        let request = self.request(Method::GET, &format!("/v2/bot/message/{id}/content{what}"));
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let kind =
            answer.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        (status, kind.unwrap_or_default(), answer.text().await.unwrap())
    }
}

fn text(status: u16, kind: &str, body: &str) -> (u16, String, String) {
    (status, kind.to_owned(), body.to_owned())
}

#[tokio::test]
async fn content_comes_as_it_was_sent() {
    let stage = Stage::new().await;
    let media = Media::new("image/png", "large");
    let image = stage.sent(Post::Image(Media { preview: Some("small".into()), ..media }));
    assert_eq!(stage.content(&image, "").await, text(200, "image/png", "large"));
    assert_eq!(stage.content(&image, "/preview").await, text(200, "image/jpeg", "small"));
    let file = stage.sent(Post::File(Media::new("application/pdf", "pages"), "menu.pdf".into()));
    assert_eq!(file.json["message"]["fileSize"], 5);
    assert_eq!(stage.content(&file, "").await, text(200, "application/pdf", "pages"));
    assert_eq!(stage.broken(), []);
    assert_eq!(stage.content(&file, "/preview").await.0, 404, "files have no preview");
    assert_eq!(stage.broken(), [Rule::HasContent]);
}

#[tokio::test]
async fn a_video_is_prepared_before_it_can_be_had() {
    let stage = Stage::new().await;
    let event = stage.sent(video(MediaState::ReadyAfter(3_000)));
    assert_eq!(stage.content(&event, "").await.0, 202);
    assert!(stage.content(&event, "/transcoding").await.2.contains("processing"));
    stage.pass(3_000);
    assert_eq!(stage.content(&event, "").await, text(200, "video/mp4", "film"));
    assert!(stage.content(&event, "/transcoding").await.2.contains("succeeded"));
    let broken = stage.sent(video(MediaState::Failed));
    assert!(stage.content(&broken, "/transcoding").await.2.contains("failed"));
    assert_eq!(stage.content(&broken, "").await.0, 404);
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn content_is_gone_when_unsent_or_expired() {
    let stage = Stage::new().await;
    let (one, two) = (stage.sent(video(MediaState::Ready)), stage.sent(video(MediaState::Ready)));
    stage.emulator.unsend(one.message_id.as_deref().unwrap()).await.unwrap();
    stage.emulator.set_content_state(two.message_id.as_deref().unwrap(), MediaState::Expired);
    assert_eq!(stage.content(&one, "").await.0, 410);
    assert_eq!(stage.content(&two, "").await.0, 410);
    assert_eq!(stage.broken(), [], "nobody can know before asking");
}

#[tokio::test]
async fn what_has_no_content_is_not_found() {
    let stage = Stage::new().await;
    let hello = stage.said("hello");
    assert_eq!(stage.content(&hello, "").await.0, 404);
    let elsewhere = Some(("https://a.test/1".to_owned(), "https://a.test/2".to_owned()));
    let media = Media { external: elsewhere, ..Media::new("image/png", "") };
    let external = stage.sent(Post::Image(media));
    assert_eq!(
        external.json["message"]["contentProvider"]["originalContentUrl"],
        "https://a.test/1"
    );
    assert_eq!(stage.content(&external, "").await.0, 404);
    assert_eq!(stage.get("/v2/bot/message/1/content").await.status, 404);
    assert_eq!(stage.broken(), [Rule::HasContent, Rule::HasContent, Rule::IdKnown]);
}
