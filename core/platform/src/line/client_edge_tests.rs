//! Tests of what goes into addresses of the API, and of how its answers are read.

use proptest::prelude::*;
use url::Url;

use super::*;

#[test]
fn an_answer_that_is_no_utf_8_is_read_as_far_as_it_goes() {
    let name = |body: &[u8]| read::<LineProfile>(body).map(|profile| profile.display_name);
    assert_eq!(name(b"{\"displayName\":\"a\xffb\"}").unwrap(), "a\u{fffd}b");
    assert_eq!(name(r#" {"displayName":"早安","addedLater":[1]} "#.as_bytes()).unwrap(), "早安");
    for odd in [&b""[..], b"{}", b"<html>", b"{\"displayName\":7}", b"{\"displayName\":\"a\"} x"] {
        assert!(matches!(name(odd), Err(PlatformError::Unknown(None))), "{odd:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_id_never_changes_the_address_that_it_is_put_in(
        id in prop_oneof!["[UCR][0-9a-f]{4,32}", "[a.%/?#\\\\@:;é ~-]{0,4}", ".{0,8}"],
    ) {
        if let Ok(segment) = segment(&id) {
            prop_assert_eq!(segment, id.as_str());
            let url = Url::parse(&format!("https://api.line.me/v2/bot/{segment}/members")).unwrap();
            prop_assert_eq!(url.path(), format!("/v2/bot/{segment}/members"));
            prop_assert!(url.query().is_none() && url.fragment().is_none());
        } else {
            let is_plain = id.chars().all(|letter| letter.is_ascii_alphanumeric());
            prop_assert!(id.is_empty() || !is_plain, "{id} is an id of LINE");
        }
    }
}
