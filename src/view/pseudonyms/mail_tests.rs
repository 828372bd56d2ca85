//! Tests of mail addresses in texts of many scripts, and of what only looks like one.

use proptest::prelude::*;

use super::*;

fn key() -> PseudonymKey {
    PseudonymKey::new([7; 32])
}

fn mask() -> Mask {
    Mask::of(&key(), &[(UserId::from("U1"), Some("J.Lin".to_owned()))]).unwrap()
}

fn shown(text: &str) -> String {
    mask().text(text.to_owned())
}

#[test]
fn addresses_in_letters_of_any_script_are_hidden() {
    for address in [
        "柯菲@example.com",
        "kofi.mensah@例え.jp",
        "kofi@e.xn--p1ai",
        "kofi@公司.台灣",
        "kofi@ตัวอย่าง.ไทย",
        "kofi@example。com",
        "\"kofi m\"@example.com",
        "\"kofi \\\" @ m\"@例え.jp",
        "ｋｏｆｉ＠ｅｘａｍｐｌｅ．ｃｏｍ",
        "kofi@münchen.de",
        "小明2000@example.com",
        "柯菲kofi@example.com",
        "kofi/m=x@example.com2",
        "kofi@mail.部門。公司。台灣",
    ] {
        assert_eq!(shown(address), "[mail]", "{address}");
        let text = format!("({address}), {address}!");
        assert_eq!(shown(&text), "([mail]), [mail]!", "{address}");
    }
}

#[test]
fn sentences_around_an_address_stay() {
    for (text, expected) in [
        ("寄到柯菲@例え.jp吧", "[mail]吧"),
        ("請大家把照片都寄到kofi@example.com謝謝", "請大家把照片都寄到[mail]謝謝"),
        ("你可以寄給我嗎？柯菲@例え.jp", "你可以寄給我嗎？[mail]"),
        ("寫給 kofi@example.com。明天見", "寫給 [mail]。明天見"),
        ("柯菲@公司。台灣。我們明天再去看電影", "[mail]。我們明天再去看電影"),
        ("お問い合わせ先・kofi@example.com・電話", "お問い合わせ先・[mail]・電話"),
        ("kofi@example.com으로, kofi@example.comครับ", "[mail]으로, [mail]ครับ"),
        ("\"Ann\" or \"kofi m\"@example.com", "\"Ann\" or [mail]"),
        ("(柯菲@example.com/x) https://柯菲@例え.jp", "([mail]@example.com/x) https://[mail]"),
        // It may be an address: a few words are lost.
        ("me@home。明天見", "[mail]"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_only_looks_like_an_address_stays() {
    for text in [
        "嗨 @阿華。明天見",
        "謝謝@阿華 明天見。",
        "me@home。我們明天再去看電影好嗎",
        "3@5.00, 蘋果3@5.00元, 蘋果３＠５．００元",
        "@例え.jp and 柯菲@, 柯菲@例え..jp",
    ] {
        assert_eq!(shown(text), text);
    }
}

#[test]
fn a_mention_with_a_dot_takes_no_word_with_it() {
    let name = key().person(&UserId::from("U1")).name;
    for (text, start, length, expected) in [
        ("資料都交給@J.Lin 了", 5, 6, format!("資料都交給@{name} 了")),
        // A mention of a part of an address shows nothing else of it.
        ("kofi@example.com", 4, 3, format!("[mail]@{name}[mail]")),
        ("kofi@example.com", 2, 14, format!("[mail]@{name}")),
    ] {
        let user_id = Some(UserId::from("U1"));
        let mention = Mention { user_id, start, length, is_self: false, is_all: None };
        assert_eq!(mask().text_and_mentions(text, &[mention]).text, expected, "{text}");
    }
}

/// Local parts, labels and top-level domains of many scripts.
const LOCAL_PARTS: [&str; 18] = [
    "kofi.mensah+x",
    "o'kofi",
    "\"kofi m\"",
    "\"柯 菲\"",
    "柯菲",
    "柯菲.kofi",
    "小明2000",
    "たなか",
    "โคฟี่",
    "кофи",
    "κοφι",
    "كوفي",
    "קופי",
    "कोफी",
    "கோஃபி",
    "코피",
    "კოფი",
    "ཀོ་ཕི",
];
const LABELS: [&str; 15] = [
    "example",
    "ex-ample",
    "xn--r8jz45g",
    "col·lega",
    "例え",
    "公司",
    "ตัวอย่าง",
    "пример",
    "παράδειγμα",
    "مثال",
    "דוגמה",
    "उदाहरण",
    "உதாரணம்",
    "예시",
    "ཀོ་ཕི",
];
const TOP_LEVELS: [&str; 14] = [
    "com",
    "xn--p1ai",
    "台灣",
    "みんな",
    "ไทย",
    "рф",
    "ελ",
    "مصر",
    "ישראל",
    "भारत",
    "சிங்கப்பூர்",
    "한국",
    "გე",
    "ລາວ",
];

proptest! {
    #[test]
    fn no_address_of_any_scripts_is_shown(
        (local, label, top) in (0..LOCAL_PARTS.len(), 0..LABELS.len(), 0..TOP_LEVELS.len()),
        (at, dot) in ("[@＠﹫]", "[.。．｡]"),
        (before, after) in ("[ ,:;、（「\n]{0,2}", "[ ,:;、）」\n]{0,2}"),
    ) {
        let (local, label, top) = (LOCAL_PARTS[local], LABELS[label], TOP_LEVELS[top]);
        let text = format!("{before}{local}{at}{label}{dot}{top}{after}");
        prop_assert_eq!(shown(&text), format!("{before}[mail]{after}"));
    }
}
