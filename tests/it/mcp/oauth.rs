//! Authorization without a key, with a client and a person's browser: discovery, registration or a
//! metadata document, signing in at a real provider, consent, tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Json;
use axum::Router;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::config::Database;
use chatkeep_store::Store;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use url::Url;

use super::{ANN, BO, CHANNEL, Models, message, send};
use crate::harness::http;
use crate::harness::oidc::{Browser, CLIENT, Page, Provider};
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more-x";
pub(super) const BACK: &str = "http://127.0.0.1:33418/callback";

/// The program with login, and a person's browser.
pub(super) struct Scene {
    models: Models,
    pub(super) base: String,
    pub(super) browser: Browser,
    _provider: Provider,
}

impl Scene {
    pub(super) async fn new(settings: &[(&'static str, &str)]) -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        let base = format!("http://{}", ground.address);
        let provider = Provider::start(&format!("{base}/auth/callback"), "ES256").await;
        for (name, value) in [
            ("CHATKEEP_LOGIN_ISSUER", provider.issuer().as_str()),
            ("CHATKEEP_LOGIN_CLIENT_ID", CLIENT.0),
            ("CHATKEEP_LOGIN_CLIENT_SECRET", CLIENT.1),
        ] {
            ground.settings.push((name, value.to_owned()));
        }
        ground.settings.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let stack = Stack::on(ground, emulator().await).await;
        let folder = stack.ground.folder.path();
        let store = Store::open(&Database::Sqlite, folder, 2).await.unwrap();
        let models = Models { stack, store, http: http::client(DEADLINE) };
        models.channel(CHANNEL, &[ANN]).await;
        models.keep(&[message("m1", ANN, "2026-01-02T03:04:05Z", "hello")]).await;
        Self { models, base, browser: Browser::new(), _provider: provider }
    }

    pub(super) async fn register(&self, name: &str, back: &str) -> String {
        let said = json!({"client_name": name, "redirect_uris": [back]});
        let answer = self.models.http.post(format!("{}/oauth/register", self.base)).json(&said);
        let answer = send(answer).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
        assert_eq!(answer.body["token_endpoint_auth_method"], "none");
        answer.body["client_id"].as_str().unwrap().to_owned()
    }

    /// Returns the authorization address of that client, with parameters added or removed.
    pub(super) fn asking(&self, client: &str, change: &[(&str, Option<&str>)]) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let resource = format!("{}/mcp", self.base);
        let mut asked = vec![
            ("client_id", client),
            ("redirect_uri", BACK),
            ("response_type", "code"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", "what it likes"),
            ("resource", &resource),
        ];
        for (name, value) in change {
            asked.retain(|(known, _)| known != name);
            asked.extend(value.map(|value| (*name, value)));
        }
        let mut url = Url::parse(&format!("{}/oauth/authorize", self.base)).unwrap();
        url.query_pairs_mut().extend_pairs(asked);
        url.into()
    }

    /// Opens that address, signs in if required, and returns the consent page.
    pub(super) async fn page(&self, asking: &str) -> Page {
        let page = self.browser.get(asking).await;
        let Some(login) = page.location().filter(|to| to.contains("/auth/login?returnTo=")) else {
            return page;
        };
        let callback = self.browser.sign_in(&login, Some(ANN)).await;
        let back = self.browser.get(&callback).await.location().unwrap();
        assert_eq!(back, asking, "login leads back to the question");
        self.browser.get(&back).await
    }

    /// Submits the page's form with that decision; returns the response.
    async fn decide(&self, page: &Page, decision: &str) -> Page {
        self.decide_for(page, decision, &[("reach", "all")]).await
    }

    /// Does the same, with the person's choice.
    async fn decide_for(&self, page: &Page, decision: &str, chosen: &[(&str, &str)]) -> Page {
        let mut form = form_of(&page.body);
        form.extend(chosen.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        self.send_form(&form, decision).await
    }

    pub(super) async fn send_form(&self, form: &[(String, String)], decision: &str) -> Page {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .append_pair("decision", decision)
            .finish();
        let to = format!("{}/oauth/authorize", self.base);
        self.browser.send(Method::POST, &to, &[("origin", &self.base)], Some(body)).await
    }

    /// Runs the whole flow from a client's id to its tokens.
    pub(super) async fn let_in(&self, client: &str) -> Value {
        let page = self.page(&self.asking(client, &[])).await;
        let back = self.decide(&page, "allow").await.location().unwrap();
        let tokens = self.exchange(client, &parameter(&back, "code"), VERIFIER).await;
        assert_eq!(tokens.status, StatusCode::OK, "{}", tokens.body);
        tokens.body
    }

    async fn exchange(&self, client: &str, code: &str, verifier: &str) -> super::Answer {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", code),
            ("redirect_uri", BACK),
            ("code_verifier", verifier),
        ])
        .await
    }

    async fn refresh(&self, client: &str, token: &str) -> super::Answer {
        let form =
            [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)];
        self.token(&form).await
    }

