//! Tests of the matcher with an embedder whose vectors are made of words.

use super::*;
use crate::answer::with_not_for;
use crate::embed::Embedder;

/// An embedder of bags of words; words of one group mean the same.
#[derive(Debug)]
struct Words;

const GROUPS: [&[&str]; 6] = [
    &["open", "hours", "closing"],
    &["where", "address", "street"],
    &["pay", "card", "cash"],
    &["dog", "cat", "pets"],
    &["morning", "everyone", "tired", "cute"],
    &["know", "yet", "weekend"],
];

impl Embedder for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn dimensions(&self) -> usize {
        GROUPS.len() + 2
    }

    fn embed(&self, texts: &[&str]) -> Vec<f32> {
        texts.iter().flat_map(|text| vector(text)).collect()
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; GROUPS.len() + 2];
    for word in text.split(' ') {
        match GROUPS.iter().position(|group| group.contains(&word)) {
            Some(group) => vector[group] += 1.0,
            None => vector[GROUPS.len() + word.len() % 2] += 0.2,
        }
    }
    crate::embed::normalize(&mut vector);
    vector
}

const CALIBRATION: Calibration = Calibration {
    nearest: 4.0,
    centroid: 4.0,
    classifier: 4.0,
    lexical: 1.0,
    rival: 0.0,
    bias: -6.0,
    few_rules: 0.0,
    acceptance: AcceptanceLevels::new([0.8, 0.7, 0.6], 0.1),
};

fn space() -> Arc<SemanticSpace> {
    Arc::new(SemanticSpace::new(Arc::new(Words), CALIBRATION))
}

fn build(rules: &[(&[&str], &str)], known: &dyn PhraseVectors) -> SemanticMatcher {
    build_in(&space(), rules, known)
}

/// Returns components of vectors, others for each seed.
pub(super) fn numbers(seed: usize, count: usize) -> Vec<f32> {
    let angles = (0..count).map(|at| u16::try_from((at + 1) * (seed + 3) % 60_000).unwrap());
    angles.map(|angle| f32::from(angle).sin()).collect()
}

fn build_in(
    space: &Arc<SemanticSpace>,
    rules: &[(&[&str], &str)],
    known: &dyn PhraseVectors,
) -> SemanticMatcher {
    let owned: Vec<(Vec<String>, &str)> = rules
        .iter()
        .map(|(keywords, question)| (keywords.iter().map(ToString::to_string).collect(), *question))
        .collect();
    let rules: Vec<RuleText<'_>> = owned
        .iter()
        .map(|(keywords, question)| RuleText { keywords, question, ..RuleText::default() })
        .collect();
    SemanticMatcher::build(&rules, space, known).expect("builds")
}

const RULES: [(&[&str], &str); 4] = [
    (&["open"], "which hours"),
    (&["address"], ""),
    (&["card", "wifi 密碼"], "how to pay"),
    (&["👍", "ok"], ""),
];

#[test]
fn the_rule_that_means_the_same_answers() {
    let matcher = build(&RULES, &NoVectors);
    assert_eq!(matcher.rate("closing", Strictness::Balanced).answer, Some(0));
    assert_eq!(matcher.rate("street", Strictness::Balanced).answer, Some(1));
    assert_eq!(matcher.rate("with cash", Strictness::Balanced).answer, Some(2));
    assert_eq!(matcher.rate("my cute dog", Strictness::Balanced).answer, None);
    let both = matcher.rate("street cash", Strictness::Balanced);
    assert_eq!(both.answer, None, "two rules fit: {both:?}");
}

#[test]
fn a_phrase_itself_scores_1_and_always_answers() {
    let matcher = build(&[RULES[0], RULES[1], RULES[1]], &NoVectors);
    let rating = matcher.rate("Address？", Strictness::Balanced);
    assert_eq!(rating.answer, Some(1), "the older of two");
    assert_eq!(rating.candidates[0], Candidate::new(1, 1.0));
    assert!(rating.candidates[1].score < 1.0);
}

