//! Contract tests of the blobs: each runs on a folder and on a real S3 server.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use chatkeep_blobs::{BlobError, Blobs, BoxError, Stored};
use chatkeep_core::blob::BlobId;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::time::Timestamp;
use futures_util::stream::{self, Stream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use tempfile::TempDir;

use crate::harness::process::Program;
use crate::harness::s3::S3;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Maximum size of a stored blob in most tests.
const MANY: u64 = 1 << 30;
pub(crate) const MIB: usize = 1024 * 1024;

/// Empty store for blobs of its own.
struct Fixture {
    blobs: Blobs,
    folder: TempDir,
    s3: Option<S3>,
}

/// Creates one test per store of each function named.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod in_a_folder {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(super::Fixture::folder()).await;
            })*
        }
        mod in_s3 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(super::Fixture::s3()).await;
            })*
        }
    };
}
pub(crate) use on_both;

on_both!(
    what_is_put_is_got_whole_and_in_ranges,
    an_empty_blob_is_a_blob,
    the_same_content_is_kept_once,
    a_stream_that_breaks_off_leaves_nothing,
    too_much_is_refused_and_leaves_nothing,
    an_unclaimed_blob_is_never_seen,
    a_cancelled_upload_leaves_nothing,
    what_a_crash_left_is_swept_when_it_is_old,
    blobs_are_listed_and_deleted,
    memory_is_bounded,
    the_identity_is_given_once,
    while_barred_nothing_is_stored_read_or_deleted,
);

impl Fixture {
    fn folder() -> Self {
        let folder = scratch::folder("blobs-");
        let kind = BlobsKind::Folder(folder.path().join("made/here"));
        Self { blobs: Blobs::open(&kind, &S3Config::default()).unwrap(), folder, s3: None }
    }

    fn s3() -> Self {
        let s3 = S3::start();
        Self { blobs: s3.blobs(), folder: scratch::folder("unused-"), s3: Some(s3) }
    }

    async fn put(&self, content: &[u8]) -> Stored {
        self.blobs.put(pieces(content), MANY, unclaimed).await.unwrap().0
    }

    /// Waits until no file is left: the server deletes an upload after its response.
    async fn emptied(&self) {
        until("every file is gone", DEADLINE, async || self.files().is_empty()).await;
    }

