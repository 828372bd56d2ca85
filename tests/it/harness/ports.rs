//! TCP ports for servers that must come back on the same port after an outage.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// First of the ports handed out, all below the range from which Linux takes the local ports of
/// outgoing connections (32768 and up): while a server is down nobody gets its port by chance.
const FIRST: u16 = 16_384;
const COUNT: u16 = 16_000;

/// Returns an unused loopback address, never handed out twice by this process.
pub(crate) fn free() -> SocketAddr {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Concurrent test processes begin at different places.
    let next = NEXT.get_or_init(|| AtomicU16::new(spread(std::process::id())));
    for _ in 0..COUNT {
        let port = FIRST + next.fetch_add(1, Ordering::Relaxed) % COUNT;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
    panic!("every port from {FIRST} to {} is taken", FIRST + COUNT - 1);
}

/// Spreads neighbouring process ids far apart (Fibonacci hashing).
fn spread(pid: u32) -> u16 {
    u16::try_from(pid.wrapping_mul(0x9E37_79B1) >> 16).unwrap_or_default() % COUNT
}
