//! Media: each file stored and counted once, whatever the platform does meanwhile.

mod stand_ins;

use std::time::Duration;

use bytes::Bytes;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::panics;
use chatkeep_core::plan::Plan;
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_emulator::{Event, Fault, Media as File, MediaState, Post, Target};
use chatkeep_store::{MediaRecord, MediaStatus};
use chatkeep_workers::jobs::media_job;
use chatkeep_workers::media::{ContentThrottle, Media, MediaOrigin, PendingMediaJob};
use chatkeep_workers::periodic::PeriodicJob as _;
use chatkeep_workers::{Stage as _, StageName, Unfinished};
use futures_util::FutureExt as _;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use super::bench::{
    ATTEMPTS, Bench, DISK_RESERVE, Group, LEASE, MAX_BYTES, START, message, skip, until,
};
use super::faults::deaths;
use super::sink::{Reply, Sink};

const PDF: &[u8] = b"%PDF-1.7\nhello";

fn pdf() -> Post {
    Post::File(File::new("application/pdf", PDF), "a.pdf".to_owned())
}

/// Posts a file and stores its message, so that there is a job for it.
async fn send(bench: &Bench, group: &Group, post: Post) -> Vec<Event> {
    let events = bench.post(&group.id, &group.bob, post);
    bench.publish(&events).await;
    bench.drain(bench.backup()).await;
    events
}

/// Publishes a further job for a file.
async fn request(bench: &Bench, group: &Group, events: &[Event], cause: &str) {
    let bot = Some("main".to_owned());
    let job = media_job(group.channel(), message(events), bot, cause);
    bench.bus.publish(vec![job]).await.unwrap();
}

async fn download(bench: &Bench) -> usize {
    bench.drain(bench.media(MediaOrigin::Platform)).await
}

async fn record(bench: &Bench, group: &Group, events: &[Event]) -> MediaRecord {
    let found = bench.store.media().get(&group.channel(), &message(events)).await.unwrap();
    found.unwrap().record
}

async fn status(bench: &Bench, group: &Group, events: &[Event]) -> (MediaStatus, String) {
    let record = record(bench, group, events).await;
    (record.status, record.reason.map(|reason| reason.name().to_owned()).unwrap_or_default())
}

fn why(status: MediaStatus, reason: &str) -> (MediaStatus, String) {
    (status, reason.to_owned())
}

/// Returns the number of blobs on the disk.
fn blobs(bench: &Bench) -> usize {
    let mut folders = vec![bench.folder.path().join("blobs")];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found += 1;
            }
        }
    }
    found
}

#[tokio::test]
async fn a_file_is_stored_and_counted_once_however_often_its_job_comes() {
    let (bench, group) = Bench::with_group().await;
    let text = bench.counted(&group.channel()).await;
    let sent = send(&bench, &group, pdf()).await;
    let before = bench.counted(&group.channel()).await.0;
    assert!(before > text.0, "the message counts by itself");
    let stages = (bench.media(MediaOrigin::Platform), bench.media(MediaOrigin::Platform));
    tokio::join!(bench.drain(stages.0), bench.drain(stages.1));
    for cause in ["again", "and again"] {
        request(&bench, &group, &sent, cause).await;
        assert_eq!(download(&bench).await, 1);
    }
    let size = i64::try_from(PDF.len()).unwrap();
    assert_eq!(bench.counted(&group.channel()).await, (before + size, text.1 + 1));
    assert_eq!(bench.used(&group.ann).await, before + size);
    let record = record(&bench, &group, &sent).await;
    assert_eq!((record.status, record.bytes), (MediaStatus::Stored, size));
    assert_eq!(record.content_type.as_deref(), Some("application/pdf"));
    assert_eq!((bench.calls("/content"), blobs(&bench)), (1, 1));
    bench.assert_polite();
}

#[tokio::test]
async fn wherever_a_process_dies_a_file_is_stored_once() {
    for death in deaths() {
        let (mut bench, group) = Bench::with_group().await;
        let sent = [send(&bench, &group, pdf()).await, send(&bench, &group, pdf()).await];
        let before = bench.counted(&group.channel()).await.0;
        bench.die(bench.media(MediaOrigin::Platform), death).await;
        download(&bench).await;
        for events in &sent {
            assert_eq!(record(&bench, &group, events).await.status, MediaStatus::Stored);
        }
        let size = i64::try_from(PDF.len()).unwrap();
        assert_eq!(bench.counted(&group.channel()).await.0, before + 2 * size, "{death:?}");
        assert_eq!(blobs(&bench), 1, "one content, one file");
        assert!(bench.dead_letters().await.is_empty());
    }
}

