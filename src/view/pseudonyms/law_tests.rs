//! Tests of masks as a whole: whatever row is shown, nobody's name is in it, and one person is the
//! same everywhere; ids go out and come back.

use std::fmt::Debug;

use chatkeep_core::assistant::{AssistantConfig, QaConfig, TriggerConfig, WelcomeConfig};
use chatkeep_core::blob::BlobId;
use chatkeep_core::event::{ChannelKind, PlatformKind};
use chatkeep_core::message::{
    Content, EarlierText, EarlierTexts, Emoji, MediaInfo, MessageType, Sticker,
};
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ActivityPerson, Channel, ChannelName, ChannelStatus, MediaItem, MediaRecord, MediaStatus,
    Member, MemberMove, MemberStatus, Sender, StoredMessage, User,
};
use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::{Value, json};

use super::*;
use crate::{Links, MessageView, sanitize, segment};

const ANN: &str = "U0123456789abcdef0123456789abcdef";
const BOB: &str = "import:aa/ü";
const SECRET: &str = "Quilla Zuboff";
const PICTURE: &str = "https://profile.line-scdn.net/0hQuilla";
/// Parts of names and of all else that tells who somebody is, in lower case.
const TELLING: [&str; 7] =
    ["quilla", "ｑｕｉｌｌａ", "zuboff", "小明", "0912", "@example", "line-scdn"];
/// Text in which somebody is named in every way.
const TEXT: &str = "ＱＵＩＬＬＡ and 王小明: 0912-345-678, quilla@example.com, \
    https://a.example/u/Quilla?x=Zuboff";

fn key() -> PseudonymKey {
    PseudonymKey::new([9; 32])
}

fn mask() -> Mask {
    let people = [(ANN, Some(SECRET)), (BOB, Some("王小明")), ("U2", None)];
    let people = people.map(|(id, name)| (UserId::from(id), name.map(str::to_owned)));
    Mask::of(&key(), &people).unwrap()
}

fn secret() -> String {
    SECRET.to_owned()
}

fn text() -> String {
    TEXT.to_owned()
}

fn sender() -> Sender {
    Sender { id: ANN.into(), display_name: Some(secret()), picture_url: Some(PICTURE.to_owned()) }
}

fn record() -> MediaRecord {
    MediaRecord {
        status: MediaStatus::Stored,
        bytes: 1,
        stored_at: None,
        blob: BlobId::parse(&"a0".repeat(32)),
        content_type: Some("image/jpeg".to_owned()),
        preview: None,
        reason: None,
    }
}

fn info() -> MediaInfo {
    MediaInfo {
        original_url: Some(PICTURE.to_owned()),
        preview_url: Some(PICTURE.to_owned()),
        file_name: Some("Quilla Zuboff 0912345678.pdf".to_owned()),
        ..MediaInfo::default()
    }
}

/// Returns contents of every type with people in all of their texts.
fn contents() -> Vec<Content> {
    let mention =
        Mention { user_id: Some(ANN.into()), start: 0, length: 6, is_self: false, is_all: None };
    let emoji = Emoji { index: 1, length: 1, product_id: "p".into(), emoji_id: "e".into() };
    vec![
        Content::Text { text: text(), emojis: vec![emoji], mentions: vec![mention] },
        Content::Image(info()),
        Content::Video(info()),
        Content::Audio(info()),
        Content::File(info()),
        Content::Location {
            title: Some(text()),
            address: Some(text()),
            latitude: 25.5,
            longitude: 121.5,
        },
        Content::Sticker(Sticker {
            keywords: vec![text()],
            text: Some(text()),
            ..Sticker::default()
        }),
        Content::Other { raw: json!({"name": SECRET, "text": TEXT}).to_string() },
    ]
}

