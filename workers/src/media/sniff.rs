//! Detection of a file's type by its first bytes; its sender's or the platform's claim is not
//! trusted.

use chatkeep_core::message::MessageType;

/// Unknown media type.
const UNKNOWN: &str = "application/octet-stream";

/// Returns the media type of a file that begins with `head`.
pub(super) fn content_type(head: &[u8], kind: MessageType) -> String {
    if let Some(known) = infer::get(head) {
        // Sound in the container of films, as LINE records it, is only recognised by the message.
        let sound = kind == MessageType::Audio && known.mime_type() == "video/mp4";
        return if sound { "audio/mp4" } else { known.mime_type() }.to_owned();
    }
    let text = kind == MessageType::File && is_text(head);
    if text { "text/plain; charset=utf-8".to_owned() } else { UNKNOWN.to_owned() }
}

/// Returns whether a file that begins with `head` is something that a proxy or a failing server sends
/// in place of a file: nothing, a page, or JSON.
pub(super) fn is_stand_in(head: &[u8]) -> bool {
    let first = head.trim_ascii_start().first();
    head.is_empty() || (is_text(head) && matches!(first, Some(b'<' | b'{')))
}

/// Returns whether it is UTF-8 text, cut anywhere.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    !valid.is_empty() && !valid.chars().any(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_errors_stand_in_for_files() {
        for head in [
            "",
            "<!DOCTYPE html><title>Sign in</title>",
            "\r\n <html><body>captive portal</body></html>",
            "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code></Error>",
            "{\"message\":\"Internal Server Error\"}",
        ] {
            assert!(is_stand_in(head.as_bytes()), "{head}");
        }
        for head in [&b"\x89PNG\r\n\x1a\n"[..], b"<\0\x01", b"{\xff\xfe", b"picture", b"\0"] {
            assert!(!is_stand_in(head), "{head:?}");
        }
    }

    #[test]
    fn bytes_decide() {
        let of = |head: &[u8]| content_type(head, MessageType::File);
        assert_eq!(of(b"%PDF-1.7\n"), "application/pdf");
        assert_eq!(of(b"\x89PNG\r\n\x1a\n"), "image/png");
        assert_eq!(of("規約: be kind\n".as_bytes()), "text/plain; charset=utf-8");
        assert_eq!(of(&"規約".as_bytes()[..4]), "text/plain; charset=utf-8", "cut in a character");
        let film = b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2";
        assert_eq!(of(film), "video/mp4");
        assert_eq!(content_type(film, MessageType::Audio), "audio/mp4");
        assert_eq!(of(b"\x00\x01\x02"), UNKNOWN);
        assert_eq!(of(b""), UNKNOWN);
    }
}
