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
