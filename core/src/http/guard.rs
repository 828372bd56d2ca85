//! Requests to addresses chosen by others: only to hosts of the public internet.
//!
//! A name is resolved once, its addresses are checked, and the connection is made to one of those
//! that passed: a name that resolves differently a moment later gains nothing. Redirects are not
//! followed, and proxies of the environment are not used, for they would resolve names past this
//! guard.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::tls;

/// Connect timeout.
const CONNECT: Duration = Duration::from_secs(5);
/// Read timeout.
const IDLE: Duration = Duration::from_secs(15);

/// An HTTP client for addresses chosen by others. Cheap to clone.
#[derive(Clone, Debug)]
pub struct GuardedClient {
    http: reqwest::Client,
    allow_private: bool,
}

/// Reason for rejecting an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// It cannot be parsed, or names no host.
    #[error("it is not the address of a host")]
    NoAddress,
    /// It is not `https`.
    #[error("it does not begin with https://")]
    NotHttps,
    /// It holds credentials.
    #[error("it contains a user name or password")]
    Credentials,
    /// It leads to this machine or its private network.
    #[error("it resolves to a private address")]
    Private,
}

impl GuardedClient {
    /// Creates a client. `allow_private` is the operator's permission for private addresses and
    /// plain `http`.
    ///
    /// # Errors
    /// Fails when the TLS library cannot be set up.
    pub fn new(allow_private: bool) -> Result<Self, reqwest::Error> {
        Self::with_names(allow_private, System)
    }

    fn with_names(
        allow_private: bool,
        names: impl Resolve + 'static,
    ) -> Result<Self, reqwest::Error> {
        let builder = tls::client_builder()
            .user_agent(concat!("chatkeep/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(IDLE)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none());
        let builder = if allow_private {
            builder.dns_resolver(names)
        } else {
            builder.dns_resolver(PublicOnly(names))
        };
        Ok(Self { http: builder.build()?, allow_private })
    }

    /// Checks an address without calling it. A name's addresses are checked when it is called.
    ///
    /// # Errors
    /// [`Forbidden`].
    pub fn check(&self, address: &str) -> Result<Url, Forbidden> {
        check(address, self.allow_private)
    }

    /// Starts a request to a checked address.
    pub fn request(&self, method: reqwest::Method, url: Url) -> reqwest::RequestBuilder {
        self.http.request(method, url)
    }
}

/// Checks an address for a caller that does not request it; `allow_private` as for
/// [`GuardedClient::new`].
///
/// # Errors
/// [`Forbidden`].
pub fn check(address: &str, allow_private: bool) -> Result<Url, Forbidden> {
    let url = Url::parse(address).map_err(|_| Forbidden::NoAddress)?;
    let encrypted = url.scheme() == "https" || (allow_private && url.scheme() == "http");
    if !encrypted {
        return Err(Forbidden::NotHttps);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Forbidden::Credentials);
    }
    let public = match url.host().ok_or(Forbidden::NoAddress)? {
        Host::Ipv4(address) => is_public(address.into()),
        Host::Ipv6(address) => is_public(address.into()),
        // Names of this machine and its network that no DNS server is asked for.
        Host::Domain(name) => !is_local_name(name),
    };
    if public || allow_private { Ok(url) } else { Err(Forbidden::Private) }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let ends = |suffix: &str| {
        name.len() >= suffix.len()
            && name.as_bytes()[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
    };
    name.eq_ignore_ascii_case("localhost")
        || [".localhost", ".local", ".internal", ".home.arpa"].into_iter().any(ends)
}

/// Resolves names with the system resolver.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Resolves names to public addresses only.
struct PublicOnly<R>(R);

impl<R: Resolve> Resolve for PublicOnly<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.resolve(name);
        Box::pin(async move { Ok(Box::new(only_public(found.await?)?.into_iter()) as Addrs) })
    }
}

/// Returns the public addresses of a name. The connection is made to one of these, and the name is
/// not resolved again: a later change of it does not matter.
fn only_public(found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, Forbidden> {
    let public: Vec<_> = found.filter(|found| is_public(found.ip())).collect();
    if public.is_empty() { Err(Forbidden::Private) } else { Ok(public) }
}

/// Returns whether an address belongs to the public internet (by the IANA registries of
/// special-purpose addresses).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Non-public blocks of IPv4: first address and prefix length.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local; cloud metadata services among them.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // 6to4 relays, which lead anywhere.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    // Metadata service of one cloud, at a public address.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    let inside = |(first, prefix): (Ipv4Addr, u32)| {
        let mask = u32::MAX << (32 - prefix);
        address.to_bits() & mask == first.to_bits()
    };
    !NOT_PUBLIC_V4.into_iter().any(inside)
}

/// Non-public blocks inside of the global unicast addresses of IPv6.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    // Protocols, Teredo among them: it embeds an IPv4 address.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4: it embeds an IPv4 address.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

