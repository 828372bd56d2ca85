//! `…/assistant/qa`: the question-and-answer rules.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{Rule, RuleDraft, RuleList, limits};
use chatkeep_core::id::{ChannelId, RuleId};
use chatkeep_index::{duplicates, fold_phrase};
use chatkeep_store::{RuleChange, RuleChanged, Setting};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{RevisionView, Settings};
use crate::api::Api;
use crate::api::editable::{Editable, Shown};
use crate::api::error::ApiError;
use crate::api::etag::{Digest, IfMatch, Prepared};
use crate::api::extract::{Body, Path};
use crate::api::idempotency::{ReplayNote, Replayed};
use crate::api::input::{Keyword, keywords, text};
use crate::api::large::{self, LARGE, Turn};
use crate::api::subscriptions::Success;
use crate::random;
use crate::services::FieldPath;

/// Approximate bytes of a rule's JSON beside its texts: names, IDs, times.
const AROUND: i64 = 200;

/// List of rules.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleList)]
pub(in crate::api) struct RuleListView {
    #[serde(flatten)]
    revision: RevisionView,
    /// Rules, oldest first.
    items: Vec<Rule>,
}

/// List of rules after saving a rule.
#[derive(Serialize, ToSchema)]
#[schema(as = SavedRuleList)]
pub(in crate::api) struct SavedView {
    #[serde(flatten)]
    list: RuleListView,
    /// Warnings about the saved rule.
    warnings: Vec<RuleWarning>,
}

/// Warning about a keyword with an unexpected effect.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RuleWarning {
    /// Kind of warning.
    code: WarningCode,
    /// Keyword in the normalized form used for matching.
    keyword: String,
    /// IDs of the rules with this keyword; the first one answers.
    rule_ids: Vec<RuleId>,
}

/// Kind of warning: `keyword_shared` when another rule has the same keyword (the oldest answers),
/// `keyword_is_trigger` when it is a trigger of the group rules, which take precedence.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum WarningCode {
    /// Another rule has the same keyword; the oldest answers.
    KeywordShared,
    /// The keyword is a trigger of the group rules, which take precedence.
    KeywordIsTrigger,
}

/// Rule to create or replace.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RuleBody {
    /// Keywords that trigger the rule; duplicates are removed.
    #[schema(value_type = Vec<Keyword>, min_items = 1, max_items = 50)]
    keywords: Vec<String>,
    /// Description for administrators; the tolerant modes also match against it.
    #[serde(default)]
    #[schema(max_length = 500)]
    question: String,
    /// The reply.
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    answer: String,
}

/// Read-only fields of a rule in the list.
impl Shown for RuleBody {
    const READ_ONLY: &'static [&'static str] =
        &["id", "createdAt", "createdBy", "hitCount", "suppressedCount"];
}

#[derive(Deserialize, IntoParams)]
pub(in crate::api) struct RulePath {
    /// The rule.
    #[serde(rename = "qaId")]
    #[param(value_type = String)]
    rule: RuleId,
}

pub(in crate::api) async fn list(
    State(api): State<Api>,
    access: Settings,
) -> Result<Prepared<RuleListView>, ApiError> {
    let (turn, version, list) = full_list(&api, &access.channel).await?;
    prepared(turn, move || (version, Digest::of(&list), serde_json::to_vec(&list))).await
}

pub(in crate::api) async fn add(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Replayed(note): Replayed,
    Body(Editable(body)): Body<Editable<RuleBody>>,
) -> Result<Prepared<SavedView>, ApiError> {
    if let Some(ReplayNote(rule)) = note {
        return saved(&api, &access.channel, rule.into()).await;
    }
    let draft = body.checked()?;
    let id = RuleId::new(format!("qa_{}_{}", api.clock.now().millis(), random::text(6)));
    change(&api, &access, RuleChange::Add(&id, &draft), if_match).await?;
    saved(&api, &access.channel, id).await
}

pub(in crate::api) async fn replace(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Path(path): Path<RulePath>,
    Body(Editable(body)): Body<Editable<RuleBody>>,
) -> Result<Prepared<SavedView>, ApiError> {
    let draft = body.checked()?;
    change(&api, &access, RuleChange::Replace(&path.rule, &draft), if_match).await?;
    saved(&api, &access.channel, path.rule).await
}

pub(in crate::api) async fn remove(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Path(path): Path<RulePath>,
) -> Result<Json<Success>, ApiError> {
    change(&api, &access, RuleChange::Remove(&path.rule), if_match).await?;
    Ok(Success::answer())
}

