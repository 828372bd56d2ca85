//! Ids as lines of a text show them.

use chatkeep_core::id::MAX_ID;
use chatkeep_view::sanitize;

/// Returns an id as it may stand in a line: those of imports are written by whoever made the file.
/// One that could pass for more than an id is quoted. None is cut: a part of the id of a person would
/// not be known as one behind pseudonyms.
pub(super) fn shown_id(id: &str) -> String {
    let shown = sanitize::one_line(id, MAX_ID);
    if shown.is_empty() || shown.contains(is_of_lines) { sanitize::quoted(&shown) } else { shown }
}

/// Returns true for a character that stands between the parts of a line.
fn is_of_lines(character: char) -> bool {
    character.is_whitespace() || matches!(character, '"' | '\\' | '(' | ')' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_shown_as_it_is_unless_it_could_pass_for_more() {
        for plain in ["U0123", "U1~shop", "telegram:-100123", "import:0a_b-c", "早/1.%2f", "…"] {
            assert_eq!(shown_id(plain), plain);
        }
        for (id, shown) in [
            ("", r#""""#),
            ("a b", r#""a b""#),
            ("U1), p2 = \"Ann\" (U2", r#""U1), p2 = \"Ann\" (U2""#),
            ("a\r\n> 08:00:00 p1", r#""a > 08:00:00 p1""#),
            ("a\u{3000}b", "\"a\u{3000}b\""),
            ("a\\nb", r#""a\\nb""#),
            ("a\u{202e}\u{200b}\u{e0041}b\0", "ab"),
        ] {
            assert_eq!(shown_id(id), shown, "{id:?}");
        }
        let long = "x".repeat(MAX_ID);
        assert_eq!(shown_id(&long), long);
    }
}
