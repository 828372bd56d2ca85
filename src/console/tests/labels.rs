//! Labels: sizes, lengths, names, colours, and the addresses of messages, at their edges.

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MediaInfo, MessageType, Sticker};
use chatkeep_i18n::Language;
use chatkeep_store::{MediaReason, MediaRecord, MediaStatus, StoredMessage};
use proptest::prelude::*;

use super::{decoded, stored, values_of};
use crate::labels::{
    anchor, chat_name, context_path, gone, hue, initial, kind_key, length, lost_key, media_path,
    missing_key, name_of, person_name, picture_of, shortened, size, summary, zone_note,
};

/// Names of which nothing can be seen.
const UNSEEN: [&str; 8] =
    ["", " ", "\u{200b}", "\u{3164}", "\u{2800}", "\u{feff}", "\u{2060} ", "\u{3000}"];

/// Returns the bytes that a size tells.
fn told(size: &str) -> i64 {
    let (number, unit) = size.split_once('\u{a0}').unwrap();
    let tenths: i64 = match number.split_once('.') {
        Some((whole, tenth)) => format!("{whole}{tenth}").parse().unwrap(),
        None => format!("{number}0").parse().unwrap(),
    };
    let power = ["KB", "MB", "GB", "TB"].iter().position(|known| *known == unit).unwrap();
    tenths * 1_024_i64.pow(u32::try_from(power).unwrap() + 1) / 10
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_size_is_right_to_a_tenth_and_a_larger_one_is_never_told_smaller(
        bits in 10_u32..48,
        rest in any::<u32>(),
        more in 0_i64..2_000,
    ) {
        let bytes = (1_i64 << bits) + i64::from(rest) % (1_i64 << bits);
        let shown = size(bytes);
        prop_assert!((told(&shown) - bytes).abs() * 10 <= bytes, "{} {}", bytes, shown);
        let larger = size(bytes + more);
        prop_assert!(told(&larger) >= told(&shown), "{} {}", shown, larger);
        prop_assert!(shown.chars().count() <= 8, "{}", shown);
    }

    #[test]
    fn a_message_is_found_under_its_address(channel in any::<String>(), id in any::<String>()) {
        let (channel, id) = (ChannelId::from(channel), MessageId::from(id));
        let address = context_path(&channel, &id);
        prop_assert!(address.is_ascii() && !address.contains([' ', '"', '<', '\'']), "{}", address);
        prop_assert_eq!(values_of(&address, "around"), [id.as_str()]);
        let (_, fragment) = address.split_once('#').unwrap();
        prop_assert_eq!(decoded(fragment), anchor(&id), "browsers decode it once");
        let (path, _) = address.split_once('?').unwrap();
        prop_assert_eq!(decoded(path.strip_prefix("/c/").unwrap()), channel.as_str());
    }

    #[test]
    fn a_shortened_text_is_one_line_that_begins_like_the_whole(
        text in "[a ก็ไ會\u{301}👨\u{200d}\r\n\t]{0,40}",
        max in 0_usize..20,
    ) {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let short = shortened(&text, max);
        prop_assert!(!short.contains(['\r', '\n', '\t']) && !short.contains("  "), "{:?}", short);
        if let Some(start) = short.strip_suffix('…') {
            prop_assert!(line.starts_with(start) && start.len() < line.len());
            prop_assert!(start.chars().count() <= max);
        } else {
            prop_assert!(line.chars().count() <= max);
            prop_assert_eq!(&short, &line);
        }
    }
}

#[test]
fn units_change_where_a_unit_is_full() {
    for (bytes, shown) in [
        (1_024, "1 KB"),
        (10_239, "9.9 KB"),
        (10_240, "10 KB"),
        (1_047_552, "1023 KB"),
        (1_048_576, "1 MB"),
        (1_153_434, "1.1 MB"),
        (524_288_000, "500 MB"),
        (1_073_741_824, "1 GB"),
        (1_099_511_627_776, "1 TB"),
        (1_099_511_627_776 * 2_048, "2048 TB"),
    ] {
        assert_eq!(size(bytes).replace('\u{a0}', " "), shown, "{bytes}");
    }
    assert!(size(i64::MAX).ends_with("TB"), "the largest number has no larger unit");
}

#[test]
fn a_larger_file_is_never_told_to_be_smaller() {
    // Below a kilobyte there is nothing but "1 KB", as for a single byte.
    let told = [i64::MIN, -1, 0, 1, 102, 103, 500, 1_023, 1_024].map(size);
    assert_eq!(told, ["1\u{a0}KB"; 9]);
    assert_eq!(size(1_127), "1.1\u{a0}KB");
}

#[test]
fn lengths_have_two_digits_of_seconds_and_are_never_nothing() {
    for (milliseconds, shown) in [
        (i64::MIN, "0:01"),
        (-1, "0:01"),
        (999, "0:01"),
        (1_999, "0:01"),
        (9_000, "0:09"),
        (59_999, "0:59"),
        (60_000, "1:00"),
        (3_599_999, "59:59"),
        (360_000_000, "6000:00"),
    ] {
        assert_eq!(length(milliseconds), shown, "{milliseconds}");
    }
}

#[test]
fn the_initial_of_a_name_is_its_first_letter_or_digit() {
    for (name, shown) in [
        ("  ann", "A"),
        ("🇹🇼 fans", "F"),
        ("(7) boats", "7"),
        ("\u{200b}zoe", "Z"),
        ("ßen", "SS"),
        ("ไอ", "ไ"),
        ("דנה", "ד"),
        ("ｗｉｆｉ", "Ｗ"),
        ("١٢", "١"),
        ("👨‍👩‍👧", "👨"),
        ("!", "!"),
    ] {
        assert_eq!(initial(name), shown, "{name}");
    }
}

