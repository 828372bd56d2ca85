//! `verify_citation`: whether a message still says what was quoted from it.

use chatkeep_core::role::Scope;
use chatkeep_index::is_longer;
use chatkeep_services::access::ReadMessages;
use chatkeep_services::citations::{CheckedCitation, CitationVerdict};
use chatkeep_services::{Caller, ServiceError, Services};
use chatkeep_store::StoredMessage;
use chatkeep_view::pseudonyms::{Mask, Masked};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::argument::{filled, required};
use crate::channel::OpenChannel;
use crate::error::ToolError;
use crate::message_row::{MessageRow, note};
use crate::reference;
use crate::result_builder::{MessageSource, PeopleTable, ResultBuilder, WHOLE, people_line};
use crate::tool::{ToolAnswer, ToolDefinition};

/// The tool.
pub(crate) enum VerifyCitation {}

/// Arguments of `verify_citation`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CitationArguments {
    /// Link (url) or id of the cited message.
    #[serde(deserialize_with = "required")]
    url: String,
    /// Words quoted from it; … for what is left out. Case, width and spaces do not count.
    #[serde(default, deserialize_with = "filled")]
    #[schemars(length(max = 5000))]
    quoted: Option<String>,
}

/// Result of `verify_citation`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CitationOutput {
    note: &'static str,
    verdict: Verdict,
    /// Meaning of it.
    explanation: &'static str,
    /// Its text was cut: too long.
    truncated: bool,
    /// Time of the last edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_at: Option<String>,
    /// Time at which it was unsent or erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsent_at: Option<String>,
    people: PeopleTable,
    /// The message as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageRow>,
}

/// Verdict on a citation.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Same,
    EditedSince,
    Different,
    Unsent,
    Erased,
    Unreachable,
}

impl ToolDefinition for VerifyCitation {
    const NAME: &'static str = "verify_citation";
    const TITLE: &'static str = "Verify citation";
    const DESCRIPTION: &'static str = "Checks a message that is cited: does it still say the \
        quoted words, was it edited since, unsent, erased, or is it out of reach? Returns it as \
        it is now. Use it before repeating what was read in an earlier conversation.";
    const SCOPE: Option<Scope> = Some(Scope::ReadMessages);
    type Arguments = CitationArguments;
    type Output = CitationOutput;

    async fn call(
        services: &Services,
        caller: Caller,
        asked: CitationArguments,
    ) -> Result<ToolAnswer<CitationOutput>, ToolError> {
        if asked.url.is_empty() {
            return Err(ToolError::invalid("url", "must be the link or id of a message"));
        }
        let quoted = asked.quoted.unwrap_or_default();
        let mask = caller.mask.clone();
        if is_longer(&quoted, WHOLE) {
            let why = format!("must have at most {WHOLE} characters");
            return Err(ToolError::invalid("quoted", why));
        }
        let opened = reference::open::<ReadMessages>(services, caller, "url", &asked.url, None);
        let (channel, message) = match opened.await {
            Err(
                ToolError::NoMessage { .. } | ToolError::Service(ServiceError::PermissionDenied),
            ) => return Ok(unreachable(&mask)),
            opened => opened?,
        };
        let checked = services.messages.check_citation(&channel.access, &message, &quoted).await?;
        Ok(answer(services, &channel, &checked, !quoted.trim().is_empty()))
    }
}

fn unreachable(mask: &Mask) -> ToolAnswer<CitationOutput> {
    let output = CitationOutput::of(CitationVerdict::Unreachable, mask, true);
    let text = output.text();
    ToolAnswer::new(output, text)
}

fn answer(
    services: &Services,
    channel: &OpenChannel<ReadMessages>,
    checked: &CheckedCitation,
    is_quoted: bool,
) -> ToolAnswer<CitationOutput> {
    let mut builder = ResultBuilder::new(&services.links, channel.zone);
    let message = checked.message.as_ref();
    let row = message.and_then(|message| builder.row(MessageSource::new(message).in_full(0)));
    let time = |at: fn(&Masked<StoredMessage>) -> Option<_>| {
        message.and_then(at).map(|at| channel.zone.show(at))
    };
    let output = CitationOutput {
        edited_at: time(|message| message.edited_at.filter(|_| message.unsent_at.is_none())),
        unsent_at: time(|message| message.unsent_at),
        truncated: builder.truncated,
        people: builder.into_people(),
        message: row,
        ..CitationOutput::of(checked.verdict, &channel.access.caller.mask, is_quoted)
    };
    let text = output.text();
    ToolAnswer::new(output, text)
}

impl CitationOutput {
    /// Creates the result of a verdict for a reader who sees people through `mask`.
    fn of(verdict: CitationVerdict, mask: &Mask, is_quoted: bool) -> Self {
        let (verdict, explanation) = match verdict {
            CitationVerdict::Same if !is_quoted => {
                (Verdict::Same, "The message is there. No words were given to compare.")
            }
            CitationVerdict::Same => (Verdict::Same, "The message says it."),
            CitationVerdict::Edited => (
                Verdict::EditedSince,
                "The message was edited and does not say it now. Cite what it says now.",
            ),
            CitationVerdict::Different if mask.is_on() => (
                Verdict::Different,
                "The message, as this key shows it, does not say it, and was never edited. With \
                 stand-ins in place of names and numbers, words with these cannot be compared: \
                 quote others.",
            ),
            CitationVerdict::Different => (
                Verdict::Different,
                "The message does not say it, and was never edited: the quotation is wrong, or of \
                 another message.",
            ),
            CitationVerdict::Unsent => {
                (Verdict::Unsent, "The sender unsent the message. Do not repeat what it said.")
            }
            CitationVerdict::Erased => (
                Verdict::Erased,
                "The message was erased, or its sender asked not to be stored. Do not repeat what \
                 it said.",
            ),
            CitationVerdict::Unreachable => (
                Verdict::Unreachable,
                "There is no such message that this key may read: it was deleted, never stored, or \
                 is beyond what the key may read.",
            ),
        };
        Self {
            note: note(mask),
            verdict,
            explanation,
            edited_at: None,
            unsent_at: None,
            people: PeopleTable::new(),
            message: None,
            truncated: false,
        }
    }

    fn text(&self) -> String {
        let verdict = serde_json::to_value(self.verdict).unwrap_or_default();
        let time = |what: &str, at: &Option<String>| {
            at.as_ref().map_or_else(String::new, |at| format!(" {what} {at}."))
        };
        let row = self.message.as_ref().map(|row| format!("\n{}", row.line()));
        format!(
            "{}: {}{}{}{}{}\n{}",
            verdict.as_str().unwrap_or_default(),
            self.explanation,
            time("Edited at", &self.edited_at),
            time("Gone since", &self.unsent_at),
            people_line(&self.people),
            row.unwrap_or_default(),
            self.note,
        )
    }
}
