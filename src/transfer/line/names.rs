//! Detection of the end of a name in exports from computers, which write `HH:MM Name Text` with
//! nothing but spaces between: known names first, else evidence in the file itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Maximum number of words in a candidate for a name.
const WORDS: usize = 5;
/// Maximum number of counted beginnings; a longer file adds no new ones.
const COUNTED: usize = 200_000;
/// Minimum occurrences of a longer beginning to be a name.
const OFTEN: u32 = 3;

/// Counts of the first pass over the file.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// Occurrences of lines that begin with these words.
    beginnings: BTreeMap<String, u32>,
    /// Words before "joined the group" and the like.
    announced: BTreeSet<String>,
    /// Numbers of messages by sender, where tabs tell where a name ends.
    senders: HashMap<String, u32>,
}

/// Set of names.
#[derive(Debug, Default)]
pub(super) struct Names {
    all: HashSet<String>,
    /// Names of known people, or frequent enough to be no coincidence.
    sure: HashSet<String>,
    /// Numbers of lines that begin with a name.
    counts: HashMap<String, u32>,
}

impl Counted {
    /// Counts a line's first words.
    pub(super) fn add(&mut self, said: &str) {
        // The last word is not part of the name: a message has some text.
        let ends: Vec<_> = said.match_indices(' ').map(|(at, _)| at).take(WORDS).collect();
        for end in ends {
            let beginning = &said[..end];
            if let Some(count) = self.beginnings.get_mut(beginning) {
                *count += 1;
            } else if self.beginnings.len() < COUNTED {
                self.beginnings.insert(beginning.to_owned(), 1);
            }
        }
    }

    /// Records the name of a person whose action a line describes.
    pub(super) fn announce(&mut self, name: &str) {
        let name = name.trim();
        let words = name.split(' ').count();
        if !name.is_empty() && words <= WORDS && self.announced.len() < COUNTED {
            self.announced.insert(name.to_owned());
        }
    }

    /// Counts a message of somebody whose name ends with a tab.
    pub(super) fn sender(&mut self, name: &str) {
        if let Some(count) = self.senders.get_mut(name) {
            *count += 1;
        } else if self.senders.len() < COUNTED {
            self.senders.insert(name.to_owned(), 1);
        }
    }

    /// Returns the names, with those known anyway. A first word that is always followed by the same
    /// second word is a name of two words, and so on.
    pub(super) fn names<'a>(&self, known: impl Iterator<Item = &'a str>) -> Names {
        let mut names = Names::default();
        for name in known.map(str::trim).filter(|name| !name.is_empty()) {
            names.all.insert(name.to_owned());
            names.sure.insert(name.to_owned());
        }
        for (first, count) in self.beginnings.iter().filter(|(words, _)| !words.contains(' ')) {
            let name = self.extended(first, *count);
            names.all.insert(name.to_owned());
            names.counts.insert(name.to_owned(), *count);
            if *count >= OFTEN {
                names.sure.insert(name.to_owned());
            }
        }
        let often = self.senders.iter().filter(|(_, count)| **count >= OFTEN);
        names.sure.extend(often.map(|(name, _)| name.clone()));
        // "Ann I think Bob" is not a name where Ann is one.
        let said = |name: &&String| names.known(name).is_some();
        let announced: Vec<_> = self.announced.iter().filter(|name| !said(name)).cloned().collect();
        names.all.extend(announced.iter().cloned());
        names.sure.extend(announced);
        names
    }

    fn extended<'a>(&'a self, first: &'a str, count: u32) -> &'a str {
        if count < OFTEN {
            return first;
        }
        let start = format!("{first} ");
        let longer = self.beginnings.range(start.clone()..);
        let longer = longer.take_while(|(words, _)| words.starts_with(&start));
        let always = longer.filter(|(_, n)| **n == count).map(|(words, _)| words.as_str());
        always.max_by_key(|words| words.len()).unwrap_or(first)
    }
}

impl Names {
    /// Splits a line into the name at its beginning and the rest.
    pub(super) fn split<'a>(&self, said: &'a str) -> Option<(&'a str, &'a str)> {
        longest(said, &self.all).or_else(|| said.split_once(' '))
    }

    /// Returns true if somebody is known by that name, or writes often.
    pub(super) fn is_sure(&self, name: &str) -> bool {
        self.sure.contains(name)
    }

    /// Returns how much says that a name is one: the number of lines that begin with it, or the most
    /// there is.
    pub(super) fn evidence(&self, name: &str) -> u32 {
        if self.is_sure(name) { u32::MAX } else { self.counts.get(name).copied().unwrap_or(0) }
    }

    /// Splits a line into the certain name at its beginning and the rest.
    pub(super) fn known<'a>(&self, said: &'a str) -> Option<(&'a str, &'a str)> {
        longest(said, &self.sure)
    }
}

fn longest<'a>(said: &'a str, names: &HashSet<String>) -> Option<(&'a str, &'a str)> {
    let ends: Vec<_> = said.match_indices(' ').map(|(at, _)| at).take(2 * WORDS).collect();
    let end = ends.into_iter().rev().find(|end| names.contains(&said[..*end]))?;
    Some((&said[..end], &said[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_words_are_found() {
        let mut counted = Counted::default();
        for said in [
            "Tony Chou hello",
            "Tony Chou how are you",
            "Tony Chou Photos",
            "王小明 早安",
            "王小明 午安 大家",
            "Ann hi there",
            "Ann Lee is here",
            "Ann ok",
        ] {
            counted.add(said);
        }
        counted.announce("Mary Ann Smith");
        counted.announce("Ann I think Bob");
        let names = counted.names(["山田 太郎", "Tony"].into_iter());
        assert_eq!(names.split("Tony Chou see you"), Some(("Tony Chou", "see you")));
        assert_eq!(names.split("王小明 晚安"), Some(("王小明", "晚安")));
        assert_eq!(names.split("山田 太郎 こんにちは"), Some(("山田 太郎", "こんにちは")));
        assert_eq!(names.split("Ann Lee is here"), Some(("Ann", "Lee is here")));
        assert_eq!(names.split("Ann I think Bob is"), Some(("Ann", "I think Bob is")));
        assert_eq!(names.split("Mary Ann Smith hi"), Some(("Mary Ann Smith", "hi")));
        assert_eq!(names.split("Bob yes"), Some(("Bob", "yes")));
        assert_eq!(names.split("nothing"), None);
    }
}
