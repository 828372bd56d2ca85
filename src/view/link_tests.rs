//! Tests of links with every id: where they lead, and what they are not.

use proptest::prelude::*;
use proptest::string::{RegexGeneratorStrategy, string_regex};

use super::*;

/// Returns ids as platforms and imports may give them, and worse. Those of nothing but dots have a
/// test of their own.
fn any_id() -> RegexGeneratorStrategy<String> {
    let odd = "([a-zA-Z0-9]|[/\\\\?#%&=+:@;~ .\n\t\"'<>]|\\PC|%2[Ff]|\\.\\./){0,12}";
    string_regex(&format!("{odd}[a-zA-Z早👍_-]")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_link_leads_back_to_its_ids(channel in any_id(), message in any_id()) {
        let (channel, message) = (ChannelId::from(channel), MessageId::from(message));
        let of_message = LinkTarget::Message(channel.clone(), message.clone());
        let of_channel = LinkTarget::Channel(channel.clone());
        for base in ["https://chat.example", "http://127.0.0.1:8080", "https://a.example/x/y%20z"] {
            let links = Links::new(Some(base));
            let page = links.message(&channel, &message).unwrap();
            prop_assert_eq!(links.target(&page), of_message.clone());
            // As people paste it.
            for end in ["/", "?at=1", "#m-1", "/?a=/c/C2/m/2#/m/3"] {
                prop_assert_eq!(links.target(&format!("{page}{end}")), of_message.clone());
            }
            let own = links.channel(&channel).unwrap();
            prop_assert_eq!(links.target(&own), of_channel.clone());
            prop_assert_eq!(links.target(&format!("{own}/people?x=/m/1")), of_channel.clone());
            prop_assert!(page.starts_with(&own) && page.is_ascii());
            let elsewhere = format!("https://evil.example{}", message_path(&channel, &message));
            prop_assert_eq!(links.target(&elsewhere), LinkTarget::Elsewhere);
        }
        let path = message_path(&channel, &message);
        prop_assert_eq!(Links::default().target(&path), of_message);
        prop_assert_eq!(Links::default().target(&channel_path(&channel)), of_channel);
    }

    #[test]
    fn every_resource_leads_back_to_its_ids(channel in any_id(), message in any_id()) {
        let (channel, message) = (ChannelId::from(channel), MessageId::from(message));
        let (uri, file) = (message_uri(&channel, &message), file_uri(&channel, &message));
        let ids = || (channel.clone(), message.clone());
        let (c, m) = ids();
        prop_assert_eq!(ResourceName::parse(&uri), Some(ResourceName::Message(c, m)));
        let (c, m) = ids();
        prop_assert_eq!(ResourceName::parse(&file), Some(ResourceName::File(c, m)));
        let http = uri.replacen("chatkeep", "http", 1);
        for wrong in [format!("{uri}/"), format!("{uri}?x"), format!("{file}/x"), http] {
            prop_assert_eq!(ResourceName::parse(&wrong), None);
        }
        // A URI is one of a page, too, and no other text is.
        let (c, m) = ids();
        prop_assert_eq!(Links::default().target(&file), LinkTarget::Message(c, m));
        prop_assert_eq!(Links::default().target(&format!(" {uri}")), LinkTarget::NoLink);
    }

    #[test]
    fn a_segment_is_a_text_of_its_own(one in any_id(), other in any_id()) {
        let segments = [segment(&one), segment(&other)];
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "%-_.~".contains(c);
        prop_assert!(segments.iter().all(|segment| segment.chars().all(is_plain)));
        prop_assert_eq!(segments[0] == segments[1], one == other);
    }

    #[test]
    fn any_text_is_a_target_or_none(text in "(/c/|chatkeep://|https?://)?(\\PC|[/?#%]|m/){0,20}") {
        let links = Links::new(Some("https://chat.example"));
        match links.target(&text) {
            LinkTarget::Channel(channel) => prop_assert!(!channel.as_str().is_empty()),
            LinkTarget::Message(channel, message) => {
                prop_assert!(!channel.as_str().is_empty() && !message.as_str().is_empty());
                prop_assert!(!message.as_str().contains('\0'));
            }
            LinkTarget::NoLink => prop_assert!(!text.starts_with("/c/")),
            LinkTarget::OtherPage | LinkTarget::Elsewhere => {}
        }
    }
}

#[test]
fn pages_of_others_are_nobodys_here() {
    let links = Links::new(Some("https://chat.example/x"));
    for (text, expected) in [
        ("https://CHAT.example:443/x/c/C1", LinkTarget::Channel("C1".into())),
        ("https://chat.example/x/c/C1/m/", LinkTarget::Channel("C1".into())),
        ("https://chat.example/x/c//m/1", LinkTarget::OtherPage),
        ("https://chat.example/x/d/C1", LinkTarget::OtherPage),
        ("https://chat.example/x", LinkTarget::Elsewhere),
        ("https://chat.example.evil.example/x/c/C1", LinkTarget::Elsewhere),
        ("https://evil.example/?https://chat.example/x/c/C1", LinkTarget::Elsewhere),
        ("ftp://chat.example/x/c/C1", LinkTarget::NoLink),
        ("//chat.example/x/c/C1", LinkTarget::NoLink),
        ("c/C1/m/1", LinkTarget::NoLink),
        ("/c/C1/m/1/more", LinkTarget::Channel("C1".into())),
        ("/c/C1/m/%E6%97%A9", LinkTarget::Message("C1".into(), "早".into())),
        ("/c/C1/m/早", LinkTarget::Message("C1".into(), "早".into())),
        ("/c/C1/m/%", LinkTarget::Message("C1".into(), "%".into())),
        ("/c/C1/m/%E6", LinkTarget::OtherPage),
    ] {
        assert_eq!(links.target(text), expected, "{text}");
    }
    assert_eq!(links.base(), Some("https://chat.example/x"));
}

#[test]
fn a_link_to_an_id_of_dots_leads_to_its_channel_at_least() {
    let links = Links::new(Some("https://chat.example"));
    let target = |id: &str| links.target(&links.message(&"C1".into(), &id.into()).unwrap());
    for id in [".", ".."] {
        assert_eq!(target(id), LinkTarget::Channel("C1".into()), "{id}");
    }
    assert_eq!(target("..."), LinkTarget::Message("C1".into(), "...".into()));
    assert_eq!(
        ResourceName::parse(&message_uri(&"C1".into(), &"..".into())),
        Some(ResourceName::Message("C1".into(), "..".into()))
    );
}
