//! Tests of identifiers at their limits: bytes, scripts, JSON, shards and chats of several bots.

use proptest::prelude::*;

use super::*;

fn check(text: &str) -> Result<MessageId, InvalidId> {
    UntrustedId::new(text).checked()
}

fn read(json: &str) -> Result<Result<MessageId, InvalidId>, serde_json::Error> {
    serde_json::from_str::<UntrustedId>(json).map(UntrustedId::checked)
}

#[test]
fn the_limit_counts_bytes_and_no_letter_is_cut() {
    for letter in ["x", "é", "早", "👍"] {
        let longest = letter.repeat(MAX_ID / letter.len());
        assert_eq!(check(&longest).unwrap().as_str(), longest);
        assert_eq!(check(&format!("{longest}{letter}")), Err(InvalidId::TooLong), "{letter}");
    }
    // What is too long is told as that, whatever its characters are.
    assert_eq!(check(&"\0".repeat(MAX_ID + 1)), Err(InvalidId::TooLong));
    assert_eq!(check(&"\0".repeat(MAX_ID)), Err(InvalidId::Control));
}

#[test]
fn letters_of_any_script_are_no_control_characters() {
    for text in [
        " ",
        "群組",
        "ไทย",
        "שלום",
        "\u{202e}abc",
        "👨\u{200d}👩\u{200d}👧",
        "a\u{301}",
        "\u{feff}",
    ] {
        assert_eq!(check(text).unwrap().as_str(), text, "{text:?}");
    }
}

#[test]
fn json_brings_in_nothing_that_the_check_refuses() {
    for control in [r#""a\u0000""#, r#""\r""#, r#""\u0085""#, r#""\u007f""#, r#""\ufffd""#] {
        assert_eq!(read(control).unwrap(), Err(InvalidId::Control), "{control}");
    }
    assert_eq!(read(r#""""#).unwrap(), Err(InvalidId::Empty));
    // A pair of surrogates is one letter; half of one is no text at all.
    assert_eq!(read(r#""\ud83d\udc4d""#).unwrap().unwrap().as_str(), "👍");
    for broken in [r#""\ud83d""#, r#""\udc4d\ud83d""#, "1", "null", "[]", r#"{"id":"U1"}"#] {
        assert!(read(broken).is_err(), "{broken}");
    }
}

#[test]
fn an_unchecked_text_is_not_shown() {
    let shown = format!("{:?}", UntrustedId::new("秘密"));
    assert_eq!(shown, "UntrustedId(6 bytes)");
    assert_eq!(InvalidId::TooLong.to_string(), "it is longer than 255 bytes");
}

#[test]
fn shards_are_the_published_hash() {
    // The first three are vectors that the authors of FNV-1a publish.
    for (text, hash) in
        [("a", 0xe40c_292c_u32), ("b", 0xe70c_2de5), ("foobar", 0xbf9c_f968), ("群組", 0x0bc9_92a0)]
    {
        assert_eq!(shard_of(text), hash % 64, "{text}");
    }
    assert_eq!(ChannelId::from("C1").shard(), 57);
}

#[test]
fn a_chat_of_another_bot_has_a_shard_of_its_own_but_one_id_on_the_platform() {
    let plain = ChannelId::from("U1");
    let shards: std::collections::HashSet<_> =
        (0..64).map(|bot| plain.chat_with(&format!("bot{bot}")).shard()).collect();
    assert!(shards.len() > 1, "all chats of one person would load one worker");
    // A mark that a platform should ever put into its ids hides no more than what follows it.
    assert_eq!(ChannelId::from("U1~a~b").on_platform(), "U1");
    assert_eq!(ChannelId::from("~shop").on_platform(), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_chat_leads_back_to_its_person(id in "[^~]{1,20}", bot in "[a-z0-9-]{1,32}") {
        let plain = ChannelId::new(id.clone());
        let chat = plain.chat_with(&bot);
        prop_assert_eq!(chat.on_platform(), id.as_str());
        prop_assert_eq!(plain.on_platform(), id.as_str());
        prop_assert!(plain.is_plain() && !chat.is_plain());
        prop_assert!(chat.is_possible() || !plain.is_possible());
    }

    #[test]
    fn no_two_chats_share_an_id(
        one in ("[CRU][0-9a-f]{0,3}", "[a-c-]{1,3}"),
        other in ("[CRU][0-9a-f]{0,3}", "[a-c-]{1,3}"),
    ) {
        let chat = |(id, bot): &(String, String)| ChannelId::from(id.as_str()).chat_with(bot);
        prop_assert_eq!(chat(&one) == chat(&other), one == other);
    }

    #[test]
    fn every_text_has_one_shard_and_every_valid_id_survives_json(text in ".{0,80}") {
        let shard = shard_of(&text);
        prop_assert!(shard < SHARDS);
        prop_assert_eq!(ChannelId::new(text.clone()).shard(), shard);
        let json = serde_json::to_string(&UserId::new(text.clone())).unwrap();
        prop_assert_eq!(serde_json::from_str::<UserId>(&json).unwrap().into_string(), text.clone());
        // What is valid by itself is valid in JSON, and nothing else is.
        prop_assert_eq!(read(&json).unwrap(), check(&text));
    }
}
