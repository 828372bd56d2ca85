//! Tests of whole texts from computers, where nothing but spaces is between the parts of a line.

use proptest::prelude::*;

use super::ParsedLine;
use super::sample_tests::{COMPUTERS, SpokenLine, chat, read_as, spoken};
use crate::sample_tests::regex;

/// Names of members of the channel, none of them the beginning of another.
const NAMES: &[&str] =
    &["Ann", "Tony Chou", "山田 次郎", "小明", "สมชาย", "민수", "Amy 👩‍👩‍👧", "10:30"];

/// Returns texts of one line and of several, of which the others begin neither a message nor a day.
fn text() -> impl Strategy<Value = String> {
    // Nobody always begins with the same word: that would be a part of the name.
    let first = "[a-c0-9]{10}( [a-c早安 👍\"():0-9/.]{0,12})?";
    let other = "([a-c早安\"(👍][a-c早安 👍\"():0-9/.]{0,12})?";
    let last = "[a-c早安\"(👍]{1,5}";
    let more = (prop::collection::vec(regex(other), 0..3), regex(last));
    (regex(first), proptest::option::of(more)).prop_map(|(first, more)| match more {
        Some((others, last)) => format!("{first}\n{}{last}", others.join("\n") + "\n"),
        None => first,
    })
}

fn with_spaces(said: &SpokenLine) -> String {
    format!(" {} {}", said.name, said.text)
}

fn with_tabs(said: &SpokenLine) -> String {
    format!("\t{}\t{}", said.name, said.text)
}

fn shown(text: &str, names: &[&str]) -> Vec<String> {
    let shown = |found: &ParsedLine| match found {
        ParsedLine::Said(said) => {
            format!("{} {}|{}", said.at.format("%d %H:%M"), said.name, said.text)
        }
        ParsedLine::Happened => "happened".to_owned(),
        ParsedLine::Unknown { line, .. } => format!("unknown {line}"),
    };
    read_as(text, COMPUTERS[0].order, names).iter().map(shown).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_chat_of_members_is_read_as_it_was_written(chat in chat(NAMES, text())) {
        for form in &COMPUTERS {
            for message in [with_spaces as fn(&SpokenLine) -> String, with_tabs] {
                let text = form.write(&chat, message).concat();
                let read: Vec<_> =
                    read_as(&text, form.order, NAMES).iter().map(spoken).collect();
                let expected: Vec<_> = chat.iter().cloned().map(Some).collect();
                prop_assert!(read == expected, "{}: {read:#?} of {text}", form.name);
            }
        }
    }

    #[test]
    fn nothing_that_is_read_ends_the_program(
        lines in prop::collection::vec(
            prop_oneof![
                regex("[0-9]{1,2}:[0-9]{2} (Ann|Bob|\\PC{0,3}) \\PC{0,9}"),
                regex("[0-9]{1,2}:[0-9]{2} \\PC{0,9}"),
                regex("2024\\.01\\.0[0-9]( (Fri|Satur|Mon)day)?"),
                regex("\\PC{0,9}"),
            ],
            0..40,
        ),
    ) {
        let text = format!("2024.01.01 Monday\n00:00 Ann hi\n{}", lines.join("\n"));
        let found = read_as(&text, COMPUTERS[0].order, &["Ann"]);
        prop_assert!(found.len() <= lines.len() + 1);
        prop_assert!(spoken(&found[0]).is_some_and(|said| said.name == "Ann"));
    }
}

#[test]
fn a_person_nobody_knows_is_found_by_the_beginnings_of_lines() {
    let text = "2024.01.05 Friday\n09:30 Bob Lee hi\n09:31 Carol hello\n09:32 Bob Lee how are you\n\
        09:33 Bob Lee ok\n09:34 Carol fine\n09:35 Carol bye\n";
    let expected = [
        "05 09:30 Bob Lee|hi",
        "05 09:31 Carol|hello",
        "05 09:32 Bob Lee|how are you",
        "05 09:33 Bob Lee|ok",
        "05 09:34 Carol|fine",
        "05 09:35 Carol|bye",
    ];
    let read = shown(text, &[]);
    assert_eq!(read, expected);
    // Who is given by name needs no other evidence.
    let once = "2024.01.05 Friday\n09:30 Mary Ann Smith hi\n09:31 Mary Ann yes\n";
    let read = shown(once, &["Mary Ann Smith", "Mary Ann"]);
    assert_eq!(read, ["05 09:30 Mary Ann Smith|hi", "05 09:31 Mary Ann|yes"]);
}

