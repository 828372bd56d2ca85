//! Tests of whole texts from phones: whatever people write, in every language of the app.

use chrono::Datelike as _;
use proptest::prelude::*;

use super::sample_tests::{AppForm, PHONES, SpokenLine, chat, read_as, spoken};
use super::{Fit, ParsedLine, Survey, TEXT};
use crate::sample_tests::regex;

/// Names in a column of their own may be anything.
const NAMES: &[&str] = &[
    "Ann",
    "小明",
    "Amy Chen",
    "10:30 Club",
    "PM",
    "a: \"b\", c",
    "2024/01/12(金)",
    "👨‍👩‍👧 Fam",
    "[Photo]",
    "สมชาย <b>",
    "Ann:",
];

/// Returns a line of a text, which may look like something else.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => regex("[a-c早安ก 👍\"\\\\:/.,0-9?!（）-]{0,12}"),
        1 => Just("10:00 lunch".to_owned()),
        1 => Just("2024/01/12(金)".to_owned()),
        1 => Just("Fri, 1/12/2024".to_owned()),
        1 => Just("[LINE] Chat history with Lunch".to_owned()),
        1 => Just(String::new()),
    ]
}

/// Returns texts of one line and of several. A single one that begins with a quotation mark may be
/// the beginning of several.
fn text() -> impl Strategy<Value = String> {
    let several = prop::collection::vec(line(), 2..6).prop_map(|lines| lines.join("\n"));
    let single = (line(), proptest::option::of(regex("\t[a-c]{0,3}"))).prop_map(|(line, cell)| {
        let line = line.trim_start_matches('"').to_owned();
        line + &cell.unwrap_or_default()
    });
    prop_oneof![single, several]
}

/// Returns a message as a phone writes it behind its time.
fn with_tabs(said: &SpokenLine) -> String {
    let text = if said.text.contains('\n') {
        format!("\"{}\"", said.text.replace('"', "\"\""))
    } else {
        said.text.clone()
    };
    format!("\t{}\t{text}", said.name)
}

fn read(text: &str, form: &AppForm) -> Vec<ParsedLine> {
    read_as(text, form.order, &[])
}

fn survey(text: &str) -> Survey {
    let mut survey = Survey::default();
    text.lines().for_each(|line| survey.line(line));
    survey
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_chat_is_read_as_it_was_written_in_every_language(chat in chat(NAMES, text())) {
        for form in &PHONES {
            for end in ["\n", "\r\n"] {
                let text = form.write(&chat, with_tabs).concat().replace('\n', end);
                let read: Vec<_> = read(&text, form).iter().map(spoken).collect();
                let expected: Vec<_> = chat.iter().cloned().map(Some).collect();
                prop_assert!(read == expected, "{}: {read:#?} of {text}", form.name);
            }
        }
    }

    #[test]
    fn a_survey_knows_the_file_and_never_the_wrong_order(
        chat in chat(NAMES, regex("[a-c早安]{0,9}")),
    ) {
        let names = ["Lunch", "午餐", "週末の会", "花子", "กลุ่ม", "점심"];
        for form in &PHONES {
            let survey = survey(&form.write(&chat, with_tabs).concat());
            prop_assert_eq!(survey.fit(), Fit::Line);
            // Of a day such as 11 November both orders are right.
            let is_either = chat.iter().all(|said| said.at.day() == said.at.month());
            let is_right = survey.order().is_none_or(|order| is_either || order == form.order);
            prop_assert!(is_right, "{}", form.name);
            let name = survey.chat_name();
            let is_named = name.is_some_and(|name| names.contains(&name));
            prop_assert!(is_named != form.title.is_empty(), "{name:?} of {}", form.title);
        }
    }

    #[test]
    fn what_is_cut_off_changes_nothing_that_came_before(
        chat in chat(NAMES, text()),
        at in any::<prop::sample::Index>(),
        form in 0..PHONES.len(),
    ) {
        let form = &PHONES[form];
        let parts = form.write(&chat, with_tabs);
        let whole = parts.concat();
        // A character that is cut is reported by whoever reads the file.
        let ends: Vec<_> = whole.char_indices().map(|(end, _)| end).collect();
        let end = *at.get(&ends);
        // Messages that are there with the end of their line. The last of them may go on.
        let lengths = parts.iter().scan(0, |sum, part| {
            *sum += part.len();
            Some(*sum)
        });
        let complete = lengths.skip(1).filter(|length| *length <= end).count();
        let (cut, all) = (read(&whole[..end], form), read(&whole, form));
        for (cut, whole) in cut.iter().zip(&all).take(complete.saturating_sub(1)) {
            prop_assert_eq!(spoken(cut), spoken(whole));
        }
        prop_assert!(cut.len() + 1 >= complete);
    }

    #[test]
    fn nothing_that_is_read_ends_the_program(
        lines in prop::collection::vec(
            prop_oneof![
                line(),
                regex("\\PC{0,20}"),
                regex("[0-9]{1,2}:[0-9]{2}[\t ]\\PC{0,3}[\t ]\\PC{0,9}"),
                regex("(午後|AM|오전|下午)?[0-9:]{0,6}[\t ]\"?a?"),
                regex("20[0-9]{2}/[0-9]{1,2}/[0-9]{1,2}[(（]?[金土Fri]{0,3}"),
            ],
            0..30,
        ),
    ) {
        let text = lines.join("\n");
        let found = read(&text, &PHONES[0]);
        prop_assert!(found.len() <= lines.len(), "no line is two items");
        let mut last = 0;
        for item in &found {
            if let ParsedLine::Unknown { line, .. } = item {
                prop_assert!(*line > last && *line <= lines.len() as u64, "each line is told once");
                last = *line;
            }
        }
    }
}

