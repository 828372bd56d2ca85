//! Tests of archives and folders with files: what is in them by whatever name, whole and damaged.

use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use chatkeep_core::id::MessageId;
use chatkeep_store::{MediaItem, MediaStatus};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::home_tests::{MAX_FILE, TransferHome, exporting, run};
use crate::media::file_name;
use crate::pack::{ExportTarget, PackProgress, pack};
use crate::sample_tests::GROUP;
use crate::{Format, StoredMedia, TransferError};

const PICTURE: &[u8] = b"\xff\xd8\xff\xe0 a picture of the station";
const PREVIEW: &[u8] = b"\xff\xd8\xff\xe0 the station\xff\xd9";
/// Ids that are no names of files.
const IDS: [&str; 5] = ["m1", "../../up", "a/b\\c", "早", "A B.jpg"];

/// Returns the line of a picture whose file an export has.
fn picture(id: &str, content: &[u8]) -> String {
    let line = json!({
        "id": id, "channelId": GROUP, "timestamp": "2024-01-01T00:00:00Z", "type": "image",
        "bytes": 9, "mediaStatus": "stored", "contentType": "image/jpeg",
        "sha256": hex::encode(Sha256::digest(content)),
    });
    format!("{line}\n")
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

async fn media(home: &TransferHome, id: &str) -> MediaItem {
    home.store.media().get(&home.channel, &id.into()).await.unwrap().unwrap()
}

/// Returns every file of an archive or a folder with its content, by name.
fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    if path.is_dir() {
        for folder in [path.to_owned(), path.join("media")] {
            let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            found.extend(entries.filter(|entry| entry.is_file()).map(|entry| {
                let name = entry.strip_prefix(path).unwrap().to_str().unwrap().to_owned();
                (name, fs::read(&entry).unwrap())
            }));
        }
    } else {
        let mut archive = ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
        let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
        for name in names {
            let mut content = Vec::new();
            archive.by_name(&name).unwrap().read_to_end(&mut content).unwrap();
            found.push((name, content));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn files_of_any_id_go_from_store_to_store_and_stay_in_their_folder() {
    let home = TransferHome::new().await;
    let (mut lines, mut entries) = (String::new(), Vec::new());
    for id in IDS {
        let content = [PICTURE, id.as_bytes()].concat();
        lines += &picture(id, &content);
        entries.push((format!("media/{}", file_name(&id.into(), "jpg")), content));
    }
    entries.push(("media/m1.preview.jpg".to_owned(), PREVIEW.to_vec()));
    entries.push(("messages.jsonl".to_owned(), lines.into_bytes()));
    let borrowed: Vec<_> = entries.iter().map(|(name, file)| (name.as_str(), &file[..])).collect();
    let done = home.imported(&home.write("first.zip", archive(&borrowed))).await;
    assert_eq!((done.stored, done.files, done.files_missing, done.files_damaged), (5, 5, 0, 0));

    let exported = home.exported(Format::Jsonl).await;
    for out in ["backup", "backup.zip"] {
        let path = home.path(out);
        let target = ExportTarget::of(Some(&path), Format::Jsonl).unwrap();
        let stored = Arc::new(StoredMedia(home.blobs.clone()));
        let packing = pack(
            &home.store,
            &home.channel,
            exporting(Format::Jsonl),
            Some(stored),
            &target,
            |_: PackProgress| {},
        );
        let packed = Box::pin(packing).await.unwrap();
        assert_eq!((packed.messages, packed.files, packed.missing), (5, 5, 0));
        let files = files(&path);
        let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
        let mut expected: Vec<_> = entries.iter().map(|(name, _)| name.as_str()).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
        for (name, content) in files.iter().filter(|(name, _)| name.starts_with("media/")) {
            let (_, first) = entries.iter().find(|(known, _)| known == name).unwrap();
            assert_eq!(content, first, "{name}");
        }
        let other = TransferHome::new().await;
        assert_eq!(other.imported(&path).await.files, 5);
        assert_eq!(other.exported(Format::Jsonl).await, exported);
        assert!(media(&other, "m1").await.record.preview.is_some());
    }
}

#[tokio::test]
async fn only_the_files_of_messages_by_their_own_names_are_read() {
    let home = TransferHome::new().await;
    let (one, two) = (picture("m1", PICTURE), picture("m2", PICTURE));
    let zip = archive(&[
        ("readme.txt", b"hello"),
        ("/media/m2.jpg", PICTURE),
        ("media\\m2.jpg", PICTURE),
        ("MEDIA/m2.jpg", PICTURE),
        ("media/m2", PICTURE),
        ("media/m2.JPG", PICTURE),
        ("media/deep/er/m2.jpg", PICTURE),
        ("../media/m2.jpg", PICTURE),
        ("../chatkeep-evil.txt", b"evil"),
        ("other/messages.jsonl", two.as_bytes()),
        ("media/m3.jpg", b"of no message"),
        ("media/m1.jpg", PICTURE),
        ("messages.jsonl", (one + &two).as_bytes()),
    ]);
    let path = home.write("odd.zip", zip);
    let done = home.imported(&path).await;
    assert_eq!((done.stored, done.files, done.files_missing), (2, 1, 1));
    assert_eq!(media(&home, "m1").await.record.status, MediaStatus::Stored);
    assert_eq!(media(&home, "m2").await.record.status, MediaStatus::Expired);
    let unpacked = ["readme.txt", "media", "MEDIA", "other", "../chatkeep-evil.txt"];
    assert!(unpacked.iter().all(|name| !home.path(name).exists()), "nothing is unpacked");
}

#[tokio::test]
async fn files_that_are_not_what_was_exported_are_counted_and_brought_by_a_whole_export() {
    let home = TransferHome::new().await;
    let large = vec![7_u8; usize::try_from(MAX_FILE).unwrap() + 1];
    let largest = &large[1..];
    let lines = [
        picture("other", PICTURE),
        picture("cut", PICTURE),
        picture("large", &large),
        picture("largest", largest),
        picture("none", PICTURE),
        // An earlier version told no digest.
        picture("old", b"").replace("\"sha256\"", "\"sha\""),
    ];
    let lines = lines.concat();
    let whole = [
        ("messages.jsonl", lines.as_bytes()),
        ("media/other.jpg", PICTURE),
        ("media/cut.jpg", PICTURE),
        ("media/large.jpg", &large[..]),
        ("media/largest.jpg", largest),
        ("media/none.jpg", PICTURE),
        ("media/old.jpg", PICTURE),
    ];
    let mut damaged = whole.to_vec();
    damaged[1].1 = b"another picture";
    damaged[2].1 = &PICTURE[..9];
    damaged.retain(|(name, _)| *name != "media/none.jpg");
    let done = home.imported(&home.write("damaged.zip", archive(&damaged))).await;
    let counts = [done.files, done.files_damaged, done.files_missing, done.files_too_large];
    assert_eq!(counts, [2, 2, 1, 1]);
    let done = home.imported(&home.write("whole.zip", archive(&whole))).await;
    let counts = [done.files, done.files_damaged, done.files_missing, done.files_too_large];
    assert_eq!((counts, done.stored, done.known), ([3, 0, 0, 1], 0, 6));
    assert!(done.import.is_some(), "its files can be taken back");
}

#[tokio::test]
async fn what_is_no_archive_of_an_export_is_refused() {
    let home = TransferHome::new().await;
    let line = picture("m1", PICTURE);
    let whole = archive(&[("messages.jsonl", line.as_bytes())]);
    let wrong_names = archive(&[
        ("backup/messages.jsonl", line.as_bytes()),
        ("Messages.jsonl", line.as_bytes()),
        ("./messages.jsonl", line.as_bytes()),
    ]);
    let path = home.write("names.zip", wrong_names);
    let refused = run(&home.import(), &path).await;
    assert!(matches!(refused, Err(TransferError::NoMessages(_))), "{refused:?}");
    for cut in [whole.len() / 2, whole.len() - 1] {
        let path = home.write("cut.zip", &whole[..cut]);
        let refused = run(&home.import(), &path).await;
        assert!(matches!(refused, Err(TransferError::Zip(_))), "{cut}: {refused:?}");
    }
    let refused = run(&home.import(), &home.path("nowhere.zip")).await;
    assert!(matches!(refused, Err(TransferError::File { .. })), "{refused:?}");
    assert!(home.store.imports().list(None).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_archive_that_says_it_expands_beyond_reason_is_refused_unread() {
    let home = TransferHome::new().await;
    let line = picture("m1", PICTURE);
    let mut zip = archive(&[("messages.jsonl", line.as_bytes()), ("media/m1.jpg", PICTURE)]);
    // The size of the last entry in the directory: 24 bytes behind the mark of its header.
    let mark = b"PK\x01\x02";
    let header = zip.windows(4).rposition(|window| window == mark).unwrap();
    zip[header + 24..header + 28].copy_from_slice(&(1_u32 << 31).to_le_bytes());
    let refused = run(&home.import(), &home.write("bomb.zip", zip)).await.unwrap_err();
    let is_told = |why: &str| why.contains("67108864 bytes");
    assert!(matches!(&refused, TransferError::TooLarge { why, .. } if is_told(why)), "{refused:?}");
    assert_eq!(home.exported(Format::Jsonl).await, "");
    assert!(home.store.imports().list(None).await.unwrap().is_empty());
}

#[tokio::test]
async fn of_two_entries_of_one_name_one_is_read() {
    let home = TransferHome::new().await;
    let [one, two] = ["m1", "m2"].map(|id| picture(id, PICTURE));
    let other = b"messages.jsonX";
    let names = [("messages.jsonl", one.as_bytes()), ("messages.jsonX", two.as_bytes())];
    let mut zip = archive(&names);
    for at in 0..zip.len() {
        if zip[at..].starts_with(other) {
            zip[at + other.len() - 1] = b'l';
        }
    }
    let done = home.imported(&home.write("twice.zip", zip)).await;
    assert_eq!((done.stored, done.not_understood), (1, 0));
}

#[tokio::test]
async fn a_folder_has_its_files_beside_its_messages() {
    let home = TransferHome::new().await;
    let folder = home.path("backup");
    fs::create_dir_all(folder.join("media/m2.jpg")).unwrap();
    let lines = picture("m1", PICTURE) + &picture("m2", PICTURE);
    fs::write(folder.join("messages.jsonl"), lines).unwrap();
    fs::write(folder.join("media/m1.jpg"), PICTURE).unwrap();
    fs::write(folder.join("media/m1.preview.jpg"), b"no picture").unwrap();
    let done = home.imported(&folder).await;
    // A folder in place of a file is no file.
    assert_eq!((done.files, done.files_damaged), (1, 1));
    assert!(media(&home, "m1").await.record.preview.is_none());
    // The messages alone bring the same, by the folder beside them.
    let other = TransferHome::new().await;
    assert_eq!(other.imported(&folder.join("messages.jsonl")).await.files, 1);
    let nothing = run(&home.import(), &home.path("blobs")).await;
    assert!(matches!(nothing, Err(TransferError::File { .. })), "{nothing:?}");
}

#[test]
fn a_name_of_a_file_is_never_that_of_a_preview() {
    for id in IDS.iter().chain(&["m1.preview", "m1_2epreview", "preview", ".jpg"]) {
        let preview = crate::stored::preview_name(&MessageId::from(*id));
        for other in IDS.iter().chain(&["m1.preview", "m1_2epreview", "preview", ".jpg"]) {
            for kind in ["image/jpeg", "", "video/mp4; codecs=avc1", "preview/jpg"] {
                let name = crate::stored::name_of(&MessageId::from(*other), kind);
                assert_ne!(name, preview, "{other} {kind}");
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                assert!(name.chars().all(is_plain) && !name.contains(".."), "{name}");
            }
        }
    }
}
