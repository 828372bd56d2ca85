//! Web links in chat text: the one definition of what a link is, for search, overviews and pages.
//!
//! linkify finds them, and takes every character beyond ASCII for a part of a link. That suits scripts
//! that put spaces around links; Chinese, Japanese and Thai do not. So it reads a form of the text in
//! which links end where people mean them to end.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use linkify::{LinkFinder, LinkKind};

use crate::script::Class;

/// Beginnings of a link. The last one has no scheme, and is opened by `http` as chat apps do.
const BEGINNINGS: [&str; 3] = ["http://", "https://", "www."];

/// Web link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebLink {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Address, with its scheme.
    pub address: String,
}

/// Returns the web links of a text, in their order: what begins with `http://`, `https://` or `www.`
/// and has a host.
///
/// Beyond ASCII a link has letters, digits and marks of any script, and few signs between them
/// (`・`, `’`); punctuation, symbols, spaces and invisible characters end it. A host ends before text
/// of a script without spaces that follows it (`https://a.example看`); a path does not, for it
/// may have such letters itself (`/wiki/東京`).
pub fn web_links(text: &str) -> Vec<WebLink> {
    if !may_have_link(text) {
        return Vec::new();
    }
    let form = if text.is_ascii() { Cow::Borrowed(text) } else { Form::of(text).into() };
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(false);
    let link = |link: linkify::Link<'_>| {
        let range = link.start()..link.end();
        let written = text.get(range.clone())?;
        let scheme = match beginning(written)? {
            "www." => "http://",
            _ => "",
        };
        Some(WebLink { address: format!("{scheme}{written}"), range })
    };
    finder.links(&form).filter_map(link).collect()
}

/// Returns whether a text has a web link.
pub(crate) fn has_web_link(text: &str) -> bool {
    !web_links(text).is_empty()
}

/// Form of a text for linkify, with each character at the bytes that it has in the text: spaces in
/// place of what ends a link, and ASCII letters in place of others in a host, because linkify knows no
/// top-level domain of other letters.
struct Form(String);

impl Form {
    fn of(text: &str) -> String {
        let mut form = Self(String::with_capacity(text.len()));
        let mut rest = text;
        while let Some(mark) = host_mark(rest) {
            form.add_before(&rest[..mark.start]);
            form.0.push_str(&rest[mark.clone()]);
            rest = form.add_host(&rest[mark.end..]);
        }
        form.add(rest);
        form.0
    }

    /// Adds what stands before a `://` or `www.`. Letters of a script without spaces right before a
    /// link belong neither to it nor to a link before them: `https://a.example/xとhttps://b.example`.
    fn add_before(&mut self, part: &str) {
        let (before, scheme) = part.split_at(part.len() - scheme_len(part));
        let own =
            before.trim_end_matches(|c: char| is_letter(c) && !c.is_ascii() && !joins_ascii(c));
        self.add(own);
        for c in before[own.len()..].chars() {
            self.blank(c);
        }
        self.0.push_str(scheme);
    }

    /// Adds the host at the beginning of a text, and returns what is behind it.
    fn add_host<'t>(&mut self, text: &'t str) -> &'t str {
        let host = Host::of(text);
        let (name, behind) = text.split_at(host.len);
        for c in name.chars() {
            // What linkify takes for no link stays none: `www.` with a single label.
            if c.is_ascii() || host.labels < 2 {
                self.0.push(c);
            } else {
                self.0.extend(iter::repeat_n('x', c.len_utf8()));
            }
        }
        let sign = |c: char| c.is_ascii_digit() || is_sign_behind_host(c);
        let rest = behind.trim_start_matches(sign);
        self.0.push_str(&behind[..behind.len() - rest.len()]);
        // A port and a comma do not go on with such letters either.
        match rest.chars().next().filter(|c| !c.is_ascii() && !joins_ascii(*c)) {
            Some(end) => {
                self.blank(end);
                &rest[end.len_utf8()..]
            }
            None => rest,
        }
    }

    /// Adds what is no host: paths, and what is outside of links.
    fn add(&mut self, part: &str) {
        let mut chars = part.chars().peekable();
        while let Some(c) = chars.next() {
            let is_followed = chars.peek().is_some_and(|next| is_of_label(*next));
            if c.is_ascii() || is_letter(c) || is_between_letters(c) && is_followed {
                self.0.push(c);
            } else {
                self.blank(c);
            }
        }
    }

    /// Adds spaces in place of a character.
    fn blank(&mut self, c: char) {
        self.0.extend(iter::repeat_n(' ', c.len_utf8()));
    }
}

