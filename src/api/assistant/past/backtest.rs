//! `POST …/assistant/backtest`: tests draft rules or another mode against past messages.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{QaMode, Rule, limits};
use chatkeep_core::id::{RuleId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ReplyRecord, ReplyStatus};
use chatkeep_workers::assistant::{Compiled, Decision, DecisionTrace, Reply};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DAYS, History, Look, Said, since};
use crate::api::Api;
use crate::api::assistant::trial::SourceView;
use crate::api::editable::{Editable, Shown};
use crate::api::error::ApiError;
use crate::api::extract::Body;
use crate::api::input::{Keyword, keywords, text};
use crate::decode::whole;
use crate::heavy::CALLERS;
use crate::services::FieldPath;
use crate::view::{Links, MessageView};

/// Maximum length of a draft's ID in characters.
const MAX_ID: usize = 100;
/// Location of the drafts in the body.
const RULES: FieldPath = FieldPath::body("/rules");
/// Maximum number of changes listed.
const CHANGES: usize = 100;

/// Draft to test against past messages: other rules, another mode, or both.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct BacktestBody {
    /// Rules to test; the channel's rules when absent.
    #[schema(max_items = 10000, nullable = false)]
    rules: Option<Vec<DraftItem>>,
    /// Mode to test; the channel's mode when absent.
    #[schema(nullable = false)]
    mode: Option<QaMode>,
    /// Number of days of history to examine; 30 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 365, nullable = false)]
    days: Option<u32>,
}

/// Draft of a rule.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
    /// Description for administrators; the tolerant modes also match against it.
    #[serde(default)]
    #[schema(max_length = 500)]
    question: String,
    /// The reply.
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    answer: String,
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
pub(in crate::api) struct BacktestView {
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
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = BacktestReply)]
#[serde(rename_all = "camelCase")]
struct ReplyView {
    /// Source of the reply; `none` for no reply.
    source: SourceView,
    /// ID of the rule that answers; null when none does.
    rule_id: Option<RuleId>,
}

pub(in crate::api) async fn backtest(
    State(api): State<Api>,
    access: History,
    Body(body): Body<BacktestBody>,
) -> Result<Json<BacktestView>, ApiError> {
    let from = since(&api, &access, (FieldPath::body("/days"), body.days.unwrap_or(DAYS)))?;
    let mut source = api.assistants.source(&access.channel).await?;
    let other = body.mode.filter(|mode| *mode != source.config.qa.mode);
    if other.is_some_and(|mode| mode.under(source.plan) != mode) {
        return Err(ApiError::SEMANTIC_NEEDS_PRO);
    }
    source.config.enabled = true;
    source.config.qa.enabled = true;
    source.config.qa.mode = body.mode.unwrap_or(source.config.qa.mode);
    if let Some(rules) = body.rules {
        let (now, user) = (api.clock.now(), access.user().clone());
        source.rules = CALLERS.run(move || drafts(rules, now, &user)).await?;
    }
    let before = api.assistant(&access.channel).await?;
    let compiled = api.assistants.compile_source(source, Some(before)).await?;
    let mut view = BacktestView::new(from, compiled.mode());
    let mut look = Look::back(&api, &access.channel, from);
    while let Some(said) = look.next().await? {
        let ids: Vec<_> = said.iter().map(|(message, _)| &message.id).collect();
        let replies = api.store.replies_to(&access.channel, &ids).await?;
        let (compiled, links) = (Arc::clone(&compiled), api.services.links.clone());
        view = api
            .thinking(move || {
                view.compare(&compiled, said, &replies, &links);
                view
            })
            .await?;
    }
    (view.scanned, view.complete) = (look.scanned, look.complete);
    Ok(Json(view))
}

impl BacktestView {
    fn new(from: Timestamp, mode: QaMode) -> Self {
        Self {
            scanned: 0,
            complete: false,
            from,
            mode,
            answered: 0,
            was_answered: 0,
            changed: 0,
            changes: Vec::new(),
        }
    }

    /// Adds a page of messages: compares the draft's replies with those given at the time.
    fn compare(
        &mut self,
        compiled: &Compiled,
        said: Vec<Said>,
        replies: &[ReplyRecord],
        links: &Links,
    ) {
        let given: HashMap<_, _> = replies
            .iter()
            .filter(|reply| reply.status != ReplyStatus::Failed)
            .filter_map(|reply| Some((reply.message.as_ref()?, reply)))
            .collect();
        for (message, text) in said {
            let draft = ReplyView::of(compiled.consider(&text));
            let was = given.get(&message.id).map_or(ReplyView::NOTHING, |reply| ReplyView {
                source: SourceView::of(reply.source),
                rule_id: reply.rule.clone(),
            });
            self.answered += usize::from(draft.source == SourceView::Qa);
            self.was_answered += usize::from(was.source == SourceView::Qa);
            if draft == was.without_no_match() {
                continue;
            }
            self.changed += 1;
            if self.changes.len() < CHANGES {
                self.changes.push(ChangeView {
                    message: MessageView::new(message, links),
                    draft,
                    was,
                });
            }
        }
    }
}

impl ReplyView {
    const NOTHING: Self = Self { source: SourceView::None, rule_id: None };

    fn of(considered: DecisionTrace) -> Self {
        match considered.decision {
            Decision::Answer(Reply { source, rule, .. }) => {
                Self { source: SourceView::of(source), rule_id: rule }
            }
            Decision::NoMatch | Decision::Silent => Self::NOTHING,
        }
    }

    /// Returns the draft without the reply to unmatched messages, which a draft does not change.
    fn without_no_match(&self) -> Self {
        match self.source {
            SourceView::NoMatch => Self::NOTHING,
            _ => self.clone(),
        }
    }
}

fn drafts(rules: Vec<DraftItem>, now: Timestamp, by: &UserId) -> Result<Vec<Rule>, ApiError> {
    if rules.len() > limits::RULES {
        let why = format_args!("contains more than {} rules", limits::RULES);
        return Err(ApiError::invalid_value(RULES, why));
    }
    let rule = |(Editable(draft), number): (DraftItem, usize)| {
        let at = |name| RULES.item(number - 1).member(name);
        let id = draft.id.map(|id| text(at("id"), id, 1, MAX_ID)).transpose()?;
        Ok(Rule {
            id: RuleId::new(id.unwrap_or_else(|| format!("draft_{number}"))),
            keywords: keywords(at("keywords"), draft.keywords, 1, limits::KEYWORDS)?,
            question: text(at("question"), draft.question, 0, limits::QUESTION)?,
            answer: text(at("answer"), draft.answer, 1, limits::ANSWER)?,
            created_at: now,
            created_by: by.clone(),
            hit_count: 0,
            suppressed_count: 0,
        })
    };
    rules.into_iter().zip(1..).map(rule).collect()
}
