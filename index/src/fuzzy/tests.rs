//! Tests of the fuzzy matcher: examples, and every edit of phrases in every script.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::answer::with_not_for;

fn matcher(rules: &[&[&str]]) -> FuzzyMatcher {
    let keywords: Vec<Vec<String>> =
        rules.iter().map(|rule| rule.iter().map(|&text| text.to_owned()).collect()).collect();
    let texts = keywords.iter().map(|keywords| RuleText { keywords, ..RuleText::default() });
    FuzzyMatcher::build(&texts.collect::<Vec<_>>())
}

fn not_for(rules: &[(&str, &[&str])]) -> FuzzyMatcher {
    with_not_for(rules, FuzzyMatcher::build)
}

#[test]
fn a_rule_does_not_answer_what_is_nearer_to_a_text_that_is_not_for_it() {
    let rules: [(&str, &[&str]); 2] =
        [("opening hours", &["happy hours", "opening party"]), ("營業時間", &["營業時間外的電話"])];
    let rules = not_for(&rules);
    let rate = |message: &str| rules.rate(message, Strictness::Balanced);
    for message in ["happy hours", "opening partty", "the opening party", "營業時間外的電話號碼"]
    {
        let rating = rate(message);
        assert_eq!(rating.answer, None, "{message}: {rating:?}");
    }
    assert!(rate("opening party").candidates[0].excluded);
    for (message, rule) in [("openning hours", 0), ("your opening hours?", 0), ("營業時間呢", 1)]
    {
        assert_eq!(rate(message).answer, Some(rule), "{message}");
    }
}

#[test]
fn spellings_that_writers_take_for_the_same_are_one() {
    let rules = matcher(&[
        &["ゴミの日", "ゴミ出し"],
        &["停車場", "停車位"],
        &["台北店在哪"],
        &["管理費怎麼繳"],
        &["パーキング"],
    ]);
    for (message, rule) in [
        ("ごみの日", 0),
        ("ごみの日はいつですか", 0),
        ("停车场", 1),
        ("停车场在哪里？", 1),
        ("臺北店在哪？", 2),
        ("管理费怎么缴", 3),
        ("ぱーきんぐ", 4),
    ] {
        let rating = rules.rate(message, Strictness::Careful);
        assert_eq!(rating.answer, Some(rule), "{message}: {rating:?}");
    }
    let rules = not_for(&[("ゴミの日", &["ゴミ箱の日"])]);
    assert_eq!(rules.rate("ごみ箱の日", Strictness::Balanced).answer, None);
}

#[test]
fn texts_that_are_not_for_a_rule_take_no_answer_from_others() {
    let rules: [(&str, &[&str]); 2] = [("opening hours", &["happy hours"]), ("happy hours", &[])];
    assert_eq!(not_for(&rules).rate("happy hours", Strictness::Balanced).answer, Some(1));
    let plain = not_for(&[("opening hours", &[]), ("wifi password", &[])]);
    let with_texts =
        not_for(&[("opening hours", &["free wifi", "pasta hours"]), ("wifi password", &[])]);
    for message in ["the wifi pasword", "free wifi password", "hours", "opening"] {
        let scores = |matcher: &FuzzyMatcher| {
            let rating = matcher.rate(message, Strictness::Balanced);
            let scores = rating.candidates.iter().map(|near| (near.rule, near.score));
            scores.collect::<Vec<_>>()
        };
        let (before, after) = (scores(&plain), scores(&with_texts));
        assert_eq!(before.len(), after.len(), "{message}");
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.0, after.0, "{message}");
            assert!((before.1 - after.1).abs() < 1e-5, "{message}: {before:?} {after:?}");
        }
    }
}

