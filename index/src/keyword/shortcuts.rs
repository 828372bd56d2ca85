//! Shortcuts into the map of keywords: the state after two characters that many keywords begin
//! with, so that a walk need not begin at the root.

use std::collections::HashMap;

use fst::raw::{Fst, Node, Output};

use crate::fuzzy::hash::Hashed;

/// Number of keywords with the same first two characters from which a shortcut pays for its memory.
const MANY: usize = 4;

/// A state of the map, and the data collected on the way there.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapPosition {
    address: u32,
    output: u32,
}

impl MapPosition {
    pub(super) fn node(self, map: &Fst<Vec<u8>>) -> Node<'_> {
        map.node(self.address as usize)
    }

    pub(super) fn output(self) -> Output {
        Output::new(self.output.into())
    }
}

/// States after two characters.
#[derive(Clone, Debug)]
pub(super) struct Shortcuts(HashMap<u64, MapPosition, Hashed>);

impl Shortcuts {
    /// Builds the shortcuts into the map of `keywords`, which are sorted. There is none past a
    /// keyword of one character, which a walk has to visit.
    pub(super) fn new(map: &Fst<Vec<u8>>, keywords: &[(String, u32)]) -> Self {
        let mut places = HashMap::default();
        for group in keywords.chunk_by(|left, right| beginning(&left.0) == beginning(&right.0)) {
            let beginning = group.first().and_then(|(keyword, _)| beginning(keyword));
            let Some((first, second)) = beginning.filter(|_| group.len() >= MANY) else {
                continue;
            };
            if !map.contains_key(first.encode_utf8(&mut [0; 4])) {
                let place = walk(map, &String::from_iter([first, second]));
                places.extend(place.map(|place| (key(first, second), place)));
            }
        }
        places.shrink_to_fit();
        Self(places)
    }

    /// Returns the state after these two characters, if there is a shortcut.
    #[inline]
    pub(super) fn place(&self, first: char, second: char) -> Option<MapPosition> {
        self.0.get(&key(first, second)).copied()
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        // A byte of the hash besides each state.
        self.0.capacity() * (size_of::<(u64, MapPosition)>() + 1)
    }
}

/// Returns the first two characters.
fn beginning(keyword: &str) -> Option<(char, char)> {
    let mut chars = keyword.chars();
    Some((chars.next()?, chars.next()?))
}

/// Returns the state after `text`.
fn walk(map: &Fst<Vec<u8>>, text: &str) -> Option<MapPosition> {
    let mut node = map.root();
    let mut output = Output::zero();
    for byte in text.bytes() {
        let transition = node.transition(node.find_input(byte)?);
        output = output.cat(transition.out);
        node = map.node(transition.addr);
    }
    let address = u32::try_from(node.addr()).ok()?;
    Some(MapPosition { address, output: u32::try_from(output.value()).ok()? })
}

/// Returns two characters as a key whose high and low bits are well mixed. The factor is odd, so
/// that different pairs stay different.
#[inline]
fn key(first: char, second: char) -> u64 {
    let pair = u64::from(first) << 32 | u64::from(second);
    pair.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortcuts(keywords: &[&str]) -> (Fst<Vec<u8>>, Shortcuts) {
        let mut keywords: Vec<(String, u32)> =
            keywords.iter().map(|&keyword| keyword.to_owned()).zip(0..).collect();
        keywords.sort_unstable();
        let pairs = keywords.iter().map(|(keyword, rule)| (keyword, u64::from(*rule)));
        let map = Fst::from_iter_map(pairs).unwrap();
        let shortcuts = Shortcuts::new(&map, &keywords);
        (map, shortcuts)
    }

    #[test]
    fn many_keywords_of_one_beginning_have_a_shortcut() {
        let (map, shortcuts) = shortcuts(&["停車位", "停車場", "停車費", "停車", "地址"]);
        let place = shortcuts.place('停', '車').unwrap();
        let node = place.node(&map);
        assert!(node.is_final());
        assert_eq!(place.output().cat(node.final_output()), Output::new(3));
        assert!(shortcuts.place('地', '址').is_none(), "too few for one");
        assert!(shortcuts.size() > 0);
    }

    #[test]
    fn no_shortcut_leads_past_a_keyword() {
        let (_, shortcuts) = shortcuts(&["停", "停車", "停車位", "停車場", "停車費"]);
        assert!(shortcuts.place('停', '車').is_none());
    }
}
