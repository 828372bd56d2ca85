//! Compilation of a search request to a tantivy query.
//!
//! Conditions that only filter score nothing, so that relevance is about the words alone.

use std::collections::HashSet;
use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, EmptyQuery, Occur, PhraseQuery, Query as TantivyQuery,
    RangeQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use super::join::Joined;
use super::phrase::{OpenPhraseQuery, PREFIX_SCORE};
use super::query::{HasFilter, IncludeExclude, Needle, Query};
use super::related::{RelatedQuery, RelatedTerm};
use super::schema::{Fields, HAS_LINK};
use super::statistics::Statistics;
use super::steady::SeekSafeQuery;
use super::units::{Kind, Unit, is_single, units};
use super::{IndexOptions, IndexSearch};
use crate::script::is_ideograph;

type Clause = (Occur, Box<dyn TantivyQuery>);

/// Message types of `has:media`.
const MEDIA: [&str; 4] = ["image", "video", "audio", "file"];

/// Maximum number of channels that are searched exhaustively.
const FEW_CHANNELS: usize = 32;

/// Compiles requests.
#[derive(Clone, Copy)]
pub(super) struct Compiler {
    pub(super) fields: Fields,
    pub(super) options: IndexOptions,
}

impl Compiler {
    /// Returns the query for messages that match completely.
    pub(super) fn exact(&self, request: &IndexSearch<'_>) -> Box<dyn TantivyQuery> {
        let mut clauses = self.strict(request, |_| true);
        if !clauses.iter().any(|(occur, _)| *occur == Occur::Must) {
            clauses.push(must(boxed(AllQuery)));
        }
        boxed(BooleanQuery::new(clauses))
    }

    /// Returns the query for messages that match enough of the words, and everything else, but not
    /// all of the words (which need not be excluded unless there are `any_exact` ones).
    pub(super) fn related(
        &self,
        request: &IndexSearch<'_>,
        statistics: &Statistics,
        any_exact: bool,
    ) -> Box<dyn TantivyQuery> {
        let mut clauses = self.strict(request, Needle::is_quoted);
        let words = RelatedQuery::new(&self.related_terms(request.query), statistics);
        clauses.push((Occur::Must, boxed(words)));
        if any_exact {
            clauses.push(must_not(self.exact(request)));
        }
        boxed(BooleanQuery::new(clauses))
    }

