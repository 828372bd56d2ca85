//! Ids of people in any text that goes to a reader or comes from one: in fields, addresses and
//! cursors alike.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::id::UserId;
use chatkeep_core::pseudonym::{LETTERS, PERSON, PseudonymKey};

use crate::sanitize;
use crate::segment;

/// Beginning of every cursor: `{"f":"` in base 64.
const CURSOR: &str = "eyJmIjoi";
/// Id that nobody has, for one that a reader must not use.
const NOBODY: &str = "person-unknown";
/// Letters of an id of LINE behind its `U`.
const LINE_ID: usize = 32;
/// Minimum length of an id that stands nowhere by chance, in bytes.
const LONG: usize = 16;
/// Mark where an echo of what a reader gave is cut.
const CUT: char = '…';
/// Minimum characters of an id that is cut: fewer tell nothing.
const PIECE: usize = 3;

/// Ids of people and their stand-ins.
#[derive(Debug)]
pub(super) struct Ids {
    key: PseudonymKey,
    finder: Option<AhoCorasick>,
    /// Stand-in of each pattern of the finder.
    stand_ins: Vec<String>,
    /// The patterns in order.
    sorted: Vec<String>,
    real: HashMap<String, UserId>,
}

/// Direction of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To the reader: ids become stand-ins.
    Out,
    /// From the reader, where a text may name people: stand-ins become ids, and ids become nobody's.
    In,
    /// From the reader, where a text names nobody: ids become nobody's, and stand-ins stay as they are.
    Note,
}

/// Returns an id as it is, as addresses escape it, and as lines of a text show it: without what nobody
/// sees, and escaped between quotation marks.
fn forms(id: &str) -> BTreeSet<String> {
    let line = sanitize::one_line(id, id.len());
    let quoted = sanitize::quoted(&line);
    let inside = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let inside = inside.unwrap_or_default().to_owned();
    let mut forms = BTreeSet::from([id.to_owned(), segment(id), inside, line]);
    forms.remove("");
    forms
}

impl Ids {
    /// Creates it for these people.
    ///
    /// # Errors
    /// Returns an error for more ids than memory has room for.
    pub(super) fn new(
        key: PseudonymKey,
        people: &[(UserId, Option<String>)],
    ) -> Result<Self, BuildError> {
        let (mut patterns, mut stand_ins, mut real) = (Vec::new(), Vec::new(), HashMap::new());
        for (user, _) in people.iter().filter(|(user, _)| !user.as_str().is_empty()) {
            let stand_in = key.person(user).id;
            for form in forms(user.as_str()) {
                patterns.push(form);
                stand_ins.push(stand_in.clone());
            }
            real.insert(stand_in, user.clone());
        }
        let mut builder = AhoCorasick::builder();
        // What a text is compared with, and echoed, may be in another case.
        builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(true);
        let finder = (!patterns.is_empty()).then(|| builder.build(&patterns)).transpose()?;
        patterns.sort_unstable();
        Ok(Self { key, finder, stand_ins, sorted: patterns, real })
    }

    /// Returns the person of an id, if there is one.
    pub(super) fn person(&self, id: &str) -> Option<UserId> {
        self.real.get(&self.key.person(&id.into()).id).cloned()
    }

