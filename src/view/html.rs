//! Escaping of text in pages: the escaper of all `.html` templates, by `askama.toml`.

use std::fmt::{self, Write};

use askama::filters::Escaper;

/// Escapes all characters that have a meaning in HTML, in text and in quoted attributes.
#[derive(Clone, Copy, Debug)]
pub struct PageEscaper;

impl Escaper for PageEscaper {
    fn write_escaped_str<W: Write>(&self, mut page: W, text: &str) -> fmt::Result {
        for c in text.chars() {
            match entity(c) {
                Some(entity) => page.write_str(entity)?,
                None => page.write_char(c)?,
            }
        }
        Ok(())
    }
}

fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        // Of a line end of Windows the line feed is enough.
        '\r' => Some(""),
        // A page cannot contain other control characters, not even escaped.
        c if c.is_control() && c != '\n' && c != '\t' => Some("\u{fffd}"),
        _ => None,
    }
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod html_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut page = String::new();
        PageEscaper.write_escaped_str(&mut page, text).unwrap();
        page
    }

    #[test]
    fn nothing_means_anything() {
        assert_eq!(
            escaped("<script>alert('x') && \"y\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;) &amp;&amp; &quot;y&quot;&lt;/script&gt;"
        );
        assert_eq!(escaped("a\u{0}b\u{1b}[c\nd"), "a\u{fffd}b\u{fffd}[c\nd");
        assert_eq!(escaped("one\r\ntwo"), "one\ntwo");
        assert_eq!(escaped("早安 สวัสดี 👋"), "早安 สวัสดี 👋");
    }
}
