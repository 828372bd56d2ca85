//! Exports for reading: one page that needs nothing but a browser. It runs no script and fetches
//! nothing from elsewhere; media files are beside it, or left out.

mod escape;

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Gap, StoredMessage};
use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;

use self::escape::{anchor, push, push_linked};
use super::MediaLinks;
use super::format::Head;

const STYLE: &str = include_str!("style.css");

/// Content security policy: only the page and the files beside it; from a file, `'self'` alone has
/// no effect.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file:; \
                      media-src 'self' file:; base-uri 'none'; form-action 'none'";

/// Number of messages whose beginning is retained for quotes.
const REMEMBERED: usize = 5_000;
/// Maximum length of a quoted message in characters.
const QUOTED: usize = 120;
/// Time within which messages of one person are grouped without repeating the name, in
/// milliseconds.
const TOGETHER: i64 = 5 * 60 * 1_000;

/// Page under construction.
pub(in crate::transfer) struct HtmlPage {
    title: String,
    id: String,
    zone: Tz,
    media: MediaLinks,
    gaps: VecDeque<Gap>,
    day: Option<NaiveDate>,
    /// Last sender, and the time.
    last: Option<(String, Timestamp)>,
    recent: HashMap<MessageId, String>,
    order: VecDeque<MessageId>,
    count: u64,
}

impl HtmlPage {
    pub(in crate::transfer) fn new(head: Head, media: MediaLinks) -> Self {
        let title =
            head.channel.and_then(|channel| channel.name).unwrap_or_else(|| head.id.clone());
        Self {
            title,
            id: head.id,
            zone: head.zone,
            media,
            gaps: head.gaps.into(),
            day: None,
            last: None,
            recent: HashMap::new(),
            order: VecDeque::new(),
            count: 0,
        }
    }

