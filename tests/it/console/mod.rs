//! The web console: its pages over HTTP and in a real browser.

mod account;
mod activity;
mod activity_log;
mod assistant;
mod backup_settings;
mod earlier_journeys;
mod export_journeys;
mod exports;
mod first_run;
mod home;
pub(crate) mod journeys;
mod messages;
mod my_data;
mod operator;
mod origins;
mod pages;
mod people;
mod permissions;
pub(crate) mod routes;
mod rule_journeys;
mod rules;
mod safety;

use chatkeep_core::config::Database;
use chatkeep_core::id::{ChannelId, SessionId, UserId};
use chatkeep_core::message::{Content, MediaInfo, Mention, MessageChange, Received, Sticker};
use chatkeep_core::role::Role;
use chatkeep_store::{ChannelChange, NewSession, PresenceEvidenceKind, SignedIn, Store};
use reqwest::StatusCode;
use reqwest::header::{ACCEPT_LANGUAGE, CONTENT_TYPE, COOKIE, HeaderMap};
use url::form_urlencoded;

use crate::harness::http;
use crate::pipeline::conversation::emulator;
use crate::stack::{Parts, Stack, TestEnv};
use crate::store::{answered, at, change, edited, erase_person, item, now, unsent};

/// Group of the pages.
pub(super) const GROUP: &str = "C00000000000000000000000000console";
/// Time of the first message: 2024-03-01 01:00:00 UTC.
pub(super) const START: i64 = 1_709_254_800_000;
/// Number of plain messages before the last day.
pub(super) const PLAIN: i64 = 130;
pub(super) const MINUTE: i64 = 60_000;

/// The program with a group in its store, and sessions of its people.
pub(super) struct Scene {
    pub(super) stack: Stack,
    pub(super) store: Store,
    http: reqwest::Client,
}

