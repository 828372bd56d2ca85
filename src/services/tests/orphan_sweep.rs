//! The orphan sweep beside a media store that does not answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_blobs::Blobs;
use chatkeep_core::blob::BlobId;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_store::CLAIM;
use chatkeep_workers::periodic::PeriodicJob as _;
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
