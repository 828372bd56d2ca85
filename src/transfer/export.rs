//! Export as a stream: page by page from the store, so that a channel of any size needs the memory
//! of one page.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use chatkeep_core::heavy::CALLERS;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_store::{MessageFilter, MessagePage, Order, Store, StoredMessage};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chrono_tz::Tz;
use futures_util::stream::{self, Stream, StreamExt as _};

use super::format::{ExportPage, ExportWriter, Head};
use super::{Format, MediaLinks, TransferError, jsonl};

/// Maximum number of messages in a page.
pub(super) const PAGE: u32 = 1_000;
/// Maximum number of bytes of their contents: a slow reader holds a page in memory.
pub(super) const PAGE_BYTES: u32 = 512 * 1024;

/// Export of a channel: format and limits.
#[derive(Clone, Debug)]
pub struct Export {
    /// Format of the document.
    pub format: Format,
    /// Earliest time of sending.
    pub from: Option<Timestamp>,
    /// Time before which messages were sent.
    pub to: Option<Timestamp>,
    /// Earliest time that the reader may know of, gaps included.
    pub not_before: Option<Timestamp>,
    /// Time zone of days and of the times on a page.
    pub zone: Tz,
    /// Language of a page for reading.
    pub language: Language,
    /// Links from the page to media files.
    pub media: MediaLinks,
    /// Addresses of the messages' pages.
    pub links: Links,
    /// Mask through which the reader sees people.
    pub mask: Mask,
}

/// Part of an export.
pub struct Chunk {
    /// Bytes of the part; may be empty.
    pub bytes: Bytes,
    /// Number of messages in the part.
    pub messages: usize,
}

/// Exports a channel's messages, oldest first, as the bytes of one document.
pub fn export(
    store: Store,
    channel: ChannelId,
    export: Export,
) -> impl Stream<Item = Result<Bytes, TransferError>> + Send + 'static {
    let filled = |chunk: &Result<Chunk, TransferError>| {
        std::future::ready(!chunk.as_ref().is_ok_and(|chunk| chunk.bytes.is_empty()))
    };
    pages(store, channel, export).filter(filled).map(|chunk| Ok(chunk?.bytes))
}

/// Exports the same with the number of messages in each part.
pub fn pages(
    store: Store,
    channel: ChannelId,
    export: Export,
) -> impl Stream<Item = Result<Chunk, TransferError>> + Send + 'static {
    let filter = MessageFilter {
        from: export.from,
        to: export.to,
        order: Order::Ascending,
        limit: PAGE,
        ..MessageFilter::default()
    };
    let work = Work { store, channel, filter, export, writer: None };
    stream::try_unfold(Some(work), |work| async {
        let Some(mut work) = work else { return Ok(None) };
        let (chunk, more) = work.next().await?;
        Ok(Some((chunk, more.then_some(work))))
    })
}

struct Work {
    store: Store,
    channel: ChannelId,
    filter: MessageFilter,
    export: Export,
    /// Set once the beginning is written.
    writer: Option<ExportWriter>,
}

impl Work {
    /// Returns the next part, and true if another follows.
    async fn next(&mut self) -> Result<(Chunk, bool), TransferError> {
        let Some(writer) = &mut self.writer else {
            let bytes = self.begin().await?;
            return Ok((Chunk { bytes, messages: 0 }, true));
        };
        let page = page(&self.store, &self.channel, &self.filter, self.export.format).await?;
        let messages = page.messages.len();
        let more = page.next.is_some();
        self.filter.after = page.next;
        let verbatim = match self.export.format {
            // The stored content itself is nobody's who reads pseudonyms.
            Format::Jsonl if !self.export.mask.is_on() => {
                verbatim(&self.store, &self.channel, &page.messages).await?
            }
            _ => HashMap::new(),
        };
        let mask = self.export.mask.clone();
        let page = if mask.is_on() {
            // So many texts take a while.
            CALLERS.run(move || shown(page.messages, verbatim, &mask)).await
        } else {
            shown(page.messages, verbatim, &mask)
        };
        let mut bytes = writer.page(page)?;
        if !more {
            let end = writer.end();
            if !end.is_empty() {
                bytes = [bytes, end].concat().into();
            }
        }
        let bytes = masked(&self.export.mask, bytes);
        Ok((Chunk { bytes, messages }, more))
    }

