//! The fields of the message index.

use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{IndexSettings, IndexSortByField, Order, TantivyDocument};

use super::beginnings::BeginningTokenizer;
use super::clusters::{ClusterTokenizer, has_clusters};
use super::order::{self, hash};
use super::tokenizer::UnitTokenizer;
use super::{IndexDoc, IndexOptions};
use crate::link::has_web_link;

const TOKENIZER: &str = "units";
const BEGINNINGS: &str = "beginnings";
const CLUSTERS: &str = "clusters";

/// Size of a block of stored keys, in bytes: a page copies one of each hit, and most of it in vain.
const STORE_BLOCK: usize = 512;

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
    /// Hash of the key: orders messages of the same millisecond, always in the same way.
    pub(super) tie: Field,
    /// Order key of the files (see [`order`]).
    pub(super) order: Field,
    pub(super) text: Field,
    /// Beginnings of the words in the text (see [`super::beginnings`]).
    pub(super) beginnings: Field,
    /// Pairs of clusters in the text (see [`super::clusters`]).
    pub(super) clusters: Field,
}

/// Name of the fast field for [`Fields::sent_at`].
pub(super) const SENT_AT: &str = "sent_at";
/// Name of the fast field for [`Fields::tie`].
pub(super) const TIE: &str = "tie";
/// Name of the fast field for [`Fields::order`].
pub(super) const ORDER: &str = "order";

/// Returns the schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let text = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    // A length of their own would count them as text.
    let beginnings = TextFieldIndexing::default()
        .set_tokenizer(BEGINNINGS)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let beginnings = TextOptions::default().set_indexing_options(beginnings);
    // Ranked by the length of the text; what occurs is never searched here.
    let clusters = TextFieldIndexing::default()
        .set_tokenizer(CLUSTERS)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqs);
    let clusters = TextOptions::default().set_indexing_options(clusters);
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
        order: builder.add_u64_field(ORDER, FAST),
        text: builder.add_text_field("text", TextOptions::default().set_indexing_options(text)),
        beginnings: builder.add_text_field("beginnings", beginnings),
        clusters: builder.add_text_field("clusters", clusters),
    };
    (builder.build(), fields)
}

/// Returns the layout of the files: by channel, the newest first.
pub(super) fn settings() -> IndexSettings {
    let by_order = IndexSortByField { field: ORDER.to_owned(), order: Order::Asc };
    IndexSettings {
        sort_by_field: Some(by_order),
        docstore_blocksize: STORE_BLOCK,
        // Ids are not worth compressing: there is no work for a thread.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Returns the tokenizers that the schema names.
pub(super) fn tokenizers(options: IndexOptions) -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(TOKENIZER, UnitTokenizer::new(options));
    manager.register(BEGINNINGS, BeginningTokenizer::new(options));
    manager.register(CLUSTERS, ClusterTokenizer::new(options));
    manager
}

impl Fields {
    /// Creates the document of a message with that key and tie.
    pub(super) fn document(self, message: &IndexDoc, key: &str, tie: u64) -> TantivyDocument {
        let mut document = TantivyDocument::with_capacity(2 * message.text.len() + 256);
        document.add_u64(self.tie, tie);
        document.add_u64(self.order, order::key(&message.channel_id, message.sent_at));
        document.add_text(self.key, key);
        document.add_text(self.channel, &message.channel_id);
        document.add_text(self.kind, &message.kind);
        document.add_i64(self.sent_at, message.sent_at);
        if let Some(sender) = &message.sender_id {
            document.add_text(self.sender, sender);
        }
        if has_web_link(&message.text) {
            document.add_text(self.has, HAS_LINK);
        }
        document.add_text(self.text, &message.text);
        document.add_text(self.beginnings, &message.text);
        if has_clusters(&message.text) {
            document.add_text(self.clusters, &message.text);
        }
        document
    }
}

/// Returns the unique key of a message. Ids hold no control characters: the pair can be split
/// again.
pub(super) fn key(channel_id: &str, message_id: &str) -> String {
    format!("{channel_id}\0{message_id}")
}

/// Returns 32 bits of a hash of the key.
pub(super) fn tie(key: &str) -> u64 {
    let hash = hash(key);
    (hash >> 32) ^ (hash & u64::from(u32::MAX))
}

/// Returns channel id and message id of a key.
pub(super) fn split_key(key: &str) -> Option<(&str, &str)> {
    key.split_once('\0')
}
