//! Texts of messages in pieces: plain text, links, mentions, and matches of a search.

use chatkeep_core::message::Mention;
use chatkeep_index::{WebLink, web_links};

/// Piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Plain text.
    Plain(String),
    /// Web link: its address, and how the text writes it.
    Link { address: String, text: String },
    /// Mention of a person.
    Mention(String),
    /// Match of a search.
    Match(String),
}

/// Returns the pieces of a text with its mentions, whose positions are in UTF-16 units. Mentions
/// beyond the text, and those that overlap an earlier one, stay plain.
pub(super) fn pieces(text: &str, mentions: &[Mention]) -> Vec<Piece> {
    let mut ranges: Vec<_> = mentions.iter().filter_map(|mention| range(text, mention)).collect();
    ranges.sort_by_key(|range| range.start);
    let (mut pieces, mut at) = (Vec::new(), 0);
    for range in ranges {
        if range.start < at {
            continue;
        }
        plain(&text[at..range.start], &mut pieces);
        pieces.push(Piece::Mention(text[range.clone()].to_owned()));
        at = range.end;
    }
    plain(&text[at..], &mut pieces);
    pieces
}

/// Returns the pieces of a text with its matches, whose positions are in characters.
pub(super) fn matched(text: &str, matches: &[(usize, usize)]) -> Vec<Piece> {
    let characters: Vec<char> = text.chars().collect();
    let part = |from: usize, to: usize| characters[from..to].iter().collect::<String>();
    let (mut pieces, mut at) = (Vec::new(), 0);
    for &(from, to) in matches {
        let (from, to) = (from.min(characters.len()), to.min(characters.len()));
        if from < at || to <= from {
            continue;
        }
        if at < from {
            pieces.push(Piece::Plain(part(at, from)));
        }
        pieces.push(Piece::Match(part(from, to)));
        at = to;
    }
    if at < characters.len() {
        pieces.push(Piece::Plain(part(at, characters.len())));
    }
    pieces
}

/// Returns the bytes of a mention in the text.
fn range(text: &str, mention: &Mention) -> Option<std::ops::Range<usize>> {
    let start = offset(text, mention.start)?;
    let end = offset(text, mention.start.checked_add(mention.length)?)?;
    (start < end).then_some(start..end)
}

/// Returns the byte at which that UTF-16 unit begins; `None` inside of a character or beyond the
/// text.
fn offset(text: &str, unit: u32) -> Option<usize> {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        if units == unit {
            return Some(at);
        }
        units += u32::try_from(character.len_utf16()).unwrap_or_default();
    }
    (units == unit).then_some(text.len())
}

/// Adds a text without mentions, with its web addresses as links.
fn plain(text: &str, pieces: &mut Vec<Piece>) {
    let mut at = 0;
    for WebLink { range, address } in web_links(text) {
        add(&text[at..range.start], pieces);
        pieces.push(Piece::Link { address, text: text[range.clone()].to_owned() });
        at = range.end;
    }
    add(&text[at..], pieces);
}

fn add(text: &str, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Plain(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mention(start: u32, length: u32) -> Mention {
        Mention { user_id: None, start, length, is_self: false, is_all: None }
    }

    #[test]
    fn mentions_and_links_are_pieces() {
        let plain = |text: &str| Piece::Plain(text.to_owned());
        let link = |address: &str, text: &str| Piece::Link {
            address: address.to_owned(),
            text: text.to_owned(),
        };
        let text = "👋 @Ann see https://a.example/x?y=1, www.b.example ftp://b javascript:alert(1)";
        let found = pieces(text, &[mention(3, 4), mention(5, 2), mention(900, 2), mention(1, 1)]);
        assert_eq!(
            found,
            [
                plain("👋 "),
                Piece::Mention("@Ann".to_owned()),
                plain(" see "),
                link("https://a.example/x?y=1", "https://a.example/x?y=1"),
                plain(", "),
                link("http://www.b.example", "www.b.example"),
                plain(" ftp://b javascript:alert(1)"),
            ]
        );
        assert_eq!(pieces("", &[]), []);
    }

    #[test]
    fn matches_are_pieces_by_characters() {
        let found = matched("今天開會", &[(2, 4), (3, 4), (9, 12)]);
        let expected = [Piece::Plain("今天".to_owned()), Piece::Match("開會".to_owned())];
        assert_eq!(found, expected);
    }
}
