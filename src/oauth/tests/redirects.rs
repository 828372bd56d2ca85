//! Addresses that people are sent back to: whatever a program declares, no browser runs it, and
//! what is added to it does not change where it leads.

use proptest::prelude::*;
use proptest::sample::select;
use url::Url;

use super::super::redirect::{RedirectPlace, acceptable, is_named, place, source, with};

/// Parts of which addresses are made, right and wrong ones.
const PARTS: [&str; 32] = [
    "https",
    "http",
    "javascript",
    "data",
    "com.example.app",
    "cursor",
    "file",
    "about",
    ":",
    "//",
    "/",
    "\\",
    "@",
    "#",
    "?",
    "%",
    "a.example",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "0x7f.1",
    "evil",
    ".",
    "..",
    " ",
    "\t",
    "\n",
    "é",
    "x=y",
    "&",
    ":80",
    ";",
];

fn addresses() -> impl Strategy<Value = String> {
    proptest::collection::vec(select(PARTS.to_vec()), 1..9).prop_map(|parts| parts.concat())
}

/// Returns addresses most of which are acceptable.
fn declared() -> impl Strategy<Value = String> {
    let places =
        ["https://a.example", "http://localhost", "http://127.0.0.1:81", "com.example.app:"];
    let ends = proptest::collection::vec(select(PARTS.to_vec()), 0..5);
    (select(places.to_vec()), ends).prop_map(|(place, ends)| format!("{place}/{}", ends.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_accepted_is_web_own_machine_or_a_program(
        address in prop_oneof![addresses(), declared()],
    ) {
        prop_assume!(acceptable(&address));
        let url = Url::parse(&address).unwrap();
        let is_own = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match url.scheme() {
            "https" => prop_assert!(url.has_host()),
            "http" => prop_assert!(is_own, "{}", address),
            own => prop_assert!(own.contains('.') || own == "cursor", "{}", address),
        }
        prop_assert!(url.fragment().is_none() && url.username().is_empty(), "{}", address);
        prop_assert!(address.bytes().all(|byte| byte.is_ascii_graphic()), "{}", address);
        prop_assert!(is_named(std::slice::from_ref(&address), &address));
        prop_assert!(!is_named(&[], &address));
    }

    #[test]
    fn what_is_added_leads_to_the_same_place(
        address in declared(),
        state in any::<String>(),
        code in "[a-z_]{1,9}",
    ) {
        prop_assume!(acceptable(&address));
        let led = with(&address, &[("code", &code), ("state", &state)]).unwrap();
        let (before, after) = (Url::parse(&address).unwrap(), Url::parse(&led).unwrap());
        prop_assert_eq!(before.scheme(), after.scheme());
        prop_assert_eq!((before.host_str(), before.port()), (after.host_str(), after.port()));
        prop_assert_eq!(before.path(), after.path());
        prop_assert!(led.bytes().all(|byte| byte.is_ascii_graphic()), "{}", led);
        let own: Vec<_> = before.query_pairs().collect();
        let all: Vec<_> = after.query_pairs().collect();
        prop_assert_eq!(&all[..own.len()], &own[..]);
        let added = all[own.len()..].iter().map(|(name, value)| (&**name, &**value));
        let expected = vec![("code", code.as_str()), ("state", state.as_str())];
        prop_assert_eq!(added.collect::<Vec<_>>(), expected);
        // The policy lets the form lead there, and has one word for it.
        let source = source(&address).unwrap();
        let is_word = source.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';');
        prop_assert!(is_word, "{}", source);
    }
}

#[test]
fn an_address_has_a_thousand_characters_at_most() {
    let address = |length: usize| {
        let begin = "https://a.example/";
        format!("{begin}{}", "x".repeat(length - begin.len()))
    };
    assert!(acceptable(&address(1_000)) && !acceptable(&address(1_001)));
}

#[test]
fn a_person_is_told_where_they_are_sent() {
    for (address, expected) in [
        ("https://a.example:8443/cb", RedirectPlace::Host("a.example".to_owned())),
        ("https://xn--bcher-kva.example/", RedirectPlace::Host("xn--bcher-kva.example".to_owned())),
        ("http://127.0.0.1:1/", RedirectPlace::OwnDevice),
        ("https://localhost/", RedirectPlace::OwnDevice),
        ("http://[::1]:33418/cb", RedirectPlace::OwnDevice),
        ("com.example.app:/oauth", RedirectPlace::Scheme("com.example.app:".to_owned())),
        ("cursor://anysphere.cursor/oauth", RedirectPlace::Scheme("cursor:".to_owned())),
        // The host of a program's own scheme is no place.
        ("com.example.app://bank.example/", RedirectPlace::Scheme("com.example.app:".to_owned())),
    ] {
        assert_eq!(place(address), expected, "{address}");
    }
}
