//! Tests of contents: as they are stored, and the words of them that people and rules see.

use proptest::prelude::*;

use super::*;

fn text(max: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..max)
        .prop_map(|letters| letters.iter().collect::<String>())
}

fn optional() -> impl Strategy<Value = Option<String>> {
    prop::option::of(text(6))
}

fn media() -> impl Strategy<Value = MediaInfo> {
    let set = (text(4), any::<Option<u32>>(), any::<Option<u32>>());
    let set = prop::option::of(set.prop_map(|(id, index, total)| ImageSet { id, index, total }));
    (optional(), optional(), any::<Option<i64>>(), optional(), any::<Option<i64>>(), set).prop_map(
        |(original_url, preview_url, duration, file_name, file_size, image_set)| MediaInfo {
            original_url,
            preview_url,
            duration,
            file_name,
            file_size,
            image_set,
        },
    )
}

fn written() -> impl Strategy<Value = Content> {
    let emoji = (any::<u32>(), any::<u32>(), text(4), text(4));
    let emoji = emoji.prop_map(|(index, length, product_id, emoji_id)| Emoji {
        index,
        length,
        product_id,
        emoji_id,
    });
    let person = prop::option::of(text(4).prop_map(crate::id::UserId::new));
    let mention = (person, any::<u32>(), any::<u32>(), any::<bool>(), any::<Option<bool>>());
    let mention = mention.prop_map(|(user_id, start, length, is_self, is_all)| Mention {
        user_id,
        start,
        length,
        is_self,
        is_all,
    });
    let lists = (prop::collection::vec(emoji, 0..3), prop::collection::vec(mention, 0..3));
    (text(12), lists).prop_map(|(text, (emojis, mentions))| Content::Text {
        text,
        emojis,
        mentions,
    })
}

fn contents() -> impl Strategy<Value = Content> {
    let place = (optional(), optional(), -90.0..90.0_f64, -180.0..180.0_f64);
    let keywords = prop::collection::vec(text(4), 0..3);
    let sticker = (text(4), text(4), optional(), keywords, optional());
    prop_oneof![
        3 => written(),
        1 => media().prop_map(Content::Image),
        1 => media().prop_map(Content::Video),
        1 => media().prop_map(Content::Audio),
        1 => media().prop_map(Content::File),
        1 => place.prop_map(|(title, address, latitude, longitude)| Content::Location {
            title,
            address,
            latitude,
            longitude,
        }),
        1 => sticker.prop_map(|(package_id, sticker_id, resource_type, keywords, text)| {
            Content::Sticker(Sticker { package_id, sticker_id, resource_type, keywords, text })
        }),
        1 => text(12).prop_map(|raw| Content::Other { raw }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_stored_content_is_read_as_it_was_written(content in contents()) {
        let json = serde_json::to_string(&content).unwrap();
        let read: Content = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), json);
        prop_assert_eq!(format!("{read:?}"), format!("{content:?}"));
    }

    #[test]
    fn the_stored_type_is_the_one_of_every_interface(content in contents()) {
        let json = serde_json::to_value(&content).unwrap();
        prop_assert_eq!(json["type"].as_str(), Some(content.kind().name()));
        // What a file is searched by is its name alone.
        if content.kind().is_media() {
            let name = json.get("fileName").and_then(serde_json::Value::as_str);
            let searchable = content.searchable();
            prop_assert_eq!(searchable.as_deref(), name);
        }
    }

    #[test]
    fn what_is_searched_is_among_what_is_read(content in contents()) {
        let (legible, searchable) = (content.legible(), content.searchable());
        if let Some(words) = searchable.filter(|words| !words.is_empty()) {
            prop_assert!(legible.as_ref().is_some_and(|legible| legible.contains(&*words)));
        }
        prop_assert!(legible.is_none_or(|legible| !legible.is_empty()));
    }

    #[test]
    fn rules_see_texts_only_and_no_space_around_them(content in contents()) {
        let typed = content.typed_words();
        prop_assert_eq!(typed.is_some(), content.kind() == MessageType::Text);
        let typed = typed.unwrap_or_default();
        prop_assert_eq!(typed.trim(), &*typed);
    }
}

