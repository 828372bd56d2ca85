//! Compilation of a search request to conditions.
//!
//! Conditions that only filter score nothing, so that relevance is about the words alone. Channels
//! and time are no conditions here: they are ranges of documents (see [`super::drive`]).

use std::collections::HashSet;

use tantivy::query::{EmptyQuery, Query as TantivyQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Score, Term};

use super::asking::Asking;
use super::clusters::{Paired, has_clusters, inner_pairs};
use super::conditions::{Condition, Conditions};
use super::join::Joined;
use super::phrase::PhraseQuery;
use super::query::{HasFilter, IncludeExclude, Needle, Query};
use super::related::{RelatedQuery, RelatedTerm};
use super::schema::{Fields, HAS_LINK};
use super::tokenizer::is_single;
use super::union::AnyQuery;
use super::units::{Kind, Unit, units, write_term};
use super::{IndexOptions, IndexSearch};
use crate::script::{is_emoji, is_ideograph};

/// Message types of `has:media`.
const MEDIA: [&str; 4] = ["image", "video", "audio", "file"];

/// Factor of the score of words in a question with clusters.
const BESIDE_CLUSTERS: Score = 2.0;

/// Factor of the score of words by which a question asks, beside others.
const ASKING: Score = 0.2;

/// Compiles requests.
#[derive(Clone, Copy)]
pub(super) struct Compiler {
    pub(super) fields: Fields,
    pub(super) options: IndexOptions,
}

impl Compiler {
    /// Returns the conditions of messages that match completely.
    pub(super) fn exact(&self, request: &IndexSearch<'_>) -> Conditions {
        self.strict(request, |_| true)
    }

    /// Returns the conditions of messages that match `words` and everything else, but not all of
    /// the words (which need not be excluded unless there are `any_exact` ones).
    pub(super) fn related(
        &self,
        request: &IndexSearch<'_>,
        words: RelatedQuery,
        any_exact: bool,
    ) -> Conditions {
        let mut conditions = self.strict(request, Needle::is_quoted);
        conditions.wanted.push(Condition { query: boxed(words), scores: true });
        conditions.not_all = any_exact.then(|| Box::new(self.exact(request)));
        conditions
    }

    /// Returns the conditions on a message, with only those words that `counts`.
    fn strict(&self, request: &IndexSearch<'_>, counts: impl Fn(&Needle) -> bool) -> Conditions {
        let text = &request.query.text;
        let mut conditions = Conditions::default();
        self.filters(request, &mut conditions);
        for needle in text.wanted.iter().filter(|needle| counts(needle)) {
            conditions.wanted.push(Condition { query: self.occurs(needle), scores: true });
        }
        conditions.unwanted.extend(text.unwanted.iter().map(|needle| self.excluded(needle)));
        conditions
    }

    /// Returns a query for messages in which a needle occurs, which scores nothing.
    fn excluded(&self, needle: &Needle) -> Box<dyn TantivyQuery> {
        let Pieces { terms, open } = self.pieces(needle.as_str());
        match &terms[..] {
            [(_, term)] if !open => boxed(AnyQuery(vec![term.clone()])),
            _ => self.occurs(needle),
        }
    }

    /// Returns a query for messages in which a needle occurs: its pieces one after another.
    fn occurs(&self, needle: &Needle) -> Box<dyn TantivyQuery> {
        let Pieces { terms: mut exact, open } = self.pieces(needle.as_str());
        let prefix = if open { exact.pop() } else { None };
        match (&exact[..], &prefix) {
            ([], None) => boxed(EmptyQuery),
            ([(_, term)], None) => {
                boxed(TermQuery::new(term.clone(), IndexRecordOption::WithFreqs))
            }
            _ => {
                let implied = self.implied(needle.as_str());
                boxed(PhraseQuery { fields: self.fields, exact, prefix, implied })
            }
        }
    }

    /// Returns the pairs of clusters of any message in which a needle occurs.
    fn implied(&self, needle: &str) -> Vec<Term> {
        let folded = self.folded(needle);
        let pairs = inner_pairs(&folded);
        pairs.map(|pair| Term::from_field_text(self.fields.clusters, &folded[pair])).collect()
    }

