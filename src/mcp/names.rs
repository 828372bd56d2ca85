//! Candidates for a name, as an error shows them.

use std::borrow::Borrow;

use super::error::echo;
use super::shown_id::shown_id;

/// Maximum number of candidates in an error.
pub(super) const LISTED: usize = 5;

/// Hint for a short name of an answer's tables.
pub(super) const SHORT_NAMES: &str =
    "short names such as p1 and c1 are those of one answer; its tables have the ids";

/// Returns true for the form of a short name in the tables of answers.
pub(super) fn is_short_name(text: &str) -> bool {
    let digits = text.strip_prefix(['p', 'c']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Formats candidates for an error, at most [`LISTED`]; `tell` says more about one.
pub(super) fn listed<T: Borrow<str>>(
    candidates: &[(T, String)],
    tell: impl Fn(&T) -> String,
) -> String {
    let each = candidates.iter().take(LISTED);
    let each =
        each.map(|(id, name)| format!("{} {}{}", echo(name), shown_id(id.borrow()), tell(id)));
    let more = match candidates.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{}{more}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_told_from_others() {
        assert!(["p1", "c12"].into_iter().all(is_short_name));
        assert!(!["p", "C1", "p1x", "q1", "1"].into_iter().any(is_short_name));
    }

    #[test]
    fn candidates_are_quoted_and_few() {
        let many: Vec<_> = (0..7).map(|n| (format!("U{n}"), "Bo\nb".to_owned())).collect();
        let text = listed(&many, |id| format!(" ({})", id.len()));
        assert!(text.starts_with("\"Bo\\nb\" U0 (2), \"Bo\\nb\" U1 (2), "), "{text}");
        assert!(text.ends_with("U4 (2), and 2 more"), "{text}");
        assert_eq!(listed(&many[..1], |_| String::new()), "\"Bo\\nb\" U0");
    }
}
