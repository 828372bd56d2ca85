//! Parts of an export, each written without the others, so that an export can go on after an
//! interruption, and a part can be written again alone. Put together, they are one document.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ExportKeyset, ExportPart, MessageFilter, MessagePage, Order, Store, StoredMessage,
};
use chatkeep_view::pseudonyms::Mask;
use futures_util::stream::{self, Stream};

use super::export::{PAGE, head, page, shown, verbatim};
use super::format::ExportWriter;
use super::{Export, Format, TransferError};

/// Number of messages at which a part ends.
const MESSAGES: u64 = 10_000;
/// Number of bytes at which a part ends: an object store gets it in one request.
const BYTES: usize = 4 * 1024 * 1024;

/// Part to write.
#[derive(Clone, Debug)]
pub struct PartRange {
    /// The part.
    pub part: ExportPart,
    /// Messages that were stored in this time are left out: they came after the request.
    pub late: Range<Timestamp>,
}

/// Summary of a written part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartSummary {
    /// Number of messages.
    pub messages: u64,
    /// Position of its last message; `None` without messages.
    pub last: Option<ExportKeyset>,
    /// True if no part follows.
    pub is_last: bool,
}

/// Writes a part of an export whose reader sees people as they are. The summary is complete at the
/// end of the stream.
pub fn export_part(
    store: Store,
    channel: ChannelId,
    export: Export,
    PartRange { part, late }: PartRange,
) -> (impl Stream<Item = Result<Bytes, TransferError>> + Send + 'static, Arc<Mutex<PartSummary>>) {
    let filter = MessageFilter {
        from: export.from,
        to: export.to,
        order: Order::Ascending,
        after: part.after.clone(),
        limit: PAGE,
        ..MessageFilter::default()
    };
    let summary: Arc<Mutex<PartSummary>> = Arc::default();
    let end = Arc::clone(&summary);
    let work = PartWork {
        store,
        channel,
        filter,
        export,
        part,
        late,
        writer: None,
        bytes: 0,
        so_far: PartSummary::default(),
        end,
    };
    let stream = stream::try_unfold(Some(work), |work| async {
        let Some(mut work) = work else { return Ok(None) };
        let (bytes, more) = work.next().await?;
        Ok(Some((bytes, more.then_some(work))))
    });
    (stream, summary)
}

struct PartWork {
    store: Store,
    channel: ChannelId,
    filter: MessageFilter,
    export: Export,
    part: ExportPart,
    late: Range<Timestamp>,
    /// Set once the beginning is written.
    writer: Option<ExportWriter>,
    /// Number of bytes so far.
    bytes: usize,
    so_far: PartSummary,
    end: Arc<Mutex<PartSummary>>,
}

impl PartWork {
    /// Returns the next bytes, and true if others follow.
    async fn next(&mut self) -> Result<(Bytes, bool), TransferError> {
        if self.writer.is_none() {
            return Ok((self.begin().await?, true));
        }
        let MessagePage { mut messages, next } =
            page(&self.store, &self.channel, &self.filter, self.export.format).await?;
        let is_whole = self.cut(&mut messages);
        if let Some(last) = messages.last() {
            self.so_far.last = Some((last.sent_at, last.id.clone()));
        }
        messages.retain(|message| !self.late.contains(&message.backed_up_at));
        self.so_far.messages += messages.len() as u64;
        let mut bytes = self.written(messages).await?;
        self.bytes += bytes.len();
        let is_full =
            self.part.until.is_none() && (self.so_far.messages >= MESSAGES || self.bytes >= BYTES);
        if next.is_some() && !is_whole && !is_full {
            self.filter.after = next;
            return Ok((bytes, true));
        }
        self.so_far.is_last = match self.part.until {
            Some(_) => self.part.is_last,
            None => next.is_none(),
        };
        let end = self.part.until.as_ref().or(self.so_far.last.as_ref()).map(|(at, _)| *at);
        if let Some(writer) = &mut self.writer {
            let rest = if self.so_far.is_last { writer.end() } else { writer.part_end(end) };
            bytes = [bytes, rest].concat().into();
        }
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = self.so_far.clone();
        Ok((bytes, false))
    }

    /// Begins the part, and the document with the first one.
    async fn begin(&mut self) -> Result<Bytes, TransferError> {
        let head = head(&self.store, &self.channel, &self.export).await?;
        let writer = ExportWriter::new(self.export.format, head, &self.export);
        let (writer, bytes) = match &self.part.after {
            None => {
                let bytes = writer.begin()?;
                (writer, bytes)
            }
            Some((at, _)) => (writer.following(self.part.messages_before, *at), Bytes::new()),
        };
        self.writer = Some(writer);
        Ok(bytes)
    }

    /// Takes off what is beyond the end of a part that was written before. Returns true at its end.
    fn cut(&self, messages: &mut Vec<StoredMessage>) -> bool {
        let Some((at, id)) = &self.part.until else { return false };
        let within =
            messages.partition_point(|message| (message.sent_at, &message.id) <= (*at, id));
        let is_whole = within < messages.len();
        messages.truncate(within);
        is_whole
    }

    async fn written(&mut self, messages: Vec<StoredMessage>) -> Result<Bytes, TransferError> {
        let verbatim = match self.export.format {
            Format::Jsonl => verbatim(&self.store, &self.channel, &messages).await?,
            Format::Csv | Format::Html => HashMap::new(),
        };
        match &mut self.writer {
            Some(writer) => writer.page(shown(messages, verbatim, &Mask::none())),
            None => Ok(Bytes::new()),
        }
    }
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