#[test]
fn messages_of_no_letters_answer_only_what_they_are() {
    let matcher = build(&RULES, &NoVectors);
    assert_eq!(matcher.rate("👍", Strictness::Balanced).answer, Some(3));
    assert_eq!(matcher.rate("OK!", Strictness::Balanced).answer, Some(3));
    for message in ["", "👌", "555", "k", "哈哈哈"] {
        assert_eq!(matcher.rate(message, Strictness::Balanced), Rating::default(), "{message}");
    }
}

#[test]
fn a_phrase_within_a_message_counts_by_its_share() {
    let matcher = build(&RULES, &NoVectors);
    let rating = matcher.rate("wifi 密碼呢", Strictness::Balanced);
    assert_eq!(rating.answer, Some(2), "{rating:?}");
    let lost =
        matcher.rate("blah blah blah wifi 密碼 blah blah blah blah blah", Strictness::Balanced);
    assert!(lost.candidates[0].score < rating.candidates[0].score);
}

#[test]
fn a_rebuilt_matcher_embeds_only_what_is_new() {
    #[derive(Debug)]
    struct Once(std::sync::Mutex<Vec<String>>);
    impl Embedder for Once {
        fn name(&self) -> &'static str {
            "once"
        }
        fn dimensions(&self) -> usize {
            Words.dimensions()
        }
        fn embed(&self, texts: &[&str]) -> Vec<f32> {
            self.0.lock().expect("unpoisoned").extend(texts.iter().map(ToString::to_string));
            Words.embed(texts)
        }
    }
    let embedder = Arc::new(Once(std::sync::Mutex::default()));
    let space = Arc::new(SemanticSpace::new(Arc::clone(&embedder) as _, CALIBRATION));
    let first = build_in(&space, &RULES, &NoVectors);
    embedder.0.lock().expect("unpoisoned").clear();
    let mut changed = RULES.to_vec();
    changed.insert(0, (&["pets"], ""));
    let second = build_in(&space, &changed, &first);
    assert_eq!(*embedder.0.lock().expect("unpoisoned"), ["pets"]);
    let fresh = build_in(&space, &changed, &NoVectors);
    for message in ["closing", "street", "my dog", "cash"] {
        assert_eq!(
            second.rate(message, Strictness::Balanced),
            fresh.rate(message, Strictness::Balanced),
            "{message}"
        );
    }
    assert!(!first.copy(&self::space(), "open", &mut [0.0; 8]), "another space");
}

#[test]
fn no_rules_and_rules_without_phrases_are_silent() {
    let none = build(&[], &NoVectors);
    assert!(none.is_empty());
    assert_eq!(none.rate("opening hours", Strictness::Balanced), Rating::default());
    let empty = build(&[(&[], ""), (&[" "], " ")], &NoVectors);
    assert_eq!(empty.len(), 2);
    assert_eq!(empty.rate("opening hours", Strictness::Balanced).answer, None);
}

#[test]
fn many_rules_are_told_apart_in_the_second_pass() {
    let letter =
        |digit: char| char::from(b'k' + u8::try_from(digit.to_digit(10).unwrap()).unwrap());
    let spelled = |number: u32| number.to_string().chars().map(letter).collect::<String>();
    let name = |at: u32, other: u32| format!("number {} {}", spelled(at), spelled(other));
    let names: Vec<String> = (0..2_000).map(|at| name(at, at * 7_919)).collect();
    let keywords: Vec<[String; 1]> = names.iter().map(|name| [name.clone()]).collect();
    let rules: Vec<RuleText<'_>> =
        keywords.iter().map(|keywords| RuleText { keywords, ..RuleText::default() }).collect();
    let matcher = SemanticMatcher::build(&rules, &space(), &NoVectors).expect("builds");
    let rating = matcher.rate(&name(1_234, 1_234 * 7_919 + 1), Strictness::Balanced);
    assert_eq!(rating.candidates[0].rule, 1_234);
    assert_eq!(rating.candidates.len(), CANDIDATES);
    assert!(matcher.size() > 2_000 * 8);
}

