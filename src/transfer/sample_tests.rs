//! Messages for tests: of every kind, with every text that a chat may have.

use chatkeep_core::message::{Content, EarlierTexts, Emoji, ImageSet, MediaInfo, Mention, Sticker};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MediaRecord, MediaStatus, Sender, StoredMessage};
use proptest::prelude::*;
use proptest::string::{RegexGeneratorStrategy, string_regex};

/// Channel of all messages.
pub(crate) const GROUP: &str = "C0123";

/// Returns texts of a pattern, which is compiled once.
pub(crate) fn regex(pattern: &str) -> RegexGeneratorStrategy<String> {
    string_regex(pattern).unwrap()
}

/// Returns texts without control characters but those that people type, which any database stores.
pub(crate) fn any_text() -> RegexGeneratorStrategy<String> {
    regex("(\\PC|[\n\t\"\\\\<>&'=;,👍🏽]|👩‍👩‍👧|é|ทำ){0,12}")
}

/// Returns a message of Ming with this content.
pub(crate) fn message(id: &str, millis: i64, content: Content) -> StoredMessage {
    let size = serde_json::to_string(&content).unwrap().len();
    let is_media = content.kind().is_media();
    StoredMessage {
        channel: GROUP.into(),
        id: id.into(),
        sent_at: Timestamp::from_millis(millis),
        backed_up_at: Timestamp::from_millis(millis + 5),
        sender: Some(sender("U1", "小明")),
        kind: content.kind(),
        content: Some(content),
        bytes: i64::try_from(size).unwrap(),
        quoted: None,
        edited_at: None,
        unsent_at: None,
        is_bot: false,
        reply: None,
        media: is_media.then(|| record(MediaStatus::Expired)),
        earlier_texts: EarlierTexts::default(),
    }
}

/// Returns a sender without a picture.
pub(crate) fn sender(id: &str, name: &str) -> Sender {
    Sender { id: id.into(), display_name: Some(name.to_owned()), picture_url: None }
}

/// Returns the record of a file that is not stored.
pub(crate) fn record(status: MediaStatus) -> MediaRecord {
    MediaRecord {
        status,
        bytes: 0,
        stored_at: None,
        blob: None,
        content_type: None,
        preview: None,
        reason: None,
    }
}

fn media() -> impl Strategy<Value = MediaInfo> {
    let number = any::<Option<u32>>;
    let set = (any_text(), number(), number()).prop_map(|(id, index, total)| ImageSet {
        id,
        index,
        total,
    });
    let some = || proptest::option::of(any_text());
    let numbers = (any::<Option<i64>>(), any::<Option<i64>>());
    (some(), some(), some(), numbers, proptest::option::of(set)).prop_map(
        |(original_url, preview_url, file_name, (duration, file_size), image_set)| MediaInfo {
            original_url,
            preview_url,
            duration,
            file_name,
            file_size,
            image_set,
        },
    )
}

fn said() -> impl Strategy<Value = Content> {
    let emoji = (any::<u32>(), any::<u32>(), any_text()).prop_map(|(index, length, id)| Emoji {
        index,
        length,
        product_id: id.clone(),
        emoji_id: id,
    });
    let user = proptest::option::of("U[0-9]{1,5}");
    let mention = (any::<u32>(), any::<u32>(), user, any::<bool>(), any::<Option<bool>>())
        .prop_map(|(start, length, user, is_self, is_all)| Mention {
            user_id: user.map(Into::into),
            start,
            length,
            is_self,
            is_all,
        });
    let (emojis, mentions) =
        (prop::collection::vec(emoji, 0..3), prop::collection::vec(mention, 0..3));
    (any_text(), emojis, mentions).prop_map(|(text, emojis, mentions)| Content::Text {
        text,
        emojis,
        mentions,
    })
}

/// Returns contents of every kind.
pub(crate) fn content() -> impl Strategy<Value = Content> {
    let some = || proptest::option::of(any_text());
    let place = (some(), some(), -90.0..90.0, -180.0..180.0).prop_map(
        |(title, address, latitude, longitude)| Content::Location {
            title,
            address,
            latitude,
            longitude,
        },
    );
    let keywords = prop::collection::vec(any_text(), 0..3);
    let sticker = (any_text(), any_text(), some(), keywords, some()).prop_map(
        |(package_id, sticker_id, resource_type, keywords, text)| {
            Content::Sticker(Sticker { package_id, sticker_id, resource_type, keywords, text })
        },
    );
    prop_oneof![
        3 => said(),
        1 => media().prop_map(Content::Image),
        1 => media().prop_map(Content::Video),
        1 => media().prop_map(Content::Audio),
        1 => media().prop_map(Content::File),
        1 => place,
        1 => sticker,
        1 => any_text().prop_map(|raw| Content::Other { raw }),
    ]
}
