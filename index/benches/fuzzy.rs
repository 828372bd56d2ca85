//! Matching messages of about 60 characters against 10,000 rules of 3 phrases in five languages.
//!
//! `rate` times a batch of [`MESSAGES`] mixed messages (items are messages); before it, the spread
//! over single messages is printed. The rules and messages are written to `fuzzy-bench/` in the
//! temporary folder, where `benches/fuzzy.py` reads them for rapidfuzz.

#![expect(clippy::expect_used, reason = "a bench fails by panicking")]

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use chatkeep_index::answer::similar::{group, looks_like_question};
use chatkeep_index::answer::{RuleText, Strictness};
use chatkeep_index::fuzzy::FuzzyMatcher;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

const RULES: usize = 10_000;
const MESSAGES: usize = 500;

/// `SplitMix64`: the same texts in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "smaller than `below`")]
    fn below(&mut self, below: usize) -> usize {
        (self.next() % below as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// Beginnings and endings of questions, and the syllables of their words.
struct Language {
    openings: [&'static str; 4],
    endings: [&'static str; 3],
    syllables: &'static str,
    /// Minimum and maximum number of syllables of a word.
    word: (usize, usize),
    between: &'static str,
}

const LANGUAGES: [Language; 5] = [
    Language {
        openings: ["how do i", "where can i find the", "what is the", "please tell me about"],
        endings: ["?", " today", " please"],
        syllables: "ba ce din for gel hou ing jar kit lo men nor ou par que rin st tor un ver wa \
            xi yel zon tra ble com pre sion ment ter ly ness able ship ward over under back light",
        word: (1, 3),
        between: " ",
    },
    Language {
        openings: ["請問", "我想知道", "怎麼", "哪裡可以"],
        endings: ["嗎", "呢", "？"],
        syllables: "營 業 時 間 價 錢 地 址 停 車 預 約 退 換 門 票 會 員 活 動 報 名 課 程 老 師 書 店 餐 廳 \
            手 機 網 路 電 話 客 服 運 費 發 票 優 惠 折 扣 衣 服 鞋 子 醫 院 公 園 學 校 銀 行 機 場 飛 火 \
            水 果 牛 肉 麵 包 咖 啡 茶 點 心 家 具 燈 光 音 樂 電 影 旅 遊 簽 證 護 照 保 險 租 屋",
        word: (2, 3),
        between: "",
    },
    Language {
        openings: ["すみません", "明日の", "お店の", "この"],
        endings: ["はありますか", "を教えてください", "ですか"],
        syllables: "営業 時間 駐車 場所 予約 料金 電話 番号 会員 登録 返品 送料 領収 書類 メニュー クーポン \
            ポイント セール カード ペット えき みせ にわ まつり はな 写真 旅行 保険 地図 音楽 映画 図書 \
            病院 学校 銀行 空港 切符 荷物 部屋 掃除 洗濯 料理 野菜 果物 お菓子 飲み物 手紙 切手",
        word: (1, 2),
        between: "の",
    },
    Language {
        openings: ["ขอสอบถาม", "อยากทราบ", "ร้านมี", "วิธี"],
        endings: ["ไหมคะ", "ยังไงครับ", "เท่าไหร่"],
        syllables: "ราคา เวลา จอง เมนู สินค้า จัดส่ง ที่จอด รถ บัตร สมาชิก คูปอง ส่วนลด อาหาร น้ำ กาแฟ ห้อง \
            พัก เที่ยว บิน ตั๋ว รถไฟ โรงพยาบาล โรงเรียน ธนาคาร ประกัน เงิน โอน บิล ใบเสร็จ เสื้อ รองเท้า โทรศัพท์ \
            เน็ต รหัส ซ่อม ล้าง แอร์ บ้าน สวน ดอกไม้ ของขวัญ หนังสือ เพลง หนัง",
        word: (1, 2),
        between: "",
    },
    Language {
        openings: ["혹시", "내일", "여기", "그"],
        endings: [" 있나요", " 어떻게 하나요", " 얼마예요"],
        syllables: "영업 시간 주차 가격 예약 주소 할인 메뉴 배송 환불 회원 쿠폰 교환 결제 카드 전화 번호 \
            신청 수업 선생 학교 병원 은행 공항 기차 버스 여행 보험 사진 음악 영화 도서 세탁 청소 요리 과일 \
            야채 커피 빵집 식당 꽃집 미용 운동 등산 낚시",
        word: (1, 2),
        between: " ",
    },
];

impl Language {
    /// Returns a text of at least `length` characters: questions of two to four generated words.
    fn text(&self, numbers: &mut Numbers, length: usize) -> String {
        let syllables: Vec<&str> = self.syllables.split_whitespace().collect();
        let mut text = String::new();
        while text.is_empty() || text.chars().count() < length {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(numbers.pick(&self.openings));
            for _ in 0..2 + numbers.below(3) {
                text.push_str(self.between);
                for _ in 0..self.word.0 + numbers.below(self.word.1 - self.word.0 + 1) {
                    text.push_str(numbers.pick(&syllables));
                }
            }
            text.push_str(numbers.pick(&self.endings));
        }
        text
    }
}

struct Data {
    rules: Vec<Vec<String>>,
    messages: Vec<String>,
}

static DATA: LazyLock<Data> = LazyLock::new(|| {
    let mut numbers = Numbers(42);
    let rules: Vec<Vec<String>> = (0..RULES)
        .map(|rule| (0..3).map(|_| LANGUAGES[rule % 5].text(&mut numbers, 12)).collect())
        .collect();
    let messages = (0..MESSAGES)
        .map(|n| {
            let text = LANGUAGES[n % 5].text(&mut numbers, 55);
            // Every third message is a phrase with something around it and a typo in it.
            if n % 3 == 0 { mistyped(&rules[n * 7 % RULES][n % 2], &text) } else { text }
        })
        .map(|text| text.chars().take(60).collect())
        .collect();
    Data { rules, messages }
});

fn mistyped(phrase: &str, around: &str) -> String {
    let mut chars: Vec<char> = phrase.chars().collect();
    let middle = chars.len() / 2;
    chars.swap(middle, middle + 1);
    format!("{} {around}", chars.iter().collect::<String>())
}

fn texts(rules: &[Vec<String>]) -> Vec<RuleText<'_>> {
    rules.iter().map(|keywords| RuleText { keywords, ..RuleText::default() }).collect()
}

/// Writes the generated data, one text a line, where `benches/fuzzy.py` reads it.
fn write_data() {
    let folder = std::env::temp_dir().join("fuzzy-bench");
    std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
    let mut phrases = String::new();
    for phrase in DATA.rules.iter().flatten() {
        writeln!(phrases, "{phrase}").expect("strings grow");
    }
    std::fs::write(folder.join("phrases.txt"), phrases).expect("the phrases can be written");
    std::fs::write(folder.join("messages.txt"), DATA.messages.join("\n"))
        .expect("the messages can be written");
}

/// Prints the spread over single messages, each at its best of five runs.
fn print_spread(matcher: &FuzzyMatcher) {
    let mut times: Vec<Duration> = DATA
        .messages
        .iter()
        .map(|message| {
            let once = || {
                let start = Instant::now();
                black_box(matcher.rate(black_box(message), Strictness::Balanced));
                start.elapsed()
            };
            (0..5).map(|_| once()).min().unwrap_or_default()
        })
        .collect();
    times.sort_unstable();
    let answered = DATA
        .messages
        .iter()
        .filter(|text| matcher.rate(text, Strictness::Balanced).answer.is_some())
        .count();
    println!(
        "single messages: p50 {:?}, p99 {:?}; {answered} of {MESSAGES} answered; {} kB",
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        matcher.size() / 1_000
    );
}

fn main() {
    write_data();
    print_spread(&FuzzyMatcher::build(&texts(&DATA.rules)));
    divan::main();
}

#[divan::bench]
fn rate(bencher: Bencher<'_, '_>) {
    let matcher = FuzzyMatcher::build(&texts(&DATA.rules));
    bencher.counter(ItemsCount::new(MESSAGES)).bench_local(|| {
        DATA.messages
            .iter()
            .filter(|message| {
                matcher.rate(black_box(message), Strictness::Balanced).answer.is_some()
            })
            .count()
    });
}

#[divan::bench(args = [1_000, 10_000], sample_count = 10)]
fn build(bencher: Bencher<'_, '_>, rules: usize) {
    let texts = texts(&DATA.rules[..rules]);
    bencher.bench_local(|| FuzzyMatcher::build(black_box(&texts)));
}

/// Groups 10,000 unanswered questions, one half of them repeated with a typo.
#[divan::bench(sample_count = 10)]
fn group_10_000(bencher: Bencher<'_, '_>) {
    let first = DATA.rules.iter().take(5_000).map(|rule| rule[0].clone());
    let again = DATA.rules.iter().take(5_000).map(|rule| mistyped(&rule[0], ""));
    let texts: Vec<String> = first.chain(again).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    bencher.bench_local(|| group(black_box(&texts)));
}

#[divan::bench]
fn question(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(MESSAGES)).bench_local(|| {
        DATA.messages.iter().filter(|message| looks_like_question(black_box(message))).count()
    });
}
