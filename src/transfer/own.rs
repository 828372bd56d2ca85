//! Export of one person's own messages in all their channels, as a stream: one document for reading,
//! or one JSON object.

use std::collections::VecDeque;

use bytes::Bytes;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_store::{Channel, MessageFilter, Order, Store, StoredMessage};
use chatkeep_view::pseudonyms::{Mask, Masked};
use chatkeep_view::sanitize::is_visible;
use chatkeep_view::{Links, MessageView};
use chrono_tz::Tz;
use futures_util::stream::{self, Stream};
use serde::Serialize;

use super::export::{PAGE, PAGE_BYTES};
use super::format::Head;
use super::html::HtmlPage;
use super::{MediaLinks, TransferError};

/// Format of an export of one's own data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFormat {
    /// Page for reading.
    Html,
    /// One JSON object, for programs.
    Json,
}

impl OwnFormat {
    /// Returns its media type in HTTP.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Json => "application/json",
        }
    }

    /// Returns the extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Json => "json",
        }
    }
}

/// Export of one person's own messages.
#[derive(Clone, Debug)]
pub struct OwnExport {
    /// Format of the document.
    pub format: OwnFormat,
    /// The person.
    pub user: UserId,
    /// Their name, once known.
    pub name: Option<String>,
    /// Earliest time of sending.
    pub not_before: Option<Timestamp>,
    /// Time of the export.
    pub at: Timestamp,
    /// Zone of the times in a document for reading.
    pub zone: Tz,
    /// Language of a document for reading.
    pub language: Language,
    /// Addresses of messages.
    pub links: Links,
}

/// Beginning of the JSON object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnHead<'a> {
    user_id: &'a UserId,
    display_name: Option<&'a str>,
    exported_at: Timestamp,
}

/// Beginning of a channel in the JSON object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChannelHead<'a> {
    channel_id: &'a ChannelId,
    name: Option<&'a str>,
}

/// Writer of either format.
enum Writer {
    Html(Box<HtmlPage>),
    /// True once the first channel or message of its list is written.
    Json {
        channels: bool,
        messages: bool,
        links: Links,
    },
}

/// Part of an export that is due.
enum Due {
    Head,
    Channel,
    Messages(ChannelId, MessageFilter),
    End,
}

struct Work {
    store: Store,
    channels: VecDeque<ChannelId>,
    export: OwnExport,
    writer: Writer,
    due: Due,
}

/// Exports a person's messages in these channels as the bytes of one document.
pub fn own_data(
    store: Store,
    channels: Vec<ChannelId>,
    export: OwnExport,
) -> impl Stream<Item = Result<Bytes, TransferError>> + Send + 'static {
    let writer = Writer::new(&export);
    let work = Work { store, channels: channels.into(), export, writer, due: Due::Head };
    stream::try_unfold(Some(work), |work| async {
        let Some(mut work) = work else { return Ok(None) };
        let (bytes, more) = work.next().await?;
        Ok(Some((bytes, more.then_some(work))))
    })
}

impl Work {
    /// Returns the next part, and true if another follows.
    async fn next(&mut self) -> Result<(Bytes, bool), TransferError> {
        match std::mem::replace(&mut self.due, Due::Channel) {
            Due::Head => Ok((self.writer.head(&self.export)?, true)),
            Due::Channel => self.channel().await,
            Due::Messages(channel, filter) => self.messages(channel, filter).await,
            Due::End => Ok((self.writer.end(), false)),
        }
    }

    async fn channel(&mut self) -> Result<(Bytes, bool), TransferError> {
        let Some(id) = self.channels.pop_front() else {
            self.due = Due::End;
            return Ok((Bytes::new(), true));
        };
        let channel = self.store.channels().channel(&id).await?;
        let bytes = self.writer.channel(&id, channel.as_ref())?;
        let filter = MessageFilter {
            from: self.export.not_before,
            sender: Some(self.export.user.clone()),
            order: Order::Ascending,
            limit: PAGE,
            ..MessageFilter::default()
        };
        self.due = Due::Messages(id, filter);
        Ok((bytes, true))
    }

