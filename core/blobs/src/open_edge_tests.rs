//! Tests of addresses with the bucket before the host name.

use super::*;

#[test]
fn the_bucket_goes_before_the_host_where_that_is_a_name() {
    for (endpoint, expected) in [
        ("https://s3.example.org", "https://b.u.s3.example.org"),
        ("https://s3.example.org/", "https://b.u.s3.example.org"),
        ("http://localhost:9000", "http://b.u.localhost:9000"),
        ("https://S3.Example.org:443/x/", "https://b.u.s3.example.org/x"),
        // Of an address there is no name to put it before.
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("http://[::1]:9000", "http://[::1]:9000"),
        ("nonsense", "nonsense"),
    ] {
        assert_eq!(hosted(endpoint, "b.u"), expected, "{endpoint}");
    }
}
