//! The headers that go with a file. Files come from strangers: nothing in one may run in the
//! caller's browser with the rights of this service's own pages.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use chatkeep_core::media_type::media_type;
use chatkeep_core::text::is_direction_mark;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Types that browsers show without running anything of them.
const SHOWN: [&str; 19] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "video/mp4",
    "video/webm",
    "video/quicktime",
    "video/3gpp",
    "audio/mpeg",
    "audio/mp4",
    "audio/x-m4a",
    "audio/aac",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "audio/flac",
    "audio/amr",
];

/// File extensions for names without one.
const ENDINGS: [(&str, &str); 12] = [
    ("image/jpeg", ".jpg"),
    ("image/png", ".png"),
    ("image/gif", ".gif"),
    ("image/webp", ".webp"),
    ("video/mp4", ".mp4"),
    ("video/webm", ".webm"),
    ("video/quicktime", ".mov"),
    ("audio/mpeg", ".mp3"),
    ("audio/mp4", ".m4a"),
    ("audio/x-m4a", ".m4a"),
    ("audio/aac", ".aac"),
    ("application/pdf", ".pdf"),
];

/// Names are cut here: many file systems take no more than 255 bytes.
const MAX_NAME: usize = 200;

/// Maximum bytes of a file extension, with its dot.
const MAX_ENDING: usize = 16;

/// Characters that RFC 8187 allows unescaped.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Adds type and name, and headers that keep a browser from executing the file.
pub(super) fn content(headers: &mut HeaderMap, content_type: &str, name: &str) {
    let unknown = HeaderValue::from_static("application/octet-stream");
    let typed = (!content_type.is_empty()).then(|| HeaderValue::try_from(content_type).ok());
    headers.insert(header::CONTENT_TYPE, typed.flatten().unwrap_or(unknown));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let kind = media_type(content_type);
    let shown = SHOWN.iter().any(|shown| shown.eq_ignore_ascii_case(kind));
    if !shown {
        let sandbox = HeaderValue::from_static("sandbox; default-src 'none'");
        headers.insert(header::CONTENT_SECURITY_POLICY, sandbox);
    }
    set(headers, header::CONTENT_DISPOSITION, disposition(shown, name));
}

/// RFC 6266: a name in ASCII for old programs, and the name as it is.
fn disposition(shown: bool, name: &str) -> String {
    let kind = if shown { "inline" } else { "attachment" };
    let plain = |c: char| match c {
        '"' | '\\' | '%' => '_',
        c if c.is_ascii() => c,
        _ => '_',
    };
    let ascii: String = name.chars().map(plain).collect();
    if ascii == name {
        return format!("{kind}; filename=\"{ascii}\"");
    }
    let encoded = utf8_percent_encode(name, PLAIN);
    format!("{kind}; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}

/// Returns the sender's file name without anything that could traverse folders or mislead;
/// otherwise one made of the message's ID.
pub(super) fn file_name(given: Option<&str>, id: &str, content_type: &str) -> String {
    let given = clean(given.unwrap_or_default());
    if !given.trim_matches(['.', ' ']).is_empty() {
        return given;
    }
    let kind = media_type(content_type);
    let ending = ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(kind));
    format!("{}{}", clean(id), ending.map_or("", |(_, ending)| ending))
}

fn clean(name: &str) -> String {
    // Marks of text direction show "gpj.exe" as "exe.jpg".
    let bad = |c: char| c.is_control() || is_direction_mark(c) || matches!(c, '/' | '\\');
    let clean: String = name.chars().filter(|c| !bad(*c)).collect();
    if clean.len() <= MAX_NAME {
        return clean;
    }
    // The extension shows the type: truncation happens before it.
    let end = clean.rfind('.').filter(|at| clean.len() - at <= MAX_ENDING).unwrap_or(clean.len());
    let (stem, ending) = clean.split_at(end);
    let fits = stem.floor_char_boundary(MAX_NAME - ending.len());
    format!("{}{ending}", &stem[..fits])
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_harmless() {
        let cases = [
            (Some("report.pdf"), "report.pdf"),
            (Some("../../etc/passwd"), "....etcpasswd"),
            (Some("a\r\nSet-Cookie: x"), "aSet-Cookie: x"),
            (Some("C:\\x\u{202e}gpj.exe"), "C:xgpj.exe"),
            (Some(" .. "), "17.jpg"),
            (Some(""), "17.jpg"),
            (None, "17.jpg"),
        ];
        for (given, expected) in cases {
            assert_eq!(file_name(given, "17", "image/jpeg; x=y"), expected, "{given:?}");
        }
        let long = file_name(Some(&format!("{}.docx", "長".repeat(100))), "17", "");
        assert!(long.len() <= MAX_NAME && long.ends_with("長.docx"), "{long}");
        // Cut in one go: a pass for each character of this would take hours.
        let endless = file_name(Some(&"長".repeat(2_000_000)), "17", "");
        assert_eq!(endless, "長".repeat(MAX_NAME / 3));
        let dots = file_name(Some(&".".repeat(1_000)), "17", "image/png");
        assert_eq!(dots, "17.png");
    }

    #[test]
    fn dispositions_have_the_name_twice_when_it_is_not_ascii() {
        assert_eq!(disposition(true, "a b.jpg"), "inline; filename=\"a b.jpg\"");
        assert_eq!(
            disposition(false, "議\"事 100%.pdf"),
            "attachment; filename=\"__\u{5f} 100_.pdf\"; \
             filename*=UTF-8''%E8%AD%B0%22%E4%BA%8B%20100%25.pdf"
        );
    }

    #[test]
    fn what_a_browser_would_run_is_sandboxed() {
        for (kind, shown) in [
            ("image/png", true),
            ("VIDEO/mp4; codecs=avc1", true),
            ("image/svg+xml", false),
            ("text/html", false),
            ("application/pdf", false),
            ("text/javascript", false),
            ("application/xml", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            content(&mut headers, kind, "name");
            assert_eq!(headers.contains_key(header::CONTENT_SECURITY_POLICY), !shown, "{kind}");
            let disposition = headers[header::CONTENT_DISPOSITION].to_str().unwrap();
            assert_eq!(disposition.starts_with("inline"), shown, "{kind}");
            assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
    }
}
