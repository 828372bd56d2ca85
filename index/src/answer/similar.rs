//! Unanswered questions: detection of messages that look like questions, and grouping of those that
//! ask the same.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::address::without_addresses;
use crate::fold::alike::fold_alike;
use crate::fold::{fold_cow, strip_marks};
use crate::fuzzy::features::{Extractor, Feature};
use crate::fuzzy::hash::Hashed;
use crate::script::Class;

/// Minimum cosine, of features weighted by rarity, of a message and the group it joins.
///
/// Two wordings of one question in the same words lie above it, questions about different things
/// in the same wording below.
const MIN_SIMILARITY: f32 = 0.5;
/// Maximum number of groups that a feature leads to. Features of more groups say little.
const GROUPS_A_FEATURE: usize = 256;

/// Messages that ask the same question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Indexes of the messages in the list, in order.
    pub members: Vec<usize>,
    /// Index of the message to show for all: the most frequent wording.
    pub representative: usize,
}

/// Groups texts that ask the same question; the largest group first, then the one whose
/// representative comes first.
///
/// Leader clustering: the most frequent wordings open groups, and the others join the nearest
/// group.
pub fn group(texts: &[&str]) -> Vec<Group> {
    let wordings = wordings(texts);
    let rarity = Rarity::of(&wordings);
    let mut leaders = Leaders::default();
    let mut groups: Vec<Group> = Vec::new();
    for wording in wordings {
        let vector = rarity.vector(&wording.features);
        if let Some(leader) = leaders.nearest(&vector) {
            groups[leader].members.extend(wording.members);
        } else {
            leaders.push(&vector);
            groups.push(Group { representative: wording.members[0], members: wording.members });
        }
    }
    for group in &mut groups {
        group.members.sort_unstable();
    }
    groups.sort_by_key(|group| (usize::MAX - group.members.len(), group.representative));
    groups
}

/// Texts with the same folded form.
struct Wording {
    members: Vec<usize>,
    features: Vec<Feature>,
}

/// Returns the different wordings, the most frequent first, then the one seen first.
fn wordings(texts: &[&str]) -> Vec<Wording> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut wordings: Vec<Wording> = Vec::new();
    let mut extractor = Extractor::default();
    for (at, text) in texts.iter().enumerate() {
        let folded = fold_alike(text);
        let phrase = strip_marks(&folded);
        if let Some(&place) = places.get(phrase) {
            wordings[place].members.push(at);
            continue;
        }
        extractor.extract(phrase);
        places.insert(phrase.to_owned(), wordings.len());
        wordings.push(Wording { members: vec![at], features: extractor.features.clone() });
    }
    wordings.sort_by_key(|wording| usize::MAX - wording.members.len());
    wordings
}

/// A feature and its share of a text's vector of length 1.
type Vector = Vec<(u64, f32)>;

/// Number of wordings in which each feature occurs.
struct Rarity {
    counts: HashMap<u64, u32, Hashed>,
    total: f32,
}

impl Rarity {
    #[expect(clippy::cast_precision_loss, reason = "a count of messages, of which the logarithm")]
    fn of(wordings: &[Wording]) -> Self {
        let mut counts: HashMap<u64, u32, Hashed> = HashMap::default();
        for feature in wordings.iter().flat_map(|wording| &wording.features) {
            *counts.entry(feature.hash).or_default() += 1;
        }
        Self { counts, total: wordings.len() as f32 + 9.0 }
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of messages, of which the logarithm")]
    fn vector(&self, features: &[Feature]) -> Vector {
        let weigh = |feature: &Feature| {
            let count = self.counts.get(&feature.hash).copied().unwrap_or(0) as f32;
            (feature.hash, feature.weight * (self.total / (count + 0.7)).ln())
        };
        let mut vector: Vector = features.iter().map(weigh).collect();
        let norm = vector.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        for (_, weight) in &mut vector {
            *weight /= norm;
        }
        vector
    }
}

/// First wordings of the groups, by feature.
#[derive(Default)]
struct Leaders {
    by_feature: HashMap<u64, Vec<(usize, f32)>, Hashed>,
    /// Similarity of the current text with each group; zeros between two texts.
    shared: Vec<f32>,
    touched: Vec<usize>,
}

impl Leaders {
    /// Opens a group.
    fn push(&mut self, vector: &[(u64, f32)]) {
        let leader = self.shared.len();
        self.shared.push(0.0);
        for &(feature, weight) in vector {
            let leaders = self.by_feature.entry(feature).or_default();
            if leaders.len() < GROUPS_A_FEATURE {
                leaders.push((leader, weight));
            }
        }
    }

