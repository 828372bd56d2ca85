//! Execution of a search from request to page: complete matches first, partial ones after.

use std::sync::Arc;

use tantivy::schema::Value;
use tantivy::{DocAddress, Searcher, TantivyDocument};

use super::collect::{Best, Collected};
use super::compile::Compiler;
use super::cursor::{Cursor, Rank, Tier};
use super::generation::View;
use super::schema::{self, Fields};
use super::statistics::Statistics;
use super::{IndexError, IndexSearch, MessageIndex, SearchHit, SearchPage, Sort};

impl MessageIndex {
    /// Executes a search.
    pub fn search(&self, request: &IndexSearch<'_>) -> Result<SearchPage, IndexError> {
        let view = self.generation().view();
        let compiler = Compiler { fields: self.fields(), options: self.options() };
        let by_score = request.sort == Sort::Relevance && !request.query.text.wanted.is_empty();
        Search { view, compiler, request, by_score, statistics: None, exact: None }.page()
    }
}

/// One search.
struct Search<'a> {
    view: Arc<View>,
    compiler: Compiler,
    request: &'a IndexSearch<'a>,
    by_score: bool,
    /// Statistics, taken when they are first needed.
    statistics: Option<Statistics>,
    /// Number of messages that match completely, once counted.
    exact: Option<usize>,
}

impl Search<'_> {
    fn page(mut self) -> Result<SearchPage, IndexError> {
        let started_in = self.request.cursor.map(|cursor| cursor.tier);
        let is_question = self.request.query.is_question;
        let mut hits: Vec<(Tier, Rank, DocAddress)> = Vec::new();
        let mut total = 0;
        // The parts of the results are decided on the first page.
        if is_question || started_in != Some(Tier::Related) {
            total += self.collect(Tier::Exact, &mut hits)?;
            self.exact = Some(total);
        }
        let wants_related = is_question || started_in == Some(Tier::Related);
        let found_nothing = started_in.is_none() && total == 0;
        if wants_related || found_nothing {
            total += self.collect(Tier::Related, &mut hits)?;
        }
        let is_last = hits.len() <= self.request.limit;
        hits.truncate(self.request.limit);
        let next = hits.last().filter(|_| !is_last).map(|&(tier, rank, _)| {
            let levels = self.statistics.as_ref().map(|statistics| statistics.levels().clone());
            Cursor { tier, rank, levels: levels.unwrap_or_default() }
        });
        let fields = self.compiler.fields;
        let hits = hits.into_iter().map(|hit| read(&self.view.searcher, fields, hit));
        Ok(SearchPage { hits: hits.collect::<Result<_, _>>()?, total, next })
    }

    /// Adds the results of one part that fit on the page (one more than requested shows whether
    /// there is another page), and counts all of that part.
    fn collect(
        &mut self,
        tier: Tier,
        hits: &mut Vec<(Tier, Rank, DocAddress)>,
    ) -> Result<usize, IndexError> {
        let query = self.request.query;
        if tier == Tier::Related && self.compiler.related_terms(query).is_empty() {
            return Ok(0);
        }
        let after = self.request.cursor.filter(|cursor| cursor.tier == tier);
        let past = self.request.cursor.is_some_and(|cursor| cursor.tier == Tier::Related);
        let room = (self.request.limit.saturating_add(1)).saturating_sub(hits.len());
        let view = Arc::clone(&self.view);
        let collector = Best {
            columns: &view.columns,
            by_score: self.by_score,
            after: after.map(|cursor| cursor.rank),
            limit: if past && tier == Tier::Exact { 0 } else { room },
        };
        let found = self.run(tier, &collector)?;
        hits.extend(found.best.into_iter().map(|(rank, address)| (tier, rank, address)));
        Ok(found.total)
    }

    fn run(&mut self, tier: Tier, collector: &Best<'_>) -> Result<Collected, IndexError> {
        if tier == Tier::Exact && !self.by_score {
            let compiled = self.compiler.exact(self.request);
            return Ok(self.view.searcher.search(compiled.as_ref(), collector)?);
        }
        let statistics = match self.statistics.take() {
            Some(statistics) => statistics,
            None => self.take_statistics()?,
        };
        let compiled = match tier {
            Tier::Exact => self.compiler.exact(self.request),
            Tier::Related => {
                self.compiler.related(self.request, &statistics, self.exact != Some(0))
            }
        };
        let query = compiled.as_ref();
        let found =
            self.view.searcher.search_with_statistics_provider(query, collector, &statistics);
        self.statistics = Some(statistics);
        Ok(found?)
    }

    /// Returns the statistics of the first page; on the first page, the current ones.
    fn take_statistics(&self) -> tantivy::Result<Statistics> {
        let terms = self.compiler.ranking_terms(self.request.query);
        let levels = self.request.cursor.map(|cursor| cursor.levels.clone());
        if let Some(frozen) = levels.and_then(|levels| Statistics::frozen(terms.clone(), levels)) {
            return Ok(frozen);
        }
        Statistics::now(&self.view.searcher, self.compiler.fields.text, terms)
    }
}

fn read(
    searcher: &Searcher,
    fields: Fields,
    (tier, rank, address): (Tier, Rank, DocAddress),
) -> Result<SearchHit, IndexError> {
    let document: TantivyDocument = searcher.doc(address)?;
    let key = document.get_first(fields.key);
    let ids = key.as_ref().and_then(Value::as_str).and_then(schema::split_key);
    let (channel_id, message_id) = ids.ok_or(IndexError::NoKey)?;
    Ok(SearchHit {
        channel_id: channel_id.to_owned(),
        message_id: message_id.to_owned(),
        sent_at: rank.sent_at,
        score: rank.score,
        is_exact: tier == Tier::Exact,
    })
}
