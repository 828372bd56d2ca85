//! `…/assistant/qa`: the question-and-answer rules.

use std::marker::PhantomData;

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{Rule, RuleDraft};
use chatkeep_core::id::{RuleId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, Digest, HttpError, IfMatch, LARGE, Path, Prepared, Turn, apart};
use chatkeep_services::Services;
use chatkeep_services::assistant::{
    KeywordWarning, KeywordWarningKind, ReviewedRules, RuleBook, RuleUpdate, SettingsAccess,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::RevisionView;
use crate::Api;
use crate::editable::{Editable, Shown};
use crate::input::{Keyword, NotForText};
use crate::replay::{ReplayNote, Replayable, Replayed};
use crate::subscriptions::Success;

/// List of rules.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleList)]
pub(crate) struct RuleListView {
    #[serde(flatten)]
    revision: RevisionView,
    /// Rules, oldest first.
    items: Vec<RuleView>,
}

/// Question-and-answer rule.
#[derive(Serialize, ToSchema)]
#[schema(as = Rule)]
#[serde(rename_all = "camelCase")]
struct RuleView {
    /// ID of the rule: `qa_<millis>_<suffix>`.
    id: RuleId,
    /// Keywords that trigger it.
    keywords: Vec<String>,
    /// Question that it is for, shown to administrators.
    question: String,
    /// The reply.
    answer: String,
    /// Texts that it must not answer.
    not_for: Vec<String>,
    /// Time of creation.
    created_at: Timestamp,
    /// User who created it.
    created_by: UserId,
    /// Number of messages that it matched.
    hit_count: i64,
    /// Number of its replies that the cooldown suppressed.
    suppressed_count: i64,
}

/// List of rules after saving a rule.
#[derive(Serialize, ToSchema)]
#[schema(as = SavedRuleList)]
pub(crate) struct SavedView {
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

/// Kind of warning. `keyword_shared`: another rule has the same keyword, and the oldest rule
/// answers. `keyword_is_trigger`: the keyword is a trigger of the group rules or of the link, which
/// take precedence; with `contains`, also when it contains one. `keyword_short`: with `contains`,
/// the keyword is a single character or has no letter and no digit, so the rule answers every
/// message that contains it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the API's codes have the prefix")]
enum WarningCode {
    /// Another rule has the same keyword; the oldest answers.
    KeywordShared,
    /// The keyword is a trigger of the group rules or of the link, which take precedence, or has one in
    /// it.
    KeywordIsTrigger,
    /// The keyword is so short that it occurs in messages about anything, which the rule answers.
    KeywordShort,
}

/// Rule to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RuleBody {
    /// Keywords that trigger the rule; duplicates are removed.
    #[schema(value_type = Vec<Keyword>, min_items = 1, max_items = 50)]
    keywords: Vec<String>,
    /// Question that the rule answers, shown to administrators; the modes `fuzzy` and `semantic`
    /// also match against it. When absent, the rule has none.
    #[serde(default)]
    #[schema(max_length = 500, nullable = false)]
    question: Option<String>,
    /// The reply.
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    answer: String,
    /// Texts that the rule must not answer: neither these nor messages that are at least as similar
    /// to one of them as to the rule. When absent, the rule has none.
    #[serde(default)]
    #[schema(value_type = Option<Vec<NotForText>>, max_items = 50, nullable = false)]
    not_for: Option<Vec<String>>,
}

/// Change of a rule; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RulePatch {
    /// Keywords that trigger the rule; duplicates are removed.
    #[schema(value_type = Option<Vec<Keyword>>, min_items = 1, max_items = 50, nullable = false)]
    keywords: Option<Vec<String>>,
    /// Question that the rule answers, shown to administrators; the modes `fuzzy` and `semantic`
    /// also match against it.
    #[schema(max_length = 500, nullable = false)]
    question: Option<String>,
    /// The reply.
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]", nullable = false)]
    answer: Option<String>,
    /// Texts that the rule must not answer: neither these nor messages that are at least as similar
    /// to one of them as to the rule.
    #[schema(value_type = Option<Vec<NotForText>>, max_items = 50, nullable = false)]
    not_for: Option<Vec<String>>,
}

/// Fields of a rule that the service sets.
const READ_ONLY: &[&str] = &["id", "createdAt", "createdBy", "hitCount", "suppressedCount"];

impl Shown for RuleBody {
    const READ_ONLY: &'static [&'static str] = READ_ONLY;
}

impl Shown for RulePatch {
    const READ_ONLY: &'static [&'static str] = READ_ONLY;
}

#[derive(Deserialize, IntoParams)]
pub(crate) struct RulePath {
    /// The rule.
    #[serde(rename = "qaId")]
    #[param(value_type = String)]
    rule: RuleId,
}

pub(crate) async fn list(
    State(api): State<Api>,
    access: SettingsAccess,
) -> Result<Prepared<RuleListView>, HttpError> {
    let turn = turn(&api, &access).await?;
    let book = api.services.assistant.rules(&access).await?;
    let work = move || {
        let (version, list) = (book.version, RuleListView::from(book));
        (version, Digest::of(&list), serde_json::to_vec(&list))
    };
    prepared(turn, work).await
}

