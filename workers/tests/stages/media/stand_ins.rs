//! Answers of the platform, or of a proxy before it, in place of a file.

use std::time::Duration;

use chatkeep_emulator::{Fault, Media as File, Post, Target};
use chatkeep_store::MediaStatus;

use super::super::bench::{ATTEMPTS, Bench};
use super::{download, pdf, record, send, status, why};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[tokio::test]
async fn a_page_in_place_of_a_file_is_a_failed_download() {
    let page = "<html><body>captive portal: please sign in to the network</body></html>";
    let picture = || Post::Image(File::new("image/png", PNG));
    for (post, body) in [
        (picture(), page),
        (picture(), ""),
        (picture(), r#"{"message":"Internal"}"#),
        (pdf(), page),
        (pdf(), ""),
    ] {
        let (bench, group) = Bench::with_group().await;
        let attempts = usize::try_from(ATTEMPTS).unwrap();
        bench.line.fail_next(Target::Content, attempts, Fault::Intercepted(body));
        let sent = send(&bench, &group, post).await;
        for pause in [1, 2, 4] {
            assert_eq!(download(&bench).await, 1);
            assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Pending, "{body}");
            bench.clock.advance(Duration::from_secs(pause));
        }
        download(&bench).await;
        assert_eq!(status(&bench, &group, &sent).await, why(MediaStatus::Failed, "broke_off"));
        let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
        assert!(bench.bus.retry_dead_letter(&letter.id).await.unwrap());
        assert_eq!(download(&bench).await, 1);
        assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Stored, "{body}");
        bench.counted(&group.channel()).await;
    }
}

#[tokio::test]
async fn people_may_send_pages_and_empty_files() {
    let (bench, group) = Bench::with_group().await;
    for content in ["<html>mine</html>", r#"{"mine":true}"#, ""] {
        let file = Post::File(File::new("text/html", content), "mine.html".to_owned());
        let sent = send(&bench, &group, file).await;
        download(&bench).await;
        assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Stored, "{content}");
    }
}