    async fn token(&self, form: &[(&str, &str)]) -> super::Answer {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let kind = ("content-type", "application/x-www-form-urlencoded");
        let request = self.models.http.post(format!("{}/oauth/token", self.base));
        send(request.header(kind.0, kind.1).body(form)).await
    }

    /// Returns the status of reading the channel with that token.
    async fn reads(&self, token: &Value) -> StatusCode {
        let read = json!({"channelId": CHANNEL});
        let answer = self.models.call_as(token.as_str().unwrap(), "get_messages", read).await;
        if answer.status == StatusCode::OK {
            assert_eq!(answer.given()["messages"][0]["text"], "hello");
        }
        answer.status
    }
}

/// Returns the address of a page's link.
fn link_of(page: &str) -> String {
    let (_, rest) = page.split_once("<a href=\"").unwrap_or_else(|| panic!("no link in {page}"));
    let link = rest.split_once('"').unwrap().0;
    link.replace("&#38;", "&").replace("&amp;", "&")
}

/// Returns the hidden fields of a page's form.
pub(super) fn form_of(page: &str) -> Vec<(String, String)> {
    let fields = page.split("<input type=\"hidden\" name=\"").skip(1).map(|field| {
        let (name, rest) = field.split_once("\" value=\"").unwrap();
        let (value, _) = rest.split_once('"').unwrap();
        (name.to_owned(), value.replace("&amp;", "&"))
    });
    fields.collect()
}

