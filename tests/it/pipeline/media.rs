//! Media files end to end: fetched from the platform, counted, served, and the states of those that
//! are not available.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use chatkeep_emulator::{Chat, Delivered, Fault, Media, MediaState, Post, Target, User};
use futures_util::StreamExt as _;
use image::{ImageFormat, RgbImage};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_stream::wrappers::IntervalStream;

use super::conversation::{emulator, group};
use super::on_both;
use super::state_snapshot::StateSnapshot;
use crate::harness::http;
use crate::harness::s3::S3;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

on_both!(
    files_are_fetched_counted_and_served,
    dripping_files_from_elsewhere_hold_nobody_up,
    a_file_is_stored_once_whenever_the_program_dies,
);

/// A subscribed group, on a folder or on S3.
struct Scene {
    stack: Stack,
    group: Chat,
    people: Vec<User>,
    s3: Option<S3>,
}

impl Scene {
    async fn new(parts: Parts, settings: &[(&'static str, &str)]) -> Self {
        let mut ground = TestEnv::new(parts).await;
        let s3 = (parts == Parts::Servers).then(S3::start);
        ground.settings = s3.iter().flat_map(S3::environment).collect();
        ground.settings.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        Self { stack, group, people, s3 }
    }

    async fn send(&self, post: Post) -> String {
        let (chat, user) = (&self.group.chat_id, &self.people[1].user_id);
        id(&self.stack.line.post_message(chat, user, post).await.unwrap())
    }

    async fn message(&self, id: &str) -> Value {
        let path = format!("/channels/{}/backup/messages/{id}", self.group.chat_id);
        let (status, body) = self.stack.call(reqwest::Method::GET, &path, None).await;
        if status == StatusCode::OK { body } else { Value::Null }
    }

    async fn becomes(&self, id: &str, status: &str) -> Value {
        until(&format!("{id} is {status}"), DEADLINE, async || {
            self.message(id).await["mediaStatus"] == status
        })
        .await;
        self.message(id).await
    }

    /// Returns type and bytes of a file as the API serves it.
    async fn file(&self, path: &str) -> (String, Vec<u8>) {
        let channel = &self.group.chat_id;
        let url = format!(
            "http://{}/api/channels/{channel}/backup/media/{path}",
            self.stack.ground.address
        );
        let request = http::client(DEADLINE).get(url).bearer_auth(self.stack.key());
        let answer = request.send().await.unwrap().error_for_status().unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        (kind, answer.bytes().await.unwrap().to_vec())
    }

    /// Returns the number of files in the media store.
    fn blobs(&self) -> usize {
        let folder = match &self.s3 {
            Some(s3) => s3.folder().to_owned(),
            None => self.stack.ground.folder.path().join("blobs"),
        };
        let mut folders = vec![folder];
        let mut found = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let is_blob = |name: &str| name.len() == 64 && !name.contains('.');
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else if is_blob(&entry.file_name().to_string_lossy()) {
                    found += 1;
                }
            }
        }
        found
    }

    /// Returns the subjects of all events of that kind, by message.
    async fn told(&self, kind: &str) -> Vec<String> {
        let (mut cursor, mut told) = (String::new(), Vec::new());
        loop {
            let page = self.stack.get(&format!("/events?limit=100{cursor}")).await;
            let events = page["events"].as_array().unwrap();
            told.extend(events.iter().filter(|event| event["type"] == kind).map(|event| {
                event["data"]["message"]["id"].as_str().unwrap_or_default().to_owned()
            }));
            if events.is_empty() {
                return told;
            }
            cursor = format!("&cursor={}", page["nextCursor"].as_str().unwrap());
        }
    }

    async fn counted(&self) {
        let channel = self.group.chat_id.as_str();
        let all = self.stack.messages(channel).await;
        StateSnapshot::of(&self.stack, channel).await.assert_counted(&all);
    }
}