fn message(content: Content) -> StoredMessage {
    let earlier = |(at, content): (i64, Content)| EarlierText {
        at: Timestamp::from_millis(at),
        content: serde_json::to_string(&content).unwrap(),
    };
    let broken =
        EarlierText { at: Timestamp::from_millis(-1), content: format!("{{\"poem\":{TEXT:?}}}") };
    let earlier: Vec<_> = (0..).zip(contents()).map(earlier).chain([broken]).collect();
    StoredMessage {
        channel: "C1".into(),
        id: "m1".into(),
        sent_at: Timestamp::from_millis(1),
        backed_up_at: Timestamp::from_millis(2),
        sender: Some(sender()),
        kind: content.kind(),
        media: content.kind().is_media().then(record),
        content: Some(content),
        bytes: 1,
        quoted: None,
        edited_at: Some(Timestamp::from_millis(100)),
        unsent_at: None,
        is_bot: false,
        reply: None,
        earlier_texts: earlier.into_iter().collect::<EarlierTexts>(),
    }
}

#[track_caller]
fn assert_silent(shown: &str) {
    // Ids are exchanged at the edge.
    let shown = shown.replace(ANN, "").replace(BOB, "").to_lowercase();
    for telling in TELLING {
        assert!(!shown.contains(telling), "{telling} in {shown}");
    }
}

#[track_caller]
fn assert_masked<T: Maskable + Debug>(row: T) {
    let told = format!("{row:?}").to_lowercase();
    assert!(TELLING.iter().any(|telling| told.contains(telling)), "it says nothing: {told}");
    assert_silent(&format!("{:?}", mask().show(row).into_row()));
}

#[test]
fn no_message_of_any_type_names_anybody() {
    for content in contents() {
        let kind = content.kind();
        let shown = mask().show(message(content.clone()));
        assert_silent(&format!("{:?}", *shown));
        // An earlier text of no known form is left out, the others stay.
        assert_eq!(shown.earlier_texts.as_slice().len(), contents().len());
        let view = serde_json::to_string(&MessageView::new(shown, &Links::default())).unwrap();
        assert_silent(&view);
        let value: Value = serde_json::from_str(&view).unwrap();
        assert_eq!(value["sender"]["displayName"], key().person(&ANN.into()).name, "{kind:?}");
        assert!(value["sender"]["pictureUrl"].is_null() && value["sha256"].is_null());
        let file = if kind.is_media() { json!("file.pdf") } else { Value::Null };
        assert_eq!(value["fileName"], file, "{kind:?}");
        // What says nothing of people is as it was.
        assert_eq!((&value["id"], &value["type"]), (&json!("m1"), &json!(kind.name())));
        let is_place = kind == MessageType::Location;
        assert_eq!(value["latitude"], if is_place { json!(25.5) } else { Value::Null });
    }
}

#[test]
fn no_row_of_people_and_channels_names_anybody() {
    let at = Timestamp::from_millis(1);
    assert_masked(sender());
    let (display_name, picture_url) = (Some(secret()), Some(PICTURE.to_owned()));
    assert_masked(Member {
        user: ANN.into(),
        display_name: display_name.clone(),
        picture_url: picture_url.clone(),
        role: Role::Owner,
        status: MemberStatus::Active,
        joined_at: at,
        left_at: None,
        updated_at: at,
    });
    assert_masked(MemberMove { channel: "C1".into(), user: sender(), at, joined: true });
    for user in [Some(ANN.into()), None] {
        assert_masked(ActivityPerson {
            user,
            is_bot: false,
            display_name: display_name.clone(),
            picture_url: picture_url.clone(),
            messages: 1,
        });
    }
    assert_masked(User {
        id: ANN.into(),
        display_name,
        picture_url,
        plan: chatkeep_core::plan::Plan::Free,
        used: 0,
        created_at: at,
    });
    assert_masked(MediaItem {
        channel: "C1".into(),
        message: "m1".into(),
        sent_at: at,
        kind: MessageType::Image,
        record: record(),
        info: info(),
    });
    let words = || TriggerConfig { trigger_keywords: vec![text()], ..TriggerConfig::default() };
    assert_masked(AssistantConfig {
        qa: QaConfig { no_match_reply: Some(text()), ..QaConfig::default() },
        welcome: WelcomeConfig { message: text(), ..WelcomeConfig::default() },
        rules: words(),
        link: words(),
        ..AssistantConfig::default()
    });
}

