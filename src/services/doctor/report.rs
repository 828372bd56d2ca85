//! Report of the doctor.

use std::fmt;

use chatkeep_store::Difference;
use serde::Serialize;

use super::FindingListener;

/// Maximum number of findings in a report; further ones are only counted.
const MOST: usize = 1_000;

/// A difference, and the result of its repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    #[serde(flatten)]
    pub difference: Difference,
    /// True if it was repaired.
    pub mended: bool,
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
    pub looked: CheckedCounts,
    /// Number of differences.
    pub differences: u64,
    /// Number of repaired ones.
    pub mended: u64,
    /// The first thousand findings.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// Sentences about items that could not be compared.
    pub skipped: Vec<String>,
}

impl Report {
    /// Returns true if there are no differences.
    pub const fn is_clean(&self) -> bool {
        self.differences == 0
    }

    /// Returns the number of differences that are still there.
    pub const fn left(&self) -> u64 {
        self.differences - self.mended
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { check, place, recorded, truth } = &self.difference;
        write!(f, "{place}: {}: recorded: {recorded}; true: {truth}", check.words())?;
        if self.mended { f.write_str(" (repaired)") } else { Ok(()) }
    }
}

impl fmt::Display for Report {
    /// Writes all findings, one a line, and their number: for tests that fail.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        write!(f, "{} differences, {} of them repaired", self.differences, self.mended)
    }
}

/// Writer of a report.
pub(super) struct ReportWriter<'a> {
    pub(super) looked: CheckedCounts,
    report: Report,
    listener: FindingListener<'a>,
}

impl<'a> ReportWriter<'a> {
    pub(super) fn new(listener: FindingListener<'a>) -> Self {
        Self { looked: CheckedCounts::default(), report: Report::default(), listener }
    }

    pub(super) fn add(&mut self, differences: impl IntoIterator<Item = Difference>, mended: bool) {
        for difference in differences {
            let finding = Finding { difference, mended };
            (self.listener)(&finding);
            self.report.differences += 1;
            self.report.mended += u64::from(mended);
            if self.report.findings.len() < MOST {
                self.report.findings.push(finding);
            }
        }
    }

    /// Records an item that could not be compared.
    pub(super) fn skip(&mut self, sentence: String) {
        self.report.skipped.push(sentence);
    }

    /// Records the number of messages compared with one search index, or with a channel of it.
    pub(super) fn compared(&mut self, messages: i64) {
        let indexed = self.looked.indexed.unwrap_or_default();
        self.looked.indexed = Some(indexed + messages);
    }

    pub(super) fn end(self) -> Report {
        Report { looked: self.looked, ..self.report }
    }
}
