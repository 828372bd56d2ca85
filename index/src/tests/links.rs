//! Links and addresses in texts that are put together of them: each is found as it was put in, and
//! nothing else is.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{WebLink, web_links, without_addresses};

/// Part of a text.
#[derive(Clone, Copy, Debug)]
enum TextPart {
    /// Text between others; it ends a link.
    Words(&'static str),
    Link(&'static str),
    Mail(&'static str),
}

use TextPart::{Link, Mail, Words};

const LINKS: &[&str] = &[
    "https://a.example",
    "http://a.example/x?y=1&z=2#t",
    "HTTPS://A.EXAMPLE/X",
    "https://ja.wikipedia.org/wiki/東京",
    "https://a.example/(x)",
    "http://10.0.0.1:8080/ก่",
    "https://例え.テスト/パス",
    "www.b.example",
    "WWW.B.example/d/",
];

const MAILS: &[&str] = &["ann@kit.example", "a.b+c@x-y.co.uk", "50%_off@shop.example"];

/// Signs that are part of no link, with words between them.
const WORDS: &[&str] = &[
    " ",
    "\n",
    "。",
    "，見て：",
    "」と「",
    "（",
    "）",
    "\u{3000}",
    "！ ",
    "…",
    " see: ",
    " @rules ",
    " 5@3 ",
    "「a@b」",
    "🎉",
    " <",
    "> ",
    "\u{200b}",
    " \"",
    "\" ",
    "、",
    "；看",
];

/// Generates texts of words, each with a link or a mail address behind it.
fn parts() -> impl Strategy<Value = Vec<TextPart>> {
    let address = prop_oneof![select(LINKS).prop_map(Link), select(MAILS).prop_map(Mail)];
    let pairs = vec((select(WORDS).prop_map(Words), address), 0..6);
    (pairs, select(WORDS)).prop_map(|(pairs, last)| {
        let pairs = pairs.into_iter().flat_map(|(words, address)| [words, address]);
        pairs.chain([Words(last)]).collect()
    })
}

fn written(parts: &[TextPart]) -> String {
    let text = |part: &TextPart| match *part {
        Words(text) | Link(text) | Mail(text) => text,
    };
    parts.iter().map(text).collect()
}

proptest! {
    #[test]
    fn links_are_found_as_they_were_put_in(parts in parts()) {
        let text = written(&parts);
        let found = web_links(&text);
        let links = parts.iter().filter_map(|part| match *part {
            Link(link) => Some(link),
            Words(_) | Mail(_) => None,
        });
        let links: Vec<&str> = links.collect();
        let spelled: Vec<&str> = found.iter().map(|link| &text[link.range.clone()]).collect();
        prop_assert_eq!(&spelled, &links, "{:?}", text);
        let mut end = 0;
        for WebLink { range, address } in &found {
            prop_assert!(range.start >= end, "{:?}", found);
            end = range.end;
            let written = &text[range.clone()];
            let is_bare = written[..4].eq_ignore_ascii_case("www.");
            let scheme = if is_bare { "http://" } else { "" };
            prop_assert_eq!(address, &format!("{scheme}{written}"));
        }
    }

    #[test]
    fn addresses_become_one_sign_each_and_words_stay(parts in parts()) {
        let text = written(&parts);
        let shown = |part: &TextPart| match *part {
            Words(words) => words,
            Link(_) | Mail(_) => "\u{fffc}",
        };
        let expected: String = parts.iter().map(shown).collect();
        let rest = without_addresses(&text).into_owned();
        prop_assert_eq!(&rest, &expected, "{:?}", text);
        prop_assert_eq!(without_addresses(&rest), rest.as_str(), "once is enough");
        prop_assert!(web_links(&rest).is_empty());
    }
}

#[test]
fn an_address_at_either_end_or_alone_is_one_sign() {
    for address in LINKS.iter().chain(MAILS) {
        assert_eq!(without_addresses(address), "\u{fffc}", "{address}");
        assert_eq!(without_addresses(&format!("{address}。")), "\u{fffc}。", "{address}");
        assert_eq!(without_addresses(&format!("看{address}")), "看\u{fffc}", "{address}");
    }
}
