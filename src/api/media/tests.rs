//! Names of files in headers: whatever their senders wrote.

use axum::http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use proptest::collection::vec;
use proptest::prelude::*;

use super::headers::{content, file_name};

/// Longest name, in bytes.
const MAX_NAME: usize = 200;

/// Returns the names that a header gives a file: the one in ASCII, and the one as it is.
fn names(content_type: &str, name: &str) -> (String, String) {
    let mut headers = HeaderMap::new();
    content(&mut headers, content_type, name);
    let value = headers[header::CONTENT_DISPOSITION].to_str().unwrap().to_owned();
    let (_, rest) = value.split_once("; filename=\"").unwrap();
    let (plain, rest) = rest.split_once('"').unwrap();
    let whole = if let Some(encoded) = rest.strip_prefix("; filename*=UTF-8''") {
        percent_decode_str(encoded).decode_utf8().unwrap().into_owned()
    } else {
        assert_eq!(rest, "", "{value}");
        plain.to_owned()
    };
    (plain.to_owned(), whole)
}

fn any_name() -> impl Strategy<Value = String> {
    let odd =
        prop::sample::select(vec!['"', '\\', '/', '%', '.', ' ', ';', '\r', '\n', '\0', '早']);
    vec(prop_oneof![any::<char>(), odd], 0..260).prop_map(|all| all.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_programs_name_for_a_file_is_the_cleaned_one(given in any_name()) {
        let name = file_name(Some(&given), "17", "image/png");
        prop_assert!(!name.is_empty() && name.len() <= MAX_NAME, "{name:?}");
        let bad = |c: char| c.is_control() || matches!(c, '/' | '\\');
        prop_assert!(!name.contains(bad), "{name:?}");
        let (plain, whole) = names("image/png", &name);
        prop_assert_eq!(&whole, &name);
        prop_assert!(plain.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{plain:?}");
        prop_assert!(!plain.contains(['%', '\\']), "some programs decode these: {plain:?}");
        prop_assert_eq!(plain.chars().count(), name.chars().count());
    }

    #[test]
    fn a_clean_name_stays_as_it_is(given in any_name()) {
        let name = file_name(Some(&given), "17", "image/png");
        prop_assert_eq!(file_name(Some(&name), "18", "image/gif"), name);
    }

    #[test]
    fn the_extension_of_a_long_name_is_kept(
        stem in vec(any::<char>(), 1..300),
        ending in "[a-zA-Z0-9]{1,15}",
    ) {
        let stem: String = stem.into_iter().filter(|c| c.is_alphanumeric()).collect();
        let name = file_name(Some(&format!("a{stem}.{ending}")), "17", "");
        let ending = format!(".{ending}");
        prop_assert!(name.starts_with('a') && name.ends_with(&ending), "{}", name);
        let whole = format!("a{stem}");
        prop_assert!(whole.starts_with(name.strip_suffix(&ending).unwrap()));
    }
}

#[test]
fn a_name_without_a_letter_is_made_of_the_message() {
    for given in [None, Some(""), Some("..."), Some(" . . "), Some("/\\"), Some("\u{202e}\u{7}")] {
        for (kind, expected) in [
            ("image/jpeg", "m1.jpg"),
            ("IMAGE/JPEG; charset=binary", "m1.jpg"),
            ("audio/x-m4a", "m1.m4a"),
            ("text/html", "m1"),
            ("", "m1"),
        ] {
            assert_eq!(file_name(given, "m1", kind), expected, "{given:?} {kind}");
        }
    }
    assert_eq!(file_name(None, "../m\r\n1", "image/png"), "..m1.png", "ids are cleaned, too");
    for kept in [".htaccess", "a", "早", "..a", " a "] {
        assert_eq!(file_name(Some(kept), "m1", "image/png"), kept);
    }
}

#[test]
fn no_mark_of_text_direction_stays_in_a_name() {
    // All that Unicode calls Bidi_Control.
    let marks = ['\u{61c}', '\u{200e}', '\u{200f}']
        .into_iter()
        .chain('\u{202a}'..='\u{202e}')
        .chain('\u{2066}'..='\u{2069}');
    for mark in marks {
        let name = file_name(Some(&format!("a{mark}gpj.exe")), "m1", "");
        assert_eq!(name, "agpj.exe", "{mark:?}");
    }
}

#[test]
fn a_type_that_is_no_header_is_unknown_and_run_nowhere() {
    for (kind, expected) in [
        ("image/png\r\nx: y", "application/octet-stream"),
        ("image/png\u{0}", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("text/html; charset=utf-8", "text/html; charset=utf-8"),
        ("image/svg+xml", "image/svg+xml"),
        ("image/png+xml", "image/png+xml"),
        ("application/xhtml+xml", "application/xhtml+xml"),
        ("text/plain; x=image/png", "text/plain; x=image/png"),
    ] {
        let mut headers = HeaderMap::new();
        content(&mut headers, kind, "name");
        assert_eq!(headers[header::CONTENT_TYPE], expected, "{kind:?}");
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("sandbox;"), "{kind:?}: {policy}");
        let disposition = headers[header::CONTENT_DISPOSITION].to_str().unwrap();
        assert!(disposition.starts_with("attachment;"), "{kind:?}: {disposition}");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}
