//! The visitor's own account: who opens its pages, what its forms do, and where secrets are shown.

mod idempotent_form;
mod journeys;
mod keys;
mod webhooks;

use chatkeep_core::id::{ChannelId, SessionId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_store::{NewGrant, NewSession, PresenceEvidenceKind, SignedIn, Tokens};
use reqwest::StatusCode;

use super::pages::{key, settled};
use super::rules::send;
use super::{GROUP, Page, Scene, now, secret};
use crate::harness::http;
use crate::store::{at, item};

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
    /// Submits a form as its owner.
    pub(super) async fn submit(&self, path: &str, form: &[(&str, &str)]) -> Page {
        send(self, path, "Uowner", form).await
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
async fn the_forms_of_the_account_are_as_before() {
    let scene = Scene::new().await;
    for (name, path) in [
        ("key", "/console/account/keys/new"),
        ("webhook", "/console/account/webhooks/new"),
        ("mcp", MCP),
    ] {
        let page = settled(&scene.open(path).await.body).replace(&scene.url(""), "http://HOST");
        // The first day on which a key can end is today.
        let page = match page.split_once("min=\"") {
            Some((before, rest)) => {
                format!("{before}min=\"TODAY\"{}", rest.split_once('"').unwrap().1)
            }
            None => page,
        };
        insta::assert_snapshot!(name, page);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_session_opens_the_account() {
    let scene = Scene::new().await;
    let key = key(&scene).await;
    let http = http::without_redirects();
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
    for text in [
        "Free · 500\u{a0}MB",
        "next plan, “Standard”,",
        "has 50\u{a0}GB",
        "週末讀書會",
        "0% of 500\u{a0}MB used",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let months = between(&page, "id=\"by-month\"", "</section>");
    assert_eq!(months.matches("<tr>").count(), 13, "a heading and twelve months: {months}");
    let chats = between(&page, "id=\"by-chat\"", "</section>");
    let row = between(chats, "<tbody>", "</tbody>");
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
async fn who_has_left_a_chat_ends_its_backup_here() {
    let scene = Scene::new().await;
    let (group, member) = (ChannelId::from(GROUP), UserId::from("Umember"));
    let accounts = scene.store.accounts();
    accounts.subscribe(&group, &member, now()).await.unwrap();
    let left = item(GROUP, now().millis(), PresenceEvidenceKind::Left(member.clone()));
    scene.store.members().record_presence(&[left], now()).await.unwrap();
    let backs_up = async || {
        let only = Some(std::slice::from_ref(&group));
        !accounts.subscriptions(&member, only, None, 1).await.unwrap().is_empty()
    };
    let path = "/console/account";
    let page = scene.page(path, Some("Umember"), "en").await.body;
    let row = between(between(&page, "id=\"by-chat\"", "</section>"), "<tbody>", "</tbody>");
    assert!(row.contains("A chat you are no longer in") && !row.contains("週末"), "{row}");
    assert!(row.contains(&format!("name=\"chat\" value=\"{GROUP}\"")), "{row}");
    let form = [("action", "unsubscribe"), ("chat", GROUP), ("confirmed", "yes")];
    // Somebody without one is told nothing.
    for form in [&form[..], &form[..2]] {
        assert_eq!(send(&scene, path, "Ustranger", form).await.status, StatusCode::NOT_FOUND);
    }
    let asked = send(&scene, path, "Umember", &form[..2]).await;
    assert!(asked.body.contains("Stop backing up this chat?"), "{}", asked.body);
    assert!(asked.body.contains(&format!("value=\"{GROUP}\"")) && backs_up().await);
    let ended = send(&scene, path, "Umember", &form).await;
    assert_eq!((ended.status, backs_up().await), (StatusCode::SEE_OTHER, false));
    let page = scene.page(ended.location(), Some("Umember"), "en").await.body;
    assert!(page.contains("Saved.") && !page.contains("no longer in"), "{page}");
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
    // No chat says in which zone these times are.
    assert!(scene.open(SESSIONS).await.body.contains("(UTC)"));
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
    let texts = [
        &*address,
        "Helper &lt;i&gt;",
        "週末讀書會",
        "claude mcp add --scope user --transport http chatkeep",
    ];
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