#[test]
fn a_name_that_looks_like_a_half_of_the_day_is_a_name_where_times_have_none() {
    for name in ["PM", "am", "p.m."] {
        let text = format!(
            "2024.01.05 Friday\n09:04 Ann hi\n09:05 {name} hello\n14:05 {name} please send it\n\
             14:06 Ann ok\n14:07 {name} thanks\n"
        );
        let mut expected = [
            "05 09:04 Ann|hi".to_owned(),
            format!("05 09:05 {name}|hello"),
            format!("05 14:05 {name}|please send it"),
            "05 14:06 Ann|ok".to_owned(),
            format!("05 14:07 {name}|thanks"),
        ];
        assert_eq!(shown(&text, &[name, "Ann"]), expected);
        // Also where that is the first line.
        let after_noon = text.replace("09:04 Ann hi\n09:05", "13:05");
        expected[1] = format!("05 13:05 {name}|hello");
        assert_eq!(shown(&after_noon, &[name, "Ann"]), expected[1..]);
    }
    let halves = "2024.01.05 Friday\n9:04 AM Ann hi\n9:05 AM PM hello\n2:05 PM PM bye\n";
    let expected = ["05 09:04 Ann|hi", "05 09:05 PM|hello", "05 14:05 PM|bye"];
    assert_eq!(shown(halves, &["PM", "Ann"]), expected);
}

#[test]
fn what_somebody_did_is_no_message_and_what_they_say_of_it_is_one() {
    for (line, is_message) in [
        ("Ann joined the group.", false),
        ("Tony Chou left the group.", false),
        ("Tony Chou changed the group name to \"Lunch\".", false),
        ("Ann invited Bob Lee to the group.", false),
        ("小明已退出群組", false),
        ("山田 次郎が退会しました。", false),
        ("สมชายออกจากกลุ่ม", false),
        ("민수님이 나갔습니다.", false),
        ("Auto-reply Welcome!", false),
        ("Ann I think that Bob left the group.", true),
        ("Ann Bob left the group.", true),
        ("小明 我已退出群組", true),
        ("小明 他們剛剛都退出群組", true),
        ("山田 次郎 彼が退会しました。", true),
        ("สมชาย เขาเพิ่งออกจากกลุ่ม", true),
    ] {
        let text = format!("2024.01.05 Friday\n09:30 Ann hi\n09:31 {line}\n09:32 Ann ok\n");
        let found = read_as(&text, COMPUTERS[0].order, NAMES);
        assert_eq!(found.len(), 3, "{line}: {found:?}");
        let said = spoken(&found[1]);
        assert_eq!(said.is_some(), is_message, "{line}: {found:?}");
        assert!(is_message || matches!(found[1], ParsedLine::Happened), "{line}");
    }
}

#[test]
fn a_schedule_that_goes_back_in_time_stays_in_its_message() {
    let text = "2024.01.05 Friday\n21:00 Ann plan for tomorrow:\n08:00 breakfast with Bob\n\n\
        09:00 walk\nbring:\n- water\n2024.01.12\n21:05 Tony Chou ok\n\n2024.01.06 Saturday\n\
        08:00 Ann hi\n";
    let plan =
        "plan for tomorrow:\n08:00 breakfast with Bob\n\n09:00 walk\nbring:\n- water\n2024.01.12";
    let expected =
        [format!("05 21:00 Ann|{plan}"), "05 21:05 Tony Chou|ok".into(), "06 08:00 Ann|hi".into()];
    assert_eq!(shown(text, NAMES), expected);
}

#[test]
fn a_day_that_cannot_be_read_hides_its_messages_and_no_others() {
    for wrong in
        ["2024.01.06 Friday", "2024.13.06 Saturday", "2024.02.30 Friday", "2024.01.06 samedi"]
    {
        let text = format!(
            "2024.01.05 Friday\n09:00 Ann one\n{wrong}\n09:00 Ann lost\nand more\n09:01 小明 lost\n\
             2024.01.07 Sunday\n09:00 Ann two\n"
        );
        let expected = [
            "05 09:00 Ann|one",
            "unknown 3",
            "unknown 4",
            "unknown 5",
            "unknown 6",
            "07 09:00 Ann|two",
        ];
        assert_eq!(shown(&text, NAMES), expected, "{wrong}");
    }
}
