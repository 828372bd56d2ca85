//! Addresses: paths to return to stay on this service, and its own address is what browsers say.

use std::net::SocketAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use url::Url;

use crate::{PublicUrl, is_local};

/// Characters that lead parsers of addresses astray, and some that do not.
const CHARACTERS: [char; 22] = [
    '/', '\\', '.', '?', '#', '%', ':', '@', '&', '=', 'a', 'b', '2', 'F', ' ', '\t', '\n', '\r',
    '\0', '\u{3000}', '／', 'é',
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_browser_that_follows_a_local_path_stays_here(
        rest in vec(select(CHARACTERS.to_vec()), 0..10),
    ) {
        let path: String = std::iter::once('/').chain(rest).collect();
        for base in ["https://chat.example.org/console/sign-in", "http://localhost:8080/"] {
            let base = Url::parse(base).unwrap();
            let stays = base.join(&path).is_ok_and(|to| to.origin() == base.origin());
            prop_assert!(stays || !is_local(&path), "{:?}", path);
        }
    }

    #[test]
    fn every_path_of_a_page_is_local(path in "(/[A-Za-z0-9._~%:@!$&'()*+,;=-]{1,9}){0,5}") {
        let path = if path.is_empty() { "/".to_owned() } else { path };
        prop_assert!(is_local(&path), "{}", path);
        let with_query = format!("{path}?q=%E6%97%A5&next=https://evil.example//x#top");
        prop_assert!(is_local(&with_query), "{}", with_query);
    }
}

#[test]
fn a_path_to_return_to_has_at_most_2000_characters() {
    for (length, is_short) in [(1_999, true), (2_000, true), (2_001, false), (100_000, false)] {
        let path = format!("/{}", "a".repeat(length - 1));
        assert_eq!(is_local(&path), is_short, "{length}");
    }
}

#[test]
fn an_origin_is_written_as_browsers_write_it() {
    let listen: SocketAddr = "127.0.0.1:8080".parse().unwrap();
    for (base, origin, is_secure) in [
        ("https://chat.example.org:443", "https://chat.example.org", true),
        ("HTTPS://Chat.Example.ORG/sub/", "https://chat.example.org", true),
        ("https://chat.example.org:8443/x", "https://chat.example.org:8443", true),
        ("http://localhost:80", "http://localhost", false),
        ("http://LOCALHOST:8080", "http://localhost:8080", false),
        ("http://127.8.9.1:8080", "http://127.8.9.1:8080", false),
        ("http://192.0.2.1", "http://192.0.2.1", true),
        ("http://[::1]:80/x", "http://[::1]", false),
        ("http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080", true),
        ("https://例え.jp", "https://xn--r8jz45g.jp", true),
        ("https://user:secret@chat.example.org", "https://chat.example.org", true),
    ] {
        let url = PublicUrl::new(Some(base), listen).unwrap();
        assert_eq!((url.origin(), url.is_secure()), (origin, is_secure), "{base}");
        assert_eq!((url.as_str(), url.to_string().as_str()), (base, base), "as it is configured");
    }
    for wrong in ["", "chat.example.org", "/x", "https://", "http://a b/"] {
        assert!(PublicUrl::new(Some(wrong), listen).is_err(), "{wrong:?}");
    }
}

#[test]
fn without_a_configured_address_it_is_the_listener_s() {
    for (listen, address, origin, is_secure) in [
        ("0.0.0.0:8080", "http://localhost:8080", "http://localhost:8080", false),
        ("[::]:80", "http://localhost:80", "http://localhost", false),
        ("127.0.0.1:80", "http://127.0.0.1:80", "http://127.0.0.1", false),
        ("[::1]:8080", "http://[::1]:8080", "http://[::1]:8080", false),
        ("192.0.2.7:8080", "http://192.0.2.7:8080", "http://192.0.2.7:8080", true),
    ] {
        let url = PublicUrl::new(None, listen.parse().unwrap()).unwrap();
        assert_eq!((url.as_str(), url.origin()), (address, origin), "{listen}");
        assert_eq!(url.is_secure(), is_secure, "{listen}");
    }
}