#[test]
fn a_chat_of_one_person_has_their_stand_in_for_its_name() {
    let name = key().person(&ANN.into()).name;
    for (id, kind, expected) in [
        (ANN.to_owned(), ChannelKind::User, name.clone()),
        (format!("{ANN}~shop"), ChannelKind::User, name.clone()),
        ("C1".to_owned(), ChannelKind::Group, format!("{name} and friends")),
        ("R1".to_owned(), ChannelKind::Room, format!("{name} and friends")),
    ] {
        let channel = Channel {
            id: id.as_str().into(),
            platform: PlatformKind::Line,
            kind,
            bot: String::new(),
            name: Some(format!("{SECRET} and friends")),
            picture_url: Some(PICTURE.to_owned()),
            member_count: 2,
            created_at: Timestamp::default(),
            created_by: "system".to_owned(),
            enabled_at: Timestamp::default(),
            status: ChannelStatus::Active,
            bytes: 0,
            message_count: 0,
            time_zone: None,
            retention_days: None,
            keeps_earlier_texts: false,
        };
        let called =
            ChannelName { id: channel.id.clone(), name: channel.name.clone(), time_zone: None };
        let (shown, called) = (mask().show(channel), mask().show(called));
        assert_eq!((shown.name.as_deref(), shown.picture_url.as_deref()), (Some(&*expected), None));
        assert_eq!(called.name.as_deref(), Some(&*expected), "{id}");
    }
}

#[test]
fn one_person_has_one_name_everywhere() {
    let (mask, ann) = (mask(), key().person(&ANN.into()));
    let mention =
        Mention { user_id: Some(ANN.into()), start: 0, length: 7, is_self: false, is_all: None };
    let said = mask.text_and_mentions("@Quilly, Quilla Zuboff, ZUBOFF", &[mention]);
    assert_eq!(said.text, format!("@{0}, {0}, {0}", ann.name));
    assert_eq!(mask.name(&ANN.into(), None), Some(ann.name.clone()), "also before it is known");
    assert_eq!(
        mask.name(&"Ustranger".into(), Some(secret())),
        Some(key().person(&"Ustranger".into()).name)
    );
    assert_eq!(mask.id(&ANN.into()), ann.id);
    assert!(mask.knows(&ANN.into()) && mask.knows(&"U2".into()) && !mask.knows(&"U3".into()));
    // Readers of two keys cannot compare.
    let other = Mask::of(&PseudonymKey::new([8; 32]), &[(ANN.into(), Some(secret()))]).unwrap();
    assert_ne!(other.text(SECRET.to_owned()), mask.text(SECRET.to_owned()));
    assert_ne!(other.outgoing(ANN), mask.outgoing(ANN));
    assert_eq!(format!("{mask:?}{:?}", Mask::none()), "Mask(pseudonyms)Mask(none)");
}

#[test]
fn an_id_goes_out_in_none_of_the_forms_in_which_lines_show_it() {
    let long = "z".repeat(255);
    for id in ["a\"b\\c", "x\u{200b}y0123456789abcdef", "two words", long.as_str()] {
        let mask = Mask::of(&key(), &[(id.into(), None)]).unwrap();
        let line = sanitize::one_line(id, id.len());
        for shown in [sanitize::quoted(&line), line, segment(id)] {
            let out = mask.outgoing(&format!("p1 = {shown}")).into_owned();
            assert_eq!(out.matches("person-").count(), 1, "{out}");
            assert!(!out.contains(shown.trim_matches('"')), "{shown} in {out}");
        }
    }
}

#[test]
fn without_a_mask_everything_is_as_it_is() {
    let mask = Mask::none();
    for content in contents() {
        let row = message(content);
        assert_eq!(format!("{:?}", mask.show(row.clone()).into_row()), format!("{row:?}"));
    }
    assert_eq!(
        (mask.outgoing(ANN), mask.incoming(ANN), mask.note(ANN)),
        (ANN.into(), ANN.into(), ANN.into())
    );
    assert_eq!(mask.text(text()), TEXT);
    assert_eq!(mask.outgoing_json(b"{\"a\":1".to_vec()), b"{\"a\":1");
    assert!(mask.knows(&"anybody".into()));
}

