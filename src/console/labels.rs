//! Labels of people, messages and amounts, and the addresses of messages on pages.

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MessageType};
use chatkeep_i18n::{Language, Value};
use chatkeep_index::cut;
use chatkeep_store::{MediaReason, MediaRecord, MediaStatus, StoredMessage};
use chatkeep_view::sanitize::is_visible;
use chatkeep_view::{channel_path, segment};
use chrono_tz::Tz;
use sha2::{Digest as _, Sha256};

use super::picture::person_picture;

/// Number of colours of people.
const HUES: u8 = 8;
/// Maximum number of people that a filter offers; whom it has chosen is one of them.
pub(super) const PEOPLE: usize = 100;

/// Returns a name, if something of it can be seen.
pub(super) fn visible(name: Option<String>) -> Option<String> {
    name.filter(|name| is_visible(name))
}

/// Returns the name that a person is shown with.
pub(super) fn person_name(name: Option<String>, language: Language) -> String {
    visible(name).unwrap_or_else(|| language.text("name-unknown"))
}

/// Returns the name that a chat is shown with.
pub(super) fn chat_name(name: Option<String>, language: Language) -> String {
    visible(name).unwrap_or_else(|| language.text("chat-nameless"))
}

/// Returns the name of a message's sender as a page shows it.
pub(super) fn name_of(message: &StoredMessage, language: Language) -> String {
    if message.is_bot {
        return language.text("bot-name");
    }
    match &message.sender {
        Some(sender) => person_name(sender.display_name.clone(), language),
        None => language.text("sender-unknown"),
    }
}

/// Returns the address of the picture of a message's sender.
pub(super) fn picture_of(message: &StoredMessage) -> Option<String> {
    let sender = message.sender.as_ref()?;
    person_picture(&message.channel, &sender.id, sender.picture_url.as_deref())
}

/// Returns one line about the content of a message.
pub(super) fn summary(message: &StoredMessage, language: Language) -> String {
    let Some(content) = message.content.as_ref().filter(|_| message.unsent_at.is_none()) else {
        return language.text(gone(message));
    };
    let words = match content {
        Content::Text { text, .. } => visible(Some(text.clone())),
        Content::File(media) => visible(media.file_name.clone()),
        Content::Location { title, .. } => visible(title.clone()),
        Content::Sticker(sticker) => visible(sticker.text.clone()),
        _ => None,
    };
    words.unwrap_or_else(|| language.text(kind_key(message.kind)))
}

/// Returns the key of the sentence about a message without content: its sender is known as long as
/// it was only unsent.
pub(super) fn gone(message: &StoredMessage) -> &'static str {
    if message.sender.is_some() || message.is_bot { "message-unsent" } else { "message-erased" }
}

/// Returns the key of the name of a type.
pub(super) const fn kind_key(kind: MessageType) -> &'static str {
    match kind {
        MessageType::Text => "kind-text",
        MessageType::Image => "kind-image",
        MessageType::Video => "kind-video",
        MessageType::Audio => "kind-audio",
        MessageType::File => "kind-file",
        MessageType::Location => "kind-location",
        MessageType::Sticker => "kind-sticker",
        MessageType::Other => "kind-other",
    }
}

/// Returns the first words of a text, on one line.
pub(super) fn shortened(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut::shortened(&line, max).into_owned()
}

/// Returns the key of the sentence about a file that is not stored; `None` for one of which nothing is
/// known yet.
pub(super) fn missing_key(record: Option<&MediaRecord>) -> String {
    record.map_or_else(
        || lost_key(MediaStatus::Pending, None),
        |record| lost_key(record.status, record.reason),
    )
}

/// Returns the key of the sentence about files of that status, for that reason.
pub(super) fn lost_key(status: MediaStatus, reason: Option<MediaReason>) -> String {
    match reason {
        // Nobody ever had it, whatever its status.
        Some(MediaReason::NotInExport) => "media-not-in-import".to_owned(),
        _ => format!("media-{}", status.name()),
    }
}

/// Returns the character that stands for a name.
pub(super) fn initial(name: &str) -> String {
    let first = name.chars().find(|character| character.is_alphanumeric());
    first.or_else(|| name.chars().next()).map_or_else(String::new, |c| c.to_uppercase().collect())
}

/// Returns the colour of an id, the same everywhere.
pub(super) fn hue(id: &str) -> u8 {
    Sha256::digest(id.as_bytes())[0] % HUES
}

/// Returns the name of a message's element on a page.
pub(super) fn anchor(message: &MessageId) -> String {
    format!("m-{}", segment(message.as_str()))
}

/// Returns the path of the conversation around a message.
pub(super) fn context_path(channel: &ChannelId, message: &MessageId) -> String {
    let around = segment(message.as_str());
    format!("{}?around={around}#{}", channel_path(channel), anchor(message).replace('%', "%25"))
}

/// Returns the path of a media file.
pub(super) fn media_path(channel: &ChannelId, message: &MessageId) -> String {
    let (channel, message) = (segment(channel.as_str()), segment(message.as_str()));
    format!("/api/v1/channels/{channel}/backup/media/{message}")
}

/// Returns the sentence about the zone of the times on a page.
pub(super) fn zone_note(zone: Tz, language: Language) -> String {
    language.format("times-in-zone", &[("zone", Value::from(zone.name()))])
}

/// Formats a duration in milliseconds.
pub(super) fn length(milliseconds: i64) -> String {
    let seconds = (milliseconds / 1000).max(1);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Formats a number of bytes, on one line with its unit.
pub(super) fn size(bytes: i64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    // Less than a kilobyte is one, so that more bytes never look like less.
    let (mut tenths, mut unit) = ((bytes.saturating_mul(10) / 1024).max(10), 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        (tenths, unit) = (tenths / 1024, unit + 1);
    }
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if whole >= 10 || tenth == 0 {
        // Rounded, as people read it: of 500 GB less a few files, 500 GB are left.
        return format!("{}\u{a0}{}", (tenths + 5) / 10, UNITS[unit]);
    }
    format!("{whole}.{tenth}\u{a0}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lengths_and_initials_are_short() {
        let sizes = [1, 1_536, 20_480, 5_242_880, 1_610_612_736, 536_870_000_000].map(size);
        let sizes = sizes.map(|size| size.replace('\u{a0}', " "));
        assert_eq!(sizes, ["1 KB", "1.5 KB", "20 KB", "5 MB", "1.5 GB", "500 GB"]);
        assert_eq!([0, 61_500, 3_600_000].map(length), ["0:01", "1:01", "60:00"]);
        assert_eq!(["ann", "👋 bo", "", "王大明"].map(initial), ["A", "B", "", "王"]);
        assert_eq!(shortened("a\n b  c", 3), "a b…");
    }
}
