//! History of the sample groups before the first start: a year of messages, the same for the same
//! day, stored as if it had happened.

mod dice;
mod mark;
mod plan;
mod replay;
mod script;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use chatkeep_blobs::Blobs;
use chatkeep_core::assistant::{AssistantConfig, KeywordMatch, Rule, RuleDraft};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, RuleId, UserId, WebhookId};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::random;
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_emulator::User;
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_store::{
    MessageFilter, NewWebhook, OutboxEventKind, RuleChange, Store, WebhookChange, WebhookMaker,
};
use chatkeep_workers::assistant::{Compiled, Source};

use super::cast::{Cast, Past};
use super::people::People;
pub(super) use mark::HistoryMark;
use plan::{CastMember, PlannedStep, Planner, begin, days_before};
use replay::{GroupReplay, Replay};
use script::{Script, ScriptRule};

/// Days ago since which the webhook of a group fails.
const WEBHOOK: i64 = 3;

/// Writer of histories.
pub(super) struct Historian<'a> {
    store: &'a Store,
    replay: Replay<'a>,
    now: Timestamp,
}

impl<'a> Historian<'a> {
    /// Creates it; histories end at `now`.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn new(
        store: &'a Store,
        blobs: &'a Blobs,
        bot: &User,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let id = UserId::from(bot.user_id.as_str());
        store.accounts().add_user(&id, Some(&bot.display_name), begin(now)).await?;
        let replay = Replay { store, blobs, bot: id, files: HashMap::new() };
        Ok(Self { store, replay, now })
    }

    /// Returns true for a group whose history is still to be stored.
    async fn lacks(&self, people: &People) -> anyhow::Result<bool> {
        let filter = MessageFilter { limit: 1, ..MessageFilter::default() };
        let found = self.store.messages().list(people.group(), &filter).await?;
        Ok(people.cast().past.is_some() && found.messages.is_empty())
    }

    /// Stores the histories of groups that have none yet.
    ///
    /// # Errors
    /// Returns an error when the store fails, a script cannot be read, or an earlier start was
    /// interrupted and left a history that is not complete.
    pub(super) async fn play(
        &mut self,
        groups: &[People],
        mark: &HistoryMark,
    ) -> anyhow::Result<()> {
        if groups.iter().any(|people| people.cast().past.is_some()) {
            mark.check()?;
        }
        let mut is_played = false;
        for people in groups {
            if self.lacks(people).await? {
                mark.set()?;
                is_played = true;
                self.play_one(people).await?;
            }
        }
        if is_played { mark.remove() } else { Ok(()) }
    }

    async fn play_one(&mut self, people: &People) -> anyhow::Result<()> {
        let (cast, group) = (people.cast(), people.group().clone());
        let Some(past) = &cast.past else { return Ok(()) };
        let script = Script::read(past.script).with_context(|| cast.name)?;
        let persons = self.persons(people, past)?;
        let planner = Planner::new(cast.name, past, &script, &persons, self.now)?;
        let mut first = planner.steps();
        let mut rest = first.split_off(first.partition_point(|step| step.at <= begin(self.now)));
        let owner = persons.first().context("a group without people")?.id.clone();
        let assistant = Arc::new(compiled(&script, begin(self.now))?);
        self.replay_steps(&group, Arc::clone(&assistant), first).await?;
        self.open(&group, cast, past, &persons).await?;
        self.set_up(&group, &owner, &script).await?;
        if let Some(url) = past.webhook {
            // It receives what is logged from then on.
            let made = days_before(self.now, WEBHOOK);
            let newest = rest.split_off(rest.partition_point(|step| step.at < made));
            self.replay_steps(&group, Arc::clone(&assistant), rest).await?;
            self.add_webhook(&group, &owner, url, made).await?;
            rest = newest;
        }
        self.replay_steps(&group, assistant, rest).await
    }

    async fn replay_steps(
        &mut self,
        group: &ChannelId,
        assistant: Arc<Compiled>,
        steps: impl IntoIterator<Item = PlannedStep>,
    ) -> anyhow::Result<()> {
        let mut group = GroupReplay {
            replay: &mut self.replay,
            channel: group.clone(),
            assistant,
            pending: Vec::new(),
            last: self.now,
        };
        for step in steps {
            group.step(step).await?;
        }
        group.flush().await
    }

    /// Returns everybody who is or was in the group, its owner first.
    fn persons(&self, people: &People, past: &Past) -> anyhow::Result<Vec<CastMember>> {
        let at = |list: &[(&str, i64)], name: &str| {
            let days = list.iter().find(|(other, _)| *other == name).map(|(_, days)| *days);
            days.map(|days| days_before(self.now, days))
        };
        let cast = people.cast();
        let left = past.left.iter().map(|(name, _)| *name);
        let names = cast.founders.iter().copied().chain(left);
        let person = |name: &str| -> anyhow::Result<CastMember> {
            let user = people.everybody().find(|user| user.display_name == name);
            let user = user.with_context(|| format!("{name} is not in the cast"))?;
            Ok(CastMember {
                id: UserId::from(user.user_id.as_str()),
                name: name.to_owned(),
                joined: at(past.joined, name),
                left: at(past.left, name),
            })
        };
        names.map(person).collect()
    }

    /// Records people and names, and subscribes the owner.
    async fn open(
        &self,
        group: &ChannelId,
        cast: &Cast,
        past: &Past,
        persons: &[CastMember],
    ) -> anyhow::Result<()> {
        let (accounts, at) = (self.store.accounts(), begin(self.now));
        let owner = persons.first().context("a group without people")?;
        for person in persons {
            accounts.add_user(&person.id, Some(&person.name), at).await?;
        }
        let profile = |person: &CastMember| {
            let display_name = person.name.clone();
            let profile = Profile { display_name, picture_url: None, language: None };
            (person.id.clone(), Some(profile))
        };
        let profiles: BTreeMap<_, _> = persons.iter().map(profile).collect();
        self.store.members().save_profiles(&profiles, self.now).await?;
        let summary = ChannelSummary {
            name: Some(cast.name.to_owned()),
            picture_url: None,
            member_count: i64::try_from(cast.founders.len()).ok(),
        };
        let channels = self.store.channels();
        channels.save_summaries(&[(group.clone(), summary)].into(), self.now).await?;
        channels.set_time_zone(group, Some(past.zone), &owner.id, at).await?;
        accounts.set_plan(&owner.id, past.plan, at).await?;
        Ok(())
    }

    /// Subscribes the owner, and stores the settings of the assistant.
    async fn set_up(
        &self,
        group: &ChannelId,
        owner: &UserId,
        script: &Script,
    ) -> anyhow::Result<()> {
        let at = begin(self.now).plus(Duration::from_mins(5));
        self.store.accounts().subscribe(group, owner, at).await?;
        let assistant = self.store.assistant();
        let edit = |_, _| Ok::<_, std::convert::Infallible>(config());
        match assistant.change_assistant_config(group, owner, at, edit).await? {
            Ok(_) => {}
            Err(never) => match never {},
        }
        assistant.set_group_rules(group, &script.group_rules, None, owner, at).await?;
        for rule in &script.rules {
            let (id, draft) = (rule.id(begin(self.now)), rule.draft());
            assistant.change_rule(group, RuleChange::Add(&id, &draft), None, owner, at).await?;
        }
        Ok(())
    }

    /// Adds a webhook that receives the newest events, and fails: no computer has its address.
    async fn add_webhook(
        &self,
        group: &ChannelId,
        owner: &UserId,
        url: &str,
        at: Timestamp,
    ) -> anyhow::Result<()> {
        let id = WebhookId::new(format!("wh_demo_{group}"));
        let secret = signing::secret(random::bytes());
        let channels = [group.clone()];
        let change = WebhookChange {
            url,
            description: "Order list on the office computer",
            events: &[OutboxEventKind::MessageReceived],
            channels: Some(&channels),
            enabled: true,
        };
        let bounds = Bounds::full();
        let maker = WebhookMaker { key: None, bounds: &bounds };
        let new = NewWebhook { id: &id, user: owner, secret: &secret, change, maker };
        self.store.webhooks().add_webhook(&new, at).await?;
        Ok(())
    }
}

