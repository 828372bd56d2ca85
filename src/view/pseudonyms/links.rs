//! Links in texts: the site and the readable part of the path stay; what identifies somebody or
//! opens something is taken out.

use std::ops::Range;

use super::names::KnownNames;
use super::numbers::numbers;
use super::plain::Plain;

/// Stands for a part of an address.
const TOKEN: &str = "[token]";
/// Minimum length of a part of a path that may be random.
const RANDOM: usize = 5;
/// Minimum length of a word that no path has in a readable form.
const LONG: usize = 20;
/// Sites whose paths are nothing but codes that open something, however readable they look.
const OPENERS: [&str; 20] = [
    "bit.ly",
    "chat.whatsapp.com",
    "discord.gg",
    "forms.gle",
    "goo.gl",
    "is.gd",
    "lihi.cc",
    "lin.ee",
    "line.me",
    "maps.app.goo.gl",
    "meet.google.com",
    "ppt.cc",
    "pse.is",
    "reurl.cc",
    "shorturl.at",
    "t.co",
    "t.me",
    "teams.microsoft.com",
    "tinyurl.com",
    "zoom.us",
];

/// Returns the links of a text, in characters, and what stands for them. `text` is the original.
pub(super) fn links(text: &str, plain: &Plain, names: &KnownNames) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < plain.chars.len() {
        let length = plain.chars[at..].iter().take_while(|c| is_of_link(**c)).count();
        if length == 0 {
            at += 1;
            continue;
        }
        let mut end = at + length;
        if let Some(range) = link(plain, at..end) {
            let range = whole(plain, range, end);
            end = end.max(range.end);
            let original = &text[plain.original(&range)];
            let masked = if original.is_ascii() {
                masked(original, true, names)
            } else {
                let folded: String = plain.chars[range.clone()].iter().collect();
                masked(&folded, false, names)
            };
            found.push((range, masked));
        }
        at = end;
    }
    found
}

/// Returns a link with what lies behind a part of it that has other characters: in a browser, all
/// of it is the link. `end` is that of the run of characters of links.
fn whole(plain: &Plain, link: Range<usize>, end: usize) -> Range<usize> {
    let (mut range, mut goes_on) = (link, false);
    let rest = plain.chars.iter().enumerate().skip(end);
    for (at, c) in rest.take_while(|(_, c)| !is_end(**c)) {
        if plain.chars[at..].starts_with(&[':', '/', '/']) {
            // Another link.
            let scheme =
                plain.chars[end..at].iter().rev().take_while(|c| c.is_ascii_alphanumeric());
            range.end = range.end.min(at - scheme.count());
            break;
        }
        goes_on |= matches!(c, '/' | '?' | '#' | '=' | '&');
        if goes_on && is_of_link(*c) {
            range.end = at + 1;
        }
    }
    range
}

/// Returns true for a character that no browser takes as a part of a link.
fn is_end(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '<' | '>' | '。' | '、' | '「' | '」' | '『' | '』' | '【' | '】' | '《' | '》'
        )
}

/// Returns the link within a run of characters without spaces.
fn link(plain: &Plain, run: Range<usize>) -> Option<Range<usize>> {
    let chars = &plain.chars[run.clone()];
    let text: String = chars.iter().collect();
    // The run is ASCII: bytes are characters.
    let start = if let Some(at) = text.find("://") {
        let scheme = text[..at].bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
        (scheme > 0).then(|| at - scheme)?
    } else {
        let start = text.bytes().position(|byte| byte.is_ascii_alphanumeric())?;
        is_bare(&text[start..]).then_some(start)?
    };
    let end = text.trim_end_matches(['.', ',', ';', ':', '!', ')', ']', '}', '\'', '*', '~']).len();
    (start < end).then(|| run.start + start..run.start + end)
}

/// Returns true for an address without a scheme: a host with a dot, and something behind it.
fn is_bare(text: &str) -> bool {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let host = text[..end].split(':').next().unwrap_or_default();
    let is_host = host.rsplit_once('.').is_some_and(|(name, top)| {
        !name.is_empty() && top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    is_host && !host.contains('@') && (end < text.len() || host.starts_with("www."))
}

fn is_of_link(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
}

/// Returns a link without what identifies somebody or opens something. Unless it `is_as_written`,
/// nothing of its path stays: folding may have made a random part look like a word.
fn masked(link: &str, is_as_written: bool, names: &KnownNames) -> String {
    let (scheme, rest) = match link.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), link),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let user = if host.len() < authority.len() { format!("{TOKEN}@") } else { String::new() };
    let is_telling = |part: &str| {
        let plain = Plain::of(part);
        !numbers(&plain).is_empty() || !names.find(&plain).is_empty()
    };
    let hide = |part: &str| if is_telling(part) { TOKEN.to_owned() } else { part.to_owned() };
    let labels = host.split('.').map(hide).collect::<Vec<_>>().join(".");
    // A number or a name may have dots.
    let host = hide(&labels);
    let path_end = tail.find(['?', '#']).unwrap_or(tail.len());
    let (path, query) = tail.split_at(path_end);
    let site = host.strip_prefix("www.").unwrap_or(&host).to_ascii_lowercase();
    let is_hidden = !is_as_written || OPENERS.contains(&site.as_str());
    let segment = |part: &str| match part {
        "" => String::new(),
        part if is_hidden || is_secretive(part) || is_telling(part) => TOKEN.to_owned(),
        part => part.to_owned(),
    };
    let path = path.split('/').map(segment).collect::<Vec<_>>().join("/");
    let query = match query.chars().next() {
        Some(mark) if query.len() > 1 => format!("{mark}{TOKEN}"),
        _ => query.to_owned(),
    };
    format!("{scheme}{user}{host}{path}{query}")
}

/// Returns true for a part of a path that is no readable word: escaped, a handle, long or random.
fn is_secretive(part: &str) -> bool {
    let is_random = |word: &str| {
        let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let mixed =
            has(u8::is_ascii_lowercase) && word.bytes().skip(1).any(|b| b.is_ascii_uppercase());
        word.len() >= LONG
            || digits >= 7
            || word.len() >= RANDOM && (mixed || digits > 0 && has(u8::is_ascii_alphabetic))
    };
    part.contains(['%', '@', '~', '=', '&', ';'])
        || !part.is_ascii()
        || part.split(['-', '_', '.', '+', ',']).any(is_random)
}
