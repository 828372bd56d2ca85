//! State of the page: a group, its people, and how its bot answers.

use chatkeep_core::assistant::{QaMode, Rule};
use chatkeep_core::plan::{Plan, Usage};
use chatkeep_emulator::{Entry, User};
use chatkeep_services::ServiceError;
use chatkeep_services::access::{Admin, WriteAssistant};
use serde::Serialize;

use super::people::People;
use super::sample::Sample;

/// Rules that the page shows.
const RULES: usize = 8;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageState {
    group_id: String,
    group_name: String,
    /// All groups, for the choice among them.
    groups: Vec<Named>,
    /// Key of the first group's owner, who is in all groups.
    key: String,
    owner_id: String,
    /// Zone in which the group's days begin; null for the browser's.
    time_zone: Option<&'static str>,
    bot_name: String,
    /// People in the group.
    people: Vec<Named>,
    /// People who may join, the next one first.
    outside: Vec<Named>,
    /// People who joined and left since the demo started.
    notes: Vec<Note>,
    assistant: AssistantState,
    usage: UsageState,
}

/// A person or a group.
#[derive(Serialize)]
struct Named {
    id: String,
    name: String,
}

/// A line of the chat itself.
#[derive(Serialize)]
struct Note {
    /// Milliseconds since the Unix epoch.
    at: i64,
    /// `memberJoined` or `memberLeft`.
    kind: String,
    /// Names of the people.
    names: String,
}

/// Mode in which the bot answers.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct AssistantState {
    plan: Plan,
    mode: QaMode,
    /// Mode in effect under the plan.
    effective_mode: QaMode,
    rules: Vec<RuleState>,
}

#[derive(Serialize)]
struct RuleState {
    id: String,
    keywords: Vec<String>,
    question: String,
    answer: String,
}

/// Storage of the group's owner.
#[derive(Serialize)]
struct UsageState {
    used: i64,
    quota: i64,
    percentage: f64,
    /// Messages of the group.
    messages: i64,
}

impl PageState {
    /// Reads the state of a group.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(super) async fn of(sample: &Sample, people: &People) -> Result<Self, ServiceError> {
        let line = sample.line();
        let group_name = people.chat().and_then(|chat| chat.name).unwrap_or_default();
        let named = |people: Vec<User>| people.into_iter().map(Named::from).collect();
        let group = |people: &People| Named {
            id: people.group().to_string(),
            name: people.cast().name.to_owned(),
        };
        Ok(Self {
            group_id: people.group().to_string(),
            group_name,
            groups: sample.groups().iter().map(group).collect(),
            key: sample.key().to_owned(),
            owner_id: people.owner().user_id.clone(),
            time_zone: people.cast().past.as_ref().map(|past| past.zone),
            bot_name: line.bot().display_name,
            people: named(people.members()),
            outside: named(people.outside()),
            notes: notes(line.transcript(people.group().as_str())),
            assistant: AssistantState::of(sample, people).await?,
            usage: UsageState::of(sample, people).await?,
        })
    }
}

impl AssistantState {
    async fn of(sample: &Sample, people: &People) -> Result<Self, ServiceError> {
        let access = match sample.access::<Admin, WriteAssistant>(people).await {
            // Nobody owns the group of the first start before chatkeep has seen its owner.
            Err(ServiceError::PermissionDenied) => return Ok(Self::default()),
            access => access?,
        };
        let service = &sample.services().assistant;
        let settings = service.settings(&access).await?;
        let rules = service.rules(&access).await?.rules.into_iter().take(RULES);
        let rule = |rule: Rule| RuleState {
            id: rule.id.to_string(),
            keywords: rule.keywords,
            question: rule.question,
            answer: rule.answer,
        };
        let plan = sample.store().members().owner_plan(people.group()).await?;
        Ok(Self {
            plan: plan.unwrap_or_default(),
            mode: settings.config.qa.mode,
            effective_mode: settings.effective_mode,
            rules: rules.map(rule).collect(),
        })
    }
}

impl UsageState {
    async fn of(sample: &Sample, people: &People) -> Result<Self, ServiceError> {
        let (store, group) = (sample.store(), people.group());
        let used = store.accounts().usage(&people.owner_id()).await?;
        let plan = store.members().owner_plan(group).await?.unwrap_or_default();
        let messages = used.channels.iter().find(|channel| channel.channel == *group);
        let messages = messages.map_or(0, |channel| channel.message_count);
        let usage = Usage::new(used.total(), plan);
        let (used, quota, percentage) = (usage.used, usage.quota, usage.percentage());
        Ok(Self { used, quota, percentage, messages })
    }
}

impl From<User> for Named {
    fn from(user: User) -> Self {
        Self { id: user.user_id, name: user.display_name }
    }
}

/// Returns who joined and left since the bot joined the group; earlier entries are its creation.
fn notes(lines: Vec<Entry>) -> Vec<Note> {
    let since = lines.into_iter().skip_while(|line| line.kind != "join");
    let moves = since.filter(|line| matches!(line.kind.as_str(), "memberJoined" | "memberLeft"));
    moves.map(|l| Note { at: l.at, kind: l.kind, names: l.text.unwrap_or_default() }).collect()
}
