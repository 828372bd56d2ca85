//! Initial state of the sample group: its assistant's settings and some history.

use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_core::assistant::{KeywordMatch, RuleDraft};
use chatkeep_emulator::Delivered;
use chatkeep_services::FieldPath;
use chatkeep_services::access::{Admin, WriteAssistant};
use chatkeep_services::assistant::{
    AssistantChange, FieldText, QaChange, TriggerChange, WelcomeChange,
};

use super::media;
use super::sample::Sample;

/// Initial history: index of a person and a text.
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
/// The photos of the history, by number.
const PHOTOS: [usize; 2] = [0, 1];
/// Rules of the sample assistant: keywords, question, answer.
const RULES: [(&[&str], &str, &str); 3] = [
    (
        &["hours", "營業時間", "営業時間", "เวลาทำการ"],
        "When are you open?",
        "We are open 9:00–18:00, Monday to Saturday. 週一至週六 9:00–18:00",
    ),
    (&["address", "地址", "住所", "ที่อยู่"], "Where are you?", "305, 3F, No. 7 Xinyi Road, Taipei"),
    (
        &["wifi", "wi-fi 密碼"],
        "How do I connect to the internet?",
        "Network: chatkeep-guest. Ask at the desk for the password.",
    ),
];
const WELCOME: &str =
    "歡迎 {displayName} 加入 {groupName}！\nSay \"rules\" to see how we get along.";
const GROUP_RULES: &str = "1. Be kind 請友善發言\n2. No advertisements 請勿張貼廣告\n3. Photos of people only with their consent";
/// The pipeline needs far less than this for an event.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Poll interval of conditions.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

impl Sample {
    /// Adds the bot to the first group; the very first start also sets up everything else of it.
    ///
    /// # Errors
    /// Returns an error when a webhook is refused, the store fails, or the pipeline takes too long.
    pub(super) async fn prepare(&self) -> anyhow::Result<()> {
        let group = self.people().group().as_str();
        accepted(&self.line().bot_joins(group).await?)?;
        if self.people().owner_left() {
            self.bring_owner_back().await?;
        }
        if self.is_set_up().await? {
            return Ok(());
        }
        let hello = "Chatkeep 開始備份這個群組了 👋";
        let owner = &self.people().owner().user_id;
        accepted(&self.line().say(group, owner, hello).await?)?;
        self.owner_is_in().await?;
        self.subscribe().await?;
        self.set_up_assistant().await?;
        self.play_history().await
    }

    /// Restores the owner, whose key the page uses, if they left in an earlier version of the demo:
    /// they return and own the group again.
    async fn bring_owner_back(&self) -> anyhow::Result<()> {
        let (group, owner) = (self.people().group().as_str(), &self.people().owner().user_id);
        accepted(&self.line().members_join(group, &[owner]).await?)?;
        self.owner_is_in().await?;
        self.subscribe().await
    }

    async fn owner_is_in(&self) -> anyhow::Result<()> {
        until("the owner is known", async || self.knows_owner().await).await
    }

    async fn set_up_assistant(&self) -> anyhow::Result<()> {
        let access = self.access::<Admin, WriteAssistant>(self.people()).await?;
        let assistant = &self.services().assistant;
        assistant.change_settings(&access, settings(), None).await?;
        let group_rules = FieldText { field: FieldPath::BODY, text: GROUP_RULES.to_owned() };
        assistant.set_group_rules(&access, Some(group_rules), None).await?;
        for (keywords, question, answer) in RULES {
            let draft = RuleDraft {
                keywords: keywords.iter().map(ToString::to_string).collect(),
                question: question.to_owned(),
                answer: answer.to_owned(),
                ..RuleDraft::default()
            };
            assistant.add_rule(&access, draft, None).await?;
        }
        Ok(())
    }

    async fn play_history(&self) -> anyhow::Result<()> {
        let (people, group) = (self.people().members(), self.people().group().as_str());
        for (person, text) in HISTORY {
            let person = people.get(person).context("the sample group has too few people")?;
            accepted(&self.line().say(group, &person.user_id, text).await?)?;
        }
        let mut photos = Vec::new();
        for number in PHOTOS {
            photos.push(media::photo(number).await?);
        }
        let sender = people.get(1).context("the sample group has too few people")?;
        accepted(&self.line().send_images(group, &sender.user_id, photos).await?)?;
        let sent = i64::try_from(HISTORY.len() + PHOTOS.len())?;
        until("the history is kept", async || Ok(self.stored_messages().await? >= sent)).await
    }
}

/// Returns the settings of the sample assistant.
fn settings() -> AssistantChange {
    let qa = QaChange { keyword_match: Some(KeywordMatch::Contains), ..QaChange::default() };
    let welcome = WelcomeChange { enabled: Some(true), message: Some(WELCOME.to_owned()) };
    let trigger_keywords = Some(vec!["rules".to_owned(), "版規".to_owned()]);
    let link_words = Some(vec!["連結".to_owned(), "dashboard".to_owned()]);
    AssistantChange {
        enabled: None,
        qa: Some(qa),
        welcome: Some(welcome),
        rules: Some(TriggerChange { enabled: Some(true), trigger_keywords }),
        link: Some(TriggerChange { enabled: Some(true), trigger_keywords: link_words }),
    }
}

async fn until(
    what: &str,
    condition: impl AsyncFn() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let wait = async {
        while !condition().await? {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(TIMEOUT, wait).await.with_context(|| format!("waited for: {what}"))?
}

fn accepted(sent: &Delivered) -> anyhow::Result<()> {
    if sent.is_accepted() {
        return Ok(());
    }
    bail!("a webhook of the sample group was not accepted: {:?}", sent.delivery)
}
