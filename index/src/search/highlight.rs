//! Highlights: matches of a query in a message, as ranges of characters of the original text.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::clusters::{Cluster, Paired, clusters};
use super::excerpt::ExcerptSource;
use super::join::Joined;
use super::query::Query;
use super::units::units;
use crate::fold::han::simplified;
use crate::fold::search::SearchText;
use crate::script::Class;

/// An excerpt of a message around the first match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Excerpt, with `…` where text is left out.
    pub text: String,
    /// Matches in the excerpt: ranges of characters of `text`.
    pub highlights: Vec<Range<usize>>,
}

/// Marks the matches of a query in texts.
#[derive(Clone, Debug)]
pub struct Highlighter {
    needles: Vec<Needle>,
    /// Parts of the needles, as they are and joined over their hyphens.
    parts: Parts,
}

/// A text that a query looks for.
#[derive(Clone, Debug)]
struct Needle {
    /// Joined over its hyphens.
    joined: String,
    /// Taken apart where it does not occur as a whole; false for a phrase.
    is_divisible: bool,
}

/// The words and pairs of characters or clusters of needles, each with the numbers of the needles that
/// have it: the reasons for a related message, but for single characters and pairs of hiragana, which
/// are everywhere.
#[derive(Clone, Debug, Default)]
struct Parts {
    units: HashMap<String, Vec<usize>>,
    pairs: HashMap<String, Vec<usize>>,
}

impl Highlighter {
    /// Prepares the texts that a query looks for.
    pub fn new(query: &Query) -> Self {
        let mut parts = Parts::default();
        let needles = query.text.wanted.iter().enumerate().map(|(number, needle)| {
            let folded: String = needle.as_str().chars().map(simplified).collect();
            let joined = Joined::needle(&folded).as_str().to_owned();
            let is_divisible = !needle.is_quoted();
            if is_divisible {
                parts.add(number, &folded);
                if joined != folded {
                    parts.add(number, &joined);
                }
            }
            Needle { joined, is_divisible }
        });
        Self { needles: needles.collect(), parts }
    }

    /// Returns the ranges of characters (not bytes) of `text` that match the query: in order, never
    /// overlapping. What people see as one character is in a range as a whole or not at all.
    pub fn highlight(&self, text: &str) -> Vec<Range<usize>> {
        if self.needles.is_empty() {
            return Vec::new();
        }
        let original = text;
        let text = Shown::new(text);
        let (mut ranges, mut divided) = (Vec::new(), Divided(vec![false; self.needles.len()]));
        for (needle, is_divided) in self.needles.iter().zip(&mut divided.0) {
            let found = text.occurrences(&needle.joined);
            *is_divided = needle.is_divisible && found.is_empty();
            ranges.extend(found);
        }
        if divided.0.contains(&true) {
            ranges.extend(text.parts(&self.parts, &divided));
        }
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        merge(widened(original, merge(ranges)))
    }

    /// Returns an excerpt of `text` of at most `max` characters (and the ellipses): the first match,
    /// a little of the text before it, and the text after it. It begins and ends between words where
    /// that is possible nearby. Numbers, and what people see as one character, are shown whole or not
    /// at all, unless they are longer than the excerpt, or a number than [`LONGEST_NUMBER`].
    ///
    /// [`LONGEST_NUMBER`]: crate::cut::LONGEST_NUMBER
    pub fn snippet(&self, text: &str, max: usize) -> Snippet {
        let highlights = self.highlight(text);
        let source = ExcerptSource::new(text);
        if source.length() <= max {
            return Snippet { text: text.to_owned(), highlights };
        }
        let part = source.around(highlights.first().unwrap_or(&(0..0)), max);
        let before = if part.start > 0 { "…" } else { "" };
        let after = if part.end < source.length() { "…" } else { "" };
        let shown = source.part(&part);
        let shift = usize::from(part.start > 0);
        let inside = highlights.into_iter().filter_map(|range| {
            let (from, to) = (range.start.max(part.start), range.end.min(part.end));
            (from < to).then(|| from - part.start + shift..to - part.start + shift)
        });
        let highlights = inside.collect();
        Snippet { text: format!("{before}{shown}{after}"), highlights }
    }
}

/// Returns sorted ranges of characters of a text, apart from each other, with all of what people see
/// as one character at either end.
fn widened(text: &str, mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if text.is_ascii() {
        return ranges;
    }
    let mut end = 0;
    let mut graphemes = text.graphemes(true).map(|grapheme| {
        let start = end;
        end += grapheme.chars().count();
        start..end
    });
    let mut seen = 0..0;
    for range in &mut ranges {
        while seen.end <= range.start
            && let Some(next) = graphemes.next()
        {
            seen = next;
        }
        range.start = range.start.min(seen.start);
        while seen.end < range.end
            && let Some(next) = graphemes.next()
        {
            seen = next;
        }
        range.end = range.end.max(seen.end);
    }
    ranges
}

