//! A certified OpenID provider (`tests/oidc`), and a browser that submits its forms.

use std::net::SocketAddr;
use std::sync::Mutex;

use cookie::Cookie;
use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::process::{Process, Program};
use super::{http, ports};

/// Client id and secret of the program at the provider.
pub(crate) const CLIENT: (&str, &str) =
    ("chatkeep", "a-client-secret-that-is-long-enough-for-hs256");

/// Maximum number of pages between a login's start and its end.
const PAGES: usize = 20;

/// Running provider. Dropping it kills it.
pub(crate) struct Provider {
    address: SocketAddr,
    _process: Process,
}

impl Provider {
    /// Starts a provider that redirects people to `callback` and signs with `algorithm`.
    pub(crate) async fn start(callback: &str, algorithm: &str) -> Self {
        Self::at(ports::free(), callback, algorithm).await
    }

    /// Starts the same at a given address.
    pub(crate) async fn at(address: SocketAddr, callback: &str, algorithm: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oidc");
        let port = address.port().to_string();
        let mut process = Program::new(&format!("{folder}/node_modules/.bin/node"))
            .args(["provider.mjs", &port, callback, algorithm])
            .folder(folder)
            .start();
        process.line("provider is ready").await;
        Self { address, _process: process }
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Response to the browser.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    url: Url,
}

/// Browser as far as logins need one: cookies, redirects one by one, the provider's two forms.
pub(crate) struct Browser {
    http: reqwest::Client,
    cookies: Mutex<Vec<Cookie<'static>>>,
    /// Address that stands for another, as with a TLS proxy before the program.
    proxy: Option<(String, String)>,
}

impl Browser {
    pub(crate) fn new() -> Self {
        Self { http: http::without_redirects(), cookies: Mutex::default(), proxy: None }
    }

    /// Creates a browser that reaches `inner` by the name of `outer`.
    pub(crate) fn behind(outer: &str, inner: &str) -> Self {
        Self { proxy: Some((outer.to_owned(), inner.to_owned())), ..Self::new() }
    }

    pub(crate) async fn get(&self, url: &str) -> Page {
        self.send(Method::GET, url, &[], None).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        form: Option<String>,
    ) -> Page {
        let url = Url::parse(url).unwrap();
        let mut real = url.to_string();
        if let Some((outer, inner)) = &self.proxy
            && let Some(rest) = real.strip_prefix(outer)
        {
            real = format!("{inner}{rest}");
        }
        let mut request = self.http.request(method, real).header(COOKIE, self.cookies_for(&url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(form) = form {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        self.remember(&headers, &url);
        Page { status, headers, body: answer.text().await.unwrap(), url }
    }

    /// Opens `start` and signs in as `person`, or declines; returns the address to which the
    /// provider redirects, without opening it.
    pub(crate) async fn sign_in(&self, start: &str, person: Option<&str>) -> String {
        let mut page = self.get(start).await;
        for _ in 0..PAGES {
            if let Some(location) = page.location() {
                if location.contains("/auth/callback?") {
                    return location;
                }
                page = self.get(&location).await;
                continue;
            }
            assert_eq!(page.status, StatusCode::OK, "{} {}", page.url, page.body);
            let Some(person) = person else {
                page = self.get(&page.attribute("href", "/abort")).await;
                continue;
            };
            let form = if page.body.contains(r#"value="login""#) {
                let person: String = byte_serialize(person.as_bytes()).collect();
                format!("prompt=login&login={person}&password=any")
            } else {
                "prompt=consent".to_owned()
            };
            let action = page.attribute("action", "");
            page = self.send(Method::POST, &action, &[], Some(form)).await;
        }
        panic!("the provider shows page after page: {} {}", page.url, page.body);
    }

    /// Returns the value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.cookies.lock().unwrap();
        cookies.iter().find(|c| c.name() == name).map(|c| c.value().to_owned())
    }

    /// Stores a cookie as if it had been set.
    pub(crate) fn plant(&self, name: &str, value: &str) {
        let cookie = Cookie::build((name.to_owned(), value.to_owned())).path("/").build();
        self.cookies.lock().unwrap().push(cookie);
    }

    /// Cookies ignore ports, and all servers of a test are on one host.
    fn cookies_for(&self, url: &Url) -> String {
        let cookies = self.cookies.lock().unwrap();
        let sent = cookies.iter().filter(|cookie| {
            let insecure = url.scheme() == "http" && cookie.secure() == Some(true);
            url.path().starts_with(cookie.path().unwrap_or("/")) && !insecure
        });
        sent.map(|cookie| cookie.stripped().to_string()).collect::<Vec<_>>().join("; ")
    }

    fn remember(&self, headers: &HeaderMap, url: &Url) {
        let mut cookies = self.cookies.lock().unwrap();
        for line in headers.get_all(SET_COOKIE) {
            let cookie = Cookie::parse(line.to_str().unwrap().to_owned()).unwrap();
            // Requirements of browsers for the prefix.
            if cookie.name().starts_with("__Host-") {
                let fits = cookie.secure() == Some(true) && cookie.domain().is_none();
                assert!(fits && cookie.path() == Some("/") && url.scheme() == "https", "{cookie}");
            }
            let same = |c: &Cookie| c.name() == cookie.name() && c.path() == cookie.path();
            cookies.retain(|known| !same(known));
            let gone = cookie.max_age().is_some_and(cookie::time::SignedDuration::is_zero)
                || cookie.expires_datetime().is_some_and(|at| at.year() == 1970);
            if !gone {
                cookies.push(cookie);
            }
        }
    }
}

impl Page {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{} {}", self.url, self.body))
    }

    /// Returns the absolute address of a redirect.
    pub(crate) fn location(&self) -> Option<String> {
        let location = self.headers.get(LOCATION)?.to_str().unwrap();
        Some(self.url.join(location).unwrap().into())
    }

    /// Returns the address in the first attribute of that name whose value contains `part`.
    fn attribute(&self, name: &str, part: &str) -> String {
        let start = format!("{name}=\"");
        let values = self.body.split(&start).skip(1).filter_map(|rest| rest.split('"').next());
        let found = values.into_iter().find(|value| value.contains(part));
        let found = found.unwrap_or_else(|| panic!("no {name} in {}: {}", self.url, self.body));
        self.url.join(found).unwrap().into()
    }
}
