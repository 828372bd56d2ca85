//! Export into a file, a folder or an archive, with media. It is written to a temporary path beside
//! its target and renamed when it is complete, so that half an export is never taken for one.

mod archive_file;
mod files;
mod out;
mod partial;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chatkeep_core::id::ChannelId;
use chatkeep_store::{MessageFilter, Store};
use futures_util::TryStreamExt as _;

use self::files::FileWriter;
use self::out::Out;
use self::partial::Partial;
use super::{Export, Format, MediaLinks, MediaSource, TransferError, pages};

/// Extensions of files that no export is.
const OTHER_FILES: [&str; 12] =
    ["htm", "json", "ndjson", "txt", "tsv", "xls", "xlsx", "pdf", "tar", "gz", "tgz", "7z"];

/// Target of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportTarget {
    /// To standard output; messages only.
    Stdout,
    /// Into one file; messages only.
    File(PathBuf),
    /// Into a folder, with media.
    Folder(PathBuf),
    /// Into an archive, with media.
    Zip(PathBuf),
}

/// Progress of an export, at its end the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackProgress {
    /// Number of messages written.
    pub messages: u64,
    /// Number of media files written.
    pub files: u64,
    /// Number of media files left out because the media store does not have them.
    pub missing: u64,
    /// Number of bytes written.
    pub bytes: u64,
}

impl ExportTarget {
    /// Returns true if media files are written to it, too.
    pub const fn takes_media(&self) -> bool {
        matches!(self, Self::Folder(_) | Self::Zip(_))
    }

    /// Parses `--out`: an archive for `….zip`, a file for `….<format>`, else a folder.
    ///
    /// # Errors
    /// Returns a sentence if it is named like a file of another kind.
    pub fn of(out: Option<&Path>, format: Format) -> Result<Self, String> {
        let Some(path) = out else { return Ok(Self::Stdout) };
        let is = |wanted: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(wanted));
        let own = format.extension();
        if is("zip") {
            return Ok(Self::Zip(path.to_owned()));
        }
        if is(own) {
            return Ok(Self::File(path.to_owned()));
        }
        let other = Format::ALL.map(Format::extension).into_iter().chain(OTHER_FILES);
        if let Some(other) = other.into_iter().find(|other| is(other)) {
            return Err(format!(
                "--out: {} is named like a {other} file, but the format is {own}: name a .{own} \
                 file, a .zip or a folder, or choose another --format",
                path.display()
            ));
        }
        Ok(Self::Folder(path.to_owned()))
    }

    const fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Stdout => None,
            Self::File(path) | Self::Folder(path) | Self::Zip(path) => Some(path),
        }
    }
}

/// Writes a channel's messages, and their files from `media` where the target takes them. Files that
/// it does not have are left out and counted, and a list in the target names their messages.
pub async fn pack(
    store: &Store,
    channel: &ChannelId,
    mut export: Export,
    media: Option<Arc<dyn MediaSource>>,
    target: &ExportTarget,
    mut watch: impl FnMut(PackProgress),
) -> Result<PackProgress, TransferError> {
    let media = media.filter(|_| target.takes_media());
    if let Some(media) = &media {
        export.media = MediaLinks::Beside(Arc::clone(media));
    }
    let is_folder = matches!(target, ExportTarget::Folder(_));
    let partial = target.path().map(|path| Partial::new(path, is_folder)).transpose()?;
    let mut out = Out::open(target, partial.as_ref().map(|partial| partial.path.as_path()))?;
    let mut done = PackProgress::default();
    out.start(&format!("messages.{}", export.format.extension()), false).await?;
    let filter = MessageFilter { from: export.from, to: export.to, ..MessageFilter::default() };
    let mut parts = std::pin::pin!(pages(store.clone(), channel.clone(), export));
    while let Some(part) = parts.try_next().await? {
        done.messages += part.messages as u64;
        done.bytes += part.bytes.len() as u64;
        out.write(part.bytes).await?;
        watch(done);
    }
    if let Some(media) = &media {
        let (media, out, done, watch) = (&**media, &mut out, &mut done, &mut watch);
        let files = FileWriter { store, channel, media, out, done, watch, missing: Vec::new() };
        files.run(&filter).await?;
    }
    out.finish().await?;
    if let Some(partial) = partial {
        partial.keep().await?;
    }
    Ok(done)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TransferError {
    let path = path.to_owned();
    move |cause| TransferError::File { what, path, cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_it_becomes() {
        let of = |out: &str| ExportTarget::of(Some(Path::new(out)), Format::Html);
        assert_eq!(of("a/b.ZIP"), Ok(ExportTarget::Zip("a/b.ZIP".into())));
        assert_eq!(of("chat.html"), Ok(ExportTarget::File("chat.html".into())));
        assert_eq!(of("backup"), Ok(ExportTarget::Folder("backup".into())));
        assert_eq!(of("backup.2026-01"), Ok(ExportTarget::Folder("backup.2026-01".into())));
        for other in ["chat.jsonl", "chat.CSV", "chat.txt", "a/chat.htm"] {
            assert!(of(other).unwrap_err().contains("the format is html"), "{other}");
        }
        assert_eq!(ExportTarget::of(None, Format::Csv), Ok(ExportTarget::Stdout));
    }
}
