//! Ids of people in any text that goes to a reader or comes from one: in fields, addresses and
//! cursors alike.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::id::UserId;
use chatkeep_core::pseudonym::{LETTERS, PERSON, PseudonymKey};

use crate::view::segment;

/// Beginning of every cursor: `{"f":"` in base 64.
const CURSOR: &str = "eyJmIjoi";
/// Id that nobody has, for one that a reader must not use.
const NOBODY: &str = "person-unknown";
/// Letters of an id of LINE behind its `U`.
const LINE_ID: usize = 32;

/// Ids of people and their stand-ins.
#[derive(Debug)]
pub(super) struct Ids {
    key: PseudonymKey,
    finder: Option<AhoCorasick>,
    /// Stand-in of each pattern of the finder.
    stand_ins: Vec<String>,
    real: HashMap<String, UserId>,
}

/// Direction of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To the reader: ids become stand-ins.
    Out,
    /// From the reader: stand-ins become ids, and ids become nobody's.
    In,
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
            let escaped = segment(user.as_str());
            if escaped != user.as_str() {
                patterns.push(escaped);
                stand_ins.push(stand_in.clone());
            }
            patterns.push(user.as_str().to_owned());
            stand_ins.push(stand_in.clone());
            real.insert(stand_in, user.clone());
        }
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest);
        let finder = (!patterns.is_empty()).then(|| builder.build(&patterns)).transpose()?;
        Ok(Self { key, finder, stand_ins, real })
    }

    /// Returns the person of an id, if there is one.
    pub(super) fn person(&self, id: &str) -> Option<UserId> {
        self.real.get(&self.key.person(&id.into()).id).cloned()
    }

    /// Translates a text.
    pub(super) fn translate<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
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
        let hidden = self.real_ids(way, text);
        match way {
            Way::Out => hidden,
            // Only what was a stand-in in the reader's text becomes an id.
            Way::In => match self.stand_ins_of(&hidden) {
                Some(text) => Cow::Owned(text),
                None => hidden,
            },
        }
    }

    /// Replaces ids.
    fn real_ids<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
        let stand_in = |own| if way == Way::In { Cow::Borrowed(NOBODY) } else { own };
        replaced(text, self.find(text).into_iter().map(|(range, own)| (range, stand_in(own))))
    }

    /// Returns the ids in a text, in bytes, and their stand-ins.
    pub(super) fn find(&self, text: &str) -> Vec<(Range<usize>, Cow<'_, str>)> {
        let mut parts: Vec<(Range<usize>, Cow<'_, str>)> = Vec::new();
        for hit in self.finder.iter().flat_map(|finder| finder.find_iter(text)) {
            if is_apart(text, hit.start(), hit.end()) {
                let stand_in = self.stand_ins[hit.pattern().as_usize()].as_str();
                parts.push((hit.start()..hit.end(), Cow::Borrowed(stand_in)));
            }
        }
        let known: Vec<_> = parts.iter().map(|(range, _)| range.clone()).collect();
        for start in line_ids(text) {
            let end = start + 1 + LINE_ID;
            // None of the parts is over another.
            let next = known.partition_point(|range| range.end <= start);
            if known.get(next).is_none_or(|range| range.start >= end) {
                let id = UserId::from(&text[start..end]);
                parts.push((start..end, Cow::Owned(self.key.person(&id).id)));
            }
        }
        parts.sort_by_key(|(range, _)| range.start);
        parts
    }

    /// Replaces stand-ins of known people; `None` where there is none.
    fn stand_ins_of(&self, text: &str) -> Option<String> {
        let known = text.match_indices(PERSON).filter_map(|(start, _)| {
            let range = start..start + PERSON.len() + LETTERS;
            let user = self.real.get(text.get(range.clone())?)?;
            is_apart(text, range.start, range.end).then(|| (range, Cow::Borrowed(user.as_str())))
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

/// Returns the places of ids in the form of LINE.
fn line_ids(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('U').map(|(at, _)| at).filter(|at| {
        let rest = text.as_bytes().get(at + 1..at + 1 + LINE_ID);
        rest.is_some_and(|rest| rest.iter().all(u8::is_ascii_hexdigit))
            && is_apart(text, *at, at + 1 + LINE_ID)
    })
}

/// Returns true if a part of a text is no part of a longer word.
fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let is_word = |at: Option<&u8>| at.is_some_and(u8::is_ascii_alphanumeric);
    !is_word(start.checked_sub(1).and_then(|at| bytes.get(at))) && !is_word(bytes.get(end))
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
            (format!("x{ANN} {ANN}0"), format!("x{ANN} {ANN}0")),
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
        ] {
            assert_eq!(ids.translate(Way::In, &text), expected, "{text}");
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
