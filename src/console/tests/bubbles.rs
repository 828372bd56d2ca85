//! Messages as pages show them: of every kind, stored or not, edited, quoted, and gone.

use std::collections::HashMap;

use chatkeep_core::assistant::{Rule, RuleDraft};
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{MessageId, RuleId, UserId};
use chatkeep_core::message::{Content, MediaInfo, Sticker};
use chatkeep_i18n::Language;
use chatkeep_services::assistant::VisibleRules;
use chatkeep_store::{MediaRecord, MediaStatus, Preview, ReplyOrigin, ReplySource, StoredMessage};
use chatkeep_view::pseudonyms::Mask;

use super::{NOW, at, stored};
use crate::bubble::{Bubble, BubbleContent, Bubbles};
use crate::dates::Dates;
use crate::origin::OriginNote;
use crate::text::Piece;

const FILE: &str = "/api/v1/channels/C1/backup/media/m1";

fn bubbles(language: Language) -> Bubbles<'static> {
    Bubbles {
        dates: Dates { language, zone: chrono_tz::Asia::Tokyo, now: at(NOW) },
        viewer: None,
        target: None,
        quoted: HashMap::new(),
        rules: VisibleRules::Hidden,
    }
}

fn english(message: &StoredMessage) -> Bubble {
    bubbles(Language::English).bubble(message)
}

fn blob() -> BlobId {
    BlobId::from_digest(&[7; 32])
}

/// Returns a message with a file of that status.
fn with_file(content: Content, status: MediaStatus, preview: bool) -> StoredMessage {
    let media = MediaRecord {
        status,
        bytes: 2_048,
        stored_at: None,
        blob: None,
        content_type: None,
        preview: preview.then(|| Preview { blob: blob(), content_type: "image/jpeg".to_owned() }),
        reason: None,
    };
    StoredMessage { media: Some(media), ..stored(content) }
}

fn info(name: Option<&str>) -> MediaInfo {
    let file_name = name.map(str::to_owned);
    MediaInfo { file_name, duration: Some(61_500), ..MediaInfo::default() }
}

#[test]
fn a_photo_shows_its_preview_or_else_itself() {
    for (preview, shown) in [(true, format!("{FILE}?preview=true")), (false, FILE.to_owned())] {
        let message = with_file(Content::Image(info(None)), MediaStatus::Stored, preview);
        let BubbleContent::Image { preview, file, label } = english(&message).body else {
            panic!("no photo")
        };
        assert_eq!((preview, &*file, &*label), (shown, FILE, "Photo from Ann Lee"));
    }
}

#[test]
fn films_and_sounds_have_their_length() {
    let film = with_file(Content::Video(info(None)), MediaStatus::Stored, false);
    let BubbleContent::Video { poster, duration, .. } = english(&film).body else {
        panic!("no film")
    };
    assert_eq!((poster, duration.as_deref()), (None, Some("1:01")));
    let film = with_file(Content::Video(info(None)), MediaStatus::Stored, true);
    let BubbleContent::Video { poster, .. } = english(&film).body else { panic!("no film") };
    assert_eq!(poster, Some(format!("{FILE}?preview=true")));
    let sound = with_file(Content::Audio(MediaInfo::default()), MediaStatus::Stored, true);
    let BubbleContent::Audio { duration, label, .. } = english(&sound).body else {
        panic!("no sound")
    };
    assert_eq!((duration, &*label), (None, "Voice message from Ann Lee"));
}

#[test]
fn a_file_has_its_name_and_size_and_one_without_a_name_is_called_a_file() {
    for (name, shown) in [
        (Some("預算 <2026>.xlsx"), "預算 <2026>.xlsx"),
        (Some("\u{200b}\u{3164}"), "File"),
        (None, "File"),
    ] {
        let message = with_file(Content::File(info(name)), MediaStatus::Stored, false);
        let BubbleContent::File { name, size, label, .. } = english(&message).body else {
            panic!("no file")
        };
        assert_eq!((&*name, size.as_deref()), (shown, Some("2\u{a0}KB")));
        assert_eq!(label, format!("Download {shown}"));
    }
    let mut unknown = with_file(Content::File(info(None)), MediaStatus::Stored, false);
    unknown.media.as_mut().unwrap().bytes = 0;
    let BubbleContent::File { size, .. } = english(&unknown).body else { panic!("no file") };
    assert_eq!(size, None, "a size of nothing is not known");
}

