//! Addresses in chat text, of pages and of mailboxes: what stands in them was not written as words.

use std::borrow::Cow;
use std::ops::Range;

use crate::link::web_links;

/// Character in place of an address: it is part of no word.
const ADDRESS: char = '\u{fffc}';

/// Returns a text with one character that is part of no word in place of each web link and each mail
/// address: what stands in them was not written as words.
pub fn without_addresses(text: &str) -> Cow<'_, str> {
    let mut ranges: Vec<_> = web_links(text).into_iter().map(|link| link.range).collect();
    let outside = |range: &Range<usize>| ranges.iter().all(|link| !link.contains(&range.start));
    let mails: Vec<_> = mail_addresses(text).filter(outside).collect();
    if ranges.is_empty() && mails.is_empty() {
        return text.into();
    }
    ranges.extend(mails);
    ranges.sort_unstable_by_key(|range| range.start);
    let (mut rest, mut end) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        rest.push_str(&text[end..range.start.max(end)]);
        rest.push(ADDRESS);
        end = range.end;
    }
    rest.push_str(&text[end..]);
    rest.into()
}

/// Returns the mail addresses of a text: ASCII letters, digits and some signs before an `@`, and a host
/// of several labels behind it.
fn mail_addresses(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices('@').filter_map(|(at, _)| {
        let is_local = |c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c);
        let start = text[..at].trim_end_matches(is_local).len();
        let host = &text[at + 1..];
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let host = &host[..host.len() - host.trim_start_matches(is_host).len()];
        let host = host.trim_end_matches(['.', '-']);
        let has_labels = host.split('.').count() > 1 && host.split('.').all(|one| !one.is_empty());
        (start < at && has_labels).then(|| start..at + 1 + host.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_no_words() {
        for (text, rest) in [
            ("fees? see https://a.example/fees.", "fees? see \u{fffc}."),
            ("寄信到foo@kit.example謝謝", "寄信到\u{fffc}謝謝"),
            ("a.b+c@x-y.co.uk, www.example.com/a@b.c", "\u{fffc}, \u{fffc}"),
            ("@rules a@b 50@ 5@3 kit", "@rules a@b 50@ 5@3 kit"),
            ("", ""),
        ] {
            assert_eq!(without_addresses(text), rest, "{text}");
        }
    }
}
