//! Laws of bounded changes of coverage: what is left never tells of more backup than there was.

use proptest::prelude::*;

use super::*;

fn changes() -> impl Strategy<Value = Vec<Row>> {
    let kinds = prop::collection::vec(prop::sample::select(vec!["on", "off"]), 0..24);
    kinds.prop_map(|kinds| {
        // Times of different lengths.
        let at = |place: i64| place * 97 + place * place % 97;
        (0..).zip(kinds).map(|(place, kind)| (at(place), kind.to_owned())).collect()
    })
}

/// Returns whether there is backup after each change.
fn is_on(rows: &[Row], at: i64) -> bool {
    rows.iter().take_while(|(time, _)| *time <= at).last().is_some_and(|(_, kind)| kind == "on")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn less_is_told_and_never_more(rows in changes(), max in 0_usize..24) {
        let gone: Vec<Row> = superfluous(&rows, "on", max).into_iter().cloned().collect();
        let left: Vec<Row> = rows.iter().filter(|row| !gone.contains(row)).cloned().collect();
        prop_assert_eq!(left.len() + gone.len(), rows.len());
        prop_assert!(gone.is_empty() || rows.len() > max);
        for (at, _) in &rows {
            prop_assert!(is_on(&rows, *at) || !is_on(&left, *at), "backup at {at}");
        }
        let first = |rows: &[Row]| rows.iter().find(|(_, kind)| kind == "on").cloned();
        prop_assert_eq!(first(&left), first(&rows), "the start of all backup stays");
        prop_assert_eq!(is_on(&left, i64::MAX), is_on(&rows, i64::MAX), "and what lasts");
        prop_assert!(superfluous(&left, "on", max).is_empty(), "once is enough");
    }
}
