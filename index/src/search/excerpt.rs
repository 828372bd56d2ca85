//! Excerpts of longer texts around a match: from word to word, with whole numbers.

use std::ops::Range;

use crate::cut::{LONGEST_NUMBER, nearest, nearest_grapheme};

/// Text of which an excerpt is made.
pub(super) struct ExcerptSource<'t> {
    text: &'t str,
    /// Bytes at which its characters begin.
    places: Vec<usize>,
}

impl<'t> ExcerptSource<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, places: text.char_indices().map(|(at, _)| at).collect() }
    }

    /// Returns the length of the text in characters.
    pub(super) fn length(&self) -> usize {
        self.places.len()
    }

    /// Returns a range of characters of the text.
    pub(super) fn part(&self, range: &Range<usize>) -> &'t str {
        &self.text[self.byte(range.start)..self.byte(range.end)]
    }

    /// Returns the characters of an excerpt of at most `max` characters of a text that is longer,
    /// around those that were found.
    pub(super) fn around(&self, found: &Range<usize>, max: usize) -> Range<usize> {
        let shown = self.shown(found, max);
        // A quarter before, the rest after; but no less than the text offers.
        let wanted = shown.start.saturating_sub(max / 4).max(shown.end.saturating_sub(max));
        let wanted = wanted.min(self.length() - max);
        // What is torn there is left out, unless the match is in it.
        let inwards = wanted..=shown.start;
        let outwards = ((shown.start + 1).saturating_sub(max)..wanted).rev();
        let start = self.nearest(inwards.clone(), max);
        let start = start.or_else(|| self.nearest(outwards.clone(), max));
        let start = start.or_else(|| self.nearest_grapheme(inwards));
        let start = start.or_else(|| self.nearest_grapheme(outwards)).unwrap_or(wanted);
        let last = (start + max).min(self.length());
        let down_to = |least: usize| (least.max(start + 1)..=last).rev();
        let end = self.nearest(down_to(shown.end), max);
        let end = end.or_else(|| self.nearest(down_to(found.start + 1), max));
        let end = end.or_else(|| self.nearest_grapheme(down_to(found.start + 1)));
        let end = end.or_else(|| self.nearest_grapheme(down_to(0)));
        start..end.unwrap_or(last)
    }

    /// Returns the characters that an excerpt has in any case: what was found with the words and
    /// numbers that it is in, or as much of it as there is room for.
    fn shown(&self, found: &Range<usize>, max: usize) -> Range<usize> {
        let before = (found.start.saturating_sub(LONGEST_NUMBER)..=found.start).rev();
        let after = found.end..=(found.end + LONGEST_NUMBER).min(self.length());
        let start = self.nearest(before, max).unwrap_or(found.start);
        let end = self.nearest(after, max).unwrap_or(found.end);
        let beginning = found.end.min(found.start + max / 2);
        let parts = [start..end, start..beginning];
        let part = parts.into_iter().find(|part| part.len() <= max);
        part.unwrap_or(found.start..found.start + 1)
    }

    fn byte(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(self.text.len())
    }

    /// Returns the character of a byte where one begins or the text ends.
    fn character(&self, byte: usize) -> usize {
        self.places.partition_point(|place| *place < byte)
    }

    fn nearest(
        &self,
        characters: impl Iterator<Item = usize> + Clone,
        max: usize,
    ) -> Option<usize> {
        let bytes = characters.map(|at| self.byte(at));
        nearest(self.text, bytes, max).map(|byte| self.character(byte))
    }

    fn nearest_grapheme(&self, characters: impl Iterator<Item = usize>) -> Option<usize> {
        let bytes = characters.map(|at| self.byte(at));
        nearest_grapheme(self.text, bytes).map(|byte| self.character(byte))
    }
}
