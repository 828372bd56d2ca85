//! Tests of credentials of any characters in the addresses of NATS servers.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;

use super::*;

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn credentials_of_any_characters_arrive_as_they_are(
        user in ".{1,12}",
        password in ".{0,12}",
        hosts in prop::collection::vec("[a-z]{1,8}", 1..4),
    ) {
        let credentials = format!("{}:{}", encoded(&user), encoded(&password));
        let target = parse(&format!("nats://{credentials}@{}", hosts.join(","))).unwrap();
        prop_assert_eq!(target.user, Some((user.clone(), password)));
        let named: Vec<_> = target.servers.iter().map(|server| server.host().to_owned()).collect();
        prop_assert_eq!(named, hosts);
        let target = parse(&format!("tls://{}@one", encoded(&user))).unwrap();
        prop_assert_eq!((target.token, target.user), (Some(user), None));
    }

    #[test]
    fn an_error_about_addresses_shows_no_credentials(
        before in "[%/?# ]{0,2}",
        after in "[%/?#: ]{0,2}",
        host in prop::sample::select(vec!["one", "one:port", "[", ""]),
    ) {
        let address = format!("nats://me:{before}hunter2{after}@{host}");
        let shown = match parse(&address) {
            Ok(target) => format!("{:?}", target.servers),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!shown.contains("hunter2"), "{address}: {shown}");
    }
}

#[test]
fn each_server_may_repeat_its_scheme_and_the_last_credentials_count() {
    let target = parse("tls://a:1@one, tls://b:2@two:4333 ,three").unwrap();
    let shown: Vec<_> = target.servers.iter().map(ServerAddr::host).collect();
    assert_eq!(shown, ["one", "two", "three"]);
    assert_eq!(target.user, Some(("b".to_owned(), "2".to_owned())));
    assert!(target.servers.iter().all(ServerAddr::tls_required));
    let plain = parse("one:4333").unwrap();
    assert_eq!((plain.servers[0].host(), plain.servers[0].port()), ("one", 4_333));
    let ipv6 = parse("nats://[::1]:4333").unwrap();
    assert_eq!(ipv6.servers[0].port(), 4_333);
}
