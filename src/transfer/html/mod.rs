//! Exports for reading: one page that needs nothing but a browser. It runs no script and fetches
//! nothing from elsewhere; media files are beside it, or left out.

mod links;
mod parts;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, EarlierText, MediaInfo, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{DateForm, Language};
use chatkeep_index::cut::shortened;
use chatkeep_store::{Gap, MediaReason, MediaRecord, StoredMessage};
use chatkeep_view::Links;
use chatkeep_view::sanitize::is_visible;
use chatkeep_view::when::local_time;
use chrono::{DateTime, NaiveDate};
use chrono_tz::Tz;

use self::links::anchor;
use self::parts::{
    EarlierPart, FootPart, GapRow, GapsPart, HeadPart, MessageBody, MessagePart, QuoteLink,
    SectionPart, SenderLabel, append,
};
use super::MediaLinks;
use super::format::Head;

/// Number of messages whose beginning is retained for quotes.
const REMEMBERED: usize = 5_000;
/// Maximum length of a quoted message in characters.
const QUOTED: usize = 120;
/// Time within which messages of one person are grouped without repeating the name, in
/// milliseconds.
const TOGETHER: i64 = 5 * 60 * 1_000;

/// Page under construction.
pub(crate) struct HtmlPage {
    title: String,
    id: String,
    zone: Tz,
    language: Language,
    media: MediaLinks,
    /// True where an export of another form would have the files.
    hints_at_files: bool,
    /// Addresses of the messages' own pages.
    links: Links,
    gaps: VecDeque<Gap>,
    day: Option<NaiveDate>,
    /// Last sender, and the time.
    last: Option<(String, Timestamp)>,
    recent: HashMap<MessageId, String>,
    order: VecDeque<MessageId>,
    count: u64,
}

impl HtmlPage {
    pub(crate) fn new(head: Head, media: MediaLinks, links: Links) -> Self {
        let hints_at_files = matches!(media, MediaLinks::None);
        let title = head
            .channel
            .and_then(|channel| channel.into_row().name)
            .filter(|name| is_visible(name))
            .unwrap_or_else(|| head.id.clone());
        Self {
            title,
            id: head.id,
            zone: head.zone,
            language: head.language,
            media,
            hints_at_files,
            links,
            gaps: head.gaps.into(),
            day: None,
            last: None,
            recent: HashMap::new(),
            order: VecDeque::new(),
            count: 0,
        }
    }

    /// Returns the page of somebody who has no other form of export, for whom a hint at one would
    /// be wrong.
    pub(crate) const fn without_hint(mut self) -> Self {
        self.hints_at_files = false;
        self
    }

    /// Returns the page of a part that follows that many messages, the last one sent at that time. Its
    /// messages depend on none before: days and names stand there anew, and what they quote of an
    /// earlier part is a link, for any part may be written again without the others.
    pub(crate) fn following(mut self, messages: u64, last: Timestamp) -> Self {
        self.count = messages;
        self.gaps.retain(|gap| gap.from > last);
        self
    }

    /// Returns the part up to the first message.
    pub(crate) fn head(&self) -> String {
        let language = self.language;
        let hint = self.hints_at_files.then(|| language.text("page-without-files"));
        let zone = language.format("page-zone", &[("zone", self.zone.name().into())]);
        let (title, id) = (&self.title, &self.id);
        let head = HeadPart { language: language.tag(), title, id, zone, hint };
        let mut out = String::new();
        append(&head, &mut out);
        out
    }

    /// Returns the part after the last message.
    pub(crate) fn foot(&mut self) -> String {
        let mut out = String::new();
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        let count = self.language.format("page-count", &[("count", count.into())]);
        append(&FootPart { gaps: self.gaps_until(None), count }, &mut out);
        out
    }

    /// Returns the gaps that began before a time and that no message has shown yet.
    pub(crate) fn gaps(&mut self, before: Timestamp) -> String {
        let mut out = String::new();
        append(&GapsPart { gaps: self.gaps_until(Some(before)) }, &mut out);
        out
    }

