//! Names of people: everybody is found by their own name, in any spelling of it.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::names::{NameMatch, Named, distance, find, folded, unique};

/// Names, each row in the spellings that are one name.
const NAMES: [&[&str]; 8] = [
    &["Ann Lee", "ANN LEE", "ａｎｎ　ｌｅｅ", " Ann Lee ", "@Ann Lee", "🌸Ann Lee🌸", "Ann Lee!"],
    &["José", "Jose", "JOSE\u{301}", "~josé~"],
    &["陳怡君", "陈怡君", "【陳怡君】", "陳怡君🎀"],
    &["ガオ", "ｶﾞｵ", "ガオ♪"],
    &["\u{e41}ม่", "\u{e40}\u{e40}ม่", "\u{e41}ม่🧡"],
    &["Müller", "MÜLLER", "mu\u{308}ller"],
    &["👨\u{200d}👩\u{200d}👧"],
    &["C1", "c１"],
];

/// Returns people with these names, by number.
fn people(names: &[&str]) -> Named<String> {
    let people = names.iter().enumerate();
    people.map(|(nth, name)| (format!("U{nth:02}"), Some((*name).to_owned()))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ornaments_and_case_are_no_part_of_a_name(
        name in "[a-z][a-z陳美ก]{0,10}[a-z]",
        before in select(vec!["", "@", "🌸", "~ ", "【", "★☆", "\u{2728}\u{fe0f}"]),
        after in select(vec!["", "!", "🌸", " ~", "】", "♡♡", "❤\u{fe0f}"]),
    ) {
        let plain = folded(&name);
        let written = format!("{before}{}{after}", name.to_uppercase());
        prop_assert_eq!(folded(&written), &*plain, "{}", written);
        prop_assert_eq!(folded(&plain), &*plain, "once is enough");
    }

    #[test]
    fn a_name_is_nearest_to_itself(name in "[a-z陳美]{1,12}", other in "[a-z陳美]{1,12}") {
        prop_assert_eq!(distance(&name, &name), Some(0));
        // Of what is near, no more than a quarter of the letters, and one, are others.
        if let Some(far) = distance(&name, &other) {
            prop_assert!(far <= 1 + name.chars().count() / 4, "{} {}", name, other);
            let is_part = name.contains(&other) || other.contains(&name);
            prop_assert_eq!(far == 0, is_part, "{} {}", name, other);
        }
        prop_assert_eq!(distance("", &name).or(distance(&name, "")), None);
    }

    #[test]
    fn whose_name_nobody_shares_is_told_apart(chosen in vec(0..NAMES.len(), 1..12)) {
        let names: Vec<_> = chosen.iter().map(|row| NAMES[*row][0].to_owned()).collect();
        let apart = runtime().block_on(unique(names));
        for (row, spellings) in NAMES.iter().enumerate() {
            let bearers = chosen.iter().filter(|one| **one == row).count();
            prop_assert_eq!(apart.contains(spellings[0]), bearers == 1, "{}", spellings[0]);
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[tokio::test]
async fn everybody_is_found_by_any_spelling_of_their_name() {
    let all: Vec<_> = NAMES.iter().map(|spellings| spellings[0]).collect();
    for (nth, spellings) in NAMES.iter().enumerate() {
        for spelling in *spellings {
            let found = find(spelling, people(&all)).await;
            assert_eq!(found, NameMatch::Name(format!("U{nth:02}")), "{spelling}");
            // And whoever is called so is found by the usual one.
            let called: Vec<_> =
                all.iter().map(|name| if *name == all[nth] { *spelling } else { *name }).collect();
            let found = find(all[nth], people(&called)).await;
            assert_eq!(found, NameMatch::Name(format!("U{nth:02}")), "{spelling}");
        }
    }
}

#[tokio::test]
async fn an_id_comes_before_a_name_and_several_of_one_name_are_all_told() {
    // Somebody is called like the id of another one.
    let found = find("U01", people(&["u01", "Bo"])).await;
    assert_eq!(found, NameMatch::Id("U01".to_owned()));
    assert_eq!(find("u01", people(&["u01", "Bo"])).await, NameMatch::Name("U00".to_owned()));
    let found = find("bo", people(&["Bo", "Zoe", "BO!", "Ｂｏ"])).await;
    let several = [("U00", "Bo"), ("U02", "BO!"), ("U03", "Ｂｏ")];
    let several = several.map(|(id, name)| (id.to_owned(), name.to_owned()));
    assert_eq!(found, NameMatch::Names(several.to_vec()));
    let nobody = find("bo", vec![("U1".to_owned(), None)]).await;
    assert_eq!(nobody, NameMatch::Unknown(Vec::new()), "who has no name is not near");
    for nothing in ["", " ", "🌸"] {
        let found = find(nothing, people(&["Ann", "Bo"])).await;
        assert_eq!(found, NameMatch::Unknown(Vec::new()), "{nothing:?}");
    }
}