/// Needles that do not occur as a whole in a text, by their numbers.
struct Divided(Vec<bool>);

impl Divided {
    fn contains_any(&self, needles: Option<&Vec<usize>>) -> bool {
        needles.is_some_and(|needles| needles.iter().any(|&number| self.0[number]))
    }
}

impl Parts {
    /// Adds the parts of the needle with that number.
    fn add(&mut self, number: usize, needle: &str) {
        let tells = |part: &&str| {
            part.chars().any(|c| !matches!(c, '\u{3041}'..='\u{309f}'))
                && part.chars().nth(1).is_some()
        };
        let paired = Paired::new(needle);
        let apart = units(needle).filter(|unit| !paired.hold(unit.start));
        for unit in apart.map(|unit| unit.longest(needle)).filter(tells) {
            self.units.entry(unit.to_owned()).or_default().push(number);
        }
        for pair in paired.iter().filter_map(Cluster::pair) {
            self.pairs.entry(needle[pair].to_owned()).or_default().push(number);
        }
    }

    /// Returns the occurrences of the parts of divided needles in a folded text, in characters.
    fn within(&self, folded: &str, divided: &Divided) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if !self.units.is_empty() {
            let shown = units(folded).map(|unit| (unit.start, unit.longest(folded)));
            let is_wanted = |unit: &str| divided.contains_any(self.units.get(unit));
            found = among(is_wanted, folded, shown);
        }
        if !self.pairs.is_empty() {
            let shown = clusters(folded).filter_map(|cluster| cluster.pair());
            let shown = shown.map(|pair| (pair.start, &folded[pair]));
            let is_wanted = |pair: &str| divided.contains_any(self.pairs.get(pair));
            found.extend(among(is_wanted, folded, shown));
        }
        found
    }
}

/// A text in which needles are searched.
struct Shown {
    text: SearchText,
    joined: Joined,
    /// Position in the folded text of each character of the joined one.
    places: Vec<usize>,
}

impl Shown {
    fn new(text: &str) -> Self {
        let text = SearchText::simplified(text);
        let len = text.as_str().len();
        let (mut joined, mut places) = (Joined::with_capacity(len), Vec::with_capacity(len));
        for (at, c) in text.as_str().chars().enumerate() {
            if joined.push(c) {
                places.pop();
            }
            places.push(at);
        }
        Self { text, joined, places }
    }

    /// Returns the characters of the original text for a range of the joined text.
    fn original(&self, joined: &Range<usize>) -> Range<usize> {
        match self.places.get(joined.clone()) {
            Some([first, .., last]) => self.text.original(*first..*last + 1),
            Some([only]) => self.text.original(*only..*only + 1),
            _ => 0..0,
        }
    }

    /// Returns the occurrences of a joined needle, in the original text.
    fn occurrences(&self, needle: &str) -> Vec<Range<usize>> {
        let found = occurrences(self.joined.as_str(), needle, self.joined.breaks());
        found.iter().map(|range| self.original(range)).collect()
    }

    /// Returns the occurrences of parts of divided needles, in the original text, joined or not.
    fn parts(&self, parts: &Parts, divided: &Divided) -> Vec<Range<usize>> {
        let apart = parts.within(self.text.as_str(), divided).into_iter();
        let mut found: Vec<_> = apart.map(|range| self.text.original(range)).collect();
        // Where nothing is joined, both texts are one.
        if !self.joined.breaks().is_empty() {
            let together = parts.within(self.joined.as_str(), divided);
            found.extend(together.iter().map(|range| self.original(range)));
        }
        found
    }
}

/// Returns the occurrences of `needle` in `folded`, in characters: from the beginning of a word on
/// if it begins with one, or from one of the `breaks` in it.
fn occurrences(folded: &str, needle: &str, breaks: &[usize]) -> Vec<Range<usize>> {
    let needle_len = needle.chars().count();
    let is_word = |c: char| Class::of(c) == Class::Word;
    let needs_boundary = needle.chars().next().is_some_and(is_word);
    let (mut byte, mut chars) = (0, 0);
    let mut found = Vec::new();
    while let Some(distance) = folded[byte..].find(needle) {
        let at = byte + distance;
        chars += folded[byte..at].chars().count();
        let inside_word = folded[..at].chars().next_back().is_some_and(is_word)
            && breaks.binary_search(&at).is_err();
        let (bytes, len) = if needs_boundary && inside_word {
            (folded[at..].chars().next().map_or(1, char::len_utf8), 1)
        } else {
            found.push(chars..chars + needle_len);
            (needle.len(), needle_len)
        };
        byte = at + bytes;
        chars += len;
    }
    found
}