    /// Translates a text.
    pub(super) fn translate<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
        match way {
            Way::Out => self.opened(way, text),
            Way::In | Way::Note => match plainly_escaped(text) {
                Cow::Owned(plain) if self.given(&plain).len() > self.given(text).len() => {
                    Cow::Owned(self.of_reader(way, &plain).into_owned())
                }
                _ => self.of_reader(way, text),
            },
        }
    }

    /// Translates a text of the reader. An echo has no invisible characters: an id must not be whole only
    /// there.
    fn of_reader<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
        match sanitize::clean(text) {
            clean if self.given(&clean).len() > self.given(text).len() => {
                Cow::Owned(self.opened(way, &clean).into_owned())
            }
            _ => self.opened(way, text),
        }
    }

    /// Translates a text with the cursors in it.
    fn opened<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
        let (mut out, mut at) = (String::new(), 0);
        while let Some(found) = text[at..].find(CURSOR) {
            let start = at + found;
            let end = text[start..].find(|c| !is_base64(c)).map_or(text.len(), |len| start + len);
            out.push_str(&self.ids(way, &text[at..start]));
            out.push_str(&self.cursor(way, &text[start..end]));
            at = end;
        }
        if at == 0 {
            return self.ids(way, text);
        }
        out.push_str(&self.ids(way, &text[at..]));
        Cow::Owned(out)
    }

    /// Translates a cursor, or what only begins as one.
    fn cursor<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
        let decoded = URL_SAFE_NO_PAD.decode(text).ok();
        let inner = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        match inner.as_deref().map(|inner| self.ids(way, inner)) {
            Some(Cow::Owned(inner)) => Cow::Owned(URL_SAFE_NO_PAD.encode(inner)),
            Some(Cow::Borrowed(_)) | None => self.ids(way, text),
        }
    }

    fn ids<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
        let nobody = |range| (range, Cow::Borrowed(NOBODY));
        match way {
            Way::Out => {
                let mut parts = self.find(text);
                // What was cut off may have been the rest of a longer word.
                for (range, stand_in) in &mut parts {
                    if text[range.end..].starts_with(CUT) {
                        *stand_in = Cow::Borrowed(NOBODY);
                    }
                }
                parts.extend(self.pieces(text).into_iter().map(nobody));
                parts.sort_by_key(|(range, _)| range.start);
                replaced(text, parts.into_iter())
            }
            Way::Note => replaced(text, self.given(text).into_iter().map(nobody)),
            Way::In => {
                let hidden = replaced(text, self.given(text).into_iter().map(nobody));
                // Only what was a stand-in in the reader's text becomes an id.
                match self.stand_ins_of(&hidden) {
                    Some(text) => Cow::Owned(text),
                    None => hidden,
                }
            }
        }
    }

    /// Returns the ids in a text, in bytes, and their stand-ins: of long ones also those within longer
    /// words, for what an id is put into may be escaped, shortened or cleaned before it gets here.
    pub(super) fn find(&self, text: &str) -> Vec<(Range<usize>, Cow<'_, str>)> {
        let mut parts: Vec<(Range<usize>, Cow<'_, str>)> = Vec::new();
        for hit in self.finder.iter().flat_map(|finder| finder.find_iter(text)) {
            if hit.len() >= LONG || is_apart(text, hit.start(), hit.end()) {
                let stand_in = self.stand_ins[hit.pattern().as_usize()].as_str();
                parts.push((hit.start()..hit.end(), Cow::Borrowed(stand_in)));
            }
        }
        let known: Vec<_> = parts.iter().map(|(range, _)| range.clone()).collect();
        for range in line_ids(text).filter(|range| is_free(&known, range)) {
            let id = format!("U{}", text[range.start + 1..range.end].to_ascii_lowercase());
            parts.push((range, Cow::Owned(self.key.person(&id.into()).id)));
        }
        parts.sort_by_key(|(range, _)| range.start);
        parts
    }

    /// Returns the ids in a text that a reader gave, in bytes.
    fn given(&self, text: &str) -> Vec<Range<usize>> {
        self.find(text).into_iter().map(|(range, _)| range).collect()
    }

    /// Returns the beginnings of ids before a mark that something was cut there, in bytes: what was
    /// a stand-in in the reader's text may have been cut as an id.
    fn pieces(&self, text: &str) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for (end, _) in text.match_indices(CUT) {
            let from = pieces.last().map_or(0, |last| last.end);
            let starts = text[from..end].char_indices().rev().take(4 * LINE_ID);
            let starts = starts.map(|(at, _)| from + at).filter(|at| is_apart(text, *at, end));
            let long = starts.filter(|at| text[*at..end].chars().count() >= PIECE);
            let starts: Vec<_> = long.filter(|at| self.begins_id(&text[*at..end])).collect();
            pieces.extend(starts.last().map(|start| *start..end));
        }
        pieces
    }

    /// Returns true for the beginning of an id that is not all of it.
    fn begins_id(&self, piece: &str) -> bool {
        let next = self.sorted.partition_point(|id| id.as_str() <= piece);
        let is_known = self.sorted.get(next).is_some_and(|id| id.starts_with(piece));
        let of_line = piece.strip_prefix('U').is_some_and(|rest| {
            rest.len() < LINE_ID && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        is_known || of_line
    }

    /// Replaces stand-ins of known people; `None` where there is none. Only what stands between ASCII
    /// characters is one: others may be gone where the text is shown again.
    fn stand_ins_of(&self, text: &str) -> Option<String> {
        let known = text.match_indices(PERSON).filter_map(|(start, _)| {
            let range = start..start + PERSON.len() + LETTERS;
            let user = self.real.get(text.get(range.clone())?)?;
            let ends = [text[..range.start].chars().next_back(), text[range.end..].chars().next()];
            let is_plain = |c: &char| c.is_ascii_punctuation() || c.is_ascii_whitespace();
            let is_named = ends.iter().flatten().all(is_plain);
            is_named.then(|| (range, Cow::Borrowed(user.as_str())))
        });
        match replaced(text, known) {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        }
    }
}

fn replaced<'t, 'p>(
    text: &'t str,
    parts: impl Iterator<Item = (Range<usize>, Cow<'p, str>)>,
) -> Cow<'t, str> {
    let (mut out, mut at) = (String::new(), 0);
    for (range, stand_in) in parts {
        out.push_str(&text[at..range.start]);
        out.push_str(&stand_in);
        at = range.end;
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// Returns a text in which percent escapes are in the one form that addresses here have: whoever reads an
/// address understands others as well, and what they hide has to be found before.
fn plainly_escaped(text: &str) -> Cow<'_, str> {
    let decoded = |at: usize| {
        let digits = text.get(at + 1..at + 3).filter(|digits| !digits.starts_with('+'))?;
        u8::from_str_radix(digits, 16).ok()
    };
    let plain = |(at, _): (usize, _)| {
        let byte = decoded(at)?;
        let canonical = match char::from(byte) {
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~') => c.to_string(),
            _ => format!("%{byte:02X}"),
        };
        (text[at..at + 3] != canonical).then(|| (at..at + 3, Cow::Owned(canonical)))
    };
    replaced(text, text.match_indices('%').filter_map(plain))
}

/// Returns the places of ids in the form of LINE, in bytes; none is over another.
fn line_ids(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices(['U', 'u']).filter_map(|(at, _)| {
        let end = at + 1 + LINE_ID;
        let rest = text.as_bytes().get(at + 1..end)?;
        rest.iter().all(u8::is_ascii_hexdigit).then_some(at..end)
    })
}

/// Returns true if a range is over none of these, which are in order and not over each other.
fn is_free(known: &[Range<usize>], range: &Range<usize>) -> bool {
    let next = known.partition_point(|known| known.end <= range.start);
    known.get(next).is_none_or(|known| known.start >= range.end)
}

/// Returns true if a part of a text is no part of a longer word. The escape of a character is none.
fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let is_word = |at: Option<&u8>| at.is_some_and(u8::is_ascii_alphanumeric);
    let is_escape = |three: &[u8]| matches!(three, [b'%', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit));
    let is_escaped = start.checked_sub(3).is_some_and(|from| is_escape(&bytes[from..start]));
    (is_escaped || !is_word(start.checked_sub(1).and_then(|at| bytes.get(at))))
        && !is_word(bytes.get(end))
}

const fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "U0123456789abcdef0123456789abcdef";
    const IMPORTED: &str = "import:aa/ü";
    const STRANGER: &str = "Uffffffffffffffffffffffffffffffff";

    fn key() -> PseudonymKey {
        PseudonymKey::new([3; 32])
    }

    fn ids() -> Ids {
        Ids::new(key(), &[(ANN.into(), None), (IMPORTED.into(), None), ("".into(), None)]).unwrap()
    }

    fn stand_in(user: &str) -> String {
        key().person(&user.into()).id
    }

    #[test]
    fn ids_go_out_as_stand_ins_wherever_they_stand() {
        let (ids, ann) = (ids(), stand_in(ANN));
        for (text, expected) in [
            (ANN.to_owned(), ann.clone()),
            (format!("/c/{ANN}~shop/m/1?x={ANN}."), format!("/c/{ann}~shop/m/1?x={ann}.")),
            (format!("x{ANN} {ANN}0"), format!("x{ann} {ann}0")),
            (format!("~1{}", ANN.to_lowercase()), format!("~1{ann}")),
            (format!("x{}", STRANGER.to_lowercase()), format!("x{}", stand_in(STRANGER))),
            (format!("q=from%3A{}", segment(IMPORTED)), format!("q=from%3A{}", stand_in(IMPORTED))),
            (format!("\"{STRANGER}\""), format!("\"{}\"", stand_in(STRANGER))),
            (segment(IMPORTED), stand_in(IMPORTED)),
            (format!("({IMPORTED})"), format!("({})", stand_in(IMPORTED))),
            (
                "C0123456789abcdef0123456789abcdef".to_owned(),
                "C0123456789abcdef0123456789abcdef".to_owned(),
            ),
        ] {
            assert_eq!(ids.translate(Way::Out, &text), expected, "{text}");
        }
    }

    #[test]
    fn stand_ins_come_in_as_ids_and_ids_as_nobodys() {
        let (ids, ann) = (ids(), stand_in(ANN));
        for (text, expected) in [
            (ann.clone(), ANN.to_owned()),
            (format!("from:{ann} -{}", stand_in(IMPORTED)), format!("from:{ANN} -{IMPORTED}")),
            (format!("/c/{ann}/m/1"), format!("/c/{ANN}/m/1")),
            (ANN.to_owned(), NOBODY.to_owned()),
            (format!("{STRANGER} {IMPORTED}"), format!("{NOBODY} {NOBODY}")),
            (stand_in(STRANGER), stand_in(STRANGER)),
            (format!("{ann}x"), format!("{ann}x")),
            // What an echo leaves out, or escapes, separates nothing.
            (format!("x\u{200b}{ann}"), format!("x\u{200b}{ann}")),
            (format!("{ann}\u{ad}x"), format!("{ann}\u{ad}x")),
            (format!("日{ann}"), format!("日{ann}")),
            // Whoever reads a link understands any escape.
            (format!("/c/%55{}", &ANN[1..]), format!("/c/{NOBODY}")),
            ("/c/import%3aaa%2f%c3%bc/m/1".to_owned(), format!("/c/{NOBODY}/m/1")),
            ("100%41 %zz %+1 %".to_owned(), "100%41 %zz %+1 %".to_owned()),
        ] {
            assert_eq!(ids.translate(Way::In, &text), expected, "{text}");
        }
        let note = format!("https://a.example/{ann}/{ANN}");
        let noted = format!("https://a.example/{ann}/{NOBODY}");
        assert_eq!(ids.translate(Way::Note, &note), noted);
    }

    #[test]
    fn no_echo_makes_a_given_id_whole() {
        let ids = ids();
        let hidden = format!("U01234567\u{200b}{}", &ANN[9..]);
        for given in [format!("{ANN}x"), format!("--{STRANGER}0"), format!("-{IMPORTED}y"), hidden]
        {
            let taken = ids.translate(Way::In, &given).into_owned();
            assert_ne!(taken.contains(NOBODY), taken.contains(IMPORTED), "{taken}");
            for end in taken.char_indices().map(|(at, _)| at) {
                let echo = format!("{}…", &sanitize::clean(&taken[..end]));
                let out = ids.translate(Way::Out, &echo);
                let is_leaked =
                    [ANN, STRANGER, IMPORTED].iter().any(|id| out.contains(&stand_in(id)));
                assert!(!is_leaked, "{out}");
            }
        }
        let visible = "日\u{200b}本 Umbrella… Uber…";
        assert_eq!(ids.translate(Way::In, visible), visible);
        assert_eq!(ids.translate(Way::Out, visible), visible);
    }

    #[test]
    fn no_echo_of_a_stand_in_shows_a_part_of_the_id() {
        let ids = ids();
        for user in [ANN, IMPORTED] {
            let taken = ids.translate(Way::In, &format!("--{}", stand_in(user))).into_owned();
            assert_eq!(taken, format!("--{user}"));
            for end in (2 + PIECE)..taken.len() {
                let Some(start) = taken.get(..end) else { continue };
                let out = ids.translate(Way::Out, &format!("no {start}…")).into_owned();
                assert_eq!(out, format!("no --{NOBODY}…"));
            }
        }
    }

    #[test]
    fn cursors_are_opened() {
        let ids = ids();
        let cursor = |id: &str| URL_SAFE_NO_PAD.encode(format!(r#"{{"f":"members","k":"{id}"}}"#));
        let text = format!("cursor {}, and {ANN}", cursor(ANN));
        let out = ids.translate(Way::Out, &text);
        assert_eq!(out, format!("cursor {}, and {}", cursor(&stand_in(ANN)), stand_in(ANN)));
        let back = ids.translate(Way::In, &out);
        assert_eq!(back, text);
        let other = format!("{} {CURSOR}", cursor("C1"));
        assert_eq!(ids.translate(Way::Out, &other), other);
    }

    #[test]
    fn what_only_begins_as_a_cursor_hides_no_id() {
        let (ids, ann) = (ids(), stand_in(ANN));
        for behind in ["-", "_x-"] {
            let text = format!("{CURSOR}{behind}{ANN}");
            assert_eq!(ids.translate(Way::Out, &text), format!("{CURSOR}{behind}{ann}"));
            assert_eq!(ids.translate(Way::In, &text), format!("{CURSOR}{behind}{NOBODY}"));
        }
    }

    #[test]
    fn any_number_of_beginnings_of_cursors_is_translated() {
        let (ids, ann) = (ids(), stand_in(ANN));
        for mark in [CURSOR.to_owned(), format!("{CURSOR} ")] {
            let repeats = mark.repeat(200_000);
            let out = ids.translate(Way::Out, &format!("{repeats} {ANN}")).into_owned();
            assert!(out == format!("{repeats} {ann}"));
            assert!(ids.translate(Way::In, &out) == format!("{repeats} {ANN}"));
        }
    }
}
