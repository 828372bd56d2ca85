//! The sample group: its people, its rules, some history, and the owner's key.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_core::assistant::{AssistantConfig, KeywordMatch, RuleDraft};
use chatkeep_core::bus::Bus;
use chatkeep_core::id::{ChannelId, KeyId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::store::{NewKey, RuleChange, Store};
use chatkeep_core::time::SharedClock;
use chatkeep_workers::assistant::Assistants;

use super::emulator::{Chat, Emulator, Media, Post, Told, User};
use crate::api;
use crate::app::App;
/// More keys than the demonstration makes.
const MANY: u32 = 1_000;

/// The group's people; the first one owns it.
const PEOPLE: [&str; 4] = ["林小美", "Aiko", "Somchai", "Dave"];
/// Who may join later, two at a time.
const NEWCOMERS: [&str; 6] = ["王大明", "Yuki", "Niran", "Grace", "陳怡君", "Kenji"];
/// What was said before anybody looked: a person of [`PEOPLE`] and a text.
const HISTORY: [(usize, &str); 8] = [
    (0, "大家早安！今天下午三點在老地方集合"),
    (1, "おはようございます、写真を送りますね"),
    (2, "สวัสดีครับ ผมจะไปถึงประมาณบ่ายสามโมง"),
    (3, "I'll bring the projector. Does the room have HDMI?"),
    (0, "有的，HDMI 線在櫃子裡"),
    (3, "hours"),
    (1, "会議室は何階ですか？"),
    (0, "三樓 305 🎉"),
];
/// The rules of the sample assistant: keywords, question, answer.
const RULES: [(&[&str], &str, &str); 3] = [
    (
        &["hours", "營業時間", "営業時間", "เวลาทำการ"],
        "Opening hours",
        "We are open 9:00–18:00, Monday to Saturday. 週一至週六 9:00–18:00",
    ),
    (&["address", "地址", "住所", "ที่อยู่"], "Where we are", "305, 3F, No. 7 Xinyi Road, Taipei"),
    (
        &["wifi", "wi-fi 密碼"],
        "Wi-Fi",
        "Network: chatkeep-guest. Ask at the desk for the password.",
    ),
];
const WELCOME: &str =
    "歡迎 {displayName} 加入 {groupName}！\nSay \"rules\" to see how we get along.";
const GROUP_RULES: &str = "1. Be kind 請友善發言\n2. No advertisements 請勿張貼廣告\n3. Photos of people only with their consent";
/// A picture of one pixel is enough to see what happens to pictures.
const PICTURE: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";
/// The pipeline needs far less than this for an event.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked whether something arrived.
const LOOK: Duration = Duration::from_millis(25);
/// The name of the demo's key, so that the next start can replace it.
const KEY_NAME: &str = "demo";

/// The sample group on the emulator, and the store it ends up in.
#[derive(Debug)]
pub(super) struct Sample {
    line: Emulator,
    store: Store,
    /// Told when the sample's settings are there.
    assistants: Assistants,
    bus: Bus,
    clock: SharedClock,
    group: ChannelId,
    owner: UserId,
    key: String,
    newcomers: AtomicUsize,
}

impl Sample {
    /// Makes the people and the group (the same ids at every start) and a fresh key.
    pub(super) async fn new(line: Emulator, app: &App, clock: SharedClock) -> anyhow::Result<Self> {
        let (store, bus) = (app.store().clone(), app.bus().clone());
        let assistants = app.assistants().clone();
        let people: Vec<User> = PEOPLE.iter().map(|name| line.add_user(name, None)).collect();
        let ids: Vec<_> = people.iter().map(|person| person.user_id.as_str()).collect();
        let group = line.add_group("週末讀書會 Weekend Readers", None, &ids);
        let owner = UserId::from(ids[0]);
        store.add_user(&owner, Some(PEOPLE[0]), clock.now()).await?;
        let key = api::api_key();
        let new = NewKey {
            id: &KeyId::new(api::key_id()),
            secret: &key,
            user: &owner,
            name: KEY_NAME,
            scopes: &Scope::ALL,
            channels: None,
            not_before: None,
            expires_at: None,
        };
        for old in store.keys(&owner, None, MANY).await?.iter().filter(|key| key.name == KEY_NAME) {
            store.drop_key(&old.id, clock.now()).await?;
        }
        store.add_key(&new, clock.now()).await?;
        let group = group.chat_id.into();
        let newcomers = AtomicUsize::new(0);
        Ok(Self { line, store, assistants, bus, clock, group, owner, key, newcomers })
    }

    pub(super) fn line(&self) -> &Emulator {
        &self.line
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The group as it is now.
    pub(super) fn chat(&self) -> Option<Chat> {
        self.line.chats().into_iter().find(|chat| chat.chat_id == self.group.as_str())
    }

    /// Its people, each with a name.
    pub(super) fn people(&self) -> Vec<User> {
        let members = self.chat().map(|chat| chat.members).unwrap_or_default();
        let users = self.line.users();
        let named = |id: &String| users.iter().find(|user| user.user_id == *id).cloned();
        members.iter().filter_map(named).collect()
    }

    /// The next two who join.
    pub(super) fn newcomers(&self) -> [User; 2] {
        let first = self.newcomers.fetch_add(2, Ordering::SeqCst);
        [first, first + 1].map(|n| self.line.add_user(NEWCOMERS[n % NEWCOMERS.len()], None))
    }

    /// The bot comes into the group; at the very first start everything else is set up too.
    pub(super) async fn prepare(&self) -> anyhow::Result<()> {
        let known = !self.store.usage(&self.owner).await?.channels.is_empty();
        accepted(&self.line.bot_joins(self.group.as_str()).await?)?;
        if known {
            return Ok(());
        }
        let hello = "Chatkeep 開始備份這個群組了 👋";
        accepted(&self.line.say(self.group.as_str(), self.owner.as_str(), hello).await?)?;
        self.until("the owner is known", async || {
            Ok(self.store.member(&self.group, &self.owner).await?.is_some())
        })
        .await?;
        self.store.subscribe(&self.group, &self.owner, self.clock.now()).await?;
        self.set_up_assistant().await?;
        self.tell_history().await
    }

    async fn set_up_assistant(&self) -> anyhow::Result<()> {
        let now = self.clock.now();
        let change = |mut config: AssistantConfig, _| -> Result<_, std::convert::Infallible> {
            config.qa.keyword_match = KeywordMatch::Contains;
            config.welcome.enabled = true;
            WELCOME.clone_into(&mut config.welcome.message);
            config.rules.enabled = true;
            config.rules.trigger_keywords = vec!["rules".to_owned(), "版規".to_owned()];
            Ok(config)
        };
        self.store.change_assistant_config(&self.group, &self.owner, now, change).await??;
        self.store.set_group_rules(&self.group, GROUP_RULES, None, &self.owner, now).await?;
        for (number, (keywords, question, answer)) in RULES.iter().enumerate() {
            let id = format!("qa_{}_demo{number}", now.millis()).into();
            let draft = RuleDraft {
                keywords: keywords.iter().map(ToString::to_string).collect(),
                question: (*question).to_owned(),
                answer: (*answer).to_owned(),
            };
            let add = RuleChange::Add(&id, &draft);
            self.store.change_rule(&self.group, add, None, &self.owner, now).await?;
        }
        self.assistants.changed(&self.group, &self.bus).await;
        Ok(())
    }

    async fn tell_history(&self) -> anyhow::Result<()> {
        let people = self.people();
        for (person, text) in HISTORY {
            let person = people.get(person).context("the sample group has too few people")?;
            accepted(&self.line.say(self.group.as_str(), &person.user_id, text).await?)?;
        }
        let pictures = vec![picture(), picture()];
        let sender = people.get(1).context("the sample group has too few people")?;
        let sent = self.line.send_images(self.group.as_str(), &sender.user_id, pictures).await?;
        accepted(&sent)?;
        let told = i64::try_from(HISTORY.len())? + 2;
        self.until("the history is kept", async || {
            let usage = self.store.usage(&self.owner).await?;
            Ok(usage.channels.iter().any(|channel| channel.message_count >= told))
        })
        .await
    }

    async fn until(
        &self,
        what: &str,
        condition: impl AsyncFn() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let wait = async {
            while !condition().await? {
                tokio::time::sleep(LOOK).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(PATIENCE, wait).await.with_context(|| format!("waited for: {what}"))?
    }

    /// What to do now, for the terminal.
    pub(super) fn greeting(&self, address: SocketAddr, folder: &Path) -> String {
        let (api, key, group) = (format!("http://{address}/api"), &self.key, &self.group);
        let auth = format!("-H 'Authorization: Bearer {key}'");
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\nchatkeep demo is ready\n\n  chat page  http://{address}/demo\n  API key    {key}\n  \
             kept in    {}\n\n  curl {auth} {api}/me\n  curl {auth} {api}/channels\n  curl {auth} \
             '{api}/channels/{group}/backup/messages?limit=3'\n  curl {auth} -H 'Content-Type: \
             application/json' \\\n    -d '{{\"keywords\":[\"parking\"],\"question\":\"\",\
             \"answer\":\"Behind the house\"}}' {api}/channels/{group}/assistant/qa\n\n\
             Ctrl-C ends it; starting it again finds everything.",
            folder.display()
        );
        text
    }
}

/// A picture to send.
pub(super) fn picture() -> Media {
    Media::new("image/png", PICTURE)
}

/// A picture as a message of its own.
pub(super) fn picture_post() -> Post {
    Post::Image(picture())
}

fn accepted(told: &Told) -> anyhow::Result<()> {
    if told.is_accepted() {
        return Ok(());
    }
    bail!("a webhook of the sample group was not accepted: {:?}", told.delivery)
}
