//! The messages that may be in an index: a Bloom filter over their ties.
//!
//! A message that was never put needs no search for an earlier copy of it. The filter never denies
//! one that was: it holds the ties of all documents, and of all changes since.

use super::generation::View;

/// Bits of a filter for each message: one in a hundred new messages seems to be known.
const BITS: usize = 12;
/// Number of bits that are set for a message, all in one block.
const SET: u32 = 5;
/// Words of 64 bits in a block: one line of a processor's cache.
const BLOCK: usize = 8;
/// Minimum number of messages that a filter is made for.
const MIN: usize = 100_000;

/// The messages that may be in an index.
pub(super) struct KnownTies {
    /// Filters, each for twice as many messages as the one before it.
    filters: Vec<Filter>,
}

impl KnownTies {
    /// Reads the messages of a commit.
    pub(super) fn of(view: &View) -> Self {
        let count: u64 =
            view.searcher.segment_readers().iter().map(|s| u64::from(s.max_doc())).sum();
        let count = usize::try_from(count).unwrap_or(usize::MAX / 64);
        let mut known = Self { filters: vec![Filter::new(count + count / 4)] };
        for columns in &view.columns {
            columns.ties().for_each(|tie| known.add(tie));
        }
        known
    }

    /// Adds a message, unless it seems to be known: edits take no room.
    pub(super) fn add(&mut self, tie: u64) {
        if self.may_contain(tie) {
            return;
        }
        if let Some(last) = self.filters.last()
            && last.room == 0
        {
            let next = Filter::new(2 * last.capacity());
            self.filters.push(next);
        }
        if let Some(last) = self.filters.last_mut() {
            last.add(tie);
        }
    }

    /// Returns whether a message may have been added; `false` is certain.
    pub(super) fn may_contain(&self, tie: u64) -> bool {
        self.filters.iter().any(|filter| filter.may_contain(tie))
    }
}

struct Filter {
    blocks: Vec<[u64; BLOCK]>,
    /// Number of messages that it has yet room for.
    room: usize,
}

impl Filter {
    fn new(messages: usize) -> Self {
        let messages = messages.max(MIN);
        let blocks = (messages * BITS).div_ceil(64 * BLOCK);
        Self { blocks: vec![[0; BLOCK]; blocks], room: messages }
    }

    fn capacity(&self) -> usize {
        self.blocks.len() * 64 * BLOCK / BITS
    }

    /// Returns the block of a tie and its bits there.
    fn place(&self, tie: u64) -> (usize, [u64; BLOCK]) {
        let mixed = tie.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut rest = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let block = usize::try_from(rest >> 16).map_or(0, |high| high % self.blocks.len());
        let mut bits = [0; BLOCK];
        rest = rest.wrapping_mul(0xff51_afd7_ed55_8ccd);
        for _ in 0..SET {
            rest = rest.rotate_left(9);
            bits[usize::from(rest.to_le_bytes()[0] & 7)] |= 1 << (rest >> 3 & 63);
        }
        (block, bits)
    }

    fn add(&mut self, tie: u64) {
        let (block, bits) = self.place(tie);
        for (word, bits) in self.blocks[block].iter_mut().zip(bits) {
            *word |= bits;
        }
        self.room = self.room.saturating_sub(1);
    }

    fn may_contain(&self, tie: u64) -> bool {
        let (block, bits) = self.place(tie);
        self.blocks[block].iter().zip(bits).all(|(word, bits)| word & bits == bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_known_and_little_else() {
        let mut known = KnownTies { filters: vec![Filter::new(0)] };
        let tie = |n: u64| n.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        (0..250_000).for_each(|n| known.add(tie(n)));
        assert_eq!(known.filters.len(), 2);
        assert!((0..250_000).all(|n| known.may_contain(tie(n))));
        let mistaken = (300_000..400_000).filter(|&n| known.may_contain(tie(n))).count();
        assert!(mistaken < 5_000, "{mistaken}");
        (0..250_000).for_each(|n| known.add(tie(n)));
        assert_eq!(known.filters.len(), 2);
    }
}
