//! Actions of a person on the page, in LINE and as a group's owner.

use axum::http::StatusCode;
use chatkeep_core::assistant::QaMode;
use chatkeep_core::plan::Plan;
use chatkeep_emulator::{
    ActError, Delivered, Delivery, Location, MentionTarget, Post, Sticker, Text,
};
use chatkeep_http::{ErrorCode, HttpError};
use chatkeep_services::ServiceError;
use chatkeep_services::access::{Admin, WriteAssistant};
use chatkeep_services::assistant::{AssistantChange, QaChange};
use serde::{Deserialize, Serialize};

use super::people::{People, PeopleError};
use super::sample::Sample;

/// Package and number of the sticker.
const STICKER: (&str, &str) = ("446", "1988");

/// An action of the page in a group.
#[derive(Deserialize)]
pub(super) struct GroupAct {
    /// The group; the first one when absent.
    group: Option<String>,
    #[serde(flatten)]
    act: Act,
}

/// An action.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Act {
    /// Sends a text, which may reply to a message. `@` and a name is a mention.
    Say { user_id: String, text: String, quoted: Option<String> },
    /// Sends a photo.
    Image { user_id: String },
    /// Sends a sticker.
    Sticker { user_id: String, word: String },
    /// Sends a location.
    Place { user_id: String },
    /// Edits a text.
    Edit { message_id: String, text: String },
    /// Unsends a message.
    Unsend { message_id: String },
    /// Joins: the person with that ID, or the next one.
    Join { user_id: Option<String> },
    /// Leaves, or is removed.
    Leave { user_id: String },
    /// Sends the last webhook again, as LINE does when it received no response.
    Redeliver,
    /// Puts the owner on another plan.
    Plan { plan: Plan },
    /// Sets how the bot answers.
    Mode { mode: QaMode },
}

/// Result of an action, which the page puts into words.
#[derive(Serialize)]
pub(super) struct Outcome {
    /// Key of the page's text about the action.
    done: &'static str,
    /// HTTP status of the webhook's response; null when it was not answered or none was sent.
    status: Option<u16>,
    /// True when a webhook was sent.
    sent: bool,
}

/// Reason for refusing an action.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// There is no such group.
    #[error("no such group")]
    NoGroup,
    /// The action is not possible in this group now.
    #[error(transparent)]
    Impossible(#[from] PeopleError),
    /// The settings do not allow it.
    #[error(transparent)]
    Refused(#[from] ServiceError),
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
        let (status, code) = match failure {
            Failure::NoGroup => return Self::NotFound,
            Failure::Refused(error) => return error.into(),
            Failure::Impossible(_) => (StatusCode::CONFLICT, ErrorCode::Conflict),
            Failure::Broken(_) => (StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Internal),
        };
        Self::Explained { status, code, error: failure.to_string() }
    }
}

impl GroupAct {
    /// Performs the action and returns its result.
    ///
    /// # Errors
    /// Returns an error when it is not possible, or the demo itself fails.
    pub(super) async fn perform(self, sample: &Sample) -> Result<Outcome, Failure> {
        let people = sample.group(self.group.as_deref()).ok_or(Failure::NoGroup)?;
        let (line, group) = (sample.line(), people.group().as_str());
        let (done, sent) = match self.act {
            Act::Say { user_id, text, quoted } => {
                let text = Text { quoted, ..mentioning(people, text, &line.bot().display_name) };
                ("sent", line.post_message(group, &user_id, Post::Text(text)).await?)
            }
            Act::Image { user_id } => {
                let photo = Post::Image(sample.next_photo().await?);
                ("photo-sent", line.post_message(group, &user_id, photo).await?)
            }
            Act::Sticker { user_id, word } => {
                ("sticker-sent", line.post_message(group, &user_id, sticker(word)).await?)
            }
            Act::Place { user_id } => {
                ("place-sent", line.post_message(group, &user_id, place()).await?)
            }
            Act::Edit { message_id, text } => ("edited", line.edit(&message_id, text).await?),
            Act::Unsend { message_id } => ("unsent", line.unsend(&message_id).await?),
            Act::Join { user_id } => ("joined", people.join(user_id.as_deref()).await?),
            Act::Leave { user_id } => ("left", people.leave(&user_id).await?),
            Act::Redeliver => return Ok(redeliver(sample).await),
            Act::Plan { plan } => {
                sample.set_plan(people, plan).await?;
                return Ok(Outcome { done: "plan-set", status: None, sent: false });
            }
            Act::Mode { mode } => return set_mode(sample, people, mode).await,
        };
        Ok(Outcome::of(done, &sent))
    }
}

