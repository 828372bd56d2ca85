//! Import of messages from a file. It is idempotent: importing a file twice, or two files that
//! overlap, adds nothing more.

#[cfg(test)]
mod archive_tests;
mod encoding;
mod files;
mod limits;
mod line_text;
mod nul;
#[cfg(test)]
mod own_tests;
mod people;
mod plan;
mod sink;
mod source;
mod summary;
mod text;
mod zone;

use std::cell::Cell;
use std::io::{BufRead, Read};
use std::path::Path;
use std::rc::Rc;

use chatkeep_blobs::Blobs;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{ImportId, NewImport, Store};
use encoding_rs::{Encoding, UTF_8};

use self::encoding::{decoded, detect_json};
pub(crate) use self::files::MediaEntry;
use self::files::{Beside, Files};
use self::limits::ExpansionBudget;
pub use self::plan::ImportPlan;
use self::sink::Sink;
use self::source::{Metered, Source, open};
pub use self::summary::{ImportProgress, Summary};
use self::text::{Lines, TextLine};
pub use self::zone::Zone;
use super::TransferError;
use super::jsonl::Line;
use super::line::DateOrder;

/// Lines between two progress reports.
const STEP: u64 = 500;

/// Format of a file to import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Detected from the content.
    #[default]
    Auto,
    /// Export of chatkeep.
    Jsonl,
    /// Text exported by the LINE app.
    Line,
}

impl Form {
    /// Returns the format of that name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "jsonl" => Some(Self::Jsonl),
            "line" => Some(Self::Line),
            _ => None,
        }
    }
}

/// An import.
pub struct Import<'a> {
    /// Store that the messages are written to.
    pub store: &'a Store,
    /// True for a dry run, which changes nothing.
    pub trial: bool,
    /// Store for media files.
    pub blobs: Option<&'a Blobs>,
    /// Clock of the times of storing.
    pub clock: &'a SharedClock,
    /// Channel that the messages are imported into.
    pub channel: &'a ChannelId,
    /// Format of the file.
    pub form: Form,
    /// Zone of times without one.
    pub zone: Option<Zone>,
    /// Order of day and month in dates, where the file does not show it.
    pub date_order: Option<DateOrder>,
    /// Encoding of a LINE text; detected by default.
    pub encoding: Option<&'static Encoding>,
    /// Names of people in a LINE text from a computer.
    pub names: &'a [String],
    /// Maximum size of a media file in bytes; larger ones are left out.
    pub max_file: u64,
}

