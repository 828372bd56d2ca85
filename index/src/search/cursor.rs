//! Cursors: the end of a page of results, as an opaque text.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use tantivy::Score;

use super::statistics::Levels;

/// Part of the results that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    /// It matches completely.
    Exact,
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

/// End of a page of results. It holds a rank, not a number of results, and the statistics behind
/// the rank, so that messages indexed in the meantime shift nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub(super) tier: Tier,
    pub(super) rank: Rank,
    /// Rounded statistics that the scores are based on; empty if sorted by time.
    pub(super) levels: Levels,
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
            Tier::Related => 'r',
        };
        write!(f, "{tier}.{:x}.{sent_at}.{tie:x}.", score.to_bits())?;
        self.levels.iter().try_for_each(|level| write!(f, "{level:02x}"))
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let parts: Vec<&str> = text.split('.').collect();
        let &[tier, score, sent_at, tie, levels] = &parts[..] else {
            return Err(BadCursor);
        };
        let tier = match tier {
            "e" => Tier::Exact,
            "r" => Tier::Related,
            _ => return Err(BadCursor),
        };
        let score = u32::from_str_radix(score, 16).map_err(|_| BadCursor)?;
        let sent_at = sent_at.parse().map_err(|_| BadCursor)?;
        let tie = u64::from_str_radix(tie, 16).map_err(|_| BadCursor)?;
        let rank = Rank { score: Score::from_bits(score), sent_at, tie };
        Ok(Self { tier, rank, levels: parse_levels(levels)? })
    }
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
        for (tier, levels) in [(Tier::Exact, vec![]), (Tier::Related, vec![0, 7, 255])] {
            let cursor = Cursor { tier, rank, levels };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for text in ["", "e.1.2.3", "e.1.2.3.4", "e.1.2.3.0g", "e.1.2.3.é", "x.1.1.1.", "e.x.1.1."]
        {
            assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text}");
        }
    }
}
