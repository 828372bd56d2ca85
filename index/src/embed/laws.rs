//! Laws of the files of models: what is damaged is refused and never a panic, and what is whole
//! reads as it was written; and of the normalizer, whose words each begin with a mark.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::charsmap::Charsmap;
use super::*;
use crate::fold::fold;

/// Returns a compiled map of these replacements.
fn compiled(pairs: &[(&str, &str)]) -> Vec<u8> {
    let (mut keys, mut replacements) = (Vec::new(), Vec::new());
    for (from, to) in pairs {
        keys.push((*from, u32::try_from(replacements.len()).unwrap()));
        replacements.extend(to.bytes());
        replacements.push(0);
    }
    let trie = pieces::trie(keys).unwrap();
    let length = u32::try_from(trie.len()).unwrap();
    [&length.to_le_bytes()[..], &trie, &replacements].concat()
}

const MAP: &[(&str, &str)] = &[
    ("A", "a"),
    ("Ａ", "a"),
    ("\u{3000}", " "),
    ("\t", " "),
    ("\u{200b}", ""),
    ("ｶ", "カ"),
    ("ｶﾞ", "ガ"),
    ("㍿", "株式 会社"),
    ("\u{a0}", " "),
];

/// Parts of texts for [`MAP`].
const SPELLED: &[&str] =
    &["A", "Ａ", "b", " ", "\u{3000}", "\t", "\u{200b}", "ｶ", "ﾞ", "㍿", "\u{a0}", "猫", "\n"];

/// Parts of pieces of a vocabulary.
const SPACED: &[&str] = &["▁", "▁The", "Ｗ", "i", " ", "\u{200b}", "é", "猫", "É", "\u{3000}"];

fn normalizer() -> Charsmap {
    Charsmap::new(&OwnedBytes::new(compiled(MAP))).unwrap()
}

#[test]
fn characters_are_replaced_by_the_longest_rule_and_words_are_marked() {
    let map = normalizer();
    for (text, expected) in [
        ("Ａ b", "▁a▁b"),
        ("  a \t\u{3000} b\u{a0}", "▁a▁b"),
        ("ｶﾞｶﾞｶ", "▁ガガカ"),
        ("a\u{200b}A", "▁aa"),
        ("㍿A", "▁株式▁会社a"),
        ("猫 \u{200b} 犬", "▁猫▁犬"),
        (" \u{3000}\t", ""),
        ("\u{200b}", ""),
        ("", ""),
    ] {
        assert_eq!(map.normalize(text), expected, "{text:?}");
    }
}

#[test]
fn a_rule_without_a_replacement_leaves_its_text() {
    let mut bytes = compiled(&[("a", "b"), ("c", "d")]);
    // Without the last zero the second replacement has no end.
    bytes.pop();
    let map = Charsmap::new(&OwnedBytes::new(bytes)).unwrap();
    assert_eq!(map.normalize("a c"), "▁b▁c");
}

/// Returns the file of a table of three pieces.
fn table() -> Vec<u8> {
    let vocabulary = [("▁", -1.0), ("猫", -2.0), ("犬", -2.5)];
    let vocabulary = vocabulary.map(|(piece, score)| (piece.to_owned(), score));
    Table::file(&vocabulary, &[0.1, 0.2, 0.7, -0.1, 0.1, 0.7]).unwrap()
}

