//! Tests of whole pages: what people wrote stays text, and messages, gaps and names are in place.

use std::collections::BTreeSet;
use std::sync::Arc;

use chatkeep_core::message::Sticker;
use chatkeep_store::{GapReason, MediaStatus, Sender};
use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream;
use proptest::prelude::*;

use super::*;
use crate::media::{FileBytes, file_name};
use crate::sample_tests::{GROUP, any_text, message, record, regex, sender};
use crate::{MediaSource, TransferError};

/// Characters with a meaning in pages, without those that an address needs.
const HOSTILE: &str = "[<>&\"'/=a-z!\n\r\t\u{0}\u{85}\u{202e}{}%#;早-]{0,16}";
const HOUR: i64 = 3_600_000;

/// Files of which every message of a media type has one.
#[derive(Debug)]
struct EveryFile;

impl MediaSource for EveryFile {
    fn name(&self, message: &StoredMessage) -> Option<String> {
        message.kind.is_media().then(|| file_name(&message.id, "bin"))
    }

    fn open<'a>(&'a self, _: &'a StoredMessage) -> BoxFuture<'a, Result<FileBytes, TransferError>> {
        Box::pin(ready(Ok(stream::empty().boxed())))
    }
}

fn page_in(language: Language, id: &str, gaps: Vec<Gap>, media: MediaLinks) -> HtmlPage {
    let head = Head { channel: None, id: id.to_owned(), gaps, zone: Tz::UTC, language };
    HtmlPage::new(head, media, Links::new(Some("https://chat.example")))
}

fn page(gaps: Vec<Gap>) -> HtmlPage {
    page_in(Language::English, GROUP, gaps, MediaLinks::None)
}

/// Returns the messages as a page shows them, without its head and foot.
fn shown(page: &mut HtmlPage, messages: &[StoredMessage]) -> String {
    let mut out = String::new();
    for message in messages {
        page.message(message, &mut out);
    }
    out
}

/// Returns the tags of a page with the names of their attributes, without their values.
fn skeleton(page: &str) -> Vec<String> {
    let (mut tags, mut rest) = (Vec::new(), page);
    while let Some((_, tag)) = rest.split_once('<') {
        let mut is_quoted = false;
        let end = tag.find(|c: char| {
            is_quoted ^= c == '"';
            c == '>' && !is_quoted
        });
        let end = end.unwrap_or(tag.len());
        // Every other part is a value in quotation marks.
        tags.push(tag[..end].split('"').step_by(2).collect());
        rest = tag.get(end + 1..).unwrap_or_default();
    }
    tags
}

/// Returns messages of all types with that text wherever they have one.
fn everywhere(text: &str) -> Vec<StoredMessage> {
    let some = || Some(text.to_owned());
    let info = || MediaInfo { file_name: some(), ..MediaInfo::default() };
    let contents = [
        Content::text(text),
        Content::Image(info()),
        Content::Video(info()),
        Content::Audio(info()),
        Content::File(info()),
        Content::Location { title: some(), address: some(), latitude: 1.5, longitude: 2.5 },
        Content::Sticker(Sticker { text: some(), ..Sticker::default() }),
    ];
    let earlier = EarlierText {
        at: Timestamp::from_millis(0),
        content: serde_json::to_string(&Content::text(text)).unwrap(),
    };
    let sent = |(n, content): (i64, Content)| StoredMessage {
        sender: Some(Sender { id: format!("U{text}").into(), ..sender("", text) }),
        quoted: Some(text.into()),
        edited_at: Some(Timestamp::from_millis(n)),
        earlier_texts: std::iter::once(earlier.clone()).collect(),
        ..message(&format!("{text}{n}"), n * HOUR, content)
    };
    (0..).zip(contents).map(sent).collect()
}

