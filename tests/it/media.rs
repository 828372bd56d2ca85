//! Media files over HTTP, by the running program: ranges, conditions, names, states and access.

use std::convert::Infallible;

use bytes::Bytes;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::config::{BlobsKind, Database, S3Config};
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::time::{Clock as _, SystemClock, Timestamp};
use chatkeep_emulator::{Media, MediaState, Post};
use chatkeep_store::{BlobClaim, MediaOutcome, MediaReason, NewMedia, Store};
use futures_util::stream;
use reqwest::{Method, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::harness::files::holding;
use crate::harness::http;
use crate::harness::s3::S3;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// A running program with a group, and its store and blobs opened beside it.
pub(crate) struct Scene {
    pub(crate) stack: Stack,
    pub(crate) channel: String,
    pub(crate) person: String,
    store: Store,
    blobs: Blobs,
    _s3: Option<S3>,
}

impl Scene {
    pub(crate) async fn embedded() -> Self {
        let ground = TestEnv::new(Parts::Embedded).await;
        let kind = BlobsKind::Folder(ground.folder.path().join("blobs"));
        Self::on(ground, Database::Sqlite, Blobs::open(&kind, &S3Config::default()).unwrap(), None)
            .await
    }

    async fn servers() -> Self {
        let (s3, mut ground) = (S3::start(), TestEnv::new(Parts::Servers).await);
        ground.settings = s3.environment();
        let url = ground.database.as_ref().unwrap().url();
        let blobs = s3.blobs();
        Self::on(ground, Database::Postgres(url.into()), blobs, Some(s3)).await
    }

    async fn on(ground: TestEnv, database: Database, blobs: Blobs, s3: Option<S3>) -> Self {
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let store = Store::open(&database, stack.ground.folder.path(), 2).await.unwrap();
        let (channel, person) = (group.chat_id, people[1].user_id.clone());
        Self { stack, channel, person, store, blobs, _s3: s3 }
    }

    /// Sends a file of that name into the group and waits until its message is stored. LINE never
    /// has the file ready, so that its state is up to the test.
    pub(crate) async fn send(&self, name: &str) -> String {
        let never = MediaState::ReadyAfter(i64::from(u32::MAX));
        let media = Media { state: never, ..Media::new("application/octet-stream", vec![1]) };
        let post = Post::File(media, name.to_owned());
        let told = self.stack.line.post_message(&self.channel, &self.person, post).await.unwrap();
        let id = told.message_id().unwrap().to_owned();
        until("the file's message is kept", DEADLINE, async || {
            let (channel, id) = self.ids(&id);
            self.store.media().get(&channel, &id).await.unwrap().is_some()
        })
        .await;
        id
    }

    fn ids(&self, message: &str) -> (ChannelId, MessageId) {
        (self.channel.as_str().into(), message.into())
    }

    async fn put(&self, content: &[u8]) -> (i64, BlobClaim) {
        let stream = stream::iter([Ok::<_, Infallible>(Bytes::copy_from_slice(content))]);
        let claim = async |blob| {
            self.store.media().claim_blob(blob, SystemClock.now()).await.map_err(Into::into)
        };
        let put: Result<_, BlobError> = self.blobs.put(stream, 1 << 20, claim).await;
        let (stored, claim) = put.unwrap();
        (i64::try_from(stored.bytes).unwrap(), claim)
    }

    /// Stores a file as the media worker does after a download.
    pub(crate) async fn stored(&self, message: &str, content_type: &str, content: &[u8]) {
        let (bytes, claim) = self.put(content).await;
        let preview = Some((self.put(b"small").await.1, "image/jpeg".to_owned()));
        let media = NewMedia { claim, bytes, content_type: content_type.to_owned(), preview };
        let (channel, id) = self.ids(message);
        let kept =
            self.store.media().store_media(&channel, &id, &media, SystemClock.now()).await.unwrap();
        assert_eq!(kept, MediaOutcome::Stored);
    }

    async fn ask(&self, method: Method, message: &str, headers: &[(&str, &str)]) -> Response {
        let path = format!("api/channels/{}/backup/media/{message}", self.channel);
        let url = format!("http://{}/{path}", self.stack.ground.address);
        let mut request = http::client(DEADLINE).request(method, url).bearer_auth(self.stack.key());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }

    async fn get(&self, message: &str, headers: &[(&str, &str)]) -> Response {
        self.ask(Method::GET, message, headers).await
    }
}

fn shown<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Checks whole files and ranges, on any media store.
async fn check_transfer(scene: &Scene) {
    let id = scene.send("digits.mp4").await;
    scene.stored(&id, "video/mp4", b"0123456789").await;
    let whole = scene.get(&id, &[]).await;
    assert_eq!(whole.status(), StatusCode::OK);
    let etag = shown(&whole, "etag").to_owned();
    assert_eq!(etag, "\"84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882\"");
    assert_eq!((shown(&whole, "content-length"), shown(&whole, "accept-ranges")), ("10", "bytes"));
    assert_eq!(shown(&whole, "content-type"), "video/mp4");
    assert_eq!(shown(&whole, "content-disposition"), "inline; filename=\"digits.mp4\"");
    assert_eq!(shown(&whole, "x-content-type-options"), "nosniff");
    assert_eq!(shown(&whole, "cache-control"), "private, no-cache");
    assert_eq!(shown(&whole, "x-api-version"), "v1");
    assert_eq!(whole.bytes().await.unwrap(), "0123456789");
    let weak = format!("W/{etag}");
    let list = format!("\"other\", {etag}");
    for (headers, status, content_range, body) in [
        (vec![("range", "bytes=2-4")], 206, "bytes 2-4/10", "234"),
        (vec![("range", "bytes=-3")], 206, "bytes 7-9/10", "789"),
        (vec![("range", "bytes=8-99")], 206, "bytes 8-9/10", "89"),
        (vec![("range", "bytes=0-1,4-5")], 200, "", "0123456789"),
        (vec![("range", "lines=0-1")], 200, "", "0123456789"),
        (vec![("range", "bytes=1-"), ("if-range", &etag)], 206, "bytes 1-9/10", "123456789"),
        (vec![("range", "bytes=1-"), ("if-range", "\"x\"")], 200, "", "0123456789"),
        (vec![("range", "bytes=1-"), ("if-range", &weak)], 200, "", "0123456789"),
        (vec![("if-none-match", &etag)], 304, "", ""),
        (vec![("if-none-match", &weak)], 304, "", ""),
        (vec![("if-none-match", &list), ("range", "bytes=0-1")], 304, "", ""),
        (vec![("if-none-match", "*")], 304, "", ""),
        (vec![("if-none-match", "\"other\"")], 200, "", "0123456789"),
    ] {
        let answer = scene.get(&id, &headers).await;
        assert_eq!(answer.status().as_u16(), status, "{headers:?}");
        assert_eq!(shown(&answer, "content-range"), content_range, "{headers:?}");
        assert_eq!(shown(&answer, "etag"), etag, "{headers:?}");
        assert_eq!(answer.bytes().await.unwrap(), body, "{headers:?}");
    }
    let behind = scene.get(&id, &[("range", "bytes=10-")]).await;
    assert_eq!(behind.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(shown(&behind, "content-range"), "bytes */10");
    let body: Value = behind.json().await.unwrap();
    assert!(body["code"] == "range_not_satisfiable" && body["requestId"].is_string(), "{body}");
    let head = scene.ask(Method::HEAD, &id, &[("range", "bytes=2-4")]).await;
    assert_eq!((head.status(), shown(&head, "content-length")), (StatusCode::OK, "10"));
    assert_eq!((shown(&head, "etag"), shown(&head, "content-type")), (&*etag, "video/mp4"));
    assert!(head.bytes().await.unwrap().is_empty());
    let preview = scene.get(&format!("{id}?preview=true"), &[("range", "bytes=1-2")]).await;
    let name = format!("inline; filename=\"{id}-preview.jpg\"");
    assert_eq!(shown(&preview, "content-disposition"), name);
    assert_eq!(preview.bytes().await.unwrap(), "ma");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_a_folder_are_sent_whole_and_in_parts() {
    check_transfer(&Scene::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_s3_are_sent_whole_and_in_parts() {
    check_transfer(&Scene::servers().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_in_a_file_runs_in_a_browser() {
    let scene = Scene::embedded().await;
    let cases = [
        (
            "規約\".pdf",
            "application/pdf",
            "attachment; filename=\"___.pdf\"; filename*=UTF-8''%E8%A6%8F%E7%B4%84%22.pdf",
        ),
        ("../x/page.html", "text/html; charset=utf-8", "attachment; filename=\"..xpage.html\""),
        ("a.svg", "image/svg+xml", "attachment; filename=\"a.svg\""),
        ("a.xml", "application/xml", "attachment; filename=\"a.xml\""),
        ("a.js", "text/javascript", "attachment; filename=\"a.js\""),
    ];
    for (name, content_type, disposition) in cases {
        let id = scene.send(name).await;
        scene.stored(&id, content_type, name.as_bytes()).await;
        let answer = scene.get(&id, &[]).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(shown(&answer, "content-type"), content_type);
        assert_eq!(shown(&answer, "content-disposition"), disposition);
        assert_eq!(shown(&answer, "content-security-policy"), "sandbox; default-src 'none'");
        assert_eq!(shown(&answer, "x-content-type-options"), "nosniff");
    }
    // Empty files are files.
    let id = scene.send("empty").await;
    scene.stored(&id, "", b"").await;
    let answer = scene.get(&id, &[]).await;
    assert_eq!((answer.status(), shown(&answer, "content-length")), (StatusCode::OK, "0"));
    assert_eq!(shown(&answer, "content-type"), "application/octet-stream");
    assert_eq!(scene.get(&id, &[("range", "bytes=0-")]).await.status().as_u16(), 416);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_there_says_why() {
    let scene = Scene::embedded().await;
    let mut sent = Vec::new();
    for name in ["waits", "fails", "expires", "goes", "is lost", "has no preview", "is skipped"] {
        sent.push(scene.send(name).await);
    }
    let [waits, fails, expires, goes, lost, bare, skipped] = &sent[..] else { unreachable!() };
    let skip = format!("UPDATE media SET status = 'skipped' WHERE message_id = '{skipped}'");
    scene.stack.sql(skip).await;
    let (channel, id) = scene.ids(fails);
    assert!(
        scene
            .store
            .media()
            .fail_media(&channel, &id, MediaReason::Refused, Timestamp::from_millis(9))
            .await
            .unwrap()
    );
    let (_, id) = scene.ids(expires);
    assert!(
        scene.store.media().expire_media(&channel, &id, Timestamp::from_millis(9)).await.unwrap()
    );
    scene.stored(goes, "image/png", b"regretted").await;
    let regretted = scene.store.media().get(&channel, &scene.ids(goes).1).await.unwrap().unwrap();
    scene.stack.line.unsend(goes).await.unwrap();
    until("it is taken back", DEADLINE, async || {
        scene.store.media().get(&channel, &scene.ids(goes).1).await.unwrap().is_none()
    })
    .await;
    let (bytes, claim) = scene.put(b"lost").await;
    scene.blobs.delete(claim.blob()).await.unwrap();
    for (message, claim) in [(lost, claim), (bare, scene.put(b"bare").await.1)] {
        let media = NewMedia { claim, bytes, content_type: String::new(), preview: None };
        let now = SystemClock.now();
        scene
            .store
            .media()
            .store_media(&channel, &scene.ids(message).1, &media, now)
            .await
            .unwrap();
    }
    let no_preview = format!("{bare}?preview=true");
    for (path, code) in [
        (waits.as_str(), "media_pending"),
        (fails, "media_failed"),
        (expires, "media_expired"),
        (goes, "media_erased"),
        (lost, "media_missing"),
        (skipped, "media_skipped"),
        (&no_preview, "no_preview"),
        ("none", "not_found"),
    ] {
        let answer = scene.get(path, &[]).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        let again = if code == "media_pending" { "5" } else { "" };
        assert_eq!(shown(&answer, "retry-after"), again, "{path}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["code"], code);
        let says_why = body["error"].as_str().is_some_and(|error| error.contains("file"));
        assert_eq!(says_why, code != "not_found", "{body}");
    }
    // Retracted files are gone from the folder with the next sweep, which a start begins with.
    let (mut stack, blobs) = (scene.stack, scene.blobs);
    stack.crash().await;
    until("its file is gone", DEADLINE, async || {
        blobs.size(&regretted.record.blob.clone().unwrap()).await.unwrap().is_none()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_file_is_missing() {
    const CONTENT: &[u8] = b"the whole of the film";
    let scene = Scene::embedded().await;
    let id = scene.send("film.mp4").await;
    scene.stored(&id, "video/mp4", CONTENT).await;
    assert_eq!(scene.get(&id, &[]).await.status(), StatusCode::OK);
    let file = holding(&scene.stack.ground.folder.path().join("blobs"), CONTENT).pop().unwrap();
    std::fs::write(&file, &CONTENT[..9]).unwrap();
    for headers in [vec![], vec![("range", "bytes=0-3")]] {
        let answer = scene.get(&id, &headers).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{headers:?}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["code"], "media_missing");
    }
    until("an error names it", DEADLINE, async || {
        let said = scene.stack.process.stderr();
        let line = said.iter().find(|line| line.contains("has another size than recorded"));
        line.is_some_and(|line| line.contains(&id) && line.contains("ERROR"))
    })
    .await;
    // Its preview is whole.
    let preview = scene.get(&format!("{id}?preview=true"), &[]).await;
    assert_eq!(preview.bytes().await.unwrap(), "small");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn media_are_listed_for_those_who_may() {
    let mut scene = Scene::embedded().await;
    let mut sent = Vec::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        sent.push(scene.send(name).await);
    }
    scene.stored(&sent[1], "text/plain", b"hello").await;
    let list = format!("/channels/{}/backup/media", scene.channel);
    let first = scene.stack.get(&format!("{list}?limit=2&type=file")).await;
    let cursor = first["nextCursor"].as_str().unwrap().to_owned();
    let second = scene.stack.get(&format!("{list}?limit=2&type=file&cursor={cursor}")).await;
    assert!(second["nextCursor"].is_null());
    let media: Vec<_> =
        [&first, &second].iter().flat_map(|p| p["media"].as_array().unwrap()).collect();
    let ids: Vec<_> = media.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&*sent[2], &*sent[1], &*sent[0]]);
    assert_eq!((&media[0]["mediaStatus"], &media[0]["sha256"]), (&json!("pending"), &Value::Null));
    let stored = media[1];
    assert!(stored["timestamp"].is_string(), "{stored}");
    let known = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    for (field, value) in [
        ("type", json!("file")),
        ("mediaStatus", json!("stored")),
        ("contentType", json!("text/plain")),
        ("fileName", json!("b.txt")),
        ("fileSize", json!(1)),
        ("bytes", json!(5)),
        ("sha256", json!(known)),
        ("duration", Value::Null),
        ("reason", Value::Null),
    ] {
        assert_eq!(stored[field], value, "{field}");
    }
    let path = format!("/channels/{}/backup/messages/{}", scene.channel, sent[1]);
    let bytes = scene.stack.get(&path).await["bytes"].as_i64().unwrap();
    assert!(bytes > 5, "content and file: {bytes}");
    assert!(scene.stack.get(&format!("{list}?type=image")).await["media"] == json!([]));
    for bad in ["type=text", "limit=0", "x=1", &format!("type=image&cursor={cursor}")] {
        let (status, _) = scene.stack.call(Method::GET, &format!("{list}?{bad}"), None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}");
    }
    check_access(&mut scene, &list, &sent[1]).await;
}

async fn check_access(scene: &mut Scene, list: &str, id: &str) {
    let file = format!("{list}/{id}");
    let status =
        async |scene: &Scene, path: &str| scene.stack.call(Method::GET, path, None).await.0;
    let user = scene.stack.get("/me").await["userId"].as_str().unwrap().to_owned();
    let narrow = ["key", "create", "--user", &user, "--scope", "read:messages"];
    let narrow = scene.stack.ground.command(&scene.stack.line, &narrow).await;
    let media = ["key", "create", "--user", &user, "--scope", "read:media"];
    let media = scene.stack.ground.command(&scene.stack.line, &media).await;
    scene.stack.use_key(&narrow);
    assert_eq!(status(scene, list).await, StatusCode::FORBIDDEN);
    assert_eq!(status(scene, &file).await, StatusCode::FORBIDDEN);
    scene.stack.use_key(&media);
    assert_eq!(status(scene, list).await, StatusCode::OK);
    assert_eq!(status(scene, &file).await, StatusCode::OK);
    // From now on nothing older than the far future may be read with any key.
    scene.stack.sql("UPDATE api_keys SET not_before = 9000000000000".to_owned()).await;
    assert_eq!(status(scene, &file).await, StatusCode::NOT_FOUND);
    assert_eq!(scene.stack.get(list).await["media"], json!([]));
    scene.stack.act_as("U00000000000000000000000000stranger").await;
    assert_eq!(status(scene, list).await, StatusCode::FORBIDDEN);
    assert_eq!(status(scene, &file).await, StatusCode::FORBIDDEN);
    scene.stack.use_key("");
    let answer = scene.get(id, &[]).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert!(answer.headers().contains_key(header::WWW_AUTHENTICATE));
}
