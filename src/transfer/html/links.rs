//! Links in a page: web addresses in texts, and anchors of messages.

use chatkeep_index::{WebLink, web_links};

use crate::escaped::escaped;

/// Part of a text.
pub(super) struct TextPiece<'a> {
    pub(super) text: &'a str,
    /// Address of a web link; `None` for any other text.
    pub(super) address: Option<String>,
}

/// Divides a text into web links, the same as in the console, and what is between them.
pub(super) fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let (mut found, mut at) = (Vec::new(), 0);
    for WebLink { range, address } in web_links(text) {
        found.push(TextPiece { text: &text[at..range.start], address: None });
        at = range.end;
        found.push(TextPiece { text: &text[range], address: Some(address) });
    }
    found.push(TextPiece { text: &text[at..], address: None });
    found
}

/// Returns an injective name for `#` in a link and for an element's id.
pub(super) fn anchor(id: &str) -> String {
    format!("m-{}", escaped(id))
}

#[cfg(test)]
mod tests {
    use askama::Template as _;
    use chatkeep_core::time::Timestamp;

    use super::super::parts::{MessageBody, MessagePart};
    use super::*;

    /// Returns the text with `<` and `>` around its links, with their addresses where those differ.
    fn linked(text: &str) -> String {
        let show = |piece: &TextPiece<'_>| match &piece.address {
            Some(address) if address == piece.text => format!("<{address}>"),
            Some(address) => format!("<{} {address}>", piece.text),
            None => piece.text.to_owned(),
        };
        pieces(text).iter().map(show).collect()
    }

    /// Returns the element of a text in a page.
    fn shown(text: &str) -> String {
        let part = MessagePart {
            gaps: Vec::new(),
            day: None,
            anchor: String::new(),
            link: None,
            sender: None,
            quote: None,
            body: MessageBody::Text(text.into()),
            sent_at: Timestamp::from_millis(0),
            time: String::new(),
            edited: None,
            earlier_label: String::new(),
            earlier: Vec::new(),
            bot: None,
        };
        let page = part.render().unwrap();
        let (_, element) = page.split_once(r#"dir="auto">"#).unwrap();
        element.split_once("</p>").unwrap().0.to_owned()
    }

    #[test]
    fn many_links_are_found_in_one_pass() {
        // A pass for each of them would take minutes.
        let text = "http://a ".repeat(200_000);
        let links = pieces(&text).iter().filter(|piece| piece.address.is_some()).count();
        assert_eq!(links, 200_000);
    }

    #[test]
    fn addresses_become_links() {
        for (text, expected) in [
            ("see https://a.example/x?y=1.", "see <https://a.example/x?y=1>."),
            ("請看https://a.example/路徑，在此", "請看<https://a.example/路徑>，在此"),
            ("https://例え.テスト/です。", "<https://例え.テスト/です>。"),
            ("HTTP://A.example", "<HTTP://A.example>"),
            ("（www.a.example/b）", "（<www.a.example/b http://www.a.example/b>）"),
            ("(https://a.example/a_(b))", "(<https://a.example/a_(b)>)"),
            ("http:// and javascript:alert(1)", "http:// and javascript:alert(1)"),
            ("https://a/\"onmouseover=\"alert(1)", "<https://a/>\"onmouseover=\"alert(1)"),
            ("", ""),
        ] {
            assert_eq!(linked(text), expected);
        }
    }

    #[test]
    fn a_page_has_links_as_they_are_written() {
        let attributes = r#"rel="noopener noreferrer nofollow" target="_blank""#;
        assert_eq!(
            shown("<b> www.a.example/?x='y'&z"),
            format!(
                "&lt;b&gt; <a {attributes} href=\"http://www.a.example/?x=&#39;y&#39;&amp;z\">\
                 www.a.example/?x=&#39;y&#39;&amp;z</a>"
            )
        );
    }
}
