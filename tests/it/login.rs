//! Signing in at a real provider, in a browser, through the real program.

use std::net::SocketAddr;

use reqwest::header::SET_COOKIE;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _};
use tempfile::TempDir;

use crate::harness::oidc::{Browser, CLIENT, Page, Provider};
use crate::harness::process::{Process, Program};
use crate::harness::wait::until;
use crate::harness::{ports, scratch};
use crate::stack::DEADLINE;

/// The program, with or without its provider.
struct Scene {
    address: SocketAddr,
    base: String,
    folder: TempDir,
    process: Process,
    _provider: Option<Provider>,
}

impl Scene {
    /// Starts the program on this machine and a provider that signs with `algorithm`.
    async fn new(algorithm: &str) -> Self {
        let address = ports::free();
        let base = format!("http://{address}");
        let provider = Provider::start(&format!("{base}/auth/callback"), algorithm).await;
        Self::with(address, &base, Some(provider.issuer()), Some(provider), &[]).await
    }

    async fn with(
        address: SocketAddr,
        base: &str,
        issuer: Option<String>,
        provider: Option<Provider>,
        settings: &[(&str, &str)],
    ) -> Self {
        let folder = scratch::folder("login-");
        let mut program = Program::chatkeep()
            .args(["serve", "--roles", "api"])
            .env("CHATKEEP_DATA", folder.path())
            .env("CHATKEEP_LISTEN", address.to_string())
            .env("CHATKEEP_METRICS_LISTEN", "")
            // Waiting for a provider sends requests as fast as it can.
            .env("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0")
            .env("CHATKEEP_LOG_FILTER", "trace");
        if let Some(issuer) = issuer {
            program = program
                .env("CHATKEEP_LOGIN_ISSUER", issuer)
                .env("CHATKEEP_LOGIN_CLIENT_ID", CLIENT.0)
                .env("CHATKEEP_LOGIN_CLIENT_SECRET", CLIENT.1);
        }
        for (name, value) in settings {
            program = program.env(name, value);
        }
        let mut process = program.start();
        process.ready(address, "/readyz").await;
        Self { address, base: base.to_owned(), folder, process, _provider: provider }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Returns the callback address for that person.
    async fn callback(&self, browser: &Browser, person: &str) -> String {
        browser.sign_in(&self.url("/auth/login"), Some(person)).await
    }

    /// Signs that person in.
    async fn sign_in(&self, browser: &Browser, person: &str) {
        let page = browser.get(&self.callback(browser, person).await).await;
        assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.body);
    }

    async fn session(&self, browser: &Browser) -> Page {
        browser.get(&self.url("/auth/session")).await
    }

    /// Returns true if the browser has a session.
    async fn signed_in(&self, browser: &Browser) -> bool {
        self.session(browser).await.status == StatusCode::OK
    }

    /// Returns the number of sessions in the database.
    async fn sessions(&self) -> i64 {
        self.sql("SELECT count(*) FROM sessions").await
    }

    async fn sql(&self, sql: &str) -> i64 {
        let file = SqliteConnectOptions::new().filename(self.folder.path().join("chatkeep.db"));
        let mut connection = file.connect().await.unwrap();
        let row = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_optional(&mut connection).await;
        row.unwrap().unwrap_or_default()
    }

    /// Asserts that no log line contains any of these.
    fn never_logged(&self, secrets: &[&str]) {
        let logged = [self.process.stdout(), self.process.stderr()].concat().join("\n");
        assert!(logged.contains("chatkeep is ready"), "{logged}");
        for secret in secrets {
            assert!(!logged.contains(secret), "{secret} is in the log:\n{logged}");
        }
    }
}

/// Asserts that a page is an error in the API's common form.
fn refused(page: &Page, status: StatusCode, code: &str) {
    assert_eq!((page.status, &page.json()["code"]), (status, &json!(code)), "{}", page.body);
    let body = page.json();
    assert!(body["error"].is_string() && body["requestId"].is_string(), "{body}");
    let session = |line: &&reqwest::header::HeaderValue| line.as_bytes().starts_with(b"chatkeep_s");
    assert!(page.headers.get_all(SET_COOKIE).iter().find(session).is_none(), "a session began");
}

