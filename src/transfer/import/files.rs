//! Media files of an import: once the messages are stored, each file of the export is stored for
//! its message.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::time::SharedClock;
use chatkeep_store::{BlobClaim, ImportId, MediaOutcome, MediaStatus, NewMedia, Store};
use futures_util::stream;

use super::super::TransferError;
use super::super::media::FOLDER;
use super::super::stored::{PREVIEW_TYPE, name_of, preview_name};
use super::limits::ExpansionBudget;
use super::source::OpenArchive;
use super::summary::Summary;

/// Buffer size in bytes.
const STEP: usize = 64 * 1024;
/// Maximum size of a preview in bytes; most have less than 100 KB.
const MAX_PREVIEW: u64 = 2 * 1024 * 1024;
/// First and last bytes of a JPEG picture.
const JPEG: (&[u8], &[u8]) = (b"\xff\xd8\xff", b"\xff\xd9");

/// Reference of an export to a media file.
pub(crate) struct MediaEntry {
    pub(crate) message: MessageId,
    pub(crate) content_type: String,
    /// SHA-256 of the file when it was exported, in hexadecimal; `None` if the export is of a
    /// version that did not write it.
    pub(crate) sha256: Option<String>,
}

/// Result of reading one file of an export.
enum FileOutcome {
    /// It is in the media store, with a claim.
    Put(NewMedia),
    TooLarge,
    /// It cannot be read, or is not what was exported.
    Damaged,
}

/// Location of the files.
pub(super) enum Beside {
    /// In a folder.
    Folder(PathBuf),
    /// In an archive, of which no more than the budget is read.
    Zip(Box<OpenArchive>, ExpansionBudget),
}

/// Importer of files.
pub(super) struct Files<'a> {
    pub(super) import: ImportId,
    pub(super) store: &'a Store,
    pub(super) blobs: &'a Blobs,
    pub(super) clock: &'a SharedClock,
    pub(super) channel: &'a ChannelId,
    /// Maximum size of a file in bytes.
    pub(super) max_file: u64,
}

impl Beside {
    /// Returns the folder beside a file of messages as a location.
    pub(super) fn folder(messages: &Path) -> Self {
        Self::Folder(Self::folder_of(messages))
    }

    /// Returns the path of the folder beside a file of messages.
    pub(super) fn folder_of(messages: &Path) -> PathBuf {
        messages.with_file_name(FOLDER)
    }

    /// Returns true if there are media files at all: an export may be of the messages only.
    fn has_files(&self) -> bool {
        match self {
            Self::Folder(folder) => folder.is_dir(),
            Self::Zip(archive, _) => {
                let in_folder = |name: &str| name.split('/').next() == Some(FOLDER);
                archive.file_names().flatten().any(|name| in_folder(&name))
            }
        }
    }

    /// Opens the file of a message; `None` when the export lacks it.
    fn open(
        &mut self,
        brought: &MediaEntry,
    ) -> Result<Option<Box<dyn Read + Send + '_>>, TransferError> {
        self.open_named(&name_of(&brought.message, &brought.content_type))
    }

    /// Returns the preview of a message's file. A file is worth having without one, so what is no
    /// whole picture, or cannot be read, is none.
    fn preview(&mut self, message: &MessageId) -> Option<Bytes> {
        let file = self.open_named(&preview_name(message)).ok()??;
        let mut picture = Vec::new();
        file.take(MAX_PREVIEW + 1).read_to_end(&mut picture).ok()?;
        let (first, last) = JPEG;
        let is_whole = picture.starts_with(first) && picture.ends_with(last);
        (is_whole && picture.len() as u64 <= MAX_PREVIEW).then(|| picture.into())
    }

    /// Opens the file of that name; `None` when the export lacks it.
    fn open_named(
        &mut self,
        name: &str,
    ) -> Result<Option<Box<dyn Read + Send + '_>>, TransferError> {
        match self {
            Self::Folder(folder) => match File::open(folder.join(name)) {
                Ok(file) => Ok(Some(Box::new(file))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(cause) => {
                    Err(TransferError::File { what: "cannot read", path: folder.join(name), cause })
                }
            },
            Self::Zip(archive, budget) => {
                // The name is ASCII. By its decoded form, every entry would be compared with it.
                let name = format!("{FOLDER}/{name}");
                let Some(index) = archive.index_for_name_raw(name.as_bytes()) else {
                    return Ok(None);
                };
                Ok(Some(Box::new(budget.bounded(archive.by_index(index)?))))
            }
        }
    }
}

