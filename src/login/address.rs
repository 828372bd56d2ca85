//! Addresses of this service as a browser sees them, and paths that stay inside it.

use std::net::SocketAddr;

use url::{Host, Url};

/// Maximum length of a path to return to.
const MAX_PATH: usize = 2000;

/// Public address of this service for browsers.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// Full address, without a slash at its end.
    pub(super) url: String,
    /// Callback address for the provider.
    pub(super) callback: String,
    /// Scheme, host and port, as browsers write it into `Origin`.
    pub(super) origin: String,
    /// True if cookies may travel over TLS only.
    pub(super) secure: bool,
}

impl Base {
    /// Creates it from the configured address, or else from the listener's.
    ///
    /// # Errors
    /// Returns an error if the address is invalid.
    pub(super) fn new(base: Option<&str>, listen: SocketAddr) -> Result<Self, url::ParseError> {
        let base = base.map_or_else(|| listened(listen), str::to_owned);
        let url = Url::parse(&base)?;
        Ok(Self {
            callback: format!("{base}/auth/callback"),
            origin: url.origin().ascii_serialization(),
            secure: url.scheme() != "http" || !is_this_machine(&url),
            url: base,
        })
    }
}

/// Returns an address for a browser on this machine that reaches the listener.
fn listened(listen: SocketAddr) -> String {
    if listen.ip().is_unspecified() {
        format!("http://localhost:{}", listen.port())
    } else {
        format!("http://{listen}")
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns true if a redirect to `path` stays on this service: `//host` and `/\host` lead
/// elsewhere, and browsers drop control characters before they parse.
pub(crate) fn is_local(path: &str) -> bool {
    let mut characters = path.chars();
    characters.next() == Some('/')
        && !matches!(characters.next(), Some('/' | '\\'))
        && path.len() <= MAX_PATH
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_service_are_local() {
        for path in ["/", "/console", "/a/b?c=d&e=%2F#f", "/x//y", "/%E6%97%A5"] {
            assert!(is_local(path), "{path}");
        }
        let foreign = ["", "x", "//evil.example", "/\\evil.example", "/\t/evil.example"];
        for path in foreign.into_iter().chain(["https://evil.example", "/a b", "/日", "/a\\b"]) {
            assert!(!is_local(path), "{path}");
        }
        assert!(!is_local(&format!("/{}", "a".repeat(2000))));
    }

    #[test]
    fn cookies_are_secure_but_on_this_machine() {
        let listen = "0.0.0.0:8080".parse().unwrap();
        let cases = [
            (None, "http://localhost:8080", false),
            (Some("http://127.0.0.1:81"), "http://127.0.0.1:81", false),
            (Some("http://[::1]:81"), "http://[::1]:81", false),
            (Some("https://localhost"), "https://localhost", true),
            (Some("http://chat.example.org"), "http://chat.example.org", true),
            (Some("http://localhost.example.org"), "http://localhost.example.org", true),
            (Some("https://chat.example.org/x"), "https://chat.example.org", true),
        ];
        for (base, origin, secure) in cases {
            let read = Base::new(base, listen).unwrap();
            assert_eq!((&*read.origin, read.secure), (origin, secure), "{base:?}");
            let callback = format!("{}/auth/callback", base.unwrap_or(origin));
            assert_eq!(read.callback, callback);
        }
    }
}
