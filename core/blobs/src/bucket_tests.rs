//! Tests of the bucket's side on a store in memory: keys, ranges, parts, limits and errors.

use std::io;

use bytes::Bytes;
use object_store::memory::InMemory;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::multipart::MultipartWriter;
use super::*;

/// Content that is larger than any test needs.
const MOST: u64 = 1_000_000;

fn bucket(prefix: &str) -> (Blobs, Arc<InMemory>) {
    let memory = Arc::new(InMemory::new());
    let blobs = Blobs {
        store: memory.clone(),
        place: BlobBackend::Bucket(Path::from(prefix)),
        availability: Availability::new("media store", "memory", "CHATKEEP_BLOBS"),
        key: None,
        barred: Arc::default(),
        identified: IdentifiedFolder::default(),
    };
    (blobs, memory)
}

async fn put(blobs: &Blobs, content: &[u8], max: u64) -> Result<Stored, BlobError> {
    let pieces: Vec<_> = content.chunks(7).map(Bytes::copy_from_slice).collect();
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, io::Error>));
    let claim = |_| ready(Ok::<_, BoxError>(()));
    blobs.put(pieces, max, claim).await.map(|(stored, ())| stored)
}

async fn read(mut read: BlobRead) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(piece) = read.stream.try_next().await.unwrap() {
        all.extend_from_slice(&piece);
    }
    all
}

