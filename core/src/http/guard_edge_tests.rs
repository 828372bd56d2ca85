//! Tests of public addresses at the borders of each block, and of IPv4 addresses inside of IPv6.

use proptest::prelude::*;

use super::*;

fn public(address: &str) -> bool {
    is_public(address.parse().unwrap())
}

/// The blocks that are not public, written as registries do: first and last address, with the
/// public neighbours.
const BLOCKS: [[&str; 4]; 18] = [
    ["9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
    ["100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"],
    ["126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"],
    ["168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"],
    ["169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"],
    ["172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"],
    ["191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
    ["192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
    ["192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"],
    ["192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"],
    ["198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"],
    ["198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"],
    ["203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"],
    ["223.255.255.255", "224.0.0.0", "255.255.255.255", "1.0.0.0"],
    ["2000:ffff:ffff::", "2001::", "2001:1ff:ffff::ffff", "2001:200::"],
    ["2001:db7:ffff::ffff", "2001:db8::", "2001:db8:ffff::ffff", "2001:db9::"],
    ["2001:ffff:ffff::ffff", "2002::", "2002:ffff:ffff::ffff", "2003::"],
    ["3ffe:ffff:ffff::ffff", "3fff::", "3fff:fff:ffff::ffff", "3fff:1000::"],
];

#[test]
fn each_block_ends_where_its_neighbours_begin() {
    for [before, first, last, after] in BLOCKS {
        assert!(public(before) && public(after), "beside {first}");
        assert!(!public(first) && !public(last), "{first} to {last}");
    }
    assert!(!public("0.0.0.0") && !public("0.255.255.255"));
    // Beside the global unicast block nothing of IPv6 is public.
    assert!(!public("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") && !public("4000::"));
    assert!(public("2000::") && public("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
}

#[test]
fn names_of_this_network_are_told_from_those_that_only_look_like_it() {
    for local in ["localhost.", "A.LOCAL", "printer.local.", "x.home.arpa", "a.b.internal"] {
        assert_eq!(check(&format!("https://{local}/"), false), Err(Forbidden::Private), "{local}");
    }
    for name in ["local", "notlocalhost", "mylocal.example", "home.arpa.example.com", "xlocalhost"]
    {
        assert!(check(&format!("https://{name}/"), false).is_ok(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_address_within_another_is_as_public_as_itself(bits in any::<u32>()) {
        let plain = Ipv4Addr::from_bits(bits);
        let expected = is_public(plain.into());
        let mapped = plain.to_ipv6_mapped();
        let prefix = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0).to_bits();
        let translated = Ipv6Addr::from_bits(prefix | u128::from(bits));
        prop_assert_eq!(is_public(mapped.into()), expected);
        prop_assert_eq!(is_public(translated.into()), expected);
        for address in [plain.to_string(), format!("[{mapped}]"), format!("[{translated}]")] {
            let checked = check(&format!("https://{address}/"), false);
            prop_assert_eq!(checked.is_ok(), expected, "{}", address);
        }
    }

    #[test]
    fn addresses_that_are_routed_by_what_they_embed_are_never_public(
        bits in any::<u32>(),
        rest in any::<u64>(),
    ) {
        let (high, low) = (u128::from(bits), u128::from(rest));
        let six_to_four = (0x2002_u128 << 112) | (high << 80) | low;
        let teredo = (0x2001_u128 << 112) | (high << 64) | low;
        let compatible = high;
        for bits in [six_to_four, teredo, compatible] {
            let address = Ipv6Addr::from_bits(bits);
            prop_assert!(!is_public(address.into()), "{address}");
        }
    }

    #[test]
    fn whoever_runs_it_may_allow_private_addresses_but_no_credentials(bits in any::<u32>()) {
        let host = Ipv4Addr::from_bits(bits);
        let allowed = check(&format!("http://{host}:8080/x"), true);
        prop_assert!(allowed.is_ok());
        let named = check(&format!("http://me@{host}/"), true);
        prop_assert_eq!(named, Err(Forbidden::Credentials));
    }
}