#[test]
fn contents_are_stored_as_earlier_versions_read_them() {
    let place = Content::Location { title: None, address: None, latitude: 25.0, longitude: 121.5 };
    for (content, stored) in [
        (Content::text("早安"), r#"{"type":"text","text":"早安"}"#),
        (Content::Image(MediaInfo::default()), r#"{"type":"image"}"#),
        (place, r#"{"type":"location","latitude":25.0,"longitude":121.5}"#),
        (
            Content::Sticker(Sticker { package_id: "1".into(), ..Sticker::default() }),
            r#"{"type":"sticker","packageId":"1","stickerId":""}"#,
        ),
        (Content::Other { raw: "{}".into() }, r#"{"type":"other","raw":"{}"}"#),
    ] {
        assert_eq!(serde_json::to_string(&content).unwrap(), stored);
    }
}

#[test]
fn contents_of_other_versions_are_read_or_refused_as_a_whole() {
    for (stored, words) in [
        (r#"{"text":"a","type":"text","addedLater":[1]}"#, Some("a")),
        (r#"{"type":"location","latitude":25,"longitude":121,"title":"Taipei"}"#, Some("Taipei")),
        (r#"{"type":"file","fileName":"a.pdf","fileSize":null}"#, Some("a.pdf")),
        (r#"{"type":"audio"}"#, None),
    ] {
        let content: Content = serde_json::from_str(stored).unwrap();
        assert_eq!(content.searchable().as_deref(), words, "{stored}");
    }
    for stored in [
        "{}",
        r#"{"type":"poll"}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":null}"#,
        r#"{"type":"location","latitude":"25","longitude":121}"#,
        r#"{"type":"sticker","packageId":"1"}"#,
    ] {
        assert!(serde_json::from_str::<Content>(stored).is_err(), "{stored}");
    }
}

#[test]
fn places_and_stickers_are_told_in_words() {
    let place = |title: Option<&str>, address: Option<&str>| Content::Location {
        title: title.map(str::to_owned),
        address: address.map(str::to_owned),
        latitude: 25.033,
        longitude: 121.0,
    };
    for (content, words) in [
        (place(None, None), Some("25.033,121")),
        (place(Some("101"), None), Some("101\n25.033,121")),
        (place(None, Some("Xinyi")), Some("Xinyi\n25.033,121")),
        (place(Some("101"), Some("Xinyi")), Some("101\nXinyi\n25.033,121")),
        (Content::text(""), None),
        (Content::File(MediaInfo::default()), None),
        (Content::Other { raw: "secret".into() }, None),
    ] {
        assert_eq!(content.legible().as_deref(), words, "{content:?}");
    }
    let sticker = |keywords: &[&str], text: Option<&str>| {
        let keywords = keywords.iter().copied().map(str::to_owned).collect();
        let text = text.map(str::to_owned);
        Content::Sticker(Sticker { keywords, text, ..Sticker::default() }).legible()
    };
    assert_eq!(sticker(&[], None), None);
    assert_eq!(sticker(&["happy", "cat"], None).as_deref(), Some("happy, cat"));
    assert_eq!(sticker(&["happy"], Some("hi")).as_deref(), Some("hi"));
    assert_eq!(sticker(&["happy"], Some("")), None, "its sender wrote nothing");
}

#[test]
fn typed_words_are_without_mentions_and_emoji_of_the_platform() {
    let mention =
        |start, length| Mention { user_id: None, start, length, is_self: false, is_all: None };
    let emoji = |index, length| Emoji {
        index,
        length,
        product_id: "1".to_owned(),
        emoji_id: "2".to_owned(),
    };
    let content = Content::Text {
        text: "👋@Bob (moon) hours? ".to_owned(),
        emojis: vec![emoji(7, 6)],
        mentions: vec![mention(2, 4)],
    };
    assert_eq!(content.typed_words().as_deref(), Some("👋    hours?"));
    assert_eq!(Content::text("  hours\n").typed_words().as_deref(), Some("hours"));
    assert_eq!(Content::Image(MediaInfo::default()).typed_words(), None);
}
