//! Tests of error responses: pauses that the platform names, ids of calls, and any status.

use proptest::prelude::*;

use super::*;

fn headers(name: &'static str, value: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(name, reqwest::header::HeaderValue::from_bytes(value).unwrap());
    headers
}

#[test]
fn a_pause_is_named_in_whole_seconds_or_not_at_all() {
    for (value, seconds) in [
        (&b"0"[..], Some(0)),
        (b"120", Some(120)),
        (b"86400", Some(86_400)),
        (b"-1", None),
        (b"1.5", None),
        (b"", None),
        (b"1 2", None),
        (b"99999999999999999999", None),
        (b"Wed, 21 Oct 2015 07:28:00 GMT", None),
        (b"\xff", None),
    ] {
        let error = refused(StatusCode::TOO_MANY_REQUESTS, &headers("retry-after", value), b"{}");
        let PlatformError::RateLimited { retry_after } = error else { panic!("{error}") };
        assert_eq!(retry_after, seconds.map(Duration::from_secs), "{value:?}");
    }
    // Of any other status it means nothing.
    let error = refused(StatusCode::FORBIDDEN, &headers("retry-after", b"9"), b"{}");
    assert!(error.not_now().is_none());
}

#[test]
fn an_id_of_a_call_is_short_and_visible() {
    let longest = "a".repeat(MAX_REQUEST_ID);
    assert_eq!(request_id(&headers("x-line-request-id", longest.as_bytes())), Some(&*longest));
    let longer = "a".repeat(MAX_REQUEST_ID + 1);
    for odd in [longer.as_bytes(), b"", "早".as_bytes(), b"\xff\xfe"] {
        assert_eq!(request_id(&headers("x-line-request-id", odd)), None, "{odd:?}");
    }
    assert_eq!(request_id(&HeaderMap::new()), None);
}

#[test]
fn an_explanation_holds_no_control_and_is_cut_between_letters() {
    assert_eq!(explanation(" \r\n", "\t"), "");
    assert_eq!(explanation("a\0b\u{85}c", "d\u{7f}\ne"), "abc: de");
    assert_eq!(explanation(&"早".repeat(MAX_REASON - 1), "x").chars().count(), MAX_REASON);
    for (details, expected) in [
        (r#"[{"property":"to","message":"bad"}]"#, ": to: bad"),
        (r#"[{"property":"to"}]"#, ": to"),
        (r#"[{"message":"bad"},{"message":"worse"}]"#, ": bad"),
        ("[]", ""),
        ("null", ""),
        (r#""text""#, ""),
        (r#"[[{"message":"bad"}]]"#, ""),
    ] {
        let body = format!(r#"{{"details":{details}}}"#);
        let told = refused(StatusCode::BAD_REQUEST, &HeaderMap::new(), body.as_bytes()).to_string();
        assert_eq!(told, format!("the platform responded with status 400{expected}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn only_a_server_error_leaves_the_outcome_open(
        status in 300_u16..600,
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let error = refused(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), &body);
        prop_assert_eq!(matches!(error, PlatformError::Unknown(None)), status >= 500);
        // A refusal is no reason to take the platform for dead, and a failure is none to repeat.
        prop_assert_eq!(error.is_trouble(), status >= 500);
        prop_assert_eq!(error.not_now().is_some(), status == 429);
    }
}
