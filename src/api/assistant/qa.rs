//! `…/assistant/qa`: the question-and-answer rules.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{Revision, Rule, RuleDraft, limits};
use chatkeep_core::id::{ChannelId, RuleId};
use chatkeep_core::store::{RuleChange, RuleChanged};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Settings;
use crate::api::error::ApiError;
use crate::api::etag::{IfMatch, Versioned};
use crate::api::extract::{Body, Path};
use crate::api::input::{Keyword, keywords, text};
use crate::api::subscriptions::Success;
use crate::api::{Api, random};

/// The rule list (interface specification, "Question-and-answer rule list").
#[derive(Serialize, ToSchema)]
#[schema(as = RuleList)]
pub(in crate::api) struct RuleListView {
    #[serde(flatten)]
    revision: Revision,
    items: Vec<Rule>,
}

/// What an editor writes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RuleBody {
    #[schema(value_type = Vec<Keyword>, min_items = 1, max_items = 50)]
    keywords: Vec<String>,
    /// For administrators.
    #[serde(default)]
    #[schema(max_length = 500)]
    question: String,
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    answer: String,
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
) -> Result<Versioned<RuleListView>, ApiError> {
    full_list(&api, &access.channel).await
}

pub(in crate::api) async fn add(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Body(body): Body<RuleBody>,
) -> Result<Versioned<RuleListView>, ApiError> {
    let draft = body.checked()?;
    let id = RuleId::new(format!("qa_{}_{}", api.clock.now().millis(), random::text(6)));
    change(&api, &access, RuleChange::Add(&id, &draft), if_match).await?;
    full_list(&api, &access.channel).await
}

pub(in crate::api) async fn replace(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Path(path): Path<RulePath>,
    Body(body): Body<RuleBody>,
) -> Result<Versioned<RuleListView>, ApiError> {
    let draft = body.checked()?;
    change(&api, &access, RuleChange::Replace(&path.rule, &draft), if_match).await?;
    full_list(&api, &access.channel).await
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
    match api.store.change_rule(&access.channel, change, if_match, access.user(), now).await? {
        RuleChanged::Done => Ok(()),
        RuleChanged::Stale => Err(ApiError::Stale),
        RuleChanged::NoRule => Err(ApiError::NotFound),
        RuleChanged::TooMany => Err(ApiError::Conflict("The channel has as many rules as it may")),
    }
}

async fn full_list(api: &Api, channel: &ChannelId) -> Result<Versioned<RuleListView>, ApiError> {
    let list = api.store.rules(channel).await?;
    let body = RuleListView { revision: list.value.revision, items: list.value.items };
    Ok(Versioned { version: list.version, body })
}

impl RuleBody {
    fn checked(self) -> Result<RuleDraft, ApiError> {
        Ok(RuleDraft {
            keywords: keywords("keywords", self.keywords, 1, limits::KEYWORDS)?,
            question: text("question", self.question, 0, limits::QUESTION)?,
            answer: text("answer", self.answer, 1, limits::ANSWER)?,
        })
    }
}
