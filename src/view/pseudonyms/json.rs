//! Strings of a JSON document, translated where they stand: the rest stays byte for byte.

use std::borrow::Cow;

/// Translates every string of a document, names of members included. What is no JSON is translated
/// as far as it is.
pub(super) fn translated(json: &[u8], translate: impl Fn(&str) -> Option<String>) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let mut at = 0;
    while let Some(start) = next_quote(json, at) {
        let end = end_of_string(json, start);
        out.extend_from_slice(&json[at..start]);
        out.extend_from_slice(&string(&json[start..end], &translate));
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

fn string<'j>(quoted: &'j [u8], translate: &impl Fn(&str) -> Option<String>) -> Cow<'j, [u8]> {
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
        let out = translated(json, |text| text.contains("U1").then(|| text.replace("U1", "p\"")));
        let expected = br#"{"a\"p\"": [1.50, "p\"", "xp\"", true], "b": "p\"\\"}"#;
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(expected));
        for broken in ["", "\"", "\"a\\", "{\"U1", "\"\\x\""] {
            assert_eq!(translated(broken.as_bytes(), |_| Some("p".to_owned())), broken.as_bytes());
        }
    }
}
