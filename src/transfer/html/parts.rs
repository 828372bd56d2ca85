//! Parts of the page, each with its template in `src/transfer/templates/export/`.

use std::borrow::Cow;

use askama::Template;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::StoredMessage;

use super::links;

/// The page up to the first message. Its content security policy allows only the page and the
/// files beside it; in a page that is opened as a file, `'self'` alone has no effect.
#[derive(Template)]
#[template(path = "export/head.html")]
pub(super) struct HeadPart<'a> {
    pub(super) title: &'a str,
    pub(super) id: &'a str,
    pub(super) zone: &'a str,
    /// True where an export of another form would have the files.
    pub(super) hints_at_files: bool,
}

/// Heading of a channel's messages, in a page about several.
#[derive(Template)]
#[template(path = "export/section.html")]
pub(super) struct SectionPart<'a> {
    pub(super) title: &'a str,
}

/// Message with the day and the gaps before it.
#[derive(Template)]
#[template(path = "export/message.html")]
pub(super) struct MessagePart<'a> {
    pub(super) gaps: Vec<GapRow>,
    /// Day that begins with it.
    pub(super) day: Option<String>,
    pub(super) anchor: String,
    /// Address of the message's own page, where the service has a public address.
    pub(super) link: Option<String>,
    /// `None` if it follows one of the same sender.
    pub(super) sender: Option<SenderLabel>,
    pub(super) quote: Option<QuoteLink<'a>>,
    pub(super) body: MessageBody<'a>,
    pub(super) sent_at: Timestamp,
    /// Local time of day.
    pub(super) time: String,
    pub(super) is_edited: bool,
    pub(super) is_bot: bool,
}

/// The page after the last message.
#[derive(Template)]
#[template(path = "export/foot.html")]
pub(super) struct FootPart {
    pub(super) gaps: Vec<GapRow>,
    pub(super) count: u64,
}

/// Time in which messages were not backed up.
pub(super) struct GapRow {
    pub(super) from: String,
    pub(super) until: String,
    pub(super) reason: String,
    pub(super) skipped: Option<i64>,
}

/// Sender above a message.
pub(super) struct SenderLabel {
    pub(super) name: String,
    pub(super) initial: char,
    pub(super) hue: u32,
}

/// Link to the quoted message.
pub(super) struct QuoteLink<'a> {
    pub(super) anchor: String,
    pub(super) words: &'a str,
}

/// Content of a message; files with their path from the page.
pub(super) enum MessageBody<'a> {
    Unsent,
    Text(Cow<'a, str>),
    Kind(String),
    Image(String),
    Video(String),
    Audio(String),
    File(String, Cow<'a, str>),
}

impl SenderLabel {
    pub(super) fn of(message: &StoredMessage, who: &str) -> Self {
        let name = message.sender.as_ref().and_then(|sender| sender.display_name.as_deref());
        let name = name.unwrap_or(who);
        Self {
            initial: name.chars().next().unwrap_or('?'),
            name: if name.is_empty() { "Unknown" } else { name }.to_owned(),
            // Any number that is the same each time.
            hue: ChannelId::from(who).shard() * 37 % 360,
        }
    }
}

/// Appends a part of the page, and a line break.
pub(super) fn append(part: &impl Template, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = part.render_into(out);
    out.push('\n');
}