/// Host at the beginning of a text, without a port.
#[derive(Default)]
struct Host<'t> {
    /// Length in bytes.
    len: usize,
    /// Number of labels, `www` at the beginning left out: it says nothing about where a host ends.
    labels: usize,
    last: &'t str,
}

impl<'t> Host<'t> {
    fn of(text: &'t str) -> Self {
        let mut host = Self::default();
        let mut at = 0;
        loop {
            let label = label(&text[at..]);
            let taken = host.taken(label, &text[at + label.len()..]);
            if taken == 0 {
                return host;
            }
            host.add(&label[..taken]);
            host.len = at + taken;
            if taken < label.len() || !text[host.len..].starts_with('.') {
                return host;
            }
            at = host.len + 1;
        }
    }

    fn add(&mut self, label: &'t str) {
        if self.labels > 0 || !label.eq_ignore_ascii_case("www") {
            (self.labels, self.last) = (self.labels + 1, label);
        }
    }

    /// Returns the length of the part of the next label that belongs to the host. From the first
    /// letter of a script without spaces on it may be the text behind the host: after ASCII letters
    /// (`example.comを`), or after a full stop (`example.com.謝謝`).
    fn taken(&self, label: &str, behind: &str) -> usize {
        let ascii = label.find(|c: char| !c.is_ascii()).unwrap_or(label.len());
        let (head, tail) = label.split_at(ascii);
        let is_certain = tail.chars().next().is_none_or(joins_ascii);
        let goes_on = behind.strip_prefix('.').is_some_and(|next| next.starts_with(is_of_label));
        let belongs = match (head.is_empty(), self.is_whole(head)) {
            // `例え.テスト`, and `sub.example.テスト` with more behind it.
            (true, is_whole) => !is_whole || goes_on || behind.starts_with('/'),
            // `3丁目.example`, but not `example.comを.`
            (false, is_whole) => !is_whole && goes_on,
        };
        if is_certain || belongs { label.len() } else { ascii }
    }

    /// Returns whether there is a name and a top-level domain, with this label unless it is empty.
    fn is_whole(&self, label: &str) -> bool {
        let (labels, last) =
            if label.is_empty() { (self.labels, self.last) } else { (self.labels + 1, label) };
        let is_name = last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_alphabetic());
        labels > 1 && (is_name || last.starts_with("xn--"))
    }
}

/// Returns the place of the next `://` or `www.`, which a host may follow. One search for both: a text
/// full of one of them would be read to its end for the other again and again.
fn host_mark(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let len_at = |at: usize| match bytes[at] {
        b':' if bytes[at..].starts_with(b"://") => Some(3),
        b'w' | b'W' if bytes.get(at..at + 4)?.eq_ignore_ascii_case(b"www.") => Some(4),
        _ => None,
    };
    (0..bytes.len()).find_map(|at| Some(at..at + len_at(at)?))
}

/// Returns the length of the `http` or `https` at the end of a text.
fn scheme_len(text: &str) -> usize {
    let letters = text.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let is_scheme = ["http", "https"]
        .iter()
        .any(|scheme| text[text.len() - letters..].eq_ignore_ascii_case(scheme));
    if is_scheme { letters } else { 0 }
}

/// Returns the label of a host at the beginning of a text.
fn label(text: &str) -> &str {
    &text[..text.find(|c: char| !is_of_label(c)).unwrap_or(text.len())]
}

fn is_of_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii() && is_letter(c)
}

/// Returns whether it is a letter, digit or mark, and visible.
fn is_letter(c: char) -> bool {
    let is_other = matches!(c,
        // By their class, but blank: fillers of Hangul, and inherent vowels of Khmer.
        '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
        // Numbers and letters in circles, which count what is listed: `①`, `㊙`, `🅰`.
        | '\u{2460}'..='\u{24ff}' | '\u{2776}'..='\u{2793}' | '\u{3200}'..='\u{32ff}'
        | '\u{1f100}'..='\u{1f2ff}'
    );
    !is_other && matches!(Class::of(c), Class::Word | Class::Hangul | Class::Unspaced)
}

/// Returns whether it may follow ASCII letters in one word: `café`, but not the particle of a language
/// that writes it right behind a foreign word.
fn joins_ascii(c: char) -> bool {
    // Half-width kana and Hangul have the class of words until they are folded.
    is_letter(c) && Class::of(c) == Class::Word && !matches!(c, '\u{ff00}'..='\u{ffef}')
}

