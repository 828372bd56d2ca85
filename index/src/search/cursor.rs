//! Cursors: the end of a page of results, as an opaque text.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use tantivy::Score;

use super::related::Reach;
use super::statistics::Levels;

/// Part of the results that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    /// It matches completely and is ranked, or all are in order of time.
    Exact,
    /// It matches completely and is older than those that are ranked.
    Older,
    /// It matches in part.
    Related,
}

/// Position of a message in the results: by score (0 for all when sorted by time), then by time,
/// then by a hash of its id. Greater is earlier in the results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rank {
    pub(super) score: Score,
    pub(super) sent_at: i64,
    pub(super) tie: u64,
}

impl Rank {
    /// Returns the position in order of time.
    pub(super) fn moment(self) -> Boundary {
        Boundary { sent_at: self.sent_at, tie: self.tie }
    }
}

/// Position of a message in order of time. Greater is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Boundary {
    pub(super) sent_at: i64,
    pub(super) tie: u64,
}

impl Boundary {
    /// Returns the rank among results in order of time.
    pub(super) fn rank(self) -> Rank {
        Rank { score: 0.0, sent_at: self.sent_at, tie: self.tie }
    }
}

/// Number of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) matches: usize,
    /// Number of them that match in part.
    pub(super) related: usize,
    /// `false` if there are more.
    pub(super) is_exact: bool,
}

impl Default for Count {
    fn default() -> Self {
        Self { matches: 0, related: 0, is_exact: true }
    }
}

impl Count {
    pub(super) fn and(self, other: Self) -> Self {
        let matches = self.matches.saturating_add(other.matches);
        let related = self.related.saturating_add(other.related);
        Self { matches, related, is_exact: self.is_exact && other.is_exact }
    }
}

impl Eq for Rank {}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| self.sent_at.cmp(&other.sent_at))
            .then_with(|| self.tie.cmp(&other.tie))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// End of a page of results. It holds a rank, not a number of results, and what the first page
/// decided: the statistics behind the rank, which matches are ranked at all, the total. Messages
/// indexed in the meantime shift nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub(super) tier: Tier,
    pub(super) rank: Rank,
    /// Rounded statistics that the scores are based on; empty if sorted by time.
    pub(super) levels: Levels,
    /// Number of results on all pages, as counted on the first.
    pub(super) count: Count,
    /// The oldest complete match that is ranked; `None` if all are.
    pub(super) boundary: Option<Boundary>,
    /// The terms that related messages were searched by.
    pub(super) reach: Reach,
}

/// Error of a text that is no [`Cursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a search cursor")]
pub struct BadCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rank { score, sent_at, tie } = self.rank;
        let tier = match self.tier {
            Tier::Exact => 'e',
            Tier::Older => 'o',
            Tier::Related => 'r',
        };
        write!(f, "{tier}.{:x}.{sent_at}.{tie:x}.", score.to_bits())?;
        self.levels.iter().try_for_each(|level| write!(f, "{level:02x}"))?;
        let more = if self.count.is_exact { "" } else { "+" };
        write!(f, ".{}_{}{more}.", self.count.matches, self.count.related)?;
        write!(f, "{:x}_{:x}.", self.reach.drivers, self.reach.terms)?;
        match self.boundary {
            Some(Boundary { sent_at, tie }) => write!(f, "{sent_at}_{tie:x}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let parts: Vec<&str> = text.split('.').collect();
        let &[tier, score, sent_at, tie, levels, count, reach, boundary] = &parts[..] else {
            return Err(BadCursor);
        };
        let tier = match tier {
            "e" => Tier::Exact,
            "o" => Tier::Older,
            "r" => Tier::Related,
            _ => return Err(BadCursor),
        };
        let score = u32::from_str_radix(score, 16).map_err(|_| BadCursor)?;
        let sent_at = sent_at.parse().map_err(|_| BadCursor)?;
        let tie = u64::from_str_radix(tie, 16).map_err(|_| BadCursor)?;
        let score = Some(Score::from_bits(score)).filter(|score| score.is_finite());
        let rank = Rank { score: score.ok_or(BadCursor)?, sent_at, tie };
        let (matches, is_exact) = count.strip_suffix('+').map_or((count, true), |n| (n, false));
        // Cursors of earlier versions do not tell related messages apart.
        let (matches, related) = matches.split_once('_').unwrap_or((matches, "0"));
        let number = |text: &str| text.parse().map_err(|_| BadCursor);
        let count = Count { matches: number(matches)?, related: number(related)?, is_exact };
        let (drivers, terms) = reach.split_once('_').ok_or(BadCursor)?;
        let small = |text| u8::from_str_radix(text, 16).map_err(|_| BadCursor);
        let reach = Reach { drivers: small(drivers)?, terms: small(terms)? };
        if reach.drivers > reach.terms {
            return Err(BadCursor);
        }
        let boundary = if boundary.is_empty() { None } else { Some(parse_boundary(boundary)?) };
        Ok(Self { tier, rank, levels: parse_levels(levels)?, count, boundary, reach })
    }
}

fn parse_boundary(text: &str) -> Result<Boundary, BadCursor> {
    let (sent_at, tie) = text.split_once('_').ok_or(BadCursor)?;
    let tie = u64::from_str_radix(tie, 16).map_err(|_| BadCursor)?;
    Ok(Boundary { sent_at: sent_at.parse().map_err(|_| BadCursor)?, tie })
}

fn parse_levels(text: &str) -> Result<Levels, BadCursor> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let level = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    let levels: Option<Levels> = pairs.iter().map(level).collect();
    levels.filter(|_| rest.is_empty()).ok_or(BadCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text() {
        let rank = Rank { score: 3.25, sent_at: -5, tie: u64::MAX };
        let boundary = Boundary { sent_at: -7, tie: 0xfe };
        let reach = Reach { drivers: 3, terms: 255 };
        for (tier, levels, boundary, is_exact) in [
            (Tier::Exact, vec![], None, true),
            (Tier::Older, vec![1], Some(boundary), false),
            (Tier::Related, vec![0, 7, 255], None, false),
        ] {
            let count = Count { matches: 10_000, related: 7, is_exact };
            let cursor = Cursor { tier, rank, levels, count, boundary, reach };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for text in [
            "",
            "e.1.2.3",
            "e.1.2.3.04.5.6.",
            "e.1.2.3.0g.5.6_6.",
            "e.1.2.3.é.5.6_6.",
            "x.1.1.1..5.6_6.",
            "e.x.1.1..5.6_6.",
            "e.1.2.3..5-.6_6.",
            "e.1.2.3..5.6_6.7",
            "e.1.2.3..5.6_666.",
            // No number, an infinite one, and more terms that drive than there are.
            "e.7fc00000.2.3..5.6_6.",
            "e.ffc00000.2.3..5.6_6.",
            "e.7f800000.2.3..5.6_6.",
            "r.1.2.3..5.7_6.",
        ] {
            assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text}");
        }
    }
}
