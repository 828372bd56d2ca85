//! Names in place of ids: the one that a name means, those that it may mean, or those that are
//! close to it. Names are compared as the search does, whatever the case and width of the letters.

use std::borrow::Borrow;

use chatkeep_core::heavy::CALLERS;
use chatkeep_index::fold;

use super::error::echo;

/// Maximum number of candidates in an error.
pub(super) const LISTED: usize = 5;

/// Ids with their names, where these are known.
pub(super) type Named<T> = Vec<(T, Option<String>)>;

/// Meaning of a text among ids with names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NameMatch<T> {
    /// An id.
    Id(T),
    /// The name of one.
    Name(T),
    /// The name of several.
    Names(Vec<(T, String)>),
    /// Neither; with those whose names are close to it, the closest first.
    Unknown(Vec<(T, String)>),
}

/// Finds what a text means among these.
pub(super) async fn find<T>(given: &str, named: Named<T>) -> NameMatch<T>
where
    T: Borrow<str> + Ord + Send + 'static,
{
    let given = given.to_owned();
    // As many names as there are, are folded.
    CALLERS.run(move || matched(&given, named)).await
}

fn matched<T: Borrow<str> + Ord>(given: &str, mut named: Named<T>) -> NameMatch<T> {
    if let Some(at) = named.iter().position(|(id, _)| id.borrow() == given) {
        return NameMatch::Id(named.swap_remove(at).0);
    }
    let wanted = fold(given);
    let (mut same, mut near) = (Vec::new(), Vec::new());
    for (id, name) in named {
        let Some(name) = name else { continue };
        let folded = fold(&name);
        if folded == wanted {
            same.push((id, name));
        } else if let Some(distance) = distance(&wanted, &folded) {
            near.push((distance, id, name));
        }
    }
    near.sort();
    same.sort();
    match same.len() {
        0 => NameMatch::Unknown(near.into_iter().map(|(_, id, name)| (id, name)).collect()),
        1 => NameMatch::Name(same.swap_remove(0).0),
        _ => NameMatch::Names(same),
    }
}

/// Returns how far a name is from the wanted one; `None` if nobody would take one for the other.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    if wanted.is_empty() || name.is_empty() {
        return None;
    }
    if name.contains(wanted) || wanted.contains(name) {
        return Some(0);
    }
    let most = 1 + wanted.chars().count() / 4;
    let length = wanted.chars().count().abs_diff(name.chars().count());
    // A name of one or two characters is one letter away from half of all others.
    if length > most || wanted.chars().count() <= 2 {
        return None;
    }
    Some(strsim::osa_distance(wanted, name)).filter(|distance| *distance <= most)
}

/// Formats candidates for an error, at most [`LISTED`]; `tell` says more about one.
pub(super) fn listed<T: Borrow<str>>(
    candidates: &[(T, String)],
    tell: impl Fn(&T) -> String,
) -> String {
    let each = candidates.iter().take(LISTED);
    let each = each.map(|(id, name)| format!("{} {}{}", echo(name), id.borrow(), tell(id)));
    let more = match candidates.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{}{more}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> Named<&'static str> {
        let named = |name: &str| Some(name.to_owned());
        vec![
            ("U2", named("Ann Lee")),
            ("U1", named("ａｎｎ")),
            ("U5", named("Bob")),
            ("U4", named("BOB")),
            ("U3", None),
            ("import:aa", named("小美")),
            ("U6", named("Charlotte")),
        ]
    }

    #[test]
    fn a_name_means_one_several_or_close_ones() {
        assert_eq!(matched("U3", people()), NameMatch::Id("U3"));
        assert_eq!(matched(" Ann ", people()), NameMatch::Name("U1"));
        assert_eq!(matched("小美", people()), NameMatch::Name("import:aa"));
        let bobs = vec![("U4", "BOB".to_owned()), ("U5", "Bob".to_owned())];
        assert_eq!(matched("bob", people()), NameMatch::Names(bobs));
        let near = |given| match matched(given, people()) {
            NameMatch::Unknown(near) => near.into_iter().map(|(id, _)| id).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(near("Lee"), ["U2"]);
        assert_eq!(near("Charlote"), ["U6"]);
        assert_eq!(near("美"), ["import:aa"]);
        assert_eq!(near("Zoe"), [] as [&str; 0]);
        assert_eq!(near("bo"), ["U4", "U5"]);
        assert_eq!(near(""), [] as [&str; 0]);
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