    /// Returns the group that a text belongs to; of equally near ones the first.
    fn nearest(&mut self, vector: &[(u64, f32)]) -> Option<usize> {
        for (feature, weight) in vector {
            for &(leader, share) in self.by_feature.get(feature).map_or(&[][..], Vec::as_slice) {
                if self.shared[leader] == 0.0 {
                    self.touched.push(leader);
                }
                self.shared[leader] += weight * share;
            }
        }
        let mut nearest: Option<(usize, f32)> = None;
        for leader in self.touched.drain(..) {
            let share = std::mem::take(&mut self.shared[leader]);
            let better = |(best, most): (usize, f32)| {
                share > most || ((share - most).abs() < f32::EPSILON && leader < best)
            };
            if share >= MIN_SIMILARITY && nearest.is_none_or(better) {
                nearest = Some((leader, share));
            }
        }
        nearest.map(|(leader, _)| leader)
    }
}

/// Parts of questions anywhere in the text, in scripts without spaces and in Korean.
const ANYWHERE: &str = "嗎 吗 呢 什麼 什么 甚麼 怎麼 怎么 怎樣 怎样 哪 幾 几点 多少 請問 请问 為什麼 为什么 \
    為何 如何 是否 有沒有 有没有 可不可以 能不能 會不會 會不会 是不是 要不要 好不好 多久 多遠 多大 誰 何時 何处 \
    ですか ますか でしょうか ませんか ましたか だろうか のか 何時 何で 何を 何が 何の 何か 何人 何円 何曜 何日 何処 \
    なに なぜ いつ どこ だれ 誰 どれ どの どう どんな どちら どっち いくら いくつ 教えて 知りたい \
    ไหม มั้ย มั๊ย หรือเปล่า รึเปล่า หรือยัง รึยัง อะไร ที่ไหน ตรงไหน เมื่อไหร่ เมื่อไร เมื่อใด ยังไง อย่างไร \
    เท่าไหร่ เท่าไร กี่ ทำไม ใคร คนไหน อันไหน วันไหน แบบไหน สอบถาม อยากทราบ อยากรู้ \
    있나요 없나요 되나요 하나요 가나요 오나요 시나요 했나요 셨나요 었나요 았나요 겠나요 \
    까요 니까 인가요 은가요 던가요 을까 어디 언제 뭐 뭘 무엇 무슨 얼마 어떻게 어떤 왜 \
    누구 누가 몇 궁금";

/// Endings of questions, marks left out.
const AT_END: &str =
    "嗎 吗 呢 沒 没 か かな かね かい の เหรอ หรอ หรือ ปะ ป่ะ 까 냐 하니 했니 있니 가요 는지";

/// Words of scripts with spaces that open a question, perhaps after a greeting.
const OPENING: &str = "what whats who whos whom whose when whens where wheres which why how hows \
    is are am was were do does did can could will would shall should may have has had isnt arent \
    wasnt dont doesnt didnt cant couldnt wont wouldnt hasnt havent any anyone anybody";

/// Function words and greetings before the opening.
const BEFORE: &str = "hi hello hey so and but ok okay well please pls sorry excuse me um uh hmm \
    oh anyone guys all everyone team sir madam there then also yo";

/// Words that make a message a question anywhere in it.
const WONDERING: [&str; 7] =
    ["anyone know", "anybody know", "wondering", "how to", "how much", "how many", "tell me"];

/// Returns whether a message looks like a question, in any supported language, with or without a
/// mark.
///
/// Links and bare marks do not. Errs now and then in both directions: it sorts messages for an
/// owner to read, and decides no reply.
pub fn looks_like_question(text: &str) -> bool {
    let text = without_addresses(text);
    let folded = fold_cow(&text);
    let words: Vec<&str> = folded.split(' ').filter(|word| !word.contains("://")).collect();
    let text = words.join(" ");
    let phrase = strip_marks(&text);
    if !phrase.chars().any(|c| !matches!(Class::of(c), Class::Symbol | Class::Space)) {
        return false;
    }
    text.contains(is_question_mark)
        || has_question_string(phrase)
        || opens_question(phrase)
        || WONDERING.iter().any(|wondering| has_words(phrase, wondering))
}

/// Returns whether `c` is a question mark of any script, after folding.
fn is_question_mark(c: char) -> bool {
    matches!(c, '?' | '؟' | '՞' | '፧' | '❓' | '❔' | '⸮' | '⳺' | '꘏')
}

fn has_question_string(phrase: &str) -> bool {
    static FOLDED: LazyLock<Vec<String>> =
        LazyLock::new(|| ANYWHERE.split_whitespace().map(crate::fold).collect());
    FOLDED.iter().any(|part| phrase.contains(part))
        || AT_END.split_whitespace().any(|end| phrase.ends_with(end))
}

/// Returns whether an English question begins here: a question word or an inversion, after function
/// words.
fn opens_question(phrase: &str) -> bool {
    let plain = |word: &str| word.replace(|c: char| !c.is_alphanumeric(), "");
    let is_in = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let mut words = phrase.split([' ', ',', '.', '!']).map(plain).filter(|word| !word.is_empty());
    let first = words.find(|word| !is_in(BEFORE, word) || is_in(OPENING, word));
    first.is_some_and(|word| is_in(OPENING, &word)) && words.next().is_some()
}

/// Returns whether `phrase` contains these words one after another.
fn has_words(phrase: &str, words: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| Class::of(c) == Class::Word);
    phrase.match_indices(words).any(|(at, _)| {
        let after = &phrase[at + words.len()..];
        !is_letter(phrase[..at].chars().next_back()) && !is_letter(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_from_the_rest_in_every_language() {
        for question in [
            "where is the toilet",
            "Hi, is there any parking nearby",
            "do you ship to Japan",
            "anyone know the wifi password",
            "price?",
            "請問營業時間",
            "有停車位嗎",
            "運費多少",
            "這個怎麼用",
            "營業時間？",
            "駐車場はありますか",
            "明日やってるの？",
            "何時まで開いてる",
            "ร้านเปิดกี่โมง",
            "มีที่จอดรถไหมคะ",
            "จ่ายยังไง",
            "ส่งฟรีรึเปล่า",
            "주차 가능한가요",
            "영업시간이 언제예요",
            "이거 얼마예요",
            "몇 시에 열어요",
            "ما هو السعر؟",
            "官網https://a.example可以退費嗎？",
            "申込はhttps://c.exampleからできますか？",
            "สมัครที่https://d.exampleได้ไหม",
        ] {
            assert!(looks_like_question(question), "{question}");
        }
        for other in [
            "thanks everyone",
            "see you at the station",
            "I will bring the cake",
            "???",
            "https://example.org/watch?v=1",
            "www.example.org/watch?v=1",
            "今天天氣真好",
            "好的謝謝",
            "明日は晴れです",
            "ありがとうございます",
            "ขอบคุณค่ะ",
            "ไปทะเลกัน",
            "고마워요",
            "내일 만나요",
            "",
        ] {
            assert!(!looks_like_question(other), "{other}");
        }
    }

    #[test]
    fn the_same_question_is_one_group_however_it_is_worded() {
        let texts = [
            "where is the parking lot",
            "有停車場嗎",
            "Where is the parking lot?",
            "when does the shop open",
            "請問有停車場嗎？",
            "where is your parking lot",
            "ร้านเปิดกี่โมง",
            "ร้านเปิดกี่โมงคะ",
            "주차장은 어디에 있나요",
            "주차장이 어디에 있나요",
            "where is the meeting room",
        ];
        let groups = group(&texts);
        let members: Vec<&[usize]> = groups.iter().map(|group| &*group.members).collect();
        assert_eq!(members, [&[0, 2, 5][..], &[1, 4], &[6, 7], &[8, 9], &[3], &[10]]);
        assert_eq!(groups[0].representative, 0);
    }

    #[test]
    fn the_most_frequent_wording_stands_for_its_group() {
        let texts = ["is the pool open today?", "is the pool open", "Is the pool open?", "zzz"];
        let groups = group(&texts);
        assert_eq!(groups[0], Group { members: vec![0, 1, 2], representative: 1 });
        assert_eq!(groups.len(), 2);
        assert_eq!(group(&[]), []);
        assert_eq!(group(&["", "?", "!"]).iter().map(|g| g.members.len()).sum::<usize>(), 3);
    }
}