async fn change(
    api: &Api,
    access: &Settings,
    change: RuleChange<'_>,
    if_match: Option<Vec<i64>>,
) -> Result<(), ApiError> {
    let (now, if_match) = (api.clock.now(), if_match.as_deref());
    match api
        .store
        .assistant()
        .change_rule(&access.channel, change, if_match, access.user(), now)
        .await?
    {
        RuleChanged::Done => {
            api.assistant_changed(&access.channel).await;
            Ok(())
        }
        RuleChanged::Unchanged => Ok(()),
        RuleChanged::Stale => Err(ApiError::Stale),
        RuleChanged::NoRule => Err(ApiError::NotFound),
        RuleChanged::TooLarge(bytes) => Err(ApiError::RulesTooLarge { bytes }),
        RuleChanged::TooMany => {
            Err(ApiError::Conflict("The channel has the maximum number of rules"))
        }
    }
}

/// Returns the rules with their version, and a turn when the response may be large.
async fn full_list(
    api: &Api,
    channel: &ChannelId,
) -> Result<(Option<Turn>, i64, RuleListView), ApiError> {
    let (count, bytes) = api.store.assistant().rule_sizes(channel).await?;
    let json = usize::try_from(bytes + count * AROUND).unwrap_or(usize::MAX);
    let turn = if json < LARGE { None } else { Some(api.large.turn().await?) };
    let Setting { version, value: RuleList { revision, items } } =
        api.store.assistant().rules(channel).await?;
    let revision = api.revision(channel, revision).await?;
    Ok((turn, version, RuleListView { revision, items }))
}

/// Returns the list after `rule` was saved, with warnings for its editor.
async fn saved(
    api: &Api,
    channel: &ChannelId,
    rule: RuleId,
) -> Result<Prepared<SavedView>, ApiError> {
    let (turn, version, list) = full_list(api, channel).await?;
    let triggers = api.store.assistant().assistant_config(channel).await?.rules.trigger_keywords;
    let note = ReplayNote(rule.to_string());
    let work = move || {
        let digest = Digest::of(&list);
        let warnings = warnings(&list.items, &triggers, &rule);
        (version, digest, serde_json::to_vec(&SavedView { list, warnings }))
    };
    Ok(Prepared { note: Some(note), ..prepared(turn, work).await? })
}

/// Builds the response that `work` writes: version, digest and JSON. A large one (with a turn) is
/// built on a blocking thread.
async fn prepared<T>(
    turn: Option<Turn>,
    work: impl FnOnce() -> (i64, Digest, serde_json::Result<Vec<u8>>) + Send + 'static,
) -> Result<Prepared<T>, ApiError> {
    let size = if turn.is_some() { LARGE } else { 0 };
    let (version, digest, json) = large::apart(size, work).await?;
    let json = json.map_err(|_| ApiError::Internal)?;
    Ok(Prepared { version, digest, json, turn, note: None, form: PhantomData })
}

/// Keywords of `rule` that will not do what its editor thinks.
fn warnings(rules: &[Rule], triggers: &[String], rule: &RuleId) -> Vec<RuleWarning> {
    let words = rules.iter().zip(0_u32..).flat_map(|(rule, ordinal)| {
        rule.keywords.iter().map(move |keyword| (ordinal, keyword.as_str()))
    });
    let id = |ordinal: u32| rules.get(ordinal as usize).map(|rule| rule.id.clone());
    let shared = duplicates(words).into_iter().filter_map(|shared| {
        let rule_ids: Vec<_> = shared.rules.into_iter().filter_map(id).collect();
        rule_ids.contains(rule).then_some(RuleWarning {
            code: WarningCode::KeywordShared,
            keyword: shared.keyword,
            rule_ids,
        })
    });
    let triggers: BTreeSet<_> = triggers.iter().map(|trigger| fold_phrase(trigger)).collect();
    let own = rules.iter().filter(|saved| saved.id == *rule).flat_map(|rule| &rule.keywords);
    let shadowed = own.map(|keyword| fold_phrase(keyword)).filter(|word| triggers.contains(word));
    let shadowed = shadowed.map(|keyword| RuleWarning {
        code: WarningCode::KeywordIsTrigger,
        keyword,
        rule_ids: vec![rule.clone()],
    });
    shared.chain(shadowed).collect()
}

impl RuleBody {
    fn checked(self) -> Result<RuleDraft, ApiError> {
        Ok(RuleDraft {
            keywords: keywords(FieldPath::body("/keywords"), self.keywords, 1, limits::KEYWORDS)?,
            question: text(FieldPath::body("/question"), self.question, 0, limits::QUESTION)?,
            answer: text(FieldPath::body("/answer"), self.answer, 1, limits::ANSWER)?,
        })
    }
}