#[tokio::test]
async fn what_was_unsent_before_its_download_is_never_asked_for() {
    let (bench, group) = Bench::with_group().await;
    let sent = send(&bench, &group, pdf()).await;
    bench.publish(&bench.unsend(&sent)).await;
    bench.drain(bench.backup()).await;
    assert_eq!(download(&bench).await, 1);
    assert_eq!((bench.calls("/content"), blobs(&bench)), (0, 0));
    assert_eq!(bench.backlog(StageName::Media).await, 0);
}

#[tokio::test]
async fn a_file_that_cannot_be_had_says_why() {
    let film = |state| File { state, ..File::new("video/mp4", vec![7; 100]) };
    let inside = "http://127.0.0.1:1/secret".to_owned();
    let elsewhere = File { external: Some((inside.clone(), inside)), ..film(MediaState::Ready) };
    let large = || File::new("application/pdf", vec![0; usize::try_from(MAX_BYTES).unwrap() + 1]);
    let cases = [
        (Post::Image(film(MediaState::Expired)), MediaStatus::Expired, "gone_from_platform"),
        // Whether they are prepared is asked first.
        (Post::Video(film(MediaState::Expired), 1), MediaStatus::Expired, "gone_from_platform"),
        (Post::Audio(film(MediaState::Expired), 1), MediaStatus::Expired, "gone_from_platform"),
        (Post::Video(film(MediaState::Failed), 1), MediaStatus::Failed, "transcoding_failed"),
        // One declares its size, the other does not.
        (Post::File(large(), "a.pdf".to_owned()), MediaStatus::Failed, "too_large"),
        (Post::Image(large()), MediaStatus::Failed, "too_large"),
        (Post::Image(elsewhere), MediaStatus::Failed, "forbidden_address"),
    ];
    let (bench, group) = Bench::with_group().await;
    let external = GuardedClient::new(false).unwrap();
    for (post, expected, reason) in cases {
        let sent = send(&bench, &group, post).await;
        download(&bench).await;
        bench
            .drain(Media { external: external.clone(), ..bench.media(MediaOrigin::External) })
            .await;
        assert_eq!(status(&bench, &group, &sent).await, why(expected, reason));
        assert_eq!(record(&bench, &group, &sent).await.bytes, 0);
    }
    assert!(bench.dead_letters().await.is_empty());
    assert_eq!(blobs(&bench), 0, "nothing is left of what was begun");
    bench.counted(&group.channel()).await;
}

#[tokio::test]
async fn a_file_that_failed_too_often_is_stored_once_its_dead_letter_is_retried() {
    let (bench, group) = Bench::with_group().await;
    let failures = usize::try_from(ATTEMPTS).unwrap();
    let broken = Fault::Status { status: 500, retry_after: None };
    bench.line.fail_next(Target::Content, failures, broken);
    let sent = send(&bench, &group, pdf()).await;
    for pause in [1, 2, 4] {
        assert_eq!(download(&bench).await, 1);
        bench.clock.advance(Duration::from_millis(pause * 1_000 - 1));
        assert_eq!(download(&bench).await, 0, "not before its time");
        bench.clock.advance(Duration::from_millis(1));
        assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Pending);
    }
    assert_eq!(download(&bench).await, 1);
    assert_eq!(status(&bench, &group, &sent).await, why(MediaStatus::Failed, "unknown_outcome"));
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    assert_eq!((letter.consumer.as_str(), letter.attempts), ("media", ATTEMPTS));
    assert!(bench.bus.retry_dead_letter(&letter.id).await.unwrap());
    assert_eq!(download(&bench).await, 1);
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Stored);
    bench.counted(&group.channel()).await;
    assert!(bench.dead_letters().await.is_empty());
}

#[tokio::test]
async fn the_text_of_an_error_is_no_reason_for_readers() {
    let (bench, group) = Bench::with_group().await;
    let sent = send(&bench, &group, pdf()).await;
    bench
        .sql(
            "CREATE TRIGGER refuse BEFORE INSERT ON blob_orphans
             BEGIN SELECT RAISE(ABORT, 'nothing is taken at /srv/data'); END",
        )
        .await;
    for pause in [1, 2, 4, 8] {
        download(&bench).await;
        bench.clock.advance(Duration::from_secs(pause));
    }
    assert_eq!(status(&bench, &group, &sent).await, why(MediaStatus::Failed, "unavailable"));
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    assert_ne!(letter.reason, "unavailable", "operators read the cause");
    bench.sql("DROP TRIGGER refuse").await;
    assert!(bench.bus.retry_dead_letter(&letter.id).await.unwrap());
    assert_eq!(download(&bench).await, 1);
    assert_eq!(status(&bench, &group, &sent).await, why(MediaStatus::Stored, ""));
}

