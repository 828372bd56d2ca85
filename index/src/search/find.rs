//! Execution of a search from request to page: complete matches first, partial ones after.

use std::ops::ControlFlow;
use std::sync::Arc;

use tantivy::query::EnableScoring;
use tantivy::schema::Value;
use tantivy::{DocAddress, Searcher, TantivyDocument};

use super::collect::{Best, Newest, best, rounded};
use super::compile::Compiler;
use super::conditions::{ClauseWeights, Conditions};
use super::cursor::{Boundary, Count, Cursor, Rank, Tier};
use super::drive::Scope;
use super::extent::Extent;
use super::generation::View;
use super::order;
use super::related::{Reach, RelatedQuery};
use super::schema::{self, Fields};
use super::statistics::Statistics;
use super::{IndexError, IndexSearch, MessageIndex, SearchHit, SearchPage, Sort};

/// Number of the newest complete matches that are ranked, and of complete matches that are counted.
const RANKED: usize = 10_000;
/// Number of related messages that are counted.
const RELATED: usize = 1_000;

impl MessageIndex {
    /// Executes a search.
    pub fn search(&self, request: &IndexSearch<'_>) -> Result<SearchPage, IndexError> {
        let view = self.generation().view();
        let fields = self.fields();
        let cursor = request.cursor;
        let by_score = request.sort == Sort::Relevance && !request.query.text.wanted.is_empty();
        let mut search = Search {
            compiler: Compiler { fields, options: self.options() },
            request,
            by_score,
            scope: Scope::new(&view, fields, request)?,
            view: Arc::clone(&view),
            statistics: None,
            boundary: cursor.filter(|_| by_score).and_then(|cursor| cursor.boundary),
            reach: cursor.map(|cursor| cursor.reach).unwrap_or_default(),
            hits: Vec::new(),
        };
        search.page()
    }
}

/// One search.
struct Search<'a> {
    view: Arc<View>,
    scope: Scope<'a>,
    compiler: Compiler,
    request: &'a IndexSearch<'a>,
    by_score: bool,
    /// Statistics, taken when they are first needed.
    statistics: Option<Statistics>,
    /// The oldest complete match that is ranked; `None` if all are.
    boundary: Option<Boundary>,
    /// The terms that related messages are searched by.
    reach: Reach,
    /// Hits of the page and one more, which shows whether there is another page.
    hits: Vec<(Tier, Rank, DocAddress)>,
}