    /// Returns the heading of a channel's messages, in a page about several.
    pub(crate) fn section(&mut self, title: &str) -> String {
        (self.day, self.last) = (None, None);
        let mut out = String::new();
        append(&SectionPart { title }, &mut out);
        out
    }

    /// Appends one message with the day and the gaps before it.
    pub(crate) fn message(&mut self, message: &StoredMessage, out: &mut String) {
        let gaps = self.gaps_until(Some(message.sent_at));
        let time = self.local(message.sent_at);
        let day = time.date_naive();
        let is_new_day = self.day.replace(day) != Some(day);
        if is_new_day {
            self.last = None;
        }
        let language = self.language;
        let nobody = if message.is_bot { "Bot" } else { "" };
        let who = message.sender.as_ref().map_or(nobody, |sender| sender.id.as_str());
        let follows = self.last.as_ref().is_some_and(|(last, at)| {
            last == who && message.sent_at.millis().saturating_sub(at.millis()) < TOGETHER
        });
        let part = MessagePart {
            gaps,
            day: is_new_day.then(|| language.date(DateForm::Long, day)),
            anchor: anchor(message.id.as_str()),
            link: self.links.message(&message.channel, &message.id),
            sender: (!follows).then(|| SenderLabel::of(message, language)),
            quote: self.quote(message),
            body: self.body(message),
            sent_at: message.sent_at,
            time: time.format("%H:%M").to_string(),
            edited: message.edited_at.is_some().then(|| language.text("mark-edited")),
            earlier_label: language.text("page-earlier-texts"),
            earlier: message
                .earlier_texts
                .as_slice()
                .iter()
                .map(|text| self.earlier(text))
                .collect(),
            bot: message.is_bot.then(|| language.text("bot-name")),
        };
        append(&part, out);
        self.last = Some((who.to_owned(), message.sent_at));
        self.remember(message);
        self.count += 1;
    }

    fn earlier(&self, text: &EarlierText) -> EarlierPart {
        let content = text.parsed();
        let words = content.as_ref().and_then(Content::legible);
        EarlierPart {
            words: words
                .unwrap_or_else(|| self.kind(content.map_or(MessageType::Other, |c| c.kind()))),
            written_at: text.at,
            time: self.moment(text.at),
        }
    }

    /// Returns a date and time. The year is always there: a page is read for years.
    fn moment(&self, at: Timestamp) -> String {
        let local = self.local(at);
        let date = self.language.date(DateForm::Year, local.date_naive());
        format!("{date} {}", local.format("%H:%M"))
    }

    fn local(&self, at: Timestamp) -> DateTime<Tz> {
        local_time(self.zone, at)
    }

    /// Removes and returns the gaps that began before a time, or all remaining ones, joined as no
    /// message stands between them.
    fn gaps_until(&mut self, before: Option<Timestamp>) -> Vec<GapRow> {
        let due = |gap: &mut Gap| before.is_none_or(|before| gap.from <= before);
        let gaps = Gap::joined(std::iter::from_fn(|| self.gaps.pop_front_if(due)));
        if !gaps.is_empty() {
            self.last = None;
        }
        let language = self.language;
        let row = |gap: Gap| {
            let (from, to) = (self.moment(gap.from), gap.to.map(|to| self.moment(to)));
            let skipped = gap.skipped.filter(|skipped| *skipped > 0);
            GapRow {
                why: language.text(&format!("gap-{}", gap.reason.name())),
                span: match &to {
                    Some(to) => {
                        language.format("gap-until", &[("from", (&from).into()), ("to", to.into())])
                    }
                    None => language.format("gap-since", &[("from", (&from).into())]),
                },
                skipped: skipped
                    .map(|count| language.format("gap-skipped", &[("count", count.into())])),
            }
        };
        gaps.into_iter().map(row).collect()
    }

