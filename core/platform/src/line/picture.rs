//! Pictures of people and groups, from LINE's file hosts. Their addresses come from LINE's API, and
//! from a sign-in; only addresses at LINE are called, and no token is sent there.

use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use url::Url;

use super::refusal::{failed, hide};
use crate::{PlatformError, RefusalReason};

/// The API's own address; any other one is an emulator's, which serves pictures, too.
const API: &str = "https://api.line.me";
/// Domains of LINE's file hosts.
const DOMAINS: [&str; 2] = [".line-scdn.net", ".line-apps.com"];
/// Maximum size of a picture, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Timeout of a picture.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the address of a picture; `None` for one that is not LINE's.
pub(super) fn checked(address: &str, api_base: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    let emulator = Url::parse(api_base).ok().filter(|_| api_base.trim_end_matches('/') != API);
    let emulated = emulator.is_some_and(|base| base.origin() == url.origin());
    (plain && (emulated || is_line(&url))).then_some(url)
}

fn is_line(url: &Url) -> bool {
    let host = url.domain().unwrap_or_default();
    url.scheme() == "https"
        && url.port().is_none()
        && DOMAINS.iter().any(|domain| host.ends_with(domain))
}

/// Fetches a picture. Redirects are not followed.
pub(super) async fn fetch(files: &reqwest::Client, url: Url) -> Result<Bytes, PlatformError> {
    let answer = files.get(url).timeout(TIMEOUT).send().await.map_err(failed)?;
    let status = answer.status();
    if status != StatusCode::OK {
        let gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        let (status, reason) = (status.as_u16(), RefusalReason::default());
        let refused = PlatformError::Refused { status, reason };
        return Err(if gone { PlatformError::NotFound } else { refused });
    }
    bounded(answer).await
}

async fn bounded(mut answer: reqwest::Response) -> Result<Bytes, PlatformError> {
    let mut picture = Vec::new();
    let broken = |error| PlatformError::Unknown(Some(hide(error)));
    while let Some(chunk) = answer.chunk().await.map_err(broken)? {
        if picture.len() + chunk.len() > MAX_BYTES {
            return Err(PlatformError::NotFound);
        }
        picture.extend_from_slice(&chunk);
    }
    Ok(picture.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_own_hosts_are_called() {
        for address in [
            "https://profile.line-scdn.net/0hAbc",
            "https://sprofile.line-scdn.net/0hAbc/large",
            "https://obs.line-apps.com/x",
        ] {
            assert!(checked(address, API).is_some(), "{address}");
        }
        for address in [
            "http://profile.line-scdn.net/0hAbc",
            "https://profile.line-scdn.net:8443/0hAbc",
            "https://user@profile.line-scdn.net/0hAbc",
            "https://profile.line-scdn.net.evil.example/0hAbc",
            "https://evilline-scdn.net/0hAbc",
            "https://line-scdn.net.example/",
            "https://127.0.0.1/",
            "https://lh3.googleusercontent.com/a/x",
            "file:///etc/passwd",
            "nonsense",
            "",
        ] {
            assert!(checked(address, API).is_none(), "{address}");
        }
    }

    #[test]
    fn an_emulator_serves_pictures_of_its_own() {
        let base = "http://127.0.0.1:4711";
        assert!(checked("http://127.0.0.1:4711/pictures/1", base).is_some());
        assert!(checked("http://127.0.0.1:4712/pictures/1", base).is_none());
        assert!(checked("http://127.0.0.1:4711/pictures/1", API).is_none());
        // An API address that is written with a slash is no emulator.
        assert!(checked("https://api.line.me/x", "https://api.line.me/").is_none());
    }
}
