//! Texts that a message had before it was edited, as rows of an answer.

use chatkeep_core::message::{Content, EarlierText};
use chatkeep_view::sanitize;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::time::AnswerZone;

/// Maximum length of an earlier text in characters.
const EARLIER: usize = 400;

// Without a description: models read it before they begin.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct EarlierTextRow {
    time: String,
    text: String,
    // A text that is cut ends with a mark in both forms.
    #[serde(skip)]
    cut: usize,
}

impl EarlierTextRow {
    pub(super) fn new(text: &EarlierText, zone: AnswerZone) -> Self {
        let words = text.parsed().as_ref().and_then(Content::legible).unwrap_or_default();
        let (words, cut) = sanitize::cut(&words, EARLIER);
        Self { time: zone.show(text.at), text: words, cut }
    }

    pub(super) fn line(&self) -> String {
        let Self { time, text, cut } = self;
        let more = if *cut > 0 { format!(" [{cut} characters more]") } else { String::new() };
        format!("\n{time} {}{more}", sanitize::quoted(text))
    }
}
