//! Generated messages in the letters of five languages: the same in every run.

/// `SplitMix64`: the same messages in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Returns the next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// Returns small numbers far more often than large ones, distributed like words in use.
    pub(crate) fn skewed(&mut self, bound: usize) -> usize {
        let (a, b, c) = (self.below(1_000), self.below(1_000), self.below(1_000));
        a * b * c * bound / 1_000_000_000
    }
}

/// Generated words in the letters of a language.
pub(crate) struct Language {
    /// Its words.
    pub(crate) words: Vec<String>,
    gap: &'static str,
}

impl Language {
    fn new(
        numbers: &mut Numbers,
        words: usize,
        gap: &'static str,
        mut syllable: impl FnMut(&mut Numbers) -> String,
    ) -> Self {
        let mut word = || {
            let syllables = 1 + numbers.below(3);
            (0..syllables).map(|_| syllable(numbers)).collect()
        };
        Self { words: (0..words).map(|_| word()).collect(), gap }
    }

    /// Returns Chinese, Japanese, Thai, Korean and English.
    pub(crate) fn all() -> Vec<Self> {
        let mut numbers = Numbers(1);
        let from = |numbers: &mut Numbers, first: char, count: usize| {
            let offset = u32::try_from(numbers.skewed(count)).expect("a small number");
            char::from_u32(u32::from(first) + offset).expect("a character")
        };
        let pick = |numbers: &mut Numbers, letters: &str| {
            letters.chars().nth(numbers.below(letters.chars().count())).expect("a letter")
        };
        vec![
            Self::new(&mut numbers, 20_000, "", |n| from(n, '一', 3_000).into()),
            Self::new(&mut numbers, 10_000, "", |n| {
                let kana = n.below(2) == 0;
                if kana { from(n, 'あ', 80) } else { from(n, '一', 2_000) }.into()
            }),
            Self::new(&mut numbers, 8_000, "", |n| {
                [pick(n, "กขคงจชดตทนบปพมยรลวสหอ"), pick(n, "าะิีุู"), pick(n, "กงนมดบยว")]
                    .iter()
                    .collect()
            }),
            Self::new(&mut numbers, 10_000, " ", |n| from(n, '가', 8_000).into()),
            Self::new(&mut numbers, 20_000, " ", |n| {
                [pick(n, "bcdfghklmnprstvw"), pick(n, "aeiou"), pick(n, "lmnrst")].iter().collect()
            }),
        ]
    }

    /// Returns a message in the language.
    pub(crate) fn message(&self, numbers: &mut Numbers) -> String {
        let mut text = String::new();
        for _ in 0..4 + numbers.below(16) {
            text.push_str(&self.words[numbers.skewed(self.words.len())]);
            text.push_str(if numbers.below(8) == 0 { ", " } else { self.gap });
        }
        text
    }
}