    /// Returns every file with bytes of blobs or uploads in it, whatever its name.
    fn files(&self) -> Vec<PathBuf> {
        let root = self.s3.as_ref().map_or(self.folder.path(), |s3| s3.folder());
        let mut found = Vec::new();
        walk(root, &mut found);
        // The server's notes about its objects, and its partial file when a call of ours broke off:
        // that one it leaves behind, and nobody can read it.
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_owned();
        found.retain(|path| path.extension().is_none_or(|extension| extension != "json"));
        let is_s3 = self.s3.is_some();
        found.retain(|path| !is_s3 || !name(path).to_string_lossy().starts_with(".tmp."));
        found
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Claim for tests without a store.
async fn unclaimed(_: BlobId) -> Result<(), BoxError> {
    Ok(())
}

/// Returns the content as a stream in uneven pieces.
pub(crate) fn pieces(content: &[u8]) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
    let pieces: Vec<_> = content.chunks(70_001).map(Bytes::copy_from_slice).map(Ok).collect();
    stream::iter(pieces)
}

/// Returns bytes that do not repeat soon.
pub(crate) fn content(size: usize) -> Vec<u8> {
    let (mut state, mut content) = (7_u64, vec![0; size]);
    for part in content.chunks_mut(8) {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        part.copy_from_slice(&state.swap_bytes().to_ne_bytes()[..part.len()]);
    }
    content
}

async fn read(blobs: &Blobs, id: &BlobId, range: Option<Range<u64>>) -> Vec<u8> {
    let read = blobs.get(id, range).await.unwrap();
    read.stream.try_collect::<BytesMut>().await.unwrap().into()
}

async fn what_is_put_is_got_whole_and_in_ranges(fixture: Fixture) {
    // Smaller than a part of an upload, exactly one, and several.
    for size in [5, 8 * MIB, 20 * MIB + 3] {
        let content = content(size);
        let stored = fixture.put(&content).await;
        assert_eq!(stored.bytes, size as u64);
        assert_eq!(stored.head, content[..size.min(4096)]);
        let got = fixture.blobs.get(&stored.id, None).await.unwrap();
        assert_eq!(got.size, size as u64);
        assert!(read(&fixture.blobs, &stored.id, None).await == content);
        let end = size as u64;
        for range in [0..1, end - 1..end, 2..end - 1, 0..end] {
            let part = read(&fixture.blobs, &stored.id, Some(range.clone())).await;
            let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
            assert!(part == content[start..end], "{range:?} of {size}");
        }
        for range in [end..end + 1, 0..end + 1, 3..3] {
            let refused = fixture.blobs.get(&stored.id, Some(range.clone())).await;
            assert!(matches!(refused, Err(BlobError::Range)), "{range:?} of {size}: {refused:?}");
        }
    }
    // As printed by `sha256sum`.
    let known = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(fixture.put(b"hello").await.id.as_str(), known);
}

async fn an_empty_blob_is_a_blob(fixture: Fixture) {
    let stored = fixture.put(b"").await;
    let known = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!((stored.id.as_str(), stored.bytes, stored.head.len()), (known, 0, 0));
    assert_eq!(fixture.blobs.size(&stored.id).await.unwrap(), Some(0));
    assert_eq!(read(&fixture.blobs, &stored.id, None).await, b"");
}

async fn the_same_content_is_kept_once(fixture: Fixture) {
    let large = content(9 * MIB);
    for content in [b"twice".as_slice(), &large] {
        let first = fixture.put(content).await;
        let files = fixture.files().len();
        assert_eq!(fixture.put(content).await, first);
        assert_eq!(fixture.files().len(), files);
        assert!(read(&fixture.blobs, &first.id, None).await == content);
    }
}

async fn a_stream_that_breaks_off_leaves_nothing(fixture: Fixture) {
    for size in [10, 20 * MIB] {
        let whole: Vec<_> = pieces(&content(size)).map(Ok::<_, io::Error>).collect().await;
        let broken = stream::iter(whole)
            .map(|piece| piece.map(|Ok(bytes): Result<Bytes, Infallible>| bytes))
            .chain(stream::once(async { Err(io::Error::other("cut")) }));
        let error = fixture.blobs.put(broken, MANY, unclaimed).await.unwrap_err();
        assert!(matches!(error, BlobError::Source(_)) && error.is_transient(), "{error:?}");
        fixture.emptied().await;
    }
}

async fn too_much_is_refused_and_leaves_nothing(fixture: Fixture) {
    let content = content(20 * MIB);
    let max = content.len() as u64;
    let refused = fixture.blobs.put(pieces(&content), max - 1, unclaimed).await.unwrap_err();
    assert!(matches!(refused, BlobError::TooLarge { .. }) && !refused.is_transient());
    fixture.emptied().await;
    assert_eq!(fixture.blobs.put(pieces(&content), max, unclaimed).await.unwrap().0.bytes, max);
}

async fn an_unclaimed_blob_is_never_seen(fixture: Fixture) {
    for size in [10, 9 * MIB] {
        let content = content(size);
        let claim = async |id: BlobId| {
            assert_eq!(fixture.blobs.size(&id).await.unwrap(), None, "claimed before it is seen");
            Err::<(), BoxError>("no".into())
        };
        let error = fixture.blobs.put(pieces(&content), MANY, claim).await.unwrap_err();
        assert!(matches!(error, BlobError::Claim(_)), "{error:?}");
        fixture.emptied().await;
    }
}

async fn a_cancelled_upload_leaves_nothing(fixture: Fixture) {
    let endless = pieces(&content(9 * MIB)).chain(stream::pending());
    let mut upload = Box::pin(fixture.blobs.put(endless, MANY, unclaimed));
    until("something of it is written", DEADLINE, async || {
        let waiting = tokio::time::timeout(Duration::from_millis(1), &mut upload).await;
        assert!(waiting.is_err(), "{waiting:?}");
        !fixture.files().is_empty()
    })
    .await;
    drop(upload);
    until("it is gone", DEADLINE, async || fixture.files().is_empty()).await;
}

async fn what_a_crash_left_is_swept_when_it_is_old(fixture: Fixture) {
    let kept = fixture.put(b"kept").await;
    let root = match &fixture.s3 {
        Some(s3) => s3.folder().join("media/chat/keep"),
        None => fixture.folder.path().join("made/here"),
    };
    let left = root.join("tmp").join("0123456789abcdef");
    std::fs::create_dir_all(left.parent().unwrap()).unwrap();
    std::fs::write(&left, "half a file").unwrap();
    assert_eq!(fixture.blobs.sweep(Timestamp::from_millis(1)).await.unwrap(), 0);
    assert!(left.exists());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let later = Timestamp::from_millis(0).plus(now + Duration::from_mins(1));
    assert_eq!(fixture.blobs.sweep(later).await.unwrap(), 1);
    assert!(!left.exists());
    assert_eq!(read(&fixture.blobs, &kept.id, None).await, b"kept");
}

async fn blobs_are_listed_and_deleted(fixture: Fixture) {
    let mut ids = Vec::new();
    for content in ["a", "b", "c"] {
        ids.push(fixture.put(content.as_bytes()).await.id);
    }
    ids.sort();
    let listed = async || {
        let mut listed: Vec<_> = fixture.blobs.list().try_collect().await.unwrap();
        listed.sort();
        listed
    };
    assert_eq!(listed().await, ids);
    let gone = ids.remove(1);
    fixture.blobs.delete(&gone).await.unwrap();
    fixture.blobs.delete(&gone).await.unwrap();
    assert_eq!(listed().await, ids);
    assert_eq!(fixture.blobs.size(&gone).await.unwrap(), None);
    let missing = fixture.blobs.get(&gone, None).await.unwrap_err();
    assert!(matches!(missing, BlobError::NotFound(id) if id == gone));
    fixture.blobs.ready().await.unwrap();
}

/// Runs this test once more in a process of its own, which prints its peak memory: in this one
/// other tests use theirs meanwhile.
async fn memory_is_bounded(fixture: Fixture) {
    const CHILD: &str = "CHATKEEP_IT_CHILD";
    const SIZE: usize = 100 * MIB;
    let place = if fixture.s3.is_some() { "in_s3" } else { "in_a_folder" };
    #[expect(clippy::disallowed_methods, reason = "the child's part is told by its parent")]
    if std::env::var(CHILD).is_err() {
        let program = std::env::current_exe().unwrap();
        let test = format!("blobs::{place}::memory_is_bounded");
        let mut child = Program::new(program.to_str().unwrap())
            .args(["--exact", &test, "--nocapture"])
            .env(CHILD, "1")
            .start();
        let line = child.line("grew by ").await;
        let grew: usize = line.split("grew by ").nth(1).unwrap().parse().unwrap();
        assert!(grew < SIZE / 2, "{SIZE} bytes took {grew} bytes of memory");
        assert!(child.finish().await.success());
        return;
    }
    fixture.put(&content(9 * MIB)).await;
    let before = peak();
    let piece = Bytes::from(content(64 * 1024));
    let large = stream::iter((0..SIZE / piece.len()).map(|_| Ok::<_, Infallible>(piece.clone())));
    let (stored, ()) = fixture.blobs.put(large, MANY, unclaimed).await.unwrap();
    let read = fixture.blobs.get(&stored.id, None).await.unwrap();
    let got = read.stream.try_fold(0, |all, piece| async move { Ok(all + piece.len()) });
    assert_eq!(got.await.unwrap(), SIZE);
    println!("grew by {}", peak() - before);
}

/// Returns the peak resident memory of this process in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_worth_another_try() {
    let mut fixture = Fixture::s3();
    let stored = fixture.put(b"before").await;
    fixture.s3.as_mut().unwrap().kill();
    let refused = |error: BlobError| assert!(error.is_transient(), "{error:?}");
    refused(fixture.blobs.ready().await.unwrap_err());
    refused(fixture.blobs.put(pieces(b"x"), MANY, unclaimed).await.unwrap_err());
    refused(fixture.blobs.get(&stored.id, None).await.unwrap_err());
    refused(fixture.blobs.get(&stored.id, Some(0..1)).await.unwrap_err());
    refused(fixture.blobs.delete(&stored.id).await.unwrap_err());
    refused(fixture.blobs.list().try_collect::<Vec<_>>().await.unwrap_err());
    fixture.s3.as_mut().unwrap().restart();
    fixture.blobs.ready().await.unwrap();
    assert_eq!(read(&fixture.blobs, &stored.id, None).await, b"before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_is_not_ours_is_not_ready() {
    let s3 = S3::start();
    let (kind, settings) = s3.settings();
    let wrong = S3Config { secret_access_key: Some("wrong".into()), ..settings.clone() };
    let error = Blobs::open(&kind, &wrong).unwrap().ready().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let missing = BlobsKind::S3 { bucket: "missing".to_owned(), prefix: String::new() };
    let error = Blobs::open(&missing, &settings).unwrap().ready().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let half = S3Config { access_key_id: None, ..settings };
    assert!(matches!(Blobs::open(&kind, &half), Err(BlobError::HalfAKey)));
    // Sets up TLS, which no test server speaks.
    let tls = S3Config { endpoint: Some("https://127.0.0.1:9".to_owned()), ..wrong };
    let error = Blobs::open(&kind, &tls).unwrap().ready().await.unwrap_err();
    assert!(matches!(error, BlobError::Backend(_)), "{error:?}");
}

async fn the_identity_is_given_once(fixture: Fixture) {
    let blobs = &fixture.blobs;
    let identity = async |n: u32| blobs.identity(format!("m{n}")).await;
    assert_eq!(blobs.known_identity().await.unwrap(), None);
    let mut all = vec![];
    if fixture.s3.is_some() {
        // The server of this test looks first and writes then, so it is asked one by one.
        all.push(identity(9).await.unwrap());
    }
    let others = (0..4).map(identity);
    all.extend(futures_util::future::try_join_all(others).await.unwrap());
    assert!(!all[0].is_empty() && all.iter().all(|one| *one == all[0]), "{all:?}");
    assert_eq!(blobs.known_identity().await.unwrap(), Some(all[0].clone()));
    // It is no blob.
    assert!(blobs.list().try_collect::<Vec<_>>().await.unwrap().is_empty());
}

async fn while_barred_nothing_is_stored_read_or_deleted(fixture: Fixture) {
    let id = fixture.put(b"before").await.id;
    let (blobs, other) = (&fixture.blobs, fixture.blobs.clone());
    other.bar();
    let refused = |error: BlobError| {
        assert!(matches!(error, BlobError::Unidentified), "{error:?}");
        assert!(error.is_transient() && error.outage().is_some());
    };
    refused(blobs.put(pieces(b"during"), MANY, unclaimed).await.unwrap_err());
    refused(blobs.get(&id, None).await.unwrap_err());
    refused(blobs.size(&id).await.unwrap_err());
    refused(blobs.delete(&id).await.unwrap_err());
    refused(blobs.sweep(Timestamp::default()).await.unwrap_err());
    refused(blobs.ready().await.unwrap_err());
    refused(blobs.list().try_collect::<Vec<_>>().await.unwrap_err());
    assert!(blobs.availability().is_away());
    // What identifies it can be asked all the same.
    assert!(blobs.holds(&id).await.unwrap());
    assert!(blobs.identity("m1".to_owned()).await.is_ok() && blobs.known_identity().await.is_ok());
    blobs.unbar();
    let listed = blobs.list().try_collect::<Vec<_>>().await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&id));
    assert_eq!(blobs.size(&id).await.unwrap(), Some(6));
    other.delete(&id).await.unwrap();
    assert!(!blobs.holds(&id).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_stored_in_the_place_of_a_disk_that_is_not_mounted() {
    let fixture = Fixture::folder();
    let (disk, away) =
        (fixture.folder.path().join("made/here"), fixture.folder.path().join("away"));
    let put = async || fixture.blobs.put(pieces(b"picture"), MANY, unclaimed).await;
    // Whoever knows no identity cannot tell.
    put().await.unwrap();
    fixture.blobs.identity("m1".to_owned()).await.unwrap();
    put().await.unwrap();
    fs::rename(&disk, &away).unwrap();
    fs::create_dir(&disk).unwrap();
    let refused = put().await.unwrap_err();
    assert!(matches!(refused, BlobError::Unidentified), "{refused:?}");
    assert_eq!(fixture.blobs.known_identity().await.unwrap(), None);
    assert!(put().await.is_err());
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    fs::remove_dir(&disk).unwrap();
    fs::rename(&away, &disk).unwrap();
    put().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_without_conditional_writes_has_an_identity() {
    let mut s3 = S3::without_conditions();
    let blobs = s3.blobs();
    let identity = async |blobs: &Blobs, new: &str| blobs.identity(new.to_owned()).await;
    assert_eq!(identity(&blobs, "m1").await.unwrap(), "m1");
    assert_eq!(identity(&s3.blobs(), "m2").await.unwrap(), "m1");
    s3.kill();
    let other = identity(&S3::without_conditions().blobs(), "m2").await.unwrap();
    assert_eq!(other, "m2", "another bucket is another store");
    assert!(identity(&blobs, "m3").await.unwrap_err().is_transient());
}