impl Outcome {
    fn of(done: &'static str, sent: &Delivered) -> Self {
        let delivery = sent.delivery.as_ref();
        let status = delivery.and_then(|delivery| delivery.status);
        Self { done, status, sent: delivery.is_some() }
    }

    /// Returns the result of sending a webhook again; without any that could be, `None`.
    fn of_redelivery(again: Option<&Delivery>) -> Self {
        let done = if again.is_some() { "redelivered" } else { "nothing-sent" };
        Self { done, status: again.and_then(|delivery| delivery.status), sent: again.is_some() }
    }
}

async fn set_mode(sample: &Sample, people: &People, mode: QaMode) -> Result<Outcome, Failure> {
    let access = sample.access::<Admin, WriteAssistant>(people).await?;
    let qa = QaChange { mode: Some(mode), ..QaChange::default() };
    let change = AssistantChange { qa: Some(qa), ..AssistantChange::default() };
    sample.services().assistant.change_settings(&access, change, None).await?;
    Ok(Outcome { done: "mode-set", status: None, sent: false })
}

async fn redeliver(sample: &Sample) -> Outcome {
    let last = sample.line().deliveries().last().map(|attempt| attempt.webhook);
    let again = match last {
        Some(number) => sample.line().redeliver(number).await,
        None => None,
    };
    Outcome::of_redelivery(again.as_ref())
}

/// Returns a text with the mentions of members and of the bot in it.
fn mentioning(people: &People, text: String, bot: &str) -> Text {
    let mut found: Vec<(usize, String, MentionTarget)> = Vec::new();
    let members = people.members().into_iter();
    let members = members.map(|user| (user.display_name, MentionTarget::User(user.user_id)));
    for (name, target) in members.chain([(bot.to_owned(), MentionTarget::Bot)]) {
        let literal = format!("@{name}");
        if let Some(at) = text.find(&literal) {
            found.push((at, literal, target));
        }
    }
    // The longest name at a place is meant.
    found.sort_by_key(|(at, literal, _)| (*at, std::cmp::Reverse(literal.len())));
    found.dedup_by_key(|(at, ..)| *at);
    found
        .into_iter()
        .fold(Text::from(text), |text, (_, literal, target)| text.mentioning(literal, target))
}

fn sticker(word: String) -> Post {
    Post::Sticker(Sticker {
        package_id: STICKER.0.to_owned(),
        sticker_id: STICKER.1.to_owned(),
        resource_type: "STATIC".to_owned(),
        keywords: vec![word],
        quoted: None,
    })
}

fn place() -> Post {
    Post::Location(Location {
        title: Some("大安森林公園 Daan Park".to_owned()),
        address: Some("106 台北市大安區新生南路二段 1 號".to_owned()),
        latitude: 25.0297,
        longitude: 121.5353,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_that_nobody_answered_was_sent() {
        let outcome = |status| {
            let again = Delivery { webhook: 1, attempts: 1, status, accepted: status.is_some() };
            let Outcome { done, status, sent } = Outcome::of_redelivery(Some(&again));
            (done, status, sent)
        };
        assert_eq!(outcome(Some(200)), ("redelivered", Some(200), true));
        assert_eq!(outcome(None), ("redelivered", None, true));
        let Outcome { done, sent, .. } = Outcome::of_redelivery(None);
        assert_eq!((done, sent), ("nothing-sent", false));
    }
}