/// Texts with parts of ids, of cursors and of escapes in any order.
const ODD_TEXT: &str = concat!(
    "(\\PC|[\n\u{200b}…%]|eyJmIjoi|person-|U[0-9a-f]{30,34}|%55|Quilla|\u{ad}|",
    "%55[0-9a-f]{32}){0,12}",
);

/// Returns pieces of texts: ids of known people as they are and escaped, and words.
fn pieces() -> impl Strategy<Value = Vec<(String, String)>> {
    let piece = prop_oneof![
        Just(ANN.to_owned()),
        Just(BOB.to_owned()),
        Just("U2".to_owned()),
        "[a-z早ก]{0,5}",
        "C[0-9]{1,4}",
    ];
    prop::collection::vec((piece, "[ /.,:;?=\"\n()-]{1,3}"), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ids_go_out_as_stand_ins_and_come_back(pieces in pieces()) {
        let mask = mask();
        let text: String = pieces.iter().flat_map(|(piece, gap)| [piece.as_str(), gap]).collect();
        let out = mask.outgoing(&text).into_owned();
        for id in [ANN, BOB] {
            prop_assert!(!out.contains(id), "{out}");
        }
        prop_assert_eq!(mask.incoming(&out), text.as_str());
        // What the reader writes as ids is nobody's, and what is kept for them is as they see it.
        prop_assert_eq!(mask.note(&out), out.as_str());
        let given = mask.incoming(&text).into_owned();
        prop_assert!(!given.contains(ANN) && !given.contains(BOB), "{given}");
        let value = json!({"list": [text, 1.5], "text": text});
        let json = serde_json::to_vec(&value).unwrap();
        let shown = mask.outgoing_json(json.clone());
        let value: Value = serde_json::from_slice(&shown).unwrap();
        prop_assert_eq!(&value["text"], &out);
        prop_assert_eq!(mask.incoming_json(shown.clone(), |_| true), json);
        // Only where a member names people a stand-in becomes an id.
        let taken = mask.incoming_json(shown, |member| member == "list");
        let value: Value = serde_json::from_slice(&taken).unwrap();
        prop_assert_eq!(&value["list"][0], &text);
        prop_assert_eq!(&value["text"], &out);
    }

    #[test]
    fn an_id_of_the_platform_goes_out_nowhere(
        before in "[a-zA-Z0-9 /%.早-]{0,6}",
        digits in "[0-9a-f]{32}",
        is_upper in any::<bool>(),
        behind in "[g-zG-Z0-9 /%.早…-]{0,6}",
    ) {
        let digits = if is_upper { digits.to_uppercase() } else { digits };
        let text = format!("{before}U{digits}{behind}");
        let out = mask().outgoing(&text).to_lowercase();
        prop_assert!(!out.contains(&digits.to_lowercase()), "{text} became {out}");
        let taken = mask().incoming(&text).to_lowercase();
        prop_assert!(!taken.contains(&digits.to_lowercase()), "{text} became {taken}");
    }

    #[test]
    fn any_text_can_be_shown_and_taken(text in string_regex(ODD_TEXT).unwrap()) {
        let mask = mask();
        let out = mask.outgoing(&text).into_owned();
        prop_assert_eq!(mask.outgoing(&out), out.as_str());
        let taken = [mask.incoming(&text), mask.note(&text)];
        // What is taken names nobody whom the reader does not know. Cursors stay as they are.
        prop_assert!(text.contains("eyJ") || taken.iter().all(|taken| !line_id(taken)), "{taken:?}");
        mask.text(text);
    }
}

/// Returns true if a text has an id in the form of LINE in it.
fn line_id(text: &str) -> bool {
    text.match_indices('U').any(|(at, _)| {
        let digits = text.as_bytes().get(at + 1..at + 33);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}