/// Returns those of the `parts` of a text that are wanted, in characters. The parts come with their
/// first byte, in order.
fn among<'a>(
    is_wanted: impl Fn(&str) -> bool,
    folded: &str,
    parts: impl Iterator<Item = (usize, &'a str)>,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut byte, mut chars) = (0, 0);
    for (start, part) in parts {
        chars += folded[byte..start].chars().count();
        byte = start;
        if is_wanted(part) {
            found.push(chars..chars + part.chars().count());
        }
    }
    found
}

/// Joins sorted ranges that overlap or touch.
fn merge(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation as _;

    use super::*;

    fn marked(text: &str, query: &str) -> Vec<String> {
        let query = Query::parse(query).unwrap();
        let part = |range: Range<usize>| text.chars().skip(range.start).take(range.len()).collect();
        Highlighter::new(&query).highlight(text).into_iter().map(part).collect()
    }

    #[test]
    fn finds_are_marked_in_the_text_as_it_was_written() {
        assert_eq!(marked("Le CAFÉ, the café's cafeteria", "cafe"), ["CAFÉ", "café", "cafe"]);
        assert_eq!(marked("scone one", "one"), ["one"], "not inside a word");
        assert_eq!(marked("ｉＰｈｏｎｅを買う", "iphoneを買"), ["ｉＰｈｏｎｅを買"]);
        assert_eq!(marked("ﾊﾟｽﾜｰﾄﾞです", "ワード"), ["ﾜｰﾄﾞ"]);
        assert_eq!(marked("明天天氣好", "天天 天氣"), ["天天氣"], "overlapping finds are one");
        assert_eq!(marked("a b -c", "b -c"), ["b"], "what must not occur is not marked");
        assert_eq!(marked("two  \n words", "\"two words\""), ["two  \n words"]);
        assert_eq!(marked("ขอน้ำหน่อย", "น้ำ"), ["น้ำ"]);
        assert_eq!(marked("Ｗｉ－Ｆｉ, wifi, a wi‑fi!", "wifi"), ["Ｗｉ－Ｆｉ", "wifi", "wi‑fi"]);
        assert_eq!(marked("wifi密碼, Wi-Fi密碼", "wi-fi密碼"), ["wifi密碼", "Wi-Fi密碼"]);
        assert_eq!(marked("e-mail, voicemail", "mail"), ["mail"], "from a hyphen on");
        assert!(marked("anything", "type:text").is_empty());
        assert_eq!(marked("请问营业时间", "營業時間"), ["营业时间"]);
        assert_eq!(
            marked("好❤\u{fe0f} 👩\u{200d}💻", "❤ 👩\u{200d}💻"),
            ["❤\u{fe0f}", "👩\u{200d}💻"]
        );
    }

    #[test]
    fn of_a_question_its_parts_are_marked() {
        assert_eq!(marked("停車場在地下一樓，車位不多", "請問停車場在哪裡？"), ["停車場在"]);
        assert_eq!(marked("the parking lot is closed", "where is parking?"), ["parking", "is"]);
        assert_eq!(marked("北海道のほかに", "梅雨がないのは北海道と"), ["北海道"]);
        assert!(marked("營業的時間", "\"營業時間\"").is_empty(), "a phrase is not taken apart");
        assert_eq!(marked("มีที่จอดรถด้านหลังค่ะ", "ที่จอดรถอยู่ไหน"), ["ที่จอดรถ"]);
        assert_eq!(marked("ขอน้ำแข็ง ๑ แก้ว", "เอาน้ำแข็งไหม"), ["น้ำแข็ง"], "whole clusters");
        assert_eq!(marked("กขิ ไปกข", "กขค"), ["กข"], "not a part of a cluster");
        assert_eq!(marked("wifi or Wi-Fi", "wi-fi密碼"), ["wifi", "Wi-Fi"], "joined or not");
        let of_two = marked("停車場, 停車, 營業", "停車場 營業時間");
        assert_eq!(of_two, ["停車場", "營業"], "only the one that is nowhere as a whole");
    }

    #[test]
    fn a_snippet_shows_the_first_find() {
        let text = format!("{} needle {}", "x".repeat(100), "y ".repeat(100));
        let query = Query::parse("needle").unwrap();
        let snippet = Highlighter::new(&query).snippet(&text, 40);
        assert_eq!(snippet.text.chars().count(), 42);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        let [range] = &snippet.highlights[..] else { panic!("{snippet:?}") };
        let shown: String = snippet.text.chars().skip(range.start).take(range.len()).collect();
        assert_eq!(shown, "needle");
    }

    #[test]
    fn a_short_text_is_its_own_snippet() {
        let marks = Highlighter::new(&Query::parse("b").unwrap());
        let whole = Snippet { text: "a b b".to_owned(), highlights: vec![2..3, 4..5] };
        assert_eq!(marks.snippet("a b b", 5), whole);
        let cut = Snippet { text: "a …".to_owned(), highlights: vec![] };
        assert_eq!(marks.snippet("a yb", 2), cut);
    }

    #[test]
    fn a_snippet_tears_nothing_that_is_seen_as_one_character() {
        let flags = "🇹🇼🇯🇵🇰🇷🇺🇸";
        for (text, query, max, expected) in [
            (format!("{flags}needle{flags}"), "needle", 12, "…🇺🇸needle🇹🇼🇯🇵…"),
            (format!("{flags}needle{flags}"), "needle", 13, "…🇺🇸needle🇹🇼🇯🇵…"),
            ("ก็ก็ก็ก็ needle ก็ก็ก็".to_owned(), "needle", 13, "…ก็ needle ก็…"),
            ("aa👨‍👩‍👧 needle 👨‍👩‍👧bb".to_owned(), "needle", 12, "… needle …"),
            ("e\u{301}e\u{301}e\u{301}".to_owned(), "needle", 5, "e\u{301}e\u{301}…"),
            ("xx👨‍👩‍👧👨‍👩‍👧xx".to_owned(), "👧👨", 8, "xx👨‍👩‍👧…"),
        ] {
            let snippet = Highlighter::new(&Query::parse(query).unwrap()).snippet(&text, max);
            assert_eq!(snippet.text, expected, "{text} {max}");
            let shown = |range: &Range<usize>| {
                snippet.text.chars().skip(range.start).take(range.len()).collect::<String>()
            };
            let whole = |found: String| query.contains(&found) || found == "👨‍👩‍👧";
            assert!(snippet.highlights.iter().all(|range| whole(shown(range))), "{text}");
        }
    }

    #[test]
    fn marks_tear_nothing_that_is_seen_as_one_character() {
        assert_eq!(marked("ok 👍🏽 👍", "👍"), ["👍🏽", "👍"]);
        assert_eq!(marked("x👨\u{200d}👩\u{200d}👧👨y", "👨"), ["👨\u{200d}👩\u{200d}👧👨"]);
        assert_eq!(marked("x👨\u{200d}👩\u{200d}👧", "👧"), ["👨\u{200d}👩\u{200d}👧"]);
        assert_eq!(marked("ครับ", "ร"), ["รั"]);
        assert_eq!(marked("ขอนํ้าหน่อย", "น้ำ"), ["นํ้า"], "in another spelling");
        assert_eq!(marked("10:00–21:30", "10:00-21:30"), ["10:00–21:30"]);
        assert_eq!(marked("🇹🇼🇯🇵", "🇼"), ["🇹🇼"]);
    }

    #[test]
    fn snippets_have_whole_characters_of_any_text() {
        let parts = [
            "🇹🇼",
            "👨‍👩‍👧",
            "น้ำ",
            "é",
            "e\u{301}\u{302}",
            "क्षि",
            "\r\n",
            "한",
            "abc",
            " ",
            "台北",
            "🇯",
        ];
        let marks = Highlighter::new(&Query::parse("abc 台北").unwrap());
        let mut state = 3_usize;
        for _ in 0..3_000 {
            let mut below = |bound: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
                (state >> 33) % bound
            };
            let text: String = (0..20).map(|_| parts[below(parts.len())]).collect();
            let max = 6 + below(20);
            let snippet = marks.snippet(&text, max);
            let start = snippet.text.strip_prefix('…');
            let shown = start.unwrap_or(&snippet.text);
            let end = shown.strip_suffix('…');
            let shown = end.unwrap_or(shown);
            assert!(shown.chars().count() <= max, "{text} {max}");
            let edges: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
            let is_whole = |at: usize| {
                let is_end = |at: usize| at == text.len() || edges.contains(&at);
                is_end(at) && is_end(at + shown.len())
            };
            let mut found = text.match_indices(shown).map(|(at, _)| at);
            assert!(found.any(is_whole), "{text:?} {max} {shown:?}");
            let of = |text: &str, range: &Range<usize>| -> String {
                text.chars().skip(range.start).take(range.len()).collect()
            };
            if let Some(range) = marks.highlight(&text).first() {
                let first = of(&text, range);
                let [shown, ..] = &snippet.highlights[..] else { panic!("{text:?} {snippet:?}") };
                assert!(first.starts_with(&of(&snippet.text, shown)), "{text:?} {snippet:?}");
            }
        }
    }

    #[test]
    fn a_character_without_end_is_torn() {
        let text = format!("a{} needle", "\u{301}".repeat(50));
        let marks = Highlighter::new(&Query::parse("needle").unwrap());
        assert_eq!(marks.snippet(&text, 10).text, "… needle");
        let snippet = marks.snippet(&text[..91], 10);
        assert_eq!(snippet.text.chars().count(), 11);
        assert_eq!(marks.snippet(&text, 0).text, "……");
    }
}
