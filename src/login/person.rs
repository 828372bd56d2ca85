//! A person's claims, cut to the part that is stored and shown.

use openidconnect::core::{CoreIdTokenClaims, CoreUserInfoClaims};
use openidconnect::{EndUserName, EndUserPictureUrl, EndUserUsername, LocalizedClaim};
use url::Url;

/// Maximum length of `sub` (OpenID Connect Core, section 2).
const MAX_SUB: usize = 255;
/// Maximum length of a name in characters; longer ones are cut.
const MAX_NAME: usize = 200;
/// Maximum length of a picture's address; longer ones are left out.
const MAX_PICTURE: usize = 2000;

/// Person as described by the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) sub: String,
    pub(super) name: Option<String>,
    pub(super) picture: Option<String>,
}

impl Person {
    /// Creates it from the claims of a verified ID token; `None` when its `sub` is invalid.
    pub(super) fn from_token(claims: &CoreIdTokenClaims) -> Option<Self> {
        let sub = claims.subject().as_str();
        let name = name(claims.name(), claims.preferred_username());
        let fits = !sub.is_empty() && sub.len() <= MAX_SUB;
        let fits = fits && sub.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self { sub: sub.to_owned(), name, picture: picture(claims.picture()) })
    }
}

/// Creates it from the user info endpoint, which does not decide on identity.
pub(super) fn described(info: &CoreUserInfoClaims) -> Person {
    Person {
        sub: String::new(),
        name: name(info.name(), info.preferred_username()),
        picture: picture(info.picture()),
    }
}

fn name(
    name: Option<&LocalizedClaim<EndUserName>>,
    username: Option<&EndUserUsername>,
) -> Option<String> {
    let name = name.and_then(|name| name.get(None)).map(|name| name.as_str());
    let shown = name.into_iter().chain(username.map(|name| name.as_str())).map(readable);
    shown.into_iter().find(|name| !name.is_empty())
}

fn readable(name: &str) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    shown.trim().to_owned()
}

/// Returns the picture's address; pages show it, so it must be a web address and nothing else.
fn picture(claim: Option<&LocalizedClaim<EndUserPictureUrl>>) -> Option<String> {
    let address = claim?.get(None)?.as_str();
    let url = Url::parse(address).ok()?;
    let fits = address.len() <= MAX_PICTURE && matches!(url.scheme(), "http" | "https");
    fits.then(|| url.into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn person(more: &Value) -> Option<Person> {
        let mut claims = json!({"iss": "https://i", "aud": ["a"], "exp": 2, "iat": 1, "sub": "u"});
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        Person::from_token(&serde_json::from_value(claims).unwrap())
    }

    #[test]
    fn only_what_can_be_shown_is_taken() {
        let cases = [
            (json!({}), None, None),
            (
                json!({"name": " 明\u{0}華 ", "picture": "https://p/1"}),
                Some("明華"),
                Some("https://p/1"),
            ),
            (json!({"name": "\u{7}", "preferred_username": "ann"}), Some("ann"), None),
            (json!({"name": "A", "picture": "javascript:alert(1)"}), Some("A"), None),
            (json!({"name": "A", "picture": "not an address"}), Some("A"), None),
        ];
        for (claims, name, picture) in cases {
            let found = person(&claims).unwrap();
            assert_eq!((found.name.as_deref(), found.picture.as_deref()), (name, picture));
        }
        let long = person(&json!({"name": "長".repeat(300)})).unwrap();
        assert_eq!(long.name.unwrap().chars().count(), 200);
    }

    #[test]
    fn a_name_for_nobody_is_refused() {
        for sub in ["", "a\u{0}b", "a b", "日", &"x".repeat(256)] {
            assert_eq!(person(&json!({"sub": sub})), None, "{sub:?}");
        }
    }
}