#[test]
fn a_text_of_more_lines_than_may_wait_is_one_text_all_the_same() {
    let text = (0..1_500).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let file = format!("2024/01/05(金)\n09:30\t佐藤\t\"{text}\"\n09:31\t田中\t了解\n");
    let found: Vec<_> = read(&file, &PHONES[0]).iter().map(spoken).collect();
    let texts: Vec<_> = found.into_iter().map(|said| said.unwrap().text).collect();
    assert_eq!(texts, [text, "了解".to_owned()]);
}

#[test]
fn lines_beyond_the_longest_text_are_told_and_not_lost() {
    let line = "x".repeat(1_000);
    let more = format!("{line}\n").repeat(300);
    let file = format!("2024/01/05(金)\n09:30\t佐藤\tlog:\n{more}09:31\t田中\t了解\n");
    let found = read(&file, &PHONES[0]);
    let kept = found.last().and_then(spoken).unwrap();
    assert_eq!((kept.name.as_str(), kept.text.as_str()), ("田中", "了解"));
    let told = found.iter().filter(|found| matches!(found, ParsedLine::Unknown { .. })).count();
    let said = found.iter().find_map(spoken).unwrap();
    assert!(said.text.len() <= TEXT && said.text.starts_with("log:\nxxx"));
    assert_eq!(said.text.matches('\n').count() + told, 300);
}

#[test]
fn a_system_line_is_nobodys_message_and_a_message_about_it_is_one() {
    let file = "2024/01/05(金)\n09:30\t\tAnn joined the group.\n09:31\tAnn left the group.\n\
        09:32\tAnn\tBob left the group.\n09:33\tBob\tBob left the group.\n\
        09:35\tAuto-reply\tAnn joined the group.\n09:36\tAnn\t\n\
        09:37\t \t早安\n09:38\t\t\n";
    let found = read(file, &PHONES[0]);
    let shown: Vec<_> = found
        .iter()
        .map(|found| match found {
            ParsedLine::Happened => "happened".to_owned(),
            found => {
                spoken(found).map_or("?".to_owned(), |said| format!("{}: {}", said.name, said.text))
            }
        })
        .collect();
    let expected = [
        "happened",
        "happened",
        "Ann: Bob left the group.",
        "happened",
        "happened",
        "Ann: ",
        "happened",
        "happened",
    ];
    assert_eq!(shown, expected);
}
