//! The program with people whose names and numbers are unmistakable.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::{Content, MediaInfo, Mention, MessageChange, MessageType, Received};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::pseudonym::{Pseudonym, PseudonymKey};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelChange, OutboxEventKind, PresenceEvidenceKind};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::super::{Answer, CHANNEL, MEMBER, OWNER, Rest, message, now, send};
use crate::harness::wait::until;
use crate::hooks::sink::Sink;
use crate::stack::DEADLINE;
use crate::store::{at, change, edited, item};

/// Key that shows pseudonyms.
pub(super) const MASKED: &str = "ck_masked";
/// Key of the same person that shows everything.
pub(super) const FULL: &str = "ck_owner";
/// Secret of the pseudonyms.
pub(super) const LINEAGE: [u8; 32] = [42; 32];
/// Person in no channel of the owner's.
pub(super) const NOBODY: &str = "U0123456789abcdef0123456789abcdef";

const PRIVATE: &[(&str, &str)] = &[("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true")];

/// Text of the longest message.
const TEXT: &str = "lunch with Mildred and Octavia: call 0912-345-678 or ０９１２３４５６７９, mail \
                    mildred@membrane.example, card 4111 1111 1111 1111, \
                    https://files.example/open/s3cr3tT0k3n99?key=k3yk3y";

/// Text that it had before it was edited.
const EARLIER: &str = "lunch with Mildred, who has before-the-edit@mail.example";

/// Link to a host that is somebody's name, and one to another.
const NAMED: &str = "https://octavia.example/x";
const UNNAMED: &str = "https://elsewhere.example/x";

/// Words that no answer to [`MASKED`] may have in it, in small letters.
pub(super) const SECRETS: [&str; 18] = [
    "u000000000000000000000000000000owner",
    "u00000000000000000000000000000member",
    NOBODY_SMALL,
    "octavia",
    "ownersson",
    "mildred",
    "membrane",
    "0912-345-678",
    "０９１２３４５６７９",
    "mildred@membrane.example",
    "4111 1111 1111 1111",
    "s3cr3tt0k3n99",
    "k3yk3y",
    "pictures.example",
    "secret-plan",
    "old-nickname",
    "0987654321",
    "before-the-edit@mail.example",
];
const NOBODY_SMALL: &str = "u0123456789abcdef0123456789abcdef";

pub(super) struct World {
    pub(super) rest: Rest,
    pub(super) sink: Sink,
}

pub(super) fn pseudonym(user: &str) -> Pseudonym {
    PseudonymKey::new(LINEAGE).person(&user.into())
}

impl World {
    pub(super) async fn new() -> Self {
        let rest = Rest::start(PRIVATE).await;
        let mut own = item(OWNER, 1, PresenceEvidenceKind::Present(OWNER.into()));
        own.channel.kind = ChannelKind::User;
        rest.store.members().record_presence(&[own], at(1)).await.unwrap();
        rest.store.accounts().subscribe(&OWNER.into(), &OWNER.into(), at(2)).await.unwrap();
        let people = [(OWNER, "Octavia Ownersson"), (MEMBER, "Mildred Membrane")];
        let profile = |name: &str| Profile {
            display_name: name.to_owned(),
            picture_url: Some("https://pictures.example/p".to_owned()),
            language: None,
        };
        let profiles: BTreeMap<_, _> =
            people.map(|(user, name)| (user.into(), Some(profile(name)))).into();
        rest.store.members().save_profiles(&profiles, at(3)).await.unwrap();
        for (channel, name) in [(CHANNEL, "Friends of Mildred"), (OWNER, "Octavia Ownersson")] {
            let picture_url = Some("https://pictures.example/c".to_owned());
            let name = Some(name.to_owned());
            let summary = ChannelSummary { name, picture_url, ..ChannelSummary::default() };
            let channel = ChannelId::from(channel);
            rest.store
                .channels()
                .save_summaries(&[(channel, summary)].into(), at(3))
                .await
                .unwrap();
        }
        let lineage = PseudonymKey::new(LINEAGE);
        let scopes: Vec<_> = Scope::ALL.into_iter().filter(|s| s.allows_pseudonyms()).collect();
        rest.key(MASKED, OWNER, |key| {
            // It outlives the call.
            key.pseudonyms = Some(Box::leak(Box::new(lineage)));
            key.scopes = Box::leak(scopes.into_boxed_slice());
        })
        .await;
        Self { rest, sink: Sink::start().await }
    }

    /// Lets everything happen that can be shown, and waits until it can be found.
    pub(super) async fn happen(&self) {
        let rest = &self.rest;
        let (channel, owner) = (ChannelId::from(CHANNEL), OWNER.into());
        rest.store.channels().set_earlier_texts(&channel, true, &owner, at(4)).await.unwrap();
        rest.keep(&messages()).await;
        let time = now().millis();
        let left = item(CHANNEL, time, PresenceEvidenceKind::Left(MEMBER.into()));
        rest.store.members().record_presence(&[left], at(time)).await.unwrap();
        rest.stack.ground.command(&rest.stack.line, &["reindex"]).await;
        until("it can be found", DEADLINE, async || {
            let found = self.get(FULL, "/search?q=lunch").await.ok();
            found["total"].as_u64() >= Some(2)
        })
        .await;
    }