fn is_public_v6(address: Ipv6Addr) -> bool {
    let within = |first: Ipv6Addr, prefix: u32| {
        let mask = u128::MAX << (128 - prefix);
        address.to_bits() & mask == first.to_bits() & mask
    };
    // A translated IPv4 address is as public as the original.
    let translated = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
    let octets = address.octets();
    let last = Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    if within(translated, 96) || address.to_ipv4_mapped().is_some() {
        return is_public_v4(last);
    }
    let global = within(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
    global && !NOT_PUBLIC_V6.into_iter().any(|(first, prefix)| within(first, prefix))
}

#[cfg(test)]
#[path = "guard_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    #[test]
    fn only_the_public_internet_is_public() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.31.255.255",
            "192.0.0.170",
            "192.168.1.1",
            "100.100.100.200",
            "100.127.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "198.51.100.7",
            "239.255.255.250",
            "240.0.0.1",
            "192.88.99.1",
            "198.19.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "::10.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "64:ff9b:1::808:808",
            "100:0:0:1::1",
            "5f00::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:20::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(address), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn an_address_is_checked_before_it_is_called() {
        let guarded = GuardedClient::new(false).unwrap();
        let refused = [
            ("http://example.com/", Forbidden::NotHttps),
            ("ftp://example.com/", Forbidden::NotHttps),
            ("nonsense", Forbidden::NoAddress),
            ("https://user@example.com/", Forbidden::Credentials),
            ("https://127.0.0.1/", Forbidden::Private),
            ("https://2130706433/", Forbidden::Private),
            ("https://0x7f.1/", Forbidden::Private),
            ("https://[::ffff:10.0.0.1]/", Forbidden::Private),
            ("https://LOCALHOST/", Forbidden::Private),
            ("https://0177.0.0.1/", Forbidden::Private),
            ("https://127.1/", Forbidden::Private),
            ("https://0/", Forbidden::Private),
            ("https://[::]/", Forbidden::Private),
            ("https://[fe80::1]/", Forbidden::Private),
            ("https://[64:ff9b::a9fe:a9fe]/", Forbidden::Private),
            ("https://[2002:7f00:1::1]/", Forbidden::Private),
            ("https://[fd00:ec2::254]/", Forbidden::Private),
            ("https://169.254.169.254/latest/meta-data/", Forbidden::Private),
            ("https://127\u{3002}0\u{3002}0\u{3002}1/", Forbidden::Private),
            ("https://\u{ff11}27.0.0.1/", Forbidden::Private),
            ("https://:secret@example.com/", Forbidden::Credentials),
            ("file:///etc/passwd", Forbidden::NotHttps),
            ("https://", Forbidden::NoAddress),
            ("https://a.localhost./", Forbidden::Private),
            ("https://metadata.google.internal/", Forbidden::Private),
        ];
        for (address, why) in refused {
            assert_eq!(guarded.check(address), Err(why), "{address}");
        }
        assert!(guarded.check("https://example.com:8443/hook?x=1").is_ok());
        let trusting = GuardedClient::new(true).unwrap();
        assert!(trusting.check("http://127.0.0.1:8000/").is_ok());
        assert_eq!(trusting.check("ftp://127.0.0.1/"), Err(Forbidden::NotHttps));
    }

    #[test]
    fn of_a_name_that_leads_both_ways_only_the_public_part_is_called() {
        let found = |all: &[&str]| {
            let all: Vec<SocketAddr> = all.iter().map(|one| one.parse().unwrap()).collect();
            only_public(all.into_iter())
        };
        let both = found(&["127.0.0.1:443", "1.1.1.1:443", "[::1]:443", "[2606:4700::1]:443"]);
        let public: Vec<_> = both.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(public, ["1.1.1.1:443", "[2606:4700::1]:443"]);
        assert_eq!(found(&["10.0.0.1:443", "[::ffff:10.0.0.1]:443"]), Err(Forbidden::Private));
        assert_eq!(found(&[]), Err(Forbidden::Private));
    }

    fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
        std::iter::successors(Some(error), |error| error.source()).last().unwrap().to_string()
    }

    #[tokio::test]
    async fn a_name_that_leads_here_is_not_called() {
        let guarded = GuardedClient::new(false).unwrap();
        // Resolved by the machine's own hosts table.
        let url = Url::parse("https://localhost/").unwrap();
        let error = guarded.request(reqwest::Method::GET, url).send().await.unwrap_err();
        assert_eq!(root_cause(&error), Forbidden::Private.to_string());
    }

    /// A DNS resolver whose results change each time.
    #[derive(Clone, Default)]
    struct Fickle(Arc<Mutex<VecDeque<IpAddr>>>);

    impl Resolve for Fickle {
        fn resolve(&self, _: Name) -> Resolving {
            let answer = self.0.lock().unwrap().pop_front();
            let addresses = answer.into_iter().map(|address| SocketAddr::new(address, 0));
            Box::pin(std::future::ready(Ok(Box::new(addresses) as Addrs)))
        }
    }

    #[tokio::test]
    async fn a_name_that_changes_its_mind_gains_nothing() {
        let here = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = here.local_addr().unwrap();
        let names = Fickle::default();
        let guarded = GuardedClient::with_names(false, names.clone()).unwrap();
        let url =
            guarded.check(&format!("https://rebind.example.com:{}/", address.port())).unwrap();
        // First lookup: a public address; second lookup, when the request is made: this machine.
        let public = PublicOnly(names.clone());
        names.0.lock().unwrap().extend(["1.1.1.1".parse().unwrap(), address.ip()]);
        let first = public.resolve("rebind.example.com".parse().unwrap()).await.unwrap();
        assert_eq!(first.count(), 1);
        let error = guarded.request(reqwest::Method::GET, url.clone()).send().await.unwrap_err();
        assert_eq!(root_cause(&error), Forbidden::Private.to_string());
        // Without the guard the same name leads here.
        names.0.lock().unwrap().push_back(address.ip());
        let open = GuardedClient::with_names(true, names).unwrap();
        let (_, taken) = tokio::join!(open.request(reqwest::Method::GET, url).send(), async {
            here.accept().await.map(drop)
        });
        taken.unwrap();
    }
}
