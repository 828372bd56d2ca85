//! Common words that carry little meaning: function words, particles, polite forms, question words.
//!
//! A channel's own phrases show what is frequent in them; a channel of five rules cannot. The
//! lists are short on purpose: the most frequent words of each language that never tell one
//! question from another.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::features::word_hash;
use super::hash::Hashed;
use crate::fold::alike::fold_alike;

/// Words of scripts with spaces, without apostrophes.
const WORDS: &str = "a an the i im ive id me my mine we our us you your youre u ur he she it its \
    they them their this that these those there here is are am was were be been being do does did \
    dont have has had having can could will would shall should may might must to of in on at for \
    from with about by as and or but if so than then too very just please pls plz thanks thank \
    what whats which who whos when where wheres why how hows not no yes ok okay hi hello hey get \
    got let lets tell know want wanna need like make made give go going gonna any some all more \
    up out into now again also thats hows really right maybe yeah one \
    other over because anything nothing something everything only even much many still well sure \
    haha hahaha lol s t m re ve ll d";

/// Strings of scripts without spaces, and of Korean.
const STRINGS: &str = "請問 嗎 呢 吧 啊 喔 哦 啦 的 了 是 我 你 您 他 她 們 我們 你們 他們 請 想 要 \
    想要 想問 什麼 甚麼 怎麼 怎樣 怎麼樣 如何 哪 哪裡 哪里 哪邊 哪個 幾 多少 為什麼 可以 可不可以 能 能不能 會 \
    有 有沒有 沒有 嗎 謝謝 您好 你好 不好意思 一下 這 那 這個 那個 在 和 跟 也 都 就 還 \
    です ですか ます ますか ました ません ませんか でしょうか ください 下さい お願いします おねがいします \
    教えて 教えてください 知りたい したい ありますか あります どう どうやって どうすれば どこ いつ 何 なに \
    なん どの どれ いくら なぜ すみません これ それ この その できますか できる という について は が を に で の と も か ね よ \
    ครับ คับ ค่ะ คะ ค่า นะ นะคะ นะครับ จ้า ไหม มั้ย หรือ หรือเปล่า รึเปล่า อะไร ที่ไหน ไหน เมื่อไหร่ \
    เมื่อไร ยังไง อย่างไร เท่าไหร่ เท่าไร กี่ ทำไม ใคร ขอ ช่วย หน่อย อยาก อยากทราบ สอบถาม ขอสอบถาม ได้ \
    ได้ไหม ที่ ของ และ เป็น มี คือ จะ ให้ ก็ แล้ว ไป มา กับ ใน ว่า ผม ดิฉัน หนู เรา คุณ ไม่ \
    은 는 이 가 을 를 에 에서 의 도 로 으로 요 니다 습니다 입니다 합니다 나요 까 까요 습니까 입니까 인가요 \
    어디 언제 뭐 무엇 어떻게 왜 누구 몇 얼마 얼마예요 있나요 있어요 되나요 해요 하나요 주세요 알려주세요 \
    싶어요 싶은데 저 제 이거 그거 안녕하세요 감사합니다";

/// Words of scripts with spaces by which a question asks.
const ASKING_WORDS: &str =
    "what whats which who whos when where wheres why how hows anyone anybody";

/// Words with which a question begins.
const ASKING_FIRST: &str =
    "can could does do did is are was were may will would should any have has";

/// Strings of scripts without spaces, and of Korean, by which a question asks.
const ASKING_STRINGS: &str = "請問 想問 嗎 呢 什麼 甚麼 怎麼 怎樣 如何 哪 幾 多少 多久 為什麼 誰 可不可以 能不能 有沒有 是不是 \
    ですか ますか ませんか でしょうか ください 教えて 知りたい どう どこ いつ 何 なに なん どの どれ いくら なぜ できますか \
    ไหม ไหน มั้ย มั๊ย ไม๊ ป่าว หรือเปล่า รึเปล่า อะไร ที่ไหน เมื่อไหร่ เมื่อไร ยังไง อย่างไร เท่าไหร่ เท่าไร กี่ ทำไม ใคร สอบถาม อยากทราบ อยากรู้ \
    나요 까요 습니까 입니까 인가요 어디 언제 뭐 무엇 어떻게 왜 누구 몇 얼마 알려주세요 알려줘 가요 있어요 되요 돼요";

/// Words, by the hashes of their features.
static COMMON_WORDS: LazyLock<HashSet<u64, Hashed>> = LazyLock::new(|| {
    let words = WORDS.split_whitespace().map(|word| word.chars().collect::<Vec<_>>());
    words.map(|word| word_hash(&word)).collect()
});

/// Strings, folded, by their first character, the longest first.
static COMMON_STRINGS: LazyLock<HashMap<char, Vec<Vec<char>>, Hashed>> = LazyLock::new(|| {
    let mut by_first: HashMap<char, Vec<Vec<char>>, Hashed> = HashMap::default();
    for text in STRINGS.split_whitespace() {
        let chars: Vec<char> = fold_alike(text).chars().collect();
        by_first.entry(chars[0]).or_default().push(chars);
    }
    for texts in by_first.values_mut() {
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    }
    by_first
});

static ASKING: LazyLock<(HashSet<&'static str>, Vec<String>)> = LazyLock::new(|| {
    let strings = ASKING_STRINGS.split_whitespace().map(fold_alike);
    (ASKING_WORDS.split_whitespace().collect(), strings.collect())
});

static ASKING_AT_FIRST: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| ASKING_FIRST.split_whitespace().collect());

/// Returns whether a text, folded by [`fold_alike`], looks like a question: it has a question mark,
/// or a word by which questions ask.
pub(super) fn is_asking(folded: &str) -> bool {
    let (words, strings) = &*ASKING;
    let mut all = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    folded.contains('?')
        || all.clone().next().is_some_and(|word| ASKING_AT_FIRST.contains(word))
        || all.any(|word| words.contains(word))
        || strings.iter().any(|string| folded.contains(string.as_str()))
}

/// Returns whether the word with that hash, of a script with spaces, is common.
pub(crate) fn is_common_word(name: u64) -> bool {
    COMMON_WORDS.contains(&name)
}

/// Marks the characters of a run that belong to common strings, from left to right, each time the
/// longest string. The characters are alike ([`fold_alike`]).
pub(crate) fn mark(run: &[char], marks: &mut Vec<bool>) {
    marks.clear();
    marks.resize(run.len(), false);
    let mut at = 0;
    while at < run.len() {
        let texts = COMMON_STRINGS.get(&run[at]).map_or(&[][..], Vec::as_slice);
        let len = texts.iter().find(|text| run[at..].starts_with(text)).map_or(0, Vec::len);
        marks[at..at + len].fill(true);
        at += len.max(1);
    }
}

/// Returns whether a phrase consists of common words and strings alone.
pub(super) fn is_common_phrase(phrase: &[char]) -> bool {
    let mut marks = Vec::new();
    phrase.split(|c| c.is_whitespace()).filter(|word| !word.is_empty()).all(|word| {
        mark(word, &mut marks);
        is_common_word(word_hash(word)) || marks.iter().all(|&marked| marked)
    })
}
