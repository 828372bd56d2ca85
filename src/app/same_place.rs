//! Comparison of addresses without their credentials, for secrets that are replaced at run time.

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

/// Returns true if two addresses differ in their credentials alone. Where one of them cannot be read,
/// they do not.
pub(super) fn is_same_place(one: Option<&SecretString>, other: Option<&SecretString>) -> bool {
    let place = |address: Option<&SecretString>| {
        address.and_then(|address| without_credentials(address.expose_secret()))
    };
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Returns the servers of an address, each with everything that decides where it leads.
fn without_credentials(address: &str) -> Option<Vec<Url>> {
    /// Parameters in which a database's address may have its credentials.
    const CREDENTIALS: [&str; 2] = ["user", "password"];
    let scheme = address.split_once("://")?.0;
    let server = |server: &str| {
        let has_scheme = server.contains("://");
        let server = if has_scheme { server.to_owned() } else { format!("{scheme}://{server}") };
        let mut url = Url::parse(&server).ok()?;
        // An address without a host has neither, and may not be asked to leave them out.
        if url.has_host() {
            url.set_username("").ok()?;
            url.set_password(None).ok()?;
        }
        let pairs = url.query_pairs().into_owned();
        let mut rest: Vec<_> =
            pairs.filter(|(name, _)| !CREDENTIALS.contains(&name.as_str())).collect();
        rest.sort();
        url.set_query(None);
        if !rest.is_empty() {
            url.query_pairs_mut().extend_pairs(rest);
        }
        Some(url)
    };
    address.split(',').map(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_differ_by_everything_but_credentials() {
        let same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|address| SecretString::from(address.to_owned()));
            is_same_place(Some(&one), Some(&other))
        };
        for (one, other) in [
            ("postgres://a:b@h/d", "postgres://c:d@h/d"),
            ("postgres:///d?host=/run/a&user=a&password=b", "postgres:///d?password=c&host=/run/a"),
            ("nats://a:b@one,two:4222", "nats://token@one,nats://c:d@two:4222"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("postgres://a:b@h/d", "postgres://a:b@h/e"),
            ("postgres://a:b@h/d", "postgres://a:b@h:5433/d"),
            ("postgres://a:b@/d?host=/run/a", "postgres://a:b@/d?host=/run/b"),
            ("postgres://a:b@h/d", "postgres://a:c@h/d?options=-csearch_path%3Dother"),
            ("postgres://a:b@h/d", "postgres://a:c@h/d?dbname=e"),
            // The slash belongs to the password, and no address can be read.
            ("postgres://a:b/c@h/d", "postgres://a:b/c@i/d"),
            ("nats://a:b@one,two", "nats://a:b@one,three"),
            ("not an address", "not an address"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
        assert!(!is_same_place(None, None));
    }
}
