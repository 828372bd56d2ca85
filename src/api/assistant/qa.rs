//! `…/assistant/qa`: the question-and-answer rules.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{Revision, Rule, RuleDraft, limits};
use chatkeep_core::id::{ChannelId, RuleId};
use chatkeep_core::store::{RuleChange, RuleChanged};
use serde::{Deserialize, Serialize};

use super::{Settings, keywords, text};
use crate::api::error::ApiError;
use crate::api::extract::{Body, Path};
use crate::api::subscriptions::Success;
use crate::api::{Api, random};

/// The rule list (interface specification, "Question-and-answer rule list").
#[derive(Serialize)]
pub(in crate::api) struct RuleListView {
    #[serde(flatten)]
    revision: Revision,
    items: Vec<Rule>,
}

/// What an editor writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RuleBody {
    keywords: Vec<String>,
    #[serde(default)]
    question: String,
    answer: String,
}

#[derive(Deserialize)]
pub(in crate::api) struct RulePath {
    #[serde(rename = "qaId")]
    rule: RuleId,
}

pub(in crate::api) async fn list(
    State(api): State<Api>,
    access: Settings,
) -> Result<Json<RuleListView>, ApiError> {
    full_list(&api, &access.channel).await
}

pub(in crate::api) async fn add(
    State(api): State<Api>,
    access: Settings,
    Body(body): Body<RuleBody>,
) -> Result<Json<RuleListView>, ApiError> {
    let draft = body.checked()?;
    let id = RuleId::new(format!("qa_{}_{}", api.clock.now().millis(), random::text(6)));
    change(&api, &access, RuleChange::Add(&id, &draft)).await?;
    full_list(&api, &access.channel).await
}

pub(in crate::api) async fn replace(
    State(api): State<Api>,
    access: Settings,
    Path(path): Path<RulePath>,
    Body(body): Body<RuleBody>,
) -> Result<Json<RuleListView>, ApiError> {
    let draft = body.checked()?;
    change(&api, &access, RuleChange::Replace(&path.rule, &draft)).await?;
    full_list(&api, &access.channel).await
}

pub(in crate::api) async fn remove(
    State(api): State<Api>,
    access: Settings,
    Path(path): Path<RulePath>,
) -> Result<Json<Success>, ApiError> {
    change(&api, &access, RuleChange::Remove(&path.rule)).await?;
    Ok(Success::answer())
}

async fn change(api: &Api, access: &Settings, change: RuleChange<'_>) -> Result<(), ApiError> {
    let now = api.clock.now();
    match api.store.change_rule(&access.channel, change, &access.user, now).await? {
        RuleChanged::Done => Ok(()),
        RuleChanged::NoRule => Err(ApiError::NotFound),
        RuleChanged::TooMany => Err(ApiError::Conflict("The channel has as many rules as it may")),
    }
}

async fn full_list(api: &Api, channel: &ChannelId) -> Result<Json<RuleListView>, ApiError> {
    let list = api.store.rules(channel).await?;
    Ok(Json(RuleListView { revision: list.revision, items: list.items }))
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
