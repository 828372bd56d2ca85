//! Validation of redirect addresses: only those that a client declared before, and never one that a
//! browser would run.

use std::net::Ipv4Addr;

use url::{Host, Url};

/// Maximum length of an address in characters.
const MAX: usize = 1000;

/// Schemes of known programs that predate the rule that a program's own scheme is a domain of its
/// maker, reversed. Any other scheme without a dot may be the browser's or the system's own
/// (`feed:`, `jar:`, `intent:`, `javascript:`), and no list of these is ever complete.
const KNOWN_PROGRAMS: [&str; 3] = ["cursor", "vscode", "vscode-insiders"];

/// Returns true for an address that a client may declare: https, http on this machine, or a scheme
/// of its own that is a reversed domain (RFC 8252, section 7.1).
pub(super) fn acceptable(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else {
        return false;
    };
    let scheme = match url.scheme() {
        "https" => url.has_host(),
        "http" => is_loopback(&url),
        own => is_reversed_domain(own) || KNOWN_PROGRAMS.contains(&own),
    };
    let plain = url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
    scheme && plain && address.len() <= MAX && address.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns true if a scheme is at least two names with dots between, such as `com.example.app`.
fn is_reversed_domain(scheme: &str) -> bool {
    let name = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    scheme.contains('.') && scheme.split('.').all(name)
}

/// Returns true if `asked` is one of the addresses that a client declared. On this machine the port
/// may differ, for programs take any that is free (RFC 8252).
pub(super) fn is_named(named: &[String], asked: &str) -> bool {
    acceptable(asked)
        && named.iter().any(|one| {
            one == asked || portless(one).is_some_and(|one| Some(one) == portless(asked))
        })
}

/// Returns an address on this machine without its port.
fn portless(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok().filter(|url| url.scheme() == "http")?;
    if !is_loopback(&url) {
        return None;
    }
    url.set_port(None).ok()?;
    Some(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns the address with these parameters added.
pub(super) fn with(address: &str, parameters: &[(&str, &str)]) -> Option<String> {
    let mut url = Url::parse(address).ok()?;
    url.query_pairs_mut().extend_pairs(parameters);
    Some(url.into())
}

/// Returns the form target of an address for the content security policy: its origin where a policy
/// can name that, otherwise its scheme.
pub(super) fn source(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let is_named = matches!(url.scheme(), "http" | "https") && is_host_source(&url);
    let (origin, scheme) = (url.origin().ascii_serialization(), url.scheme());
    Some(if is_named { origin } else { format!("{scheme}:") })
}

/// Returns true if a content security policy can name the host: letters, digits, `-` and `.` alone,
/// and of IP addresses only 127.0.0.1 (CSP level 3, `host-part` and its matching).
fn is_host_source(url: &Url) -> bool {
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    match url.host() {
        Some(Host::Domain(name)) => name.bytes().all(is_named),
        Some(Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(_)) | None => false,
    }
}

/// Target of a redirect, as people are told of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RedirectPlace {
    /// Host of the address.
    Host(String),
    /// Program on the person's own device.
    OwnDevice,
    /// Program that opens a scheme of its own, with the colon.
    Scheme(String),
}

/// Returns the target of a redirect.
pub(super) fn place(address: &str) -> RedirectPlace {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
    match url {
        Some(url) if is_loopback(&url) => RedirectPlace::OwnDevice,
        Some(url) if !matches!(url.scheme(), "http" | "https") => {
            RedirectPlace::Scheme(format!("{}:", url.scheme()))
        }
        _ => RedirectPlace::Host(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_of_programs_are_acceptable() {
        for address in [
            "https://claude.ai/api/mcp/auth_callback",
            "http://127.0.0.1:33418/",
            "http://localhost/callback",
            "http://[::1]:1/x?y=z",
            "cursor://anysphere.cursor/oauth",
            "com.example.app:/oauth",
            "com.example.app://oauth/back",
            "org.example.my-app:/x?y=z",
        ] {
            assert!(acceptable(address), "{address}");
        }
        for address in [
            "http://claude.ai/",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://a/#b",
            "https://user@a/",
            "/path",
            "",
            "https://a/ b",
            "feed:https://a/",
            "jar:https://a/!/",
            "intent://a#Intent;scheme=https;end",
            "intent://a/",
            "myapp://back",
            "ftp://a/",
            "file:///etc/passwd",
            "blob:https://a/x",
            "vbscript:x",
            "view-source:https://a/",
            "about:blank",
            "ms-settings:x",
            "com..app:/x",
            ".app:/x",
            "app.:/x",
            "a+b.c:/x",
        ] {
            assert!(!acceptable(address), "{address}");
        }
    }

    #[test]
    fn a_policy_names_what_its_grammar_can() {
        for (address, expected) in [
            ("https://claude.ai/api/mcp/auth_callback", "https://claude.ai"),
            ("https://a.example:8443/cb", "https://a.example:8443"),
            ("http://localhost:4711/cb", "http://localhost:4711"),
            ("http://127.0.0.1:33418/", "http://127.0.0.1:33418"),
            ("http://127.0.0.2:33418/", "http:"),
            ("http://[::1]:33418/cb", "http:"),
            ("https://[2001:db8::1]/cb", "https:"),
            ("https://a_b.example/cb", "https:"),
            ("cursor://anysphere.cursor/oauth", "cursor:"),
            ("com.example.app:/oauth", "com.example.app:"),
        ] {
            assert_eq!(source(address).as_deref(), Some(expected), "{address}");
        }
    }

    #[test]
    fn only_named_places_are_gone_to() {
        let named = ["https://a.example/cb".to_owned(), "http://127.0.0.1:1/cb".to_owned()];
        for asked in ["https://a.example/cb", "http://127.0.0.1:4711/cb", "http://127.0.0.1/cb"] {
            assert!(is_named(&named, asked), "{asked}");
        }
        for asked in [
            "https://a.example/cb/",
            "https://a.example/cb?x",
            "https://a.example:444/cb",
            "http://localhost:1/cb",
            "http://127.0.0.1:1/other",
            "https://evil.example/cb",
        ] {
            assert!(!is_named(&named, asked), "{asked}");
        }
    }
}
