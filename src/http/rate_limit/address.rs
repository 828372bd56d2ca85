//! Client address of a request, as far as it can be trusted.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap};

/// Header to which each proxy adds the address of its caller.
const FORWARDED: &str = "x-forwarded-for";

/// A caller's address: an IPv4 address, or the /64 network of an IPv6 one, which a single
/// subscriber has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(IpAddr);

impl Address {
    /// Returns the address behind `proxies` proxies, each of which added one to `X-Forwarded-For`:
    /// the `proxies`-th from the right, for anybody can write the rest left of it. With 0, or when
    /// the header is not one that so many proxies would produce, it is the socket's.
    pub fn new(peer: IpAddr, headers: &HeaderMap, proxies: usize) -> Self {
        let forwarded = match proxies {
            0 => None,
            proxies => forwarded(headers, proxies - 1),
        };
        Self(network(forwarded.unwrap_or(peer)))
    }

    /// Returns the address of a request that the [server](crate::server) accepted; without a socket
    /// it is the unspecified one.
    pub fn of(extensions: &Extensions, headers: &HeaderMap, proxies: usize) -> Self {
        let peer = extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |ConnectInfo(peer)| peer.ip());
        Self::new(peer, headers, proxies)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

/// Returns the address with that many others to its right, over all lines of the header.
fn forwarded(headers: &HeaderMap, others: usize) -> Option<IpAddr> {
    let lines = headers.get_all(FORWARDED).iter().rev();
    let mut addresses = lines.flat_map(|line| line.as_bytes().rsplit(|&byte| byte == b','));
    let text = std::str::from_utf8(addresses.nth(others)?).ok()?.trim();
    // Some proxies add the port.
    let with_port = || text.parse::<SocketAddr>().map(|address| address.ip());
    let bare = || text.trim_start_matches('[').trim_end_matches(']').parse();
    with_port().or_else(|_| bare()).ok()
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(peer: &str, forwarded: &[&str], proxies: usize) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED, line.parse().unwrap());
        }
        Address::new(peer.parse().unwrap(), &headers, proxies).to_string()
    }

    #[test]
    fn without_proxies_the_header_is_not_believed() {
        assert_eq!(address("192.0.2.1", &["203.0.113.9"], 0), "192.0.2.1");
        assert_eq!(address("192.0.2.1", &[], 0), "192.0.2.1");
    }

    #[test]
    fn each_proxy_is_one_from_the_right() {
        let forged = ["198.51.100.1, 203.0.113.9"];
        assert_eq!(address("10.0.0.1", &forged, 1), "203.0.113.9");
        assert_eq!(address("10.0.0.1", &forged, 2), "198.51.100.1");
        assert_eq!(
            address("10.0.0.1", &["198.51.100.1", " 203.0.113.9 ,10.0.0.2"], 3),
            "198.51.100.1"
        );
        assert_eq!(
            address("10.0.0.1", &["198.51.100.1", "203.0.113.9,10.0.0.2"], 2),
            "203.0.113.9"
        );
    }

    #[test]
    fn what_the_proxies_did_not_write_falls_back_to_the_socket() {
        for odd in [&["203.0.113.9"][..], &[], &["", ""], &["unknown, 10.0.0.2"], &["a,"]] {
            assert_eq!(address("192.0.2.1", odd, 2), "192.0.2.1", "{odd:?}");
        }
    }

    #[test]
    fn ports_are_left_out_and_networks_are_one_caller() {
        assert_eq!(address("::1", &["203.0.113.9:4711"], 1), "203.0.113.9");
        assert_eq!(address("::1", &["[2001:db8:1:2:3::4]:443"], 1), "2001:db8:1:2::/64");
        assert_eq!(address("::1", &["[2001:db8:1:2:3::5]"], 1), "2001:db8:1:2::/64");
        assert_eq!(address("2001:db8:1:2:ffff::", &[], 0), "2001:db8:1:2::/64");
        assert_eq!(address("::ffff:192.0.2.7", &[], 0), "192.0.2.7");
    }

    #[test]
    fn without_a_socket_it_is_nobodys() {
        let nobody = Address::of(&Extensions::new(), &HeaderMap::new(), 0);
        assert_eq!(nobody.to_string(), "0.0.0.0");
    }
}
