//! Contract tests of archives, the places of snapshots: each runs on a folder and on a real S3
//! server.

use std::convert::Infallible;
use std::{fs, io};

use bytes::{Bytes, BytesMut};
use chatkeep_blobs::{Archive, ArchiveError, ArchivedObject, ObjectDigest};
use chatkeep_core::config::{BlobsKind, S3Config};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::blobs::{MIB, content, on_both, pieces};
use crate::harness::s3::S3;
use crate::harness::scratch;

/// Empty archive of its own.
struct Fixture {
    archive: Archive,
    folder: TempDir,
    s3: Option<S3>,
}

on_both!(
    objects_of_every_size_are_read_as_they_were_put,
    an_object_replaces_the_earlier_one,
    what_breaks_off_changes_nothing,
    objects_are_listed_by_folder_and_deleted,
    a_sweep_removes_what_is_no_object,
);

impl Fixture {
    fn folder() -> Self {
        let folder = scratch::folder("archive-");
        let kind = BlobsKind::Folder(folder.path().join("made/here"));
        let missing = Archive::open_existing(&kind, &S3Config::default());
        assert!(matches!(missing, Err(ArchiveError::Missing(_))), "{missing:?}");
        let archive = Archive::open(&kind, &S3Config::default()).unwrap();
        assert!(Archive::open_existing(&kind, &S3Config::default()).is_ok());
        Self { archive, folder, s3: None }
    }

    fn s3() -> Self {
        let s3 = S3::start();
        let (kind, settings) = s3.settings();
        let archive = Archive::open_existing(&kind, &settings).unwrap();
        Self { archive, folder: scratch::folder("unused-"), s3: Some(s3) }
    }

    /// Reads an object in pieces.
    async fn get(&self, name: &str) -> Option<Vec<u8>> {
        let pieces = self.archive.get(name).await.unwrap()?;
        Some(pieces.try_collect::<BytesMut>().await.unwrap().into())
    }

    /// Returns the names below a folder, sorted.
    async fn names(&self, folder: &str) -> Vec<String> {
        let listed: Vec<ArchivedObject> = self.archive.list(folder).try_collect().await.unwrap();
        let mut names: Vec<_> = listed.into_iter().map(|object| object.name).collect();
        names.sort();
        names
    }
}

async fn objects_of_every_size_are_read_as_they_were_put(fixture: Fixture) {
    let archive = &fixture.archive;
    // Nothing, smaller than a part of an upload, exactly one, and several.
    for size in [0, 5, 8 * MIB, 20 * MIB + 3] {
        let content = content(size);
        let digest = archive.put_stream("set/one", pieces(&content)).await.unwrap();
        let sha256 = hex::encode(Sha256::digest(&content));
        assert_eq!(digest, ObjectDigest { sha256, bytes: size as u64 });
        assert!(fixture.get("set/one").await.unwrap() == content, "{size} bytes in pieces");
        assert!(archive.read("set/one").await.unwrap().unwrap() == content, "{size} bytes");
        assert_eq!(archive.size("set/one").await.unwrap(), Some(size as u64));
    }
    // A piece that is larger than a part.
    let large = content(17 * MIB);
    let piece = stream::iter([Ok::<_, Infallible>(Bytes::from(large.clone()))]);
    assert_eq!(archive.put_stream("large", piece).await.unwrap().bytes, large.len() as u64);
    assert!(fixture.get("large").await.unwrap() == large);
}

async fn an_object_replaces_the_earlier_one(fixture: Fixture) {
    let archive = &fixture.archive;
    archive.put("set/manifest", Bytes::from_static(b"first, and longer")).await.unwrap();
    archive.put("set/manifest", Bytes::from_static(b"second")).await.unwrap();
    assert_eq!(archive.read("set/manifest").await.unwrap().unwrap(), "second");
    archive.put_stream("set/manifest", pieces(b"third")).await.unwrap();
    assert_eq!(fixture.get("set/manifest").await.unwrap(), b"third");
    assert_eq!(fixture.names("set").await, ["set/manifest"]);
}

