//! Division of a period into the counters with items that make it up: blocks, days, and the messages
//! of parts of days.

use serde::Serialize;

use super::delta::{BLOCK, DAY};
use crate::{ActivityQuery, StoreError};

/// Counters with items to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemCounters {
    /// Blocks, and days at both ends.
    Blocks,
    /// Days alone.
    Days,
}

/// Range of times in a JSON list that a statement reads.
#[derive(Clone, Copy, Debug, Serialize)]
struct Span {
    from: i64,
    to: i64,
    sign: i64,
}

/// Range of times of a counter in a JSON list that a statement reads.
#[derive(Serialize)]
struct CounterSpan {
    counter: &'static str,
    stored: String,
    #[serde(flatten)]
    span: Span,
}

/// JSON lists of the parts of a period.
pub(super) struct ItemSpans {
    /// Spans of counters.
    pub(super) counters: String,
    /// Parts of days of which the messages count; at most half a day each.
    pub(super) edges: String,
}

impl ItemSpans {
    /// Divides a period for these counters.
    pub(super) fn new(
        wanted: &ActivityQuery<'_>,
        counters: ItemCounters,
        names: [&'static str; 2],
    ) -> Result<Self, StoreError> {
        let (from, to) = wanted.ends();
        let (days, edges) = divided((from, to), DAY);
        let (blocks, rest) = match counters {
            ItemCounters::Blocks => divided((days.from, days.to), BLOCK),
            ItemCounters::Days => (Span::new(0, 0, 1), vec![]),
        };
        // A short period has fewer days than the parts of blocks at its ends.
        let spans = if blocks.to - blocks.from < 2 * BLOCK {
            vec![("", days)]
        } else {
            let rest = rest.into_iter().map(|span| ("", span));
            std::iter::once(("_block", blocks)).chain(rest).collect()
        };
        let spans = names.iter().flat_map(|counter| {
            spans.iter().map(move |(suffix, span)| CounterSpan {
                counter,
                stored: format!("{counter}{suffix}"),
                span: *span,
            })
        });
        Ok(Self {
            counters: serde_json::to_string(&spans.collect::<Vec<_>>())?,
            edges: serde_json::to_string(&edges)?,
        })
    }
}

impl Span {
    const fn new(from: i64, to: i64, sign: i64) -> Self {
        Self { from, to, sign }
    }
}

/// Returns the whole spans of a length nearest to a period, and the times by which those differ: to be
/// added (`sign` 1) or taken away (-1). At most half of the length each.
fn divided((from, to): (i64, i64), length: i64) -> (Span, Vec<Span>) {
    let nearest = |at: i64| (at + length / 2).div_euclid(length) * length;
    let (first, end) = (nearest(from), nearest(to));
    let edge = |at: i64, whole: i64, sign: i64| {
        Span::new(at.min(whole), at.max(whole), if at < whole { sign } else { -sign })
    };
    let edges = [edge(from, first, 1), edge(to, end, -1)];
    let edges = edges.into_iter().filter(|edge| edge.from < edge.to).collect();
    (Span::new(first, end, 1), edges)
}

#[cfg(test)]
#[path = "item_spans_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums numbers that tell how often each day is counted.
    fn counted(from: i64, to: i64, length: i64) -> Vec<i64> {
        let (whole, edges) = divided((from, to), length);
        let mut days = vec![0; 400];
        for span in edges.iter().chain([&whole]) {
            for day in span.from..span.to {
                days[usize::try_from(day + 100).unwrap()] += span.sign;
            }
        }
        days
    }

    #[test]
    fn each_time_of_a_period_is_counted_once() {
        for (from, to) in [(0, 64), (-40, 90), (17, 33), (15, 16), (5, 5), (48, 250), (-1, 31)] {
            let days = counted(from, to, 32);
            for (day, times) in (-100..).zip(&days) {
                assert_eq!(*times, i64::from((from..to).contains(&day)), "{day} {from} {to}");
            }
        }
    }
}
