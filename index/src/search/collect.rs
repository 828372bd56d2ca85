//! Selection of results: the newest matches, and the best of them.

use std::cmp::{Ordering, Reverse};

use tantivy::{DocAddress, Score};

use super::cursor::{Boundary, Count, Rank};
use super::drive::Place;
use super::generation::View;

/// The newest of the matches that are pushed, in any order or in order of age.
pub(super) struct Newest {
    wanted: usize,
    is_ordered: bool,
    kept: Vec<Place>,
    /// No match of a greater age is wanted.
    oldest: u64,
    /// Number of matches at which those that are too many are dropped.
    full: usize,
    /// `true` if there were more matches than wanted.
    is_cut: bool,
}

impl Newest {
    pub(super) fn new(wanted: usize, is_ordered: bool) -> Self {
        let full = wanted.saturating_mul(2);
        let oldest = if wanted == 0 { 0 } else { u64::MAX };
        Self { wanted, is_ordered, kept: Vec::new(), oldest, full, is_cut: false }
    }

    /// Returns whether enough matches are newer.
    pub(super) fn is_too_old(&self, place: &Place) -> bool {
        place.age > self.oldest
    }

    /// Notes that there are other matches, which are too old.
    pub(super) fn leave_out(&mut self) {
        self.is_cut = true;
    }

    /// Adds a match, unless it is too old.
    pub(super) fn push(&mut self, place: Place) {
        if self.is_too_old(&place) || self.wanted == 0 {
            self.leave_out();
            return;
        }
        self.kept.push(place);
        if self.is_ordered {
            if self.kept.len() == self.wanted {
                self.oldest = place.age;
            }
        } else if self.kept.len() >= self.full {
            self.drop_oldest();
            self.full = self.kept.len().saturating_add(self.wanted);
        }
    }

    /// Drops matches, but none of the age of the last one that is wanted.
    fn drop_oldest(&mut self) {
        let Some(last) = self.wanted.checked_sub(1).filter(|last| *last < self.kept.len()) else {
            return;
        };
        let (_, last, _) = self.kept.select_nth_unstable_by_key(last, |place| place.age);
        self.oldest = last.age;
        let before = self.kept.len();
        self.kept.retain(|place| place.age <= self.oldest);
        self.is_cut |= self.kept.len() < before;
    }

    /// Returns the newest matches, as many as wanted and in no order, and the oldest of them if
    /// there are others.
    pub(super) fn finish(mut self, view: &View) -> (Vec<Place>, Option<Boundary>) {
        self.drop_oldest();
        self.is_cut |= self.kept.len() > self.wanted;
        if !self.is_cut {
            return (self.kept, None);
        }
        // Those of the last age are in the order of their ties.
        let oldest = self.kept.iter().map(|place| place.age).max().unwrap_or_default();
        let (mut newer, last): (Vec<Place>, Vec<Place>) =
            self.kept.into_iter().partition(|place| place.age < oldest);
        let mut last: Vec<(Boundary, Place)> =
            last.into_iter().map(|place| (place.rank(view).moment(), place)).collect();
        last.sort_unstable_by_key(|(moment, _)| Reverse(*moment));
        last.truncate(self.wanted.saturating_sub(newer.len()));
        let boundary = last.last().map(|(moment, _)| *moment);
        newer.extend(last.into_iter().map(|(_, place)| place));
        (newer, boundary)
    }
}

/// The best of the matches that are pushed, as far as they are wanted.
pub(super) struct Best<'a> {
    view: &'a View,
    after: Option<Rank>,
    wanted: usize,
    kept: Vec<Place>,
    /// Number of matches pushed until only better ones are wanted.
    counted: usize,
    pub(super) count: Count,
    /// Minimum score of matches that are wanted.
    pub(super) bar: Score,
}

impl<'a> Best<'a> {
    /// Wants the best `wanted` matches after `after`; until `counted` were pushed, also the number
    /// of all of them.
    pub(super) fn new(view: &'a View, after: Option<Rank>, wanted: usize, counted: usize) -> Self {
        let count = Count::default();
        Self { view, after, wanted: wanted.max(1), kept: Vec::new(), counted, count, bar: 0.0 }
    }

    pub(super) fn push(&mut self, place: Place) {
        self.count.matches += 1;
        if self
            .after
            .is_some_and(|after| place.score >= after.score && place.rank(self.view) >= after)
        {
            return;
        }
        self.kept.push(place);
        if self.count.matches < self.counted || self.kept.len() < 2 * self.wanted {
            return;
        }
        let score = |a: &Place, b: &Place| b.score.total_cmp(&a.score);
        let (_, last, _) = self.kept.select_nth_unstable_by(self.wanted - 1, score);
        // Rounded scores may be that much lower.
        let last = last.score;
        self.bar = last - 1.0 / 1024.0;
        self.count.is_exact = false;
        // Those of the last score are told apart by time.
        self.kept.retain(|place| place.score >= last);
        if self.kept.len() >= 2 * self.wanted {
            let kept = std::mem::take(&mut self.kept);
            self.kept = chosen(kept, self.wanted);
        }
    }

    /// Returns the best, best first.
    pub(super) fn finish(self) -> Vec<(Rank, DocAddress)> {
        best(self.kept, self.after, self.wanted, self.view)
    }
}

/// Returns the best `limit` matches by score and age, and others of the last score and age.
fn chosen(mut places: Vec<Place>, limit: usize) -> Vec<Place> {
    let order = |a: &Place, b: &Place| b.score.total_cmp(&a.score).then(a.age.cmp(&b.age));
    if limit > 0 && limit < places.len() {
        let (_, &mut last, _) = places.select_nth_unstable_by(limit - 1, order);
        places.retain(|place| order(place, &last).is_le());
    }
    places
}

/// Returns the best `limit` of some matches that come after `after`, best first.
pub(super) fn best(
    mut places: Vec<Place>,
    after: Option<Rank>,
    limit: usize,
    view: &View,
) -> Vec<(Rank, DocAddress)> {
    if let Some(after) = after {
        // Most are decided by their score: the rest need not be read.
        places.retain(|place| match place.score.total_cmp(&after.score) {
            Ordering::Less => true,
            Ordering::Equal => place.rank(view) < after,
            Ordering::Greater => false,
        });
    }
    let places = chosen(places, limit);
    let ranked = places.iter().map(|place| (place.rank(view), place.address()));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_unstable_by_key(|&(rank, _)| Reverse(rank));
    ranked.truncate(limit);
    ranked
}

/// Rounds a score to the digits on which segments agree: they add up the same numbers in different
/// order. The summands are frozen in the cursor.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "it is small and not negative; `round` is a call into the C library for each match"
)]
pub(super) fn rounded(score: Score) -> Score {
    (score * 1024.0 + 0.5) as i32 as Score / 1024.0
}
