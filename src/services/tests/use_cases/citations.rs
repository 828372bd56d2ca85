//! Citations: what a message still says, in whatever script, and what has become of it otherwise.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::message::{Content, MediaInfo, Sticker};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_view::pseudonyms::Mask;
use chrono_tz::Tz;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{at, bounded, edited, keep, parts, said, sent, since, unsent};
use crate::Caller;
use crate::access::WriteBackup;
use crate::citations::CitationVerdict;
use crate::deletion::DeletionService;
use crate::messages::MessageService;
use crate::removals::RemovalWorker;

/// Texts whose words stand once each, in scripts that have spaces between them.
const TEXTS: [&str; 8] = [
    "Der Zug fährt um 8:30 ab, nicht gegen\u{a0}neun.",
    "Το τρένο φεύγει στις οκτώ ακριβώς",
    "Die Straße heißt „Große Gasse“",
    "ＭＥＥＴ at gate Ｂ１２ \u{ff08}east\u{ff09}",
    "cafe\u{301} cre\u{300}me bru\u{302}le\u{301}e",
    "Goal 🔥 👨\u{200d}👩\u{200d}👧 party 🇹🇼",
    "שלום עולם היום טוב",
    "line one\r\nsecond\tpart\n\nlast",
];

async fn verdict_for(
    group: &Group,
    caller: Caller,
    message: &str,
    quoted: &str,
) -> CitationVerdict {
    let access = group.access.channel(caller, GROUP.into()).await.unwrap();
    let messages = MessageService::new(group.store.clone(), Tz::UTC);
    let checked = messages.check_citation(&access, &message.into(), quoted).await.unwrap();
    checked.verdict
}

async fn verdict(group: &Group, message: &str, quoted: &str) -> CitationVerdict {
    verdict_for(group, caller(OWNER), message, quoted).await
}

#[tokio::test]
async fn every_run_of_words_is_found_in_any_case_and_with_omissions() {
    let group = Group::new().await;
    for (number, text) in (1..).zip(TEXTS) {
        let id = format!("m{number}");
        keep(&group, &[said(GROUP, &id, OWNER, at(1_000 * number), text)]).await;
        assert_eq!(verdict(&group, &id, text).await, CitationVerdict::Same, "{text}");
        let words: Vec<_> = text.split_whitespace().collect();
        for (begin, one) in words.iter().enumerate() {
            for end in begin + 1..=words.len() {
                let run = words[begin..end].join("\n");
                let found = verdict(&group, &id, &format!("…{} ...", run.to_uppercase())).await;
                assert_eq!(found, CitationVerdict::Same, "{run}");
            }
            for other in &words[begin + 1..] {
                let found = verdict(&group, &id, &format!("{one}…{other}")).await;
                assert_eq!(found, CitationVerdict::Same, "{one} … {other}");
                let found = verdict(&group, &id, &format!("{other}…{one}")).await;
                assert_eq!(found, CitationVerdict::Different, "{other} … {one}");
            }
        }
    }
}

#[tokio::test]
async fn a_part_of_a_word_is_none_but_where_words_have_no_spaces() {
    let group = Group::new().await;
    let mut number = 0;
    for (text, quoted, expected) in [
        ("The price is 1,000", "1,00", CitationVerdict::Different),
        ("cafe\u{301}", "cafe", CitationVerdict::Different),
        ("明日の会議は中止です", "会議は中止", CitationVerdict::Same),
        ("ประชุมวันศุกร์บ่าย", "วันศุกร์", CitationVerdict::Same),
        ("ﾊﾟｰﾃｨｰは８時", "パーティーは8時", CitationVerdict::Same),
        ("付款NT$500元", "NT$500", CitationVerdict::Same),
        ("付款NT$500元", "NT$50", CitationVerdict::Different),
        ("🔥🔥", "🔥", CitationVerdict::Same),
        ("a", "b", CitationVerdict::Different),
        ("what?!", "!?", CitationVerdict::Different),
    ] {
        number += 1;
        let id = format!("m{number}");
        keep(&group, &[said(GROUP, &id, OWNER, at(1_000 * number), text)]).await;
        assert_eq!(verdict(&group, &id, quoted).await, expected, "{quoted} of {text}");
    }
}

