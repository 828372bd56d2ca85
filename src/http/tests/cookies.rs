//! Cookies of browsers as browsers send them back, and forms of other pages.

use axum::http::{HeaderMap, HeaderValue, Method, header};
use chatkeep_core::time::Timestamp;
use chatkeep_store::Session;
use cookie::{Cookie, SameSite};
use proptest::prelude::*;

use crate::cookies::{Cookies, csrf_allows, form_allows};

const OURS: &str = "https://chat.example.org";
const BOTH: [Cookies; 2] = [Cookies { secure: true }, Cookies { secure: false }];

/// Returns the headers of a browser that sends these lines of cookies.
fn sent(lines: &[&str]) -> HeaderMap {
    let value = |line: &&str| HeaderValue::from_bytes(line.as_bytes()).unwrap();
    lines.iter().map(|line| (header::COOKIE, value(line))).collect()
}

fn session(csrf: &str) -> Session {
    let at = Timestamp::from_millis(1);
    Session {
        id: "s".into(),
        user: "U1".into(),
        csrf: csrf.to_owned(),
        created_at: at,
        seen_at: at,
    }
}

fn with(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    let given = headers.iter().map(|(name, value)| {
        (name.parse::<header::HeaderName>().unwrap(), HeaderValue::from_static(value))
    });
    given.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cookie_that_is_set_comes_back_as_itself_alone(secret in "[a-z0-9]{1,200}") {
        for cookies in BOTH {
            let line = cookies.set_session(&secret);
            let line = line.split(';').next().unwrap();
            let headers = sent(&["theme=dark", line]);
            prop_assert_eq!(cookies.session(&headers), Some(secret.as_str()));
            prop_assert_eq!(cookies.login(&headers), None);
            prop_assert!(!cookies.again(&headers));
            let line = cookies.set_login(&secret);
            let headers = sent(&[line.split(';').next().unwrap()]);
            prop_assert_eq!(cookies.login(&headers), Some(secret.as_str()));
            prop_assert_eq!(cookies.session(&headers), None);
        }
    }
}

#[test]
fn a_cookie_that_is_deleted_is_none() {
    for cookies in BOTH {
        for (set, cleared) in [
            (cookies.set_session("abc"), cookies.clear_session()),
            (cookies.set_again(), cookies.clear_again()),
        ] {
            let (set, cleared) = (Cookie::parse(set).unwrap(), Cookie::parse(cleared).unwrap());
            assert_eq!((set.name(), set.path()), (cleared.name(), cleared.path()));
            assert_eq!(cleared.max_age().unwrap().whole_seconds(), 0);
            // A browser that keeps it all the same has nothing.
            let kept = sent(&[&format!("{}=", cleared.name())]);
            assert!(cookies.session(&kept).is_none() && !cookies.again(&kept));
        }
    }
}

#[test]
fn a_browser_takes_cookies_over_tls_from_this_host_alone() {
    for cookies in BOTH {
        for set in [cookies.set_session("a"), cookies.set_login("a"), cookies.set_again()] {
            let cookie = Cookie::parse(set).unwrap();
            assert_eq!(cookie.secure().unwrap_or(false), cookies.secure, "{cookie}");
            assert_eq!(cookie.name().starts_with("__Host-"), cookies.secure, "{cookie}");
            // Of the prefix: no domain, and the root as path.
            assert_eq!((cookie.domain(), cookie.path()), (None, Some("/")), "{cookie}");
            assert_eq!(cookie.http_only(), Some(true), "{cookie}");
            assert_eq!(cookie.same_site(), Some(SameSite::Lax), "{cookie}");
        }
    }
}

#[test]
fn cookies_are_found_in_any_line_and_are_of_a_bounded_length() {
    let cookies = Cookies { secure: false };
    let (longest, longer) = ("x".repeat(200), "x".repeat(201));
    for (lines, found) in [
        (&["a=1", "chatkeep_session=abc"][..], Some("abc")),
        (&["a=1;chatkeep_session= abc ;b=2"], Some("abc")),
        (&[" chatkeep_session =abc"], Some("abc")),
        (&["chatkeep_session=a=b=="], Some("a=b==")),
        (&["a=\"chatkeep_session=abc\""], None),
        (&["chatkeep_sessions=abc", "xchatkeep_session=abc"], None),
        (&["CHATKEEP_SESSION=abc"], None),
        (&["\u{a0}chatkeep_session=abc", "chatkeep_session\u{3000}=abc"], None),
        (&["__Host-chatkeep=abc"], None),
        (&["chatkeep_session=first", "chatkeep_session=second"], Some("first")),
        (&[""], None),
        (&[], None),
    ] {
        assert_eq!(cookies.session(&sent(lines)), found, "{lines:?}");
    }
    for (value, found) in [(&longest, Some(longest.as_str())), (&longer, None)] {
        let line = format!("chatkeep_session={value}");
        assert_eq!(cookies.session(&sent(&[&line])), found, "{}", value.len());
    }
}

#[test]
fn a_cookie_of_another_program_hides_no_session() {
    let cookies = Cookies { secure: true };
    for other in ["city=臺北", "name=Ünal", "mood=🙂", "rtl=שלום"] {
        for line in
            [format!("{other}; __Host-chatkeep=abc"), format!("__Host-chatkeep=abc; {other}")]
        {
            assert_eq!(cookies.session(&sent(&[&line])), Some("abc"), "{line}");
        }
    }
    // Bytes of no text, and ours beside them.
    let mut headers = HeaderMap::new();
    let line = HeaderValue::from_bytes(b"a=\xff; __Host-chatkeep=abc;\xfe").unwrap();
    headers.insert(header::COOKIE, line);
    assert_eq!(cookies.session(&headers), Some("abc"));
}

#[test]
fn a_form_is_of_this_session_and_of_no_other_page() {
    let session = session("token");
    for (headers, token, allowed) in [
        (&[][..], "token", true),
        (&[("origin", OURS)], "token", true),
        (&[("origin", "null")], "token", false),
        (&[("origin", "https://evil.example")], "token", false),
        (&[("origin", "http://chat.example.org")], "token", false),
        (&[("origin", "https://chat.example.org:8443")], "token", false),
        (&[("origin", "https://chat.example.org/")], "token", false),
        (&[("origin", OURS)], "", false),
        (&[("origin", OURS)], "Token", false),
        (&[("origin", OURS)], "token ", false),
        // Where the browser says that the page is ours, the token is needed all the same.
        (&[("sec-fetch-site", "same-origin")], "", false),
    ] {
        let headers = with(headers);
        assert_eq!(form_allows(&headers, &session, token, OURS), allowed, "{headers:?} {token}");
    }
}

#[test]
fn every_method_that_changes_something_is_protected() {
    let session = session("token");
    let (bare, right) = (HeaderMap::new(), with(&[("x-csrf-token", "token")]));
    let ours = with(&[("sec-fetch-site", "same-origin")]);
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::CONNECT] {
        assert!(!csrf_allows(&method, &bare, &session, OURS), "{method}");
        for allowed in [&right, &ours] {
            assert!(csrf_allows(&method, allowed, &session, OURS), "{method}");
        }
    }
    for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE] {
        assert!(csrf_allows(&method, &bare, &session, OURS), "{method} changes nothing");
    }
    // An address that somebody opens, a neighbour, and what only looks like ours.
    for site in ["none", "same-site", "cross-site", "Same-Origin", "same-origin, same-origin", ""] {
        let headers = with(&[("sec-fetch-site", site), ("origin", OURS)]);
        assert!(!csrf_allows(&Method::POST, &headers, &session, OURS), "{site}");
    }
}