#[test]
fn a_file_that_ends_anywhere_is_refused() {
    let (table, map) = (table(), compiled(MAP));
    for end in 0..table.len() {
        let cut = OwnedBytes::new(table[..end].to_vec());
        assert!(Table::new("cut", cut).is_err(), "{end}");
    }
    let trie = u32::from_le_bytes(*map.first_chunk().unwrap()) as usize;
    for end in 0..trie + 4 {
        let cut = OwnedBytes::new(map[..end].to_vec());
        assert!(Charsmap::new(&cut).is_err(), "{end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_normalized_is_words_that_each_begin_with_a_mark(
        parts in vec(select(SPELLED), 0..12),
    ) {
        let text = parts.concat();
        let normal = normalizer().normalize(&text);
        prop_assert!(normal.is_empty() || normal.starts_with('▁'), "{:?}: {:?}", text, normal);
        prop_assert!(!normal.ends_with('▁') && !normal.contains("▁▁"), "{:?}: {:?}", text, normal);
        prop_assert!(!normal.contains([' ', 'A', '\u{3000}']), "{:?}: {:?}", text, normal);
        // White space around it, or more of it, changes nothing.
        let wide = format!(" {}\u{3000}", text.replace(' ', " \t "));
        prop_assert_eq!(normalizer().normalize(&wide), normal, "{:?}", text);
    }

    #[test]
    fn numbers_read_as_they_were_written(bits in vec(any::<u32>(), 0..20), cut in 0_usize..4) {
        let numbers: Vec<f32> = bits.iter().copied().map(f32::from_bits).collect();
        let mut bytes = npy::to_bytes(&numbers);
        let back: Vec<u32> = npy::from_bytes(&bytes).into_iter().map(f32::to_bits).collect();
        prop_assert_eq!(back, bits);
        bytes.truncate(bytes.len().saturating_sub(cut));
        prop_assert_eq!(npy::from_bytes(&bytes).len(), bytes.len() / 4);
    }

    #[test]
    fn no_file_is_too_strange(bytes in vec(any::<u8>(), 0..80), is_array in any::<bool>()) {
        let array = [&b"\x93NUMPY\x01\x00"[..], &bytes].concat();
        let file = if is_array { &array } else { &bytes };
        if let Some(numbers) = npy::floats(file) {
            prop_assert!(numbers.len() * 4 <= file.len());
        }
        prop_assert!(npy::bytes(file).is_none_or(|found| file.ends_with(found)));
        if let Ok(model) = sentencepiece::read(file) {
            prop_assert!(model.pieces.is_sorted_by(|a, b| a.1 < b.1), "numbers in their order");
            let is_scored = |number: u32| (number as usize) < model.scores.len();
            prop_assert!(model.pieces.iter().all(|(_, number)| is_scored(*number)));
        }
        prop_assert!(Charsmap::new(&OwnedBytes::new(file.clone())).is_err());
    }

    #[test]
    fn a_table_with_another_header_is_refused_or_embeds_something(
        at in 16_usize..32, to in any::<u8>(),
    ) {
        let mut file = table();
        file[at] = to;
        if let Ok(table) = Table::new("changed", OwnedBytes::new(file)) {
            let vectors = table.embed(&["猫犬", "", "▁"]);
            prop_assert_eq!(vectors.len(), 3 * table.dimensions());
        }
    }

    #[test]
    fn pieces_are_folded_once(parts in vec(select(SPACED), 0..6)) {
        let piece = parts.concat();
        let begins = piece.starts_with('▁');
        let folded = Tokenizer::piece(&piece);
        let is_nothing = !begins && fold(&piece.replace('▁', " ")).is_empty();
        prop_assert_eq!(folded.is_none(), is_nothing, "{:?}", piece);
        if let Some(folded) = folded {
            prop_assert_eq!(Tokenizer::piece(&folded), Some(folded.clone()), "{:?}", piece);
            prop_assert_eq!(folded.starts_with('▁'), begins, "{:?}", piece);
            prop_assert!(!folded.contains(' '), "{:?}", folded);
        }
    }
}

/// Returns whether two vectors are the same to the last bit.
fn is_same(one: &[f32], other: &[f32]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits())
}

#[test]
fn texts_are_embedded_alike_alone_and_among_others() {
    let texts = ["where is the station", "", "車站在哪裡", "ＷＨＥＲＥ　ＩＳ the station", "🎉"];
    let all = built_in().embed(&texts);
    let dimensions = built_in().dimensions();
    for (text, vector) in texts.iter().zip(all.chunks_exact(dimensions)) {
        assert!(is_same(&built_in().embed(&[*text]), vector), "{text}");
    }
    let row = |at: usize| &all[at * dimensions..(at + 1) * dimensions];
    assert!(is_same(row(0), row(3)), "width and case mean nothing");
    assert!(row(1).iter().all(|number| number.abs() < 1e-9), "nothing means nothing");
}
