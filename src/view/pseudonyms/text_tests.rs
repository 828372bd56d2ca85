//! Tests of masked texts.

use proptest::prelude::*;

use super::*;

fn names() -> KnownNames {
    KnownNames::new([
        ("Ann Lee", "Person ANNLEE"),
        ("王小明", "Person WANG22"),
        ("陳小姐", "Person CHEN22"),
        ("田中あき", "Person TANAKA"),
        ("สมชาย ใจดี", "Person SOMCHA"),
        ("Bob", "Person BOB222"),
        ("Bob", "Person BOB333"),
        ("Al", "Person ALALAL"),
        ("K", "Person KKKKKK"),
        ("Mary from Sales", "Person MARY22"),
        ("김민수", "Person KIMKIM"),
        ("남궁민아", "Person NAMNAM"),
        ("José Núñez", "Person JOSE22"),
        ("タナカ", "Person KANAKA"),
        ("Z\u{202e}oe\u{301} か\u{3099}く", "Person ZOEZOE"),
        ("小美0912345678", "Person XIAOME"),
        ("amy1234567", "Person AMYAMY"),
        ("明華", "Person MINGHU"),
        ("", "Person NOBODY"),
    ])
    .unwrap()
}

fn masked(text: &str) -> String {
    mask(text, &[], (&[], &names()), |_| None).text
}

