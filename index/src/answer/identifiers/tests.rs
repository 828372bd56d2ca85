//! Tests of identifiers: which a text has, and which texts are about different things.

use super::*;
use crate::fold::alike::fold_alike;
use crate::fold::fold_phrase;

fn of(text: &str) -> Vec<String> {
    let identifiers = Identifiers::of(&fold_phrase(text));
    identifiers.names.iter().map(|name| name.clone().into_string()).collect()
}

/// Returns whether two texts conflict, which they do in either order and folded for either mode.
fn conflict(one: &str, other: &str) -> bool {
    let all = [fold_phrase, fold_alike].map(|fold| {
        let (one, other) = (Identifiers::of(&fold(one)), Identifiers::of(&fold(other)));
        [one.conflict(&other), other.conflict(&one)]
    });
    let found = all[0][0];
    assert_eq!(all, [[found; 2]; 2], "{one} {other}");
    found
}

#[test]
fn numbers_and_single_letters_are_identifiers() {
    for (text, identifiers) in [
        ("3年級家長會", &["3"][..]),
        ("Ａ棟電梯 ３樓", &["3", "a"]),
        ("plan b", &["b"]),
        ("I have a plan", &[]),
        ("2nd team, room 07", &["2", "7"]),
        ("room 0", &["0"]),
        ("7-11", &["11", "7"]),
        ("5月5日", &["5", "5"]),
        ("wifi über x", &["x"]),
        ("3ème étage", &["3"]),
        ("what's that", &[]),
        ("how r u", &[]),
        ("家長會幾點 :D <3 T_T", &[]),
        ("T-shirt, Q&A", &[]),
        ("いつw", &[]),
        ("plan-b", &["b"]),
        ("room 3b", &["3b"]),
        ("é9", &[]),
        ("早安", &[]),
        ("", &[]),
    ] {
        assert_eq!(of(text), identifiers, "{text}");
    }
    assert_eq!(without_identifiers("a棟 3樓 wifi b"), " 棟  樓 wifi  ");
    assert_eq!(without_identifiers("三年級甲班 ๔ 一起"), " 年級 班   一起");
}

#[test]
fn digits_of_every_script_are_numbers() {
    for text in ["ชั้น ๔", "ຊັ້ນ ໔", "ជាន់ ៤", "طابق ٤", "मंज़िल ०४", "４樓", "四樓"]
    {
        assert_eq!(of(text), ["4"], "{text}");
    }
}

#[test]
fn numerals_count_where_a_counter_is_beside_them() {
    for (text, identifiers) in [
        ("四年級", &["4"][..]),
        ("十二月二十五日", &["12", "25"]),
        ("三十一號", &["31"]),
        ("廿五日 卅日", &["25", "30"]),
        ("二〇二五年", &["2025"]),
        ("第一次月考", &["1"]),
        ("第三", &["3"]),
        ("下午一點", &["1"]),
        ("一點半 十分鐘", &["1", "10"]),
        ("兩點集合", &["2"]),
        ("週三 星期四 禮拜五", &["3", "4", "5"]),
        ("甲班 乙組", &["乙", "甲"]),
        ("三階の会議室", &["3"]),
    ] {
        assert_eq!(of(text), identifiers, "{text}");
    }
    for text in [
        "一起吃飯",
        "等一下",
        "三明治",
        "不一樣",
        "萬一",
        "再說一次",
        "快一點",
        "十分好吃",
        "下一班車",
        "每週一起吃飯",
        "星期一定要來",
        "一番近い駅",
        "一時停止",
        "三輪車",
        "七夕",
        "百年好合",
        "指甲",
        "丁香",
    ] {
        assert_eq!(of(text), [""; 0], "{text}");
    }
}

#[test]
fn single_letters_of_other_alphabets_are_identifiers_unless_they_join_words() {
    for (text, identifiers) in [
        ("план Б", &["б"][..]),
        ("план В", &["в"]),
        ("5а класс", &["5а"]),
        ("5 «А» класс", &["5", "а"]),
        ("σχέδιο α", &["α"]),
        ("כיתה א", &["א"]),
        ("кто в доме", &[]),
        ("я и ты", &[]),
        ("è vero", &[]),
        ("ở đâu ạ", &[]),
        ("न", &[]),
    ] {
        assert_eq!(of(text), identifiers, "{text}");
    }
}

#[test]
fn texts_conflict_where_each_has_what_the_other_lacks() {
    for (one, other) in [
        ("3樓", "2樓"),
        ("5年3班", "5年2班"),
        ("plan c", "plan b"),
        ("11月", "10月"),
        ("5月5日活動", "5月6日活動"),
        ("5月5日活動", "6月5日活動"),
        ("10號10點集合", "10號9點集合"),
        ("3年3班功課", "3年4班功課"),
        ("bus 10 at 10", "bus 12 at 10"),
        ("四年級", "三年級"),
        ("四年級", "3年級"),
        ("三班功課", "十三班功課"),
        ("五月五日活動", "五月六日活動"),
        ("下午一點集合", "下午兩點集合"),
        ("星期三練習", "星期四練習"),
        ("ชั้น ๔", "ชั้น ๓"),
        ("甲班功課", "乙班功課"),
        ("plan Б", "plan В"),
        ("5а класс", "5б класс"),
        ("σχέδιο α", "σχέδιο β"),
    ] {
        assert!(conflict(one, other), "{one} {other}");
        assert!(!conflict(one, one) && !conflict(other, other), "{one} {other}");
    }
    for (one, other) in [
        ("3樓 5人", "3樓"),
        ("樓", "3樓"),
        ("3樓", "3f 3樓"),
        ("早", "安"),
        ("三年級", "3年級"),
        ("五月五日", "5月5日"),
        ("二十一號", "21號"),
        ("ชั้น ๔", "ชั้น 4"),
        ("一起去3樓", "3樓"),
    ] {
        assert!(!conflict(one, other), "{one} {other}");
    }
}

#[test]
fn the_same_numbers_conflict_where_they_changed_places() {
    for (one, other) in [
        ("3年4班功課", "4年3班功課"),
        ("3 年 4 班", "4 年 3 班"),
        ("三年四班", "4年3班"),
        ("3號4點", "4号3点"),
        ("bus 12 at 10", "bus 10 at 12"),
        ("3 days 2 nights", "2 days 3 nights"),
        ("ชั้น 3 ห้อง 4", "ชั้น 4 ห้อง 3"),
        ("3학년 4반", "4학년 3반"),
        ("5/6 活動", "6/5 活動"),
        ("從3樓到4樓", "從4樓到3樓"),
    ] {
        assert!(conflict(one, other), "{one} {other}");
    }
    for (one, other) in [
        ("at 10 the bus 12", "bus 12 at 10"),
        ("10號9點集合", "9點10號集合"),
        ("3號4點", "4点3号"),
        ("1年2班3號", "2班1年3號"),
        ("去3樓到4號", "去4號到3樓"),
        ("3年4班功課", "請問3年4班的功課"),
        ("7-11", "7-11 在哪"),
    ] {
        assert!(!conflict(one, other), "{one} {other}");
    }
}

#[test]
fn phrases_that_name_different_things_vary() {
    let vary = |texts: &[&str]| {
        Identifiers::vary(&texts.iter().map(|text| Identifiers::of(text)).collect::<Vec<_>>())
    };
    assert!(vary(&["in 5 minutes", "timer", "in 10 minutes"]));
    assert!(vary(&["3年4班", "4年3班"]));
    assert!(!vary(&["3樓", "3樓 電梯", "電梯"]) && !vary(&["3年級", "三年級"]) && !vary(&[]));
}
