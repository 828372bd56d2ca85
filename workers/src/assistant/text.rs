//! Reply texts: welcome variables, and splitting of texts that are too long for the platform.

use chatkeep_core::text::prefix_utf16;

use super::neutral::Language;

/// Replaces `{displayName}` and `{groupName}`; any other braces stay as typed. Names are not
/// expanded again, so nobody can inject a variable by their name.
pub(super) fn fill(template: &str, display_name: &str, group_name: &str) -> String {
    let mut filled = String::with_capacity(template.len() + display_name.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        let (value, variable) = match &rest[at..] {
            tail if tail.starts_with("{displayName}") => (display_name, "{displayName}"),
            tail if tail.starts_with("{groupName}") => (group_name, "{groupName}"),
            _ => ("{", "{"),
        };
        filled.push_str(value);
        rest = &rest[at + variable.len()..];
    }
    filled.push_str(rest);
    filled
}

/// Joins several names into one text, as one does in a text of that language.
pub(super) fn joined(names: &[String], language: Option<Language>) -> String {
    names.join(match language {
        Some(Language::TraditionalChinese | Language::SimplifiedChinese | Language::Japanese) => {
            "、"
        }
        _ => ", ",
    })
}

/// Splits a text into at most `pieces` of at most `units` UTF-16 units, preferably at a line end or
/// a space. The rest is cut off with an ellipsis.
pub(super) fn split(text: &str, units: usize, pieces: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && parts.len() < pieces {
        let fits = prefix_utf16(rest, units);
        if fits.len() == rest.len() {
            parts.push(rest.to_owned());
            return parts;
        }
        if parts.len() + 1 == pieces {
            parts.push(format!("{}…", prefix_utf16(rest, units - 1)));
            return parts;
        }
        // A break in the last quarter is worth more than a full piece.
        let from = prefix_utf16(rest, units * 3 / 4).len();
        let at = fits[from..].rfind('\n').or_else(|| fits[from..].rfind(' '));
        let cut = at.map_or(fits.len(), |at| from + at + 1);
        parts.push(rest[..cut].to_owned());
        rest = &rest[cut..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_variables_are_replaced() {
        let filled = fill("Hi {displayName}, welcome to {groupName}! {x} {", "小明", "測試");
        assert_eq!(filled, "Hi 小明, welcome to 測試! {x} {");
        assert_eq!(fill("{displayName}", "{groupName}", "secret"), "{groupName}");
    }

    #[test]
    fn long_texts_are_split_within_the_limit_and_lose_nothing() {
        let text = "一二三四 五六七八\n九十".repeat(40);
        let parts = split(&text, 50, 20);
        assert_eq!(parts.concat(), text);
        assert!(parts.iter().all(|part| part.encode_utf16().count() <= 50));
    }

    #[test]
    fn a_pair_of_surrogates_is_never_torn() {
        let parts = split(&"😀".repeat(10), 5, 5);
        assert!(parts.iter().all(|part| part.encode_utf16().count() <= 5));
        assert_eq!(parts.concat().chars().count(), 10);
    }

    #[test]
    fn what_people_see_as_one_character_is_never_torn() {
        let family = "👨\u{200d}👩\u{200d}👧";
        let parts = split(&family.repeat(10), 10, 20);
        assert!(parts.iter().all(|part| part == family), "{parts:?}");
        assert_eq!(split(&family.repeat(3), 10, 2), [family.to_owned(), format!("{family}…")]);
    }

    #[test]
    fn what_does_not_fit_ends_with_an_ellipsis() {
        let parts = split(&"a".repeat(30), 5, 3);
        assert_eq!(parts, ["aaaaa", "aaaaa", "aaaa…"]);
    }
}
