//! Letters that no keyword may take apart: whatever Unicode calls one character in the scripts that
//! write vowels and tones around a consonant.

use unicode_segmentation::UnicodeSegmentation as _;

use super::*;

/// A consonant of each script, and the characters of the script.
const SCRIPTS: [(char, std::ops::RangeInclusive<char>); 4] = [
    ('ก', '\u{e01}'..='\u{e5b}'),
    ('ກ', '\u{e81}'..='\u{edf}'),
    ('က', '\u{1000}'..='\u{109f}'),
    ('ក', '\u{1780}'..='\u{17dd}'),
];

/// Returns whether a keyword is found in a message.
fn is_found(keyword: &str, message: &str) -> bool {
    let matcher = KeywordMatcher::build([(0, keyword)]).unwrap();
    matcher.contains(message).is_some()
}

#[test]
fn a_keyword_is_not_found_before_a_mark_of_its_last_letter() {
    for (consonant, marks) in SCRIPTS {
        for mark in marks {
            let letter = format!("{consonant}{mark}");
            let is_visible = !crate::is_blank(&mark.to_string());
            if is_visible && letter.graphemes(true).count() == 1 {
                let message = format!("({letter})");
                assert!(!is_found(&consonant.to_string(), &message), "{:04x}", u32::from(mark));
            }
        }
    }
}

#[test]
fn marks_of_other_scripts_without_spaces_belong_to_their_letters_as_well() {
    for (letter, mark) in [
        ("か", '\u{3099}'),
        ("ཀ", '\u{f72}'),
        ("ཀ", '\u{f90}'),
        ("က", '\u{a9e5}'),
        ("က", '\u{aa7b}'),
        ("က", '\u{aa7d}'),
        ("ᨠ", '\u{1a63}'),
        ("ᨠ", '\u{1a76}'),
        ("ꪀ", '\u{aab0}'),
        ("ꪀ", '\u{aabf}'),
    ] {
        assert!(!is_found(letter, &format!("({letter}{mark})")), "{:04x}", u32::from(mark));
        assert!(is_found(letter, &format!("({letter}{letter}{mark})")), "{:04x}", u32::from(mark));
    }
}

#[test]
fn marks_of_myanmar_that_graphemes_leave_out_are_marks_as_well() {
    // Khamti and Aiton: all four are combining marks (general categories Mc and Mn).
    for mark in ['\u{109a}', '\u{109b}', '\u{109c}', '\u{109d}'] {
        assert!(!is_found("က", &format!("က{mark}")), "{:04x}", u32::from(mark));
    }
}
