//! The visitor's own account: who opens its pages, what its forms do, and where secrets are shown.

use chatkeep_core::id::{ChannelId, SessionId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_i18n::Language;
use chatkeep_store::{NewGrant, NewSession, SignedIn, Tokens};
use reqwest::StatusCode;

use super::{GROUP, Page, Scene, now, secret};
use crate::harness::http;
use crate::harness::wait::until;
use crate::hooks::sink::Sink;
use crate::stack::DEADLINE;
use crate::store::at;

const KEYS: &str = "/console/account/keys";
const WEBHOOKS: &str = "/console/account/webhooks";
const SESSIONS: &str = "/console/account/sessions";
const MCP: &str = "/console/account/mcp";

/// All addresses of the account, with ids that nobody has.
const PAGES: [&str; 14] = [
    "/console/account",
    KEYS,
    "/console/account/keys/new",
    "/console/account/keys/k1/replace",
    "/console/account/keys/k1/delete",
    WEBHOOKS,
    "/console/account/webhooks/new",
    "/console/account/webhooks/w1",
    "/console/account/webhooks/w1/edit",
    "/console/account/webhooks/w1/secret",
    "/console/account/webhooks/w1/delete",
    "/console/account/webhooks/w1/deliveries/dlv_1",
    "/console/account/mcp/g1/end",
    SESSIONS,
];

impl Scene {
    /// Submits a form as its owner in English.
    pub(super) async fn submit(&self, path: &str, form: &[(&str, &str)]) -> Page {
        let form: Vec<_> =
            [("csrf", "csrf-Uowner")].into_iter().chain(form.iter().copied()).collect();
        self.post(path, "Uowner", &form, &[("accept-language", "en")]).await
    }

    /// Submits a form that leads to another page, and returns that page.
    async fn done(&self, path: &str, form: &[(&str, &str)]) -> Page {
        let answer = self.submit(path, form).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}: {}", answer.body);
        self.open(answer.location()).await
    }

    fn log(&self) -> String {
        let process = &self.stack.process;
        [process.stdout(), process.stderr()].concat().join("\n")
    }
}

/// Returns the part of a page between two texts.
fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start}: {page}"));
    rest.split_once(end).unwrap().0
}

/// Returns the secret that a page shows, and asserts that no cache keeps it.
pub(super) fn shown(page: &Page) -> String {
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert_eq!(page.headers["cache-control"], "no-store");
    assert!(!page.headers.contains_key("set-cookie") && !page.headers.contains_key("location"));
    between(between(&page.body, "id=\"secret\"", "/pre"), ">", "<").to_owned()
}

/// Returns the path below `list` that a page links to, which ends with `end`.
fn link(page: &str, list: &str, end: &str) -> String {
    let links = page.split("href=\"").skip(1).map(|part| part.split('"').next().unwrap());
    let mut links = links.filter(|link| link.starts_with(list) && link.ends_with(end));
    links.find(|link| !link.ends_with("/new") && *link != list).unwrap().to_owned()
}