fn id(told: &Delivered) -> String {
    told.message_id().unwrap().to_owned()
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let pixel = |x: u32, y: u32| image::Rgb([x, y, x ^ y].map(|c| c.to_le_bytes()[0]));
    RgbImage::from_fn(width, height, pixel).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Returns the beginning of a film, by which its type is detected.
fn film(rest: &[u8]) -> Vec<u8> {
    [b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2".as_slice(), rest].concat()
}

async fn files_are_fetched_counted_and_served(parts: Parts) {
    let scene = Scene::new(parts, &[]).await;
    let (picture, video) = (png(900, 600), film(&vec![7; 300_000]));
    let image = scene.send(Post::Image(Media::new("image/jpeg", picture.clone()))).await;
    let media = Media {
        preview: Some(png(1_000, 500).into()),
        state: MediaState::ReadyAfter(1_500),
        ..Media::new("video/mp4", video.clone())
    };
    let video_id = scene.send(Post::Video(media, 9_000)).await;
    let audio = scene.send(Post::Audio(Media::new("audio/x-m4a", film(b"la la")), 800)).await;
    let rules = "規約: be kind\n".repeat(2_000);
    let file = Post::File(Media::new("application/pdf", rules.clone()), "規約.pdf".to_owned());
    let file = scene.send(file).await;
    let (chat, user) = (&scene.group.chat_id, &scene.people[1].user_id);
    let twins = vec![Media::new("image/png", picture.clone()); 2];
    let set = scene.stack.line.send_images(chat, user, twins).await.unwrap();
    let twins: Vec<_> = set.events.iter().map(|e| e.message_id.clone().unwrap()).collect();

    for (id, kind, content) in [
        // The platform's type is ignored.
        (&image, "image/png", &picture),
        (&video_id, "video/mp4", &video),
        (&audio, "audio/mp4", &film(b"la la")),
        (&file, "text/plain; charset=utf-8", &rules.clone().into_bytes()),
        (&twins[0], "image/png", &picture),
        (&twins[1], "image/png", &picture),
    ] {
        let message = scene.becomes(id, "stored").await;
        assert_eq!(message["contentType"], kind);
        assert!(scene.file(id).await == (kind.to_owned(), content.clone()), "{id} is served");
        assert!(message["bytes"].as_i64().unwrap() > i64::try_from(content.len()).unwrap());
    }
    let set = [&twins[0], &twins[1]].map(async |id| scene.message(id).await["imageSet"].clone());
    let [first, second] = set;
    let (first, second) = (first.await, second.await);
    assert!(first["id"] == second["id"] && first["index"] != second["index"], "{first} {second}");
    for id in [&image, &video_id] {
        let (kind, small) = scene.file(&format!("{id}?preview=true")).await;
        assert_eq!(kind, "image/jpeg");
        assert_eq!(image::load_from_memory(&small).unwrap().width(), 480, "{id}");
    }
    // Three messages hold one picture, whose thumbnail is one as well: 4 files, 2 previews.
    assert_eq!(scene.blobs(), 6);
    scene.counted().await;
    let told: BTreeSet<_> = scene.told("file.uploaded").await.into_iter().collect();
    assert_eq!(told.len(), 6);

    scene.stack.line.unsend(&image).await.unwrap();
    scene.becomes(&image, "erased").await;
    assert_eq!(scene.file(&twins[0]).await.1, picture, "others hold it, too");
    scene.counted().await;
    assert!(scene.stack.line.violations().is_empty(), "{:?}", scene.stack.line.violations());
}

/// Number of dripping responses, and their maximum.
#[derive(Debug, Default)]
struct Drips {
    open: AtomicUsize,
    most: AtomicUsize,
}

/// One dripping response.
struct Drip(&'static Drips);

impl Drip {
    fn begin(all: &'static Drips) -> Self {
        all.most.fetch_max(all.open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Self(all)
    }
}

impl Drop for Drip {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn dripping_files_from_elsewhere_hold_nobody_up(parts: Parts) {
    let dripped: &Drips = Box::leak(Box::default());
    let drip = async || {
        let drip = Drip::begin(dripped);
        let ticks = IntervalStream::new(tokio::time::interval(Duration::from_millis(300)));
        Body::from_stream(ticks.map(move |_| {
            let _open = &drip;
            Ok::<_, Infallible>("x")
        }))
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/drip.png", listener.local_addr().unwrap());
    let server = Router::new().route("/drip.png", get(drip));
    tokio::spawn(async { axum::serve(listener, server).await.unwrap() });
    let settings =
        [("CHATKEEP_MEDIA_ALLOW_PRIVATE", "true"), ("CHATKEEP_MEDIA_SPEED_SECONDS", "2")];
    let scene = Scene::new(parts, &settings).await;
    let mut dripping = Vec::new();
    for _ in 0..16 {
        let elsewhere = Some((address.clone(), address.clone()));
        let external = Media { external: elsewhere, ..Media::new("image/png", "") };
        dripping.push(scene.send(Post::Image(external)).await);
    }
    // As many files as the concurrency of a process are dripping, and twice as many wait.
    let image = scene.send(Post::Image(Media::new("image/png", png(6, 6)))).await;
    scene.becomes(&image, "stored").await;
    let waiting = scene.message(dripping.last().unwrap()).await;
    assert_eq!(waiting["mediaStatus"], "pending", "it waits for its turn");
    assert_eq!(scene.becomes(&dripping[0], "failed").await["mediaStatus"], "failed");
    let list = scene.stack.get(&format!("/channels/{}/backup/media", scene.group.chat_id)).await;
    let listed = list["media"].as_array().unwrap();
    let failed = listed.iter().find(|item| item["id"] == json!(dripping[0])).unwrap();
    assert_eq!(failed["reason"], "too_slow");
    // Two of eight at once; an aborted one is seen to be closed a little later.
    let most = dripped.most.load(Ordering::SeqCst);
    assert!((1..6).contains(&most), "{most} at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_video_takes_little_memory() {
    const SIZE: usize = 300 * 1024 * 1024;
    let scene = Scene::new(Parts::Embedded, &[]).await;
    let before = scene.stack.process.peak_bytes() / 1024 / 1024;
    let video = Media::new("video/mp4", film(&vec![7; SIZE]));
    let id = scene.send(Post::Video(video, 600_000)).await;
    until("the video is stored", Duration::from_mins(5), async || {
        scene.message(&id).await["mediaStatus"] == "stored"
    })
    .await;
    let peak = scene.stack.process.peak_bytes() / 1024 / 1024;
    println!("from {before} to {peak} MiB");
    assert!(peak - before < 50, "{before} to {peak} MiB");
}

async fn a_file_is_stored_once_whenever_the_program_dies(parts: Parts) {
    let mut scene = Scene::new(parts, &[("CHATKEEP_WORKERS_LEASE_SECONDS", "5")]).await;
    let mut ids = Vec::new();
    for n in 0..12_u8 {
        let slow = Fault::Delay(Duration::from_millis(u64::from(n) * 20));
        scene.stack.line.fail_next(Target::Content, 1, slow);
        let size = 40 + u32::from(n);
        ids.push(scene.send(Post::Image(Media::new("image/png", png(size, size)))).await);
        if n % 2 == 1 {
            scene.stack.crash().await;
        }
    }
    for id in &ids {
        scene.becomes(id, "stored").await;
    }
    scene.stack.drained().await;
    scene.counted().await;
    assert_eq!(scene.told("file.uploaded").await.len(), ids.len(), "each is told once");
    assert_eq!(scene.blobs(), 2 * ids.len());
}
