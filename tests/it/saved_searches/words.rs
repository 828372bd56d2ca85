//! Random texts and queries, the same in every run.

use crate::harness::numbers::Numbers;

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

impl Numbers {
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
