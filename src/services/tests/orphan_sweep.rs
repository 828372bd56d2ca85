//! The orphan sweep beside a media store that does not answer, or refuses to delete.

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_blobs::{Blobs, BoxError};
use chatkeep_core::blob::BlobId;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_store::CLAIM;
use chatkeep_workers::periodic::PeriodicJob as _;
use futures_util::stream::iter;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::orphan_sweep::OrphanSweeper;
use super::Group;

/// Time that a change of the database may take: less than the timeout of a deletion.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Returns a bucket of a server at that address.
pub(super) fn bucket_at(address: SocketAddr) -> Blobs {
    let kind = BlobsKind::S3 { bucket: "media".to_owned(), prefix: String::new() };
    let s3 = S3Config {
        endpoint: Some(format!("http://{address}")),
        region: "us-east-1".to_owned(),
        access_key_id: Some("key".into()),
        secret_access_key: Some("secret".into()),
        path_style: true,
    };
    Blobs::open(&kind, &s3).unwrap()
}

#[tokio::test]
async fn a_deletion_that_hangs_stops_nobody() {
    let group = Group::new().await;
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let blobs = bucket_at(server.local_addr().unwrap());
    let (store, clock) = (group.store.clone(), Arc::clone(&group.clock));
    let sweeper = OrphanSweeper { store, blobs, clock };
    let blob = BlobId::parse(&"a".repeat(64)).unwrap();
    group.store.media().claim_blob(blob, group.clock.now()).await.unwrap();
    group.hands.advance(CLAIM * 2);
    let others = async {
        // The request is taken, and never answered.
        let _deletion = server.accept().await.unwrap();
        let user = "U9".into();
        let accounts = group.store.accounts();
        let change = accounts.add_user(&user, None, group.clock.now());
        timeout(TIMEOUT, change).await.expect("the database takes changes").unwrap();
    };
    let stop = CancellationToken::new();
    tokio::select! {
        swept = sweeper.run(&stop) => panic!("it has ended: {swept:?}"),
        () = others => {}
    }
}

/// Marks of 300 blobs, whose names come before those of files, as messages leave them that are taken
/// back.
const REFUSED: &str = "
    INSERT INTO blob_orphans (sha256, mark, since)
    WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 299)
    SELECT printf('%064x', i), 'a mark', 0 FROM n";

/// Stores a file that no message holds.
async fn orphaned(group: &Group, blobs: &Blobs, content: &'static str) -> BlobId {
    let file = iter([Ok::<_, Infallible>(Bytes::from_static(content.as_bytes()))]);
    let claim = |blob| async {
        group.store.media().claim_blob(blob, group.clock.now()).await.map_err(BoxError::from)
    };
    let (_, claim) = blobs.put(file, u64::MAX, claim).await.unwrap();
    group.sql("UPDATE blob_orphans SET since = 0 WHERE since > 0").await;
    claim.blob().clone()
}

#[tokio::test]
async fn files_that_cannot_be_deleted_hold_up_no_other() {
    let group = Group::new().await;
    group.hands.advance(CLAIM * 2);
    let blobs = group.files();
    group.sql(REFUSED).await;
    for number in 0..300 {
        // A folder is not removed as a file is.
        let folder = group.folder.path().join(format!("files/00/00/{number:064x}"));
        fs::create_dir_all(folder).unwrap();
    }
    let (store, clock) = (group.store.clone(), Arc::clone(&group.clock));
    let sweeper = OrphanSweeper { store, blobs: blobs.clone(), clock };
    let stop = CancellationToken::new();
    let first = orphaned(&group, &blobs, "the first file").await;
    // More of them are refused than a round tries.
    sweeper.run(&stop).await.unwrap();
    for (round, content) in ["the second file", "the third file"].into_iter().enumerate() {
        group.sql("UPDATE blob_orphans SET since = -1 WHERE since < 0").await;
        let file = orphaned(&group, &blobs, content).await;
        sweeper.run(&stop).await.unwrap();
        assert_eq!(blobs.size(&file).await.unwrap(), None, "{round}");
    }
    assert_eq!(blobs.size(&first).await.unwrap(), None);
}