/// Returns the keys of all objects, in order.
async fn keys(memory: &InMemory) -> Vec<String> {
    let all = memory.list(None).map_ok(|meta| meta.location.to_string());
    let mut all: Vec<_> = all.try_collect().await.unwrap();
    all.sort_unstable();
    all
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

#[tokio::test]
async fn a_blob_lies_below_the_prefix_by_its_digest() {
    // The published digest of "abc".
    let name = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for (prefix, key) in [("", "ba/78/"), ("chat", "chat/ba/78/"), ("a/b/", "a/b/ba/78/")] {
        let (blobs, memory) = bucket(prefix);
        let stored = put(&blobs, b"abc", MOST).await.unwrap();
        assert_eq!((stored.id.as_str(), stored.bytes, &stored.head[..]), (name, 3, &b"abc"[..]));
        assert_eq!(keys(&memory).await, [format!("{key}{name}")]);
        assert_eq!(put(&blobs, b"abc", MOST).await.unwrap(), stored);
        assert_eq!(keys(&memory).await.len(), 1, "the same content is stored once");
    }
}

#[tokio::test]
async fn a_listing_holds_blobs_and_nothing_else() {
    let (blobs, memory) = bucket("chat");
    for key in ["chat/tmp/0123", "chat/media-store.id", "chat/ba/78/ba78", "other/ba/78/x"] {
        memory.put(&Path::from(key), "x".into()).await.unwrap();
    }
    assert!(!blobs.has_any().await.unwrap());
    let stored = put(&blobs, b"abc", MOST).await.unwrap();
    assert!(blobs.has_any().await.unwrap() && blobs.holds(&stored.id).await.unwrap());
    let listed: Vec<_> = blobs.list().try_collect().await.unwrap();
    assert_eq!(listed, [stored.id]);
    // An upload that nobody finished goes once it is old, and nothing else.
    assert_eq!(blobs.sweep(Timestamp::from_millis(0)).await.unwrap(), 0);
    assert_eq!(blobs.sweep(Timestamp::LATEST).await.unwrap(), 1);
    assert_eq!(keys(&memory).await.len(), 4);
}

#[tokio::test]
async fn a_file_may_have_as_many_bytes_as_allowed_and_not_one_more() {
    for size in [1_u64, 7, 8, 100] {
        let content = vec![7; usize::try_from(size).unwrap()];
        let (blobs, memory) = bucket("");
        let refused = put(&blobs, &content, size - 1).await.unwrap_err();
        assert!(matches!(refused, BlobError::TooLarge { max } if max == size - 1), "{refused}");
        assert!(keys(&memory).await.is_empty(), "{size} bytes");
        assert_eq!(put(&blobs, &content, size).await.unwrap().bytes, size);
    }
    let (blobs, _) = bucket("");
    assert_eq!(put(&blobs, b"", 0).await.unwrap().bytes, 0);
}

fn file(kind: ErrorKind) -> io::Error {
    kind.into()
}

fn backend(source: impl Into<BoxError>) -> BlobError {
    BlobError::Backend(Backend::Generic { store: "S3", source: source.into() })
}

#[test]
fn an_error_tells_whether_to_try_again_and_what_is_away() {
    let path = || "a".to_owned();
    let missing = Backend::NotFound { path: path(), source: "404".into() };
    let refused = Backend::Unauthenticated { path: path(), source: "403".into() };
    let closed = Backend::PermissionDenied { path: path(), source: "403".into() };
    for (error, outage, is_transient) in [
        (backend("no answer"), Some(Work::Reading), true),
        (backend(file(ErrorKind::StorageFull)), Some(Work::Writing), true),
        (backend(file(ErrorKind::TimedOut)), Some(Work::Reading), true),
        (BlobError::Backend(missing), None, true),
        (BlobError::Backend(refused), Some(Work::Reading), true),
        (BlobError::Backend(closed), Some(Work::Reading), true),
        (BlobError::Io(file(ErrorKind::ReadOnlyFilesystem)), Some(Work::Writing), true),
        (BlobError::Io(file(ErrorKind::NotFound)), Some(Work::Reading), true),
        (BlobError::Io(file(ErrorKind::UnexpectedEof)), None, true),
        (BlobError::Source("it broke off".into()), None, true),
        (BlobError::Claim("the database is away".into()), None, true),
        (BlobError::Unidentified, Some(Work::Reading), true),
        (BlobError::Range, None, false),
        (BlobError::TooLarge { max: 1 }, None, false),
        (BlobError::HalfAKey, None, false),
    ] {
        assert_eq!((error.outage(), error.is_transient()), (outage, is_transient), "{error:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_range_is_those_bytes_or_none(
        content in prop::collection::vec(any::<u8>(), 0..60),
        start in 0_u64..70,
        end in 0_u64..70,
    ) {
        let (blobs, _) = bucket("chat");
        let found = run(async {
            let id = put(&blobs, &content, MOST).await.unwrap().id;
            match blobs.get(&id, Some(start..end)).await {
                Ok(found) => Ok((found.size, read(found).await)),
                Err(error) => Err(error),
            }
        });
        let [from, to] = [start, end].map(|place| usize::try_from(place).unwrap());
        if let Some(part) = content.get(from..to).filter(|part| !part.is_empty()) {
            let (size, bytes) = found.unwrap();
            prop_assert_eq!((size, bytes.as_slice()), (content.len() as u64, part));
        } else {
            prop_assert!(matches!(found, Err(BlobError::Range)));
        }
        prop_assert!(!blobs.availability.is_troubled(), "a wrong range is no outage");
    }

    #[test]
    fn pieces_of_any_sizes_become_one_object(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..8),
        part in 1_usize..40,
        holds_back in any::<bool>(),
    ) {
        let (store, key) = (Arc::new(InMemory::new()), Path::from("x"));
        let dynamic: Arc<dyn ObjectStore> = store.clone();
        let writer = MultipartWriter::new(&dynamic, key.clone(), part);
        let mut writer = if holds_back { writer.holding_back() } else { writer };
        let whole = pieces.concat();
        let (written, stored) = run(async {
            for piece in &pieces {
                writer.write(piece).await.unwrap();
            }
            let written = writer.finish().await.unwrap();
            let stored = match store.get(&key).await {
                Ok(found) => Some(found.bytes().await.unwrap()),
                Err(_) => None,
            };
            (written, stored)
        });
        let digest: [u8; 32] = Sha256::digest(&whole).into();
        prop_assert_eq!(written.sha256, digest);
        prop_assert_eq!(written.bytes, whole.len() as u64);
        let is_held = holds_back && whole.len() <= part;
        prop_assert_eq!(written.held, is_held.then(|| whole.clone()));
        prop_assert_eq!(stored, (!is_held).then(|| Bytes::from(whole)));
    }
}
