//! The stored history as a test of the rules: `GET …/assistant/unanswered` and
//! `POST …/assistant/backtest` (contract section 6).
//!
//! Both read what people said and rate it anew. So a rule that was added, and a message that was
//! taken back, count at once; and a channel that is not kept has no history to look at.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{QaMode, Rule, limits};
use chatkeep_core::id::{ChannelId, MessageId, RuleId};
use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::plan::Plan;
use chatkeep_core::store::{MessageFilter, ReplyRecord, ReplyStatus, StoredMessage};
use chatkeep_core::time::Timestamp;
use chatkeep_index::answer::similar::{self, group, looks_like_question};
use chatkeep_workers::assistant::{Answer, Compiled, Considered, Decision};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::trial::SourceView;
use crate::api::Api;
use crate::api::auth::{Admin, ChannelAccess, ReadMessages};
use crate::api::error::ApiError;
use crate::api::extract::{Body, Limit, Query};
use crate::api::input::{Keyword, keywords, text, whole};
use crate::view::MessageView;

/// Whoever may change the rules may see what people asked, with a key that may read messages.
type History = ChannelAccess<Admin, ReadMessages>;

/// Messages that are looked at, at most; the newest.
const MESSAGES: usize = 2_000;
/// Messages read from the store at once.
const PAGE: u32 = 500;
/// Days that are looked at when the caller does not say.
const DAYS: u32 = 30;
/// Days that are looked at, at most.
const MAX_DAYS: u32 = 365;
/// Characters of a draft's id, at most.
const MAX_ID: usize = 100;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// Different answers that are listed, at most.
const CHANGES: usize = 100;
/// Messages named as examples of a question, at most.
const EXAMPLES: usize = 5;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct UnansweredQuery {
    /// How far to look back.
    #[serde(default)]
    #[param(inline)]
    days: Days,
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
}

/// Days to look back.
struct Days(u32);

impl Default for Days {
    fn default() -> Self {
        Self(DAYS)
    }
}

impl<'de> Deserialize<'de> for Days {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("days must be a whole number"))
    }
}

impl PartialSchema for Days {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX_DAYS))
            .default(Some(DAYS.into()))
            .into()
    }
}

impl ToSchema for Days {}

/// Questions that no rule answers, the most frequent first.
#[derive(Serialize, ToSchema)]
#[schema(as = Unanswered)]
pub(in crate::api) struct UnansweredView {
    questions: Vec<QuestionView>,
    /// Messages that were looked at.
    scanned: usize,
    /// The oldest time that was looked at.
    from: Timestamp,
}

/// Messages that ask about the same.
#[derive(Serialize, ToSchema)]
#[schema(as = UnansweredQuestion)]
#[serde(rename_all = "camelCase")]
struct QuestionView {
    /// One of them, word for word.
    text: String,
    count: usize,
    last_asked_at: Timestamp,
    /// The newest of them.
    message_ids: Vec<MessageId>,
    /// The rule that came nearest.
    nearest_rule_id: Option<RuleId>,
}

/// What to try on the history: other rules, another mode, or both.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct BacktestBody {
    /// Instead of the channel's rules.
    #[schema(max_items = 10000)]
    rules: Option<Vec<DraftRule>>,
    /// Instead of the channel's mode.
    mode: Option<QaMode>,
    /// How far to look back; 30 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 365)]
    days: Option<u32>,
}

/// A rule that may become one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DraftRule {
    /// To find it again in the answer; `draft_1`, `draft_2`, … when absent.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100, pattern = r"[^\s\u0000\u0085]")]
    id: Option<String>,
    #[schema(value_type = Vec<Keyword>, min_items = 1, max_items = 50)]
    keywords: Vec<String>,
    #[serde(default)]
    #[schema(max_length = 500)]
    question: String,
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    answer: String,
}

