//! Links in a page: web addresses in texts, and anchors of messages.

use std::fmt::Write as _;

/// Part of a text.
pub(super) struct TextPiece<'a> {
    pub(super) text: &'a str,
    /// True for a web address.
    pub(super) is_link: bool,
}

/// Divides a text into web addresses and what is between them.
pub(super) fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = address(rest) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !of_address(c)).unwrap_or(from.len());
        // A full stop or a bracket at the end belongs to the sentence.
        let link = from[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'']);
        found.push(TextPiece { text: before, is_link: false });
        found.push(TextPiece { text: link, is_link: true });
        rest = &from[link.len()..];
    }
    found.push(TextPiece { text: rest, is_link: false });
    found
}

/// Returns the offset of the first web address.
fn address(text: &str) -> Option<usize> {
    // One search, not one for each scheme: a text full of one of them would be read to its end for
    // the other one again and again.
    let mut places = text.match_indices("http").map(|(at, _)| at);
    places.find(|at| {
        let after = &text[at + "http".len()..];
        let host = after.strip_prefix("s://").or_else(|| after.strip_prefix("://"));
        host.is_some_and(|host| host.starts_with(of_host))
    })
}

fn of_host(c: char) -> bool {
    c.is_alphanumeric() || c == '['
}

/// Returns true for a character of a web address as people type it.
fn of_address(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '`')
        || (c.is_alphanumeric() && !is_cjk(c))
}

/// Returns true for scripts that continue without a space after an address.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{ff00}'..='\u{ffef}')
}

/// Returns an injective name for `#` in a link and for an element's id.
pub(super) fn anchor(id: &str) -> String {
    let mut out = String::with_capacity(id.len() + 2);
    out.push_str("m-");
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "_{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text with `<` and `>` around its links.
    fn linked(text: &str) -> String {
        let show = |piece: &TextPiece<'_>| {
            if piece.is_link { format!("<{}>", piece.text) } else { piece.text.to_owned() }
        };
        pieces(text).iter().map(show).collect()
    }

    #[test]
    fn many_links_are_found_in_one_pass() {
        // A pass for each of them would take minutes.
        let text = "http://a ".repeat(200_000);
        assert_eq!(pieces(&text).iter().filter(|piece| piece.is_link).count(), 200_000);
        assert!(address("https:// http:/ httphttps://x").is_some_and(|at| at == 20));
    }

    #[test]
    fn addresses_become_links() {
        assert_eq!(linked("see https://a.example/x?y=1."), "see <https://a.example/x?y=1>.");
        assert_eq!(linked("請看https://a.example/路徑在此"), "請看<https://a.example/>路徑在此");
        assert_eq!(linked("http:// and javascript:alert(1)"), "http:// and javascript:alert(1)");
        let nasty = linked("https://a/\"onmouseover=\"alert(1)");
        assert_eq!(nasty, "<https://a/>\"onmouseover=\"alert(1)");
    }

    #[test]
    fn anchors_differ_as_ids_do() {
        assert_eq!(anchor("468789577898262530"), "m-468789577898262530");
        assert_ne!(anchor("a b"), anchor("a_20b"));
        assert_eq!(anchor("import:ab\""), "m-import_3aab_22");
    }
}