#[test]
fn typos_in_texts_that_are_not_for_a_rule_stay_typos() {
    let rules: [(&str, &[&str]); 2] =
        [("refund", &[]), ("parking", &["how do i get a refnd", "free praking"])];
    let rules = not_for(&rules);
    let answer = |message: &str| rules.rate(message, Strictness::Balanced).answer;
    assert_eq!(answer("refnd please"), Some(0));
    assert_eq!(answer("praking please"), Some(1));
    assert_eq!(answer("free praking"), None);
}

#[test]
fn texts_of_one_rule_do_not_hide_those_of_another() {
    let holidays = &["holiday happy hours"][..];
    let rules = not_for(&[("hours", &["happy hours"]), ("wifi password", holidays)]);
    let rating = rules.rate("when are the holiday happy hours this year", Strictness::Eager);
    assert_eq!(rating.answer, None, "{rating:?}");
    let many: Vec<String> = (0..50).map(|n| format!("opening hours of shop {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let rules = not_for(&[("opening hours", &["opening party"]), ("shops", &many)]);
    assert_eq!(rules.rate("opening partty", Strictness::Eager).answer, None);
}

#[test]
fn however_many_rules_are_excluded_the_next_one_answers() {
    let texts = &["opening hours"][..];
    let mut rules: Vec<(&str, &[&str])> =
        ["opening hours a", "opening hours b", "opening hours c", "opening hours d"]
            .iter()
            .map(|word| (*word, texts))
            .collect();
    rules.extend([("opening hourss", texts), ("opening hour", &[][..])]);
    assert_eq!(not_for(&rules).rate("opening hours", Strictness::Balanced).answer, Some(5));
    // Of two that are as good, neither answers, however far down they are.
    rules.push(("opening hourz", &[]));
    assert_eq!(not_for(&rules).rate("opening hours", Strictness::Balanced).answer, None);
}

/// Rules of a channel in every language, none similar to another.
const RULES: [&[&str]; 20] = [
    &["opening hours", "when do you open"],
    &["wifi password", "how do I connect to the wireless network"],
    &["refund policy", "can I get my money back"],
    &["parking lot", "where can I leave my car"],
    &["營業時間", "請問你們幾點開門"],
    &["停車場在哪裡", "附近有地方停車嗎"],
    &["無線網路密碼", "怎麼連上無線網路"],
    &["退貨流程", "商品有瑕疵可以退換嗎"],
    &["定休日はいつですか", "営業カレンダー"],
    &["駐車場はありますか", "クルマで行けますか"],
    &["パスワードを忘れました", "ログインできません"],
    &["予約のキャンセル", "日程を変更したいです"],
    &["ร้านเปิดกี่โมง", "เวลาทำการของร้าน"],
    &["มีที่จอดรถไหม", "จอดรถตรงไหนได้บ้าง"],
    &["รหัสผ่านอินเทอร์เน็ต", "ต่อไวไฟยังไง"],
    &["คืนสินค้าอย่างไร", "ขอเงินคืนได้ไหม"],
    &["영업시간이 어떻게 되나요", "문 여는 시각"],
    &["주차 가능한가요", "차를 어디에 세우나요"],
    &["와이파이 비밀번호", "인터넷 연결 방법"],
    &["환불 규정", "반품하고 싶어요"],
];

static MATCHER: LazyLock<FuzzyMatcher> = LazyLock::new(|| matcher(&RULES));

fn answer(message: &str) -> Option<u32> {
    MATCHER.rate(message, Strictness::Balanced).answer
}

#[test]
fn typos_order_and_small_changes_still_find_the_rule() {
    for (message, rule) in [
        ("openning huors?", 0),
        ("hours opening", 0),
        ("what are your opening hours please", 0),
        ("wifipassword", 1),
        ("pasword for the wifi", 1),
        ("whats the WIFI pasword???", 1),
        ("ＷＩＦＩ　ＰＡＳＳＷＯＲＤ", 1),
        ("營業時閒", 4),
        ("請問一下你們的營業時間到幾點呢", 4),
        ("請問停車場再哪裡", 5),
        ("無線網路的密碼", 6),
        ("定休日いつですか", 8),
        ("キャンセル 予約の", 11),
        ("ﾊﾟｽﾜｰﾄﾞを忘れた", 10),
        ("ร้านเปดกี่โมงคะ", 12),
        ("มีที่จอดรถมั้ย", 13),
        ("영업시간 어떻게 돼요", 16),
        ("와이파이 비번호", 18),
    ] {
        assert_eq!(answer(message), Some(rule), "{message}");
    }
}

#[test]
fn unrelated_chat_is_left_alone() {
    for message in [
        "I had a great day at the beach",
        "see you tomorrow then",
        "how do I look",
        "今天天氣真好我們去爬山吧",
        "你們在哪裡",
        "昨日の映画は面白かったね",
        "明日は雨ですか",
        "เมื่อวานไปเที่ยวทะเลมาสนุกมาก",
        "หิวข้าวแล้ว",
        "오늘 점심 뭐 먹을까",
        "내일 봐요",
        "😂😂😂",
        "?",
        "",
    ] {
        assert_eq!(answer(message), None, "{message}");
    }
}

#[test]
fn short_keywords_are_no_accident() {
    let rules = matcher(&[&["hi"], &["價格"], &["wifi"], &["駅"], &["ราคา"], &["price"]]);
    let answer = |message: &str| rules.rate(message, Strictness::Balanced).answer;
    for message in ["his", "資格", "wife", "駐車", "hi all, the meeting has moved", "rice is fine"]
    {
        assert_eq!(answer(message), None, "{message}");
    }
    assert_eq!(answer("Hi!"), Some(0));
    assert_eq!(answer("請問價格是多少"), Some(1));
    assert_eq!(answer("wfii"), Some(2));
    assert_eq!(answer("could somebody please tell me the wifi in this room"), Some(2));
    assert_eq!(answer("駅"), Some(3));
    assert_eq!(answer("ขอทราบราคาหน่อยค่ะ"), Some(4));
    assert_eq!(answer("prcie"), Some(5));
}

#[test]
fn a_phrase_in_a_longer_message_counts_with_its_typos() {
    let rules = matcher(&[&["無線網路密碼"], &["vegetarian menu"], &["ค่าสมัครสมาชิก"]]);
    let answer = |message: &str| rules.rate(message, Strictness::Balanced).answer;
    assert_eq!(answer("不好意思想請問一下這裡的無線網絡密碼是多少我手機一直連不上"), Some(0));
    assert_eq!(
        answer("we are a group of nine on friday, is there a vegitarian menu for some of us"),
        Some(1)
    );
    assert_eq!(answer("สวัสดีค่ะรบกวนถามหน่อยว่าค่าสมัคสมาชิกต่อปีประมาณเท่าไหร่คะ"), Some(2));
}

#[test]
fn an_equal_message_scores_one_and_the_older_rule_answers() {
    let rules = matcher(&[&["menu"], &["Opening hours"], &["opening  hours?"]]);
    let rating = rules.rate("OPENING hours!", Strictness::Balanced);
    assert_eq!(rating.answer, Some(1));
    let best: Vec<_> = rating.candidates.iter().map(|c| (c.rule, c.score)).take(2).collect();
    assert_eq!(best, [(1, 1.0), (2, 1.0)]);
    assert!(rules.rate("opening hour", Strictness::Balanced).candidates[0].score < 1.0);
}

#[test]
fn phrases_of_nothing_but_marks_are_matched_as_they_are() {
    let rules = matcher(&[&["parking"], &["?!"], &[":-)"]]);
    assert_eq!(rules.rate("？！", Strictness::Balanced).answer, Some(1));
    assert_eq!(rules.rate(":-)", Strictness::Balanced).candidates, [Candidate::new(2, 1.0)]);
    assert_eq!(rules.rate("...", Strictness::Balanced).answer, None);
}

#[test]
fn rare_words_weigh_more_than_frequent_ones() {
    let rules = matcher(&[
        &["how do i change my address"],
        &["how do i change my ringtone"],
        &["how do i change my insurance"],
    ]);
    assert_eq!(rules.rate("ringtone change", Strictness::Balanced).answer, Some(1));
    assert_eq!(rules.rate("my insurance has to be changed", Strictness::Balanced).answer, Some(2));
    let rating = rules.rate("how do i change my", Strictness::Balanced);
    assert_eq!(rating.answer, None, "that much is said by all of them: {rating:?}");
}

#[test]
fn a_rating_has_five_candidates_at_most_in_order() {
    let texts: Vec<String> = (0..40).map(|n| format!("ticket number {n}")).collect();
    let rules: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
    let rules: Vec<&[&str]> = rules.iter().map(|rule| &rule[..]).collect();
    let rating = matcher(&rules).rate("ticket number", Strictness::Balanced);
    assert_eq!(rating.candidates.len(), 5);
    assert!(rating.candidates.is_sorted_by(|a, b| (b.score, a.rule) <= (a.score, b.rule)));
    assert_eq!(matcher(&[]).rate("anything", Strictness::Balanced), Rating::default());
    assert!(matcher(&rules).size() > matcher(&rules[..10]).size());
}

/// Applies an edit of a kind at a position, with the character it needs.
fn edited(phrase: &str, kind: u8, place: usize, other: char) -> String {
    let mut chars: Vec<char> = phrase.chars().collect();
    let at = place % chars.len();
    // The last character changes places with the one before.
    let first = at.min(chars.len() - 2);
    match kind {
        0 => drop(chars.remove(at)),
        1 => chars.insert(at, other),
        2 => chars[at] = other,
        _ => chars.swap(first, first + 1),
    }
    chars.into_iter().collect()
}

/// Generates every phrase of [`RULES`] of five characters or more, and its rule.
fn phrases() -> impl Strategy<Value = (u32, &'static str)> {
    let phrases = (0..).zip(RULES).flat_map(|(rule, texts)| texts.iter().map(move |t| (rule, *t)));
    let phrases = phrases.filter(|(_, text)| text.chars().count() >= 5);
    proptest::sample::select(phrases.collect::<Vec<_>>())
}

fn any_letter() -> impl Strategy<Value = char> {
    proptest::sample::select("aeqz7時あトกา가한 ".chars().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn one_edit_in_a_phrase_still_finds_its_rule(
        (rule, phrase) in phrases(), kind in 0_u8..4, place in 0_usize..64, other in any_letter(),
    ) {
        let message = edited(phrase, kind, place, other);
        prop_assert_eq!(answer(&message), Some(rule), "{} for {}", message, phrase);
    }

    #[test]
    fn width_case_and_white_space_never_matter(
        (rule, phrase) in phrases(), wide in any::<u64>(), upper in any::<u64>(),
    ) {
        let written = phrase.chars().enumerate().map(|(at, c)| {
            let c = if upper >> (at % 64) & 1 == 1 { c.to_ascii_uppercase() } else { c };
            match c {
                ' ' => '\u{3000}',
                '!'..='~' if wide >> (at % 64) & 1 == 1 =>
                    char::from_u32(u32::from(c) + 0xfee0).unwrap(),
                _ => c,
            }
        });
        let message: String = written.collect();
        let rating = MATCHER.rate(&message, Strictness::Balanced);
        prop_assert_eq!(rating.answer, Some(rule));
        prop_assert!(rating.candidates[0].score >= 1.0);
    }

    #[test]
    fn no_message_is_too_strange(message in ".{0,80}") {
        let rating = MATCHER.rate(&message, Strictness::Balanced);
        let in_range = rating.candidates.iter().all(|c| (0.0..=1.0).contains(&c.score));
        prop_assert!(in_range, "{:?}", rating);
    }
}
