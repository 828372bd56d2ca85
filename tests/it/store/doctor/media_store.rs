//! The media store of a database, by its identity.

use std::fs;

use chatkeep_services::media_store::{self, MediaStoreError};

use super::super::{Fixture, delete_before, on_both};
use super::{DoctorFixture, picture};

/// Id of a database that is not the one of the fixture.
const ANOTHER: &str = "UPDATE deployment SET store_id = 'another'";

on_both!(
    a_database_with_files_knows_its_media_store,
    a_database_without_files_takes_any,
    processes_that_start_at_once_propose_the_same,
    files_of_another_database_stay
);

async fn a_database_with_files_knows_its_media_store(fixture: Fixture) {
    let ward = DoctorFixture::new(fixture);
    let (store, blobs) = (&ward.fixture.store, &ward.blobs);
    ward.fixture.group("C1", &["U1"]).await;
    ward.fixture.subscribe("C1", "U1", 5).await;
    ward.fixture.keep(&[picture("C1", "p", 12)], 20).await;
    ward.store_file("C1", "p", "a picture", None, 25).await;
    assert_eq!(store.media().recorded_identity().await.unwrap(), None);
    // Of an earlier version: whatever is there is taken for it, but by the doctor.
    media_store::check(store, blobs).await.unwrap();
    let refused = media_store::check_known(store, blobs).await.unwrap_err();
    assert!(matches!(refused, MediaStoreError::Other(_)), "{refused}");
    let identity = media_store::identify(store, blobs).await.unwrap();
    media_store::check_known(store, blobs).await.unwrap();
    media_store::record(store, &identity).await.unwrap();
    assert_eq!(store.media().recorded_identity().await.unwrap(), Some(identity.clone()));
    media_store::check_known(store, blobs).await.unwrap();

    let file = ward.fixture.folder.path().join("blobs/media-store.id");
    fs::remove_file(&file).unwrap();
    let refused = media_store::identify(store, blobs).await.unwrap_err().to_string();
    let named = format!("it has no media-store.id, and that of the files is {identity}");
    assert!(refused.contains(&named), "{refused}");
    assert!(!file.exists(), "nothing is written into another one");
    fs::write(&file, "other\n").unwrap();
    let refused = media_store::check(store, blobs).await.unwrap_err().to_string();
    let named = format!("its media-store.id is other, and that of the files is {identity}");
    assert!(refused.contains(&named), "{refused}");
    media_store::adopt(store, blobs).await.unwrap();
    assert_eq!(store.media().recorded_identity().await.unwrap().as_deref(), Some("other"));
    media_store::check_known(store, blobs).await.unwrap();
}

async fn processes_that_start_at_once_propose_the_same(fixture: Fixture) {
    let media = fixture.store.media();
    assert_eq!(media.propose_identity("m1").await.unwrap(), "m1");
    assert_eq!(media.propose_identity("m2").await.unwrap(), "m1");
    media.record_identity("m1").await.unwrap();
    // For another media store, should this one be lost before it has files.
    assert_eq!(media.propose_identity("m3").await.unwrap(), "m3");
}

async fn a_database_without_files_takes_any(fixture: Fixture) {
    let ward = DoctorFixture::new(fixture);
    let (store, blobs) = (&ward.fixture.store, &ward.blobs);
    ward.fixture.group("C1", &["U1"]).await;
    ward.fixture.subscribe("C1", "U1", 5).await;
    media_store::check_known(store, blobs).await.unwrap();
    media_store::record(store, "former").await.unwrap();
    media_store::check_known(store, blobs).await.unwrap();
    ward.fixture.keep(&[picture("C1", "p", 12)], 20).await;
    media_store::check_known(store, blobs).await.unwrap();
    let (_, file) = ward.store_file("C1", "p", "a picture", None, 25).await;
    assert!(media_store::check(store, blobs).await.is_err());
    delete_before(store, &"C1".into(), super::at(30), super::at(40)).await;
    let refused = media_store::check(store, blobs).await.unwrap_err().to_string();
    assert!(refused.contains("it has files, and this one knows none"), "{refused}");
    fs::remove_file(ward.file(&file)).unwrap();
    media_store::check(store, blobs).await.unwrap();
}

async fn files_of_another_database_stay(fixture: Fixture) {
    let another = fixture.another().await;
    another.run(ANOTHER).await;
    let another = another.reopened().await;
    let ward = DoctorFixture::new(fixture);
    let (store, blobs) = (&ward.fixture.store, &ward.blobs);
    ward.fixture.group("C1", &["U1"]).await;
    ward.fixture.subscribe("C1", "U1", 5).await;
    ward.fixture.keep(&[picture("C1", "p", 12)], 20).await;
    let identity = media_store::identify(store, blobs).await.unwrap();
    media_store::record(store, &identity).await.unwrap();
    ward.store_file("C1", "p", "a picture", None, 25).await;
    let (new, own) = (&another.store, store.processes().store_id().await.unwrap());
    let refused = media_store::identify(new, blobs).await.unwrap_err().to_string();
    let named = format!("belongs to another database: its media-store.owner is {own}. Name that");
    assert!(refused.contains(&named), "{refused}");

    // Of an earlier version, which recorded no owner.
    fs::remove_file(ward.fixture.folder.path().join("blobs/media-store.owner")).unwrap();
    let refused = media_store::check(new, blobs).await.unwrap_err().to_string();
    assert!(refused.contains("it has files, and this one knows none"), "{refused}");
    // And has taken it for that of both.
    media_store::record(new, &identity).await.unwrap();
    assert_eq!(media_store::identify(new, blobs).await.unwrap(), identity);
    assert_eq!(blobs.owner().await.unwrap(), None, "it is not known whose it is");
    let second = DoctorFixture::new(another);
    let second = DoctorFixture { blobs: blobs.clone(), ..second };
    let report = second.doctor(true, false).await;
    assert_eq!((report.differences, report.repaired), (1, 0), "{report}");
    let left = "files that this database does not know are left";
    assert!(report.unchecked[0].starts_with(left), "{report}");
    assert_eq!(second.fixture.value("SELECT COUNT(*) FROM blob_orphans").await, "0");

    // Whose files they are claims them.
    media_store::identify(store, blobs).await.unwrap();
    assert_eq!(blobs.owner().await.unwrap(), Some(own));
    let new = &second.fixture.store;
    assert!(matches!(media_store::check(new, blobs).await, Err(MediaStoreError::Other(_))));
    media_store::adopt(new, blobs).await.unwrap();
    assert!(media_store::is_own(new, blobs).await.unwrap());
    let refused = media_store::check(store, blobs).await.unwrap_err().to_string();
    assert!(refused.contains("its media-store.owner is another"), "{refused}");
}
