//! Files that are not there when they are checked, and may come back later.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use chatkeep_core::blob::BlobId;
use chatkeep_core::time::SystemClock;
use chatkeep_services::doctor::{Doctor, DoctorError, DoctorOptions, Repair};
use chatkeep_store::{Check, MediaOutcome, MediaReason, MediaRecord, MediaStatus};

use super::super::{Fixture, at, on_both, said, unsent};
use super::{DoctorFixture, picture};

on_both!(
    a_lost_file_is_not_deleted_and_is_found_again,
    a_lost_file_of_a_message_that_was_taken_back_may_go,
    a_lost_file_is_stored_anew,
    a_lost_file_that_is_another_now_is_given_up,
    no_file_is_lost_in_another_media_store,
);

/// Sets up a picture with a preview that counts for the first of two subscribers.
async fn ward(fixture: Fixture) -> (DoctorFixture, BlobId) {
    let ward = DoctorFixture::new(fixture);
    let fixture = &ward.fixture;
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[said("C1", "a", 10, "first"), picture("C1", "p", 12)], 20).await;
    let (kept, blob) = ward.store_file("C1", "p", "a picture", Some("small"), 25).await;
    assert_eq!(kept, MediaOutcome::Stored);
    fixture.subscribe("C1", "U2", 30).await;
    ward.index_all().await;
    ward.is_well().await;
    assert_eq!(swept(&ward).await, [], "a message holds both");
    (ward, blob)
}

/// Returns the blobs that the orphan sweep deletes.
async fn swept(ward: &DoctorFixture) -> Vec<BlobId> {
    let sweep = ward.fixture.store.media().begin_orphan_sweep(at(1_000_000), 100).await.unwrap();
    sweep.blobs().to_vec()
}

/// Takes a file away, and has the doctor note that it is lost. Returns its path, and where it is.
async fn lose(ward: &DoctorFixture, blob: &BlobId) -> (PathBuf, PathBuf) {
    let path = ward.file(blob);
    let away = path.with_extension("away");
    fs::rename(&path, &away).unwrap();
    ward.finds("no file", &[Check::MediaFile]).await;
    (path, away)
}

async fn record(ward: &DoctorFixture) -> MediaRecord {
    let (channel, message) = ("C1".into(), "p".into());
    ward.fixture.store.media().get(&channel, &message).await.unwrap().unwrap().record
}

async fn a_lost_file_is_not_deleted_and_is_found_again(fixture: Fixture) {
    let (ward, blob) = ward(fixture).await;
    let used = async || [ward.fixture.used("U1").await, ward.fixture.used("U2").await];
    let (before, whole) = (used().await, record(&ward).await);
    let (path, away) = lose(&ward, &blob).await;
    let lost = record(&ward).await;
    assert_eq!((lost.status, lost.reason), (MediaStatus::Failed, Some(MediaReason::FileLost)));
    assert_eq!((lost.blob, lost.preview, lost.content_type), (None, None, None));
    assert_eq!(used().await, [before[0] - 9, before[1]]);
    assert_eq!(ward.fixture.store.media().media_figures().await.unwrap().files, 0);
    assert_eq!(swept(&ward).await, [], "neither the file nor its preview");

    fs::rename(away, &path).unwrap();
    assert_eq!(swept(&ward).await, [], "nor when it is back");
    let report = ward.finds("it is back", &[Check::MediaFile]).await;
    let line = format!("C1 p: media file: recorded: lost, {blob}; true: 9 bytes");
    assert_eq!(report.findings[0].to_string(), line);
    assert_eq!(record(&ward).await, whole);
    assert_eq!(used().await, before);
    let told = "SELECT COUNT(*) FROM outbox_events WHERE type = 'file.uploaded'";
    assert_eq!(ward.fixture.value(told).await, "2", "once more");
    assert_eq!(swept(&ward).await, []);
    assert!(path.exists());
}

async fn a_lost_file_of_a_message_that_was_taken_back_may_go(fixture: Fixture) {
    let (ward, blob) = ward(fixture).await;
    let (path, away) = lose(&ward, &blob).await;
    fs::rename(away, path).unwrap();
    ward.fixture.keep(&[unsent("C1", "p", 41)], 45).await;
    let swept = swept(&ward).await;
    assert!(swept.contains(&blob) && swept.len() == 2, "{swept:?}");
    ward.index_all().await;
    ward.is_well().await;
}

async fn a_lost_file_is_stored_anew(fixture: Fixture) {
    let (ward, blob) = ward(fixture).await;
    let preview = record(&ward).await.preview;
    lose(&ward, &blob).await;
    let again = ward.store_file("C1", "p", "a picture", None, 60).await;
    assert_eq!(again, (MediaOutcome::Stored, blob.clone()));
    let record = record(&ward).await;
    assert_eq!(
        (record.status, record.blob, record.reason),
        (MediaStatus::Stored, Some(blob), None)
    );
    assert_eq!(record.preview, preview);
    let lost = "SELECT COUNT(*) FROM media WHERE lost_stored_at IS NOT NULL";
    assert_eq!(ward.fixture.value(lost).await, "0");
    ward.index_all().await;
    ward.is_well().await;
}

async fn a_lost_file_that_is_another_now_is_given_up(fixture: Fixture) {
    let (ward, blob) = ward(fixture).await;
    let (path, _) = lose(&ward, &blob).await;
    fs::write(path, "b picture").unwrap();
    ward.finds("another content", &[Check::MediaFile]).await;
    let record = record(&ward).await;
    assert_eq!(
        (record.status, record.reason),
        (MediaStatus::Failed, Some(MediaReason::FileDamaged))
    );
    let swept = swept(&ward).await;
    assert!(swept.contains(&blob) && swept.len() == 2, "{swept:?}");
}

async fn no_file_is_lost_in_another_media_store(fixture: Fixture) {
    let (ward, blob) = ward(fixture).await;
    let media = ward.fixture.store.media();
    media.record_identity("another").await.unwrap();
    let whole = record(&ward).await;
    let preview = whole.preview.as_ref().unwrap().blob.clone();
    for missing in [&preview, &blob] {
        fs::rename(ward.file(missing), ward.file(missing).with_extension("away")).unwrap();
        for repair in [false, true] {
            let repair = repair.then(|| Repair { clock: Arc::new(SystemClock) });
            let options = DoctorOptions { repair, ..DoctorOptions::default() };
            let (store, blobs) = (&ward.fixture.store, Some(&ward.blobs));
            let doctor = Doctor { store, blobs, indexes: &[], replicas: None, options };
            let refused = doctor.run(&mut |_| {}).await.unwrap_err();
            assert!(matches!(refused, DoctorError::MediaStore(_)), "{refused}");
            assert!(refused.to_string().contains("that of the files is another"), "{refused}");
        }
    }
    assert_eq!(record(&ward).await, whole);
    media.record_identity(&ward.blobs.identity("m1".to_owned()).await.unwrap()).await.unwrap();
    ward.finds("in its own it is", &[Check::MediaFile]).await;
}
