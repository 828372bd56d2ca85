//! Media types in `Content-Type`.

/// Returns the media type that a `Content-Type` begins with, without its parameters. Its case is as
/// given.
pub fn media_type(content_type: &str) -> &str {
    content_type.split_once(';').map_or(content_type, |(kind, _)| kind).trim()
}

#[cfg(test)]
mod tests {
    use super::media_type;

    #[test]
    fn a_media_type_ends_before_its_parameters() {
        for (given, expected) in [
            ("application/json", "application/json"),
            (" Text/HTML ; charset=utf-8; a=b", "Text/HTML"),
            (";", ""),
            ("", ""),
        ] {
            assert_eq!(media_type(given), expected, "{given}");
        }
    }
}
