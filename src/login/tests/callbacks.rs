//! Browsers that come back from the provider.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use super::*;

/// Returns the status of a response and the code of its error.
fn refused(response: &Response<Bytes>) -> (StatusCode, String) {
    let code = json_of(response)["code"].as_str().unwrap_or_default().to_owned();
    (response.status(), code)
}

#[tokio::test]
async fn a_browser_may_be_at_the_provider_for_just_under_ten_minutes() {
    let fixture = Fixture::new().await;
    for (millis, status) in [(599_999, StatusCode::SEE_OTHER), (600_000, StatusCode::BAD_REQUEST)] {
        let login = fixture.start("/auth/login").await;
        fixture.clock.advance(Duration::from_millis(millis));
        fixture.confirm(&login, &json!({}));
        let response = fixture.call_back(&login, "code=c", &[]).await;
        assert_eq!(response.status(), status, "{millis}");
        let began = cookie(&response, "chatkeep_session").is_some();
        assert_eq!(began, status == StatusCode::SEE_OTHER, "{millis}");
    }
}

#[tokio::test]
async fn a_token_is_good_until_its_end_by_our_clock() {
    let fixture = Fixture::new().await;
    let now = fixture.seconds();
    for (exp, good) in [(now + 1, true), (now, false), (now - 1, false)] {
        let login = fixture.start("/auth/login").await;
        fixture.confirm(&login, &json!({"exp": exp}));
        let response = fixture.call_back(&login, "code=c", &[]).await;
        if good {
            assert_eq!(response.status(), StatusCode::SEE_OTHER, "{exp}");
        } else {
            let expected = (StatusCode::UNAUTHORIZED, "login_unconfirmed".to_owned());
            assert_eq!(refused(&response), expected, "{exp}");
        }
    }
}

#[tokio::test]
async fn errors_of_the_provider_have_their_meaning_for_programs_and_people() {
    let fixture = Fixture::new().await;
    let denied = (StatusCode::FORBIDDEN, "login_denied", "denied");
    let away = (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "unavailable");
    for (error, (status, code, problem)) in [
        ("access_denied", denied),
        ("login_required", denied),
        ("<b>未知</b>", denied),
        ("", denied),
        ("server_error", away),
        ("temporarily_unavailable", away),
    ] {
        let query = format!("error={}&error_description=x", encoded(error));
        let login = fixture.start("/auth/login").await;
        let response = fixture.call_back(&login, &query, &[]).await;
        assert_eq!(refused(&response), (status, code.to_owned()), "{error}");
        let text = String::from_utf8_lossy(response.body());
        assert!(!text.contains("未知"), "what somebody wrote into an address is not repeated");
        let path = "/c/C1?q=%E6%97%A5&n=1#m";
        let login = fixture.start(&format!("/auth/login?returnTo={}", encoded(path))).await;
        let response = fixture.call_back(&login, &query, &[PAGES]).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{error}");
        let page = location(&response);
        let query = page.strip_prefix("/console/sign-in?").unwrap();
        let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let expected = [("problem", problem), ("next", path)];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}

#[tokio::test]
async fn a_callback_of_another_issuer_is_refused() {
    let fixture = Fixture::new().await;
    let ours = fixture.provider.issuer.clone();
    for (issuer, good) in [
        (ours.clone(), true),
        (format!("{ours}/"), true),
        (format!("{ours}.evil.example"), false),
        (format!("{ours}/realm"), false),
        (ours.replace("http:", "https:"), false),
        (String::new(), false),
    ] {
        for answer in ["code=c", "error=server_error"] {
            let login = fixture.start("/auth/login").await;
            fixture.confirm(&login, &json!({}));
            let query = format!("{answer}&iss={}", encoded(&issuer));
            let response = fixture.call_back(&login, &query, &[]).await;
            let expected = match (good, answer) {
                (true, "code=c") => (StatusCode::SEE_OTHER, ""),
                (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
                (false, _) => (StatusCode::BAD_REQUEST, "invalid_request"),
            };
            let (status, code) = refused(&response);
            assert_eq!((status, &*code), expected, "{query}");
        }
    }
}

#[tokio::test]
async fn a_callback_that_says_nothing_ends_its_login() {
    let fixture = Fixture::new().await;
    let login = fixture.start("/auth/login?returnTo=/me").await;
    let response = fixture.call_back(&login, "session_state=x", &[PAGES]).await;
    assert_eq!(location(&response), "/console/sign-in?problem=unconfirmed&next=%2Fme");
    fixture.confirm(&login, &json!({}));
    let again = fixture.call_back(&login, "code=c", &[]).await;
    assert_eq!(refused(&again), (StatusCode::BAD_REQUEST, "login_not_pending".to_owned()));
}

#[tokio::test]
async fn people_come_back_to_the_path_that_they_came_from() {
    let fixture = Fixture::new().await;
    let longest = format!("/{}", "a".repeat(1_999));
    for path in ["/", "/c/C1?a=1&b=%2F%3F&c=%E6%97%A5&d=+%2B#m-1", "/%2e%2e/x", "/x//y", &longest] {
        let login = fixture.start(&format!("/auth/login?returnTo={}", encoded(path))).await;
        fixture.confirm(&login, &json!({}));
        assert_eq!(location(&fixture.call_back(&login, "code=c", &[]).await), path);
    }
    let long = format!("/auth/login?returnTo={longest}a");
    let response = fixture.send(("GET", &long), &[]).await;
    assert_eq!(refused(&response), (StatusCode::BAD_REQUEST, "invalid_request".to_owned()));
}

#[tokio::test]
async fn a_browser_keeps_its_cookie_over_logins_if_that_can_be_ours() {
    let fixture = Fixture::new().await;
    let known = "a".repeat(40);
    for (value, kept) in [(known.as_str(), true), ("short", false), (&*format!("{known}a"), false)]
    {
        let header = format!("chatkeep_login={value}");
        let response = fixture.send(("GET", "/auth/login"), &[("cookie", &header)]).await;
        let set = cookie(&response, "chatkeep_login").unwrap();
        assert_eq!(set == header, kept, "{value}");
        assert_eq!(set.len(), "chatkeep_login=".len() + 40, "{value}");
    }
}

#[tokio::test]
async fn the_code_and_the_proof_of_the_browser_reach_the_provider() {
    let fixture = Fixture::new().await;
    let login = fixture.start("/auth/login").await;
    fixture.confirm(&login, &json!({}));
    let code = "a+b/c=&d 早";
    let response = fixture.call_back(&login, &format!("code={}", encoded(code)), &[]).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    let form = fixture.provider.answers(|answers| answers.redeemed.clone());
    let form: BTreeMap<_, _> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    assert_eq!(form["code"], code);
    assert_eq!(form["redirect_uri"], "http://127.0.0.1:8080/auth/callback");
    assert_eq!(form["redirect_uri"], login.parameters["redirect_uri"]);
    let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    assert_eq!(proof, login.parameters["code_challenge"]);
    assert_eq!(login.parameters["code_challenge_method"], "S256");
}
