//! `POST …/assistant/backtest`: tests draft rules or other settings against past messages.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{KeywordMatch, QaMode, RuleDraft, Strictness};
use chatkeep_core::id::RuleId;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{HttpError, OptionalBody};
use chatkeep_services::Services;
use chatkeep_services::assistant::{
    BacktestChange, BacktestDraft, BacktestRequest, BacktestResult, GivenReply, HistoryAccess,
};
use chatkeep_services::decode::whole;
use chatkeep_view::{Links, MessageView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::assistant::trial::SourceView;
use crate::editable::{Editable, Shown};
use crate::input::{Keyword, NotForText};

/// Draft to test against past messages: other rules, another mode, matching of keywords or
/// strictness, or all of them.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BacktestBody {
    /// Rules to test; the channel's rules when absent.
    #[schema(max_items = 10000, nullable = false)]
    rules: Option<Vec<DraftItem>>,
    /// Mode to test; the channel's mode when absent.
    #[schema(nullable = false)]
    mode: Option<QaMode>,
    /// Method of matching keywords to test; the channel's method when absent.
    #[schema(nullable = false)]
    keyword_match: Option<KeywordMatch>,
    /// Strictness to test; the channel's strictness when absent.
    #[schema(nullable = false)]
    strictness: Option<Strictness>,
    /// Number of days of history to examine; 30 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 365, nullable = false)]
    days: Option<u32>,
}

/// Draft of a rule.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DraftRule {
    /// ID for references in the response; `draft_1`, `draft_2`, … when absent.
    #[schema(
        value_type = Option<String>,
        min_length = 1,
        max_length = 100,
        pattern = r"[^\s\u0000\u0085]",
        nullable = false
    )]
    id: Option<String>,
    /// Keywords that trigger the rule.
    #[schema(value_type = Vec<Keyword>, min_items = 1, max_items = 50)]
    keywords: Vec<String>,
    /// Question that the rule answers, shown to administrators; the modes `fuzzy` and `semantic`
    /// also match against it.
    #[serde(default)]
    #[schema(max_length = 500)]
    question: String,
    /// The reply.
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    answer: String,
    /// Texts that the rule must not answer.
    #[serde(default)]
    #[schema(value_type = Vec<NotForText>, max_items = 50)]
    not_for: Vec<String>,
}

/// A name without parameters, which the documentation needs.
type DraftItem = Editable<DraftRule>;

/// Read-only fields of a rule in the list.
impl Shown for DraftRule {
    const READ_ONLY: &'static [&'static str] =
        &["createdAt", "createdBy", "hitCount", "suppressedCount"];
}

/// Result of testing draft rules against past messages.
#[derive(Serialize, ToSchema)]
#[schema(as = Backtest)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BacktestView {
    /// Number of messages examined.
    scanned: usize,
    /// True when all messages since `from` were examined, false when a limit of count or time was
    /// reached.
    complete: bool,
    /// Beginning of the examined period.
    from: Timestamp,
    /// Mode that was tested.
    mode: QaMode,
    /// Number of messages that the draft rules answer.
    answered: usize,
    /// Number of messages that a rule answered at the time.
    was_answered: usize,
    /// Number of messages that are answered differently.
    changed: usize,
    /// The newest of the differences.
    changes: Vec<ChangeView>,
}

/// Message that the draft answers differently.
#[derive(Serialize, ToSchema)]
#[schema(as = BacktestChange)]
struct ChangeView {
    /// The message.
    message: MessageView,
    /// Reply that the draft would have given.
    draft: ReplyView,
    /// Reply that was given at the time.
    was: ReplyView,
}

/// Reply, or the absence of one.
#[derive(Serialize, ToSchema)]
#[schema(as = BacktestReply)]
#[serde(rename_all = "camelCase")]
struct ReplyView {
    /// Source of the reply; `none` for no reply.
    source: SourceView,
    /// ID of the rule that answers; null when none does.
    rule_id: Option<RuleId>,
}

pub(crate) async fn backtest(
    State(services): State<Services>,
    access: HistoryAccess,
    OptionalBody(body): OptionalBody<BacktestBody>,
) -> Result<Json<BacktestView>, HttpError> {
    let result = services.assistant.backtest(&access, body.into()).await?;
    Ok(Json(BacktestView::new(result, &services.links)))
}

impl From<BacktestBody> for BacktestRequest {
    fn from(body: BacktestBody) -> Self {
        let drafts = |rules: Vec<DraftItem>| rules.into_iter().map(BacktestDraft::from).collect();
        let BacktestBody { rules, mode, keyword_match, strictness, days } = body;
        Self { rules: rules.map(drafts), mode, keyword_match, strictness, days }
    }
}

impl From<DraftItem> for BacktestDraft {
    fn from(Editable(draft): DraftItem) -> Self {
        let DraftRule { id, keywords, question, answer, not_for } = draft;
        Self { id, texts: RuleDraft { keywords, question, answer, not_for } }
    }
}

impl BacktestView {
    fn new(result: BacktestResult, links: &Links) -> Self {
        let change = |change| ChangeView::new(change, links);
        Self {
            scanned: result.scanned,
            complete: result.complete,
            from: result.from,
            mode: result.mode,
            answered: result.answered,
            was_answered: result.was_answered,
            changed: result.changed,
            changes: result.changes.into_iter().map(change).collect(),
        }
    }
}

impl ChangeView {
    fn new(change: BacktestChange, links: &Links) -> Self {
        let BacktestChange { message, draft, was } = change;
        Self { message: MessageView::new(message, links), draft: draft.into(), was: was.into() }
    }
}

impl From<GivenReply> for ReplyView {
    fn from(reply: GivenReply) -> Self {
        Self { source: reply.source.into(), rule_id: reply.rule }
    }
}