    /// Returns the conditions on a message, with only those words that `counts`.
    ///
    /// An open prefix may stand for thousands of words: in few channels these are matched within
    /// the messages that the rest leaves, one word of the query after the other.
    fn strict(&self, request: &IndexSearch<'_>, counts: impl Fn(&Needle) -> bool) -> Vec<Clause> {
        let few = request.channels.filter(|channels| channels.len() <= FEW_CHANNELS);
        let text = &request.query.text;
        let wanted = text.wanted.iter().filter(|needle| counts(needle));
        let wanted = wanted.map(|needle| self.pieces(needle.as_str()));
        let (open, closed): (Vec<Pieces>, Vec<Pieces>) = wanted.partition(|pieces| pieces.open);
        let mut clauses = Vec::new();
        self.filters(request, &mut clauses);
        clauses.extend(closed.into_iter().map(|pieces| (Occur::Must, occurs(pieces, None))));
        for pieces in open {
            let within = few.map(|_| boxed(BooleanQuery::new(std::mem::take(&mut clauses))));
            clauses.push((Occur::Must, occurs(pieces, within)));
        }
        clauses.extend(text.unwanted.iter().map(|needle| {
            let within = few.map(|channels| constant(any_of(self.fields.channel, channels)));
            must_not(occurs(self.pieces(needle.as_str()), within))
        }));
        clauses
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
    /// Words and pairs select; emoji and single ideographs only help to rank. Dictionary words
    /// beside the pairs, or in place of them, rank Chinese, Japanese and Thai no better, and single
    /// Thai letters rank worse.
    pub(super) fn related_terms(&self, query: &Query) -> Vec<RelatedTerm> {
        let mut terms: Vec<RelatedTerm> = Vec::new();
        for needle in query.text.wanted.iter().filter(|needle| !needle.is_quoted()) {
            let folded = self.folded(needle.as_str());
            self.add_related(&folded, &mut terms);
            // A part of a joined word is informative, too.
            let joined = Joined::needle(&folded);
            if !joined.breaks().is_empty() {
                self.add_related(joined.as_str(), &mut terms);
            }
        }
        let choice = terms.iter().filter(|term| term.tells).count() > 1;
        if choice { terms } else { Vec::new() }
    }

    /// Adds the new terms of a folded needle.
    fn add_related(&self, folded: &str, terms: &mut Vec<RelatedTerm>) {
        for unit in units(folded) {
            for (text, tells) in related_parts(folded, &unit).into_iter().flatten() {
                let term = Term::from_field_text(self.fields.text, text);
                if !terms.iter().any(|known| known.term == term) {
                    terms.push(RelatedTerm { term, tells });
                }
            }
        }
    }

    /// Returns a needle in the characters of the index.
    fn folded(&self, needle: &str) -> String {
        needle.chars().map(|c| self.options.fold_char(c)).collect()
    }

    fn filters(&self, request: &IndexSearch<'_>, clauses: &mut Vec<Clause>) {
        let fields = self.fields;
        let query = request.query;
        let asked = [
            request.channels.map(|channels| any_of(fields.channel, channels)),
            request.senders.map(|senders| any_of(fields.sender, senders)),
            request.kind.map(|kind| any_of(fields.kind, &[kind])),
            sent_between(fields.sent_at, request),
        ];
        clauses.extend(asked.into_iter().flatten().map(must));
        either_side(&query.from, fields.sender, clauses);
        either_side(&query.types, fields.kind, clauses);
        let has = |property: &HasFilter| match property {
            HasFilter::Link => any_of(fields.has, &[HAS_LINK]),
            HasFilter::Media => any_of(fields.kind, &MEDIA),
        };
        clauses.extend(query.has.wanted.iter().map(has).map(must));
        clauses.extend(query.has.unwanted.iter().map(|has_not| (Occur::MustNot, has(has_not))));
    }

    /// Returns the terms of a needle.
    ///
    /// Of the overlapping pairs of a run every other one is enough, and the last one: adjacent
    /// positions are adjacent characters.
    fn pieces(&self, needle: &str) -> Pieces {
        let joined = Joined::needle(&self.folded(needle));
        let folded = joined.as_str();
        let units: Vec<Unit> = units(folded).collect();
        let term = |unit: &Unit, end| {
            (unit.position, Term::from_field_text(self.fields.text, &folded[unit.start..end]))
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
                Kind::Word | Kind::Symbol => terms.push(term(unit, unit.end)),
            }
            before = Some(unit);
        }
        let open = units.last().is_some_and(|unit| match unit.kind {
            Kind::Word => true,
            Kind::Symbol => false,
            // One in a run is part of a pair already.
            Kind::Character { .. } => {
                unit.end > covered && !folded[unit.start..].starts_with(is_single)
            }
        });
        Pieces { terms, open }
    }
}

/// Terms of a needle.
struct Pieces {
    /// Terms with their positions, in order.
    terms: Vec<(usize, Term)>,
    /// `true` if the last one stands for all terms that begin with it.
    open: bool,
}

/// Returns a query for messages in which a needle occurs: its pieces one after another. With an
/// open prefix, only messages `within` are read.
fn occurs(
    Pieces { mut terms, open }: Pieces,
    within: Option<Box<dyn TantivyQuery>>,
) -> Box<dyn TantivyQuery> {
    match (terms.pop(), within) {
        (None, _) => boxed(EmptyQuery),
        (Some((_, word)), None) if open && terms.is_empty() => prefix(&word),
        (Some(word), within) if open => boxed(OpenPhraseQuery::new(terms, word, within)),
        (Some((_, term)), _) if terms.is_empty() => scored(term),
        (Some(last), _) => {
            terms.push(last);
            boxed(PhraseQuery::new_with_offset(terms))
        }
    }
}

