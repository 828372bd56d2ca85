//! Tests of lines with any ends, and of the longest one.

use std::io::BufReader;

use proptest::prelude::*;

use super::*;
use crate::sample_tests::regex;

fn all(input: impl BufRead) -> Vec<TextLine> {
    let mut lines = Lines::new(input, false);
    std::iter::from_fn(|| lines.next().unwrap()).collect()
}

fn text(line: &str) -> TextLine {
    TextLine::Text(line.to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_are_what_is_between_their_ends(
        lines in prop::collection::vec(
            (regex("((\\PC|[\r\t]|早安){0,9}\\PC)?"), any::<bool>()),
            0..8,
        ),
        last in regex("(\\PC{1,9})?"),
        buffer in 1..9_usize,
    ) {
        let ended = |(line, is_windows): &(String, bool)| {
            line.clone() + if *is_windows { "\r\n" } else { "\n" }
        };
        let whole = lines.iter().map(ended).collect::<Vec<_>>().concat() + &last;
        let expected: Vec<_> = lines
            .iter()
            .map(|(line, _)| line.as_str())
            .chain((!last.is_empty()).then_some(last.as_str()))
            .map(text)
            .collect();
        prop_assert_eq!(&all(whole.as_bytes()), &expected);
        // Whatever part of it is there at a time.
        prop_assert_eq!(&all(BufReader::with_capacity(buffer, whole.as_bytes())), &expected);
    }
}

#[test]
fn the_longest_line_is_read_and_a_longer_one_hides_no_other() {
    let longest = "x".repeat(LINE);
    let is_too_long = |line: &TextLine| *line == TextLine::Broken("the line is too long");
    for (end, more) in [("\n", "y"), ("\r\n", "y"), ("\n", "yyy"), ("\r\n", "yyy")] {
        let longer = format!("{longest}{more}");
        let whole = format!("a{end}{longest}{end}{longer}{end}b{end}{longer}");
        let found = all(whole.as_bytes());
        assert_eq!(found.len(), 5);
        assert!(found[0] == text("a") && found[3] == text("b"));
        assert!(found[1] == text(&longest), "it is as long as a line may be");
        assert!(is_too_long(&found[2]) && is_too_long(&found[4]));
    }
    assert!(all(longest.as_bytes()) == [text(&longest)], "also without an end");
}

#[test]
fn a_line_of_bytes_that_are_no_text_is_told_alone() {
    let whole = [&b"ok\n"[..], b"\xed\xa0\xbd\n", b"\xc0\x80\n", b"\xf8\n", b"ok\n", b"\xe6\x97"];
    let whole = whole.concat();
    let broken = || TextLine::Broken("the line is not UTF-8");
    let expected = [text("ok"), broken(), broken(), broken(), text("ok"), broken()];
    assert_eq!(all(&*whole), expected);
}

#[test]
fn a_character_for_broken_ones_is_a_text_and_what_was_not_decoded_is_none() {
    let bytes = &b"a\xef\xbf\xbdb\n\xff\nc\n"[..];
    for (is_decoded, why) in
        [(false, "the line is not UTF-8"), (true, "the line is not in the encoding of the file")]
    {
        let mut lines = Lines::new(bytes, is_decoded);
        let found: Vec<_> = std::iter::from_fn(|| lines.next().unwrap()).collect();
        assert_eq!(found, [text("a\u{fffd}b"), TextLine::Broken(why), text("c")]);
    }
}