impl Search<'_> {
    fn page(&mut self) -> Result<SearchPage, IndexError> {
        let cursor = self.request.cursor;
        let start = cursor.map_or(Tier::Exact, |cursor| cursor.tier);
        let mut count = Count::default();
        if start == Tier::Exact {
            count = if self.by_score { self.ranked()? } else { self.exact_by_time(Tier::Exact)? };
        }
        if start != Tier::Related && self.boundary.is_some() && self.room() > 0 {
            self.exact_by_time(Tier::Older)?;
        }
        // The parts of the results are decided on the first page.
        let found_nothing = cursor.is_none() && count.matches == 0;
        let is_question = self.request.query.is_question;
        let goes_on = start == Tier::Related;
        let wants_related = is_question || !self.request.exact_only && (goes_on || found_nothing);
        if wants_related && (cursor.is_none() || self.room() > 0) {
            count = count.and(self.related(!found_nothing)?);
        }
        let count = cursor.map_or(count, |cursor| cursor.count);
        let is_last = self.hits.len() <= self.request.limit;
        self.hits.truncate(self.request.limit);
        let next = self.hits.last().filter(|_| !is_last).map(|&(tier, rank, _)| {
            let levels = self.statistics.as_ref().map(|statistics| statistics.levels().clone());
            let levels = levels.or_else(|| cursor.map(|cursor| cursor.levels.clone()));
            let (boundary, reach) = (self.boundary, self.reach);
            Cursor { tier, rank, levels: levels.unwrap_or_default(), count, boundary, reach }
        });
        let fields = self.compiler.fields;
        let hits = self.hits.drain(..).map(|hit| read(&self.view.searcher, fields, hit));
        let hits = hits.collect::<Result<_, _>>()?;
        let Count { matches: total, related, is_exact: is_total_exact } = count;
        Ok(SearchPage { hits, total, related, is_total_exact, next })
    }

    /// Returns the number of hits that still fit on the page.
    fn room(&self) -> usize {
        self.request.limit.saturating_add(1).saturating_sub(self.hits.len())
    }

    /// Returns the rank after which results of a part are wanted, if the page starts in that part.
    fn after(&self, tier: Tier) -> Option<Rank> {
        let cursor = self.request.cursor.filter(|cursor| cursor.tier == tier);
        cursor.map(|cursor| cursor.rank)
    }

    /// Adds the best of the newest complete matches.
    fn ranked(&mut self) -> Result<Count, IndexError> {
        let weights = self.weights(&self.compiler.exact(self.request))?;
        let is_first = self.request.cursor.is_none();
        let (view, boundary) = (Arc::clone(&self.view), self.boundary);
        let last_age = boundary.map_or(u64::MAX, |boundary| order::age(boundary.sent_at));
        let is_ordered = self.scope.is_ordered();
        // What arrived meanwhile is newer, and is read before that which was ranked at first.
        let wanted = if is_first { RANKED } else { 2 * RANKED };
        let mut newest = Newest::new(wanted, is_ordered);
        let mut count = Count::default();
        self.scope.each(&weights, 0, |mut place, matches| {
            if is_ordered && (newest.is_too_old(&place) || place.age > last_age) {
                newest.leave_out();
                count.matches = count.matches.min(RANKED);
                count.is_exact = false;
                return ControlFlow::Break(());
            }
            count.matches += 1;
            let is_older = place.age >= last_age
                && boundary.is_some_and(|boundary| place.rank(&view).moment() < boundary);
            if !is_older {
                if !newest.is_too_old(&place) {
                    place.score = rounded(matches.score());
                }
                newest.push(place);
            }
            ControlFlow::Continue(())
        })?;
        let (places, found) = newest.finish(&view);
        self.boundary = if is_first { found } else { boundary };
        let room = self.room();
        self.add(Tier::Exact, best(places, self.after(Tier::Exact), room, &view));
        Ok(count)
    }

    /// Adds the newest complete matches, or the newest of those that are not ranked.
    fn exact_by_time(&mut self, tier: Tier) -> Result<Count, IndexError> {
        let weights = self.unscored(&self.compiler.exact(self.request))?;
        let unranked = self.boundary.filter(|_| tier == Tier::Older).map(Boundary::rank);
        let after = self.after(tier).or(unranked);
        self.by_time(tier, &weights, after)
    }

    /// Adds the newest matches after a rank.
    fn by_time(
        &mut self,
        tier: Tier,
        weights: &ClauseWeights,
        after: Option<Rank>,
    ) -> Result<Count, IndexError> {
        let (view, room) = (Arc::clone(&self.view), self.room());
        let counted = match tier {
            _ if self.request.cursor.is_some() => 0,
            Tier::Exact => RANKED,
            Tier::Older => 0,
            Tier::Related => RELATED,
        };
        let is_ordered = self.scope.is_ordered();
        let mut newest = Newest::new(room, is_ordered);
        let mut count = Count::default();
        let from = after.map_or(0, |after| order::age(after.sent_at));
        self.scope.each(weights, from, |place, _| {
            if is_ordered && newest.is_too_old(&place) && count.matches >= counted {
                count.matches = count.matches.min(counted);
                count.is_exact = false;
                return ControlFlow::Break(());
            }
            count.matches += 1;
            let is_before =
                place.age == from && after.is_some_and(|after| place.rank(&view) >= after);
            if !is_before {
                newest.push(place);
            }
            ControlFlow::Continue(())
        })?;
        let (places, _) = newest.finish(&view);
        self.add(tier, best(places, None, room, &view));
        Ok(count)
    }

    /// Adds messages that match in part; there may be `any_exact` ones.
    fn related(&mut self, any_exact: bool) -> Result<Count, IndexError> {
        let terms = self.compiler.related_terms(self.request.query);
        if terms.is_empty() {
            return Ok(Count::default());
        }
        let statistics = self.statistics()?.clone();
        let mut words = RelatedQuery::new(self.compiler.fields.text, &terms, &statistics);
        self.reach = match self.request.cursor {
            None => words.affordable(&statistics),
            // The numbers of a cursor say nothing of what it costs now.
            Some(_) => words.bounded(self.reach, &self.current_statistics()?),
        };
        let leaves_out = words.limit(self.reach);
        let conditions = self.compiler.related(self.request, words, any_exact);
        let after = self.after(Tier::Related);
        let mut count = if self.by_score {
            let weights = self.weights(&conditions)?;
            let (view, room) = (Arc::clone(&self.view), self.room());
            // Only the first page shows how many there are.
            let counted = if self.request.cursor.is_none() { RELATED } else { 0 };
            let mut best = Best::new(&view, after, room, counted);
            self.scope.each_unordered(&weights, |mut place, matches| {
                place.score = rounded(matches.score());
                best.push(place);
                matches.raise(best.bar);
                ControlFlow::Continue(())
            })?;
            let Count { matches, is_exact, .. } = best.count;
            let found = if room > 0 { best.finish() } else { Vec::new() };
            self.add(Tier::Related, found);
            let matches = if is_exact { matches } else { matches.min(RELATED) };
            Count { matches, is_exact, ..Count::default() }
        } else {
            let weights = self.unscored(&conditions)?;
            self.by_time(Tier::Related, &weights, after)?
        };
        count.is_exact &= !leaves_out;
        Ok(Count { related: count.matches, ..count })
    }

    fn add(&mut self, tier: Tier, found: Vec<(Rank, DocAddress)>) {
        self.hits.extend(found.into_iter().map(|(rank, address)| (tier, rank, address)));
    }

    /// Prepares conditions whose scores count.
    fn weights(&mut self, conditions: &Conditions) -> Result<ClauseWeights, IndexError> {
        let view = Arc::clone(&self.view);
        let statistics = self.statistics()?;
        let scoring = EnableScoring::enabled_from_statistics_provider(statistics, &view.searcher);
        Ok(conditions.weights(scoring)?)
    }

    /// Prepares conditions that rank nothing.
    fn unscored(&self, conditions: &Conditions) -> Result<ClauseWeights, IndexError> {
        let scoring = EnableScoring::disabled_from_searcher(&self.view.searcher);
        Ok(conditions.weights(scoring)?)
    }

    /// Returns the statistics of the first page; on the first page, the current ones.
    fn statistics(&mut self) -> Result<&Statistics, IndexError> {
        let statistics = match self.statistics.take() {
            Some(statistics) => statistics,
            None => self.taken_statistics()?,
        };
        Ok(self.statistics.insert(statistics))
    }

    fn taken_statistics(&self) -> tantivy::Result<Statistics> {
        let terms = self.compiler.ranking_terms(self.request.query);
        let levels = self.request.cursor.map(|cursor| cursor.levels.clone());
        if let Some(frozen) = levels.and_then(|levels| Statistics::frozen(terms, levels)) {
            return Ok(frozen);
        }
        self.current_statistics()
    }

    fn current_statistics(&self) -> tantivy::Result<Statistics> {
        let terms = self.compiler.ranking_terms(self.request.query);
        let extent = Extent::of(&self.view.searcher, &self.scope)?;
        Statistics::now(&extent, self.compiler.fields.text, terms)
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
        is_exact: tier != Tier::Related,
    })
}