    /// Returns the terms whose frequencies rank the results of `query`, in a fixed order.
    pub(super) fn ranking_terms(&self, query: &Query) -> Vec<Term> {
        let strict = query.text.wanted.iter().flat_map(|needle| self.pieces(needle.as_str()).terms);
        let mut terms: Vec<Term> = strict.map(|(_, term)| term).collect();
        terms.extend(self.related_terms(query).into_iter().map(|related| related.term));
        let mut seen = HashSet::new();
        terms.retain(|term| seen.insert(term.clone()));
        terms
    }

    /// Returns the terms for related messages; none if there would be nothing to choose from.
    ///
    /// Words and pairs select; emoji, single ideographs and the beginnings of runs of clusters only
    /// help to rank. Dictionary words beside the pairs, or in place of them, rank Chinese, Japanese
    /// and Thai no better; single Thai letters rank worse than pairs of them, single clusters and
    /// three in a row no better than pairs of clusters. Words beside clusters score more: a Thai
    /// word is several pairs.
    pub(super) fn related_terms(&self, query: &Query) -> Vec<RelatedTerm> {
        let mut terms = Terms::default();
        let needles = || query.text.wanted.iter().filter(|needle| !needle.is_quoted());
        let beside_clusters = needles().any(|needle| has_clusters(needle.as_str()));
        let word_boost = if beside_clusters { BESIDE_CLUSTERS } else { 1.0 };
        for needle in needles() {
            let folded = self.folded(needle.as_str());
            self.add_related(&folded, word_boost, &mut terms);
            // A part of a joined word is informative, too.
            let joined = Joined::needle(&folded);
            if !joined.breaks().is_empty() {
                self.add_related(joined.as_str(), word_boost, &mut terms);
            }
        }
        terms.chosen()
    }

    /// Adds the new terms of a folded needle, with that factor of the score of its words.
    fn add_related(&self, folded: &str, word_boost: Score, terms: &mut Terms) {
        let (paired, asking) = (Paired::new(folded), Asking::new(folded));
        for unit in units(folded).filter(|unit| !paired.hold(unit.start)) {
            for (text, tells) in related_parts(folded, &unit).into_iter().flatten() {
                let boost = if unit.kind == Kind::Word { word_boost } else { 1.0 };
                let term = Term::from_field_text(self.fields.text, text);
                terms.add(RelatedTerm { term, tells, boost }, asking.hold_unit(&unit));
            }
        }
        let mut term = String::new();
        for cluster in paired.iter() {
            cluster.write_term(folded, &mut term);
            let pair = cluster.pair();
            let (tells, asks) = (pair.is_some(), pair.is_some_and(|pair| asking.hold(pair)));
            let term = Term::from_field_text(self.fields.clusters, &term);
            terms.add(RelatedTerm { term, tells, boost: 1.0 }, asks);
        }
    }

    /// Returns a needle in the characters of the index.
    fn folded(&self, needle: &str) -> String {
        needle.chars().map(|c| self.options.fold_char(c)).collect()
    }

    fn filters(&self, request: &IndexSearch<'_>, conditions: &mut Conditions) {
        let fields = self.fields;
        let query = request.query;
        let asked = [
            request.senders.map(|senders| any_of(fields.sender, senders)),
            request.kind.map(|kind| any_of(fields.kind, &[kind])),
        ];
        conditions.wanted.extend(asked.into_iter().flatten().map(filter));
        either_side(&query.from, fields.sender, conditions);
        either_side(&query.types, fields.kind, conditions);
        let has = |property: &HasFilter| match property {
            HasFilter::Link => any_of(fields.has, &[HAS_LINK]),
            HasFilter::Media => any_of(fields.kind, &MEDIA),
        };
        conditions.wanted.extend(query.has.wanted.iter().map(has).map(filter));
        conditions.unwanted.extend(query.has.unwanted.iter().map(has));
    }

