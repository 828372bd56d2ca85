//! Search for readers of pseudonyms: they find what they may read, and learn nothing of the rest.
//!
//! The index holds the texts as they were written. So its hits are only candidates: they are masked
//! and indexed again, in memory, and that small index gives the results, their order and their
//! number. Of a word that is masked nothing remains to be found.
//!
//! The choice of candidates must tell nothing either: where nothing has all the words, there
//! are no related messages instead (unless the query is a question, which always has both), and too
//! many candidates are cut by their time, not by their rank among all messages.

use async_recursion::async_recursion as boxed;
use chatkeep_core::heavy::CALLERS;
use chatkeep_index::search::{IndexChange, IndexError, MessageIndex, WriterOptions};
use chatkeep_store::{Store, StoredMessage};
use chatkeep_view::pseudonyms::{Mask, Masked};
use chatkeep_workers::replica::put_message;

use super::local::search;
use super::{Hit, SearchError, SearchRequest, SearchResults, SearchService, Sort, unavailable};

/// Maximum number of candidates: the newest.
const CANDIDATES: usize = 1_000;
/// Smallest writer, for so few messages.
const WRITER: WriterOptions = WriterOptions { memory: 15_000_000, threads: 1 };

/// Words that are left out tell of messages that have them, whether they are shown or not.
const NO_EXCLUSION: &str = "a key that shows pseudonyms cannot exclude words with -";

impl SearchService {
    /// Searches for a reader of pseudonyms, among at most `CANDIDATES` messages. Related messages
    /// are found for questions alone.
    #[boxed]
    pub async fn find_masked(
        &self,
        find: SearchRequest,
        store: &Store,
        mask: &Mask,
    ) -> Result<SearchResults, SearchError> {
        if !find.query.query.text.unwanted.is_empty() {
            return Err(SearchError::Query(NO_EXCLUSION.to_owned()));
        }
        let find = SearchRequest { exact_only: true, ..find };
        let (sort, limit) = (Sort::Newest, CANDIDATES);
        let wide = SearchRequest { sort, limit, cursor: None, ..find.clone() };
        let candidates = self.find(wide).await?;
        let is_cut = candidates.next.is_some();
        let key = |Hit { channel, message, .. }: Hit| (channel, message);
        let keys: Vec<_> = candidates.hits.into_iter().map(key).collect();
        let messages = store.messages().chosen_messages(&keys).await;
        let messages = messages.map_err(|error| unavailable(&error))?;
        let mask = mask.clone();
        // Masking and indexing a thousand messages takes a while.
        let found = CALLERS.run(move || search_among(&mask.show_all(messages), &find)).await?;
        Ok(within(found, is_cut))
    }
}

/// Returns results among candidates, of which there may have been more.
fn within(found: SearchResults, is_cut: bool) -> SearchResults {
    SearchResults { is_total_exact: found.is_total_exact && !is_cut, ..found }
}

fn search_among(
    messages: &[Masked<StoredMessage>],
    find: &SearchRequest,
) -> Result<SearchResults, SearchError> {
    let index = indexed(messages).map_err(|error| unavailable(&error))?;
    search(&index, find)
}

fn indexed(messages: &[Masked<StoredMessage>]) -> Result<MessageIndex, IndexError> {
    let index = MessageIndex::in_memory()?;
    let mut writer = index.writer(WRITER)?;
    let changes: Vec<_> = messages.iter().filter_map(|message| put(message)).collect();
    writer.apply(&changes)?;
    writer.commit("masked")?;
    Ok(index)
}

fn put(message: &StoredMessage) -> Option<IndexChange> {
    let content = message.content.as_ref()?;
    let sender = message.sender.as_ref().map(|sender| sender.id.clone());
    let (channel, id) = (message.channel.clone(), message.id.clone());
    Some(put_message(channel, id, sender, message.sent_at, content))
}

#[cfg(test)]
mod tests {
    use chatkeep_index::search::IndexDoc;
    use chrono_tz::Tz;

    use super::super::ParsedQuery;
    use super::*;

    #[test]
    fn a_total_of_candidates_that_were_cut_is_not_exact() {
        let found = |is_total_exact| SearchResults {
            hits: Vec::new(),
            total: CANDIDATES,
            related: 0,
            is_total_exact,
            next: None,
        };
        for (is_exact, is_cut, expected) in
            [(true, false, true), (true, true, false), (false, false, false), (false, true, false)]
        {
            assert_eq!(within(found(is_exact), is_cut).is_total_exact, expected);
        }
    }

    #[test]
    fn related_messages_are_found_for_questions_alone() {
        let index = MessageIndex::in_memory().unwrap();
        let mut writer = index.writer(WRITER).unwrap();
        let doc = |id: &str, text: &str| {
            IndexChange::Put(IndexDoc {
                channel_id: "C1".to_owned(),
                message_id: id.to_owned(),
                sender_id: None,
                kind: "text".to_owned(),
                sent_at: 1,
                text: text.to_owned(),
            })
        };
        writer.apply(&[doc("m1", "the invoice"), doc("m2", "an invoice of [name]")]).unwrap();
        writer.commit("masked").unwrap();
        let total = |query: &str, sort, exact_only| {
            let query = ParsedQuery::parse(query, Tz::UTC).unwrap();
            let first = SearchRequest::new(query, vec!["C1".into()], 10);
            let find = SearchRequest { sort, exact_only, ..first };
            search(&index, &find).unwrap().total
        };
        for sort in [Sort::Relevance, Sort::Newest] {
            assert_eq!(total("invoice", sort, true), 2);
            assert_eq!(total("invoice Ann", sort, true), 0);
            assert_eq!(total("invoice Ann", sort, false), 2);
            assert_eq!(total("invoice Ann?", sort, true), 2);
        }
    }
}
