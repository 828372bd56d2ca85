//! Reproducible choices: the same seed gives the same history.

/// Source of pseudo-random numbers (`SplitMix64`).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// Creates it for a name.
    pub(super) fn of(name: &str) -> Self {
        // FNV-1a
        Self(name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`; 0 if that is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// Returns a number from `low` to `high`.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high - low + 1).unwrap_or(1).max(1);
        low + i64::try_from(self.next() % span).unwrap_or_default()
    }

    /// Returns true that often in 100 cases.
    pub(super) fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }

    /// Brings items into another order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_gives_the_same_choices() {
        let choices = |name| {
            let mut dice = Dice::of(name);
            let mut order: Vec<usize> = (0..20).collect();
            dice.shuffle(&mut order);
            (dice.between(-3, 3), dice.below(7), order)
        };
        assert_eq!(choices("a"), choices("a"));
        assert_ne!(choices("a"), choices("b"));
        let mut dice = Dice::of("range");
        assert!((0..1_000).all(|_| (-3..=3).contains(&dice.between(-3, 3))));
    }
}