/// What a draft would have answered.
#[derive(Serialize, ToSchema)]
#[schema(as = Backtest)]
#[serde(rename_all = "camelCase")]
pub(in crate::api) struct BacktestView {
    /// Messages that were looked at.
    scanned: usize,
    /// The oldest time that was looked at.
    from: Timestamp,
    mode: QaMode,
    /// How many of them the draft answers by a rule.
    answered: usize,
    /// How many of them were answered by a rule.
    was_answered: usize,
    /// How many of them are answered differently.
    changed: usize,
    /// The newest of those.
    changes: Vec<ChangeView>,
}

/// A message that the draft answers differently.
#[derive(Serialize, ToSchema)]
#[schema(as = BacktestChange)]
struct ChangeView {
    message: MessageView,
    draft: ReplyView,
    was: ReplyView,
}

/// An answer, given or not.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = BacktestReply)]
#[serde(rename_all = "camelCase")]
struct ReplyView {
    source: SourceView,
    rule_id: Option<RuleId>,
}

pub(in crate::api) async fn unanswered(
    State(api): State<Api>,
    access: History,
    Query(query): Query<UnansweredQuery>,
) -> Result<Json<UnansweredView>, ApiError> {
    let from = since(&api, &access, query.days.0)?;
    let said = said(&api, &access.channel, from).await?;
    let compiled = api.assistant(&access.channel).await?;
    let limit = query.limit.0 as usize;
    let scanned = said.len();
    let questions = api.thinking(move || questions(&compiled, &said, limit)).await?;
    Ok(Json(UnansweredView { questions, scanned, from }))
}

pub(in crate::api) async fn backtest(
    State(api): State<Api>,
    access: History,
    Body(body): Body<BacktestBody>,
) -> Result<Json<BacktestView>, ApiError> {
    let from = since(&api, &access, body.days.unwrap_or(DAYS))?;
    let mut source = api.assistants.source(&access.channel).await?;
    if body.mode == Some(QaMode::Semantic) && source.plan != Some(Plan::Pro) {
        return Err(ApiError::SEMANTIC_NEEDS_PRO);
    }
    source.config.enabled = true;
    source.config.qa.enabled = true;
    source.config.qa.mode = body.mode.unwrap_or(source.config.qa.mode);
    if let Some(rules) = body.rules {
        source.rules = drafts(rules, api.clock.now(), access.user())?;
    }
    let before = api.assistant(&access.channel).await?;
    let compiled = api.assistants.compile_source(source, Some(before)).await?;
    let said = said(&api, &access.channel, from).await?;
    let ids: Vec<_> = said.iter().map(|(message, _)| &message.id).collect();
    let replies = api.store.replies_to(&access.channel, &ids).await?;
    let view = api.thinking(move || compared(&compiled, said, &replies, from)).await?;
    Ok(Json(view))
}

/// From when on the caller may and wants to look.
fn since(api: &Api, access: &History, days: u32) -> Result<Timestamp, ApiError> {
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(ApiError::invalid("days", format!("days is from 1 to {MAX_DAYS}")));
    }
    let from = Timestamp::from_millis(api.clock.now().millis() - i64::from(days) * DAY);
    Ok(access.not_before().map_or(from, |earliest| earliest.max(from)))
}

/// What people wrote since then, the newest first.
async fn said(
    api: &Api,
    channel: &ChannelId,
    from: Timestamp,
) -> Result<Vec<(StoredMessage, String)>, ApiError> {
    let mut filter = MessageFilter {
        from: Some(from),
        kind: Some(MessageType::Text),
        limit: PAGE,
        ..MessageFilter::default()
    };
    let mut said = Vec::new();
    while said.len() < MESSAGES {
        let page = api.store.messages(channel, &filter).await?;
        said.extend(page.messages.into_iter().filter_map(text_of));
        if page.next.is_none() {
            break;
        }
        filter.after = page.next;
    }
    said.truncate(MESSAGES);
    Ok(said)
}

fn text_of(message: StoredMessage) -> Option<(StoredMessage, String)> {
    let text = match &message.content {
        Some(Content::Text { text, .. }) if !message.is_bot => text.clone(),
        _ => return None,
    };
    Some((message, text))
}