impl Files<'_> {
    /// Stores the files that are there and not stored yet, until every subscriber's quota is full;
    /// counts those that are left then, and those that are missing or damaged.
    pub(super) async fn take(
        &self,
        brought: &[MediaEntry],
        mut beside: Beside,
        summary: &mut Summary,
    ) -> Result<(), TransferError> {
        if !beside.has_files() {
            return Ok(());
        }
        for one in brought {
            let known = self.store.media().get(self.channel, &one.message).await?;
            let wanted = |status| !matches!(status, MediaStatus::Stored | MediaStatus::Erased);
            // A message that had no room has no record.
            if !known.map_or(summary.full, |item| wanted(item.record.status)) {
                continue;
            }
            summary.full |= self.store.accounts().backup_state(self.channel).await?.is_paused();
            if summary.full {
                match beside.open(one) {
                    Ok(file) => summary.files_left += u64::from(file.is_some()),
                    Err(TransferError::Zip(_)) => summary.files_damaged += 1,
                    Err(error) => return Err(error),
                }
                continue;
            }
            match self.take_one(one, &mut beside).await? {
                Some(FileOutcome::Put(_)) => summary.files += 1,
                Some(FileOutcome::TooLarge) => summary.files_too_large += 1,
                Some(FileOutcome::Damaged) => summary.files_damaged += 1,
                None => summary.files_missing += 1,
            }
        }
        Ok(())
    }

    /// Stores the file of a message with its preview; `None` when the export lacks it.
    async fn take_one(
        &self,
        one: &MediaEntry,
        beside: &mut Beside,
    ) -> Result<Option<FileOutcome>, TransferError> {
        loop {
            let file = match beside.open(one) {
                Ok(Some(file)) => file,
                Ok(None) => return Ok(None),
                // One entry of the archive is broken; others are not, perhaps.
                Err(TransferError::Zip(_)) => return Ok(Some(FileOutcome::Damaged)),
                Err(error) => return Err(error),
            };
            let mut media = match self.put(one, file).await? {
                FileOutcome::Put(media) => media,
                refused => return Ok(Some(refused)),
            };
            media.preview = self.put_preview(one, beside.preview(&one.message)).await?;
            let message = (self.channel, &one.message);
            let (store, now) = (self.store.media(), self.clock.now());
            let done = store.store_imported_media(self.import, message, &media, now).await?;
            match done {
                MediaOutcome::BlobGone => {}
                MediaOutcome::Undone => return Err(TransferError::Undone(self.import)),
                MediaOutcome::Stored
                | MediaOutcome::Known
                | MediaOutcome::Skipped
                | MediaOutcome::Unwanted => return Ok(Some(FileOutcome::Put(media))),
            }
        }
    }

    /// Puts a preview into the media store, if there is one.
    async fn put_preview(
        &self,
        brought: &MediaEntry,
        picture: Option<Bytes>,
    ) -> Result<Option<(BlobClaim, String)>, TransferError> {
        let Some(picture) = picture else { return Ok(None) };
        let claim = async |blob: BlobId| {
            self.store.media().claim_blob(blob, self.clock.now()).await.map_err(Into::into)
        };
        let picture = stream::iter([Ok::<_, Infallible>(picture)]);
        let put: Result<_, BlobError> = self.blobs.put(picture, MAX_PREVIEW, claim).await;
        match put {
            Ok((_, claim)) => Ok(Some((claim, PREVIEW_TYPE.to_owned()))),
            Err(cause) => Err(TransferError::Media(brought.message.to_string(), Box::new(cause))),
        }
    }

    /// Puts a file into the media store, if it is the one that was exported.
    async fn put(
        &self,
        brought: &MediaEntry,
        file: Box<dyn Read + Send + '_>,
    ) -> Result<FileOutcome, TransferError> {
        let claim = async |blob: BlobId| {
            if brought.sha256.as_deref().is_some_and(|sha256| sha256 != blob.as_str()) {
                return Err(DamagedFile.into());
            }
            self.store.media().claim_blob(blob, self.clock.now()).await.map_err(Into::into)
        };
        let put = self.blobs.put(stream::iter(Chunks(file)), self.max_file, claim).await;
        let (stored, claim) = match put {
            Ok(stored) => stored,
            Err(BlobError::TooLarge { .. }) => return Ok(FileOutcome::TooLarge),
            Err(BlobError::Claim(cause)) if cause.is::<DamagedFile>() => {
                return Ok(FileOutcome::Damaged);
            }
            Err(BlobError::Source(cause)) if !ExpansionBudget::is_exhausted(&*cause) => {
                return Ok(FileOutcome::Damaged);
            }
            Err(cause) => {
                return Err(TransferError::Media(brought.message.to_string(), Box::new(cause)));
            }
        };
        Ok(FileOutcome::Put(NewMedia {
            claim,
            bytes: i64::try_from(stored.bytes).unwrap_or(i64::MAX),
            content_type: brought.content_type.clone(),
            preview: None,
        }))
    }
}

/// Error of a file that has another SHA-256 than when it was exported.
#[derive(Debug, thiserror::Error)]
#[error("the file is not the one that was exported")]
struct DamagedFile;

/// Stream of a file in chunks.
struct Chunks<'a>(Box<dyn Read + Send + 'a>);

impl Iterator for Chunks<'_> {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = vec![0; STEP];
        match self.0.read(&mut piece) {
            Ok(0) => None,
            Ok(length) => {
                piece.truncate(length);
                Some(Ok(piece.into()))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor, Write as _};

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipArchive, ZipWriter};

    use super::*;

    /// Number of files of an archive, none of which has a preview.
    const COUNT: usize = 30_000;

    #[test]
    fn names_that_an_archive_does_not_have_are_missed_at_once() {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for n in 0..COUNT {
            zip.start_file(format!("{FOLDER}/m{n}.jpg"), stored).unwrap();
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(zip.finish().unwrap().get_ref()).unwrap();
        let archive = ZipArchive::new(BufReader::new(file)).unwrap();
        let budget = ExpansionBudget::of_archive(0);
        let mut beside = Beside::Zip(Box::new(archive), budget);
        // Comparing each of them with every name would take minutes.
        for n in 0..COUNT {
            assert!(beside.preview(&format!("m{n}").into()).is_none());
        }
        assert!(beside.open_named("m7.jpg").unwrap().is_some());
    }
}
