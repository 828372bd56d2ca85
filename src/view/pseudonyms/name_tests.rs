//! Tests of names in texts of more scripts, beside each other and beside all else.

use super::*;

/// People with names of many scripts.
const NAMES: [(&str, &str); 10] = [
    ("U1", "Иван Петров"),
    ("U2", "Γιώργος"),
    ("U3", "Nguyễn Văn An"),
    ("U4", "محمد علي"),
    ("U5", "अमित कुमार"),
    ("U6", "Weiß"),
    ("U7", "J. R. Smith-Jones"),
    ("U8", "安娜·李"),
    ("U9", "ミッキー"),
    ("U10", "김철수 대리"),
];

fn key() -> PseudonymKey {
    PseudonymKey::new([7; 32])
}

fn mask() -> Mask {
    let people = NAMES.map(|(id, name)| (UserId::from(id), Some(name.to_owned())));
    Mask::of(&key(), &people).unwrap()
}

/// Returns a text with `<1>` in place of what stands for the name of U1, and so on.
fn shown(text: &str) -> String {
    let masked = mask().text(text.to_owned());
    NAMES.iter().fold(masked, |text, (id, _)| {
        text.replace(&key().person(&UserId::from(*id)).name, &format!("<{}>", &id[1..]))
    })
}

#[test]
fn names_of_every_script_are_replaced_in_any_spelling() {
    for (text, expected) in [
        ("Иван Петров, ИВАН и петров", "<1>, <1> и <1>"),
        ("Иванов придёт", "Иванов придёт"),
        ("ΓΙΏΡΓΟΣ! γιώργοσ", "<2>! <2>"),
        ("Nguyen va Văn", "<3> va <3>"),
        ("قال محمد: علي", "قال <4>: <4>"),
        ("अमित आया, कुमार नहीं", "<5> आया, <5> नहीं"),
        ("WEISS, weiß, Weißbier", "<6>, <6>, Weißbier"),
        ("smith-jones, SMITH or Jones's", "<7>-<7>, <7> or <7>'s"),
        ("J. R. Smith-Jones", "<7>"),
        ("安娜在，李 也在，安娜·李", "<8>在，李 也在，<8>"),
        ("ﾐｯｷｰとミッキー", "<9>と<9>"),
        ("철수씨와 김철수, 대리님, 대리", "<10>씨와 <10>, 대리님, 대리"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_is_beside_a_name_does_not_hide_it() {
    for beside in ["@", "#", "\"", "(", "\n", "👨‍👩‍👧", "、", "…", "/", "_", "=", "~"]
    {
        let text = format!("{beside}Иван{beside}");
        assert_eq!(shown(&text), format!("{beside}<1>{beside}"), "{text:?}");
    }
}

#[test]
fn a_name_that_two_have_is_nobodys_and_their_parts_neither() {
    let people = [("U1", "Ann Lee"), ("U2", "Ann Wu"), ("U3", "Ann Wu"), ("U4", "Wu")];
    let people = people.map(|(id, name)| (UserId::from(id), Some(name.to_owned())));
    let mask = Mask::of(&key(), &people).unwrap();
    let [one, .., four] = ["U1", "U2", "U4"].map(|id| key().person(&UserId::from(id)).name);
    // The whole name of somebody is stronger than a part of another one.
    for (text, expected) in [
        ("Ann Lee", one.clone()),
        ("Lee", one),
        ("Ann", "[name]".to_owned()),
        ("Ann Wu", "[name]".to_owned()),
        ("Wu", four),
    ] {
        assert_eq!(mask.text(text.to_owned()), expected, "{text}");
    }
}

/// Returns a text as it is shown where somebody has that name, who is `<1>` there.
fn shown_with(name: &str, text: &str) -> String {
    let mask = Mask::of(&key(), &[("U1".into(), Some(name.to_owned()))]).unwrap();
    mask.text(text.to_owned()).replace(&key().person(&"U1".into()).name, "<1>")
}

#[test]
fn a_word_of_two_letters_without_case_is_a_name_by_itself() {
    // Taha Hussein, Gal Gadot, Om Puri and Nino Beridze.
    for (name, word) in [
        ("\u{637}\u{647} \u{62d}\u{633}\u{64a}\u{646}", "\u{637}\u{647}"),
        ("\u{5d2}\u{5dc} \u{5d2}\u{5d3}\u{5d5}\u{5ea}", "\u{5d2}\u{5dc}"),
        ("\u{913}\u{92e} \u{92a}\u{941}\u{930}\u{940}", "\u{913}\u{92e}"),
        ("\u{10dc}\u{10d8}\u{10dc}\u{10dd} \u{10d1}\u{10d4}", "\u{10dc}\u{10d8}\u{10dc}\u{10dd}"),
    ] {
        assert_eq!(shown_with(name, &format!("{word}: ok")), "<1>: ok", "{name}");
        let longer = format!("{word}{word}");
        assert_eq!(shown_with(name, &longer), longer, "a part of a word is none");
    }
    // With case, two letters are too few, and "bin" is a word of many names.
    assert_eq!(shown_with("Bo Lee", "Bo and Lee"), "Bo and <1>");
    let salman = "\u{645}\u{62d}\u{645}\u{62f} \u{628}\u{646} \u{633}\u{644}\u{645}\u{627}\u{646}";
    assert_eq!(shown_with(salman, "\u{628}\u{646}"), "\u{628}\u{646}");
    assert_eq!(shown_with(salman, salman), "<1>");
}

#[test]
fn a_name_of_signs_alone_is_a_name_where_no_other_touches_it() {
    for (name, text, expected) in [
        ("♡", "ask ♡ please", "ask <1> please"),
        ("♡", "@♡: (♡), 「♡」、♡!", "@<1>: (<1>), 「<1>」、<1>!"),
        ("♡", "thanks ♡♡♡ and thanks♡", "thanks ♡♡♡ and thanks♡"),
        ("❤\u{fe0f}", "ask ❤ or ❤\u{fe0f}", "ask <1> or <1>"),
        ("🌸🌸", "ask 🌸🌸 please", "ask <1> please"),
        ("🌸🌸", "謝謝🌸🌸", "謝謝<1>"),
        ("🌸🌸", "🌸🌸🌸 🌸", "🌸🌸🌸 🌸"),
        ("★☆", "★☆", "<1>"),
        ("。", "「好。」。 好。", "「好。」。 好。"),
        ("。", "。", "<1>"),
        (":)", "hi :)", "hi :)"),
        ("🌸Amy🌸", "ask 🌸Amy🌸, or amy", "ask <1>, or <1>"),
    ] {
        assert_eq!(shown_with(name, text), expected, "{name} in {text}");
    }
}
