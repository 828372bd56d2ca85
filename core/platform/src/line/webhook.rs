//! Splitting of a webhook body into envelopes, parsing only the fields that routing needs.

use std::collections::HashMap;

use chatkeep_core::event::{Envelope, PlatformKind};
use chatkeep_core::id::{EventId, UntrustedId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::lenient::Fields;
use super::object::{Object, object};
use super::source::Source;
use super::storable::storable;

/// Maximum length of an event's own id, in bytes: it is extended on the bus.
const LONGEST: usize = 128;
/// Number of events that are accepted however small they are.
const FEW_EVENTS: usize = 1_000;
/// Minimum size of each event beyond that number, in bytes: an id and a source alone are longer.
const LEAST_BYTES: usize = 50;

/// A webhook body of LINE. Lenient: accepts events of any type and form.
#[derive(Debug, Deserialize)]
pub struct WebhookBody<'a> {
    #[serde(borrow, default)]
    events: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    destination: Option<&'a RawValue>,
}

/// Error of a body that is no webhook of LINE.
#[derive(Debug, thiserror::Error)]
#[error("the body is not a webhook of LINE")]
pub struct WebhookError(#[from] serde_json::Error);

/// Fields of an event that routing needs.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    webhook_event_id: Option<UntrustedId>,
    #[serde(deserialize_with = "object")]
    source: Option<Source>,
}

impl Head {
    /// Reads the fields of an event, each by itself where they are not all as expected; none of
    /// anything but an object.
    fn of(event: &str) -> Self {
        let event = &*storable(event);
        let each = || {
            let fields = Fields::of(event)?;
            let webhook_event_id = fields.get("webhookEventId");
            Some(Self { webhook_event_id, source: Source::of(&fields) })
        };
        let whole = serde_json::from_str(event).ok().map(|Object(head)| head);
        whole.or_else(each).unwrap_or_default()
    }
}

impl<'a> WebhookBody<'a> {
    /// Parses a body.
    ///
    /// # Errors
    /// Fails when it is not JSON with a list of events, or the list is longer than LINE could send.
    pub fn parse(body: &'a [u8]) -> Result<Self, WebhookError> {
        let Object(webhook): Object<Self> = serde_json::from_slice(body)?;
        if webhook.events.len() > FEW_EVENTS.max(body.len() / LEAST_BYTES) {
            return Err(WebhookError(serde::de::Error::custom("too many events")));
        }
        Ok(webhook)
    }

    /// Returns the user id of the bot that it is for, if it names one.
    pub fn destination(&self) -> Option<UserId> {
        let id: UntrustedId = serde_json::from_str(self.destination?.get()).ok()?;
        id.checked().ok()
    }

    /// Returns the events as envelopes for the bus, each once.
    pub fn envelopes(&self, bot: &str, received_at: Timestamp) -> Vec<Envelope> {
        let seen = HashMap::with_capacity(self.events.len());
        let mut ids = Ids { seen, ..Ids::default() };
        let envelope = |raw: &'a RawValue| {
            // An event whose head cannot be parsed is still stored.
            let head = Head::of(raw.get());
            Some(Envelope {
                v: Envelope::VERSION,
                id: ids.next(head.webhook_event_id, raw)?,
                platform: PlatformKind::Line,
                bot: bot.to_owned(),
                // Invalid ids are left to the workers to refuse.
                channel: head.source.as_ref().and_then(Source::chat_id),
                received_at: received_at.millis(),
                raw: raw.to_owned(),
            })
        };
        self.events.iter().copied().filter_map(envelope).collect()
    }
}

/// Ids of the events of one body.
#[derive(Default)]
struct Ids<'a> {
    /// First event under each id.
    seen: HashMap<EventId, &'a RawValue>,
    /// Number of events without an id of their own that have the same bytes, by their digest.
    copies: HashMap<EventId, usize>,
}

impl<'a> Ids<'a> {
    /// Returns the id of the next event; `None` for one that the body repeats.
    fn next(&mut self, own: Option<UntrustedId>, raw: &'a RawValue) -> Option<EventId> {
        let has_own_id = own.is_some();
        let mut id = event_id(own, raw);
        if !has_own_id {
            // Nothing tells whether they are one: each is an event, in the order of the body.
            let copies = self.copies.entry(id.clone()).or_default();
            *copies += 1;
            if *copies > 1 {
                id = EventId::new(format!("{id}:{copies}"));
            }
        }
        if let Some(other) = self.seen.get(&id) {
            if has_own_id && is_repeated(other, raw) {
                return None;
            }
            // Two events of one body with one id are two events; some senders do that.
            id = EventId::new(format!("{id}:{}", digest(raw)));
        }
        if self.seen.insert(id.clone(), raw).is_some() && has_own_id {
            return None;
        }
        Some(id)
    }
}

/// Returns LINE's own id, or (old senders, and invalid ids) a digest of the event's bytes, so that
/// a duplicate is still recognised.
fn event_id(own: Option<UntrustedId>, raw: &RawValue) -> EventId {
    match own.and_then(|id| id.checked::<EventId>().ok()) {
        Some(id) if id.as_str().len() <= LONGEST => id,
        _ => EventId::new(format!("sha256:{}", digest(raw))),
    }
}

/// Returns whether two events are the same, delivered twice.
fn is_repeated(one: &RawValue, other: &RawValue) -> bool {
    let without_delivery = |raw: &RawValue| {
        let mut event: serde_json::Value = serde_json::from_str(raw.get()).ok()?;
        event.as_object_mut()?.remove("deliveryContext");
        Some(event)
    };
    // `true` and `false` differ by a character; larger differences are not worth parsing.
    let is_as_long = one.get().len().abs_diff(other.get().len()) <= 1;
    one.get() == other.get()
        || is_as_long
            && without_delivery(one).is_some_and(|one| Some(one) == without_delivery(other))
}