    fn quote(&self, message: &StoredMessage) -> Option<QuoteLink<'_>> {
        let quoted = message.quoted.as_ref()?;
        let words = self.recent.get(quoted.as_str()).map(Cow::from);
        let earlier = || format!("↩ {}", self.language.text("page-earlier")).into();
        Some(QuoteLink { anchor: anchor(quoted.as_str()), words: words.unwrap_or_else(earlier) })
    }

    fn body<'a>(&self, message: &'a StoredMessage) -> MessageBody<'a> {
        let Some(content) = &message.content else {
            return MessageBody::Unsent(self.language.text("message-unsent"));
        };
        match content {
            Content::Text { text, .. } => MessageBody::Text(text.into()),
            Content::Image(info)
            | Content::Video(info)
            | Content::Audio(info)
            | Content::File(info) => self.file(message, info),
            Content::Location { title, address, latitude, longitude } => {
                let place: Vec<_> =
                    [title, address].into_iter().flatten().map(String::as_str).collect();
                let place = place.join(" · ");
                MessageBody::Text(format!("📍 {place}\n{latitude}, {longitude}").into())
            }
            Content::Sticker(sticker) => match &sticker.text {
                Some(text) => MessageBody::Text(text.into()),
                None => MessageBody::Kind(self.kind(message.kind)),
            },
            Content::Other { .. } => MessageBody::Kind(self.kind(message.kind)),
        }
    }

    fn file<'a>(&self, message: &StoredMessage, info: &'a MediaInfo) -> MessageBody<'a> {
        let name = info.file_name.as_deref().filter(|name| is_visible(name));
        let Some(path) = self.media.path(message) else {
            let is_left_out =
                |record: &MediaRecord| record.reason == Some(MediaReason::NotInExport);
            let status = match &message.media {
                Some(record) if is_left_out(record) => Some("media-not-in-import".to_owned()),
                record => record.as_ref().map(|one| format!("media-{}", one.status.name())),
            };
            // Nothing is wrong with a file that is stored.
            let status = status.filter(|key| self.language.has(key));
            let status = status.map(|key| self.language.text(&key));
            let parts = [Some(self.kind(message.kind)), name.map(str::to_owned), status];
            let parts: Vec<_> = parts.into_iter().flatten().collect();
            return MessageBody::Kind(parts.join(" · "));
        };
        match message.kind {
            MessageType::Image => MessageBody::Image(path),
            MessageType::Video => MessageBody::Video(path),
            MessageType::Audio => MessageBody::Audio(path),
            _ => {
                let name = name.map_or_else(|| path.clone().into(), Cow::Borrowed);
                MessageBody::File(path, name)
            }
        }
    }

    /// Returns the name of a kind of message.
    fn kind(&self, kind: MessageType) -> String {
        let (sign, key) = match kind {
            MessageType::Text => ("", "kind-text"),
            MessageType::Image => ("🖼 ", "kind-image"),
            MessageType::Video => ("🎬 ", "kind-video"),
            MessageType::Audio => ("🎤 ", "kind-audio"),
            MessageType::File => ("📎 ", "kind-file"),
            MessageType::Sticker => ("", "kind-sticker"),
            MessageType::Location => ("📍 ", "kind-location"),
            MessageType::Other => ("", "kind-other"),
        };
        format!("{sign}{}", self.language.text(key))
    }

    /// Stores the beginning of a message for those that quote it.
    fn remember(&mut self, message: &StoredMessage) {
        let words = message.content.as_ref().and_then(Content::searchable);
        let words = words.unwrap_or_else(|| self.kind(message.kind).into());
        let short = shortened(&words, QUOTED);
        let name = message.sender.as_ref().and_then(|sender| sender.display_name.as_deref());
        let name = name.filter(|name| is_visible(name));
        let shown = name.map_or_else(|| short.to_string(), |name| format!("{name}: {short}"));
        self.recent.insert(message.id.clone(), shown);
        self.order.push_back(message.id.clone());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.recent.remove(oldest.as_str());
        }
    }
}