pub(crate) async fn add(
    State(api): State<Api>,
    access: SettingsAccess,
    IfMatch(versions): IfMatch,
    Replayed(note): Replayed,
    Body(Editable(body)): Body<Editable<RuleBody>>,
) -> Result<Replayable<Prepared<SavedView>>, HttpError> {
    let assistant = &api.services.assistant;
    let rule = match note {
        Some(ReplayNote(rule)) => rule.into(),
        None => assistant.add_rule(&access, body.into(), versions.as_deref()).await?,
    };
    saved(&api, &access, rule).await
}

pub(crate) async fn replace(
    State(api): State<Api>,
    access: SettingsAccess,
    IfMatch(versions): IfMatch,
    Path(path): Path<RulePath>,
    Body(Editable(body)): Body<Editable<RulePatch>>,
) -> Result<Replayable<Prepared<SavedView>>, HttpError> {
    let (assistant, rule) = (&api.services.assistant, path.rule);
    assistant.replace_rule(&access, &rule, body.into(), versions.as_deref()).await?;
    saved(&api, &access, rule).await
}

pub(crate) async fn remove(
    State(services): State<Services>,
    access: SettingsAccess,
    IfMatch(versions): IfMatch,
    Path(path): Path<RulePath>,
) -> Result<Json<Success>, HttpError> {
    services.assistant.remove_rule(&access, &path.rule, versions.as_deref()).await?;
    Ok(Success::answer())
}

/// Waits for a turn when the list may be large.
async fn turn(api: &Api, access: &SettingsAccess) -> Result<Option<Turn>, HttpError> {
    let is_large = api.services.assistant.rules_size(access).await? >= LARGE;
    if is_large { Ok(Some(api.large.turn(Some(&access.caller.user)).await?)) } else { Ok(None) }
}

/// Returns the list after `rule` was saved, with warnings for its editor.
async fn saved(
    api: &Api,
    access: &SettingsAccess,
    rule: RuleId,
) -> Result<Replayable<Prepared<SavedView>>, HttpError> {
    let turn = turn(api, access).await?;
    let note = ReplayNote(rule.to_string());
    let ReviewedRules { book, warnings } = api.services.assistant.saved_rules(access, rule).await?;
    let work = move || {
        let (version, list) = (book.version, RuleListView::from(book));
        // The warnings are for the editor, and no part of the object.
        let digest = Digest::of(&list);
        let warnings = warnings.into_iter().map(RuleWarning::from).collect();
        (version, digest, serde_json::to_vec(&SavedView { list, warnings }))
    };
    Ok(Replayable { response: prepared(turn, work).await?, note })
}

/// Builds the response that `work` writes: version, digest and JSON. A large one (with a turn) is
/// built on a blocking thread.
async fn prepared<T>(
    turn: Option<Turn>,
    work: impl FnOnce() -> (i64, Digest, serde_json::Result<Vec<u8>>) + Send + 'static,
) -> Result<Prepared<T>, HttpError> {
    let size = if turn.is_some() { LARGE } else { 0 };
    let (version, digest, json) = apart(size, work).await?;
    let json = json.map_err(|_| HttpError::Internal)?;
    Ok(Prepared { version, digest, json, turn, form: PhantomData })
}

impl From<RuleBook> for RuleListView {
    fn from(book: RuleBook) -> Self {
        let items = book.rules.into_iter().map(RuleView::from).collect();
        Self { revision: book.revision.into(), items }
    }
}

impl From<Rule> for RuleView {
    fn from(rule: Rule) -> Self {
        Self {
            id: rule.id,
            keywords: rule.keywords,
            question: rule.question,
            answer: rule.answer,
            not_for: rule.not_for,
            created_at: rule.created_at,
            created_by: rule.created_by,
            hit_count: rule.hit_count,
            suppressed_count: rule.suppressed_count,
        }
    }
}

impl From<KeywordWarning> for RuleWarning {
    fn from(warning: KeywordWarning) -> Self {
        let KeywordWarning { kind, keyword, rule_ids } = warning;
        let code = match kind {
            KeywordWarningKind::Shared => WarningCode::KeywordShared,
            KeywordWarningKind::IsTrigger => WarningCode::KeywordIsTrigger,
            KeywordWarningKind::Short => WarningCode::KeywordShort,
        };
        Self { code, keyword, rule_ids }
    }
}

impl From<RulePatch> for RuleUpdate {
    fn from(patch: RulePatch) -> Self {
        let RulePatch { keywords, question, answer, not_for } = patch;
        Self { keywords, question, answer, not_for }
    }
}

impl From<RuleBody> for RuleDraft {
    fn from(body: RuleBody) -> Self {
        let RuleBody { keywords, question, answer, not_for } = body;
        let (question, not_for) = (question.unwrap_or_default(), not_for.unwrap_or_default());
        Self { keywords, question, answer, not_for }
    }
}
