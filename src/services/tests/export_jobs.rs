//! Exports in the background: written by a worker, read while their messages change.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_blobs::Blobs;
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::message::MessageChange;
use chatkeep_i18n::Language;
use chatkeep_store::{ChannelChange, ExportJob, JobStatus};
use chatkeep_transfer::Format;
use chatkeep_view::Links;
use chrono_tz::Tz;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::net::TcpListener;

use super::super::access::{ChannelAccess, Member, ReadMessages};
use super::super::documents::DocumentError;
use super::super::export_jobs::{ExportJobService, ExportWorker};
use super::super::exports::{ExportRequest, ExportService};
use super::orphan_sweep::bucket_at;
use super::{GROUP, Group, OWNER, caller, run_until, say};

/// Group with a media store, and the parts that write and read its exports.
struct Exporting {
    group: Group,
    blobs: Blobs,
    service: ExportJobService,
    disk: DiskReserve,
    /// Timeout of a part.
    timeout: Duration,
}

impl Exporting {
    async fn new(texts: &[String]) -> Self {
        let group = Group::new().await;
        say(&group, texts).await;
        group.hands.advance(Duration::from_mins(10));
        let blobs = group.files();
        let (store, clock) = (group.store.clone(), Arc::clone(&group.clock));
        let exports = ExportService::new(store.clone(), Tz::UTC, Links::default());
        let service = ExportJobService::new(store, blobs.clone(), clock, exports);
        let timeout = Duration::from_mins(2);
        Self { group, blobs, service, disk: DiskReserve::new(1_000), timeout }
    }

    async fn access(&self) -> ChannelAccess<Member, ReadMessages> {
        self.group.access.channel(caller(OWNER), GROUP.into()).await.unwrap()
    }

    async fn begin(&self, format: Format) -> ExportJob {
        let request = ExportRequest { format, from: None, to: None, language: Language::English };
        self.service.begin(&self.access().await, request).await.unwrap()
    }

    /// Runs a worker until the condition holds.
    async fn work_until(&self, holds: impl AsyncFnMut() -> bool) {
        let (store, clock) = (self.group.store.clone(), Arc::clone(&self.group.clock));
        let (disk, links) = (self.disk.clone(), Links::default());
        let worker = ExportWorker::new(store, self.blobs.clone(), clock, disk, links);
        let worker = worker.with_timeout(self.timeout);
        run_until(|stop| worker.run(stop), holds).await;
    }

    async fn is(&self, export: &ExportJob, status: JobStatus) -> bool {
        let access = self.access().await;
        self.service.export(&access, &export.id).await.unwrap().status == status
    }

    async fn complete(&self, export: &ExportJob) {
        self.work_until(async || {
            self.group.hands.advance(Duration::from_secs(1));
            self.is(export, JobStatus::Done).await
        })
        .await;
    }
}

fn long_texts() -> Vec<String> {
    (0..200).map(|number| format!("{number} {}", "x".repeat(4_000))).collect()
}

#[tokio::test]
async fn a_slow_download_ends_with_the_message_that_is_taken_back() {
    let exporting = Exporting::new(&long_texts()).await;
    let export = exporting.begin(Format::Jsonl).await;
    exporting.complete(&export).await;
    let document = exporting.service.document(&exporting.access().await, &export.id).await.unwrap();
    let mut stream = exporting.service.read(document, None);
    assert!(stream.next().await.unwrap().is_ok(), "the first piece");
    let first = exporting.group.store.messages().all_messages(None, 1).await.unwrap().remove(0);
    let change = MessageChange::Unsent { at: exporting.group.clock.now() };
    let unsent = ChannelChange { channel: GROUP.into(), message: first.1, change };
    let now = exporting.group.clock.now();
    exporting.group.store.messages().ingest(&[unsent], now).await.unwrap();
    let next = stream.next().await.unwrap();
    assert!(matches!(next, Err(DocumentError::Changed)), "{next:?}");
    exporting.complete(&export).await;
    let document = exporting.service.document(&exporting.access().await, &export.id).await.unwrap();
    let size = document.size;
    let again: Vec<_> = exporting.service.read(document, None).try_collect().await.unwrap();
    assert_eq!(again.iter().map(|bytes| bytes.len() as u64).sum::<u64>(), size);
    let text = String::from_utf8(again.concat()).unwrap();
    assert_eq!(text.lines().count(), 200, "a tombstone stays");
    assert_eq!(text.matches(&"x".repeat(4_000)).count(), 199);
}