fn digest(raw: &RawValue) -> String {
    let hash = Sha256::digest(raw.get().as_bytes());
    hex::encode(&hash[..16])
}

#[cfg(test)]
#[path = "webhook_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use chatkeep_core::id::ChannelId;

    use super::*;

    fn envelopes(body: &str) -> Vec<Envelope> {
        let body = WebhookBody::parse(body.as_bytes()).unwrap();
        body.envelopes("main", Timestamp::from_millis(7))
    }

    #[test]
    fn routes_by_group_then_room_then_person() {
        let all = envelopes(
            r#"{"destination":"U1","events":[
                {"webhookEventId":"A","source":{"type":"group","groupId":"C1","userId":"U2"}},
                {"webhookEventId":"B","source":{"type":"room","roomId":"R1"}},
                {"webhookEventId":"D","source":{"type":"user","userId":"U2"}},
                {"webhookEventId":"E"}]}"#,
        );
        let channels: Vec<_> =
            all.iter().map(|e| e.channel.as_ref().map(ChannelId::as_str)).collect();
        assert_eq!(channels, [Some("C1"), Some("R1"), Some("U2"), None]);
    }

    #[test]
    fn an_odd_field_of_the_head_costs_no_other() {
        let all = envelopes(
            r#"{"events":[{"webhookEventId":7,"source":{"groupId":"C1"}},
                          {"webhookEventId":"B","source":{"groupId":"C1","userId":[]}},
                          {"webhookEventId":"D","source":"C1"}]}"#,
        );
        let channels: Vec<_> =
            all.iter().map(|e| e.channel.as_ref().map(ChannelId::as_str)).collect();
        assert_eq!(channels, [Some("C1"), Some("C1"), None]);
        assert_eq!((all[1].id.as_str(), all[2].id.as_str()), ("B", "D"));
    }

    #[test]
    fn the_destination_is_read_where_it_is_one() {
        let of = |body: &'static str| WebhookBody::parse(body.as_bytes()).unwrap().destination();
        assert_eq!(of(r#"{"destination":"U1","events":[]}"#), Some("U1".into()));
        for odd in
            [r#"{"events":[]}"#, r#"{"destination":7,"events":[]}"#, r#"{"destination":null}"#]
        {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    #[test]
    fn two_events_under_one_id_stay_two() {
        let body = r#"{"events":[{"webhookEventId":"A","n":1},{"webhookEventId":"A","n":2}]}"#;
        let (first, again) = (envelopes(body), envelopes(body));
        assert_ne!(first[0].id, first[1].id);
        assert_eq!(first[1].id, again[1].id, "a redelivery has the same ids");
    }

    #[test]
    fn an_event_that_a_body_repeats_is_one() {
        let event = |redelivered: bool, text: &str| {
            format!(
                r#"{{"webhookEventId":"A","deliveryContext":{{"isRedelivery":{redelivered}}},
                     "message":{{"id":"1","text":"{text}"}}}}"#
            )
        };
        let body = |events: &[String]| format!(r#"{{"events":[{}]}}"#, events.join(","));
        let (once, again, other) = (event(false, "x"), event(true, "x"), event(false, "y"));
        for repeated in [&once, &again] {
            assert_eq!(envelopes(&body(&[once.clone(), repeated.clone()])).len(), 1);
        }
        let all = envelopes(&body(&[once.clone(), other.clone(), once, other]));
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn a_body_holds_so_many_events_and_no_more() {
        let body = |event: &str, count: usize| {
            format!(r#"{{"events":[{}{event}]}}"#, format!("{event},").repeat(count - 1))
        };
        assert_eq!(envelopes(&body("1", FEW_EVENTS)).len(), FEW_EVENTS);
        assert!(WebhookBody::parse(body("1", FEW_EVENTS + 1).as_bytes()).is_err());
        let event = r#"{"webhookEventId":"01","source":{"type":"group","groupId":"C1"}}"#;
        assert_eq!(
            WebhookBody::parse(body(event, 30_000).as_bytes()).unwrap().events.len(),
            30_000
        );
    }

    #[test]
    fn events_without_an_id_get_a_stable_one() {
        let ids: Vec<_> =
            (0..2).map(|_| envelopes(r#"{"events":[{"type":"x"}]}"#)[0].id.clone()).collect();
        assert!(ids[0] == ids[1] && ids[0].as_str().starts_with("sha256:"));
    }

    #[test]
    fn what_cannot_be_an_id_is_replaced_and_routes_nowhere() {
        let long = "9".repeat(9_000);
        for id in ["a\\u0000b", "a\\nb", "", &long] {
            let all = envelopes(&format!(
                r#"{{"events":[{{"webhookEventId":"{id}","source":{{"groupId":"{id}","userId":"U1"}}}}]}}"#
            ));
            assert!(all[0].id.as_str().starts_with("sha256:"), "{}", all[0].id);
            assert_eq!(all[0].channel, None, "another chat's shard would be wrong");
        }
    }

    #[test]
    fn odd_events_pass_and_odd_bodies_do_not() {
        assert_eq!(envelopes(r#"{"events":[1,"two",{"source":7}]}"#).len(), 3);
        assert!(envelopes(r#"{"destination":"U1","events":[]}"#).is_empty());
        for bad in ["", "[]", "{\"events\":{}}", "{\"events\":[}"] {
            assert!(WebhookBody::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
