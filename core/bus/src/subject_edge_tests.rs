//! Tests of subjects: any texts, and the shard of an event.

use chatkeep_core::event::PlatformKind;
use chatkeep_core::id::{EventId, SHARDS};
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::traced::template;

fn published(id: &str, channel: Option<&str>) -> Outgoing {
    let envelope = Envelope {
        v: Envelope::VERSION,
        id: EventId::from(id),
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        channel: channel.map(ChannelId::from),
        received_at: 0,
        raw: RawValue::from_string(r#"{ "早":1.50 }"#.to_owned()).unwrap(),
    };
    Outgoing::event(&envelope).unwrap()
}

#[test]
fn events_of_a_chat_share_a_shard_whatever_their_ids_are() {
    let one = published("e1", Some("C1"));
    assert_eq!(one.subject, "event.line.57");
    assert_eq!(published("e2", Some("C1")).subject, one.subject);
    // An event of no chat goes by its own id, and its id on the bus names the bot.
    assert_eq!(published("C1", None).subject, one.subject);
    assert_eq!((one.id.as_str(), one.trace.is_none()), ("line:main:e1", true));
    let read: Envelope = serde_json::from_slice(&one.payload).unwrap();
    assert_eq!(read.raw.get(), r#"{ "早":1.50 }"#);
}

#[test]
fn destinations_in_traces_are_few() {
    for (subject, destination) in
        [("event.line.57", "event.line"), ("job.media.0", "job.media"), ("event", "event")]
    {
        assert_eq!(template(subject), destination);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_subject_is_a_stream_and_two_words(text in "(event|job|events|x)[.](.{0,6})[.](.{0,4})") {
        let tokens: Vec<&str> = text.split('.').collect();
        let is_word = |word: &&str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_graphic() && c != '*' && c != '>')
        };
        let expected = match tokens.as_slice() {
            [first @ ("event" | "job"), rest @ ..] if rest.len() == 2 => {
                let stream = if *first == "event" { Stream::Events } else { Stream::Jobs };
                rest.iter().all(is_word).then_some((stream, rest[0]))
            }
            _ => None,
        };
        prop_assert_eq!(parse(&text).ok(), expected);
    }

    #[test]
    fn every_event_goes_where_somebody_reads(
        id in ".{1,20}",
        channel in prop::option::of(".{1,20}"),
    ) {
        let message = published(&id, channel.as_deref());
        let (stream, platform) = parse(&message.subject).unwrap();
        prop_assert_eq!((stream, platform), (Stream::Events, "line"));
        let (_, shard) = message.subject.rsplit_once('.').unwrap();
        prop_assert!(shard.parse::<u32>().unwrap() < SHARDS);
    }
}