/// Returns a query for messages with a term that begins with `word`, all of the same score but for
/// those with the word itself: rare longer words would otherwise come first just because they are
/// rare.
fn prefix(word: &Term) -> Box<dyn TantivyQuery> {
    let text = word.value().as_str().unwrap_or_default().to_owned();
    // No word holds the last code point: it is not a character.
    let end = Term::from_field_text(word.field(), &format!("{text}{}", char::MAX));
    let begun = boxed(RangeQuery::new(Bound::Included(word.clone()), Bound::Excluded(end)));
    let begun = boxed(ConstScoreQuery::new(begun, PREFIX_SCORE));
    boxed(BooleanQuery::new(vec![(Occur::Must, begun), (Occur::Should, scored(word.clone()))]))
}

/// Returns the terms of one unit of a question, and whether each is informative by itself.
fn related_parts<'a>(folded: &'a str, unit: &Unit) -> [Option<(&'a str, bool)>; 2] {
    let text = &folded[unit.start..unit.end];
    match unit.kind {
        Kind::Word => [Some((text, true)), None],
        Kind::Symbol => [text.starts_with(is_emoji).then_some((text, false)), None],
        Kind::Character { pair } => {
            let pair = pair.then(|| (unit.longest(folded), true));
            [pair, text.starts_with(is_ideograph).then_some((text, false))]
        }
    }
}

/// Returns whether a symbol is meaningful by itself, unlike punctuation.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

fn boxed(query: impl TantivyQuery) -> Box<dyn TantivyQuery> {
    Box::new(query)
}

fn scored(term: Term) -> Box<dyn TantivyQuery> {
    boxed(TermQuery::new(term, IndexRecordOption::WithFreqs))
}

/// Returns a condition that every result meets and that does not rank them.
fn must(condition: Box<dyn TantivyQuery>) -> Clause {
    (Occur::Must, constant(condition))
}

fn constant(condition: Box<dyn TantivyQuery>) -> Box<dyn TantivyQuery> {
    boxed(ConstScoreQuery::new(condition, 0.0))
}

/// Returns a condition on a text that no result may contain.
fn must_not(text: Box<dyn TantivyQuery>) -> Clause {
    (Occur::MustNot, boxed(SeekSafeQuery(text)))
}

/// Returns a query for messages whose `field` is one of `values`; no messages if there are none.
fn any_of(field: Field, values: &[impl AsRef<str>]) -> Box<dyn TantivyQuery> {
    let term = |value: &dyn AsRef<str>| Term::from_field_text(field, value.as_ref());
    match values {
        [] => boxed(EmptyQuery),
        [value] => boxed(TermQuery::new(term(value), IndexRecordOption::Basic)),
        values => boxed(TermSetQuery::new(values.iter().map(|value| term(value)))),
    }
}

/// Adds the conditions on one field: any of the wanted values, none of the unwanted.
fn either_side(asked: &IncludeExclude<impl AsRef<str>>, field: Field, clauses: &mut Vec<Clause>) {
    if !asked.wanted.is_empty() {
        clauses.push(must(any_of(field, &asked.wanted)));
    }
    if !asked.unwanted.is_empty() {
        clauses.push((Occur::MustNot, any_of(field, &asked.unwanted)));
    }
}

/// Returns the time limits of request and query together.
fn sent_between(sent_at: Field, request: &IndexSearch<'_>) -> Option<Box<dyn TantivyQuery>> {
    let from = request.from.max(request.query.after);
    let to = [request.to, request.query.before].into_iter().flatten().min();
    let term = |moment| Term::from_field_i64(sent_at, moment);
    let from_bound = from.map_or(Bound::Unbounded, |from| Bound::Included(term(from)));
    let to_bound = to.map_or(Bound::Unbounded, |to| Bound::Excluded(term(to)));
    (from.is_some() || to.is_some()).then(|| boxed(RangeQuery::new(from_bound, to_bound)))
}
