//! Random texts and queries, the same in every run.

/// Words of four languages, with spaces where the language has them.
const WORDS: [&str; 28] = [
    "tea ",
    "wi-fi ",
    "station ",
    "tomorrow ",
    "don't ",
    "Café ",
    "12:30 ",
    "e-mail ",
    "tickets ",
    "https://example.org/x ",
    "明天",
    "營業時間",
    "台北車站",
    "停車場",
    "的",
    "可以",
    "明日",
    "の",
    "アルバイト",
    "予約",
    "です",
    "ありがとう",
    "พรุ่งนี้",
    "ร้าน",
    "เปิด",
    "ราคา",
    "ที่อยู่",
    "น้ำ",
];

/// Clauses that are not made of words.
const CLAUSES: [&str; 19] = [
    "from:Ann",
    "from:明華",
    "from:U2",
    "from:me",
    "from:nobody",
    "-from:ann",
    "type:text",
    "type:image",
    "-type:image",
    "has:link",
    "-has:link",
    "has:media",
    "-has:media",
    "after:2026-01-03",
    "before:2026-01-03",
    "after:2026-01-02T18:00",
    "before:2026-01-04T00:00Z",
    "type:file",
    "te",
];

/// `SplitMix64`: the same numbers in every run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Returns a text of a few words.
    pub(super) fn text(&mut self) -> String {
        (0..=self.below(5)).map(|_| self.pick(&WORDS)).collect::<String>().trim().to_owned()
    }

    /// Returns a query of one to three clauses.
    pub(super) fn query(&mut self) -> String {
        let clauses: Vec<_> = (0..=self.below(3)).map(|_| self.clause()).collect();
        clauses.join(" ")
    }

    fn clause(&mut self) -> String {
        let word = self.pick(&WORDS).trim().to_owned();
        match self.below(8) {
            0..=2 => self.part(&word),
            3 => format!("{word}?"),
            4 => format!("\"{}{}\"", self.pick(&WORDS), word),
            5 => format!("-{}", self.part(&word)),
            _ => self.pick(&CLAUSES).to_owned(),
        }
    }

    /// Returns the beginning of a word, or all of it.
    fn part(&mut self, word: &str) -> String {
        let length = word.chars().count();
        word.chars().take(1 + self.below(length)).collect()
    }
}