impl Import<'_> {
    /// Imports a file, folder or archive, and reports progress. The messages that it adds can be
    /// removed by the import number in the summary.
    pub async fn run(
        &self,
        plan: ImportPlan,
        watch: &mut impl FnMut(ImportProgress),
    ) -> Result<Summary, TransferError> {
        let import = self.begin(&plan).await?;
        let done = match plan {
            ImportPlan::Line(plan) => Box::pin(self.line(import, &plan, watch)).await,
            ImportPlan::Jsonl(path) => self.file(import, &path, watch).await,
            ImportPlan::Zip(path) => self.archive(import, &path, watch).await,
        };
        // Also where it failed half-way: messages added by then stay.
        let added = match import {
            Some(import) => self.store.imports().end_import(import, self.clock.now()).await?,
            None => false,
        };
        let import = import.filter(|_| added);
        match (done, import) {
            (Ok(summary), import) => Ok(Summary { import, ..summary }),
            (Err(error @ TransferError::Undone(_)), _) | (Err(error), None) => Err(error),
            (Err(cause), Some(import)) => {
                Err(TransferError::Incomplete { import, cause: Box::new(cause) })
            }
        }
    }

    async fn begin(&self, plan: &ImportPlan) -> Result<Option<ImportId>, TransferError> {
        if self.trial {
            return Ok(None);
        }
        let name = plan.path().file_name().unwrap_or_default().to_string_lossy();
        let zone = plan.zone().map(|zone| zone.to_string());
        let new = NewImport {
            channel: self.channel,
            form: plan.form(),
            file_name: &name,
            time_zone: zone.as_deref(),
        };
        Ok(Some(self.store.imports().begin_import(&new, self.clock.now()).await?))
    }

    async fn file(
        &self,
        import: Option<ImportId>,
        path: &Path,
        watch: &mut impl FnMut(ImportProgress),
    ) -> Result<Summary, TransferError> {
        let input = open(path)?;
        let size = input.metadata()?.len();
        let (mut summary, files) = Box::pin(self.jsonl(import, input, size, watch)).await?;
        self.files(import, &files, Beside::folder(path), &mut summary).await?;
        Ok(summary)
    }

    async fn archive(
        &self,
        import: Option<ImportId>,
        path: &Path,
        watch: &mut impl FnMut(ImportProgress),
    ) -> Result<Summary, TransferError> {
        let budget = ExpansionBudget::of_archive(open(path)?.metadata()?.len());
        let mut archive = Source::archive(path)?;
        budget.check(path, archive.len(), archive.decompressed_size())?;
        let (entry, size) = Source::entry(&mut archive)?;
        let entry = budget.bounded(entry);
        let (mut summary, files) = Box::pin(self.jsonl(import, entry, size, watch)).await?;
        let beside = Beside::Zip(Box::new(archive), budget);
        self.files(import, &files, beside, &mut summary).await?;
        Ok(summary)
    }

    /// Opens the media files of an export that has some. A single file of messages has none beside
    /// it.
    async fn files(
        &self,
        import: Option<ImportId>,
        brought: &[MediaEntry],
        beside: Beside,
        summary: &mut Summary,
    ) -> Result<(), TransferError> {
        let (Some(blobs), Some(import)) = (self.blobs, import) else {
            return Ok(());
        };
        let Self { store, clock, channel, max_file, .. } = self;
        Files { import, store, blobs, clock, channel, max_file: *max_file }
            .take(brought, beside, summary)
            .await
    }

    fn sink(&self, import: Option<ImportId>) -> Sink<'_> {
        Sink::new(self.store, import, self.clock, self.channel)
    }

    async fn jsonl(
        &self,
        import: Option<ImportId>,
        input: impl Read,
        total: u64,
        watch: &mut impl FnMut(ImportProgress),
    ) -> Result<(Summary, Vec<MediaEntry>), TransferError> {
        let (mut summary, mut sink) = (Summary::default(), self.sink(import));
        let mut files = Vec::new();
        let mut input = Numbered::json(input, total)?;
        while let Some((number, line)) = input.next(&summary, watch)? {
            let line = match line {
                TextLine::Text(line) if line.trim().is_empty() => continue,
                TextLine::Text(line) => line,
                TextLine::Broken(why) => {
                    summary.unknown(number, Some(why.to_owned()), "");
                    continue;
                }
            };
            let read = Line::read(&line).and_then(|line| {
                let (person, file) = (line.person(), line.file());
                Ok((line.message(self.channel)?, person, file))
            });
            match read {
                Ok((mut message, mut person, file)) => {
                    summary.make_message_storable(&mut message, person.as_mut());
                    files.extend(file);
                    let name = person.as_ref().and_then(|person| person.display_name.clone());
                    summary.said(&message, name);
                    sink.take(message, person, &mut summary).await?;
                }
                Err(why) => summary.unknown(number, Some(why), &line),
            }
        }
        sink.flush(&mut summary).await?;
        Ok((summary, files))
    }
}

/// Reader of numbered lines, with its progress.
struct Numbered<'a> {
    lines: Lines<Box<dyn BufRead + 'a>>,
    number: u64,
    read: Rc<Cell<u64>>,
    total: u64,
}

impl<'a> Numbered<'a> {
    fn new(
        input: impl Read + 'a,
        total: u64,
        encoding: &'static Encoding,
    ) -> Result<Self, TransferError> {
        let read = Rc::new(Cell::new(0));
        let input = decoded(Metered { input, read: Rc::clone(&read) }, encoding)?;
        Ok(Self { lines: Lines::new(input, encoding != UTF_8), number: 0, read, total })
    }

    /// Reads the lines of an export of chatkeep: UTF-8, or UTF-16 if somebody converted it.
    fn json(input: impl Read + 'a, total: u64) -> Result<Self, TransferError> {
        let (encoding, input) = detect_json(input)?;
        Self::new(input, total, encoding)
    }

    fn next(
        &mut self,
        summary: &Summary,
        watch: &mut impl FnMut(ImportProgress),
    ) -> Result<Option<(u64, TextLine)>, TransferError> {
        self.number += 1;
        if self.number.is_multiple_of(STEP) {
            let messages = summary.stored + summary.known + summary.erased;
            watch(ImportProgress { read: self.read.get(), total: self.total, messages });
        }
        Ok(self.lines.next()?.map(|line| (self.number, line)))
    }
}
