//! Posting lists of a union: long ones as they are, short ones together.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tantivy::postings::{BlockSegmentPostings, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, InvertedIndexReader, TERMINATED};

/// Number of lists from which short ones are read at once, into one list: opening a list costs as
/// much as reading a hundred documents.
pub(super) const MANY: usize = 16;
/// Maximum number of documents in a short list: one block.
pub(super) const SHORT: u32 = 127;

/// A posting list that is not open yet.
pub(super) type Source = (Arc<InvertedIndexReader>, TermInfo);

/// The posting lists of a union in one segment, shared by all that read a part of it.
pub(super) struct Sources {
    pub(super) lists: Vec<Source>,
    /// Documents of the short lists, read when they are first needed.
    short: OnceLock<Arc<[Short]>>,
}

/// A document of a short list, and the number of the list.
pub(super) type Short = (DocId, u32);

impl Sources {
    pub(super) fn new(lists: Vec<Source>) -> Arc<Self> {
        Arc::new(Self { lists, short: OnceLock::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Returns the documents of the short lists, in order.
    pub(super) fn short(&self) -> tantivy::Result<Arc<[Short]>> {
        if let Some(short) = self.short.get() {
            return Ok(Arc::clone(short));
        }
        let short = read_short(&self.lists)?;
        Ok(Arc::clone(self.short.get_or_init(|| short)))
    }
}

pub(super) enum List {
    Postings(Box<SegmentPostings>),
    /// Documents of short lists, and the place of the next one.
    Short(Arc<[Short]>, usize),
}

impl List {
    pub(super) fn doc(&self) -> DocId {
        match self {
            Self::Postings(postings) => postings.doc(),
            Self::Short(docs, at) => docs.get(*at).map_or(TERMINATED, |&(doc, _)| doc),
        }
    }

    pub(super) fn advance(&mut self) -> DocId {
        match self {
            Self::Postings(postings) => postings.advance(),
            Self::Short(docs, at) => {
                let doc = docs.get(*at).map(|&(doc, _)| doc);
                *at += docs[*at..].iter().take_while(|&&(other, _)| Some(other) == doc).count();
                self.doc()
            }
        }
    }

    pub(super) fn seek(&mut self, target: DocId) -> DocId {
        match self {
            Self::Postings(postings) => postings.seek(target),
            Self::Short(docs, at) => {
                *at += docs[*at..].partition_point(|&(doc, _)| doc < target);
                self.doc()
            }
        }
    }
}

/// Counts documents of a posting list by its skip list.
pub(super) struct Counter {
    postings: BlockSegmentPostings,
    /// End of what was counted last: nothing before it can be counted any more.
    end: DocId,
}

impl Counter {
    pub(super) const fn new(postings: BlockSegmentPostings) -> Self {
        Self { postings, end: 0 }
    }

    /// Returns whether the list has all of these documents; false if that cannot be counted.
    pub(super) fn has_all(&mut self, docs: &Range<DocId>) -> bool {
        if docs.start < self.end {
            return false;
        }
        self.end = docs.end;
        let before = self.postings.rank(docs.start);
        let count = self.postings.rank(docs.end) - before;
        count == docs.end - docs.start
    }
}

/// Reads the documents of the short ones of some lists.
fn read_short(lists: &[Source]) -> tantivy::Result<Arc<[Short]>> {
    let mut docs: Vec<Short> = Vec::new();
    let mut block = None;
    let short = (0..).zip(lists).filter(|(_, source)| source.1.doc_freq <= SHORT);
    for (number, (index, info)) in short {
        let block = match &mut block {
            Some(block) => {
                index.reset_block_postings_from_terminfo(info, block)?;
                block
            }
            None => block
                .insert(index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?),
        };
        docs.extend(block.docs().iter().map(|&doc| (doc, number)));
    }
    docs.sort_unstable();
    Ok(docs.into())
}
