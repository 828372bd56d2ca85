//! Character n-grams of folded text, for the lexical score.
//!
//! Words of scripts with spaces give 3- and 4-grams with a space at either end, so that beginnings
//! and ends of words count as such. Scripts without spaces, and Korean, give single characters and
//! pairs. Symbols and emoji give nothing.

use crate::fold::alike::alike;
use crate::script::Class;

/// Lengths of the n-grams of words.
const WORD_GRAMS: [usize; 2] = [3, 4];
/// Lengths of the n-grams of scripts that are searched by substring.
const SUBSTRING_GRAMS: [usize; 2] = [1, 2];

/// Returns the hashes of the different n-grams of `folded`, in ascending order.
pub(super) fn ngrams(folded: &str) -> Vec<u32> {
    let mut grams = Vec::with_capacity(folded.len() * 2);
    let mut run: Vec<char> = Vec::new();
    let mut run_class = Class::Space;
    for c in folded.chars() {
        let class = Class::of(c);
        if class != run_class {
            push_run(&run, run_class, &mut grams);
            run.clear();
            run_class = class;
        }
        run.push(alike(c));
    }
    push_run(&run, run_class, &mut grams);
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// Returns whether `folded` has enough meaning to be compared: two different letters at least,
/// three in scripts of short letters. Digits and laughter (`555`, `哈哈`, `ㅋㅋ`) have none.
pub(super) fn has_content(folded: &str) -> bool {
    let mut seen: Vec<char> = Vec::with_capacity(3);
    let mut least = 3;
    for c in folded.chars().filter(|c| c.is_alphabetic()) {
        if !seen.contains(&c) {
            seen.push(c);
        }
        if Class::of(c).is_substring_script() {
            least = 2;
        }
        if seen.len() >= least {
            return true;
        }
    }
    false
}

fn push_run(run: &[char], class: Class, grams: &mut Vec<u32>) {
    match class {
        Class::Word => {
            let padded: Vec<char> =
                std::iter::once(' ').chain(run.iter().copied()).chain([' ']).collect();
            push_grams(&padded, WORD_GRAMS, grams);
        }
        Class::Hangul | Class::Unspaced => push_grams(run, SUBSTRING_GRAMS, grams),
        Class::Space | Class::Symbol => {}
    }
}

fn push_grams(run: &[char], lengths: [usize; 2], grams: &mut Vec<u32>) {
    for length in lengths {
        grams.extend(run.windows(length).map(hash));
    }
}

/// Returns FNV-1a over whole characters, its halves folded together. N-grams of one hash count as
/// one.
fn hash(gram: &[char]) -> u32 {
    let hash = gram.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &c| {
        (hash ^ u64::from(c)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ hash >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_bounded_grams_and_other_scripts_give_pairs() {
        assert_eq!(ngrams("wifi").len(), 4 + 3);
        assert_eq!(ngrams("a").len(), 1);
        assert_eq!(ngrams("營業時間").len(), 4 + 3);
        assert_eq!(ngrams("안녕 하세요").len(), 5 + 3, "no pair across the space");
        assert_eq!(ngrams("wifi密碼").len(), 7 + 3);
        assert_eq!(ngrams("wifi wifi"), ngrams("wifi"));
        assert!(ngrams("👍 ?!").is_empty());
        assert_ne!(ngrams("時間"), ngrams("間時"));
    }

    #[test]
    fn contentless_messages_are_known() {
        for text in ["", "👍", "是", "ok", "555", "2024", "哈哈哈", "ㅋㅋㅋㅋ", "www", "?!"]
        {
            assert!(!has_content(text), "{text}");
        }
        for text in ["wifi", "地址", "주차", "เวลา", "pay", "ねこ"] {
            assert!(has_content(text), "{text}");
        }
    }
}
