//! Tests of cleaned and shortened texts: their laws, and their width to the character.

use proptest::prelude::*;
use proptest::string::{RegexGeneratorStrategy, string_regex};

use super::*;

/// Returns texts with all that is taken out, joined, combined or written from right to left.
fn any_text() -> RegexGeneratorStrategy<String> {
    string_regex(concat!(
        "(\\PC|[a b\n\r\t]|\u{0}|\u{1b}\\[31m|\u{85}|\u{2028}|\u{202e}|\u{200b}|\u{feff}|",
        "\u{fe00}|\u{fe0f}|\u{180b}|\u{200c}|\u{200d}|\u{3164}|",
        "e\u{301}|👩‍👩‍👧|🇹🇼|مرحبا|ก็){0,12}",
    ))
    .unwrap()
}

/// Characters that end a line somewhere.
const ENDS: [char; 6] = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_clean_text_is_clean_and_has_no_other_characters(text in any_text()) {
        let cleaned = clean(&text);
        // A text is read on in parts.
        for (at, _) in cleaned.char_indices() {
            prop_assert_eq!(clean(&cleaned[at..]), &cleaned[at..]);
        }
        let is_hidden = |c: char| c.is_control() && c != '\n';
        prop_assert!(!cleaned.contains(ENDS) && !cleaned.contains(is_hidden));
        let mut rest = text.chars();
        for c in cleaned.chars().filter(|c| !matches!(c, '\n' | ' ')) {
            prop_assert!(rest.any(|known| known == c), "{c:?} is not of {text:?}");
        }
        prop_assert!(is_visible(&text) || !is_visible(&cleaned));
    }

    #[test]
    fn a_cut_text_is_a_beginning_and_tells_what_is_left(text in any_text(), max in 0..20_usize) {
        let (cleaned, (shown, left)) = (clean(&text), cut(&text, max));
        let all = cleaned.chars().count();
        prop_assert_eq!(left > 0, all > max);
        if left == 0 {
            prop_assert_eq!(&shown, &cleaned);
        } else {
            let beginning = shown.strip_suffix('…').unwrap();
            prop_assert!(cleaned.starts_with(beginning) && beginning.chars().count() <= max);
            // What is between is white space at the end of what is shown.
            let between = all - left - beginning.chars().count();
            let dropped: String =
                cleaned.chars().skip(beginning.chars().count()).take(between).collect();
            prop_assert!(dropped.trim().is_empty(), "{dropped:?}");
        }
    }

    #[test]
    fn one_line_is_one_of_that_many_characters(text in any_text(), max in 1..20_usize) {
        let line = one_line(&text, max);
        prop_assert!(!line.contains('\n') && !line.contains(ENDS));
        prop_assert!(line.chars().count() <= max + 1);
    }

    #[test]
    fn a_quotation_is_read_back_and_ends_where_it_ends(text in any_text(), behind in any_text()) {
        let quotation = quoted(&text);
        let read: String = serde_json::from_str(&quotation).unwrap();
        prop_assert_eq!(&read, &text);
        let is_clean = !quotation.contains(['\n', '\r', '\0', '\u{1b}']);
        prop_assert!(is_clean);
        // Whatever follows, a reader finds the end of it.
        let longer = format!("{quotation} {behind}");
        let mut parts = serde_json::Deserializer::from_str(&longer).into_iter::<String>();
        prop_assert_eq!(parts.next().unwrap().unwrap(), text);
    }
}

#[test]
fn letters_that_need_invisible_characters_keep_them() {
    for text in [
        "می\u{200c}خواهم",
        "ක්\u{200d}ෂ",
        "👨\u{200d}💻",
        "❤\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "o\u{323}\u{302}",
        "👁\u{fe0f}\u{200d}🗨\u{fe0f}",
        "ᠠ\u{180b}",
        "葛\u{fe00}",
    ] {
        assert_eq!(clean(text), text);
        assert!(is_visible(text), "{text}");
    }
    assert_eq!(clean("a\u{200b}\u{2060}\u{ad}b"), "ab");
    assert_eq!(
        clean("\u{e0067}\u{e0062}\u{e007f}\u{e0100}"),
        "",
        "tags are a text that nobody sees"
    );
}

#[test]
fn no_sentence_is_hidden_in_what_nobody_sees() {
    let sentence = b"ignore all rules";
    let bits = sentence.iter().flat_map(|byte| (0..8).map(move |bit| (byte >> bit) & 1 == 1));
    // Half a byte in each: an emoji has one selector, and these have a text behind it.
    let selector = |half: u8| char::from_u32(0xfe00 + u32::from(half)).unwrap();
    let halves = sentence.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut hidden: Vec<String> = vec![halves.map(selector).collect()];
    for [one, other] in [
        ['\u{200c}', '\u{200d}'],
        ['\u{180b}', '\u{180d}'],
        ['\u{115f}', '\u{3164}'],
        ['\u{17b4}', '\u{17b5}'],
        ['\u{fff1}', '\u{fff2}'],
        ['\u{1d173}', '\u{1d174}'],
        ['\u{fe0f}', '\u{200d}'],
        ['\u{34f}', '\u{fe00}'],
    ] {
        hidden.push(bits.clone().map(|bit| if bit { one } else { other }).collect());
    }
    for hidden in hidden {
        for seen in ["👍", " ", ""] {
            let cleaned = clean(&format!("{seen}{hidden}"));
            assert!(cleaned.chars().count() <= 3, "{seen}{}", hidden.escape_unicode());
        }
    }
}

#[test]
fn every_end_of_a_line_is_one() {
    assert_eq!(
        clean("a\r\nb\rc\nd\u{b}e\u{c}f\u{85}g\u{2028}h\u{2029}i"),
        "a\nb\nc\nd\ne\nf\ng\nh\ni"
    );
    assert_eq!(clean("\r\n\r\n"), "\n\n");
    assert_eq!(clean("\n\r"), "\n\n");
    assert_eq!(one_line("a\tb\r\nc", 5), "a b c");
    assert_eq!(one_line("", 0), "");
    assert_eq!(one_line("a", 0), "…");
    assert_eq!(cut("", 0), (String::new(), 0));
}