#[test]
fn names_are_replaced_where_they_stand_as_words() {
    for (text, expected) in [
        ("Ask Ann Lee, or ann lee!", "Ask Person ANNLEE, or Person ANNLEE!"),
        ("ＡＮＮ said: Lee's", "Person ANNLEE said: Person ANNLEE's"),
        ("Annual planning, sleek", "Annual planning, sleek"),
        ("王小明你好,小明在嗎", "Person WANG22你好,Person WANG22在嗎"),
        ("陳小姐好,小姐", "Person CHEN22好,小姐"),
        ("田中あきさん", "Person TANAKAさん"),
        ("สวัสดีสมชายครับ", "สวัสดีPerson SOMCHAครับ"),
        ("Bob and Bobby", "[name] and Bobby"),
        ("Al is also here", "Person ALALAL is also here"),
        ("K, ok? Kay", "Person KKKKKK, ok? Kay"),
        ("Mary is from the sales team", "Person MARY22 is from the sales team"),
        ("A\u{200b}nn", "Person ANNLEE"),
        ("김민수가 왔어요", "Person KIMKIM가 왔어요"),
        ("민수씨, 민수", "Person KIMKIM씨, Person KIMKIM"),
        ("남궁민아는 민아야", "Person NAMNAM는 Person NAMNAM야"),
        ("Ann이 Lee를", "Person ANNLEE이 Person ANNLEE를"),
        ("\u{1100}\u{1175}\u{11b7}민수", "Person KIMKIM"),
        ("ﾀﾅｶさん、タナカ", "Person KANAKAさん、Person KANAKA"),
        ("Jose\u{301} and Jose, NUN\u{303}EZ", "Person JOSE22 and Person JOSE22, Person JOSE22"),
        ("Jose\u{301}s Josés", "Jose\u{301}s Josés"),
        ("A\u{202a}n\u{202e}n \u{2066}Lee\u{2069}!", "Person ANNLEE!"),
        ("陈小姐", "Person CHEN22"),
        ("Zoé: がく, oe", "Person ZOEZOE: Person ZOEZOE, oe"),
        ("Ann  \u{3000}Lee", "Person ANNLEE"),
        ("Ann2000, B2", "Person ANNLEE2000, B2"),
        ("小美0912345678", "Person XIAOME[phone]"),
        ("小美說", "Person XIAOME說"),
        ("amy1234567", "Person AMYAMY[number]"),
        ("王小明華", "Person WANG22Person MINGHU"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn numbers_and_addresses_are_replaced() {
    for (text, expected) in [
        ("call 0912-345-678 now", "call [phone] now"),
        ("打０９１２３４５６７８給我", "打[phone]給我"),
        ("+886 2 2345 6789", "[phone]"),
        ("(02) 2345-6789", "[phone]"),
        ("0912 - 345 - 678", "[phone]"),
        ("0912,345,678", "[phone]"),
        ("0912、345、678 and 0912~345*678", "[phone] and [phone]"),
        ("0️⃣9️⃣1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣7️⃣8️⃣!", "[phone]!"),
        ("09:30-10:45, 01, 02, 03, 04", "09:30-10:45, 01, 02, 03, 04"),
        ("090-1234-5678 / 03-1234-5678", "[phone] / [phone]"),
        ("โทร ๐๘๑-๒๓๔-๕๖๗๘", "โทร [phone]"),
        ("4111 1111 1111 1111", "[card]"),
        ("account 004-123456789012", "account [phone]"),
        ("acct 1234567", "acct [number]"),
        ("DE89 3704 0044 0532 0130 00 ok", "[account] ok"),
        ("write to Ann.Lee+x@mail.example.com.", "write to [mail]."),
        ("ann＠example．com", "[mail]"),
        ("2026-11-23 14:00, 23/11/2026", "2026-11-23 14:00, 23/11/2026"),
        ("1\n2 \n3\t4\n5\n6\n7\n8", "1\n2 \n3\t4\n5\n6\n7\n8"),
        ("09\u{2066}12345\u{202c}678", "[phone]"),
        ("30 people, 1,000,000 NT$, v1.2.3", "30 people, 1,000,000 NT$, v1.2.3"),
        ("ann@example.com…4111111111111111 a@b.2", "[mail]…[card] a@b.2"),
        ("not@all and a@b", "not@all and a@b"),
        ("…ann@example.com….ann@example.com.", "…[mail]….[mail]."),
        ("a@b.com.c@d.com", "[mail].[mail]"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn digits_of_every_script_are_digits() {
    // Thai, Lao, Devanagari, Myanmar, Khmer, Bengali, Tamil and Adlam.
    for zero in ['๐', '໐', '०', '၀', '០', '০', '௦', '\u{1e950}'] {
        let digit = |c: char| char::from_u32(u32::from(zero) + c.to_digit(10).unwrap()).unwrap();
        let number: String = "0912345678".chars().map(digit).collect();
        assert_eq!(masked(&format!("call {number}")), "call [phone]");
    }
}

#[test]
fn links_keep_what_is_readable() {
    for (text, expected) in [
        ("see https://example.com/docs/how-to-cook.", "see https://example.com/docs/how-to-cook."),
        ("https://user:pw@example.com/a?token=abc#x", "https://[token]@example.com/a?[token]"),
        (
            "https://drive.example.com/d/1aB2cD3eF4gH/view",
            "https://drive.example.com/d/[token]/view",
        ),
        ("(line.me/ti/p/~ann1)", "(line.me/[token]/[token]/[token])"),
        ("https://x.example/u/0912345678/Bob", "https://x.example/u/[token]/[token]"),
        ("https://x.example/call/0912-345-678", "https://x.example/call/[token]"),
        ("https://x.example/call/(02)2345-6789/", "https://x.example/call/[token]/"),
        ("https://x.example/a/José", "https://x.example/[token]/[token]"),
        (
            "ｈｔｔｐｓ：／／ｘ．example／ａ／Ｂ？ｋ＝ｖ",
            "https://x.example/[token]/[token]?[token]",
        ),
        ("tel://0912-345-678", "tel://[token]"),
        ("https://0912345678.example/", "https://[token].example/"),
        ("https://0912.345.678.example:80/a", "https://[token]/a"),
        ("https://x.example/2026-11-23/2026/11/23", "https://x.example/2026-11-23/2026/11/23"),
        ("https://x.example/%E5%B0%8F", "https://x.example/[token]"),
        ("https://x.example/會議/a?pwd=s3cr3tAB12", "https://x.example/[token]/[token]?[token]"),
        ("https://台灣.tw/s/Xy7Zp0Qr12好", "https://台湾.tw/[token]/[token]好"),
        ("https://x.example/a|b?token=1", "https://x.example/a|b?[token]"),
        ("看https://x.example/abc然後回來", "看https://x.example/abc然後回來"),
        (
            "https://x.example/a看https://y.example/b/c",
            "https://x.example/a看https://y.example/b/c",
        ),
        ("「https://x.example/a」/b?c", "「https://x.example/a」/b?c"),
        ("bit.ly/about, reurl.cc/V3LxQ5", "bit.ly/[token], reurl.cc/[token]"),
        ("https://meet.google.com/abc-defg-hij", "https://meet.google.com/[token]"),
        ("https://x.example/s/V3LxQ/v2/page", "https://x.example/s/[token]/v2/page"),
        ("www.example.com#abc", "www.example.com#[token]"),
        ("a://b 3.5/4 and/or", "a://b 3.5/4 and/or"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn ids_are_replaced_as_a_whole() {
    let text = "U0123456789abcdef, 0123456789";
    let ids = [(0..17, Cow::Borrowed("person-7k2q4m"))];
    let masked = mask(text, &[], (&ids, &names()), |_| None);
    assert_eq!(masked.text, "person-7k2q4m, [phone]");
    // What a link has in it does not keep its secrets.
    let text = "https://x.example/@ann/U0123456789abcdef?k=s3cr3t";
    let ids = [(23..40, Cow::Borrowed("person-7k2q4m"))];
    let mention =
        Mention { user_id: Some("U1".into()), start: 18, length: 4, is_self: false, is_all: None };
    let masked = mask(text, &[mention], (&ids, &names()), |_| Some("Person 7K2Q4M".to_owned()));
    let expected = "https://x.example/[token]/[token]?[token]";
    assert_eq!((masked.text.as_str(), masked.mentions.len()), (expected, 0));
}

#[test]
fn mentions_are_replaced_whatever_they_say_and_stay_in_their_places() {
    let text = "👍 @Old Name hi @All @x @모두 @all";
    let mention = |user: Option<&str>, start, length| Mention {
        user_id: user.map(Into::into),
        start,
        length,
        is_self: false,
        is_all: None,
    };
    let mentions = [
        mention(None, 16, 4),
        mention(Some("U1"), 3, 9),
        mention(None, 21, 2),
        mention(Some("U1"), 90, 4),
        mention(Some("U1"), 1, 2),
        Mention { is_all: Some(true), ..mention(None, 24, 3) },
        Mention { is_all: Some(false), ..mention(None, 28, 4) },
    ];
    let name = |mention: &Mention| mention.user_id.as_ref().map(|_| "Person 7K2Q4M".to_owned());
    let masked = mask(text, &mentions, (&[], &names()), name);
    assert_eq!(masked.text, "👍 @Person 7K2Q4M hi @All @[name] @All @[name]");
    let places: Vec<_> = masked.mentions.iter().map(|m| (m.start, m.length)).collect();
    assert_eq!(places, [(3, 14), (21, 4), (26, 7), (34, 4), (39, 7)]);
}

/// Words that no masked text has in it.
const SECRETS: [&str; 14] = [
    "Ann Lee",
    "ＡＮＮ",
    "王小明",
    "สมชาย",
    "0912-345-678",
    "ann@example.com",
    "柯菲@例え.jp",
    "\"kofi m\"@example。com",
    "4111111111111111",
    "https://x.example/s?k=s3cr3t",
    "https://x.example/會議/s?k=s3cr3t",
    "小美0912345678",
    "amy1234567",
    "王小明0912-345-678",
];

proptest! {
    #[test]
    fn a_secret_is_found_wherever_it_stands(
        parts in proptest::collection::vec((0..SECRETS.len(), "[ ,.!?，。「」\n👍()…\"]{1,3}"), 1..6),
    ) {
        let text: String = parts.iter().flat_map(|(at, gap)| [gap.as_str(), SECRETS[*at], gap.as_str()]).collect();
        let masked = masked(&text);
        for secret in [
            "Ann", "ＡＮＮ", "小明", "สมชาย", "0912", "@", "4111", "s3cr3t", "小美", "amy", "1234567",
            "柯菲", "kofi",
        ] {
            prop_assert!(!masked.contains(secret), "{text:?} became {masked:?}");
        }
    }

    #[test]
    fn any_text_and_any_mentions_are_masked_and_stay_in_their_places(
        text in "(\\PC|[0-9 @./:?-]|Ann|👍|王小明){0,40}",
        places in proptest::collection::vec((0..50_u32, 0..20_u32), 0..4),
    ) {
        let mention = |(start, length)| Mention { user_id: None, start, length, is_self: false, is_all: None };
        let mentions: Vec<_> = places.into_iter().map(mention).collect();
        let masked = mask(&text, &mentions, (&[], &names()), |_| None);
        let units: Vec<u16> = masked.text.encode_utf16().collect();
        for mention in masked.mentions {
            let (start, end) = (mention.start as usize, (mention.start + mention.length) as usize);
            let words = String::from_utf16(&units[start..end]).unwrap();
            prop_assert!(words == SOMEBODY || Mention::names_everybody(&words));
        }
    }
}