#[test]
fn a_message_is_answered_in_its_own_language_where_a_rule_is_there_in_several() {
    let translated: [(&[&str], &str); 8] = [
        (&["停車"], "附近可以停車嗎？"),
        (&["營業時間"], "你們幾點開門？"),
        (&["จอดรถ"], "จอดรถได้ที่ไหน"),
        (&["เวลาเปิดร้าน"], "ร้านเปิดกี่โมง"),
        (&["parking"], "Where can I park?"),
        (&["opening hours"], "When are you open?"),
        (&["駐車場"], "車はどこに止められますか"),
        (&["営業時間"], "何時に開きますか"),
    ];
    let several = build_in(&SemanticSpace::built_in(), &translated, &NoVectors);
    for (message, rule) in [
        ("車要停哪裡", 0),
        ("你們今天有開嗎", 1),
        ("ที่จอดรถอยู่ตรงไหน", 2),
        ("วันนี้เปิดถึงกี่โมงคะ", 3),
        ("where do I leave my car", 4),
        ("what time do you close", 5),
        ("車を停めるところはありますか", 6),
        ("今日は何時までやってますか", 7),
    ] {
        let rating = several.rate(message, Strictness::Balanced);
        assert_eq!(rating.answer, Some(rule), "{message}: {rating:?}");
    }
    assert!(
        several.rate("주차장이 어디예요", Strictness::Balanced).answer.is_some(),
        "in one of them, if not in its own"
    );
    let chinese = build_in(&SemanticSpace::built_in(), &translated[..2], &NoVectors);
    for message in ["車を停めるところはありますか", "ที่จอดรถอยู่ตรงไหน"]
    {
        assert_eq!(
            chinese.rate(message, Strictness::Balanced).answer,
            Some(0),
            "{message}: the only ones there are"
        );
    }
}

#[test]
fn texts_in_scripts_that_the_embedder_does_not_know_answer_by_their_letters_alone() {
    let thai: (&[&str], &str) = (&["เวลาเปิด"], "ร้านเปิดกี่โมง");
    let english: (&[&str], &str) = (&["opening hours"], "When are you open?");
    for (rule, same, others) in [
        (
            (&["ဖွင့်ချိန်"][..], "ဆိုင်ဘယ်အချိန်ဖွင့်လဲ"),
            "ဆိုင် ဘယ်အချိန်ဖွင့်လဲ",
            ["ကျေးဇူးတင်ပါတယ်", "ຂອບໃຈຫຼາຍໆ", "សួស្តីបង", "ধন্যবাদ"],
        ),
        (
            (&["ώρες λειτουργίας"][..], "Πότε ανοίγετε;"),
            "πότε ανοίγετε",
            ["Ευχαριστώ πολύ", "Θα έρθω αύριο", "გმადლობთ", "תודה רבה"],
        ),
        (
            (&["दुकान कब खुलती है"][..], ""),
            "दुकान कब खुलती है",
            ["शुक्रिया भाई", "मैं कल आऊंगा", "မနက်ဖြန် 10:30", "ཐུགས་རྗེ་ཆེ"],
        ),
    ] {
        let matcher = build_in(&SemanticSpace::built_in(), &[thai, english, rule], &NoVectors);
        assert_eq!(matcher.rate(same, Strictness::Balanced).answer, Some(2), "{same}");
        for message in others {
            let rating = matcher.rate(message, Strictness::Balanced);
            assert_eq!(rating.answer, None, "{message}: {rating:?}");
        }
    }
}

#[test]
fn translations_do_not_weaken_each_other() {
    let one: [(&[&str], &str); 2] = [(&["停車"], "附近可以停車嗎？"), (&["地址"], "店在哪裡？")];
    let other = (&["จอดรถ"][..], "จอดรถได้ที่ไหน");
    let score = |rules: &[(&[&str], &str)]| {
        let rating = build_in(&SemanticSpace::built_in(), rules, &NoVectors)
            .rate("車要停哪裡", Strictness::Balanced);
        rating.candidates[0].score
    };
    let (alone, beside) = (score(&one), score(&[one[0], one[1], other]));
    assert!((alone - beside).abs() < 0.01, "{alone} {beside}");
}