async fn what_breaks_off_changes_nothing(fixture: Fixture) {
    let archive = &fixture.archive;
    archive.put("set/kept", Bytes::from_static(b"kept")).await.unwrap();
    for size in [10, 20 * MIB] {
        for name in ["set/kept", "set/new"] {
            let whole: Vec<_> = pieces(&content(size)).map(|Ok(piece)| Ok(piece)).collect().await;
            let cut = stream::once(async { Err(io::Error::other("cut")) });
            let error = archive.put_stream(name, stream::iter(whole).chain(cut)).await.unwrap_err();
            assert!(matches!(error, ArchiveError::Source(_)), "{error:?}");
        }
        assert_eq!(fixture.names("set").await, ["set/kept"]);
        assert_eq!(fixture.get("set/kept").await.unwrap(), b"kept");
    }
}

async fn objects_are_listed_by_folder_and_deleted(fixture: Fixture) {
    let archive = &fixture.archive;
    for name in ["a/one", "a/two", "a/b/three", "ab/four"] {
        archive.put(name, Bytes::from(name)).await.unwrap();
    }
    assert_eq!(fixture.names("a").await, ["a/b/three", "a/one", "a/two"]);
    assert_eq!(fixture.names("c").await, [""; 0]);
    let listed: Vec<_> = archive.list("ab").try_collect().await.unwrap();
    assert_eq!(listed, [ArchivedObject { name: "ab/four".to_owned(), bytes: 7 }]);
    archive.delete("a/one").await.unwrap();
    archive.delete("a/one").await.unwrap();
    assert_eq!(fixture.names("a").await, ["a/b/three", "a/two"]);
    assert_eq!(fixture.get("a/one").await, None);
    assert_eq!(archive.read("a/one").await.unwrap(), None);
    assert_eq!(archive.size("a/one").await.unwrap(), None);
}

#[tokio::test]
async fn objects_are_listed_by_the_names_that_they_were_given() {
    let fixture = Fixture::folder();
    let names = ["a/#7", "a/50% off", "a/%41", "a/[b]?/c*.txt", "a/plain", "a/~d", "a/議事.pdf"];
    for name in names {
        fixture.archive.put(name, Bytes::from(name)).await.unwrap();
    }
    let listed = fixture.names("a").await;
    for name in &listed {
        assert_eq!(fixture.get(name).await.unwrap(), name.as_bytes());
    }
    let mut expected = names.map(str::to_owned);
    expected.sort();
    assert_eq!(listed, expected);
    assert_eq!(fixture.names("a/[b]?").await, ["a/[b]?/c*.txt"]);
}

async fn a_sweep_removes_what_is_no_object(fixture: Fixture) {
    let archive = &fixture.archive;
    for name in ["a/one", "b/two"] {
        archive.put(name, Bytes::from(name)).await.unwrap();
    }
    let root = fixture.folder.path().join("made/here");
    if fixture.s3.is_none() {
        fs::create_dir_all(root.join("a/empty/deeper")).unwrap();
        fs::write(root.join("a/empty/deeper/one#7"), "half an object").unwrap();
        fs::write(root.join("b/two#1"), "half an object, where nobody sweeps").unwrap();
    }
    archive.sweep(&["a", "missing"]).await.unwrap();
    assert_eq!(fixture.names("").await, ["a/one", "b/two"]);
    if fixture.s3.is_none() {
        assert!(!root.join("a/empty").exists() && root.join("b/two#1").exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_an_error_and_no_missing_object() {
    let mut s3 = S3::start();
    let (kind, settings) = s3.settings();
    let archive = Archive::open(&kind, &settings).unwrap();
    archive.put("one", Bytes::from_static(b"before")).await.unwrap();
    s3.kill();
    let failed = |error: ArchiveError| assert!(matches!(error, ArchiveError::Backend(_)));
    failed(archive.put("two", Bytes::new()).await.unwrap_err());
    failed(archive.put_stream("two", pieces(&content(9 * MIB))).await.unwrap_err());
    failed(archive.get("one").await.err().unwrap());
    failed(archive.read("one").await.unwrap_err());
    failed(archive.size("one").await.unwrap_err());
    failed(archive.delete("one").await.unwrap_err());
    failed(archive.list("").try_collect::<Vec<_>>().await.unwrap_err());
    s3.restart();
    assert_eq!(archive.read("one").await.unwrap().unwrap(), "before");
}
