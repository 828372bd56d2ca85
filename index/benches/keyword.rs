//! Matching a message of 60 characters against 10,000 rules of 3 keywords, beside a bare
//! Aho-Corasick automaton.

#![expect(clippy::expect_used, reason = "a bench fails by panicking")]

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use chatkeep_index::{KeywordMatcher, fold};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const RULES: u32 = 10_000;

/// Kinds of message, of about 60 characters each; without a keyword unless the name says so.
const MESSAGES: [(&str, &str); 8] = [
    ("english", "could somebody tell me when the swimming pool opens tomorrow?"),
    ("english_hit", "could somebody tell me about the silver lantern 4242 please?"),
    // Words and characters that keywords are made of, so that one may begin at nearly every
    // position.
    ("dense_english", "silver garden golden lantern crimson ticket violet market amber 1"),
    (
        "dense_chinese",
        "營業時間價錢地址停車預約退換門票時營間業錢價址地車停約預換退票門營時價地停預退門業間錢址車約換票營價停退時地預門間址約",
    ),
    (
        "chinese",
        "請問一下你們明天下午在台北車站附近的那間分店大概幾點開始營業呢因為我們全家大小想要一起過去吃飯順便買一些伴手禮回家謝謝",
    ),
    (
        "japanese",
        "すみませんが明日の午後に駅前のお店へ家族みんなで行きたいのですが何時から開いていて駐車場は何台分ありますか教えてください",
    ),
    ("thai", "ขอสอบถามหน่อยค่ะพรุ่งนี้ร้านเปิดกี่โมงแล้วมีที่จอดรถไหมคะขอบคุณ"),
    (
        "korean",
        "내일 오후에 역 앞에 있는 가게에 가족들과 함께 가고 싶은데 몇 시부터 여는지 주차장은 있는지 알려 주세요 감사합니다",
    ),
];

/// Returns 30,000 different keywords of 2 to 20 characters in five scripts.
fn keywords() -> Vec<(u32, String)> {
    const COLOURS: [&str; 8] =
        ["silver", "golden", "crimson", "emerald", "violet", "amber", "ivory", "cobalt"];
    const THINGS: [&str; 8] =
        ["lantern", "garden", "harbour", "ticket", "market", "bridge", "kettle", "window"];
    const HAN: [char; 16] = [
        '營', '業', '時', '間', '價', '錢', '地', '址', '停', '車', '預', '約', '退', '換', '門',
        '票',
    ];
    const KANA: [&str; 8] =
        ["えいが", "よやく", "りょうきん", "でんわ", "メニュー", "セール", "クーポン", "ポイント"];
    const THAI: [&str; 8] = ["ราคา", "เวลา", "ที่อยู่", "จอง", "โปรโมชั่น", "เมนู", "สินค้า", "จัดส่ง"];
    const HANGUL: [&str; 8] = ["가격", "예약", "주소", "영업", "할인", "메뉴", "배송", "환불"];
    let pick = |list: [&'static str; 8], n: u32| list[n as usize % 8];
    let mut keywords = Vec::new();
    for rule in 0..RULES {
        let n = rule.wrapping_mul(2_654_435_761) >> 7;
        let han = |shift: u32| HAN[(n >> shift) as usize % 16];
        keywords.push((rule, format!("{} {} {rule}", pick(COLOURS, n), pick(THINGS, n >> 3))));
        keywords.push((rule, format!("{}{}{}{}", han(0), han(4), han(8), han(12))));
        let local = [KANA, THAI, HANGUL][rule as usize % 3];
        keywords.push((rule, format!("{}{}{rule}", pick(local, n), pick(local, n >> 3))));
    }
    keywords
}

fn matcher() -> KeywordMatcher {
    let keywords = keywords();
    let pairs = keywords.iter().map(|(rule, keyword)| (*rule, keyword.as_str()));
    KeywordMatcher::build(pairs).expect("the keywords compile")
}

fn message(kind: &str) -> &'static str {
    MESSAGES.iter().find(|(name, _)| *name == kind).expect("a kind of message").1
}

#[divan::bench(args = MESSAGES.map(|(kind, _)| kind))]
fn exact(bencher: Bencher<'_, '_>, kind: &str) {
    let matcher = matcher();
    bencher.bench_local(|| matcher.exact(black_box(message(kind))));
}

#[divan::bench(args = ["營業價錢", "silver lantern 4242?", "ราคาเวลา1"])]
fn exact_short(bencher: Bencher<'_, '_>, message: &str) {
    let matcher = matcher();
    bencher.bench_local(|| matcher.exact(black_box(message)));
}

#[divan::bench(args = MESSAGES.map(|(kind, _)| kind))]
fn contains(bencher: Bencher<'_, '_>, kind: &str) {
    let matcher = matcher();
    bencher.bench_local(|| matcher.contains(black_box(message(kind))));
}

/// Matches the same keywords with a bare Aho-Corasick automaton, on text folded beforehand, without
/// word boundaries: the longest match of those found from left to right.
#[divan::bench(args = MESSAGES.map(|(kind, _)| kind))]
fn aho_corasick(bencher: Bencher<'_, '_>, kind: &str) {
    let keywords = keywords().into_iter().map(|(_, keyword)| fold(&keyword));
    let automaton = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(keywords)
        .expect("the keywords compile");
    let folded = fold(message(kind));
    bencher.bench_local(|| {
        automaton.find_iter(black_box(&folded)).max_by_key(|found| found.end() - found.start())
    });
}

#[divan::bench(sample_count = 10)]
fn duplicates(bencher: Bencher<'_, '_>) {
    let keywords = keywords();
    bencher.bench_local(|| {
        chatkeep_index::duplicates(keywords.iter().map(|(rule, keyword)| (*rule, keyword.as_str())))
    });
}

#[divan::bench(sample_count = 10)]
fn build(bencher: Bencher<'_, '_>) {
    let keywords = keywords();
    bencher.bench_local(|| {
        KeywordMatcher::build(keywords.iter().map(|(rule, keyword)| (*rule, keyword.as_str())))
    });
}