#[test]
fn a_file_that_is_not_stored_is_named_with_the_reason_in_every_language() {
    for language in Language::ALL {
        for status in MediaStatus::ALL.into_iter().filter(|one| *one != MediaStatus::Stored) {
            let message = with_file(Content::Image(info(None)), status, true);
            let body = bubbles(language).bubble(&message).body;
            let BubbleContent::Lost { name, why } = body else { panic!("{body:?}") };
            let reason = language.text(&format!("media-{}", status.name()));
            assert_eq!((name, why), (language.text("kind-image"), reason));
        }
        let nothing_known = stored(Content::File(info(Some("a.pdf"))));
        let body = bubbles(language).bubble(&nothing_known).body;
        let BubbleContent::Lost { name, why } = body else { panic!("{body:?}") };
        assert_eq!((&*name, why), ("a.pdf", language.text("media-pending")));
    }
}

#[test]
fn a_place_leads_to_its_spot_on_the_map_also_on_the_other_side_of_the_earth() {
    let place = Content::Location {
        title: Some("Café <b>".to_owned()),
        address: None,
        latitude: -33.5,
        longitude: -0.25,
    };
    let BubbleContent::Place { title, address, map } = english(&stored(place)).body else {
        panic!("no place")
    };
    assert_eq!((&*title, address), ("Café <b>", None));
    let expected = "https://www.openstreetmap.org/?mlat=-33.5&mlon=-0.25#map=16/-33.5/-0.25";
    assert_eq!(map, expected);
}

#[test]
fn a_place_of_which_nothing_can_be_read_is_a_location() {
    let nothing = Some("\u{200b}\u{feff}".to_owned());
    for (title, address) in [(None, None), (nothing.clone(), nothing), (Some(String::new()), None)]
    {
        let place = Content::Location { title, address, latitude: 25.0, longitude: 121.5 };
        let BubbleContent::Place { title, address, .. } = english(&stored(place)).body else {
            panic!("no place")
        };
        assert_eq!((&*title, address), ("Location", None));
    }
}

#[test]
fn a_sticker_is_told_by_its_text_its_first_keyword_or_its_kind() {
    for (text, keywords, shown) in [
        (Some("よろしく"), vec!["hi"], "よろしく"),
        (None, vec!["hi", "hello"], "hi"),
        (None, vec![], "Sticker"),
        (Some("\u{200b}"), vec!["", "hello"], "hello"),
        (Some(""), vec!["\u{3164}"], "Sticker"),
    ] {
        let keywords = keywords.into_iter().map(str::to_owned).collect();
        let text = text.map(str::to_owned);
        let sticker = Content::Sticker(Sticker { text, keywords, ..Sticker::default() });
        let BubbleContent::Sticker(words) = english(&stored(sticker)).body else { panic!() };
        assert_eq!(words, shown);
    }
}

#[test]
fn nothing_of_a_message_that_is_gone_or_unknown_is_shown() {
    for language in Language::ALL {
        let gone = |message: &StoredMessage| match bubbles(language).bubble(message).body {
            BubbleContent::Gone(sentence) => sentence,
            other => panic!("{other:?}"),
        };
        let words = "a secret";
        let unsent = StoredMessage { unsent_at: Some(at(NOW)), ..stored(Content::text(words)) };
        assert_eq!(gone(&unsent), language.text("message-unsent"));
        let erased = StoredMessage { sender: None, content: None, ..unsent.clone() };
        assert_eq!(gone(&erased), language.text("message-erased"));
        let unknown = stored(Content::Other { raw: "{\"secret\":1}".to_owned() });
        assert_eq!(gone(&unknown), language.text("kind-other"));
        // Whoever took it back did so after any edit.
        let edited = StoredMessage { edited_at: Some(at(NOW)), ..unsent };
        assert!(bubbles(language).bubble(&edited).edited.is_none());
    }
}

#[test]
fn an_edit_has_its_day_and_time_in_the_zone_of_the_chat() {
    let words = "later";
    let late = at("2025-12-31T15:30:00Z");
    let message = StoredMessage { edited_at: Some(late), ..stored(Content::text(words)) };
    let shown = Language::ALL.map(|language| bubbles(language).bubble(&message).edited.unwrap());
    assert_eq!(
        shown,
        [
            "於 1月1日 00:30 編輯",
            "Edited 1\u{a0}Jan, 00:30",
            "1月1日 00:30に編集",
            "แก้ไขเมื่อ 1\u{a0}ม.ค. 00:30",
        ]
    );
    let bubble = english(&message);
    assert_eq!((&*bubble.time, &*bubble.datetime), ("13:00", "2026-03-01T04:00:00.000Z"));
}

#[test]
fn only_what_the_visitor_wrote_is_theirs() {
    let words = "mine";
    let mine = stored(Content::text(words));
    let nobodys = StoredMessage { sender: None, ..mine.clone() };
    let (ann, other) = (UserId::from("Uann"), UserId::from("Ubob"));
    let shown = |viewer, message: &StoredMessage| {
        Bubbles { viewer, ..bubbles(Language::English) }.bubble(message).mine
    };
    assert!(shown(Some(&ann), &mine) && !shown(Some(&other), &mine));
    assert!(!shown(None, &mine) && !shown(None, &nobodys), "nobody wrote nothing");
    assert!(!shown(Some(&ann), &nobodys));
    let (here, there) = (MessageId::from("m1"), MessageId::from("m10"));
    let target = |target| Bubbles { target, ..bubbles(Language::English) }.bubble(&mine).target;
    assert!(target(Some(&here)) && !target(Some(&there)) && !target(None));
}