/// Questions that no rule answers, in groups of about the same, the largest first.
fn questions(
    compiled: &Compiled,
    said: &[(StoredMessage, String)],
    limit: usize,
) -> Vec<QuestionView> {
    let mut open = Vec::new();
    for (message, text) in said.iter().filter(|(_, text)| looks_like_question(text)) {
        let considered = compiled.consider(text);
        if !matches!(considered.decision, Decision::Answer(_)) {
            open.push((message, text.as_str(), considered.rating.candidates.first().copied()));
        }
    }
    let texts: Vec<_> = open.iter().map(|(_, text, _)| *text).collect();
    let view = |group: similar::Group| {
        let newest = group.members.iter().take(EXAMPLES).map(|&at| open[at].0.id.clone());
        let asked = group.members.iter().map(|&at| open[at].0.sent_at);
        let nearest = open[group.representative].2;
        QuestionView {
            text: texts[group.representative].to_owned(),
            count: group.members.len(),
            last_asked_at: asked.max().unwrap_or_default(),
            message_ids: newest.collect(),
            nearest_rule_id: nearest.and_then(|best| Some(compiled.rule(best.rule)?.id.clone())),
        }
    };
    group(&texts).into_iter().take(limit).map(view).collect()
}

fn compared(
    compiled: &Arc<Compiled>,
    said: Vec<(StoredMessage, String)>,
    replies: &[ReplyRecord],
    from: Timestamp,
) -> BacktestView {
    let given: HashMap<_, _> = replies
        .iter()
        .filter(|reply| reply.status != ReplyStatus::Failed)
        .filter_map(|reply| Some((reply.message.as_ref()?, reply)))
        .collect();
    let mut view = BacktestView {
        scanned: said.len(),
        from,
        mode: compiled.mode(),
        answered: 0,
        was_answered: 0,
        changed: 0,
        changes: Vec::new(),
    };
    for (message, text) in said {
        let draft = ReplyView::of(compiled.consider(&text));
        let was = given.get(&message.id).map_or(ReplyView::NOTHING, |reply| ReplyView {
            source: SourceView::of(reply.source),
            rule_id: reply.rule.clone(),
        });
        view.answered += usize::from(draft.source == SourceView::Qa);
        view.was_answered += usize::from(was.source == SourceView::Qa);
        if draft == was.without_no_match() {
            continue;
        }
        view.changed += 1;
        if view.changes.len() < CHANGES {
            view.changes.push(ChangeView { message: message.into(), draft, was });
        }
    }
    view
}

impl ReplyView {
    const NOTHING: Self = Self { source: SourceView::None, rule_id: None };

    fn of(considered: Considered) -> Self {
        match considered.decision {
            Decision::Answer(Answer { source, rule, .. }) => {
                Self { source: SourceView::of(source), rule_id: rule }
            }
            Decision::NoMatch | Decision::Silent => Self::NOTHING,
        }
    }

    /// The reply to what no rule matched is not what a draft changes.
    fn without_no_match(&self) -> Self {
        match self.source {
            SourceView::NoMatch => Self::NOTHING,
            _ => self.clone(),
        }
    }
}

fn drafts(
    rules: Vec<DraftRule>,
    now: Timestamp,
    by: &chatkeep_core::id::UserId,
) -> Result<Vec<Rule>, ApiError> {
    if rules.len() > limits::RULES {
        let why = format!("rules holds at most {} rules", limits::RULES);
        return Err(ApiError::invalid("rules", why));
    }
    let rule = |(draft, number): (DraftRule, usize)| {
        let id = draft.id.map(|id| text("rules.id", id, 1, MAX_ID)).transpose()?;
        Ok(Rule {
            id: RuleId::new(id.unwrap_or_else(|| format!("draft_{number}"))),
            keywords: keywords("rules.keywords", draft.keywords, 1, limits::KEYWORDS)?,
            question: text("rules.question", draft.question, 0, limits::QUESTION)?,
            answer: text("rules.answer", draft.answer, 1, limits::ANSWER)?,
            created_at: now,
            created_by: by.clone(),
            hit_count: 0,
            suppressed_count: 0,
        })
    };
    rules.into_iter().zip(1..).map(rule).collect()
}
