//! Tests of ids of messages that have none: the same in every export of a chat, wherever it begins
//! and ends, and of no two messages.

use std::collections::BTreeSet;

use chatkeep_core::message::{MediaInfo, Sticker};
use chrono::NaiveDateTime;
use proptest::prelude::*;

use super::*;
use crate::sample_tests::regex;

/// Message of an export: its minute, who wrote it, and which of a few texts.
type Sent = (i64, usize, usize);

const MINUTES: i64 = 28_000_000;

/// Returns a message as an export has it, in one of two languages of the app.
fn said(name: usize, text: usize, is_english: bool) -> ParsedMessage {
    let file = |name: &str| {
        let file_name = Some(name.to_owned()).filter(|name| !name.is_empty());
        Content::File(MediaInfo { file_name, ..MediaInfo::default() })
    };
    let (english, chinese, content) = match text {
        0 => ("ok", "ok", Some(Content::text("ok"))),
        1 => ("ok ", "ok ", Some(Content::text("ok "))),
        2 => ("[Photo]", "[照片]", Some(Content::Image(MediaInfo::default()))),
        3 => ("[Video]", "[影片]", Some(Content::Video(MediaInfo::default()))),
        4 => ("[File] a.pdf", "[檔案] a.pdf", Some(file("a.pdf"))),
        5 => ("[File]", "[檔案]", Some(file(""))),
        6 => ("[Sticker]", "[貼圖]", Some(Content::Sticker(Sticker::default()))),
        7 => ("Message unsent.", "已收回訊息", None),
        _ => ("", "", Some(Content::text(""))),
    };
    let text = if is_english { english } else { chinese };
    let at = NaiveDateTime::default();
    ParsedMessage { at, name: format!("name {name}"), text: text.to_owned(), content }
}

/// Returns the ids of an export with these messages, of which each person has a name.
fn ids(sent: &[Sent], rename: usize, is_english: bool) -> Vec<SyntheticId> {
    let mut ids = SyntheticIds::new(&"C1".into());
    let next = |(at, name, text): &Sent| {
        let at = Timestamp::from_millis(*at * MINUTE);
        ids.next(at, &said(name + rename, *text, is_english))
    };
    sent.iter().map(next).collect()
}

/// Returns messages in the order of their times, often several of one minute, with the minute.
fn chat() -> impl Strategy<Value = Vec<Sent>> {
    let pause = prop_oneof![3 => Just(0_i64), 1 => 1..3_000_i64];
    prop::collection::vec((pause, 0..3_usize, 0..9_usize), 1..30).prop_map(|sent| {
        let mut at = MINUTES;
        let timed = |(pause, name, text): Sent| {
            at += pause;
            (at, name, text)
        };
        sent.into_iter().map(timed).collect()
    })
}

fn plain(ids: &[SyntheticId]) -> Vec<(&MessageId, Timestamp)> {
    ids.iter().map(|id| (&id.id, id.sent_at)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_two_messages_have_one_id_or_one_time_and_their_order_stays(sent in chat()) {
        let ids = ids(&sent, 0, true);
        let different: BTreeSet<_> = ids.iter().flat_map(|id| [&id.id, &id.former_id]).collect();
        prop_assert_eq!(different.len(), 2 * sent.len());
        prop_assert!(ids.is_sorted_by(|one, next| one.sent_at < next.sent_at));
        for (id, (at, ..)) in ids.iter().zip(&sent) {
            prop_assert_eq!(id.sent_at.millis().div_euclid(MINUTE), *at);
        }
    }

    #[test]
    fn exports_that_overlap_have_the_same_ids(sent in chat(), cut in any::<prop::sample::Index>()) {
        let all = ids(&sent, 0, true);
        // An earlier export ends anywhere, a later one begins with a minute.
        let end = cut.index(sent.len() + 1);
        let earlier = ids(&sent[..end], 0, true);
        prop_assert_eq!(&earlier[..], &all[..end]);
        let minute = sent[cut.index(sent.len())].0;
        let begin = sent.partition_point(|(at, ..)| *at < minute);
        let later = ids(&sent[begin..], 0, true);
        prop_assert_eq!(&later[..], &all[begin..]);
    }

    #[test]
    fn names_and_the_language_of_the_app_change_no_id(sent in chat()) {
        let all = ids(&sent, 0, true);
        let (renamed, chinese) = (ids(&sent, 7, true), ids(&sent, 0, false));
        prop_assert_eq!(plain(&renamed), plain(&all));
        prop_assert_eq!(plain(&chinese), plain(&all));
    }

    #[test]
    fn a_name_is_the_same_person_with_any_space_around_it(name in regex("\\PC{1,9}")) {
        let mut people = NameDirectory::default();
        let unknown = |people: &NameDirectory, name: &str| match people.find(name) {
            NamedPerson::Unknown(id, _) => id,
            other => panic!("{other:?}"),
        };
        let id = unknown(&people, &name);
        prop_assert!(id.as_str().starts_with("import:") && id.as_str().len() == 39);
        prop_assert_eq!(&unknown(&people, &format!(" {name}\u{3000}")), &id);
        prop_assert_ne!(&unknown(&people, &format!("{name}.")), &id);
        let both = [UserId::from("U1"), UserId::from("U2")];
        people.add(name.trim(), &both[0]);
        people.add(name.trim(), &both[0]);
        prop_assert_eq!(people.find(&name), NamedPerson::Member(&both[0]));
        people.add(name.trim(), &both[1]);
        prop_assert_eq!(people.find(&name), NamedPerson::Shared(id, &both));
    }
}