const READING: [(&str, &str); 4] =
    [("name", "My model"), ("scope", "read:messages"), ("scope", "read:members"), ("reach", "all")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_session_opens_the_account() {
    let scene = Scene::new().await;
    let line = &scene.stack.line;
    let key = scene.stack.ground.command(line, &["key", "create", "--user", "Uowner"]).await;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let http = http.build().unwrap();
    for path in PAGES.into_iter().chain([MCP]) {
        let nobody = scene.page(path, None, "en").await;
        assert_eq!(nobody.status, StatusCode::SEE_OTHER, "{path}");
        assert!(nobody.location().starts_with("/console/sign-in?next=%2Fconsole%2Faccount"));
        // A key opens no page, also beside the cookie of a session.
        for cookie in [String::new(), format!("chatkeep_session={}", secret("Uowner"))] {
            let asked = http.get(scene.url(path)).bearer_auth(&key).header("cookie", &cookie);
            let answer = asked.send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
            let kind = "application/x-www-form-urlencoded";
            let form = "csrf=csrf-Uowner&confirmed=yes&name=x&scope=read:media&reach=all";
            let sent = http.post(scene.url(path)).bearer_auth(&key).header("cookie", &cookie);
            let answer = sent.header("content-type", kind).body(form).send().await.unwrap();
            let refused = [StatusCode::SEE_OTHER, StatusCode::METHOD_NOT_ALLOWED];
            assert!(refused.contains(&answer.status()), "{path}: {}", answer.status());
        }
    }
    let keys = scene.open(KEYS).await.body;
    assert_eq!(keys.matches("/replace\"").count(), 1, "a key made another one: {keys}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_of_the_account_need_the_token_of_the_session() {
    let scene = Scene::new().await;
    let forms: [(&str, &[(&str, &str)]); 3] = [
        ("/console/account/keys/new", &READING),
        ("/console/account", &[("notices", "")]),
        (SESSIONS, &[("session", "others")]),
    ];
    for (path, form) in forms {
        for token in ["", "csrf-Umember"] {
            let form: Vec<_> = form.iter().copied().chain([("csrf", token)]).collect();
            let refused = scene.post(path, "Uowner", &form, &[]).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} {token}");
        }
        let foreign = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
        let form: Vec<_> = form.iter().copied().chain([("csrf", "csrf-Uowner")]).collect();
        let refused = scene.post(path, "Uowner", &form, &foreign).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    assert!(scene.open(KEYS).await.body.contains("No keys yet"));
    assert!(scene.open("/console/account").await.body.contains("value=\"on\" checked"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_made_by_clicking_and_shown_once() {
    let scene = Scene::new().await;
    let made = scene.submit("/console/account/keys/new", &READING).await;
    let secret = shown(&made);
    let http = http::client(DEADLINE);
    let asked = async |secret: &str, path: &str| {
        let answer = http.get(scene.url(path)).bearer_auth(secret).send().await.unwrap();
        answer.status()
    };
    let messages = format!("/api/v1/channels/{GROUP}/backup/messages");
    assert_eq!(asked(&secret, &messages).await, StatusCode::OK);
    assert_eq!(asked(&secret, "/api/webhooks").await, StatusCode::FORBIDDEN);

    let list = scene.open(KEYS).await.body;
    assert!(list.contains("My model") && list.contains("Read, search and export messages"));
    assert!(list.contains(&format!("ck_…{}", &secret[secret.len() - 4..])), "{list}");

    // A replaced key may stay valid for a while, or not at all.
    let replace = link(&list, KEYS, "/replace");
    assert!(scene.open(&replace).await.body.contains("Replace the key “My model”?"));
    let replaced = scene.submit(&replace, &[("overlap", "0")]).await;
    let next = shown(&replaced);
    assert!(replaced.body.contains("The old key no longer works."), "{}", replaced.body);
    assert_eq!(asked(&secret, &messages).await, StatusCode::UNAUTHORIZED);
    assert_eq!(asked(&next, &messages).await, StatusCode::OK);
    let too_long = scene.submit(&replace, &[("overlap", "99999999")]).await;
    assert_ne!(too_long.status, StatusCode::OK);

    // Deleting asks first.
    let list = scene.open(KEYS).await.body;
    let delete = link(&list, KEYS, "/delete");
    let question = scene.submit(&delete, &[]).await;
    assert!(question.body.contains("Delete the key “My model”?"), "{}", question.body);
    let mut list = list;
    while list.contains("/delete\"") {
        let delete = link(&list, KEYS, "/delete");
        list = scene.done(&delete, &[("confirmed", "yes")]).await.body;
        assert!(list.contains("Deleted."));
    }
    assert_eq!(asked(&next, &messages).await, StatusCode::UNAUTHORIZED);
    assert_eq!(scene.page(&delete, Some("Uowner"), "en").await.status, StatusCode::NOT_FOUND);

    for path in PAGES.into_iter().chain([MCP]) {
        let page = scene.page(path, Some("Uowner"), "en").await.body;
        assert!(!page.contains(&secret) && !page.contains(&next), "{path} shows a secret");
    }
    let log = scene.log();
    assert!(!log.contains(&secret) && !log.contains(&next), "the log has a secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_has_the_chats_and_days_that_were_chosen() {
    let scene = Scene::new().await;
    let form = [
        ("name", "Narrow <b>"),
        ("scope", "read:messages"),
        ("reach", "chosen"),
        ("chat", GROUP),
        ("since", "2024-03-02"),
        ("end", "2099-12-31"),
    ];
    let secret = shown(&scene.submit("/console/account/keys/new", &form).await);
    let list = scene.open(KEYS).await.body;
    for text in ["Narrow &lt;b&gt;", "週末讀書會", "messages since 2 Mar 2024", "31 Dec 2099"]
    {
        assert!(list.contains(text), "{text}: {list}");
    }
    let messages = format!("/api/v1/channels/{GROUP}/backup/messages?order=asc&limit=1");
    let asked = http::client(DEADLINE).get(scene.url(&messages)).bearer_auth(&secret);
    let first: serde_json::Value = asked.send().await.unwrap().json().await.unwrap();
    assert_eq!(first["messages"][0]["messageId"], "p065", "{first}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_key_is_said_beside_its_field_in_every_language() {
    let scene = Scene::new().await;
    let named = ("name", "名前 & <co>");
    let scope = ("scope", "read:media");
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[("name", " "), scope, ("reach", "all")], "defect-empty"),
        (&[named, ("reach", "all")], "defect-no-scope"),
        (&[named, scope, ("reach", "all"), ("end", "2020-01-01")], "defect-past"),
        (&[named, scope, ("reach", "all"), ("end", "soon")], "defect-no-day"),
        (&[named, scope, ("reach", "all"), ("since", "2026-02-31")], "defect-no-day"),
        (&[named, scope, ("reach", "chosen")], "reach-none-chosen"),
    ];
    for language in Language::ALL {
        let header = [("accept-language", language.tag())];
        for (form, key) in cases {
            let form: Vec<_> =
                [("csrf", "csrf-Uowner")].into_iter().chain(form.iter().copied()).collect();
            let page = scene.post("/console/account/keys/new", "Uowner", &form, &header).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{key}");
            assert!(page.body.contains(&language.text(key)), "{key} {language:?}: {}", page.body);
            if form.contains(&named) {
                assert!(page.body.contains("value=\"名前 &amp; &lt;co&gt;\""), "{key}: the name");
            }
            if form.contains(&scope) {
                assert!(page.body.contains("value=\"read:media\" checked"), "{key}: the scope");
            }
        }
    }
    assert!(scene.open(KEYS).await.body.contains("No keys yet"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_of_webhooks_are_refused_in_every_language() {
    let scene = Scene::new().await;
    let cases = [
        ("", "defect-empty"),
        ("nonsense", "defect-no-address"),
        ("http://example.com/", "defect-not-https"),
        ("https://me:pw@example.com/", "defect-credentials"),
        ("https://192.168.1.1/hook", "defect-private"),
    ];
    for language in Language::ALL {
        let header = [("accept-language", language.tag())];
        for (url, key) in cases {
            let form = [
                ("csrf", "csrf-Uowner"),
                ("url", url),
                ("event", "member.left"),
                ("reach", "all"),
                ("description", "kept"),
            ];
            let page = scene.post("/console/account/webhooks/new", "Uowner", &form, &header).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{key}");
            assert!(page.body.contains(&language.text(key)), "{key} {language:?}: {}", page.body);
            let kept = ["value=\"kept\"", "value=\"member.left\" checked"];
            assert!(kept.iter().all(|kept| page.body.contains(kept)), "{key}: {}", page.body);
        }
    }
    let none = [("url", "https://example.com/"), ("reach", "all")];
    let page = scene.submit("/console/account/webhooks/new", &none).await;
    assert!(page.body.contains("Please choose at least one event."), "{}", page.body);
    assert!(scene.open(WEBHOOKS).await.body.contains("No webhooks yet"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_made_tested_and_looked_after() {
    let scene = Scene::with(&[("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned())]).await;
    let sink = Sink::start().await;
    sink.answer("/hook", crate::hooks::sink::Reply::Echo);
    let url = sink.url("/hook");
    let form =
        [("url", &*url), ("description", "My program"), ("event", "member.left"), ("reach", "all")];
    let made = shown(&scene.submit("/console/account/webhooks/new", &form).await);
    assert!(made.starts_with("whsec_"), "{made}");
    let list = scene.open(WEBHOOKS).await.body;
    assert!(list.contains("My program") && !list.contains(&made));
    let webhook = link(&list, &format!("{WEBHOOKS}/"), "");

    // A test event, its delivery, and once more.
    let page = scene.done(&webhook, &[("action", "test")]).await.body;
    assert!(page.contains("It is being sent."), "{page}");
    until("the test event", DEADLINE, async || sink.at("/hook").len() == 1).await;
    until("its delivery", DEADLINE, async || {
        scene.open(&format!("{webhook}?status=delivered")).await.body.contains("HTTP 200")
    })
    .await;
    let log = scene.open(&webhook).await.body;
    let delivery = link(&log, &format!("{webhook}/deliveries/"), "");
    let page = scene.open(&delivery).await.body;
    for text in ["HTTP 200", "webhook.test", "Delivered", sink.at("/hook")[0].id()] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let again = scene.done(&delivery, &[]).await.body;
    assert!(again.contains("It is being sent."));
    until("the second delivery", DEADLINE, async || sink.at("/hook").len() == 2).await;

    // Filters.
    for (query, found) in [
        ("event=webhook.test", true),
        ("event=member.left", false),
        ("status=failed", false),
        ("from=2024-01-01&to=2099-01-01", true),
        ("from=2099-01-01", false),
        ("to=2024-01-01", false),
    ] {
        let page = scene.open(&format!("{webhook}?{query}")).await.body;
        assert_eq!(page.contains("/deliveries/"), found, "{query}");
        assert_eq!(page.contains("Nothing matches these filters."), !found, "{query}");
    }

    // Off: nothing can be sent; on again.
    let off = scene.done(&webhook, &[("action", "off")]).await.body;
    assert!(off.contains("value=\"on\"") && !off.contains("value=\"test\""), "{off}");
    for (path, form) in [(&webhook, &[("action", "test")][..]), (&delivery, &[][..])] {
        let refused = scene.submit(path, form).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        assert!(refused.body.contains("This webhook is turned off. Turn it on first."), "{path}");
    }
    scene.done(&webhook, &[("action", "on")]).await;

    // Its properties, and its secret.
    let edit = format!("{webhook}/edit");
    assert!(scene.open(&edit).await.body.contains("value=\"member.left\" checked"));
    let form = [("url", &*url), ("event", "member.joined"), ("reach", "chosen"), ("chat", GROUP)];
    let saved = scene.done(&edit, &form).await.body;
    assert!(saved.contains("Saved.") && saved.contains("Somebody joined a chat"), "{saved}");
    assert!(saved.contains("週末讀書會"), "{saved}");
    let next = shown(&scene.submit(&format!("{webhook}/secret"), &[("overlap", "3600")]).await);
    assert_ne!(next, made);

    // Gone, after a question.
    let delete = format!("{webhook}/delete");
    assert!(scene.open(&delete).await.body.contains("Delete this webhook?"));
    scene.submit(&delete, &[]).await;
    assert_eq!(scene.page(&webhook, Some("Uowner"), "en").await.status, StatusCode::OK);
    let list = scene.done(&delete, &[("confirmed", "yes")]).await.body;
    assert!(list.contains("No webhooks yet"), "{list}");
    let log = scene.log();
    assert!(!log.contains(&made) && !log.contains(&next), "the log has a secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_somebody_elses_is_not_there() {
    let scene = Scene::new().await;
    shown(&scene.submit("/console/account/keys/new", &READING).await);
    let form = [("url", "https://example.com/"), ("event", "member.left"), ("reach", "all")];
    shown(&scene.submit("/console/account/webhooks/new", &form).await);
    let key = link(&scene.open(KEYS).await.body, KEYS, "/delete");
    let webhook = link(&scene.open(WEBHOOKS).await.body, &format!("{WEBHOOKS}/"), "");
    for path in [key.clone(), webhook.clone(), format!("{webhook}/delete")] {
        let page = scene.page(&path, Some("Umember"), "en").await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.body.contains("It does not exist, or it has been deleted."), "{path}");
        let form = [("csrf", "csrf-Umember"), ("confirmed", "yes"), ("action", "off")];
        let refused = scene.post(&path, "Umember", &form, &[]).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(scene.open(&path).await.status, StatusCode::OK, "{path}");
    }
    for path in [KEYS, WEBHOOKS] {
        let page = scene.page(path, Some("Umember"), "en").await.body;
        assert!(!page.contains("My model") && !page.contains("example.com"), "{path}");
    }
    for path in ["/console/account/keys/%00/delete", "/console/account/webhooks/%00"] {
        let page = scene.page(path, Some("Uowner"), "en").await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_usage_and_notices_are_in_the_overview() {
    let scene = Scene::new().await;
    let page = scene.open("/console/account").await.body;
    for text in ["free · 500 MB", "has 50 GB", "週末讀書會", "0% of 500 MB used"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let row = between(&page, "<tbody>", "</tbody>");
    assert!(row.contains("<td>142</td>"), "messages of the chat: {row}");
    let off = scene.done("/console/account", &[]).await.body;
    assert!(off.contains("Saved.") && !off.contains("value=\"on\" checked"), "{off}");
    let on = scene.done("/console/account", &[("notices", "on")]).await.body;
    assert!(on.contains("value=\"on\" checked"), "{on}");
    scene.stack.sql("UPDATE users SET plan = 'pro' WHERE user_id = 'Uowner'".to_owned()).await;
    assert!(scene.open("/console/account").await.body.contains("You have the largest plan."));
    let menu = scene.open("/console").await.body;
    assert!(menu.contains("href=\"/console/account\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_listed_and_ended() {
    let scene = Scene::new().await;
    let user = UserId::from("Uowner");
    let add = async |name: &str| {
        let id = SessionId::new(name);
        let secret = secret(name);
        let session = NewSession { id: &id, secret: &secret, csrf: "other" };
        let person = SignedIn { user: &user, display_name: None, picture_url: None };
        scene.store.sessions().sign_in(&person, &session, now()).await.unwrap();
    };
    for name in ["phone", "tablet", "laptop"] {
        add(name).await;
    }
    let works =
        async |name: &str| scene.page("/console", Some(name), "en").await.status == StatusCode::OK;
    let page = scene.open(SESSIONS).await.body;
    assert_eq!(page.matches("name=\"session\"").count(), 5, "{page}");
    assert_eq!(page.matches("This browser").count(), 1, "{page}");
    let left = scene.done(SESSIONS, &[("session", "phone")]).await.body;
    assert!(left.contains("Signed out there.") && !works("phone").await && works("tablet").await);
    let unknown = scene.submit(SESSIONS, &[("session", "session-Umember")]).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert!(works("Umember").await);
    let left = scene.done(SESSIONS, &[("session", "others")]).await.body;
    assert_eq!(left.matches("name=\"session\"").count(), 1, "{left}");
    assert!(!works("tablet").await && !works("laptop").await && works("Umember").await);
    let own = scene.submit(SESSIONS, &[("session", "session-Uowner")]).await;
    assert_eq!((own.status, own.location()), (StatusCode::SEE_OTHER, "/console/sign-in"));
    assert!(own.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert!(!works("Uowner").await);
}

/// Stores a consent of the owner to a program, with tokens.
pub(super) async fn consent(scene: &Scene) {
    let only = [ChannelId::from(GROUP)];
    let grant = NewGrant {
        id: "grant1",
        user: &"Uowner".into(),
        client_id: "https://helper.example/client",
        client_name: "Helper <i>",
        scopes: &[Scope::ReadMessages, Scope::ReadMembers],
        channels: Some(&only),
        resource: "x",
        code: "code1",
        code_until: at(i64::MAX),
        redirect_uri: "https://helper.example/back",
        challenge: "x",
    };
    let oauth = scene.store.oauth();
    oauth.add_grant(&grant, now()).await.unwrap();
    let until = at(now().millis() + 3_600_000);
    let tokens = Tokens { access: ("a1".to_owned(), until), refresh: ("r1".to_owned(), until) };
    oauth.exchange_code("code1", |_| true, &tokens, now()).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_read_are_listed_and_sent_away() {
    let scene = Scene::new().await;
    consent(&scene).await;
    let page = scene.open(MCP).await.body;
    let address = scene.url("/mcp");
    let texts =
        [&*address, "Helper &lt;i&gt;", "週末讀書會", "claude mcp add --transport http chatkeep"];
    for text in texts {
        assert!(page.contains(text), "{text}: {page}");
    }
    let end = "/console/account/mcp/grant1/end";
    let others = [("csrf", "csrf-Umember"), ("confirmed", "yes")];
    assert_eq!(scene.post(end, "Umember", &others, &[]).await.status, StatusCode::NOT_FOUND);
    assert!(scene.submit(end, &[]).await.body.contains("Stop “Helper &lt;i&gt;” from reading?"));
    let left = scene.done(end, &[("confirmed", "yes")]).await.body;
    assert!(left.contains("You have not allowed any app to read."), "{left}");
    assert!(scene.store.oauth().access_token("a1", now()).await.unwrap().is_none());
    let key = scene.open("/console/account/keys/new?for=reading").await.body;
    assert!(key.contains("value=\"read:messages\" checked") && !key.contains("media\" checked"));
}
