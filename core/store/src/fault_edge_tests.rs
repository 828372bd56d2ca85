//! Laws of errors: whatever is an outage may be tried again, and never closes what it cannot.

use proptest::prelude::*;

use super::*;

#[test]
fn an_outage_of_a_file_is_never_a_refusal() {
    for code in -1..=300 {
        let fault = of_result_code(code);
        if sqlite::outage_of(code).is_some() || breaks_file(code) {
            assert_eq!(fault, DatabaseFault::Unavailable, "{code}");
        }
        // An extended code is classified by its primary one.
        assert_eq!(sqlite::primary((7 << 8) | (code & 0xff)), code & 0xff);
    }
    for code in [sqlite::TOO_BIG, sqlite::CONSTRAINT, sqlite::MISMATCH, sqlite::RANGE] {
        assert_eq!(of_result_code(code), DatabaseFault::Refused, "{code}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_outage_of_a_server_is_never_a_refusal(
        class in "(08|22|23|25|26|28|3D|40|42|53|55|57|58|F0|XX|[0-9A-Z]{2})",
        rest in "(000|001|006|014|020|100|P0[0-9]|[0-9A-Z]{3})",
    ) {
        let code = format!("{class}{rest}");
        if sqlstate_outage(&code).is_some() {
            prop_assert_eq!(of_sqlstate(&code), DatabaseFault::Unavailable, "{}", code);
        }
    }

    #[test]
    fn a_code_of_any_form_is_classified(code in ".{0,6}") {
        let (fault, outage) = (of_sqlstate(&code), sqlstate_outage(&code));
        prop_assert!(outage.is_none() || fault == DatabaseFault::Unavailable, "{code}");
    }
}