/// Returns a video with a preview.
fn film() -> Post {
    let mut picture = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(8, 8).write_to(&mut picture, image::ImageFormat::Png).unwrap();
    let preview = Some(Bytes::from(picture.into_inner()));
    Post::Video(File { preview, ..File::new("video/mp4", vec![7; 9]) }, 1)
}

/// Downloads what waits, through all pauses and attempts. `meanwhile` is called again and again.
async fn download_through(bench: &Bench, mut meanwhile: impl FnMut()) {
    while bench.backlog(StageName::Media).await > 0 {
        let runner = bench.runner(bench.media(MediaOrigin::Platform));
        let running = tokio::spawn(async move { runner.drain().await });
        until("the attempt is over", async || {
            meanwhile();
            bench.clock.advance(Duration::from_secs(1));
            skip(Duration::from_secs(1)).await;
            running.is_finished()
        })
        .await;
    }
}

#[tokio::test]
async fn a_preview_is_not_lost_to_an_outage_of_the_platform() {
    let (bench, group) = Bench::with_group().await;
    let faults = [
        // Tried again with the file, after the pause.
        Fault::Status { status: 429, retry_after: Some(1) },
        // Tried again by itself.
        Fault::Status { status: 500, retry_after: None },
        Fault::CutBefore,
    ];
    for fault in faults {
        bench.line.fail_next(Target::Preview, 1, fault.clone());
        let sent = send(&bench, &group, film()).await;
        download_through(&bench, || {}).await;
        let record = record(&bench, &group, &sent).await;
        let found = (record.status, record.preview.is_some());
        assert_eq!(found, (MediaStatus::Stored, true), "{fault:?}");
    }
    // A video that has none is stored without it, and so is one whose preview fails for good.
    bench.line.fail_next(Target::Preview, 9, Fault::Status { status: 500, retry_after: None });
    let sent = send(&bench, &group, film()).await;
    download_through(&bench, || {}).await;
    let record = record(&bench, &group, &sent).await;
    assert_eq!((record.status, record.preview), (MediaStatus::Stored, None));
}

#[tokio::test]
async fn a_preview_is_not_lost_to_an_outage_that_begins_during_its_tries() {
    let broken = || Fault::Status { status: 500, retry_after: None };
    // After a first failure everything fails: as long as the tries of one last, for so long that the
    // circuit opens, and while several are tried, so that it opens during the tries of some.
    for (films, failures) in [(1, 3), (1, 6), (4, 6)] {
        let (bench, group) = Bench::with_group().await;
        bench.line.fail_next(Target::Preview, films, broken());
        let mut sent = Vec::new();
        for _ in 0..films {
            sent.push(send(&bench, &group, film()).await);
        }
        let mut begun = false;
        download_through(&bench, || {
            if !begun && bench.calls("/content/preview") > 0 {
                begun = true;
                bench.line.fail_next(Target::Any, failures, broken());
            }
        })
        .await;
        assert!(begun);
        for sent in sent {
            let record = record(&bench, &group, &sent).await;
            let found = (record.status, record.preview.is_some());
            assert_eq!(found, (MediaStatus::Stored, true), "{films} {failures}");
        }
        assert!(bench.dead_letters().await.is_empty());
    }
}

#[tokio::test]
async fn a_video_in_preparation_makes_way_and_is_stored_when_it_is_ready() {
    let (bench, group) = Bench::with_group().await;
    let film = File { state: MediaState::ReadyAfter(60_000), ..File::new("video/mp4", vec![7; 9]) };
    let sent = send(&bench, &group, Post::Video(film, 1)).await;
    let runner = bench.runner(bench.media(MediaOrigin::Platform));
    let running = tokio::spawn(async move { runner.drain().await });
    until("it makes way", async || {
        skip(Duration::from_millis(500)).await;
        running.is_finished()
    })
    .await;
    assert_eq!(running.await.unwrap().unwrap(), 1);
    assert_eq!(bench.calls("/transcoding"), 5, "it was asked for a while");
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Pending);
    bench.clock.advance(Duration::from_mins(1));
    assert_eq!(download(&bench).await, 1);
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Stored);
}