    /// Returns the part up to the first message.
    pub(in crate::transfer) fn head(&self) -> String {
        let mut out = String::with_capacity(STYLE.len() + 1_024);
        // The languages of a chat are not known, so none is declared.
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"und\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>"
        );
        push(&mut out, &self.title);
        let _ = write!(out, "</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>");
        push(&mut out, &self.title);
        out.push_str("</h1>\n<p>");
        push(&mut out, &self.id);
        let _ = writeln!(out, " · times in {}</p>", self.zone.name());
        if matches!(self.media, MediaLinks::None) {
            let hint = "Without pictures, videos and files: an export into a folder or a .zip has \
                        them.";
            let _ = writeln!(out, "<p>{hint}</p>");
        }
        out.push_str("</header>\n<main>\n");
        out
    }

    /// Returns the part after the last message.
    pub(in crate::transfer) fn foot(&mut self) -> String {
        let mut out = String::new();
        self.gaps_until(None, &mut out);
        let _ =
            write!(out, "</main>\n<footer>{} messages</footer>\n</body>\n</html>\n", self.count);
        out
    }

    /// Appends one message with the day and the gaps before it.
    pub(in crate::transfer) fn message(&mut self, message: &StoredMessage, out: &mut String) {
        self.gaps_until(Some(message.sent_at), out);
        let time = self.local(message.sent_at);
        if self.day != Some(time.date_naive()) {
            self.day = Some(time.date_naive());
            self.last = None;
            let _ = writeln!(out, "<h2>{}</h2>", time.format("%Y-%m-%d"));
        }
        let nobody = if message.is_bot { "Bot" } else { "" };
        let who = message.sender.as_ref().map_or(nobody, |sender| sender.id.as_str());
        let follows = self.last.as_ref().is_some_and(|(last, at)| {
            last == who && message.sent_at.millis() - at.millis() < TOGETHER
        });
        let _ = write!(
            out,
            "<article id=\"{}\" class=\"{}{}\">",
            anchor(message.id.as_str()),
            if follows { "more" } else { "first" },
            if message.is_bot { " bot" } else { "" }
        );
        if !follows {
            sender(message, who, out);
        }
        out.push_str("<div class=\"says\">");
        self.quote(message, out);
        self.body(message, out);
        self.meta(message, out);
        out.push_str("</div></article>\n");
        self.last = Some((who.to_owned(), message.sent_at));
        self.remember(message);
        self.count += 1;
    }

    fn local(&self, at: Timestamp) -> DateTime<Tz> {
        DateTime::<Utc>::from_timestamp_millis(at.millis())
            .unwrap_or_default()
            .with_timezone(&self.zone)
    }

    /// Appends the gaps that began before a time, or all remaining ones.
    fn gaps_until(&mut self, before: Option<Timestamp>, out: &mut String) {
        let due = |gap: &mut Gap| before.is_none_or(|before| gap.from <= before);
        while let Some(gap) = self.gaps.pop_front_if(due) {
            let shown = |at: Timestamp| self.local(at).format("%Y-%m-%d %H:%M").to_string();
            let until = gap.to.map_or_else(|| "…".to_owned(), shown);
            let _ = write!(out, "<p class=\"gap\">Not kept: {} – {until} (", shown(gap.from));
            push(out, &gap.reason);
            if let Some(skipped) = gap.skipped.filter(|skipped| *skipped > 0) {
                let _ = write!(out, ", {skipped} messages");
            }
            out.push_str(")</p>\n");
            self.last = None;
        }
    }

    fn quote(&self, message: &StoredMessage, out: &mut String) {
        let Some(quoted) = &message.quoted else { return };
        let _ = write!(out, "<a class=\"quote\" href=\"#{}\">", anchor(quoted.as_str()));
        match self.recent.get(quoted.as_str()) {
            Some(words) => push(out, words),
            None => out.push_str("↩ an earlier message"),
        }
        out.push_str("</a>");
    }

    fn body(&self, message: &StoredMessage, out: &mut String) {
        let Some(content) = &message.content else {
            out.push_str("<p class=\"gone\">Message unsent</p>");
            return;
        };
        match content {
            Content::Text { text, .. } => text_of(text, out),
            Content::Image(info)
            | Content::Video(info)
            | Content::Audio(info)
            | Content::File(info) => self.file(message, info, out),
            Content::Location { title, address, latitude, longitude } => {
                let place: Vec<_> =
                    [title, address].into_iter().flatten().map(String::as_str).collect();
                text_of(&format!("📍 {}\n{latitude}, {longitude}", place.join(" · ")), out);
            }
            Content::Sticker(sticker) => match &sticker.text {
                Some(text) => text_of(text, out),
                None => kind_of("Sticker", out),
            },
            Content::Other { .. } => kind_of("A message of another kind", out),
        }
    }

    fn file(&self, message: &StoredMessage, info: &MediaInfo, out: &mut String) {
        let name = info.file_name.as_deref();
        let Some(path) = self.media.path(message) else {
            let kind = media_name(message.kind);
            let status = message.media_status().unwrap_or_default();
            kind_of(
                &[Some(kind), name, Some(status)]
                    .into_iter()
                    .flatten()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(" · "),
                out,
            );
            return;
        };
        let mut link = String::new();
        push(&mut link, &path);
        let _ = match message.kind {
            MessageType::Image => {
                write!(out, "<a href=\"{link}\"><img loading=\"lazy\" alt=\"\" src=\"{link}\"></a>")
            }
            MessageType::Video => {
                write!(out, "<video controls preload=\"none\" src=\"{link}\"></video>")
            }
            MessageType::Audio => {
                write!(out, "<audio controls preload=\"none\" src=\"{link}\"></audio>")
            }
            _ => {
                let _ = write!(out, "<a download href=\"{link}\">📎 ");
                push(out, name.unwrap_or(&path));
                write!(out, "</a>")
            }
        };
    }

    fn meta(&self, message: &StoredMessage, out: &mut String) {
        let time = self.local(message.sent_at);
        let _ = write!(
            out,
            "<span class=\"meta\"><a href=\"#{}\"><time datetime=\"{}\">{}</time></a>",
            anchor(message.id.as_str()),
            message.sent_at,
            time.format("%H:%M")
        );
        if message.edited_at.is_some() {
            out.push_str(" · edited");
        }
        if message.is_bot {
            out.push_str(" · bot");
        }
        out.push_str("</span>");
    }

    /// Stores the beginning of a message for those that quote it.
    fn remember(&mut self, message: &StoredMessage) {
        let words = message.content.as_ref().and_then(Content::searchable);
        let words = words.unwrap_or_else(|| media_name(message.kind).to_owned());
        let mut short: String = words.chars().take(QUOTED).collect();
        if short.len() < words.len() {
            short.push('…');
        }
        let name = message.sender.as_ref().and_then(|sender| sender.display_name.as_deref());
        let shown = name.map_or_else(|| short.clone(), |name| format!("{name}: {short}"));
        self.recent.insert(message.id.clone(), shown);
        self.order.push_back(message.id.clone());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.recent.remove(oldest.as_str());
        }
    }
}

fn sender(message: &StoredMessage, who: &str, out: &mut String) {
    let name = message.sender.as_ref().and_then(|sender| sender.display_name.as_deref());
    let name = name.unwrap_or(who);
    let initial: String = name.chars().take(1).collect();
    // Any number that is the same each time.
    let hue = ChannelId::from(who).shard() * 37 % 360;
    let _ = write!(out, "<div class=\"who\" style=\"--hue:{hue}\" aria-hidden=\"true\">");
    push(out, if initial.is_empty() { "?" } else { &initial });
    out.push_str("</div><div><p class=\"name\">");
    push(out, if name.is_empty() { "Unknown" } else { name });
    out.push_str("</p></div>");
}

fn text_of(text: &str, out: &mut String) {
    out.push_str("<p class=\"text\" dir=\"auto\">");
    push_linked(out, text);
    out.push_str("</p>");
}

fn kind_of(kind: &str, out: &mut String) {
    out.push_str("<p class=\"kind\">");
    push(out, kind);
    out.push_str("</p>");
}

const fn media_name(kind: MessageType) -> &'static str {
    match kind {
        MessageType::Image => "🖼 Photo",
        MessageType::Video => "🎬 Video",
        MessageType::Audio => "🎤 Voice message",
        MessageType::File => "📎 File",
        MessageType::Sticker => "Sticker",
        MessageType::Location => "📍 Location",
        MessageType::Text | MessageType::Other => "…",
    }
}
