//! Posting lists read block by block: documents and frequencies, without positions.

use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, InvertedIndexReader, TERMINATED};

/// Number of documents in a full block.
const BLOCK: usize = 128;

/// A position in the posting list of a term.
///
/// It is smaller than tantivy's `SegmentPostings`, which has room for a block of positions, and
/// hands out a block at a time.
pub(super) struct PostingCursor {
    block: BlockSegmentPostings,
    /// Place in the block.
    at: usize,
}

impl PostingCursor {
    /// Opens a list at its first document.
    pub(super) fn open(
        index: &InvertedIndexReader,
        info: &TermInfo,
        option: IndexRecordOption,
    ) -> tantivy::Result<Self> {
        Ok(Self { block: index.read_block_postings_from_terminfo(info, option)?, at: 0 })
    }

    /// Returns the number of documents in the list.
    pub(super) fn len(&self) -> u32 {
        self.block.doc_freq()
    }

    /// Returns the document; [`TERMINATED`] after the last one.
    #[inline]
    pub(super) fn doc(&self) -> DocId {
        self.block.doc(self.at)
    }

    /// Returns how often the term occurs in the document; 1 if the list was opened without
    /// frequencies.
    #[inline]
    pub(super) fn frequency(&self) -> u32 {
        self.block.freq(self.at)
    }

    /// Moves to the first document from `target` on, unless it is there or after it already.
    /// Returns the document.
    #[inline]
    pub(super) fn seek(&mut self, target: DocId) -> DocId {
        if self.doc() >= target {
            return self.doc();
        }
        // The next one is often near.
        self.at = (self.at + 1).min(BLOCK - 1);
        if self.doc() < target {
            self.at = self.block.seek(target);
        }
        self.doc()
    }

    /// Calls `take` with each document before `end` and its frequency, and moves to the first one
    /// from there on.
    #[inline]
    pub(super) fn each_before(&mut self, end: DocId, mut take: impl FnMut(DocId, u32)) {
        debug_assert!(end <= TERMINATED, "blocks are padded with TERMINATED");
        loop {
            while self.at < BLOCK {
                let doc = self.block.doc(self.at);
                if doc >= end {
                    return;
                }
                take(doc, self.block.freq(self.at));
                self.at += 1;
            }
            self.block.advance();
            self.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use tantivy::schema::{Schema, TextFieldIndexing, TextOptions};
    use tantivy::{Index, IndexWriter, TantivyDocument, Term};

    use super::*;

    const DOCS: DocId = 3_000;

    /// Returns whether a document contains the word, and how often.
    fn occurrences(doc: DocId) -> u32 {
        if doc.is_multiple_of(7) || doc > 2_000 && doc < 2_300 { 1 + doc % 3 } else { 0 }
    }

    fn cursor_in(index: &Index, option: IndexRecordOption) -> PostingCursor {
        let searcher = index.reader().unwrap().searcher();
        let field = index.schema().get_field("text").unwrap();
        let lists = searcher.segment_reader(0).inverted_index(field).unwrap();
        let info = lists.get_term_info(&Term::from_field_text(field, "tea")).unwrap().unwrap();
        PostingCursor::open(&lists, &info, option).unwrap()
    }

    fn index() -> Index {
        let mut schema = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let options = TextOptions::default().set_indexing_options(indexing);
        let text = schema.add_text_field("text", options);
        let index = Index::create_in_ram(schema.build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
        for doc in 0..DOCS {
            let mut document = TantivyDocument::default();
            document.add_text(text, "tea ".repeat(occurrences(doc) as usize));
            writer.add_document(document).unwrap();
        }
        writer.commit().unwrap();
        index
    }

    #[test]
    fn documents_are_found_and_read_across_blocks() {
        let index = index();
        let first = |doc| (doc..DOCS).find(|&doc| occurrences(doc) > 0).unwrap_or(TERMINATED);
        for step in [1, 2, 13, 128, 129, 700, DOCS] {
            let mut cursor = cursor_in(&index, IndexRecordOption::WithFreqs);
            let (mut start, mut read) = (0, Vec::new());
            while start < DOCS {
                // Part of a stretch is passed, and the rest is read.
                let from = start + step / 3;
                assert_eq!(cursor.seek(from), first(from), "{step} {start}");
                if cursor.doc() < TERMINATED {
                    assert_eq!(cursor.frequency(), occurrences(cursor.doc()));
                }
                let end = start + step;
                read.clear();
                cursor.each_before(end, |doc, frequency| read.push((doc, frequency)));
                let wanted = (from..end.min(DOCS)).map(|doc| (doc, occurrences(doc)));
                assert_eq!(read, wanted.filter(|&(_, n)| n > 0).collect::<Vec<_>>());
                assert_eq!(cursor.doc(), first(end.min(DOCS)));
                start = end;
            }
            cursor.each_before(TERMINATED, |doc, _| panic!("{doc} is beyond the end"));
        }
    }

    #[test]
    fn a_list_without_frequencies_has_each_once() {
        let index = index();
        let mut cursor = cursor_in(&index, IndexRecordOption::Basic);
        let mut count = 0;
        cursor.each_before(TERMINATED, |_, frequency| count += frequency);
        assert_eq!(count, cursor.len());
        assert_eq!(cursor.seek(TERMINATED), TERMINATED);
    }
}