#[tokio::test]
async fn a_platform_that_asks_to_wait_pauses_all_workers_and_uses_up_no_attempts() {
    let (bench, group) = Bench::with_group().await;
    bench.line.fail_next(Target::Content, 1, Fault::Status { status: 429, retry_after: Some(90) });
    let sent = [send(&bench, &group, pdf()).await, send(&bench, &group, pdf()).await];
    let runner = bench.runner(bench.media(MediaOrigin::Platform));
    let running = tokio::spawn(async move { runner.drain().await });
    until("both are stored", async || {
        bench.clock.advance(Duration::from_secs(1));
        skip(Duration::from_secs(1)).await;
        running.is_finished()
    })
    .await;
    let paused = bench.clock.now().since(START);
    assert!(paused >= Duration::from_secs(90), "it was asked again after {paused:?}");
    assert_eq!(bench.calls("/content"), 3);
    assert_eq!(running.await.unwrap().unwrap(), 2, "neither was delivered again");
    for events in &sent {
        assert_eq!(record(&bench, &group, events).await.status, MediaStatus::Stored);
    }
}

#[tokio::test]
async fn a_refused_token_loses_no_file() {
    let (bench, group) = Bench::with_group().await;
    bench.line.fail_next(Target::Content, 1, Fault::Status { status: 401, retry_after: None });
    let sent = send(&bench, &group, pdf()).await;
    assert_eq!(download(&bench).await, 1);
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Pending);
    assert_eq!(bench.backlog(StageName::Media).await, 0, "no worker holds it");
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let reminder = PendingMediaJob { store: bench.store.clone(), bus: bench.bus.clone(), clock };
    let remind = async |wait: u64| {
        bench.clock.advance(Duration::from_mins(wait));
        assert!(reminder.run(&CancellationToken::new()).await.is_ok());
        bench.backlog(StageName::Media).await
    };
    assert_eq!(remind(14).await, 0, "too young");
    assert_eq!(remind(2).await, 1);
    assert_eq!(remind(5).await, 1, "the same job");
    assert_eq!(download(&bench).await, 1);
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Stored);
    assert_eq!(remind(60).await, 0, "nothing is pending");
}

#[tokio::test]
async fn external_files_have_a_stage_of_their_own() {
    let ((bench, group), sink) = (Bench::with_group().await, Sink::start().await);
    sink.answer("/good.pdf", Reply::Bytes(PDF.to_vec()));
    sink.status("/gone.pdf", 404);
    sink.status("/refused.pdf", 403);
    sink.status("/down.pdf", 503);
    let file = |path: &str| {
        let url = sink.url(path);
        let external = Some((url.clone(), url));
        Post::Video(File { external, ..File::new("application/pdf", "") }, 1)
    };
    let cases = [
        ("/good.pdf", why(MediaStatus::Stored, "")),
        ("/gone.pdf", why(MediaStatus::Expired, "gone_from_platform")),
        ("/refused.pdf", why(MediaStatus::Failed, "refused")),
    ];
    for (path, expected) in cases {
        let sent = send(&bench, &group, file(path)).await;
        assert_eq!((download(&bench).await, sink.at(path).len()), (1, 0), "it is passed on");
        assert_eq!(bench.drain(bench.media(MediaOrigin::External)).await, 1);
        assert_eq!(status(&bench, &group, &sent).await, expected, "{path}");
        assert!(!sink.at(path).is_empty());
    }
    // A server that is down is tried again later, and then the file has failed.
    let sent = send(&bench, &group, file("/down.pdf")).await;
    download(&bench).await;
    for pause in [1, 2, 4, 8] {
        assert_eq!(bench.drain(bench.media(MediaOrigin::External)).await, 1);
        bench.clock.advance(Duration::from_secs(pause));
    }
    assert_eq!(status(&bench, &group, &sent).await, why(MediaStatus::Failed, "refused"));
    assert_eq!(sink.at("/down.pdf").len(), usize::try_from(ATTEMPTS).unwrap());
    assert_eq!(bench.dead_letters().await[0].consumer, "external_media");
}

#[tokio::test]
async fn a_file_that_comes_while_backup_is_paused_is_skipped() {
    let (bench, group) = Bench::with_group().await;
    let sent = send(&bench, &group, pdf()).await;
    bench.charge(&group.id, &group.ann, Plan::Free.quota()).await;
    assert_eq!(download(&bench).await, 1);
    assert_eq!(status(&bench, &group, &sent).await, why(MediaStatus::Skipped, "quota"));
    assert_eq!(bench.calls("/content"), 0);
    // Skipped for good: room does not bring it back, as it does not bring back messages.
    let (ann, now) = (group.ann.as_str().into(), bench.clock.now());
    bench.store.accounts().set_plan(&ann, Plan::Pro, now).await.unwrap();
    request(&bench, &group, &sent, "again").await;
    assert_eq!(download(&bench).await, 1);
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Skipped);
}

