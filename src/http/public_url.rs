//! Public address of this service, as browsers see it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use chatkeep_core::http::is_this_machine;
use url::Url;

/// Public address of this service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PublicUrl(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    url: String,
    origin: String,
    secure: bool,
}

impl PublicUrl {
    /// Creates it from the configured address, or else from the listener's.
    ///
    /// # Errors
    /// Returns an error if the address is invalid.
    pub fn new(base: Option<&str>, listen: SocketAddr) -> Result<Self, url::ParseError> {
        let base = base.map_or_else(|| listened(listen), str::to_owned);
        let url = Url::parse(&base)?;
        Ok(Self(Arc::new(Parts {
            origin: url.origin().ascii_serialization(),
            secure: url.scheme() != "http" || !is_this_machine(&url),
            url: base,
        })))
    }

    /// Returns the full address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0.url
    }

    /// Returns scheme, host and port, as browsers write them into `Origin`.
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Returns true if cookies may travel over TLS only.
    pub fn is_secure(&self) -> bool {
        self.0.secure
    }
}

/// Displays the full address, without a slash at its end.
impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.url)
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

#[cfg(test)]
mod tests {
    use super::*;

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
            let read = PublicUrl::new(base, listen).unwrap();
            assert_eq!((read.origin(), read.is_secure()), (origin, secure), "{base:?}");
            assert_eq!(read.as_str(), base.unwrap_or(origin));
        }
    }
}