fn parameter(url: &str, name: &str) -> String {
    let url = url::Url::parse(url).unwrap();
    url.query_pairs().find(|(found, _)| found == name).unwrap().1.into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_sign_in_whatever_signs_their_tokens() {
    for algorithm in ["RS256", "ES256", "HS256"] {
        let (scene, browser) = (Scene::new(algorithm).await, Browser::new());
        refused(&scene.session(&browser).await, StatusCode::UNAUTHORIZED, "not_signed_in");
        let start = scene.url("/auth/login?returnTo=/console%3Fa%3Db%23c");
        let callback = browser.sign_in(&start, Some("Uann")).await;
        let page = browser.get(&callback).await;
        assert_eq!(page.status, StatusCode::SEE_OTHER, "{algorithm}: {}", page.body);
        assert_eq!(page.headers["location"], "/console?a=b#c");
        assert_eq!(page.headers["cache-control"], "no-store");
        let session = scene.session(&browser).await.json();
        assert_eq!(
            (&session["userId"], &session["displayName"], &session["pictureUrl"]),
            (&json!("Uann"), &json!("Uann 王"), &json!("https://pictures.example.org/Uann")),
            "{algorithm}"
        );
        assert!(session["expiresAt"].is_string());
        assert_eq!(scene.sql("SELECT count(*) FROM users WHERE display_name = 'Uann 王'").await, 1);

        let (cookie, csrf) = (browser.cookie("chatkeep_session").unwrap(), &session["csrfToken"]);
        let (state, code) = (parameter(&callback, "state"), parameter(&callback, "code"));
        let secrets = [CLIENT.1, &cookie, csrf.as_str().unwrap(), &state, &code];
        scene.never_logged(&secrets);
        let file = std::fs::read(scene.folder.path().join("chatkeep.db-wal")).unwrap();
        let kept = |text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(kept("Uann") && !kept(&cookie), "only the cookie's hash is kept");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_are_not_for_us_are_refused() {
    let scene = Scene::new("HS256").await;
    let faults = ["wrong-nonce", "no-nonce", "wrong-audience", "wrong-issuer", "expired-token"];
    for fault in faults.into_iter().chain(["wrong-signature", "unsigned", "late"]) {
        let browser = Browser::new();
        let callback = scene.callback(&browser, fault).await;
        let page = browser.get(&callback).await;
        refused(&page, StatusCode::UNAUTHORIZED, "login_unconfirmed");
        assert!(!scene.signed_in(&browser).await, "{fault}");
        scene.never_logged(&[CLIENT.1, &parameter(&callback, "code")]);
    }
    assert_eq!(scene.sessions().await, 0);
    assert_eq!(scene.sql("SELECT count(*) FROM users").await, 0);
    let browser = Browser::new();
    scene.sign_in(&browser, "Uann").await;
    assert!(scene.signed_in(&browser).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_back_is_good_once_and_in_its_own_browser() {
    let scene = Scene::new("RS256").await;
    let (mine, other) = (Browser::new(), Browser::new());
    let pending = |page: &Page| refused(page, StatusCode::BAD_REQUEST, "login_not_pending");
    let callback = scene.callback(&mine, "Uann").await;
    let state = parameter(&callback, "state");
    pending(&mine.get(&callback.replace(&state, "wrong")).await);
    pending(&Browser::new().get(&callback).await);
    // A browser with a login of its own.
    let theirs = scene.callback(&other, "Ubob").await;
    pending(&other.get(&callback).await);
    assert_eq!(scene.sessions().await, 0);

    // A stolen code does not fit a login that was started elsewhere.
    let (code, stolen) = (parameter(&callback, "code"), parameter(&theirs, "code"));
    let injected = mine.get(&callback.replace(&code, &stolen)).await;
    refused(&injected, StatusCode::UNAUTHORIZED, "login_unconfirmed");
    pending(&mine.get(&callback).await);

    let (first, second) =
        (scene.callback(&mine, "Uann").await, scene.callback(&mine, "Uann").await);
    for callback in [&first, &second] {
        assert_eq!(mine.get(callback).await.status, StatusCode::SEE_OTHER, "two tabs");
        pending(&mine.get(callback).await);
    }
    assert_eq!(scene.sessions().await, 1, "the second login of a browser ends the first");

    let slow = scene.callback(&mine, "Uann").await;
    scene.sql("UPDATE logins SET created_at = created_at - 600000").await;
    pending(&mine.get(&slow).await);
    for broken in ["", "?code=a", "?state=", "?state=a&state=b"] {
        let page = mine.get(&scene.url(&format!("/auth/callback{broken}"))).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{broken}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_declines_is_not_signed_in() {
    let (scene, browser) = (Scene::new("RS256").await, Browser::new());
    let callback = browser.sign_in(&scene.url("/auth/login"), None).await;
    assert_eq!(parameter(&callback, "error"), "access_denied");
    refused(&browser.get(&callback).await, StatusCode::FORBIDDEN, "login_denied");
    let again = browser.get(&callback).await;
    refused(&again, StatusCode::BAD_REQUEST, "login_not_pending");
    let forged = callback.replace("access_denied", "<script>");
    refused(&Browser::new().get(&forged).await, StatusCode::BAD_REQUEST, "login_not_pending");
    assert_eq!(scene.sessions().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logging_out_needs_the_token_and_ends_one_session() {
    let scene = Scene::new("ES256").await;
    let (mine, other) = (Browser::new(), Browser::new());
    for browser in [&mine, &other] {
        scene.sign_in(browser, "Uann").await;
    }
    let url = scene.url("/auth/logout");
    let token = |page: Page| page.json()["csrfToken"].as_str().unwrap().to_owned();
    let (own, theirs) = (token(scene.session(&mine).await), token(scene.session(&other).await));
    let foreign = [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")];
    for headers in [&[][..], &[("x-csrf-token", "")], &[("x-csrf-token", &theirs)], &foreign] {
        let page = mine.send(Method::POST, &url, headers, None).await;
        refused(&page, StatusCode::FORBIDDEN, "invalid_csrf_token");
    }
    assert!(scene.signed_in(&mine).await);
    let cookie = mine.cookie("chatkeep_session").unwrap();
    let page = mine.send(Method::POST, &url, &[("x-csrf-token", &own)], None).await;
    assert_eq!((page.status, page.json()), (StatusCode::OK, json!({"success": true})));
    assert_eq!(mine.cookie("chatkeep_session"), None);
    mine.plant("chatkeep_session", &cookie);
    refused(&scene.session(&mine).await, StatusCode::UNAUTHORIZED, "not_signed_in");
    let page = mine.send(Method::POST, &url, &[("x-csrf-token", &own)], None).await;
    refused(&page, StatusCode::UNAUTHORIZED, "not_signed_in");

    let page = mine.get(&url).await;
    assert_eq!(page.status, StatusCode::METHOD_NOT_ALLOWED);
    let ours = [("sec-fetch-site", "same-origin"), ("origin", scene.base.as_str())];
    let page = other.send(Method::POST, &url, &ours, None).await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(scene.sessions().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_repeated_in_its_session_whatever_other_cookies_say() {
    let (scene, browser) = (Scene::new("ES256").await, Browser::new());
    scene.sign_in(&browser, "Uann").await;
    let body = json!({"name": "made once", "scopes": ["read:messages"]});
    let http = crate::harness::http::client(DEADLINE);
    let ask = async |cookies: String| {
        let asked = http.post(scene.url("/api/keys")).json(&body).header("cookie", cookies);
        let asked = asked.header("origin", &scene.base).header("sec-fetch-site", "same-origin");
        let answer = asked.header("idempotency-key", "k").send().await.unwrap();
        let (status, replayed) =
            (answer.status(), answer.headers().contains_key("idempotent-replayed"));
        (status.as_u16(), replayed, answer.json::<Value>().await.unwrap())
    };
    let session = |browser: &Browser| {
        format!("chatkeep_session={}", browser.cookie("chatkeep_session").unwrap())
    };
    let (status, replayed, first) = ask(format!("theme=light; {}", session(&browser))).await;
    assert_eq!((status, replayed), (201, false), "{first}");
    for cookies in [format!("theme=dark; {}", session(&browser)), session(&browser)] {
        assert_eq!(ask(cookies).await, (201, true, first.clone()));
    }
    // The same person in another session: it was handled already, and is not done again.
    let other = Browser::new();
    scene.sign_in(&other, "Uann").await;
    let (status, _, refused) = ask(session(&other)).await;
    assert_eq!((status, &refused["code"]), (409, &json!("answer_not_kept")));
    // Another person has no access to it.
    let stranger = Browser::new();
    scene.sign_in(&stranger, "Ubob").await;
    let (status, replayed, theirs) = ask(session(&stranger)).await;
    assert_eq!((status, replayed), (201, false));
    assert_ne!(theirs["key"], first["key"]);
    assert_eq!(scene.sql("SELECT count(*) FROM api_keys").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_not_used_ends() {
    let (scene, browser) = (Scene::new("ES256").await, Browser::new());
    scene.sign_in(&browser, "Uann").await;
    let aged = |days: i64| {
        let millis = days * 86_400_000;
        format!("UPDATE sessions SET seen_at = seen_at - {millis}")
    };
    scene.sql(&aged(29)).await;
    let before = scene.sql("SELECT seen_at FROM sessions").await;
    assert!(scene.signed_in(&browser).await);
    // Uses are written a moment later, and together.
    until("its use is written", DEADLINE, async || {
        scene.sql("SELECT seen_at FROM sessions").await > before
    })
    .await;
    scene.sql(&aged(29)).await;
    assert!(scene.signed_in(&browser).await, "it was used in between");
    until("its use is written", DEADLINE, async || {
        scene.sql("SELECT seen_at FROM sessions").await > before + 29 * 86_400_000 / 2
    })
    .await;
    scene.sql(&aged(31)).await;
    refused(&scene.session(&browser).await, StatusCode::UNAUTHORIZED, "not_signed_in");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_tls_cookies_are_of_one_host_only() {
    let (address, base) = (ports::free(), "https://chat.example.org");
    let provider = Provider::start(&format!("{base}/auth/callback"), "RS256").await;
    let settings = [("CHATKEEP_API_BASE_URL", base), ("CHATKEEP_LOGIN_USER_PREFIX", "corp:")];
    let issuer = Some(provider.issuer());
    let scene = Scene::with(address, base, issuer, Some(provider), &settings).await;
    let browser = Browser::behind(base, &format!("http://{}", scene.address));
    let page = browser.get(&scene.callback(&browser, "ann").await).await;
    assert_eq!(
        (page.status, page.headers["location"].to_str().unwrap()),
        (StatusCode::SEE_OTHER, "/")
    );
    let set = page.headers[SET_COOKIE].to_str().unwrap();
    for flag in ["__Host-chatkeep=", "HttpOnly", "SameSite=Lax", "Secure", "Path=/", "Max-Age="] {
        assert!(set.split("; ").any(|part| part.starts_with(flag)), "{flag}: {set}");
    }
    assert!(!set.contains("Domain"), "{set}");
    let session = scene.session(&browser).await.json();
    assert_eq!(session["userId"], "corp:ann");
    assert_eq!(session["displayName"], "ann 王");
    // The name without the prefix, which a neighbouring host could set, is ignored.
    let other = Browser::behind(base, &format!("http://{}", scene.address));
    other.plant("chatkeep_session", &browser.cookie("__Host-chatkeep").unwrap());
    assert!(!scene.signed_in(&other).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_pages_of_this_service_are_returned_to() {
    let (scene, browser) = (Scene::new("ES256").await, Browser::new());
    for path in ["https://evil.example", "//evil.example", "/%5Cevil.example", "x", "", "/%09/x"] {
        let page = browser.get(&scene.url(&format!("/auth/login?returnTo={path}"))).await;
        refused(&page, StatusCode::BAD_REQUEST, "invalid_request");
        assert_eq!(page.json()["field"], "returnTo", "{path}");
    }
    let page = browser.get(&scene.url("/auth/login?next=/x")).await;
    refused(&page, StatusCode::BAD_REQUEST, "invalid_request");
    assert_eq!(scene.sql("SELECT count(*) FROM logins").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_may_be_down_and_change_its_keys() {
    let (address, issuer) = (ports::free(), ports::free());
    let base = format!("http://{address}");
    let callback = format!("{base}/auth/callback");
    let scene = Scene::with(address, &base, Some(format!("http://{issuer}")), None, &[]).await;
    let (browser, start) = (Browser::new(), scene.url("/auth/login"));
    let page = browser.get(&start).await;
    refused(&page, StatusCode::SERVICE_UNAVAILABLE, "unavailable");
    assert!(page.headers.contains_key("retry-after"));
    let up = async || {
        until("logins go to the provider", DEADLINE, async || {
            browser.get(&start).await.status == StatusCode::SEE_OTHER
        })
        .await;
    };
    let provider = Provider::at(issuer, &callback, "RS256").await;
    up().await;
    scene.sign_in(&browser, "Uann").await;

    // It expires between the start of a login and its end.
    let pending = scene.callback(&browser, "Uann").await;
    drop(provider);
    refused(&browser.get(&pending).await, StatusCode::SERVICE_UNAVAILABLE, "unavailable");
    let _provider = Provider::at(issuer, &callback, "RS256").await;
    let fresh = Browser::new();
    scene.sign_in(&fresh, "Ubob").await;
    assert_eq!(scene.session(&fresh).await.json()["userId"], "Ubob");
    assert!(scene.signed_in(&browser).await, "who is signed in stays it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_provider_there_is_no_login() {
    let address = ports::free();
    let scene = Scene::with(address, &format!("http://{address}"), None, None, &[]).await;
    let routes =
        ["/auth/login", "/auth/callback", "/auth/callback?state=a&code=b", "/auth/session"];
    for path in routes {
        let page = Browser::new().get(&scene.url(path)).await;
        refused(&page, StatusCode::NOT_FOUND, "not_found");
        assert_eq!(page.json()["error"], Value::from("Not found"));
    }
    let page = Browser::new().send(Method::POST, &scene.url("/auth/logout"), &[], None).await;
    refused(&page, StatusCode::NOT_FOUND, "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_of_another_browser_is_tried_once_more_and_then_explained() {
    let (scene, browser) = (Scene::new("RS256").await, Browser::new());
    let page = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("accept-language", "th")];
    let visit =
        async |browser: &Browser, url: &str| browser.send(Method::GET, url, &page, None).await;
    let location = |page: &Page| page.headers["location"].to_str().unwrap().to_owned();
    let foreign = scene.url("/auth/callback?code=c&state=not-ours");
    let retried = visit(&browser, &foreign).await;
    assert_eq!(location(&retried), "/auth/login?disableAutoLogin=true");
    let start = scene.url(&location(&retried));
    let to = visit(&browser, &start).await.location().unwrap();
    assert_eq!(parameter(&to, "disable_auto_login"), "true");
    assert_eq!(parameter(&to, "ui_locales"), "th");
    let explained = "/console/sign-in?problem=other_browser";
    assert_eq!(location(&visit(&browser, &foreign).await), explained);
    // A browser without cookies is recognised by its state.
    let again = scene.url(&format!("/auth/callback?code=c&state={}", parameter(&to, "state")));
    assert_eq!(location(&visit(&Browser::new(), &again).await), explained);
    let help = visit(&browser, &scene.url(explained)).await;
    assert!(help.body.contains("ปิดโหมดส่วนตัว") && help.body.contains("/auth/login?returnTo="));

    // The second attempt may succeed, and a later failure is retried again.
    let callback = browser.sign_in(&start, Some("Uann")).await;
    assert_eq!(location(&visit(&browser, &callback).await), "/");
    assert!(scene.signed_in(&browser).await);
    let retried = visit(&browser, &foreign).await;
    assert_eq!(location(&retried), "/auth/login?disableAutoLogin=true");

    let declined = Browser::new();
    let start = scene.url("/auth/login?returnTo=/c/C1%3Fdate%3D2024-03-01");
    let callback = declined.sign_in(&start, None).await;
    let denied = visit(&declined, &callback).await;
    let next = "%2Fc%2FC1%3Fdate%3D2024-03-01";
    assert_eq!(location(&denied), format!("/console/sign-in?problem=denied&next={next}"));
    let help = visit(&declined, &scene.url(&location(&denied))).await;
    assert!(help.body.contains(&format!("/auth/login?returnTo={next}")), "{}", help.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settings_of_the_provider_pages_are_sent() {
    let (address, base) = (ports::free(), "http://127.0.0.1");
    let provider = Provider::start(&format!("{base}/auth/callback"), "RS256").await;
    let settings = [
        ("CHATKEEP_LOGIN_UI_LOCALES", "ja en"),
        ("CHATKEEP_LOGIN_PROMPT", "consent"),
        ("CHATKEEP_LOGIN_BOT_PROMPT", "aggressive"),
    ];
    let base = format!("http://{address}");
    let issuer = Some(provider.issuer());
    let scene = Scene::with(address, &base, issuer, Some(provider), &settings).await;
    let to = Browser::new().get(&scene.url("/auth/login?lang=th")).await.location().unwrap();
    for (name, value) in
        [("ui_locales", "ja en"), ("prompt", "consent"), ("bot_prompt", "aggressive")]
    {
        assert_eq!(parameter(&to, name), value);
    }
    let other = Scene::new("RS256").await;
    let to = Browser::new().get(&other.url("/auth/login?lang=zh-Hant")).await.location().unwrap();
    assert_eq!(parameter(&to, "ui_locales"), "zh-TW zh-Hant");
    assert!(!to.contains("prompt=") && !to.contains("disable_auto_login"), "{to}");
}