/// Builds rules of one keyword each, with the texts that they must not answer.
fn build_not_for(space: &Arc<SemanticSpace>, rules: &[(&str, &[&str])]) -> SemanticMatcher {
    let build = |rules: &[RuleText<'_>]| SemanticMatcher::build(rules, space, &NoVectors);
    with_not_for(rules, build).expect("builds")
}

const OPENING: &str = "what are your opening hours";
const HOLIDAYS: &str = "are you open on public holidays";

#[test]
fn a_rule_does_not_answer_what_is_nearer_to_a_text_that_is_not_for_it() {
    let space = SemanticSpace::built_in();
    let rules = |not_for| build_not_for(&space, &[(OPENING, not_for), ("how do I pay", &[])]);
    let answer =
        |matcher: &SemanticMatcher, message: &str| matcher.rate(message, Strictness::Eager).answer;
    let (before, after) = (rules(&[]), rules(&[HOLIDAYS]));
    for message in [HOLIDAYS, "are you open on holidays?"] {
        assert_eq!(answer(&before, message), Some(0), "{message}");
        assert_eq!(answer(&after, message), None, "{message}");
        let rating = after.rate(message, Strictness::Eager);
        assert!(rating.candidates[0].excluded, "{rating:?}");
    }
    for message in ["what are the opening hours", "your opening hours please"] {
        assert_eq!(answer(&after, message), Some(0), "{message}");
    }
}

#[test]
fn a_rule_may_answer_what_is_not_for_another_one() {
    let space = SemanticSpace::built_in();
    let rules: [(&str, &[&str]); 2] = [(OPENING, &[HOLIDAYS]), ("public holidays", &[])];
    let rating = build_not_for(&space, &rules).rate(HOLIDAYS, Strictness::Balanced);
    assert_eq!(rating.answer, Some(1), "{rating:?}");
}

#[test]
fn texts_that_are_not_for_a_rule_change_no_score() {
    let space = SemanticSpace::built_in();
    let plain: [(&str, &[&str]); 3] =
        [(OPENING, &[]), ("how do I pay", &[]), ("停車場在哪裡", &[])];
    let mut with_texts = plain;
    with_texts[0].1 = &[HOLIDAYS, "午休時間", "when do you close for lunch"];
    with_texts[2].1 = &["停車費多少"];
    let (before, after) = (build_not_for(&space, &plain), build_not_for(&space, &with_texts));
    for message in ["can I pay by card", "opening hours on sunday", "附近停車", "see you later"]
    {
        let of = |matcher: &SemanticMatcher| {
            let rating = matcher.rate(message, Strictness::Balanced);
            let scores = rating.candidates.iter().map(|near| (near.rule, near.score.to_bits()));
            scores.collect::<Vec<_>>()
        };
        assert_eq!(of(&before), of(&after), "{message}");
    }
    assert!(after.size() > before.size());
}

#[test]
fn a_text_itself_is_excluded_however_near_the_rule() {
    let space = SemanticSpace::built_in();
    let rules: [(&str, &[&str]); 2] =
        [("thank you", &["thank you 🙏"]), ("wi-fi password", &["wi fi password"])];
    let matcher = build_not_for(&space, &rules);
    for message in ["thank you 🙏", "WI FI password?"] {
        let rating = matcher.rate(message, Strictness::Eager);
        assert_eq!(rating.answer, None, "{message}: {rating:?}");
    }
    for (message, rule) in [("thank you!", 0), ("the wi-fi password", 1)] {
        assert_eq!(matcher.rate(message, Strictness::Balanced).answer, Some(rule), "{message}");
    }
}

#[test]
fn however_many_rules_are_excluded_the_next_one_answers() {
    let space = SemanticSpace::built_in();
    let words = [
        "hours of opening",
        "the opening hours",
        "opening hours today",
        "opening hours now",
        "our opening hours",
        "opening hours here",
    ];
    let message = "what are your opening hours";
    let mut rules: Vec<(&str, &[&str])> = words.iter().map(|word| (*word, &[][..])).collect();
    let before = build_not_for(&space, &rules).rate(message, Strictness::Eager);
    for rule in rules.iter_mut().take(5) {
        rule.1 = &["what are your opening hours"];
    }
    let after = build_not_for(&space, &rules).rate(message, Strictness::Eager);
    assert_eq!(after.answer, Some(5), "{before:?} {after:?}");
    assert_eq!(after.candidates.len(), CANDIDATES);
}