/// Compiles the assistant of a script, whose rules were made at that time. What answers in a
/// history is what would have answered.
fn compiled(script: &Script, at: Timestamp) -> anyhow::Result<Compiled> {
    let rule = |rule: &ScriptRule| {
        let by = UserId::from("demo");
        Rule::new(rule.id(at), rule.draft(), at, by)
    };
    let rules = script.rules.iter().map(rule).collect();
    let group_rules = script.group_rules.clone();
    let source = Source { config: config(), group_rules, rules, ..Source::default() };
    Ok(Compiled::new(source, &SemanticSpace::built_in(), None)?)
}

/// Returns the settings of the assistants.
fn config() -> AssistantConfig {
    let mut config = AssistantConfig::default();
    config.qa.keyword_match = KeywordMatch::Contains;
    config.rules.enabled = true;
    config.rules.trigger_keywords = ["版規", "rules", "ルール", "กติกา"].map(str::to_owned).to_vec();
    config.link.enabled = true;
    config.link.trigger_keywords =
        ["連結", "dashboard", "リンク", "ลิงก์กลุ่ม"].map(str::to_owned).to_vec();
    config
}

impl ScriptRule {
    fn id(&self, at: Timestamp) -> RuleId {
        RuleId::new(format!("qa_{}_{}", at.millis(), self.name))
    }

    fn draft(&self) -> RuleDraft {
        RuleDraft {
            keywords: self.keywords.clone(),
            question: self.question.clone(),
            answer: self.answer.clone(),
            ..RuleDraft::default()
        }
    }
}