    /// Returns the terms of a needle.
    ///
    /// Of the overlapping pairs of a run every other one is enough, and the last one: adjacent
    /// positions are adjacent characters.
    fn pieces(&self, needle: &str) -> Pieces {
        let joined = Joined::needle(&self.folded(needle));
        let folded = joined.as_str();
        let units: Vec<Unit> = units(folded).collect();
        let mut text = String::new();
        let mut term = |unit: &Unit, end| {
            write_term(unit.kind, &folded[unit.start..end], &mut text);
            (unit.position, Term::from_field_text(self.fields.text, &text))
        };
        let mut terms = Vec::with_capacity(units.len());
        let mut covered = 0;
        let mut before: Option<&Unit> = None;
        for unit in &units {
            match unit.kind {
                Kind::Character { .. } if unit.end <= covered => {}
                Kind::Character { pair: true } => {
                    terms.push(term(unit, unit.pair_end));
                    covered = unit.pair_end;
                }
                Kind::Character { pair: false } => match before {
                    Some(before) if before.kind == Kind::Character { pair: true } => {
                        terms.push(term(before, before.pair_end));
                        covered = unit.end;
                    }
                    _ => terms.push(term(unit, unit.end)),
                },
                Kind::Word | Kind::Rest | Kind::Symbol => terms.push(term(unit, unit.end)),
            }
            before = Some(unit);
        }
        let open = units.last().is_some_and(|unit| match unit.kind {
            Kind::Word | Kind::Rest => true,
            Kind::Symbol => false,
            // One in a run is part of a pair already.
            Kind::Character { .. } => {
                unit.end > covered && !folded[unit.start..].starts_with(is_single)
            }
        });
        Pieces { terms, open }
    }
}

/// Different terms of a question, and whether each is of the words by which it asks.
#[derive(Default)]
struct Terms(Vec<(RelatedTerm, bool)>);

impl Terms {
    fn add(&mut self, term: RelatedTerm, asks: bool) {
        if !self.0.iter().any(|(known, _)| known.term == term.term) {
            self.0.push((term, asks));
        }
    }

    /// Returns the terms; none if there would be nothing to choose from. Words by which the question
    /// asks only help to rank if it has any others.
    fn chosen(mut self) -> Vec<RelatedTerm> {
        let telling = |asking: bool| {
            self.0.iter().filter(move |(term, asks)| term.tells && (asking || !asks))
        };
        if telling(true).count() < 2 {
            return Vec::new();
        }
        if telling(false).next().is_some() {
            for (term, _) in self.0.iter_mut().filter(|(_, asks)| *asks) {
                (term.tells, term.boost) = (false, term.boost * ASKING);
            }
        }
        self.0.into_iter().map(|(term, _)| term).collect()
    }
}

/// Terms of a needle.
struct Pieces {
    /// Terms with their positions, in order.
    terms: Vec<(usize, Term)>,
    /// `true` if the last one stands for all terms that begin with it.
    open: bool,
}

/// Returns the terms of one unit of a question, and whether each is informative by itself.
fn related_parts<'a>(folded: &'a str, unit: &Unit) -> [Option<(&'a str, bool)>; 2] {
    let text = &folded[unit.start..unit.end];
    match unit.kind {
        Kind::Word => [Some((text, true)), None],
        // The first piece of a very long word stands for it.
        Kind::Rest => [None, None],
        Kind::Symbol => [text.starts_with(is_emoji).then_some((text, false)), None],
        Kind::Character { pair } => {
            let pair = pair.then(|| (unit.longest(folded), true));
            [pair, text.starts_with(is_ideograph).then_some((text, false))]
        }
    }
}

fn boxed(query: impl TantivyQuery) -> Box<dyn TantivyQuery> {
    Box::new(query)
}

/// Returns a condition that every result meets and that does not rank them.
pub(super) fn filter(query: Box<dyn TantivyQuery>) -> Condition {
    Condition { query, scores: false }
}

/// Returns a query for messages whose `field` is one of `values`; no messages if there are none.
pub(super) fn any_of(field: Field, values: &[impl AsRef<str>]) -> Box<dyn TantivyQuery> {
    let terms = values.iter().map(|value| Term::from_field_text(field, value.as_ref()));
    boxed(AnyQuery(terms.collect()))
}

/// Adds the conditions on one field: any of the wanted values, none of the unwanted.
fn either_side(asked: &IncludeExclude<impl AsRef<str>>, field: Field, conditions: &mut Conditions) {
    if !asked.wanted.is_empty() {
        conditions.wanted.push(filter(any_of(field, &asked.wanted)));
    }
    if !asked.unwanted.is_empty() {
        conditions.unwanted.push(any_of(field, &asked.unwanted));
    }
}
