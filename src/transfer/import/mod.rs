//! Bringing messages in from a file. Importing a file twice, or two files that overlap, changes
//! nothing more.

mod files;
mod limits;
mod people;
mod sink;
mod source;
mod summary;
mod text;
mod zone;

use std::cell::Cell;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use chatkeep_core::blobs::Blobs;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::store::{ImportedMedia, ImportedMessage, ImportedPerson, Store};
use chatkeep_core::time::SharedClock;

use self::files::{Beside, Brought, Files};
use self::limits::{Budget, check_line_text};
use self::people::{Ids, People};
use self::sink::Sink;
use self::source::{Metered, Source, open};
pub(crate) use self::summary::{Progress, Summary};
use self::text::{Lines, TextLine, decoded};
pub(crate) use self::zone::Zone;
use super::TransferError;
use super::jsonl::Line;
use super::line::{Found, Said, Survey};

/// Why an imported media message has no file.
pub(super) const NO_FILE: &str = "not in the export";

/// Lines between two looks at how far it is.
const STEP: u64 = 500;

/// The form of a file to import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whatever it looks like.
    #[default]
    Auto,
    /// An export of chatkeep.
    Jsonl,
    /// Text exported by the LINE app.
    Line,
}

impl Form {
    /// The form of that name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "jsonl" => Some(Self::Jsonl),
            "line" => Some(Self::Line),
            _ => None,
        }
    }
}

/// An import.
pub(crate) struct Import<'a> {
    pub(crate) store: &'a Store,
    /// Whether it is a trial, in which nothing changes.
    pub(crate) trial: bool,
    /// Where media files go.
    pub(crate) blobs: Option<&'a Blobs>,
    pub(crate) clock: &'a SharedClock,
    pub(crate) channel: &'a ChannelId,
    pub(crate) form: Form,
    /// The zone of times that have none.
    pub(crate) zone: Zone,
    /// Bytes of a media file, at most; larger ones are left out.
    pub(crate) max_file: u64,
}

impl Import<'_> {
    /// Imports a file, folder or archive, and tells now and then how far it is.
    pub(crate) async fn run(
        &self,
        path: &Path,
        mut watch: impl FnMut(Progress),
    ) -> Result<Summary, TransferError> {
        match Source::find(path)? {
            Source::File(path) => {
                let beside = Beside::folder(&path);
                let size = open(&path)?.metadata()?.len();
                let line = match self.form {
                    Form::Auto => !looks_like_json(&path)?,
                    form => form == Form::Line,
                };
                if line {
                    check_line_text(&path, size)?;
                    let survey = survey(&path)?;
                    Box::pin(self.line(survey, open(&path)?, size, &mut watch)).await
                } else {
                    let (mut summary, files) =
                        Box::pin(self.jsonl(open(&path)?, size, &mut watch)).await?;
                    self.files(&files, beside, &mut summary).await?;
                    Ok(summary)
                }
            }
            Source::Zip(path) => {
                let budget = Budget::of_archive(open(&path)?.metadata()?.len());
                let mut archive = Source::archive(&path)?;
                budget.check(&path, archive.len(), archive.decompressed_size())?;
                let (entry, size) = Source::entry(&mut archive)?;
                let entry = budget.bounded(entry);
                let (mut summary, files) = Box::pin(self.jsonl(entry, size, &mut watch)).await?;
                self.files(&files, Beside::Zip(Box::new(archive), budget), &mut summary).await?;
                Ok(summary)
            }
        }
    }

    /// The files of an export that has some. One that is only messages has none beside it.
    async fn files(
        &self,
        brought: &[Brought],
        beside: Beside,
        summary: &mut Summary,
    ) -> Result<(), TransferError> {
        let Some(blobs) = self.blobs.filter(|_| !self.trial && !summary.full) else {
            return Ok(());
        };
        let Self { store, clock, channel, max_file, .. } = self;
        Files { store, blobs, clock, channel, max_file: *max_file }
            .take(brought, beside, summary)
            .await
    }

    fn sink(&self) -> Sink<'_> {
        Sink::new(self.store, self.trial, self.clock, self.channel)
    }

    async fn jsonl(
        &self,
        input: impl Read,
        total: u64,
        watch: &mut impl FnMut(Progress),
    ) -> Result<(Summary, Vec<Brought>), TransferError> {
        let (mut summary, mut sink) = (Summary::default(), self.sink());
        let mut files = Vec::new();
        let mut input = Numbered::new(input, total)?;
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
                Ok((message, person, file)) => {
                    let brought = |(message, content_type)| Brought { message, content_type };
                    files.extend(file.map(brought));
                    sink.take(message, person, &mut summary).await?;
                }
                Err(why) => summary.unknown(number, Some(why), &line),
            }
        }
        sink.flush(&mut summary).await?;
        Ok((summary, files))
    }

    async fn line(
        &self,
        survey: Survey,
        input: impl Read,
        total: u64,
        watch: &mut impl FnMut(Progress),
    ) -> Result<Summary, TransferError> {
        let people = People::of(self.store, self.channel).await?;
        let mut reader = survey.reader(people.names());
        let mut text = TextImport { people, ids: Ids::new(self.channel), zone: self.zone };
        let (mut summary, mut sink) = (Summary::default(), self.sink());
        let mut input = Numbered::new(input, total)?;
        let mut found = Vec::new();
        loop {
            let line = input.next(&summary, watch)?;
            let ended = line.is_none();
            match line {
                Some((number, TextLine::Text(line))) => reader.line(number, &line, &mut found),
                Some((number, TextLine::Broken(why))) => {
                    summary.unknown(number, Some(why.to_owned()), "");
                }
                None => reader.end(&mut found),
            }
            for found in found.drain(..) {
                match found {
                    Found::Said(said) => {
                        let (message, person) = text.message(&said)?;
                        sink.take(message, person, &mut summary).await?;
                    }
                    Found::Happened => summary.happened += 1,
                    Found::Unknown { line, text } => summary.unknown(line, None, &text),
                }
            }
            if ended {
                break;
            }
        }
        sink.flush(&mut summary).await?;
        Ok(summary)
    }
}

