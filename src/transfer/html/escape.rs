//! Escaping of text in a page.

use std::fmt::Write as _;

/// Appends text with all characters escaped that have a meaning in HTML.
pub(super) fn push(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A page cannot contain other control characters, not even escaped.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// Appends text with links for web addresses.
pub(super) fn push_linked(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(start) = address(rest) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !of_address(c)).unwrap_or(from.len());
        // A full stop or a bracket at the end belongs to the sentence.
        let link = from[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'']);
        push(out, before);
        out.push_str("<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" href=\"");
        push(out, link);
        out.push_str("\">");
        push(out, link);
        out.push_str("</a>");
        rest = &from[link.len()..];
    }
    push(out, rest);
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

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        push(&mut out, text);
        out
    }

    fn linked(text: &str) -> String {
        let mut out = String::new();
        push_linked(&mut out, text);
        out.replace(" rel=\"noopener noreferrer nofollow\" target=\"_blank\"", "")
    }

    #[test]
    fn many_links_are_found_in_one_pass() {
        // A pass for each of them would take minutes.
        let text = "http://a ".repeat(200_000);
        assert_eq!(linked(&text).matches("<a ").count(), 200_000);
        assert!(address("https:// http:/ httphttps://x").is_some_and(|at| at == 20));
    }

    #[test]
    fn nothing_means_anything() {
        assert_eq!(
            escaped("<script>alert('x') && \"y\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;) &amp;&amp; &quot;y&quot;&lt;/script&gt;"
        );
        assert_eq!(escaped("a\u{0}b\u{1b}[c\nd"), "a\u{fffd}b\u{fffd}[c\nd");
        assert_eq!(escaped("早安 สวัสดี 👋"), "早安 สวัสดี 👋");
    }

    #[test]
    fn addresses_become_links() {
        let link = |address: &str| format!("<a href=\"{address}\">{address}</a>");
        assert_eq!(
            linked("see https://a.example/x?y=1."),
            format!("see {}.", link("https://a.example/x?y=1"))
        );
        assert_eq!(
            linked("請看https://a.example/路徑在此"),
            format!("請看{}路徑在此", link("https://a.example/"))
        );
        assert_eq!(linked("http:// and javascript:alert(1)"), "http:// and javascript:alert(1)");
        let nasty = linked("https://a/\"onmouseover=\"alert(1)");
        assert_eq!(nasty, format!("{}&quot;onmouseover=&quot;alert(1)", link("https://a/")));
    }

    #[test]
    fn anchors_differ_as_ids_do() {
        assert_eq!(anchor("468789577898262530"), "m-468789577898262530");
        assert_ne!(anchor("a b"), anchor("a_20b"));
        assert_eq!(anchor("import:ab\""), "m-import_3aab_22");
    }
}
