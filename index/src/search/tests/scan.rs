//! Searches of small random corpora against a plain scan of their messages: what is found, in which
//! order, and what a batch of new messages matches.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::corpus::{CHANNELS, indexed, messages, query_texts};
use super::*;
use crate::fold::han::simplified;
use crate::fold::search::fold_for_search;
use crate::script::Class;
use crate::search::query::{IncludeExclude, Needle};
use crate::web_links;

/// A message as a scan reads it.
pub(super) struct ScannedMessage<'a> {
    pub(super) doc: &'a IndexDoc,
    text: String,
}

impl<'a> ScannedMessage<'a> {
    pub(super) fn new(doc: &'a IndexDoc) -> Self {
        let text = plain(&doc.text);
        assert!(!text.contains(['-', ',']), "what joins words has tests of its own: {text}");
        Self { doc, text }
    }

    /// Returns whether the message holds all of a query.
    pub(super) fn holds(&self, query: &Query) -> bool {
        self.meets(query, |_| true)
    }

    /// Returns whether it meets a query of whose wanted words only those count.
    fn meets(&self, query: &Query, counts: impl Fn(&Needle) -> bool) -> bool {
        let IndexDoc { sender_id, kind, sent_at, text, .. } = self.doc;
        let here = |needle: &Needle| occurs(&self.text, &plain(needle.as_str()));
        let sender = sender_id.as_deref().unwrap_or_default();
        let has = |wanted: &HasFilter| match wanted {
            HasFilter::Link => !web_links(text).is_empty(),
            HasFilter::Media => ["image", "video", "audio", "file"].contains(&kind.as_str()),
        };
        query.text.wanted.iter().filter(|needle| counts(needle)).all(here)
            && !query.text.unwanted.iter().any(here)
            && any_of(&query.from, |id| id == sender)
            && any_of(&query.types, |known| *known == kind)
            && query.has.wanted.iter().all(has)
            && !query.has.unwanted.iter().any(has)
            && query.after.is_none_or(|after| after <= *sent_at)
            && query.before.is_none_or(|before| *sent_at < before)
    }
}

/// Returns whether one of the wanted values is there, if any is wanted, and none of the others.
fn any_of<T>(asked: &IncludeExclude<T>, is: impl Fn(&T) -> bool) -> bool {
    (asked.wanted.is_empty() || asked.wanted.iter().any(&is)) && !asked.unwanted.iter().any(&is)
}

pub(super) fn is_word(c: char) -> bool {
    Class::of(c) == Class::Word
}

/// Returns a text as it is compared: folded, in Simplified characters, and without a space between
/// a word and a script that has none.
pub(super) fn plain(text: &str) -> String {
    let folded: Vec<char> = fold_for_search(text).chars().map(simplified).collect();
    let spaceless = |c: char| Class::of(c).is_substring_script();
    let is_border = |a: char, b: char| (is_word(a) && spaceless(b)) || (spaceless(a) && is_word(b));
    let stays = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| folded.get(at));
        let beside = before.zip(folded.get(at + 1));
        folded[at] != ' ' || beside.is_none_or(|(&a, &b)| !is_border(a, b))
    };
    (0..folded.len()).filter(|&at| stays(at)).map(|at| folded[at]).collect()
}

/// Returns whether a text occurs in another: from the beginning of a word on if it begins with one.
pub(super) fn occurs(text: &str, needle: &str) -> bool {
    let from_word = needle.starts_with(is_word);
    text.char_indices().any(|(at, _)| {
        text[at..].starts_with(needle) && !(from_word && text[..at].ends_with(is_word))
    })
}

/// Returns the place of each message in order of time, as a search for all of them lists them.
fn places(index: &MessageIndex) -> HashMap<String, usize> {
    let query = Query::parse("-qqqq").unwrap();
    let request = IndexSearch { sort: Sort::Newest, limit: 1_000, ..IndexSearch::new(&query) };
    let page = index.search(&request).unwrap();
    assert!(page.hits.is_sorted_by(|a, b| a.sent_at >= b.sent_at));
    page.hits.into_iter().map(|hit| hit.message_id).zip(0..).collect()
}

/// Compares the results of a search with those of a scan.
fn compare(index: &MessageIndex, docs: &[IndexDoc], text: &str) {
    let Ok(query) = Query::parse(text) else { return };
    let places = places(index);
    assert_eq!(places.len(), docs.len());
    let scanned: Vec<_> = docs.iter().map(ScannedMessage::new).collect();
    for (sort, channels) in [
        (Sort::Newest, None),
        (Sort::Newest, Some(&CHANNELS[..1])),
        (Sort::Relevance, None),
        (Sort::Relevance, Some(&CHANNELS[1..])),
    ] {
        let request = IndexSearch { channels, sort, limit: 1_000, ..IndexSearch::new(&query) };
        let page = index.search(&request).unwrap();
        let is_here = |doc: &IndexDoc| {
            channels.is_none_or(|channels| channels.contains(&doc.channel_id.as_str()))
        };
        let expected = scanned.iter().filter(|one| is_here(one.doc) && one.holds(&query));
        let expected: BTreeSet<&str> = expected.map(|one| one.doc.message_id.as_str()).collect();
        let (exact, related): (Vec<_>, Vec<_>) = page.hits.iter().partition(|hit| hit.is_exact);
        let found: BTreeSet<&str> = exact.iter().map(|hit| hit.message_id.as_str()).collect();
        assert_eq!(found, expected, "{text:?} {sort:?}");
        assert_eq!(exact.len(), expected.len(), "none twice: {text:?} {sort:?}");
        assert_eq!((page.total, page.related), (page.hits.len(), related.len()), "{text:?}");
        assert!(page.is_total_exact && page.next.is_none(), "{text:?}");
        assert!(page.hits.is_sorted_by_key(|hit| !hit.is_exact), "related ones last: {text:?}");
        let may_be_related = query.is_question || exact.is_empty();
        assert!(may_be_related || related.is_empty(), "{text:?} {sort:?}");
        for hit in &related {
            let one = scanned.iter().find(|one| one.doc.message_id == hit.message_id).unwrap();
            let is_strict = one.meets(&query, Needle::is_quoted) && is_here(one.doc);
            assert!(is_strict && !one.holds(&query), "{text:?} {hit:?}");
        }
        let order = |a: &&SearchHit, b: &&SearchHit| {
            let by_time = places[&a.message_id].cmp(&places[&b.message_id]);
            b.score.total_cmp(&a.score).then(by_time) == Ordering::Less
        };
        for part in [exact, related] {
            assert!(part.is_sorted_by(order), "{text:?} {sort:?}: {part:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn a_search_finds_what_a_plain_scan_finds_in_its_order(
        docs in messages(45), texts in query_texts(24),
    ) {
        let index = indexed(&docs);
        for text in &texts {
            compare(&index, &docs, text);
        }
    }

    #[test]
    fn a_batch_matches_what_a_plain_scan_finds(docs in messages(30), texts in query_texts(24)) {
        let batch = MatchBatch::new(&docs).unwrap();
        for text in &texts {
            let Ok(query) = Query::parse(text) else { continue };
            for channels in [CHANNELS, &CHANNELS[1..2], &[]] {
                let holds = |doc: &IndexDoc| {
                    channels.contains(&doc.channel_id.as_str())
                        && ScannedMessage::new(doc).holds(&query)
                };
                let expected: Vec<usize> =
                    (0..docs.len()).filter(|&at| holds(&docs[at])).collect();
                prop_assert_eq!(batch.matching(&query, channels).unwrap(), expected, "{}", text);
            }
        }
    }
}