#[test]
fn a_quote_is_one_short_line_that_leads_to_the_message() {
    let (id, words) = (MessageId::from("q/1"), "字".repeat(200));
    let answer = "yes";
    let quoting = StoredMessage { quoted: Some(id.clone()), ..stored(Content::text(answer)) };
    let quoted = |message: StoredMessage| {
        let quoted = HashMap::from([(id.clone(), Mask::none().show(message))]);
        Bubbles { quoted, ..bubbles(Language::English) }.bubble(&quoting).quote.unwrap()
    };
    let long = StoredMessage { id: id.clone(), ..stored(Content::text(format!("a\n{words}"))) };
    let quote = quoted(long.clone());
    assert_eq!((&*quote.name, quote.text), ("Ann Lee", format!("a {}…", "字".repeat(78))));
    assert_eq!(quote.href.as_deref(), Some("/c/C1?around=q%2F1#m-q%252F1"));
    let unsent = StoredMessage { unsent_at: Some(at(NOW)), ..long };
    assert_eq!(quoted(unsent).text, "This message was unsent");
    let missing = english(&quoting).quote.unwrap();
    assert_eq!((&*missing.name, &*missing.text), ("", "Message not backed up"));
    assert_eq!(missing.href, None);
}

#[test]
fn words_of_a_text_are_pieces_and_nothing_is_escaped_twice() {
    let words = "a & <b>";
    let BubbleContent::Text(pieces) = english(&stored(Content::text(words))).body else {
        panic!("no words")
    };
    assert_eq!(pieces, [Piece::Plain(words.to_owned())]);
}

/// Returns a reply of the bot from that source.
fn reply(source: ReplySource, rule: Option<&str>) -> StoredMessage {
    let reply = Some(ReplyOrigin { source, rule: rule.map(RuleId::from) });
    let words = "9-18";
    StoredMessage { is_bot: true, reply, id: "r&1".into(), ..stored(Content::text(words)) }
}

#[test]
fn the_origin_of_a_reply_is_told_as_far_as_the_reader_may_know() {
    let draft = |question: &str| RuleDraft {
        keywords: vec!["hours".to_owned(), "營業時間".to_owned()],
        question: question.to_owned(),
        ..RuleDraft::default()
    };
    for language in Language::ALL {
        let note = |message: &StoredMessage, rules: &VisibleRules| {
            OriginNote::of(message, rules, language)
        };
        let plain =
            |key: &str| Some(OriginNote { text: language.text(key), rule: None, wrong: None });
        let rule = |question: &str| {
            let rule = Rule::new("qa_1".into(), draft(question), at(NOW), "U1".into());
            VisibleRules::Of(HashMap::from([(RuleId::from("qa_1"), rule)]))
        };
        for (source, key) in [
            (ReplySource::Welcome, "origin-welcome"),
            (ReplySource::Rules, "origin-group-rules"),
            (ReplySource::Link, "origin-link"),
            (ReplySource::NoMatch, "origin-no-match"),
        ] {
            assert_eq!(note(&reply(source, None), &rule("")), plain(key));
        }
        let of_rule = reply(ReplySource::Qa, Some("qa_1"));
        let hidden = note(&of_rule, &VisibleRules::Hidden);
        assert_eq!(hidden, plain("origin-some-rule"), "members learn that a rule answered");
        let removed = VisibleRules::Of(HashMap::new());
        assert_eq!(note(&of_rule, &removed), plain("origin-rule-removed"));
        assert_eq!(note(&reply(ReplySource::Qa, None), &removed), plain("origin-some-rule"));
        let known = note(&of_rule, &rule("  When?\n ")).unwrap();
        let path = "/c/C1/assistant/rules/qa_1";
        assert_eq!(known.rule, Some(("When?".to_owned(), path.to_owned())));
        assert_eq!(known.wrong, Some(format!("{path}?reply=r%261")));
        let keywords = note(&of_rule, &rule(" \n")).unwrap().rule.unwrap().0;
        let comma = language.text("list-comma");
        assert_eq!(keywords, format!("hours{comma}營業時間"));
        let gone = StoredMessage { content: None, ..of_rule };
        assert_eq!(note(&gone, &rule("")), None, "what is gone has no origin");
        let own_words = "no reply";
        assert_eq!(note(&stored(Content::text(own_words)), &rule("")), None);
    }
}
