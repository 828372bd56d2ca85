//! Strings of a JSON document, translated where they stand: the rest stays byte for byte.

use std::borrow::Cow;

/// String of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonString<'n> {
    /// Name of a member.
    Name,
    /// Value, or element of a list, of the member with that name.
    Value(&'n str),
}

/// Translates every string of a document. What is no JSON is translated as far as it is.
pub(super) fn translated(
    json: &[u8],
    translate: impl Fn(JsonString<'_>, &str) -> Option<String>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let (mut at, mut member) = (0, String::new());
    while let Some(start) = next_quote(json, at) {
        let end = end_of_string(json, start);
        out.extend_from_slice(&json[at..start]);
        let behind = json[end..].iter().find(|byte| !byte.is_ascii_whitespace());
        let is_name = behind == Some(&b':');
        let place = if is_name { JsonString::Name } else { JsonString::Value(&member) };
        out.extend_from_slice(&string(&json[start..end], |text| translate(place, text)));
        if is_name {
            member = serde_json::from_slice(&json[start..end]).unwrap_or_default();
        }
        at = end;
    }
    out.extend_from_slice(&json[at..]);
    out
}

fn next_quote(json: &[u8], from: usize) -> Option<usize> {
    json[from..].iter().position(|byte| *byte == b'"').map(|at| from + at)
}

/// Returns the end of the string that begins there.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

fn string(quoted: &[u8], translate: impl Fn(&str) -> Option<String>) -> Cow<'_, [u8]> {
    let Ok(text) = serde_json::from_slice::<Cow<'_, str>>(quoted) else {
        return Cow::Borrowed(quoted);
    };
    match translate(&text).map(|text| serde_json::to_vec(&text)) {
        Some(Ok(quoted)) => Cow::Owned(quoted),
        _ => Cow::Borrowed(quoted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_change() {
        let json = br#"{"a\"U1": [1.50, "U1", "x\u0055\u0031", true], "b": "U1\\"}"#;
        let out =
            translated(json, |_, text| text.contains("U1").then(|| text.replace("U1", "p\"")));
        let expected = br#"{"a\"p\"": [1.50, "p\"", "xp\"", true], "b": "p\"\\"}"#;
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(expected));
        for broken in ["", "\"", "\"a\\", "{\"U1", "\"\\x\""] {
            assert_eq!(
                translated(broken.as_bytes(), |_, _| Some("p".to_owned())),
                broken.as_bytes()
            );
        }
    }
    #[test]
    fn a_string_is_of_its_member() {
        let json = br#"{"a" : ["1", {"b": "2"}, "3"], "c": "4"}"#;
        let out = translated(json, |place, text| {
            Some(match place {
                JsonString::Name => text.to_uppercase(),
                JsonString::Value(member) => format!("{member}{text}"),
            })
        });
        // Behind an object in a list the name of its last member is taken for that of the list.
        let expected = r#"{"A" : ["a1", {"B": "b2"}, "b3"], "C": "c4"}"#;
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