    async fn messages(
        &mut self,
        channel: ChannelId,
        mut filter: MessageFilter,
    ) -> Result<(Bytes, bool), TransferError> {
        let mut page = self.store.messages().list_within(&channel, &filter, PAGE_BYTES).await?;
        self.store.messages().add_earlier_texts(&channel, &mut page.messages).await?;
        let mut bytes = self.writer.messages(Mask::none().show_all(page.messages))?;
        if page.next.is_some() {
            filter.after = page.next;
            self.due = Due::Messages(channel, filter);
        } else {
            bytes.extend_from_slice(self.writer.channel_end());
        }
        Ok((bytes.into(), true))
    }
}

impl Writer {
    fn new(export: &OwnExport) -> Self {
        match export.format {
            OwnFormat::Json => {
                Self::Json { channels: false, messages: false, links: export.links.clone() }
            }
            OwnFormat::Html => {
                let name = export.name.clone().filter(|name| is_visible(name));
                let id = name.unwrap_or_else(|| export.user.as_str().to_owned());
                let OwnExport { zone, language, .. } = *export;
                let head = Head { channel: None, id, gaps: Vec::new(), zone, language };
                let page = HtmlPage::new(head, MediaLinks::None, export.links.clone());
                Self::Html(Box::new(page.without_hint()))
            }
        }
    }

    fn head(&self, export: &OwnExport) -> Result<Bytes, TransferError> {
        let head = match self {
            Self::Html(page) => return Ok(page.head().into()),
            Self::Json { .. } => OwnHead {
                user_id: &export.user,
                display_name: export.name.as_deref(),
                exported_at: export.at,
            },
        };
        Ok(opened(&head, "channels")?.into())
    }

    fn channel(
        &mut self,
        id: &ChannelId,
        channel: Option<&Channel>,
    ) -> Result<Bytes, TransferError> {
        let name = channel.and_then(|channel| channel.name.as_deref());
        match self {
            Self::Html(page) => {
                let name = name.filter(|name| is_visible(name));
                Ok(page.section(name.unwrap_or(id.as_str())).into())
            }
            Self::Json { channels, messages, .. } => {
                *messages = false;
                let mut out = separated(channels);
                out.extend(opened(&ChannelHead { channel_id: id, name }, "messages")?);
                Ok(out.into())
            }
        }
    }

    fn messages(&mut self, page: Vec<Masked<StoredMessage>>) -> Result<Vec<u8>, TransferError> {
        match self {
            Self::Html(html) => {
                let mut out = String::new();
                for message in &page {
                    html.message(message, &mut out);
                }
                Ok(out.into_bytes())
            }
            Self::Json { messages, links, .. } => {
                let mut out = Vec::with_capacity(page.len() * 512);
                for message in page {
                    out.extend(separated(messages));
                    let view = MessageView::new(message, links);
                    serde_json::to_writer(&mut out, &view)?;
                }
                Ok(out)
            }
        }
    }

    const fn channel_end(&self) -> &'static [u8] {
        match self {
            Self::Html(_) => b"",
            Self::Json { .. } => b"]}",
        }
    }

    fn end(&mut self) -> Bytes {
        match self {
            Self::Html(page) => page.foot().into(),
            Self::Json { .. } => Bytes::from_static(b"]}\n"),
        }
    }
}

/// Returns an object that ends with an open list of that name.
fn opened(head: &impl Serialize, list: &str) -> Result<Vec<u8>, TransferError> {
    let mut out = serde_json::to_vec(head)?;
    out.pop();
    out.extend_from_slice(format!(",\"{list}\":[").as_bytes());
    Ok(out)
}

/// Returns what stands before an element of a list, which is not empty from then on.
fn separated(begun: &mut bool) -> Vec<u8> {
    if std::mem::replace(begun, true) { b",\n".to_vec() } else { b"\n".to_vec() }
}
