//! Actions of a person on the page, in LINE and as the group's owner.

use axum::http::StatusCode;
use chatkeep_core::plan::Plan;
use serde::{Deserialize, Serialize};

use super::people::PeopleError;
use super::sample::Sample;
use crate::http::HttpError;
use chatkeep_emulator::{ActError, Post, Text, Told};

/// An action of the page.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Act {
    /// Sends a text, which may quote a message.
    Say { user_id: String, text: String, quoted: Option<String> },
    /// Sends a photo.
    Image { user_id: String },
    /// Unsends a message.
    Unsend { message_id: String },
    /// A person joins: the one with that ID, or the next one.
    Join { user_id: Option<String> },
    /// A person leaves, or is removed.
    Leave { user_id: String },
    /// Sends the last webhook again, as LINE does when it received no response.
    Redeliver,
    /// Puts the owner on another plan.
    Plan { plan: Plan },
}

/// Result of an action.
#[derive(Serialize)]
pub(super) struct Outcome {
    /// Description for people.
    says: String,
    /// Technical description.
    detail: String,
}

/// Reason for refusing an action.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The action is not possible in this group now.
    #[error(transparent)]
    Impossible(#[from] PeopleError),
    /// The demo itself failed.
    #[error(transparent)]
    Broken(#[from] anyhow::Error),
}

impl From<ActError> for Failure {
    fn from(error: ActError) -> Self {
        Self::Impossible(error.into())
    }
}

impl From<Failure> for HttpError {
    fn from(failure: Failure) -> Self {
        let (status, code) = match &failure {
            Failure::Impossible(_) => (StatusCode::CONFLICT, "conflict"),
            Failure::Broken(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        Self::Explained { status, code, error: failure.to_string() }
    }
}

impl Act {
    /// Performs the action and returns its result.
    ///
    /// # Errors
    /// Returns an error when it is not possible, or the demo itself fails.
    pub(super) async fn perform(self, sample: &Sample) -> Result<Outcome, Failure> {
        let (line, people) = (sample.line(), sample.people());
        let group = people.group().as_str();
        let (says, told) = match self {
            Self::Say { user_id, text, quoted } => {
                let text = Text { quoted, ..Text::from(text) };
                ("Sent", line.post_message(group, &user_id, Post::Text(text)).await?)
            }
            Self::Image { user_id } => {
                let photo = Post::Image(sample.next_photo().await?);
                ("Photo sent", line.post_message(group, &user_id, photo).await?)
            }
            Self::Unsend { message_id } => ("Unsent", line.unsend(&message_id).await?),
            Self::Join { user_id } => ("Joined", people.join(user_id.as_deref()).await?),
            Self::Leave { user_id } => ("Left", people.leave(&user_id).await?),
            Self::Redeliver => return Ok(redeliver(sample).await),
            Self::Plan { plan } => return change_plan(sample, plan).await,
        };
        Ok(Outcome { says: says.to_owned(), detail: answered(&told) })
    }
}

async fn change_plan(sample: &Sample, plan: Plan) -> Result<Outcome, Failure> {
    sample.set_plan(plan).await?;
    let detail = format!("as `chatkeep user set-plan` does: {plan}");
    Ok(Outcome { says: "Plan changed".to_owned(), detail })
}

async fn redeliver(sample: &Sample) -> Outcome {
    let last = sample.line().deliveries().last().map(|attempt| attempt.webhook);
    let again = match last {
        Some(number) => sample.line().redeliver(number).await,
        None => None,
    };
    let (says, detail) = match again.and_then(|delivery| delivery.status) {
        Some(status) => {
            ("Sent once more: nothing may change", format!("webhook answered {status}"))
        }
        None => ("Nothing was sent yet", String::new()),
    };
    Outcome { says: says.to_owned(), detail }
}

fn answered(told: &Told) -> String {
    match told.delivery.as_ref().map(|delivery| delivery.status) {
        Some(Some(status)) => format!("webhook answered {status}"),
        Some(None) => "webhook not answered".to_owned(),
        None => "the bot is not in the group".to_owned(),
    }
}
