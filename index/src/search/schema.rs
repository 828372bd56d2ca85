//! The fields of the message index.

use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{IndexSettings, IndexSortByField, Order, TantivyDocument};

use super::units::UnitTokenizer;
use super::{IndexDoc, IndexOptions};

const TOKENIZER: &str = "units";

/// The term of the `has` field for messages with a link in their text.
pub(super) const HAS_LINK: &str = "link";

/// Fields of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// Channel and message id: the key for erasing a message, and for reading a hit back.
    pub(super) key: Field,
    pub(super) channel: Field,
    pub(super) sender: Field,
    pub(super) kind: Field,
    pub(super) has: Field,
    /// Milliseconds since 1970.
    pub(super) sent_at: Field,
    /// Hash of the key: orders messages of the same millisecond, always in the same way, and in the
    /// files those of one channel next to each other.
    pub(super) tie: Field,
    pub(super) text: Field,
}

/// Name of the fast field for [`Fields::sent_at`].
pub(super) const SENT_AT: &str = "sent_at";
/// Name of the fast field for [`Fields::tie`].
pub(super) const TIE: &str = "tie";

/// Returns the schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let text = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    // Fields that only filter need no lengths for scores.
    let id = TextFieldIndexing::default().set_tokenizer("raw").set_fieldnorms(false);
    let id = id.set_index_option(IndexRecordOption::Basic);
    let id = TextOptions::default().set_indexing_options(id);
    let fields = Fields {
        key: builder.add_text_field("key", id.clone() | STORED),
        channel: builder.add_text_field("channel", id.clone()),
        sender: builder.add_text_field("sender", id.clone()),
        kind: builder.add_text_field("type", id.clone()),
        has: builder.add_text_field("has", id),
        sent_at: builder.add_i64_field(SENT_AT, FAST),
        tie: builder.add_u64_field(TIE, FAST),
        text: builder.add_text_field("text", TextOptions::default().set_indexing_options(text)),
    };
    (builder.build(), fields)
}

/// Returns the layout of the files: by channel, so that a search in one reads a few adjacent blocks
/// of each posting list.
pub(super) fn settings() -> IndexSettings {
    let by_channel = IndexSortByField { field: TIE.to_owned(), order: Order::Asc };
    IndexSettings {
        sort_by_field: Some(by_channel),
        // Ids are not worth compressing: there is no work for a thread.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Returns the tokenizers that the schema names.
pub(super) fn tokenizers(options: IndexOptions) -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(TOKENIZER, UnitTokenizer::new(options));
    manager
}

impl Fields {
    /// Creates the document of a message with that key and tie.
    pub(super) fn document(self, message: &IndexDoc, key: &str, tie: u64) -> TantivyDocument {
        let mut document = TantivyDocument::with_capacity(message.text.len() + 256);
        document.add_u64(self.tie, tie);
        document.add_text(self.key, key);
        document.add_text(self.channel, &message.channel_id);
        document.add_text(self.kind, &message.kind);
        document.add_i64(self.sent_at, message.sent_at);
        if let Some(sender) = &message.sender_id {
            document.add_text(self.sender, sender);
        }
        if has_link(&message.text) {
            document.add_text(self.has, HAS_LINK);
        }
        document.add_text(self.text, &message.text);
        document
    }
}

/// Returns the unique key of a message. Ids hold no control characters: the pair can be split
/// again.
pub(super) fn key(channel_id: &str, message_id: &str) -> String {
    format!("{channel_id}\0{message_id}")
}

/// Returns half a hash of the channel, half of the key in it.
pub(super) fn tie(channel_id: &str, key: &str) -> u64 {
    hash(channel_id) << 32 | hash(key) & u64::from(u32::MAX)
}

/// Returns channel id and message id of a key.
pub(super) fn split_key(key: &str) -> Option<(&str, &str)> {
    key.split_once('\0')
}

/// Returns whether a text contains a link as chat apps recognise it.
fn has_link(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["http://", "https://", "www."].iter().any(|marker| lower.contains(marker))
}

/// Returns FNV-1a of a key, written out because the order of results must not change with a
/// library's version.
fn hash(key: &str) -> u64 {
    key.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
