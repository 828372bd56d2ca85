//! Formats of an export.

use bytes::Bytes;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_store::{Channel, Gap, StoredMessage};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Masked;
use chrono_tz::Tz;

use super::jsonl::Line;
use super::{Export, TransferError, csv, html};

/// Format of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line; the input of an import.
    #[default]
    Jsonl,
    /// Table for spreadsheets.
    Csv,
    /// Single page for reading.
    Html,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Jsonl, Self::Csv, Self::Html];

    /// Returns the format of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.extension() == name)
    }

    /// Returns its name, which is also the extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Html => "html",
        }
    }

    /// Returns its media type in HTTP.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Jsonl => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

/// Page of messages to export, each with the content that only a verbatim copy restores.
pub(super) type ExportPage = Vec<(Masked<StoredMessage>, Option<String>)>;

/// Head of an export.
pub(super) struct Head {
    pub(super) channel: Option<Masked<Channel>>,
    pub(super) id: String,
    pub(super) gaps: Vec<Gap>,
    pub(super) zone: Tz,
    pub(super) language: Language,
}

/// Writer that turns pages of messages into bytes.
pub(super) enum ExportWriter {
    Jsonl(Links),
    Csv(Links),
    Html(Box<html::HtmlPage>),
}

impl ExportWriter {
    pub(super) fn new(format: Format, head: Head, export: &Export) -> Self {
        let links = export.links.clone();
        match format {
            Format::Jsonl => Self::Jsonl(links),
            Format::Csv => Self::Csv(links),
            Format::Html => {
                Self::Html(Box::new(html::HtmlPage::new(head, export.media.clone(), links)))
            }
        }
    }

    /// Returns the writer of a part that follows that many messages, the last one sent at that time.
    pub(super) fn following(self, messages: u64, last: Timestamp) -> Self {
        match self {
            Self::Html(page) => Self::Html(Box::new(page.following(messages, last))),
            other => other,
        }
    }

    /// Returns the part before the first message.
    pub(super) fn begin(&self) -> Result<Bytes, TransferError> {
        Ok(match self {
            Self::Jsonl(_) => Bytes::new(),
            Self::Csv(_) => csv::header()?,
            Self::Html(page) => page.head().into(),
        })
    }

    /// Returns a page of messages.
    pub(super) fn page(&mut self, page: ExportPage) -> Result<Bytes, TransferError> {
        match self {
            Self::Jsonl(links) => {
                let mut out = Vec::with_capacity(page.len() * 512);
                for (message, verbatim) in page {
                    Line::new(message, verbatim, links).write(&mut out)?;
                }
                Ok(out.into())
            }
            Self::Csv(links) => csv::rows(page.into_iter().map(|(message, _)| message), links),
            Self::Html(html) => {
                let mut out = String::with_capacity(page.len() * 512);
                for (message, _) in &page {
                    html.message(message, &mut out);
                }
                Ok(out.into())
            }
        }
    }

    /// Returns what stands after the last message of a part that others follow, up to that time.
    pub(super) fn part_end(&mut self, until: Option<Timestamp>) -> Bytes {
        match (self, until) {
            (Self::Html(page), Some(until)) => page.gaps(until).into(),
            _ => Bytes::new(),
        }
    }

    /// Returns the part after the last message.
    pub(super) fn end(&mut self) -> Bytes {
        match self {
            Self::Jsonl(_) | Self::Csv(_) => Bytes::new(),
            Self::Html(page) => page.foot().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names() {
        for format in Format::ALL {
            assert_eq!(Format::parse(format.extension()), Some(format));
        }
        assert_eq!(Format::parse("xls"), None);
    }
}
