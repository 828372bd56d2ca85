//! Tests of addresses for people, of addresses of this machine, and of bodies that are cut.

use super::*;

#[test]
fn only_loopback_is_this_machine() {
    for (address, here) in [
        ("http://localhost:8080/", true),
        ("http://LocalHost/", true),
        ("http://127.0.0.1/", true),
        ("http://127.255.255.254:1/", true),
        ("http://2130706433/", true),
        ("http://[::1]:8080/", true),
        ("http://localhost.example.com/", false),
        ("http://0.0.0.0/", false),
        ("http://128.0.0.1/", false),
        ("http://10.0.0.1/", false),
        ("http://[::]/", false),
        ("http://localhost@example.com/", false),
        ("data:text/plain,localhost", false),
    ] {
        assert_eq!(is_this_machine(&Url::parse(address).unwrap()), here, "{address}");
    }
}

#[test]
fn a_host_is_shown_without_anything_that_may_be_secret() {
    for (address, host) in [
        ("https://user:secret@example.com:8443/T0KEN?key=1#x", Some("example.com")),
        ("https://EXAMPLE.com", Some("example.com")),
        ("https://[2001:db8::1]:443/x", Some("[2001:db8::1]")),
        ("https://例え.jp/", Some("xn--r8jz45g.jp")),
        ("mailto:someone@example.com", None),
        ("example.com/x", None),
        ("https://", None),
        ("", None),
    ] {
        assert_eq!(host_of(address).as_deref(), host, "{address}");
    }
}

#[tokio::test]
async fn a_body_is_cut_at_its_limit_and_not_before() {
    for (size, read) in [
        (0, 0),
        (1, 1),
        (MAX_RESPONSE - 1, MAX_RESPONSE - 1),
        (MAX_RESPONSE, MAX_RESPONSE),
        (MAX_RESPONSE + 1, MAX_RESPONSE),
        (MAX_RESPONSE * 3, MAX_RESPONSE),
    ] {
        let sent: Vec<u8> = (0..size).map(|place| u8::try_from(place % 251).unwrap()).collect();
        let answer = reqwest::Response::from(opentelemetry_http::Response::new(sent.clone()));
        let body = bounded_body(answer).await.unwrap();
        assert_eq!(body.len(), read, "of {size} bytes");
        assert!(body == sent[..read], "of {size} bytes");
    }
}

#[test]
fn every_kind_of_client_can_be_created_twice() {
    let second = Duration::from_secs(1);
    for _ in 0..2 {
        for client in [
            client(),
            patient_client(second),
            unpooled_client(),
            download_client(),
            certificate_client(),
            local_client(second),
        ] {
            client.unwrap();
        }
    }
}
