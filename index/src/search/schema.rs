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

/// The fields by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// Channel and message id: what a message is erased by, and what a hit is read back from.
    pub(super) key: Field,
    pub(super) channel: Field,
    pub(super) sender: Field,
    pub(super) kind: Field,
    pub(super) has: Field,
    /// Milliseconds since 1970.
    pub(super) sent_at: Field,
    /// A hash of the key: orders messages of the same millisecond, always in the same way, and in
    /// the files those of one channel next to each other.
    pub(super) tie: Field,
    pub(super) text: Field,
}

/// The name of the fast field for [`Fields::sent_at`].
pub(super) const SENT_AT: &str = "sent_at";
/// The name of the fast field for [`Fields::tie`].
pub(super) const TIE: &str = "tie";

/// The schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let text = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    // What only filters needs no lengths to score by.
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

/// How the files are laid out: by channel, so that a search in one reads a few blocks of each list
/// of messages and not one here and one there all over it.
pub(super) fn settings() -> IndexSettings {
    let by_channel = IndexSortByField { field: TIE.to_owned(), order: Order::Asc };
    IndexSettings {
        sort_by_field: Some(by_channel),
        // Ids are not worth compressing: there is nothing for a thread to do.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// The tokenizers that the schema names.
pub(super) fn tokenizers(options: IndexOptions) -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(TOKENIZER, UnitTokenizer::new(options));
    manager
}

impl Fields {
    /// The document for a message with that key and tie.
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

/// What no two messages share. Ids hold no control characters: the pair can be told apart again.
pub(super) fn key(channel_id: &str, message_id: &str) -> String {
    format!("{channel_id}\0{message_id}")
}

/// Half a hash of the channel, half of the key in it.
pub(super) fn tie(channel_id: &str, key: &str) -> u64 {
    hash(channel_id) << 32 | hash(key) & u64::from(u32::MAX)
}

/// Channel id and message id of a key.
pub(super) fn split_key(key: &str) -> Option<(&str, &str)> {
    key.split_once('\0')
}

/// Whether a text holds what chat apps turn into a link.
fn has_link(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["http://", "https://", "www."].iter().any(|marker| lower.contains(marker))
}

/// FNV-1a of a key, written out because the order of results must not change with a library's
/// version.
fn hash(key: &str) -> u64 {
    key.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