#[tokio::test]
async fn what_is_no_text_says_what_readers_see_of_it() {
    let group = Group::new().await;
    let place = Content::Location {
        title: Some("台北車站".to_owned()),
        address: Some("北平西路3號".to_owned()),
        latitude: 25.0478,
        longitude: 121.517,
    };
    let name = Some("Q3 報表.xlsx".to_owned());
    let file = Content::File(MediaInfo { file_name: name, ..MediaInfo::default() });
    let picture = Content::Image(MediaInfo::default());
    let keywords = vec!["happy".to_owned(), "OK".to_owned()];
    let sticker = Content::Sticker(Sticker { keywords, ..Sticker::default() });
    let other = Content::Other { raw: "{\"poll\":\"lunch\"}".to_owned() };
    for (number, content) in (1..).zip([place, file, picture, sticker, other]) {
        let change = sent(GROUP, &format!("m{number}"), OWNER, at(1_000 * number), &content);
        keep(&group, &[change]).await;
    }
    for (message, quoted, is_said) in [
        ("m1", "台北車站 北平西路3號", true),
        ("m1", "25.0478,121.517", true),
        ("m1", "25.04", false),
        ("m2", "q3 報表.XLSX", true),
        ("m3", "a photo", false),
        ("m4", "Happy, ok", true),
        ("m5", "lunch", false),
    ] {
        let expected = if is_said { CitationVerdict::Same } else { CitationVerdict::Different };
        assert_eq!(verdict(&group, message, quoted).await, expected, "{message} {quoted}");
    }
    // Without words it need only be there, and marks of omission are no words.
    for message in ["m1", "m2", "m3", "m4", "m5"] {
        for quoted in ["", " \u{3000}\n", "…", "... … \u{200b}"] {
            let found = verdict(&group, message, quoted).await;
            assert_eq!(found, CitationVerdict::Same, "{message} {quoted:?}");
        }
    }
}

#[tokio::test]
async fn an_edited_message_says_what_it_says_now() {
    let group = Group::new().await;
    keep(&group, &[said(GROUP, "m1", OWNER, at(1_000), "gate A")]).await;
    assert_eq!(verdict(&group, "m1", "gate B").await, CitationVerdict::Different);
    keep(&group, &[edited(GROUP, "m1", at(2_000), "gate B")]).await;
    assert_eq!(verdict(&group, "m1", "gate B").await, CitationVerdict::Same);
    assert_eq!(verdict(&group, "m1", "gate A").await, CitationVerdict::Edited);
    assert_eq!(verdict(&group, "m1", "gate C").await, CitationVerdict::Edited, "nobody can tell");
    keep(&group, &[edited(GROUP, "m1", at(3_000), "gate A")]).await;
    assert_eq!(verdict(&group, "m1", "gate A").await, CitationVerdict::Same, "again");
    keep(&group, &[unsent(GROUP, "m1", at(4_000))]).await;
    for quoted in ["", "gate A", "gate B"] {
        assert_eq!(verdict(&group, "m1", quoted).await, CitationVerdict::Unsent, "{quoted}");
    }
}

#[tokio::test]
async fn what_was_erased_is_told_to_those_who_may_read_all_times() {
    let group = Group::new().await;
    keep(
        &group,
        &[
            said(GROUP, "m1", OTHER, at(1_000), "my number"),
            said(GROUP, "m2", OTHER, at(2_000), "never mind"),
            unsent(GROUP, "m2", at(3_000)),
            said(GROUP, "m3", OWNER, at(4_000), "stays"),
        ],
    )
    .await;
    let late = || bounded(OWNER, since(at(2_000)));
    assert_eq!(verdict(&group, "m2", "").await, CitationVerdict::Unsent);
    let (store, clock) = parts(&group);
    let messages = MessageService::new(store.clone(), Tz::UTC);
    let worker = RemovalWorker::new(store.clone(), Arc::clone(&clock));
    let deletion = DeletionService::new(store, clock, messages, worker);
    group.hands.advance(Duration::from_secs(1));
    let access = group.access.reaches::<WriteBackup>(caller(OTHER), GROUP.into()).await.unwrap();
    deletion.erase(&access, OTHER.into()).await.unwrap();
    for message in ["m1", "m2"] {
        assert_eq!(verdict(&group, message, "").await, CitationVerdict::Erased, "{message}");
    }
    let found = verdict_for(&group, late(), "m2", "").await;
    assert_eq!(found, CitationVerdict::Erased, "its tombstone may be read");
    for message in ["m1", "m9", "", "m1 "] {
        let found = verdict_for(&group, late(), message, "").await;
        assert_eq!(found, CitationVerdict::Unreachable, "{message}");
    }
    assert_eq!(verdict(&group, "m9", "").await, CitationVerdict::Unreachable);
    assert_eq!(verdict(&group, "m3", "stays").await, CitationVerdict::Same);
}

#[tokio::test]
async fn a_reader_of_pseudonyms_cites_what_they_were_shown() {
    let group = Group::new().await;
    keep(&group, &[said(GROUP, "m1", OWNER, at(1_000), "Xiomara comes at noon")]).await;
    let (key, other) = (PseudonymKey::new([4; 32]), OTHER.into());
    let stand_in = key.person(&other).name;
    let mask = Mask::of(&key, &[(OWNER.into(), None), (other, Some("Xiomara".to_owned()))]);
    let masked = Caller { mask: mask.unwrap(), ..caller(OWNER) };
    let shown = format!("{stand_in} comes");
    let found = verdict_for(&group, masked.clone(), "m1", &shown).await;
    assert_eq!(found, CitationVerdict::Same);
    let found = verdict_for(&group, masked, "m1", "Xiomara comes").await;
    assert_eq!(found, CitationVerdict::Different, "it would tell who that is");
    assert_eq!(verdict(&group, "m1", "Xiomara comes").await, CitationVerdict::Same);
}