    /// Creates a webhook of a key with every event, to a path; returns its id.
    pub(super) async fn hook(&self, key: &str, path: &str) -> String {
        let about_account = |kind: &OutboxEventKind| kind.is_about_account();
        let events = OutboxEventKind::ALL.into_iter().filter(|kind| !about_account(kind));
        let events: Vec<_> = events.map(OutboxEventKind::name).collect();
        let body = json!({"url": self.sink.url(path), "events": events});
        let made = self.call(key, Method::POST, "/webhooks", Some(&body)).await.ok();
        made["webhookId"].as_str().unwrap().to_owned()
    }

    fn request(&self, key: &str, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.rest.stack.ground.address);
        self.rest.http.request(method, url).bearer_auth(key)
    }

    pub(super) async fn call(
        &self,
        key: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let request = self.request(key, method, &format!("/api{path}"));
        send(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    pub(super) async fn get(&self, key: &str, path: &str) -> Answer {
        self.call(key, Method::GET, path, None).await
    }

    /// Sends a message of MCP.
    pub(super) async fn mcp(&self, key: &str, method: &str, params: &Value) -> Answer {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.request(key, Method::POST, "/mcp").json(&call);
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25");
        send(request).await
    }

    pub(super) async fn tool(&self, key: &str, name: &str, arguments: &Value) -> Answer {
        self.mcp(key, "tools/call", &json!({"name": name, "arguments": arguments})).await
    }
}

fn messages() -> Vec<ChannelChange> {
    let text = "👍 @old-nickname comes to lunch";
    let mention = Mention {
        user_id: Some(MEMBER.into()),
        start: 3,
        length: 13,
        is_self: false,
        is_all: None,
    };
    let mentioned =
        Content::Text { text: text.to_owned(), emojis: Vec::new(), mentions: vec![mention] };
    let file_name = Some("secret-plan of Mildred.pdf".to_owned());
    let file = Content::File(MediaInfo { file_name, ..MediaInfo::default() });
    let place = Content::Location {
        title: Some("At Mildred's".to_owned()),
        address: Some("Call 0987654321".to_owned()),
        latitude: 1.5,
        longitude: 2.5,
    };
    let other = Content::Other { raw: r#"{"userId":"Mildred Membrane"}"#.to_owned() };
    let sent_at = Timestamp::parse("2026-01-02T03:04:05Z").unwrap().millis();
    let mut all = vec![
        message("m1", MEMBER, "2026-01-02T03:04:05Z", EARLIER),
        edited(CHANNEL, "m1", sent_at + 500, TEXT),
        message("m2", OWNER, "2026-01-02T03:04:06Z", &format!("{MEMBER} and {NOBODY} at noon")),
        message("m7", OWNER, "2026-01-02T03:04:11Z", "nothing of note"),
        // Overviews are of the last days.
        message("m8", MEMBER, &now().to_string(), &format!("see {NAMED} and {UNNAMED}")),
    ];
    let kinds = [
        ("m3", MessageType::Text, mentioned),
        ("m4", MessageType::File, file),
        ("m5", MessageType::Location, place),
        ("m6", MessageType::Other, other),
    ];
    for (second, (id, kind, content)) in kinds.into_iter().enumerate() {
        let quoted = (id == "m3").then(|| "m1".into());
        all.push(of(CHANNEL, id, second, (kind, &content), quoted));
    }
    all.push(of(OWNER, "d1", 9, (MessageType::Text, &Content::text("Octavia has lunch")), None));
    all
}

fn of(
    channel: &str,
    id: &str,
    second: usize,
    (kind, content): (MessageType, &Content),
    quoted: Option<chatkeep_core::id::MessageId>,
) -> ChannelChange {
    let at = Timestamp::parse(&format!("2026-01-02T03:05:{second:02}Z")).unwrap();
    let sender = Some(if channel == OWNER { OWNER.into() } else { MEMBER.into() });
    let content = serde_json::to_string(content).unwrap();
    let received = Received { at, sender, kind, content, quoted, is_bot: false };
    change(channel, id, MessageChange::Received(received))
}

/// Returns everything that an answer says: its headers, its body, and what is in its cursors.
pub(super) fn said_by(answer: &Answer) -> String {
    let mut said = format!("{:?}\n", answer.headers);
    said += &String::from_utf8_lossy(&answer.body);
    let words = said.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let hidden = words.filter_map(|word| URL_SAFE_NO_PAD.decode(word).ok());
    let hidden: Vec<_> = hidden.filter_map(|bytes| String::from_utf8(bytes).ok()).collect();
    format!("{said}\n{}", hidden.join("\n")).to_lowercase()
}