/// Response of a page.
pub(super) struct Page {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Page {
    pub(super) fn location(&self) -> &str {
        self.headers["location"].to_str().unwrap()
    }
}

impl Scene {
    pub(super) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// Starts the program with further settings.
    pub(super) async fn with(settings: &[(&'static str, String)]) -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        ground.settings.extend(settings.iter().cloned());
        // Before the program starts: it would take over jobs and files that are that old.
        let store = Store::open(&Database::Sqlite, ground.folder.path(), 2).await.unwrap();
        fill(&ground, &store).await;
        let stack = Stack::on(ground, emulator().await).await;
        Self::of(stack, store)
    }

    fn of(stack: Stack, store: Store) -> Self {
        Self { stack, store, http: http::without_redirects() }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.stack.ground.address)
    }

    /// Opens a page as that person, or as nobody, in a language.
    pub(super) async fn page(&self, path: &str, user: Option<&str>, language: &str) -> Page {
        let mut request = self.http.get(self.url(path)).header(ACCEPT_LANGUAGE, language);
        if let Some(user) = user {
            request = request.header(COOKIE, format!("chatkeep_session={}", secret(user)));
        }
        answer(request).await
    }

    /// Opens a page as that person, and waits for its headers alone.
    pub(super) async fn begin(&self, path: &str, user: &str) {
        let cookie = format!("chatkeep_session={}", secret(user));
        let answer = self.http.get(self.url(path)).header(COOKIE, cookie).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
    }

    /// Opens a page as its owner in English.
    pub(super) async fn open(&self, path: &str) -> Page {
        let page = self.page(path, Some("Uowner"), "en").await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
        page
    }

    /// Submits a form.
    pub(super) async fn post(
        &self,
        path: &str,
        user: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Page {
        let cookie = format!("chatkeep_session={}", secret(user));
        let headers = [headers, &[(COOKIE.as_str(), &*cookie)]].concat();
        self.submit_bare(path, form, &headers).await
    }

    /// Submits a form with these headers alone.
    pub(super) async fn submit_bare(
        &self,
        path: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Page {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request = self.http.post(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        answer(request).await
    }
}

/// Fills a database with the group, its people and their conversation.
async fn fill(ground: &TestEnv, store: &Store) {
    add_people(ground, store).await;
    store.messages().ingest(&conversation(), at(START + 1)).await.unwrap();
    let (group, erased) = (ChannelId::from(GROUP), UserId::from("Uerased"));
    erase_person(store, &group, &erased, at(i64::MAX), at(START + 2)).await;
    ground
        .sql(&format!(
            "INSERT INTO gaps VALUES ('{GROUP}', {}, {}, 'quota', 132)",
            START + 2 * 86_400_000 + MINUTE / 2,
            START + 2 * 86_400_000 + 40 * MINUTE
        ))
        .await;
    ground.sql("UPDATE media SET status = 'expired' WHERE status = 'pending'").await;
}

/// Creates the group with one of each role, and a session of each.
async fn add_people(ground: &TestEnv, store: &Store) {
    let people = [
        ("Uowner", "林小美"),
        ("Uadmin", "Aiko"),
        ("Umember", "สมชาย ใจดี"),
        ("Uguest", "דנה לוי"),
        ("Uleft", "Gone"),
        ("Uerased", "Erased"),
        ("Ustranger", "Stranger <b>"),
    ];
    let mut evidence = vec![item(GROUP, 1, PresenceEvidenceKind::BotJoined)];
    for (user, _) in people.iter().filter(|(user, _)| *user != "Ustranger") {
        evidence.push(item(GROUP, 1, PresenceEvidenceKind::Joined((*user).into())));
    }
    evidence.push(item(GROUP, 3, PresenceEvidenceKind::Left("Uleft".into())));
    store.members().record_presence(&evidence, at(3)).await.unwrap();
    let (group, owner) = (ChannelId::from(GROUP), UserId::from("Uowner"));
    store.accounts().subscribe(&group, &owner, at(4_000)).await.unwrap();
    for (user, role) in [("Uadmin", Role::Admin), ("Uguest", Role::Guest)] {
        store.members().set_role(&group, &owner, &user.into(), role, at(4)).await.unwrap();
    }
    ground
        .sql(&format!(
            "UPDATE channels SET name = '週末讀書會 Readers' WHERE channel_id = '{GROUP}'"
        ))
        .await;
    for (user, name) in people {
        sign_in(store, user, name, (&format!("session-{user}"), &format!("csrf-{user}"))).await;
    }
}

/// Starts a session of a person, with this id and the token of its forms.
pub(super) async fn sign_in(store: &Store, user: &str, name: &str, (id, csrf): (&str, &str)) {
    let (id, secret) = (SessionId::new(id), secret(user));
    let session = NewSession { id: &id, secret: &secret, csrf };
    let user = UserId::from(user);
    let person = SignedIn { user: &user, display_name: Some(name), picture_url: None };
    store.sessions().sign_in(&person, &session, now()).await.unwrap();
}

async fn answer(request: reqwest::RequestBuilder) -> Page {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    Page { status, headers, body: answer.text().await.unwrap() }
}

/// Returns the secret of a person's session.
pub(super) fn secret(user: &str) -> String {
    format!("secret-of-{user}-0123456789012345678901234567890123456789")
}

/// Returns a message of a person.
pub(super) fn of(user: &str, id: &str, time: i64, content: &Content) -> ChannelChange {
    let received = Received {
        at: at(time),
        sender: Some(user.into()),
        kind: content.kind(),
        content: serde_json::to_string(content).unwrap(),
        quoted: (id == "quoting").then(|| "link".into()),
        is_bot: false,
    };
    change(GROUP, id, MessageChange::Received(received))
}

/// Returns plain messages on two days, and one of each kind on the third.
fn conversation() -> Vec<ChannelChange> {
    let people = ["Uowner", "Uadmin", "Umember"];
    let mut changes = Vec::new();
    for number in 0..PLAIN {
        let day = number / 65;
        let time = START + day * 86_400_000 + (number % 65) * 10 * MINUTE;
        let person = people[usize::try_from(number).unwrap() % people.len()];
        let text = Content::text(format!("message number {number}"));
        changes.push(of(person, &format!("p{number:03}"), time, &text));
    }
    let last = START + 2 * 86_400_000;
    let mention = Mention {
        user_id: Some("Uadmin".into()),
        start: 0,
        length: 5,
        is_self: false,
        is_all: None,
    };
    let hello = "@Aiko 會議改到三樓 305，記得帶投影機";
    let mentioned =
        Content::Text { text: hello.to_owned(), emojis: Vec::new(), mentions: vec![mention] };
    let file =
        MediaInfo { file_name: Some("預算 <2024>.xlsx".to_owned()), ..MediaInfo::default() };
    let place = Content::Location {
        title: Some("東京駅".to_owned()),
        address: Some("東京都千代田区丸の内1丁目".to_owned()),
        latitude: 35.68,
        longitude: 139.76,
    };
    let sticker = Sticker { text: Some("よろしく".to_owned()), ..Sticker::default() };
    let contents: [(&str, &str, Content); 11] = [
        (
            "Uowner",
            "link",
            Content::text("See https://example.org/a?b=1&c=<d> and <script>alert(1)</script>"),
        ),
        ("Uadmin", "quoting", Content::text("ありがとうございます。確認しました。")),
        ("Uowner", "mention", mentioned),
        (
            "Umember",
            "thai",
            Content::text(
                "พรุ่งนี้เราจะประชุมกันที่ห้องประชุมชั้นสามตอนบ่ายสองโมงครึ่งอย่าลืมเตรียมเอกสารมาด้วยนะครับ",
            ),
        ),
        ("Uguest", "hebrew", Content::text("שלום לכולם! מחר ב-10:00")),
        ("Uadmin", "photo", Content::Image(MediaInfo::default())),
        ("Umember", "file", Content::File(file)),
        ("Uadmin", "place", place),
        ("Umember", "sticker", Content::Sticker(sticker)),
        ("Uowner", "edited", Content::text("three o'clock")),
        ("Uadmin", "unsent", Content::text("a secret that was unsent")),
    ];
    for (number, (user, id, content)) in (0..).zip(contents) {
        changes.push(of(user, id, last + number * MINUTE, &content));
    }
    changes.push(edited(GROUP, "edited", last + 20 * MINUTE, "four o'clock"));
    changes.push(unsent(GROUP, "unsent", last + 21 * MINUTE));
    changes.push(of("Uerased", "erased", last + 12 * MINUTE, &Content::text("to be erased")));
    changes.push(answered(GROUP, "answer", last + 13 * MINUTE, "We are open 9:00–18:00"));
    changes.push(of("Uowner", "long", last + 50 * MINUTE, &Content::text("long".repeat(200))));
    changes
}
