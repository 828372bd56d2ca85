//! Places of snapshots and of media files: files of messages must not lie where a place of snapshots
//! is cleaned of what no snapshot lists.

use std::path::{Path, PathBuf, absolute};

use chatkeep_core::config::BlobsKind;

use super::SnapshotError;
use super::layout::{BLOBS, DAMAGED, SNAPSHOTS};

/// Checks that the media store is in none of the folders of the place `target` of snapshots. The
/// other way round does no harm: a media store deletes nothing but its own files.
///
/// # Errors
/// [`SnapshotError::Overlaps`].
pub(super) fn check(target: &BlobsKind, media: &BlobsKind) -> Result<(), SnapshotError> {
    let overlaps = [SNAPSHOTS, BLOBS, DAMAGED].iter().any(|folder| match (target, media) {
        (BlobsKind::Folder(target), BlobsKind::Folder(media)) => {
            real(media).starts_with(real(&target.join(folder)))
        }
        (
            BlobsKind::S3 { bucket, prefix },
            BlobsKind::S3 { bucket: media_bucket, prefix: media_prefix },
        ) => {
            bucket == media_bucket
                && Path::new(media_prefix).starts_with(Path::new(prefix).join(folder))
        }
        _ => false,
    });
    if overlaps {
        let (target, media) = (target.to_string(), media.to_string());
        return Err(SnapshotError::Overlaps { target, media });
    }
    Ok(())
}

/// Returns the path without links, as far as it exists.
pub(super) fn real(folder: &Path) -> PathBuf {
    let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
    for known in folder.ancestors() {
        if let (Ok(real), Ok(rest)) = (known.canonicalize(), folder.strip_prefix(known)) {
            return real.join(rest);
        }
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_files_are_in_no_folder_of_snapshots() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| BlobsKind::Folder(root.path().join(path));
        let overlaps = |target: &str, media: &str| check(&at(target), &at(media)).is_err();
        for (target, media) in
            [("data", "data/blobs"), ("data", "data/blobs/more"), ("data", "data/snapshots/files")]
        {
            assert!(overlaps(target, media), "{target} {media}");
        }
        for (target, media) in [
            ("data/copies", "data/blobs"),
            ("data/blobs", "data/blobs"),
            ("data", "data"),
            ("data", "."),
            ("copies", "data/blobs"),
            ("data", "data/media"),
            ("data", "data/blobs2"),
        ] {
            assert!(!overlaps(target, media), "{target} {media}");
        }
        std::fs::create_dir(root.path().join("data")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.path().join("data"), root.path().join("link")).unwrap();
            assert!(overlaps("link", "data/blobs"), "by another name");
            std::fs::create_dir_all(root.path().join("media")).unwrap();
            std::fs::create_dir(root.path().join("copies")).unwrap();
            let inside = root.path().join("copies/blobs");
            std::os::unix::fs::symlink(root.path().join("media"), inside).unwrap();
            assert!(overlaps("copies", "media"), "by a link inside");
        }
    }

    #[test]
    fn prefixes_of_a_bucket_are_folders() {
        let at = |bucket: &str, prefix: &str| BlobsKind::S3 {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        };
        assert!(check(&at("b", "p"), &at("b", "p/blobs")).is_err());
        assert!(check(&at("b", ""), &at("b", "blobs")).is_err());
        assert!(check(&at("b", "copies"), &at("b", "")).is_ok());
        assert!(check(&at("b", "p"), &at("c", "p/blobs")).is_ok());
        assert!(check(&at("b", "copies"), &at("b", "media")).is_ok());
        assert!(check(&at("b", "p"), &BlobsKind::Folder("p/blobs".into())).is_ok());
    }
}
