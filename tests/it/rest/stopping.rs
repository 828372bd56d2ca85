//! An orderly stop: requests under way are answered, and what they read and used is recorded.

use chatkeep_core::config::Database;
use chatkeep_store::{ActivityFilter, ReadAction, Store};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{CHANNEL, Rest, under};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_request_reads_while_the_process_stops_is_recorded() {
    let Rest { mut stack, store, .. } = Rest::start(&[]).await;
    store.close().await;
    let (address, key) = (stack.ground.address, stack.key().to_owned());
    let mut request = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api{} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n",
        under("/assistant/backtest")
    );
    request.write_all(head.as_bytes()).await.unwrap();
    let mut said = [0; 12];
    request.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 100", "the request waits for its body");
    let finish = async {
        until("nobody else is let in", DEADLINE, async || {
            TcpStream::connect(address).await.is_err()
        })
        .await;
        request.write_all(b"{}").await.unwrap();
        let mut answer = Vec::new();
        request.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let (status, answer) = tokio::join!(stack.process.terminate(), finish);
    assert!(answer.contains("HTTP/1.1 200") && status.success(), "{status} {answer}");
    let store = Store::open(&Database::Sqlite, stack.ground.folder.path(), 1).await.unwrap();
    let (log, all) = (store.activity_log(), ActivityFilter::default());
    let reads = log.reads(&CHANNEL.into(), &all, None, 10).await.unwrap();
    let reads: Vec<_> = reads.iter().map(|read| (read.action, read.requests)).collect();
    assert_eq!(reads, [(ReadAction::History, 1)]);
}