#[tokio::test]
async fn files_wait_while_the_disk_is_low_or_has_no_room_for_them() {
    let (bench, group) = Bench::with_group().await;
    let sent = send(&bench, &group, pdf()).await;
    let stage = bench.media(MediaOrigin::Platform);
    let job = media_job(group.channel(), message(&sent), Some("main".to_owned()), "x");
    let job = [stage.decode(&job.payload).unwrap()];
    bench.disk.record(DISK_RESERVE - 1);
    let outcomes = stage.handle(&job).await;
    assert!(matches!(outcomes[..], [Err(Unfinished::Unavailable(_))]), "the disk is low");
    // Enough to resume, and less than this file needs: it makes way for others until the reminder.
    bench.disk.record(DISK_RESERVE * 2);
    bench.disk.record(DISK_RESERVE + 3);
    assert!(!bench.disk.is_low());
    assert_eq!(stage.handle(&job).await, [Ok(())], "the file would use the reserve");
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Pending);
    assert_eq!((bench.calls("/content"), blobs(&bench)), (0, 0), "nothing was asked for");
    bench.disk.record(DISK_RESERVE * 2);
    // The reminder comes.
    request(&bench, &group, &sent, "again").await;
    download(&bench).await;
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Stored);
    assert!(bench.dead_letters().await.is_empty());
}

#[tokio::test]
async fn a_download_whose_lease_was_lost_counts_once() {
    let (bench, group) = Bench::with_group().await;
    let sent = send(&bench, &group, pdf()).await;
    let before = bench.counted(&group.channel()).await.0;
    let mut stalled = bench.bus.consume(&StageName::Media.consumer(LEASE)).await.unwrap();
    let held = stalled.fetch(1, Duration::ZERO).await.unwrap();
    skip(LEASE).await;
    assert_eq!(download(&bench).await, 1);
    // The one that stalled goes on with what it held.
    let [late] = <[_; 1]>::try_from(held).unwrap();
    late.retry(Duration::ZERO).await.unwrap();
    assert_eq!(download(&bench).await, 0, "it is done");
    assert_eq!(record(&bench, &group, &sent).await.status, MediaStatus::Stored);
    let size = i64::try_from(PDF.len()).unwrap();
    assert_eq!(bench.counted(&group.channel()).await.0, before + size);
}

#[tokio::test]
async fn a_throttle_lasts_as_long_as_was_asked_for_and_five_minutes_at_most() {
    let bench = Bench::new().await;
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let throttle = ContentThrottle::new(bench.bus.clone(), clock);
    let waits = |bot| throttle.wait(bot).now_or_never().is_none();
    throttle.slow_down("main", Some(Duration::from_mins(1))).await;
    // Another worker is told less, or nothing.
    throttle.slow_down("main", None).await;
    bench.clock.advance(Duration::from_secs(59));
    assert!(waits("main") && !waits("other"));
    bench.clock.advance(Duration::from_secs(1));
    assert!(!waits("main"));
    throttle.slow_down("main", Some(Duration::from_hours(1))).await;
    bench.clock.advance(Duration::from_mins(5) - Duration::from_millis(1));
    assert!(waits("main"));
    bench.clock.advance(Duration::from_millis(1));
    assert!(!waits("main"));
}

#[tokio::test]
async fn a_throttle_holds_for_all_workers_of_the_bot() {
    let bench = Bench::new().await;
    let throttle =
        || ContentThrottle::new(bench.bus.clone(), Arc::clone(&bench.clock) as SharedClock);
    let (one, other) = (throttle(), throttle());
    let stop = CancellationToken::new();
    let listening = panics::spawn("throttle", other.listen(stop.clone()).await.unwrap());
    let waits = |bot| other.wait(bot).now_or_never().is_none();
    // Nothing that a worker would say, nor a pause longer than there may be.
    for strange in ["", "main", "soon main", "\u{fffd}", &format!("{} late", i64::MAX)] {
        bench.bus.broadcast("slow-down", strange.to_owned().into()).await.unwrap();
    }
    one.slow_down("main", Some(Duration::from_mins(1))).await;
    until("the other worker knows", async || waits("main")).await;
    assert!(waits("late") && !waits("soon"));
    bench.clock.advance(Duration::from_mins(1));
    assert!(!waits("main") && waits("late"));
    bench.clock.advance(Duration::from_mins(4));
    assert!(!waits("late"), "five minutes at most");
    stop.cancel();
    listening.await.unwrap().unwrap();
}