/// What turns the messages of a text into those of a channel.
struct TextImport {
    people: People,
    ids: Ids,
    zone: Zone,
}

impl TextImport {
    fn message(
        &mut self,
        said: &Said,
    ) -> Result<(ImportedMessage, Option<ImportedPerson>), TransferError> {
        let at = self.zone.at(said.at);
        let name = said.name.replace('\0', "");
        let (user, guessed) = self.people.find(&name);
        let id = self.ids.next(at, &name, &said.text);
        let person = guessed.then(|| ImportedPerson {
            id: user.clone(),
            display_name: Some(name),
            picture_url: None,
        });
        let kind = said.content.as_ref().map_or(MessageType::Text, Content::kind);
        let media = kind.is_media().then(|| ImportedMedia {
            status: "expired".to_owned(),
            reason: Some(NO_FILE.to_owned()),
        });
        let message = ImportedMessage {
            id,
            sent_at: at,
            kept_at: None,
            sender: Some(user),
            kind,
            content: said.content.as_ref().map(serde_json::to_string).transpose()?,
            quoted: None,
            is_bot: false,
            edited_at: None,
            unsent_at: said.content.is_none().then_some(at),
            media,
        };
        Ok((message, person))
    }
}

/// The lines of a file with their numbers, and how far it is read.
struct Numbered<'a> {
    lines: Lines<Box<dyn std::io::BufRead + 'a>>,
    number: u64,
    read: Rc<Cell<u64>>,
    total: u64,
}

impl<'a> Numbered<'a> {
    fn new(input: impl Read + 'a, total: u64) -> Result<Self, TransferError> {
        let read = Rc::new(Cell::new(0));
        let input = Metered { input, read: Rc::clone(&read) };
        Ok(Self { lines: Lines::new(decoded(input)?), number: 0, read, total })
    }

    fn next(
        &mut self,
        summary: &Summary,
        watch: &mut impl FnMut(Progress),
    ) -> Result<Option<(u64, TextLine)>, TransferError> {
        self.number += 1;
        if self.number.is_multiple_of(STEP) {
            let messages = summary.stored + summary.known + summary.erased;
            watch(Progress { read: self.read.get(), total: self.total, messages });
        }
        Ok(self.lines.next()?.map(|line| (self.number, line)))
    }
}

/// Reads a text for the first time.
fn survey(path: &Path) -> Result<Survey, TransferError> {
    let (mut survey, mut lines) = (Survey::default(), Lines::new(decoded(open(path)?)?));
    while let Some(line) = lines.next()? {
        if let TextLine::Text(line) = line {
            survey.line(&line);
        }
    }
    if survey.fits() { Ok(survey) } else { Err(TransferError::Unreadable(path.to_owned())) }
}

/// Whether the first line that is not empty begins as an object does.
fn looks_like_json(path: &Path) -> Result<bool, TransferError> {
    let mut lines = Lines::new(decoded(open(path)?)?);
    while let Some(line) = lines.next()? {
        match line {
            TextLine::Text(line) if line.trim().is_empty() => {}
            TextLine::Text(line) => return Ok(line.trim_start().starts_with('{')),
            TextLine::Broken(_) => return Ok(false),
        }
    }
    // Nothing in it is an export of nothing.
    Ok(true)
}
