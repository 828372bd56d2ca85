//! Parts of the page, each with its template in `src/transfer/templates/export/`.

use std::borrow::Cow;

use askama::Template;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_store::StoredMessage;
use chatkeep_view::sanitize::is_visible;

use super::links;

/// The page up to the first message. Its content security policy allows only the page and the
/// files beside it; in a page that is opened as a file, `'self'` alone has no effect.
#[derive(Template)]
#[template(path = "export/head.html")]
pub(super) struct HeadPart<'a> {
    /// Language tag.
    pub(super) language: &'a str,
    pub(super) title: &'a str,
    pub(super) id: &'a str,
    /// Sentence about the zone of all times.
    pub(super) zone: String,
    /// Hint where an export of another form would have the files.
    pub(super) hint: Option<String>,
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
    /// Mark of an edited message.
    pub(super) edited: Option<String>,
    /// Name of the list of earlier texts.
    pub(super) earlier_label: String,
    /// Earlier texts, oldest first.
    pub(super) earlier: Vec<EarlierPart>,
    /// Mark of a message of the bot.
    pub(super) bot: Option<String>,
}

/// Gaps between messages.
#[derive(Template)]
#[template(path = "export/gaps.html")]
pub(super) struct GapsPart {
    pub(super) gaps: Vec<GapRow>,
}

/// The page after the last message.
#[derive(Template)]
#[template(path = "export/foot.html")]
pub(super) struct FootPart {
    pub(super) gaps: Vec<GapRow>,
    /// Number of messages, in words.
    pub(super) count: String,
}

/// Time in which messages were not backed up.
pub(super) struct GapRow {
    pub(super) why: String,
    pub(super) span: String,
    pub(super) skipped: Option<String>,
}

/// Sender above a message.
pub(super) struct SenderLabel {
    pub(super) name: String,
    pub(super) initial: char,
    pub(super) hue: u32,
}

/// Text that a message had before it was edited.
pub(super) struct EarlierPart {
    pub(super) words: String,
    pub(super) written_at: Timestamp,
    /// Local day and time.
    pub(super) time: String,
}

/// Link to the quoted message.
pub(super) struct QuoteLink<'a> {
    pub(super) anchor: String,
    pub(super) words: Cow<'a, str>,
}

/// Content of a message; files with their path from the page.
pub(super) enum MessageBody<'a> {
    Unsent(String),
    Text(Cow<'a, str>),
    Kind(String),
    Image(String),
    Video(String),
    Audio(String),
    File(String, Cow<'a, str>),
}

impl SenderLabel {
    pub(super) fn of(message: &StoredMessage, language: Language) -> Self {
        let sender = message.sender.as_ref();
        let id = sender.map(|sender| sender.id.as_str());
        let name = sender
            .and_then(|sender| sender.display_name.as_deref())
            .filter(|name| is_visible(name));
        let name = name.or(id).filter(|name| !name.is_empty());
        let nobody = if message.is_bot { "bot-name" } else { "sender-unknown" };
        let name = name.map_or_else(|| language.text(nobody), str::to_owned);
        let first = name.chars().find(|c| c.is_alphanumeric()).or_else(|| name.chars().next());
        Self { initial: first.unwrap_or('?'), hue: hue(&name), name }
    }
}

/// Returns the colour of a name, the same each time. One of the id would tell readers of pseudonyms
/// something of it.
fn hue(name: &str) -> u32 {
    name.chars().fold(0_u32, |sum, c| sum.wrapping_mul(31).wrapping_add(u32::from(c))) % 360
}

/// Appends a part of the page, and a line break.
pub(super) fn append(part: &impl Template, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = part.render_into(out);
    out.push('\n');
}