/// Returns a page of all of these, from its first to its last byte.
fn whole(text: &str, language: Language, media: MediaLinks) -> String {
    let mut page = page_in(language, text, Vec::new(), media);
    let head = page.head() + &page.section(text);
    head + &shown(&mut page, &everywhere(text)) + &page.foot()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_a_tag_or_an_attribute(text in HOSTILE) {
        let english = Language::English;
        for media in [MediaLinks::Beside(Arc::new(EveryFile)), MediaLinks::None] {
            let plain = skeleton(&whole("x", english, media.clone()));
            prop_assert_eq!(skeleton(&whole(&text, english, media)), plain);
        }
    }

    #[test]
    fn a_text_reads_back_from_the_page(text in any_text()) {
        let page = shown(&mut page(Vec::new()), &[message("m1", 0, Content::text(&*text))]);
        let (_, inside) = page.split_once(r#"class="text" lang="" dir="auto">"#).unwrap();
        let (inside, _) = inside.split_once("</p>").unwrap();
        let read = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
            .iter()
            .fold(inside.to_owned(), |text, (entity, c)| text.replace(entity, c));
        prop_assert_eq!(read, text);
    }

    #[test]
    fn a_quote_leads_to_its_message_and_no_other(
        ids in prop::collection::hash_set(regex("\\PC{1,12}"), 3),
    ) {
        let ids: Vec<_> = ids.into_iter().collect();
        let sent = |n: i64, id: &String| StoredMessage {
            quoted: Some(ids[0].as_str().into()),
            ..message(id, n, Content::text("x"))
        };
        let messages: Vec<_> = (0..).zip(&ids).map(|(n, id)| sent(n, id)).collect();
        let page = shown(&mut page(Vec::new()), &messages);
        let attribute = |before: &str| -> Vec<String> {
            let values = page.split(before).skip(1);
            values.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let (anchors, quotes) = (attribute("<article id=\""), attribute("dir=\"auto\" href=\"#"));
        prop_assert_eq!(quotes, vec![anchors[0].clone(); 3]);
        let different: BTreeSet<_> = anchors.iter().collect();
        prop_assert_eq!(different.len(), 3);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        prop_assert!(anchors.iter().all(|anchor| anchor.chars().all(is_plain)), "{anchors:?}");
    }

    #[test]
    fn every_gap_stands_once_before_what_followed_it(
        gaps in prop::collection::btree_set(0..50_i64, 0..8),
        times in prop::collection::btree_set(0..50_i64, 1..8),
        at in 0..8_usize,
    ) {
        let gap = |from: &i64| Gap {
            from: Timestamp::from_millis(from * HOUR),
            to: None,
            reason: GapReason::Quota,
            skipped: Some(1),
        };
        let gaps: Vec<_> = gaps.iter().map(gap).collect();
        let sent = |at: &i64| message(&format!("m{at}"), at * HOUR, Content::text("x"));
        let messages: Vec<_> = times.iter().map(sent).collect();
        let due = |at: Timestamp| gaps.iter().filter(|gap| gap.from <= at).count();
        let count = |text: &str, what: &str| text.matches(what).count();

        let mut whole = page(gaps.clone());
        let mut out = String::new();
        for message in &messages {
            whole.message(message, &mut out);
            prop_assert_eq!(count(&out, "class=\"gap\""), due(message.sent_at));
        }
        prop_assert_eq!(count(&(out + &whole.foot()), "class=\"gap\""), gaps.len());

        // The same in two parts, of which none knows the other.
        let at = at.min(messages.len() - 1);
        let last = messages[at].sent_at;
        let mut first = page(gaps.clone());
        let mut parts = shown(&mut first, &messages[..=at]) + &first.gaps(last);
        prop_assert_eq!(count(&parts, "class=\"gap\""), due(last));
        let mut second = page(gaps.clone()).following(at as u64 + 1, last);
        parts += &shown(&mut second, &messages[at + 1..]);
        let foot = second.foot();
        prop_assert!(foot.contains(&format!("<footer>{} message", messages.len())), "{foot}");
        prop_assert_eq!(count(&(parts + &foot), "class=\"gap\""), gaps.len());
    }
}

#[test]
fn a_page_has_the_same_form_in_every_language() {
    let english = skeleton(&whole("x", Language::English, MediaLinks::None));
    for language in Language::ALL {
        let page = whole("x", language, MediaLinks::None);
        assert_eq!(skeleton(&page), english, "{language:?}");
        assert!(page.contains(&format!("<html lang=\"{}\">", language.tag())));
    }
}

#[test]
fn a_name_stands_again_where_somebody_else_wrote_or_time_passed() {
    let by = |id: &str, minutes: i64| StoredMessage {
        sender: (!id.is_empty()).then(|| sender(id, "Ming")),
        ..message(&format!("m{minutes}"), minutes * 60_000, Content::text("x"))
    };
    let bot = |minutes| StoredMessage { is_bot: true, ..by("", minutes) };
    let gap = Gap {
        from: Timestamp::from_millis(11 * 60_000),
        to: None,
        reason: GapReason::Outage,
        skipped: None,
    };
    let day = 24 * 60;
    let messages = [
        (by("U1", 0), "first"),
        (by("U1", 4), "more"),
        // From message to message, not from the first one on.
        (by("U1", 8), "more"),
        (by("U1", 10), "more"),
        // After the gap.
        (by("U1", 12), "first"),
        // Of the same name.
        (by("U2", 13), "first"),
        (bot(14), "first bot"),
        (bot(15), "more bot"),
        (by("U2", 16), "first"),
        (by("U2", 21), "first"),
        (by("U2", day - 1), "first"),
        (by("U2", day), "first"),
    ];
    let sent: Vec<_> = messages.iter().map(|(message, _)| message.clone()).collect();
    let out = shown(&mut page(vec![gap]), &sent);
    let classes = out.split("<article ").skip(1).map(|rest| rest.split('"').nth(3).unwrap());
    let expected = messages.iter().map(|(_, class)| *class);
    assert_eq!(classes.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(out.matches("<h2>").count(), 2);
}

#[test]
fn people_whose_name_nobody_sees_are_called_by_their_id() {
    let name = |sender: Option<Sender>, is_bot| {
        let message = StoredMessage { sender, is_bot, ..message("m1", 0, Content::text("x")) };
        let page = shown(&mut page(Vec::new()), &[message]);
        let (_, rest) = page.split_once("<p class=\"name\" lang=\"\" dir=\"auto\">").unwrap();
        rest.split_once("</p>").unwrap().0.to_owned()
    };
    assert_eq!(name(Some(sender("U1", "小明 👋")), false), "小明 👋");
    for unseen in ["", " \u{3000}", "\u{200b}\u{2060}", "\u{2800}"] {
        assert_eq!(name(Some(sender("U1", unseen)), false), "U1", "{unseen:?}");
    }
    assert_eq!(name(Some(Sender { display_name: None, ..sender("U1", "") }), true), "U1");
    assert_eq!(name(None, false), "Unknown sender");
    assert_eq!(name(None, true), "Bot");
}

#[test]
fn a_quote_says_what_was_quoted_as_long_as_it_is_remembered() {
    let quoting = |id: &str, n, quoted: &str| StoredMessage {
        quoted: Some(quoted.into()),
        ..message(id, n, Content::text("yes"))
    };
    let long = message("m1", 0, Content::text("早".repeat(QUOTED + 1)));
    let photo = message("m2", 1, Content::Image(MediaInfo::default()));
    let nobody = StoredMessage { sender: None, ..message("m3", 2, Content::text("a\nb")) };
    let gone = StoredMessage { content: None, ..message("m4", 3, Content::text("secret")) };
    let mut page = page(Vec::new());
    let said = shown(&mut page, &[long, photo, nobody, gone]);
    assert!(!said.contains("secret"), "{said}");
    let mut words = |quoted: &str| {
        let out = shown(&mut page, &[quoting("m9", 9, quoted)]);
        let (_, quote) = out.split_once("class=\"quote\"").unwrap();
        let (quote, _) = quote.split_once("</a>").unwrap();
        quote.split_once('>').unwrap().1.to_owned()
    };
    assert_eq!(words("m1"), format!("小明: {}…", "早".repeat(QUOTED)));
    assert_eq!(words("m2"), "小明: 🖼 Photo");
    assert_eq!(words("m3"), "a\nb");
    assert_eq!(words("m4"), "小明: Text", "what was taken back is not quoted");
    assert_eq!(words("m5"), "↩ an earlier message");
    let others: Vec<_> =
        (0..).take(REMEMBERED).map(|n| message(&format!("n{n}"), n, Content::text("x"))).collect();
    shown(&mut page, &others);
    let out = shown(&mut page, &[quoting("m9", 9, "m1"), quoting("m9", 9, "n4999")]);
    assert!(out.contains("↩ an earlier message") && out.contains("小明: x"), "{out}");
}

#[test]
fn a_file_is_linked_where_it_is_and_explained_where_it_is_not() {
    let file = |status, reason| {
        let info = MediaInfo { file_name: Some("a.pdf".to_owned()), ..MediaInfo::default() };
        let media = Some(MediaRecord { reason, ..record(status) });
        StoredMessage { media, ..message("../m 1", 0, Content::File(info)) }
    };
    let beside = MediaLinks::Beside(Arc::new(EveryFile));
    let mut linked = page_in(Language::English, GROUP, Vec::new(), beside);
    let out = shown(&mut linked, &[file(MediaStatus::Stored, None)]);
    let link = "<a download href=\"media/_2e_2e_2fm_201.bin\">📎 a.pdf</a>";
    assert!(out.contains(link), "{out}");
    for (status, reason, words) in [
        (MediaStatus::Stored, None, "📎 File · a.pdf<"),
        (MediaStatus::Pending, None, "📎 File · a.pdf · Still being saved<"),
        (MediaStatus::Expired, None, "📎 File · a.pdf · Expired before it could be saved<"),
        (
            MediaStatus::Expired,
            Some(MediaReason::NotInExport),
            "📎 File · a.pdf · Not in the imported text<",
        ),
    ] {
        let out = shown(&mut page(Vec::new()), &[file(status, reason)]);
        assert!(out.contains(words), "{words} in {out}");
    }
}
