//! Files that messages refer to, as a snapshot reads them: page by page, each once.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chatkeep_core::blob::BlobId;
use sha2::{Digest as _, Sha256};

use super::{Fixture, on_both};

on_both!(every_file_is_on_one_page, the_largest_record_of_a_file_says_its_size);

/// Returns the name of one of a hundred files.
fn name(n: usize) -> String {
    hex::encode(Sha256::digest([u8::try_from(n % 100).unwrap()]))
}

/// Stores records of which many share files, and of which the previews are files of others.
async fn records(fixture: &Fixture) -> BTreeSet<String> {
    let (mut sql, mut all) = (String::new(), BTreeSet::new());
    for n in 0..300 {
        // Half of them have the same file.
        let (file, preview) = (name(if n % 2 == 0 { 7 } else { n }), name(n * 3));
        let (preview_name, preview) = match n % 3 {
            0 => ("NULL".to_owned(), None),
            _ => (format!("'{preview}'"), Some(preview)),
        };
        writeln!(
            sql,
            "INSERT INTO media (channel_id, message_id, status, bytes, created_at, sha256,
                                preview_sha256)
             VALUES ('C1', 'm{n}', 'stored', {n}, 1, '{file}', {preview_name});"
        )
        .unwrap();
        all.insert(file);
        all.extend(preview);
    }
    fixture.run(&sql).await;
    all
}

async fn every_file_is_on_one_page(fixture: Fixture) {
    let all = records(&fixture).await;
    for page in [1, 2, 7, 1_000] {
        let (mut found, mut after): (Vec<String>, Option<BlobId>) = (Vec::new(), None);
        loop {
            let media = fixture.store.media();
            let next = media.referenced_blobs(after.as_ref(), page).await.unwrap();
            let Some(last) = next.last() else { break };
            after = Some(last.clone());
            found.extend(next.iter().map(|blob| blob.as_str().to_owned()));
        }
        assert!(found.iter().eq(&all), "pages of {page}");
    }
}

async fn the_largest_record_of_a_file_says_its_size(fixture: Fixture) {
    records(&fixture).await;
    let bytes = async |n| {
        let blob = BlobId::parse(&name(n)).unwrap();
        fixture.store.media().recorded_bytes(&blob).await.unwrap()
    };
    assert_eq!(bytes(7).await, Some(298));
    assert_eq!(bytes(2).await, None, "nobody's file, or a preview alone");
}
