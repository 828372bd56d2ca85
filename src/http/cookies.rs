//! Cookies of browsers, and CSRF protection of their requests.

use axum::http::{HeaderMap, HeaderValue, Method, header};
use chatkeep_store::Session;
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use sha2::{Digest as _, Sha256};

/// Maximum age of the session cookie: the maximum of browsers. Expiry of a session is decided here,
/// by its last use.
const SESSION_AGE: Duration = Duration::days(400);
/// Time that a browser may spend at the provider.
const LOGIN_AGE: Duration = Duration::minutes(10);
/// Maximum length of a cookie value that is read; ours are far shorter.
const MAX_VALUE: usize = 200;

/// Cookies of one deployment. Where they travel over TLS only, their names have the prefix with
/// which a browser accepts them from this very host alone: no neighbouring host can plant one.
#[derive(Clone, Copy, Debug)]
pub struct Cookies {
    pub secure: bool,
}

impl Cookies {
    const fn session_name(self) -> &'static str {
        if self.secure { "__Host-chatkeep" } else { "chatkeep_session" }
    }

    const fn login_name(self) -> &'static str {
        if self.secure { "__Host-chatkeep-login" } else { "chatkeep_login" }
    }

    const fn again_name(self) -> &'static str {
        if self.secure { "__Host-chatkeep-login-again" } else { "chatkeep_login_again" }
    }

    /// Returns the value of the session cookie.
    pub fn session(self, headers: &HeaderMap) -> Option<&str> {
        find(headers, self.session_name())
    }

    /// Returns the value of the cookie that binds logins to the browser that starts them.
    pub fn login(self, headers: &HeaderMap) -> Option<&str> {
        find(headers, self.login_name())
    }

    /// Returns the header that sets the session cookie.
    pub fn set_session(self, value: &str) -> String {
        self.set(self.session_name(), value, SESSION_AGE)
    }

    /// Returns the header that deletes the session cookie.
    pub fn clear_session(self) -> String {
        self.set(self.session_name(), "", Duration::ZERO)
    }

    /// Returns the header that sets the cookie that binds logins to the browser.
    pub fn set_login(self, value: &str) -> String {
        self.set(self.login_name(), value, LOGIN_AGE)
    }

    /// Returns true in a browser in which a login was started once more.
    pub fn again(self, headers: &HeaderMap) -> bool {
        find(headers, self.again_name()).is_some()
    }

    /// Returns the header that notes that a login was started once more.
    pub fn set_again(self) -> String {
        self.set(self.again_name(), "1", LOGIN_AGE)
    }

    /// Returns the header that deletes that note.
    pub fn clear_again(self) -> String {
        self.set(self.again_name(), "", Duration::ZERO)
    }

    fn set(self, name: &str, value: &str, age: Duration) -> String {
        Cookie::build((name, value))
            .path("/")
            .http_only(true)
            .secure(self.secure)
            .same_site(SameSite::Lax)
            .max_age(age)
            .to_string()
    }
}

/// Returns the value of the first cookie of that name. Each cookie is read by itself: those of other
/// programs may have bytes that are no text.
fn find<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).into_iter().map(HeaderValue::as_bytes);
    let cookies = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    let mut cookies = cookies.filter_map(|cookie| str::from_utf8(cookie).ok()?.split_once('='));
    // Only ASCII white space goes, as in browsers: a name with other white space before its `__Host-`
    // has no such prefix for them, and any page of the domain could set it.
    let (_, value) = cookies.find(|(found, _)| found.trim_ascii() == name)?;
    let value = value.trim_ascii();
    (!value.is_empty() && value.len() <= MAX_VALUE).then_some(value)
}

/// Returns true if a request with a session cookie may change anything: it has the session's CSRF
/// token, or the browser declares a page of `origin`, which is ours. Safe methods always may.
pub(super) fn csrf_allows(
    method: &Method,
    headers: &HeaderMap,
    session: &Session,
    origin: &str,
) -> bool {
    if method.is_safe() {
        return true;
    }
    if let Some(token) = headers.get("x-csrf-token") {
        return same(token.as_bytes(), session.csrf.as_bytes());
    }
    let ours = headers.get(header::ORIGIN).is_none_or(|from| from == origin);
    ours && headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
}

/// Returns true if a form is ours: it has the session's CSRF token, and comes from no other page.
pub(super) fn form_allows(
    headers: &HeaderMap,
    session: &Session,
    token: &str,
    origin: &str,
) -> bool {
    let ours = headers.get(header::ORIGIN).is_none_or(|from| from == origin);
    ours && same(token.as_bytes(), session.csrf.as_bytes())
}

/// Compares hashes: the time that takes reveals nothing about the texts.
fn same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;

    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        given.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_static(v))).collect()
    }

    #[test]
    fn changes_need_the_token_or_our_own_page() {
        let at = Timestamp::from_millis(1);
        let (id, user, csrf) = ("s".into(), "U1".into(), "token".to_owned());
        let session = Session { id, user, csrf, created_at: at, seen_at: at };
        let ours = "https://chat.example.org";
        let cases: [(&[(&str, &str)], bool); 8] = [
            (&[], false),
            (&[("x-csrf-token", "token")], true),
            (&[("x-csrf-token", "token"), ("origin", "https://other.example.org")], true),
            (&[("x-csrf-token", "Token"), ("sec-fetch-site", "same-origin")], false),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", ours)], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", "https://x.org")], false),
            (&[("sec-fetch-site", "same-site"), ("origin", ours)], false),
        ];
        for (given, allowed) in cases {
            let headers = headers(given);
            assert_eq!(csrf_allows(&Method::POST, &headers, &session, ours), allowed, "{given:?}");
            assert!(csrf_allows(&Method::GET, &headers, &session, ours));
        }
    }

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let cookies = Cookies { secure: true };
        let cases = [
            ("__Host-chatkeep=abc", Some("abc")),
            ("a=1; __Host-chatkeep=abc; b", Some("abc")),
            ("x__Host-chatkeep=abc; chatkeep_session=def", None),
            ("__Host-chatkeep=; b=2", None),
            ("__Host-chatkeep", None),
        ];
        for (sent, found) in cases {
            assert_eq!(cookies.session(&headers(&[("cookie", sent)])), found, "{sent}");
        }
    }

    #[test]
    fn cookies_have_their_flags() {
        let set = Cookies { secure: true }.set_session("abc");
        let flags = "HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=34560000";
        assert_eq!(set, format!("__Host-chatkeep=abc; {flags}"));
        let set = Cookies { secure: false }.set_login("abc");
        assert_eq!(set, "chatkeep_login=abc; HttpOnly; SameSite=Lax; Path=/; Max-Age=600");
    }
}
