//! Inspection of a file before the import, so that a file that cannot be imported as requested
//! leaves no trace.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::MessageId;
use chatkeep_store::ImportId;
use encoding_rs::{Encoding, UTF_8};

use super::super::TransferError;
use super::super::jsonl::Line;
use super::super::line::{DateOrder, Fit, LineReader, ParsedLine, Survey};
use super::encoding::{decoded, detect, detect_json};
use super::files::Beside;
use super::limits::{ExpansionBudget, check_line_text};
use super::nul::replace_nul;
use super::people::{NameDirectory, SyntheticId, SyntheticIds};
use super::source::{Source, open};
use super::summary::Summary;
use super::text::{Lines, TextLine};
use super::{Form, Import, Zone};

/// Number of lines among which the first message of an export is looked for.
const LOOKED_AT: usize = 100;
/// Batch size of lookups.
const BATCH: usize = 1_000;

/// A file that can be imported.
pub enum ImportPlan {
    /// Messages as chatkeep exports them.
    Jsonl(PathBuf),
    /// Messages in an archive, with media.
    Zip(PathBuf),
    /// Text exported by the LINE app.
    Line(Box<LinePlan>),
}

/// Plan for a text exported by the LINE app.
pub struct LinePlan {
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) encoding: &'static Encoding,
    pub(super) zone: Zone,
    survey: Survey,
    order: DateOrder,
}

impl ImportPlan {
    /// Returns the file, or the messages of a folder.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Jsonl(path) | Self::Zip(path) => path,
            Self::Line(plan) => &plan.path,
        }
    }

    /// Returns the name of its format.
    pub(super) const fn form(&self) -> &'static str {
        match self {
            Self::Jsonl(_) | Self::Zip(_) => "jsonl",
            Self::Line(_) => "line",
        }
    }

    /// Returns false if no files of messages can come with it: no media store is needed then.
    pub fn may_bring_files(&self) -> bool {
        match self {
            Self::Jsonl(path) => Beside::folder_of(path).exists(),
            Self::Zip(_) => true,
            Self::Line(_) => false,
        }
    }

    /// Returns the zone in which its times are read.
    pub(super) fn zone(&self) -> Option<Zone> {
        match self {
            Self::Jsonl(_) | Self::Zip(_) => None,
            Self::Line(plan) => Some(plan.zone),
        }
    }
}

impl LinePlan {
    /// Returns a reader for the second pass over the file.
    pub(super) fn reader<'a>(&self, known: impl Iterator<Item = &'a str>) -> LineReader {
        self.survey.reader(self.order, known)
    }

    /// Returns the summary as far as it is known before the import.
    pub(super) fn summary(&self) -> Summary {
        Summary {
            chat_name: self.survey.chat_name().map(str::to_owned),
            time_zone: Some(self.zone.to_string()),
            encoding: (self.encoding != UTF_8).then(|| self.encoding.name().to_owned()),
            ..Summary::default()
        }
    }
}

