//! Report of the doctor.

use std::error::Error;
use std::fmt;

use chatkeep_core::causes::with_causes;
use chatkeep_store::{Check, Difference};
use serde::Serialize;

use super::FindingListener;

/// Maximum number of findings in a report; further ones are only counted.
const MOST: usize = 1_000;
/// Beginning of the sentence about a media store that fails.
const UNCHECKED_FILES: &str = "files are not checked any further";

/// A difference, and the result of its repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    #[serde(flatten)]
    pub difference: Difference,
    /// True if it was repaired.
    pub repaired: bool,
}

/// Numbers of checked items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedCounts {
    pub channels: i64,
    pub messages: i64,
    pub media: i64,
    pub users: i64,
    pub files: i64,
    /// Messages compared with each search index; `None` when there is none.
    pub indexed: Option<i64>,
    /// Number of search indexes compared.
    pub replicas: i64,
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub checked: CheckedCounts,
    /// Number of differences.
    pub differences: u64,
    /// Number of repaired ones.
    pub repaired: u64,
    /// The first thousand findings.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// Sentences about items that were not compared and need not be, for they are brought up to date
    /// at the next start, and about differences that are only counted.
    pub skipped: Vec<String>,
    /// Sentences about items that could not be checked because of an error.
    pub unchecked: Vec<String>,
}

impl Report {
    /// Returns true if everything was checked and there are no differences.
    pub const fn is_clean(&self) -> bool {
        self.differences == 0 && self.unchecked.is_empty()
    }

    /// Returns the number of differences that are still there.
    pub const fn left(&self) -> u64 {
        self.differences - self.repaired
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { check, place, recorded, truth } = &self.difference;
        write!(f, "{place}: {}: ", check.words())?;
        match (check, self.repaired) {
            // The sweep of a running service deletes it.
            (Check::File, true) => write!(f, "{recorded} (to be deleted within about a minute)"),
            (Check::File, false) => write!(f, "{recorded}; {truth}"),
            (_, true) => write!(f, "recorded: {recorded}; true: {truth} (repaired)"),
            (_, false) => write!(f, "recorded: {recorded}; true: {truth}"),
        }
    }
}

impl fmt::Display for Report {
    /// Writes all findings and what was not checked, one a line, and their number: for tests that
    /// fail.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for sentence in &self.unchecked {
            writeln!(f, "{sentence}")?;
        }
        write!(f, "{} differences, {} of them repaired", self.differences, self.repaired)
    }
}

/// Writer of a report.
pub(super) struct ReportWriter<'a> {
    pub(super) checked: CheckedCounts,
    /// True once the media store has failed.
    pub(super) files_left: bool,
    report: Report,
    listener: FindingListener<'a>,
}

impl<'a> ReportWriter<'a> {
    pub(super) fn new(listener: FindingListener<'a>) -> Self {
        let (checked, report) = (CheckedCounts::default(), Report::default());
        Self { checked, files_left: false, report, listener }
    }

    pub(super) fn add(
        &mut self,
        differences: impl IntoIterator<Item = Difference>,
        repaired: bool,
    ) {
        for difference in differences {
            let finding = Finding { difference, repaired };
            (self.listener)(&finding);
            self.report.differences += 1;
            self.report.repaired += u64::from(repaired);
            if self.report.findings.len() < MOST {
                self.report.findings.push(finding);
            }
        }
    }

    /// Records differences of which only the number is known; a repair leaves them.
    pub(super) fn add_unnamed(&mut self, differences: u64, sentence: String) {
        self.report.differences += differences;
        self.skip(sentence);
    }

    /// Records an item that was not compared and need not be.
    pub(super) fn skip(&mut self, sentence: String) {
        self.report.skipped.push(sentence);
    }

    /// Records an item that could not be checked because of an error.
    pub(super) fn uncheck(&mut self, sentence: String) {
        self.report.unchecked.push(sentence);
    }

    /// Records that the media store failed: no more files are checked.
    pub(super) fn leave_files(&mut self, error: &(dyn Error + 'static)) {
        self.files_left = true;
        self.uncheck(format!("{UNCHECKED_FILES}: {}", with_causes(error)));
    }

    /// Records the number of messages compared with one search index, or with a channel of it.
    pub(super) fn compared(&mut self, messages: i64) {
        let indexed = self.checked.indexed.unwrap_or_default();
        self.checked.indexed = Some(indexed + messages);
    }

    pub(super) fn end(self) -> Report {
        Report { checked: self.checked, ..self.report }
    }
}
