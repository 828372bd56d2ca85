//! Outputs of an export, behind one interface.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::TransferError;
use super::archive_file::ArchiveFile;
use super::{ExportTarget, failed};
use crate::out::{Stdout, stdout};

/// Capacity of the queue of parts to the archive.
const QUEUE: usize = 4;

/// Output being written.
pub(super) enum Out {
    Stdout(Stdout),
    File(tokio::fs::File),
    Folder { path: PathBuf, file: Option<tokio::fs::File> },
    Zip(ArchiveWriter),
}

impl Out {
    /// Opens a target, which is written at `partial` until it is complete.
    pub(super) fn open(
        target: &ExportTarget,
        partial: Option<&Path>,
    ) -> Result<Self, TransferError> {
        let Some(path) = partial else {
            return Ok(Self::Stdout(stdout()));
        };
        let create = || File::create(path).map_err(failed("cannot write", path));
        Ok(match target {
            ExportTarget::Stdout => Self::Stdout(stdout()),
            ExportTarget::File(_) => Self::File(tokio::fs::File::from_std(create()?)),
            ExportTarget::Zip(_) => Self::Zip(ArchiveWriter::new(create()?)),
            ExportTarget::Folder(_) => Self::Folder { path: path.to_owned(), file: None },
        })
    }

    /// Begins the next file, where there are several.
    pub(super) async fn start(&mut self, name: &str, packed: bool) -> Result<(), TransferError> {
        match self {
            Self::Stdout(_) | Self::File(_) => Ok(()),
            Self::Zip(archive) => {
                archive.send(ArchivePart::Start { name: name.to_owned(), packed }).await
            }
            Self::Folder { path, file } => {
                if let Some(file) = file {
                    file.flush().await?;
                }
                let path = path.join(name);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder).map_err(failed("cannot create", folder))?;
                }
                let created = tokio::fs::File::create(&path).await;
                *file = Some(created.map_err(failed("cannot write", &path))?);
                Ok(())
            }
        }
    }

    /// Appends to the current file.
    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<(), TransferError> {
        match self {
            Self::Stdout(out) => tokio::task::block_in_place(|| out.write_all(&bytes))?,
            Self::File(file) => file.write_all(&bytes).await?,
            Self::Zip(archive) => archive.send(ArchivePart::Bytes(bytes)).await?,
            Self::Folder { file, .. } => {
                if let Some(file) = file {
                    file.write_all(&bytes).await?;
                }
            }
        }
        Ok(())
    }

    /// Completes the output.
    pub(super) async fn finish(self) -> Result<(), TransferError> {
        match self {
            Self::Stdout(mut out) => tokio::task::block_in_place(|| out.flush())?,
            Self::Zip(archive) => archive.finish().await?,
            Self::File(mut file) => {
                file.flush().await?;
                file.sync_all().await?;
            }
            // Synced as a whole.
            Self::Folder { file: Some(mut file), .. } => file.flush().await?,
            Self::Folder { file: None, .. } => {}
        }
        Ok(())
    }
}

/// Part of an archive.
enum ArchivePart {
    /// Next file. Media is compressed already and only stored.
    Start {
        name: String,
        packed: bool,
    },
    Bytes(Bytes),
    End,
}

/// Archive, written by a thread of its own: compression takes time.
pub(super) struct ArchiveWriter {
    parts: mpsc::Sender<ArchivePart>,
    thread: JoinHandle<Result<(), TransferError>>,
}

impl ArchiveWriter {
    fn new(file: File) -> Self {
        let (parts, queue) = mpsc::channel(QUEUE);
        Self { parts, thread: tokio::task::spawn_blocking(move || write_archive(file, queue)) }
    }

    async fn send(&mut self, part: ArchivePart) -> Result<(), TransferError> {
        if self.parts.send(part).await.is_ok() {
            return Ok(());
        }
        // The queue is closed because the thread failed; its error is the one to report.
        let ended = (&mut self.thread).await.map_err(|_| TransferError::Died)?;
        ended.and(Err(TransferError::Died))
    }

    async fn finish(mut self) -> Result<(), TransferError> {
        self.send(ArchivePart::End).await?;
        drop(self.parts);
        self.thread.await.map_err(|_| TransferError::Died)?
    }
}

fn write_archive(file: File, mut queue: mpsc::Receiver<ArchivePart>) -> Result<(), TransferError> {
    let mut archive = ZipWriter::new(ArchiveFile::new(file));
    while let Some(part) = queue.blocking_recv() {
        match part {
            ArchivePart::Start { name, packed } => {
                let method =
                    if packed { CompressionMethod::Stored } else { CompressionMethod::Deflated };
                // The size is not known, and ZIP64 has no limit that matters.
                let options =
                    SimpleFileOptions::default().compression_method(method).large_file(true);
                archive.start_file(name, options)?;
            }
            ArchivePart::Bytes(bytes) => archive.write_all(&bytes)?,
            ArchivePart::End => {
                archive.finish()?.sync()?;
                return Ok(());
            }
        }
    }
    // The caller is gone.
    Err(TransferError::Died)
}