#[tokio::test]
async fn a_file_that_is_gone_is_written_again() {
    let exporting = Exporting::new(&["hello".to_owned()]).await;
    let export = exporting.begin(Format::Csv).await;
    exporting.complete(&export).await;
    let files = exporting.group.store.exports().export_files(&export.id).await.unwrap().unwrap();
    exporting.blobs.delete(&files[0].blob).await.unwrap();
    let document = exporting.service.document(&exporting.access().await, &export.id).await.unwrap();
    let read = exporting.service.read(document, None).try_collect::<Vec<_>>().await;
    assert!(matches!(read, Err(DocumentError::Changed)), "{read:?}");
    exporting.complete(&export).await;
    let document = exporting.service.document(&exporting.access().await, &export.id).await.unwrap();
    let read: Vec<_> = exporting.service.read(document, None).try_collect().await.unwrap();
    assert!(String::from_utf8(read.concat()).unwrap().contains("hello"));
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_gets_no_exports() {
    let exporting = Exporting::new(&["hello".to_owned()]).await;
    assert!(exporting.disk.record(10), "below the reserve");
    let export = exporting.begin(Format::Html).await;
    let mut ticks = 0;
    exporting
        .work_until(async || {
            exporting.group.hands.advance(Duration::from_secs(1));
            ticks += 1;
            assert!(!exporting.is(&export, JobStatus::Done).await);
            ticks > 500
        })
        .await;
    assert!(!exporting.is(&export, JobStatus::Failed).await, "it waits, and does not fail");
    assert!(!exporting.disk.record(1_000_000));
    exporting.complete(&export).await;
}

#[tokio::test]
async fn an_export_of_nothing_is_an_empty_document() {
    let exporting = Exporting::new(&[]).await;
    for (format, is_empty) in [(Format::Jsonl, true), (Format::Csv, false), (Format::Html, false)] {
        let export = exporting.begin(format).await;
        exporting.complete(&export).await;
        let access = exporting.access().await;
        let document = exporting.service.document(&access, &export.id).await.unwrap();
        assert_eq!(document.size == 0, is_empty, "{format:?}");
        let read: Vec<_> = exporting.service.read(document, None).try_collect().await.unwrap();
        assert_eq!(read.concat().is_empty(), is_empty, "{format:?}");
        // A message of later does not concern it.
        say(&exporting.group, &["later".to_owned()]).await;
        assert!(exporting.is(&export, JobStatus::Done).await);
    }
}

#[tokio::test]
async fn a_worker_that_stops_half_way_has_not_ended_its_process() {
    let exporting = Exporting::new(&long_texts()).await;
    let export = exporting.begin(Format::Jsonl).await;
    for _ in 0..6 {
        exporting.work_until(async || !exporting.is(&export, JobStatus::Pending).await).await;
    }
    let (exports, now) = (exporting.group.store.exports(), exporting.group.clock.now());
    if let Some(export) = exports.claim_export("other", "", now).await.unwrap() {
        assert_eq!(export.interruptions, 0, "it was released");
    }
    exporting.complete(&export).await;
}

#[tokio::test]
async fn an_export_with_a_part_that_always_takes_too_long_fails_in_the_end() {
    let mut exporting = Exporting::new(&["hello".to_owned()]).await;
    // Connections are taken, and no request is answered.
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    exporting.blobs = bucket_at(server.local_addr().unwrap());
    exporting.timeout = Duration::from_millis(50);
    let export = exporting.begin(Format::Csv).await;
    exporting
        .work_until(async || {
            exporting.group.hands.advance(Duration::from_secs(1));
            exporting.is(&export, JobStatus::Failed).await
        })
        .await;
    let access = exporting.access().await;
    let failed = exporting.service.export(&access, &export.id).await.unwrap();
    assert!(!failed.was_interrupted(), "{failed:?}");
}
