//! The way in which arguments were read: what a name, a link or a time without a zone became.

use chatkeep_services::gaps::TimeSpan;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::shown_id::shown_id;
use super::time::AnswerZone;

/// Arguments as they were read; of those alone that could have been read otherwise.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interpreted {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) channel_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sender_id: Option<String>,
    /// Of one tool alone, which adds it to its schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(super) around: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    /// Zone in which times without an offset were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time_zone: Option<String>,
}

impl Interpreted {
    /// Adds the time that was asked for, read in that zone.
    pub(super) fn with_times(self, span: TimeSpan, zone: AnswerZone) -> Self {
        let (from, to) = zone.show_span(span);
        let is_read = from.is_some() || to.is_some() || self.around.is_some();
        let time_zone = is_read.then(|| zone.name().to_owned());
        Self { from, to, time_zone, ..self }
    }

    /// Returns it unless it is empty.
    pub(super) fn filled(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    /// Formats it as a line of a text; nothing without one.
    pub(super) fn line(interpreted: Option<&Self>) -> String {
        let Some(interpreted) = interpreted else { return String::new() };
        let Self { channel_id, sender_id, around, from, to, time_zone } = interpreted;
        let shown = |id: &Option<String>| id.as_deref().map(shown_id);
        let (channel_id, sender_id) = (shown(channel_id), shown(sender_id));
        let parts = [
            ("channelId", &channel_id),
            ("senderId", &sender_id),
            ("around", around),
            ("from", from),
            ("to", to),
            ("timeZone", time_zone),
        ];
        let parts =
            parts.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_deref()?)));
        format!("\nRead as: {}.", parts.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;

    use super::*;

    #[test]
    fn only_what_was_read_is_told() {
        let zone = AnswerZone("Asia/Taipei".parse().unwrap());
        let nothing = Interpreted::default().with_times(TimeSpan::default(), zone);
        assert_eq!(nothing.filled(), None);
        let from = Timestamp::parse("2026-04-30T16:00:00Z");
        let read = Interpreted::default().with_times(TimeSpan { from, to: None }, zone).filled();
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            serde_json::json!({"from": "2026-05-01T00:00:00+08:00", "timeZone": "Asia/Taipei"})
        );
        let line = Interpreted::line(read.as_ref());
        assert_eq!(line, "\nRead as: from 2026-05-01T00:00:00+08:00, timeZone Asia/Taipei.");
        assert_eq!(Interpreted::line(None), "");
    }
}
