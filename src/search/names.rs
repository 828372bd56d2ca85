//! Names in place of ids: the one that a name means, those that it may mean, or those that are
//! close to it. Names are compared as texts are searched: whatever the case and width of the
//! letters, their accents, and the script of Chinese characters; and whatever symbols are around them.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::heavy::CALLERS;
use chatkeep_index::fold::search::SearchText;

/// Ids with their names, where these are known.
pub type Named<T> = Vec<(T, Option<String>)>;

/// Meaning of a text among ids with names.
#[derive(Debug, PartialEq, Eq)]
pub enum NameMatch<T> {
    /// An id.
    Id(T),
    /// The name of one.
    Name(T),
    /// The name of several.
    Names(Vec<(T, String)>),
    /// Neither; with those whose names are close to it, the closest first.
    Unknown(Vec<(T, String)>),
}

/// Returns a name in the form in which names are equal: nobody types the flowers around a name, and
/// many type an `@` before it. A name of nothing else keeps them.
pub(super) fn folded(name: &str) -> String {
    let simplified = SearchText::simplified(name);
    let whole = simplified.as_str().trim();
    let plain = whole.trim_matches(is_ornament);
    if plain.is_empty() { whole } else { plain }.to_owned()
}

/// Returns true for punctuation, symbols, emoji and blanks. Marks of scripts that write vowels and
/// tones above and below letters are none.
fn is_ornament(c: char) -> bool {
    let is_sign = c.is_ascii_punctuation()
        || c.is_whitespace()
        || matches!(c, '\u{80}'..='\u{BF}' | '\u{2000}'..='\u{2BFF}' | '\u{3000}'..='\u{303F}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{1F000}'..='\u{1FAFF}' | '\u{E0000}'..='\u{E0FFF}');
    is_sign && !c.is_alphanumeric()
}

/// Finds what a text means among these.
#[boxed]
pub async fn find<T>(given: &str, named: Named<T>) -> NameMatch<T>
where
    T: Borrow<str> + Ord + Send + 'static,
{
    let given = given.to_owned();
    // As many names as there are, are folded.
    CALLERS.run(move || matched(&given, named)).await
}

/// Returns those of these names that are no other one of them: each means one of its bearers.
#[boxed]
pub async fn unique(names: Vec<String>) -> HashSet<String> {
    CALLERS.run(move || told_apart(names)).await
}

fn told_apart(names: Vec<String>) -> HashSet<String> {
    let mut bearers: HashMap<String, usize> = HashMap::new();
    let folded: Vec<_> = names.iter().map(|name| folded(name)).collect();
    for name in &folded {
        *bearers.entry(name.clone()).or_default() += 1;
    }
    let pairs = names.into_iter().zip(folded);
    pairs.filter(|(_, folded)| bearers.get(folded) == Some(&1)).map(|(name, _)| name).collect()
}

fn matched<T: Borrow<str> + Ord>(given: &str, mut named: Named<T>) -> NameMatch<T> {
    if let Some(at) = named.iter().position(|(id, _)| id.borrow() == given) {
        return NameMatch::Id(named.swap_remove(at).0);
    }
    let wanted = folded(given);
    let (mut same, mut near) = (Vec::new(), Vec::new());
    for (id, name) in named {
        let Some(name) = name else { continue };
        let shown = folded(&name);
        if shown == wanted {
            same.push((id, name));
        } else if let Some(distance) = distance(&wanted, &shown) {
            near.push((distance, id, name));
        }
    }
    // By name, for the order of ids tells something where names are stand-ins.
    near.sort_by(|a, b| (a.0, &a.2, &a.1).cmp(&(b.0, &b.2, &b.1)));
    same.sort();
    match same.len() {
        0 => NameMatch::Unknown(near.into_iter().map(|(_, id, name)| (id, name)).collect()),
        1 => NameMatch::Name(same.swap_remove(0).0),
        _ => NameMatch::Names(same),
    }
}

/// Returns how far a name is from the wanted one; `None` if nobody would take one for the other.
pub(super) fn distance(wanted: &str, name: &str) -> Option<usize> {
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
            ("U7", named("陳怡君")),
            ("U8", named("José")),
        ]
    }

    #[test]
    fn close_names_are_in_the_order_of_names() {
        let named = |name: &str| Some(name.to_owned());
        let people = vec![("U2", named("Person A")), ("U1", named("Person B"))];
        let NameMatch::Unknown(near) = matched("person", people) else { panic!() };
        assert_eq!(near.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["U2", "U1"]);
    }

    #[test]
    fn names_of_several_are_not_unique() {
        let names = ["Family ⚽", "family", "Trip", "Bo", "Bo"].map(str::to_owned);
        assert_eq!(told_apart(names.to_vec()), HashSet::from(["Trip".to_owned()]));
    }

    #[test]
    fn symbols_around_a_name_are_no_part_of_it() {
        for (name, plain) in [
            ("Taipei Dragons FC ⚽", "taipei dragons fc"),
            ("🌸~Ann~🌸", "ann"),
            ("@Dave", "dave"),
            ("【公告】大樓", "公告】大樓"),
            ("แม่🧡", "แม่"),
            ("佐々", "佐々"),
            ("1️⃣組", "1️⃣組"),
            ("👨‍👩‍👧 Family❤️", "family"),
            ("C++", "c"),
        ] {
            assert_eq!(folded(name), folded(plain), "{name}");
        }
        assert_ne!(folded("🌸"), folded("🌻"));
    }

    #[test]
    fn a_name_means_one_several_or_close_ones() {
        assert_eq!(matched("U3", people()), NameMatch::Id("U3"));
        assert_eq!(matched(" Ann ", people()), NameMatch::Name("U1"));
        assert_eq!(matched("小美", people()), NameMatch::Name("import:aa"));
        assert_eq!(matched("陈怡君", people()), NameMatch::Name("U7"));
        assert_eq!(matched("jose", people()), NameMatch::Name("U8"));
        assert_eq!(matched("@José", people()), NameMatch::Name("U8"));
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
}
