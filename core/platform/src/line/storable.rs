//! Mending of JSON whose escapes stand for what no text here can hold: U+0000, and halves of a
//! surrogate pair.

use std::borrow::Cow;

/// Escape of U+FFFD, which stands for unreadable input.
const MARK: &str = "\\ufffd";
/// Length of `\uXXXX`, in bytes.
const UNIT: usize = 6;
/// Length of any other escape, in bytes.
const SHORT: usize = 2;

/// Returns JSON with U+FFFD in place of each U+0000, which PostgreSQL cannot hold in a text and no
/// chat shows, and of each half of a surrogate pair, for which a parser refuses the whole string.
///
/// JSON that is not valid stays so: a backslash occurs only within strings of JSON that is.
pub(super) fn storable(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u") {
        return Cow::Borrowed(json);
    }
    let mut mended = String::new();
    // What is before `done` is in `mended`, and what is before `at` has been looked at.
    let (mut done, mut at) = (0, 0);
    while let Some(ahead) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += ahead;
        if let Some(length) = sound(&json[at..]) {
            at += length;
        } else {
            mended.push_str(&json[done..at]);
            mended.push_str(MARK);
            at += UNIT;
            done = at;
        }
    }
    if done == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[done..]);
    Cow::Owned(mended)
}

/// Returns the length of the escape, or pair of them, with which the text begins; `None` if it
/// cannot stay.
fn sound(escape: &str) -> Option<usize> {
    match unit(escape) {
        // An escaped backslash among them: what follows it is text, whatever it looks like.
        None => Some(SHORT),
        Some(0xd800..=0xdbff) => {
            matches!(unit(&escape[UNIT..]), Some(0xdc00..=0xdfff)).then_some(2 * UNIT)
        }
        Some(0 | 0xdc00..=0xdfff) => None,
        Some(_) => Some(UNIT),
    }
}

/// Returns the UTF-16 unit of the `\uXXXX` with which the text begins, if it does.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    // The parser of numbers would take a sign, too.
    let hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if hex { u16::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::client::read;
    use super::super::wire::{LineGroup, LineProfile};
    use super::*;

    /// Parts of a string of JSON, with the UTF-16 units that each stands for.
    const PARTS: [(&str, &[u16]); 9] = [
        ("\\u0000", &[0]),
        ("\\ud83d", &[0xd83d]),
        ("\\uDBFF", &[0xdbff]),
        ("\\ude00", &[0xde00]),
        ("\\u00e9", &[0xe9]),
        ("\\\\", &[0x5c]),
        ("\\n", &[0xa]),
        ("ud83d", &[0x75, 0x64, 0x38, 0x33, 0x64]),
        ("u0000é", &[0x75, 0x30, 0x30, 0x30, 0x30, 0xe9]),
    ];

    /// Returns what units stand for, as the standard library reads them.
    fn text_of(units: impl IntoIterator<Item = u16>) -> String {
        let each = char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}'));
        each.map(|c| if c == '\0' { '\u{fffd}' } else { c }).collect()
    }

    #[test]
    fn every_string_becomes_the_text_that_it_stands_for() {
        let places = u32::try_from(PARTS.len()).unwrap();
        for number in 0..places.pow(4) {
            let digits = (0..4).map(|place| number / places.pow(place) % places);
            let parts = digits.map(|digit| PARTS[usize::try_from(digit).unwrap()]);
            let (written, units): (Vec<_>, Vec<_>) = parts.unzip();
            let json = format!("\"{}\"", written.concat());
            let mended: String = serde_json::from_str(&storable(&json)).unwrap();
            assert_eq!(mended, text_of(units.concat()), "{json}");
        }
    }

    #[test]
    fn what_is_sound_is_not_copied() {
        for json in [
            r#"{"text":"no escape"}"#,
            r#"{"text":"line\nline \"quoted\""}"#,
            r#"{"text":"\u00e9 \ud83d\ude00 \uD83D\uDE00"}"#,
            r#"{"text":"typed \\u0000 and \\ud83d and \\\\u0000"}"#,
            "\\",
            "\"\\u",
            "\"\\ud8",
            "\"\\u+000\"",
            "\"\\u00é0\"",
            "\\éu0000",
            "\\ué\\u0é\\u00é\\u000é",
        ] {
            assert!(matches!(storable(json), Cow::Borrowed(same) if same == json), "{json}");
        }
    }

    #[test]
    fn what_ends_in_the_middle_does_not_become_valid() {
        assert_eq!(storable("\"\\ud83d"), "\"\\ufffd");
        assert_eq!(storable("\"\\ud83d\\u"), "\"\\ufffd\\u");
        assert_eq!(storable("\"\\ud83d\\ude0"), "\"\\ufffd\\ude0");
        assert_eq!(storable("\\u0000\\é\\u0000"), "\\ufffd\\é\\u0000");
    }

    #[test]
    fn half_a_pair_costs_no_name() {
        let profile: LineProfile =
            read(br#"{"displayName":"Ann \ud83d","odd\ude00":1,"language":"e\u0000"}"#).unwrap();
        assert_eq!(profile.display_name, "Ann \u{fffd}");
        assert_eq!(profile.language.as_deref(), Some("e\u{fffd}"));
        let group: LineGroup = read(br#"{"groupName":"a\\u0000b \ud83d\ude00"}"#).unwrap();
        assert_eq!(group.group_name.as_deref(), Some("a\\u0000b \u{1f600}"));
        assert!(read::<LineProfile>(br#"{"displayName":"\ud8"}"#).is_err());
    }
}