impl Import<'_> {
    /// Inspects a file, folder or archive. Changes nothing.
    ///
    /// # Errors
    /// Returns an error if it cannot be imported, or more information is needed.
    #[boxed(?Send)]
    pub async fn plan(&self, path: &Path) -> Result<ImportPlan, TransferError> {
        let path = match Source::find(path)? {
            Source::File(path) => path,
            Source::Zip(path) => {
                let budget = ExpansionBudget::of_archive(open(&path)?.metadata()?.len());
                let mut archive = Source::archive(&path)?;
                let (entry, _) = Source::entry(&mut archive)?;
                self.check_channel(&path, budget.bounded(entry))?;
                return Ok(ImportPlan::Zip(path));
            }
        };
        let line = match self.form {
            Form::Auto => !looks_like_json(&path)?,
            form => form == Form::Line,
        };
        if !line {
            self.check_channel(&path, open(&path)?)?;
            return Ok(ImportPlan::Jsonl(path));
        }
        let plan = self.line_plan(path)?;
        self.check_zone(&plan).await?;
        Ok(ImportPlan::Line(Box::new(plan)))
    }

    /// Rejects an export whose first message is of another channel: none of it could be imported.
    fn check_channel(&self, path: &Path, messages: impl Read) -> Result<(), TransferError> {
        let (encoding, input) = detect_json(messages)?;
        let input = decoded(input, encoding)?;
        let mut lines = Lines::new(input, encoding != UTF_8);
        for _ in 0..LOOKED_AT {
            let Some(line) = lines.next()? else { break };
            let TextLine::Text(line) = line else { continue };
            let Ok(line) = Line::read(&line) else { continue };
            if line.channel() != self.channel {
                let (path, of) = (path.to_owned(), line.channel().clone());
                return Err(TransferError::OtherChannel { path, of });
            }
            break;
        }
        Ok(())
    }

    fn line_plan(&self, path: PathBuf) -> Result<LinePlan, TransferError> {
        let size = open(&path)?.metadata()?.len();
        check_line_text(&path, size)?;
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None => match detect(open(&path)?, true)? {
                Ok(encoding) => encoding,
                Err(unsupported) => {
                    return Err(TransferError::Encoding { path, name: unsupported.0 });
                }
            },
        };
        let survey = survey(&path, encoding)?;
        match survey.fit() {
            Fit::Line => {}
            Fit::No => return Err(TransferError::Unreadable(path)),
            Fit::OtherLanguage(line, text) => {
                return Err(TransferError::Language { path, line, text });
            }
        }
        let order = self.date_order.or_else(|| survey.order());
        let order = order.ok_or_else(|| TransferError::DateOrder(path.clone()))?;
        let zone = self.zone.ok_or(TransferError::ZoneNeeded)?;
        Ok(LinePlan { path, size, encoding, zone, survey, order })
    }

    /// Rejects a text that was imported with another zone before: every message would be stored a
    /// second time, hours away from the first.
    async fn check_zone(&self, plan: &LinePlan) -> Result<(), TransferError> {
        let others = self.other_zones(plan.zone).await?;
        if others.is_empty() {
            return Ok(());
        }
        let zones: Vec<_> =
            std::iter::once(plan.zone).chain(others.values().map(|o| o.0)).collect();
        let known = self.known_in(plan, &zones).await?;
        let here = known[0];
        let there = known[1..].iter().zip(others.into_values()).max_by_key(|(known, _)| **known);
        match there {
            Some((known, (zone, import))) if *known > here => Err(TransferError::OtherZone {
                path: plan.path.clone(),
                asked: plan.zone.to_string(),
                import,
                zone: zone.to_string(),
                known: known - here,
            }),
            _ => Ok(()),
        }
    }

    /// Returns the zones in which texts were imported into the channel before, with the last such
    /// import.
    async fn other_zones(
        &self,
        zone: Zone,
    ) -> Result<BTreeMap<String, (Zone, ImportId)>, TransferError> {
        let mut zones = BTreeMap::new();
        for import in self.store.imports().list(Some(self.channel)).await? {
            let other = import.time_zone.as_deref().and_then(Zone::parse);
            let other = other.filter(|other| *other != zone && import.undone_at.is_none());
            if let Some(other) = other {
                zones.entry(other.to_string()).or_insert((other, import.id));
            }
        }
        Ok(zones)
    }

    /// Counts the messages of the text that are stored already when its times are read in each
    /// zone.
    async fn known_in(&self, plan: &LinePlan, zones: &[Zone]) -> Result<Vec<u64>, TransferError> {
        let people = NameDirectory::of(self.store, self.channel).await?;
        let mut reader = plan.reader(people.names().chain(self.names.iter().map(String::as_str)));
        let mut places: Vec<_> = zones
            .iter()
            .map(|zone| ZonedReading {
                zone: *zone,
                ids: SyntheticIds::new(self.channel),
                batch: Vec::new(),
                known: 0,
            })
            .collect();
        let mut lines = lines(&plan.path, plan.encoding)?;
        let (mut found, mut number) = (Vec::new(), 0);
        loop {
            let line = lines.next()?;
            number += 1;
            let ended = line.is_none();
            match line {
                Some(TextLine::Text(mut line)) => {
                    replace_nul(&mut line);
                    reader.line(number, &line, &mut found);
                }
                Some(TextLine::Broken(_)) => {}
                None => reader.end(&mut found),
            }
            for found in found.drain(..) {
                let ParsedLine::Said(said) = found else { continue };
                for place in &mut places {
                    let at = place.zone.at(said.at);
                    let SyntheticId { id, former_id, .. } = place.ids.next(at, &said);
                    place.batch.extend([id, former_id]);
                }
            }
            for place in &mut places {
                if place.batch.len() >= BATCH || ended {
                    let batch = std::mem::take(&mut place.batch);
                    place.known += self.store.imports().count_known(self.channel, &batch).await?;
                }
            }
            if ended {
                return Ok(places.into_iter().map(|place| place.known).collect());
            }
        }
    }
}

/// A text read in one zone.
struct ZonedReading {
    zone: Zone,
    ids: SyntheticIds,
    batch: Vec<MessageId>,
    known: u64,
}

fn lines(
    path: &Path,
    encoding: &'static Encoding,
) -> Result<Lines<Box<dyn std::io::BufRead>>, TransferError> {
    Ok(Lines::new(decoded(open(path)?, encoding)?, encoding != UTF_8))
}

/// Runs the first pass over a text.
fn survey(path: &Path, encoding: &'static Encoding) -> Result<Survey, TransferError> {
    let (mut survey, mut lines) = (Survey::default(), lines(path, encoding)?);
    while let Some(line) = lines.next()? {
        survey.line(match &line {
            TextLine::Text(line) => line,
            TextLine::Broken(_) => "",
        });
    }
    Ok(survey)
}

/// Returns true if the first line that is not empty begins as an object does.
fn looks_like_json(path: &Path) -> Result<bool, TransferError> {
    let Ok(encoding) = detect(open(path)?, false)? else { return Ok(false) };
    let mut lines = lines(path, encoding)?;
    while let Some(line) = lines.next()? {
        match line {
            TextLine::Text(line) if line.trim().is_empty() => {}
            TextLine::Text(line) => return Ok(line.trim_start().starts_with('{')),
            TextLine::Broken(_) => return Ok(false),
        }
    }
    // An empty file is an export of an empty channel.
    Ok(true)
}