#[test]
fn colours_of_people_stay_what_they_are() {
    assert_eq!(["U1", "bot", "Uann", "C1", "", "日本"].map(hue), [1, 5, 2, 3, 3, 7]);
}

#[test]
fn a_name_that_nobody_sees_counts_as_none_in_every_language() {
    for language in Language::ALL {
        let (person, chat) = (language.text("name-unknown"), language.text("chat-nameless"));
        for name in UNSEEN.map(|name| Some(name.to_owned())).into_iter().chain([None]) {
            assert_eq!(person_name(name.clone(), language), person, "{name:?}");
            assert_eq!(chat_name(name.clone(), language), chat, "{name:?}");
        }
        for name in ["ליאור 7", "\u{202e}abc", "👋", "0", "⠿"] {
            assert_eq!(person_name(Some(name.to_owned()), language), name);
        }
    }
}

#[test]
fn senders_are_called_by_what_is_known_of_them() {
    let language = Language::Japanese;
    let message = stored(Content::Image(MediaInfo::default()));
    assert_eq!(name_of(&message, language), "Ann Lee");
    let bot = StoredMessage { is_bot: true, ..message.clone() };
    assert_eq!(name_of(&bot, language), language.text("bot-name"), "whatever its account's name");
    let nobody = StoredMessage { sender: None, ..message.clone() };
    assert_eq!(name_of(&nobody, language), language.text("sender-unknown"));
    assert_eq!((picture_of(&message), picture_of(&nobody)), (None, None));
    let mut pictured = message;
    pictured.channel = "C/1".into();
    if let Some(sender) = &mut pictured.sender {
        (sender.id, sender.picture_url) = ("U 1".into(), Some("https://a.example/p".to_owned()));
    }
    let picture = picture_of(&pictured).unwrap();
    assert!(picture.starts_with("/c/C%2F1/people/U%201/picture?v="), "{picture}");
    assert!(!picture.contains("a.example"), "nothing is loaded from other places: {picture}");
}

#[test]
fn the_line_about_a_message_is_its_words_or_its_kind() {
    let file = |name: &str| {
        Content::File(MediaInfo { file_name: Some(name.to_owned()), ..MediaInfo::default() })
    };
    let place = |title: Option<&str>| Content::Location {
        title: title.map(str::to_owned),
        address: Some("丸の内1丁目".to_owned()),
        latitude: 35.68,
        longitude: 139.76,
    };
    let sticker = |words: Option<&str>| {
        Content::Sticker(Sticker { text: words.map(str::to_owned), ..Sticker::default() })
    };
    for language in Language::ALL {
        let of = |content: Content| summary(&stored(content), language);
        let kind = |kind: MessageType| language.text(kind_key(kind));
        assert_eq!(of(file("a b.pdf")), "a b.pdf");
        assert_eq!(of(file("\u{200b}")), kind(MessageType::File));
        assert_eq!(of(place(Some("東京駅"))), "東京駅");
        assert_eq!(of(place(None)), kind(MessageType::Location));
        assert_eq!(of(place(Some("\u{3164}"))), kind(MessageType::Location));
        assert_eq!(of(sticker(Some("よろしく"))), "よろしく");
        assert_eq!(of(sticker(None)), kind(MessageType::Sticker));
        assert_eq!(of(sticker(Some("\u{200b}"))), kind(MessageType::Sticker));
        assert_eq!(of(Content::text("\u{200b}\u{feff}")), kind(MessageType::Text));
        assert_eq!(of(Content::Audio(MediaInfo::default())), kind(MessageType::Audio));
        assert_eq!(of(Content::Other { raw: "{\"x\":1}".to_owned() }), kind(MessageType::Other));
    }
}

#[test]
fn of_what_is_gone_no_word_is_told() {
    let language = Language::English;
    let words = "a secret";
    let unsent =
        StoredMessage { unsent_at: Some(super::at(super::NOW)), ..stored(Content::text(words)) };
    assert_eq!(summary(&unsent, language), language.text("message-unsent"));
    let erased = StoredMessage { sender: None, content: None, ..unsent };
    assert_eq!(summary(&erased, language), language.text("message-erased"));
    let of_bot = StoredMessage { is_bot: true, ..erased };
    assert_eq!(gone(&of_bot), "message-unsent", "nobody erases the bot");
}

#[test]
fn a_file_that_is_not_there_is_told_why() {
    let record = |status, reason| MediaRecord {
        status,
        bytes: 0,
        stored_at: None,
        blob: None,
        content_type: None,
        preview: None,
        reason,
    };
    assert_eq!(missing_key(None), "media-pending", "nothing is known yet");
    for status in MediaStatus::ALL {
        let key = missing_key(Some(&record(status, Some(MediaReason::TooLarge))));
        assert_eq!(key, format!("media-{}", status.name()));
        let imported = missing_key(Some(&record(status, Some(MediaReason::NotInExport))));
        assert_eq!(imported, "media-not-in-import");
        assert_eq!(lost_key(status, None), format!("media-{}", status.name()));
    }
}

#[test]
fn addresses_of_files_carry_any_id() {
    let path = media_path(&"telegram:-1/2".into(), &"import:a?b#c%20".into());
    assert_eq!(path, "/api/v1/channels/telegram%3A-1%2F2/backup/media/import%3Aa%3Fb%23c%2520");
}

#[test]
fn the_zone_of_times_is_named_in_every_language() {
    for language in Language::ALL {
        let note = zone_note(chrono_tz::America::Argentina::Buenos_Aires, language);
        assert!(note.contains("America/Argentina/Buenos_Aires"), "{note}");
    }
}