    async fn begin(&mut self) -> Result<Bytes, TransferError> {
        let head = head(&self.store, &self.channel, &self.export).await?;
        let writer = ExportWriter::new(self.export.format, head, &self.export);
        let bytes = writer.begin()?;
        self.writer = Some(writer);
        Ok(masked(&self.export.mask, bytes))
    }
}

/// Reads a page of messages, with what the format shows of them.
pub(super) async fn page(
    store: &Store,
    channel: &ChannelId,
    filter: &MessageFilter,
    format: Format,
) -> Result<MessagePage, TransferError> {
    let mut page = store.messages().list_within(channel, filter, PAGE_BYTES).await?;
    if format != Format::Csv {
        store.messages().add_earlier_texts(channel, &mut page.messages).await?;
    }
    Ok(page)
}

/// Returns the head of a document: the channel, and the gaps that its reader may know of.
pub(super) async fn head(
    store: &Store,
    channel: &ChannelId,
    export: &Export,
) -> Result<Head, TransferError> {
    let Export { from, to, not_before, zone, language, .. } = *export;
    let gaps = store.messages().gaps(channel, from, to).await?;
    let named = store.channels().channel(channel).await?;
    Ok(Head {
        channel: named.map(|channel| export.mask.show(channel)),
        id: channel.as_str().to_owned(),
        gaps: gaps
            .into_iter()
            .filter(|gap| !gap.is_moment())
            .filter_map(|gap| gap.since(not_before))
            .collect(),
        zone,
        language,
    })
}

/// Returns the messages of a page as their reader may see them, each with its verbatim content.
pub(super) fn shown(
    messages: Vec<StoredMessage>,
    mut verbatim: HashMap<MessageId, String>,
    mask: &Mask,
) -> ExportPage {
    let shown = |message: StoredMessage| {
        let content = verbatim.remove(&message.id);
        (mask.show(message), content)
    };
    messages.into_iter().map(shown).collect()
}

/// Exchanges the ids of people in a part of a document. No part ends within an id.
fn masked(mask: &Mask, bytes: Bytes) -> Bytes {
    if !mask.is_on() {
        return bytes;
    }
    // Every format is text.
    let text = str::from_utf8(&bytes).unwrap_or_default();
    mask.outgoing(text).into_owned().into()
}

/// Returns the contents of messages as they are stored, where the message alone does not give them.
pub(super) async fn verbatim(
    store: &Store,
    channel: &ChannelId,
    messages: &[StoredMessage],
) -> Result<HashMap<MessageId, String>, TransferError> {
    let wanted: BTreeSet<(ChannelId, MessageId)> = messages
        .iter()
        .filter(|message| needs_stored(message))
        .map(|message| (channel.clone(), message.id.clone()))
        .collect();
    let mut contents = HashMap::new();
    for message in messages {
        if let Some(content) = &message.content {
            contents.insert(message.id.clone(), serde_json::to_string(content)?);
        }
    }
    if !wanted.is_empty() {
        for (_, id, state) in store.messages().message_states(&wanted).await? {
            contents.extend(state.content.map(|content| (id, content)));
        }
    }
    Ok(contents)
}

/// Returns true if parsing and serialising a message's content again may change its bytes: a
/// fraction may lose its last digit, and an older version may have written other members. Earlier
/// texts, which its bytes are of, too, bring a few more that would not need it.
fn needs_stored(message: &StoredMessage) -> bool {
    let Some(content) = &message.content else { return false };
    message.kind == MessageType::Location
        || (!message.kind.is_media() && jsonl::length(content) != message.bytes)
}
