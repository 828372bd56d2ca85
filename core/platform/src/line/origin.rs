//! Origin of a LINE event, read with minimal decoding: also of an event that cannot be decoded, and
//! whose content has to be deleted when its message is unsent.

use chatkeep_core::event::{Envelope, EventOrigin};

use super::lenient::{Fields, time_of};
use super::source::Source;
use super::storable::storable;

/// Event types without user content.
const WITHOUT_CONTENT: [&str; 7] =
    ["unsend", "follow", "unfollow", "join", "leave", "memberJoined", "memberLeft"];

/// Returns the origin of the event; `None` if it holds no user content, or belongs to no chat.
pub(crate) fn origin(envelope: &Envelope) -> Option<EventOrigin> {
    // Mended as in decoding, which finds the fields of a mended event alone.
    let json = storable(envelope.raw.get());
    let fields = Fields::of(&json);
    let fields = fields.as_ref();
    let kind = fields.and_then(|fields| fields.get::<String>("type"));
    if kind.is_some_and(|kind| WITHOUT_CONTENT.contains(&&*kind)) {
        return None;
    }
    let source = fields.and_then(Source::of).unwrap_or_default();
    // The ingress of an earlier version read it more strictly.
    let channel = envelope.channel.clone().or_else(|| source.chat_id())?;
    let timestamp = fields.and_then(|fields| fields.get("timestamp"));
    Some(EventOrigin {
        chat: channel.chat_with(&envelope.bot),
        channel,
        message: fields.and_then(Fields::message),
        author: source.user.and_then(|user| user.checked().ok()),
        at: time_of(timestamp, envelope.received_at),
    })
}

#[cfg(test)]
mod tests {
    use chatkeep_core::event::PlatformKind;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn fields_of_odd_types_cost_no_other() {
        let of = |json: &str| {
            origin(&Envelope {
                v: 1,
                id: "E1".into(),
                platform: PlatformKind::Line,
                bot: "main".into(),
                channel: None,
                received_at: 99,
                raw: RawValue::from_string(json.to_owned()).unwrap(),
            })
        };
        let odd = of(r#"{"type":["message"],"timestamp":"soon","mode":{},"webhookEventId":7,
                         "source":{"type":3,"groupId":"C1","roomId":[],"userId":"U1"},
                         "message":{"id":12345,"text":{"rich":"words"}}}"#)
        .unwrap();
        assert_eq!((odd.channel.as_str(), odd.at.millis()), ("C1", 99));
        assert_eq!((odd.message, odd.author), (Some("12345".into()), Some("U1".into())));
        let reaction = r#"{"type":"reaction","timestamp":5,"source":{"userId":"U1"},
                           "reaction":{"messageId":"7","emoji":"x"}}"#;
        let reaction = of(reaction).unwrap();
        assert_eq!((reaction.channel.as_str(), reaction.at.millis()), ("U1", 5));
        assert_eq!(reaction.message, Some("7".into()));
        let late = r#"{"type":"message","timestamp":9223372036854775807,"source":{"groupId":"C1"},
                       "message":{"\ud83d":1,"id":"7"}}"#;
        let late = of(late).unwrap();
        assert_eq!((late.message, late.at.millis()), (Some("7".into()), 99));
        assert_eq!(of(r#"{"type":"unsend","source":{"groupId":"C1"}}"#), None);
        assert_eq!(of(r#"{"type":"message","message":{"id":"1"}}"#), None);
        assert_eq!(of("7"), None);
    }
}