pub(super) fn parameter(url: &str, name: &str) -> String {
    let url = Url::parse(url).unwrap();
    let found = url.query_pairs().find(|(found, _)| found == name);
    found.unwrap_or_else(|| panic!("no {name} in {url}")).1.into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_lets_a_program_in_with_an_address_alone() {
    let scene = Scene::new(&[]).await;
    let documents = format!("{}/.well-known", scene.base);
    for path in ["", "/mcp", "/mcp/"] {
        let resource = format!("{documents}/oauth-protected-resource{path}");
        let resource = send(scene.models.http.get(resource)).await.body;
        assert_eq!(resource["authorization_servers"], json!([scene.base]), "{path}");
        assert_eq!(resource["resource"], format!("{}/mcp", scene.base), "{path}");
    }
    let server = format!("{documents}/oauth-authorization-server");
    let server = send(scene.models.http.get(server)).await.body;
    assert_eq!(server["issuer"], scene.base);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["client_id_metadata_document_supported"], true);

    let client = scene.register("<b>Helper</b>", BACK).await;
    let page = scene.page(&scene.asking(&client, &[])).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert!(page.body.contains("&lt;b&gt;Helper&lt;/b&gt;") && !page.body.contains("<b>"));
    assert!(page.body.contains("read and search messages") && page.body.contains("own device"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(policy.contains("form-action 'self' http://127.0.0.1:33418; base-uri 'none'"));
    assert!(policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.headers["cache-control"], "no-store");

    let back = scene.decide(&page, "allow").await.location().unwrap();
    assert!(back.starts_with(BACK), "{back}");
    assert_eq!(parameter(&back, "state"), "what it likes");
    assert_eq!(parameter(&back, "iss"), scene.base);
    let code = parameter(&back, "code");
    let tokens = scene.exchange(&client, &code, VERIFIER).await;
    assert_eq!(tokens.header("cache-control"), "no-store");
    let tokens = tokens.body;
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(3600)));
    assert_eq!(tokens["scope"], "read:messages read:members");
    assert_eq!(scene.reads(&tokens["access_token"]).await, StatusCode::OK);
    // It is valid for reading here, and for nothing else.
    let access = tokens["access_token"].as_str().unwrap();
    for path in ["me", "channels", "keys"] {
        let rest = scene.models.http.get(format!("{}/api/{path}", scene.base));
        let answer = send(rest.bearer_auth(access)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let newer = scene.refresh(&client, tokens["refresh_token"].as_str().unwrap()).await.body;
    assert_ne!(newer["refresh_token"], tokens["refresh_token"]);
    // Two concurrent uses get the same, so that there is never more than one chain.
    let old = tokens["refresh_token"].as_str().unwrap();
    let (one, other) = tokio::join!(scene.refresh(&client, old), scene.refresh(&client, old));
    for again in [one, other] {
        for token in ["access_token", "refresh_token"] {
            assert_eq!(again.body[token], newer[token]);
        }
    }
    assert_eq!(scene.refresh("ckp_another", old).await.body["error"], "invalid_grant");
    assert_eq!(scene.reads(&newer["access_token"]).await, StatusCode::OK);
    assert_eq!(scene.reads(&newer["refresh_token"]).await, StatusCode::UNAUTHORIZED);
    // A second use of the code ends it all.
    let again = scene.exchange(&client, &code, VERIFIER).await;
    assert_eq!(
        (again.status, &again.body["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
    );
    for token in [&tokens["access_token"], &newer["access_token"]] {
        assert_eq!(scene.reads(token).await, StatusCode::UNAUTHORIZED);
    }
    let logged = scene.models.stack.process.stderr().join("\n");
    for secret in [access, &code, newer["refresh_token"].as_str().unwrap()] {
        assert!(!logged.contains(secret), "{logged}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_shows_some_channels_only() {
    let scene = Scene::new(&[]).await;
    let (other, foreign) =
        ("C00000000000000000000000000000other", "C000000000000000000000000000foreign");
    scene.models.channel(other, &[ANN]).await;
    scene.models.channel(foreign, &[BO]).await;
    let client = scene.register("Helper", BACK).await;
    let page = scene.page(&scene.asking(&client, &[])).await;
    assert!(page.body.contains(CHANNEL) && page.body.contains(other), "{}", page.body);
    assert!(!page.body.contains(foreign), "{}", page.body);
    // With no choice, or none of the person's own, the page asks again.
    for none in [vec![], vec![("channel", foreign)]] {
        let chosen = [vec![("reach", "chosen")], none].concat();
        let again = scene.decide_for(&page, "allow", &chosen).await;
        assert_eq!(again.status, StatusCode::OK);
        assert!(again.body.contains("Choose at least one chat"), "{}", again.body);
    }
    let said_nothing = scene.decide_for(&page, "allow", &[]).await;
    assert_eq!(said_nothing.status, StatusCode::BAD_REQUEST);
    let chosen = [("reach", "chosen"), ("channel", other), ("channel", foreign)];
    let back = scene.decide_for(&page, "allow", &chosen).await.location().unwrap();
    let tokens = scene.exchange(&client, &parameter(&back, "code"), VERIFIER).await.body;
    let newer = scene.refresh(&client, tokens["refresh_token"].as_str().unwrap()).await.body;
    for token in [&tokens, &newer] {
        let token = token["access_token"].as_str().unwrap();
        let listed = scene.models.call_as(token, "list_channels", json!({})).await;
        let listed = listed.given()["channels"].as_array().unwrap().clone();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0]["channelId"], other);
        let read = scene.models.call_as(token, "get_messages", json!({"channelId": CHANNEL}));
        assert!(!read.await.refusal().is_empty());
    }
    let consents = scene.browser.get(&format!("{}/oauth/consents", scene.base)).await;
    assert!(
        consents.body.contains(">Helper</strong><br>1 chat, allowed since"),
        "{}",
        consents.body
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_refused_where_it_belongs() {
    let scene = Scene::new(&[]).await;
    let client = scene.register("Helper", BACK).await;
    // Nobody is redirected to an address that the client did not declare.
    for (change, code) in [
        (("client_id", Some("ckp_unknown")), "invalid_client"),
        (("redirect_uri", Some("https://evil.example/")), "invalid_request"),
        (("redirect_uri", Some("http://127.0.0.1:33418/other")), "invalid_request"),
    ] {
        let page = scene.page(&scene.asking(&client, &[change])).await;
        assert!(page.location().is_none() && page.status.is_client_error(), "{change:?}");
        assert_eq!(page.json()["error"], code, "{change:?}");
    }
    for (change, code) in [
        (("code_challenge", None), "invalid_request"),
        (("code_challenge_method", Some("plain")), "invalid_request"),
        (("response_type", Some("token")), "unsupported_response_type"),
        (("resource", Some("https://other.example/mcp")), "invalid_target"),
        (("scope", Some("write:backup manage:keys")), "invalid_scope"),
    ] {
        // Nobody is redirected without having seen where to.
        let page = scene.page(&scene.asking(&client, &[change])).await;
        assert_eq!((page.status, page.location()), (StatusCode::BAD_REQUEST, None), "{change:?}");
        assert!(page.body.contains("“Helper” cannot read your chats"), "{}", page.body);
        let back = link_of(&page.body);
        assert!(back.starts_with(BACK), "{change:?}: {back}");
        assert_eq!(parameter(&back, "error"), code, "{change:?}");
        assert_eq!(parameter(&back, "state"), "what it likes");
    }
    let page = scene.page(&scene.asking(&client, &[("scope", Some("read:media"))])).await;
    assert!(page.body.contains("open files") && !page.body.contains("search messages"));
    let page = scene.page(&scene.asking(&client, &[("scope", Some("read:members x"))])).await;
    assert!(page.body.contains("see who is in") && !page.body.contains("search messages"));
    let denied = scene.decide(&page, "deny").await.location().unwrap();
    assert_eq!(parameter(&denied, "error"), "access_denied");
    // A form that another page made.
    let mut forged = form_of(&page.body);
    forged.iter_mut().find(|(name, _)| name == "csrf").unwrap().1 = "guessed".to_owned();
    let page = scene.send_form(&forged, "allow").await;
    assert_eq!((page.status, &page.json()["code"]), (StatusCode::FORBIDDEN, &json!("forged")));
    for bad in [json!({"redirect_uris": ["javascript:alert(1)"]}), json!({"redirect_uris": []})] {
        let request = scene.models.http.post(format!("{}/oauth/register", scene.base)).json(&bad);
        assert_eq!(send(request).await.body["error"], "invalid_redirect_uri");
    }
    // A code is valid for its own client, with its verifier.
    let other = scene.register("Other", BACK).await;
    for (of, verifier) in [(&other, VERIFIER), (&client, "a-wrong-verifier")] {
        let page = scene.page(&scene.asking(&client, &[])).await;
        let back = scene.decide(&page, "allow").await.location().unwrap();
        let refused = scene.exchange(of, &parameter(&back, "code"), verifier).await;
        assert_eq!(refused.body["error"], "invalid_grant", "{verifier}");
    }
    // A withdrawn consent is over.
    let tokens = scene.let_in(&client).await;
    let consents = format!("{}/oauth/consents", scene.base);
    let page = scene.browser.get(&consents).await;
    assert!(page.body.contains(">Helper</strong><br>all chats, allowed since "), "{}", page.body);
    assert_eq!(scene.reads(&tokens["access_token"]).await, StatusCode::OK);
    let take_back = async |form: &str| {
        let headers = [("origin", scene.base.as_str())];
        scene.browser.send(Method::POST, &consents, &headers, Some(form.to_owned())).await
    };
    for fields in form_of(&page.body).chunks(2) {
        let (id, csrf) = (&fields[0].1, &fields[1].1);
        assert_eq!(take_back(&format!("id={id}&csrf=wrong")).await.status, StatusCode::FORBIDDEN);
        let done = take_back(&format!("id={id}&csrf={csrf}")).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER);
    }
    assert!(scene.browser.get(&consents).await.body.contains("None"));
    assert_eq!(scene.reads(&tokens["access_token"]).await, StatusCode::UNAUTHORIZED);
    let stranger = Browser::new().get(&consents).await.location().unwrap();
    assert!(stranger.ends_with("/auth/login?returnTo=%2Foauth%2Fconsents"), "{stranger}");
    // A revoked token is over.
    let tokens = scene.let_in(&client).await;
    let token = tokens["refresh_token"].as_str().unwrap();
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let revoke = scene.models.http.post(format!("{}/oauth/revoke", scene.base));
    let revoke = send(revoke.header(kind.0, kind.1).body(format!("token={token}"))).await;
    assert_eq!(revoke.status, StatusCode::OK);
    assert_eq!(scene.reads(&tokens["access_token"]).await, StatusCode::UNAUTHORIZED);
    assert_eq!(scene.refresh(&client, token).await.body["error"], "invalid_grant");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_request_may_leave_out_the_address_of_the_code() {
    let scene = Scene::new(&[]).await;
    let client = scene.register("Helper", BACK).await;
    for (back, status) in [
        (None, StatusCode::OK),
        (Some("http://127.0.0.1:33418/other"), StatusCode::BAD_REQUEST),
        // RFC 6749, section 3.2: as if it were left out.
        (Some(""), StatusCode::OK),
    ] {
        let page = scene.page(&scene.asking(&client, &[])).await;
        let sent = scene.decide(&page, "allow").await.location().unwrap();
        let code = parameter(&sent, "code");
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", client.as_str()),
            ("code", code.as_str()),
            ("code_verifier", VERIFIER),
        ];
        form.extend(back.map(|back| ("redirect_uri", back)));
        let answer = scene.token(&form).await;
        assert_eq!(answer.status, status, "{back:?}: {}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_unknown_is_led_elsewhere_or_has_an_address_called() {
    let scene = Scene::new(&[("CHATKEEP_LOGIN_ALLOW_PRIVATE_CLIENTS", "true")]).await;
    let foreign = "https://elsewhere.example/";
    let registered = scene.register("Helper", foreign).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let described = described_counting(|_| {}, Arc::clone(&calls)).await;
    let back = ("redirect_uri", Some(foreign));
    for asking in [
        scene.asking(&registered, &[back, ("response_type", Some("token"))]),
        scene.asking(&registered, &[back, ("scope", Some("nothing"))]),
        scene.asking(&registered, &[back, ("resource", Some("https://other.example/mcp"))]),
        scene.asking(&registered, &[back, ("code_challenge", None)]),
        scene.asking("ckp_unknown", &[]),
        scene.asking(&described, &[]),
    ] {
        let led = Browser::new().get(&asking).await.location().unwrap();
        assert!(led.starts_with(&format!("{}/auth/login?returnTo=", scene.base)), "{led}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0, "no address was called");
    // Whoever is signed in has it called once, however often the page is shown.
    let tokens = scene.let_in(&described).await;
    assert_eq!(scene.reads(&tokens["access_token"]).await, StatusCode::OK);
    scene.let_in(&described).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// Serves a client's metadata document; returns its address.
async fn described(change: impl FnOnce(&mut Value)) -> String {
    described_counting(change, Arc::default()).await
}

/// Does the same, and counts the calls.
async fn described_counting(change: impl FnOnce(&mut Value), calls: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let id = format!("http://{}/client.json", listener.local_addr().unwrap());
    let mut document =
        json!({"client_id": id, "client_name": "Described", "redirect_uris": [BACK]});
    change(&mut document);
    let answer = async move || {
        calls.fetch_add(1, Ordering::Relaxed);
        Json(document)
    };
    let router = Router::new().route("/client.json", get(answer));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_may_describe_itself_at_its_address() {
    let scene = Scene::new(&[("CHATKEEP_LOGIN_ALLOW_PRIVATE_CLIENTS", "true")]).await;
    let client = described(|_| {}).await;
    let page = scene.page(&scene.asking(&client, &[])).await;
    assert!(page.body.contains("Allow “Described” to read your chats?"), "{}", page.body);
    let tokens = scene.let_in(&client).await;
    assert_eq!(scene.reads(&tokens["access_token"]).await, StatusCode::OK);
    let impostor = described(|document| document["client_id"] = json!(client)).await;
    let nowhere = described(|document| document["redirect_uris"] = json!([])).await;
    let large = described(|document| document["client_name"] = json!("x".repeat(20_000))).await;
    let gone = "http://127.0.0.1:1/client.json".to_owned();
    for id in [impostor, nowhere, large, gone] {
        let page = scene.browser.get(&scene.asking(&id, &[])).await;
        assert_eq!(page.json()["error"], "invalid_client", "{id}");
    }
    // No internal address is called unless the operator allows it.
    let strict = Scene::new(&[]).await;
    let page = strict.page(&strict.asking(&client, &[])).await;
    assert_eq!(page.json()["error"], "invalid_client");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_login_there_are_keys_alone() {
    let models = Models::start(&[]).await;
    let address = models.stack.ground.address;
    for path in ["/.well-known/oauth-authorization-server", "/oauth/authorize", "/oauth/token"] {
        let answer = send(models.http.get(format!("http://{address}{path}"))).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
    let resource = format!("http://{address}/.well-known/oauth-protected-resource");
    assert!(send(models.http.get(resource)).await.body["authorization_servers"].is_null());
}