#[cfg(test)]
mod page_tests;

#[cfg(test)]
mod tests {
    use chatkeep_core::message::EarlierTexts;
    use chatkeep_store::GapReason;

    use super::*;

    fn sent_at(millis: i64) -> StoredMessage {
        StoredMessage {
            channel: "C1".into(),
            id: "m1".into(),
            sent_at: Timestamp::from_millis(millis),
            backed_up_at: Timestamp::from_millis(5),
            sender: None,
            kind: MessageType::Text,
            content: Some(Content::text("hello")),
            bytes: 5,
            quoted: None,
            edited_at: None,
            unsent_at: None,
            is_bot: false,
            reply: None,
            earlier_texts: EarlierTexts::default(),
            media: None,
        }
    }

    #[test]
    fn earlier_texts_are_texts() {
        let (gaps, language) = (Vec::new(), Language::English);
        let zone = "Asia/Taipei".parse().unwrap();
        let head = Head { channel: None, id: "C1".to_owned(), gaps, zone, language };
        let mut page = HtmlPage::new(head, MediaLinks::None, Links::default());
        let text = |at, text: &str| EarlierText {
            at: Timestamp::from_millis(at),
            content: serde_json::to_string(&Content::text(text)).unwrap(),
        };
        let earlier_texts = [text(60_000, "<b>second</b>"), text(0, "first")].into_iter().collect();
        let mut out = String::new();
        page.message(&StoredMessage { earlier_texts, ..sent_at(0) }, &mut out);
        let (first, second) = (out.find("first").unwrap(), out.find("second").unwrap());
        assert!(first < second && out.contains("1\u{a0}Jan 1970 08:01"), "{out}");
        assert!(!out.contains("<b>"), "{out}");
    }

    #[test]
    fn dates_are_those_of_the_reader() {
        let shown = |language| {
            let zone = "Asia/Taipei".parse().unwrap();
            let gaps = vec![Gap {
                from: Timestamp::from_millis(0),
                to: Some(Timestamp::from_millis(3_600_000)),
                reason: GapReason::Outage,
                skipped: None,
            }];
            let head = Head { channel: None, id: "C1".to_owned(), gaps, zone, language };
            let mut page = HtmlPage::new(head, MediaLinks::None, Links::default());
            let mut out = String::new();
            page.message(&sent_at(86_400_000), &mut out);
            out
        };
        for (language, day, gap) in [
            (Language::English, "Fri, 2 Jan 1970", "1\u{a0}Jan 1970 08:00 – 1\u{a0}Jan 1970 09:00"),
            (
                Language::TraditionalChinese,
                "1970年1月2日（五）",
                "1970年1月1日 08:00～1970年1月1日 09:00",
            ),
            (Language::Thai, "ศ. 2 ม.ค. 2513", "1\u{a0}ม.ค. 2513 08:00"),
        ] {
            let page = shown(language);
            assert!(page.contains(&format!("<h2>{day}</h2>")) && page.contains(gap), "{page}");
        }
    }

    #[test]
    fn every_stored_time_is_shown() {
        let zone = "Asia/Taipei".parse().unwrap();
        let (gaps, language) = (Vec::new(), Language::English);
        let head = Head { channel: None, id: "C1".to_owned(), gaps, zone, language };
        let mut page = HtmlPage::new(head, MediaLinks::None, Links::default());
        let mut shown = |millis: i64| {
            let mut out = String::new();
            page.message(&sent_at(millis), &mut out);
            out
        };
        let first = shown(i64::MIN);
        assert!(first.contains("Sat, 1 Jan 0<") && first.contains("00:00"), "{first}");
        // Chrono's last second, which it cannot show east of London, and one that it does not know.
        let last = shown(8_210_266_876_799_000);
        assert!(last.contains("Fri, 31 Dec 9999") && last.contains("23:59"), "{last}");
        assert!(shown(i64::MAX).contains("23:59"));
    }
}