/// Returns whether it is a sign that titles of pages have between letters.
fn is_between_letters(c: char) -> bool {
    matches!(c, '·' | '・' | '’' | '‐' | '‑' | '–')
}

/// Returns whether it is an ASCII sign that neither begins a path or query nor ends a word.
fn is_sign_behind_host(c: char) -> bool {
    matches!(c, '!' | '$'..='.' | ':' | ';' | '=' | '[' | ']' | '_' | '{' | '}' | '~')
}

/// Returns whether a text has the beginning of a link somewhere; most texts have none.
fn may_have_link(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes
        .windows(4)
        .any(|four| four.eq_ignore_ascii_case(b"http") || four.eq_ignore_ascii_case(b"www."))
}

/// Returns the beginning of a link that a text has.
fn beginning(text: &str) -> Option<&'static str> {
    let starts =
        |with: &&str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    BEGINNINGS.into_iter().find(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> Vec<String> {
        web_links(text).into_iter().map(|link| link.address).collect()
    }

    #[test]
    fn links_begin_with_a_scheme_or_with_www() {
        let text = "看 https://a.example/x?y=1, HTTP://B.example (www.c.example/d). Www.e.example";
        assert_eq!(
            addresses(text),
            [
                "https://a.example/x?y=1",
                "HTTP://B.example",
                "http://www.c.example/d",
                "http://Www.e.example"
            ]
        );
        let first = &web_links(text)[0];
        assert_eq!(&text[first.range.clone()], "https://a.example/x?y=1");
    }

    #[test]
    fn other_texts_have_none() {
        for text in [
            "",
            "https://",
            "www.",
            "wwwwww...",
            "a.example",
            "someone@www.example",
            "ftp://a.example",
            "javascript:alert(1)",
            "file:///www.example",
        ] {
            assert!(!has_web_link(text), "{text}: {:?}", web_links(text));
        }
    }

    #[test]
    fn links_end_where_text_without_spaces_goes_on() {
        for (text, link) in [
            ("看https://www.example.com，請看", "https://www.example.com"),
            ("https://www.example.com/a。次", "https://www.example.com/a"),
            ("詳細（https://example.com/x）です", "https://example.com/x"),
            ("「https://example.com/x」です", "https://example.com/x"),
            ("https://example.com/？本当", "https://example.com/"),
            ("https://example.com？本当", "https://example.com"),
            ("https://example.com！", "https://example.com"),
            ("https://example.com：見て", "https://example.com"),
            ("https://example.com/a\u{3000}次", "https://example.com/a"),
            ("https://example.com/a\u{a0}next", "https://example.com/a"),
            ("https://example.com/a…", "https://example.com/a"),
            ("https://example.com/a～", "https://example.com/a"),
            ("https://example.com/a☺", "https://example.com/a"),
            ("①https://example.com/a②", "https://example.com/a"),
            ("“https://example.com/a”", "https://example.com/a"),
            ("https://example.com/a——看", "https://example.com/a"),
            ("https://example.comをみて", "https://example.com"),
            ("https://example.com을 보세요", "https://example.com"),
            ("https://example.comดูนี่", "https://example.com"),
            ("https://example.comﾃﾞｽ", "https://example.com"),
            ("https://example.com:8080を", "https://example.com:8080"),
            ("http://10.0.0.1:80を", "http://10.0.0.1:80"),
            ("https://example.com,看", "https://example.com"),
            ("https://example.com.謝謝", "https://example.com"),
            ("https://example.com(看)", "https://example.com"),
            ("http://日本.jpを見て", "http://日本.jp"),
            ("http://localhostを見て", "http://localhost"),
            ("看www.example.com，", "http://www.example.com"),
            ("（www.example.com/a）", "http://www.example.com/a"),
        ] {
            assert_eq!(addresses(text), [link], "{text}");
        }
        for bracket in "【】『』《》〈〉｛｝［］〔〕、。，．；：！？".chars()
        {
            let text = format!("https://example.com/a{bracket}b");
            assert_eq!(addresses(&text), ["https://example.com/a"], "{text}");
            let text = format!("{bracket}https://example.com{bracket}b");
            assert_eq!(addresses(&text), ["https://example.com"], "{text}");
        }
    }

    #[test]
    fn several_links_may_have_no_space_between_them() {
        for (text, links) in [
            ("https://a.exampleとhttps://b.example", ["https://a.example", "https://b.example"]),
            (
                "https://a.example/x和http://b.example/",
                ["https://a.example/x", "http://b.example/"],
            ),
            ("https://a.example/xまたはHTTPS://b.c", ["https://a.example/x", "HTTPS://b.c"]),
            ("https://a.example、www.b.example", ["https://a.example", "http://www.b.example"]),
        ] {
            assert_eq!(addresses(text), links, "{text}");
        }
    }

    #[test]
    fn letters_of_any_script_are_part_of_a_link() {
        for link in [
            "https://ja.wikipedia.org/wiki/東京",
            "https://ja.wikipedia.org/wiki/レオナルド・ダ・ヴィンチ",
            "https://fr.wikipedia.org/wiki/L’Équipe",
            "https://th.wikipedia.org/wiki/น้ำแข็ง?a=หมู่#ก็",
            "https://hi.wikipedia.org/wiki/हिन्दी",
            "https://vi.wikipedia.org/wiki/Tie\u{302}\u{301}ng",
            "https://zh.wikipedia.org/wiki/a_(b)",
            "https://zh.wikipedia.org/wiki/台北_(市)",
            "https://a.example/?q=東京&x=1",
            "http://日本.jp/",
            "https://例え.テスト/パス",
            "https://例え.テスト",
            "https://www.例え.jp:8080/x",
            "https://sub.example.中国/",
            "https://www.example.中国",
            "http://3丁目.example/",
            "https://café.example",
            "https://пример.рф/x",
            "https://bücher.example",
        ] {
            for text in [link.to_owned(), format!("看{link}。"), format!("（{link}）です")] {
                assert_eq!(addresses(&text), [link], "{text}");
            }
        }
        let links = web_links("見www.例え.jp/x。");
        let address = "http://www.例え.jp/x".to_owned();
        assert_eq!(links, [WebLink { range: 3..18, address }]);
    }

    #[test]
    fn what_is_invisible_ends_a_link() {
        let invisible = (char::MIN..=char::MAX).filter(|c| {
            // Invisible characters fold to nothing.
            !c.is_ascii() && crate::fold(&c.to_string()).is_empty()
        });
        let mut count = 0;
        for c in invisible {
            assert!(!is_letter(c) && !is_between_letters(c), "{c:?}");
            count += 1;
        }
        assert!(count > 4_000, "{count}");
        for end in
            ['\u{200b}', '\u{200d}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{ad}', '\u{3164}']
        {
            let text = format!("https://example.com/a{end}b https://example.com{end}.evil.example");
            assert_eq!(
                addresses(&text),
                ["https://example.com/a", "https://example.com"],
                "{end:?}"
            );
        }
    }

    #[test]
    fn links_without_a_host_are_none() {
        for text in [
            "https://，請看",
            "http://（見て）",
            "https://\u{200b}",
            "www.。",
            "www.東京",
            "見www.",
        ] {
            assert!(!has_web_link(text), "{text}: {:?}", web_links(text));
        }
    }

    #[test]
    fn links_lie_within_any_text() {
        let parts = [
            "https://", "HTTP://", "www.", "://", "a", "1", ".", "-", "/", "?", ",", "(", ")", "@",
            ":", " ", "\"", "'", "東", "を", "ก็", "é", "。", "，", "・", "\u{200b}", "😀",
            "\u{301}", "한", "com",
        ];
        let mut state = 7_usize;
        for _ in 0..20_000 {
            let mut below = |bound: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
                (state >> 33) % bound
            };
            let text: String = (0..12).map(|_| parts[below(parts.len())]).collect();
            assert_eq!(Form::of(&text).len(), text.len(), "{text}");
            let mut at = 0;
            for WebLink { range, address } in web_links(&text) {
                assert!(range.start >= at && !range.is_empty(), "{text}");
                assert!(address.ends_with(&text[range.clone()]), "{text}");
                assert!(
                    !address.contains(['。', '，', '\u{200b}', '😀', ' ']),
                    "{text}: {address}"
                );
                at = range.end;
            }
        }
    }

    #[test]
    fn long_texts_are_read_once() {
        // Otherwise this would take minutes.
        for part in
            ["看http://a，", "www.例", "http://例.", "w例", "://を", "http://a@例", "・", "例http"]
        {
            let text = format!("http://a。{}", part.repeat(200_000));
            assert!(has_web_link(&text), "{part}");
        }
    }
}
