//! Addresses of the pages about channels and messages. They are permanent: people keep them.

use std::sync::Arc;

use chatkeep_core::id::{ChannelId, MessageId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

/// Characters of ids that stand in a path as they are.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Beginning of the URIs of resources.
const SCHEME: &str = "chatkeep://";
/// End of the URI of a file.
const FILE: &str = "/file";

/// Builder of public addresses; without a public address there are none. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Links(Option<Arc<str>>);

/// Target of a text that may be the address of a page, or the URI of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// No address at all.
    NoLink,
    /// Page or resource of a channel.
    Channel(ChannelId),
    /// Page or resource of a message.
    Message(ChannelId, MessageId),
    /// Another page of this service.
    OtherPage,
    /// Page of another server, or of this one by another address than the public one.
    Elsewhere,
}

impl Links {
    /// Creates it for the public address of the service, without a slash at its end.
    pub fn new(base: Option<&str>) -> Self {
        Self(base.map(Arc::from))
    }

    /// Returns the address of a channel's page.
    pub fn channel(&self, channel: &ChannelId) -> Option<String> {
        let base = self.0.as_deref()?;
        Some(format!("{base}{}", channel_path(channel)))
    }

    /// Returns the address of a message's page.
    pub fn message(&self, channel: &ChannelId, message: &MessageId) -> Option<String> {
        let base = self.0.as_deref()?;
        Some(format!("{base}{}", message_path(channel, message)))
    }

    /// Returns the public address, without a slash at its end.
    pub fn base(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns what an address names: a whole one, the path of one (`/c/…`), or the URI of a
    /// resource. Pages below that of a channel, such as its people, stand for the channel.
    pub fn target(&self, text: &str) -> LinkTarget {
        if let Some(path) = text.strip_prefix(SCHEME) {
            return resource_of(path).map_or(LinkTarget::OtherPage, ResourceName::target);
        }
        let path = match (text.starts_with("/c/"), Url::parse(text)) {
            (true, _) => text.split(['?', '#']).next().unwrap_or_default().to_owned(),
            (false, Ok(url)) if matches!(url.scheme(), "http" | "https") => {
                match self.path_below(&url) {
                    Some(path) => path,
                    None => return LinkTarget::Elsewhere,
                }
            }
            _ => return LinkTarget::NoLink,
        };
        page_of(&path).unwrap_or(LinkTarget::OtherPage)
    }

    /// Returns the path of an address behind the public one; `None` for that of another server.
    fn path_below(&self, url: &Url) -> Option<String> {
        let base = Url::parse(self.0.as_deref()?).ok()?;
        let path = url.path().strip_prefix(base.path().trim_end_matches('/'))?;
        (url.origin() == base.origin() && path.starts_with('/')).then(|| path.to_owned())
    }
}

/// Returns the channel or message of a path; `None` for any other page.
fn page_of(path: &str) -> Option<LinkTarget> {
    let parts = segments(path.trim_end_matches('/'))?;
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["", "c", channel, "m", message] if !channel.is_empty() && !message.is_empty() => {
            Some(LinkTarget::Message((*channel).into(), (*message).into()))
        }
        ["", "c", channel, ..] if !channel.is_empty() => {
            Some(LinkTarget::Channel((*channel).into()))
        }
        _ => None,
    }
}

/// Resource that a URI names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceName {
    /// A channel.
    Channel(ChannelId),
    /// A message.
    Message(ChannelId, MessageId),
    /// File of a message.
    File(ChannelId, MessageId),
}

impl ResourceName {
    /// Parses a URI; `None` for one of anything else.
    pub fn parse(uri: &str) -> Option<Self> {
        resource_of(uri.strip_prefix(SCHEME)?)
    }

    /// Returns the page that is about the same.
    fn target(self) -> LinkTarget {
        match self {
            Self::Channel(channel) => LinkTarget::Channel(channel),
            Self::Message(channel, message) | Self::File(channel, message) => {
                LinkTarget::Message(channel, message)
            }
        }
    }
}

/// Returns what the part of a URI behind the scheme names.
fn resource_of(path: &str) -> Option<ResourceName> {
    if path.contains(['?', '#']) {
        return None;
    }
    let parts = segments(path)?;
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [_, "", ..] | [_, _, _, "", ..] => None,
        ["channel", channel] => Some(ResourceName::Channel((*channel).into())),
        ["channel", channel, "message", message] => {
            Some(ResourceName::Message((*channel).into(), (*message).into()))
        }
        ["channel", channel, "message", message, "file"] => {
            Some(ResourceName::File((*channel).into(), (*message).into()))
        }
        _ => None,
    }
}

/// Returns the decoded segments of a path; `None` where one is no text that the database stores.
fn segments(path: &str) -> Option<Vec<String>> {
    let decoded = |part: &str| {
        let text = percent_decode_str(part).decode_utf8().ok()?;
        (!text.contains('\0')).then(|| String::from(text))
    };
    path.split('/').map(decoded).collect()
}

/// Returns the URI of a message as a resource of the Model Context Protocol. It needs no public
/// address.
pub fn message_uri(channel: &ChannelId, message: &MessageId) -> String {
    let (channel, message) = (segment(channel.as_str()), segment(message.as_str()));
    format!("{SCHEME}channel/{channel}/message/{message}")
}

/// Returns the URI of a message's file as such a resource.
pub fn file_uri(channel: &ChannelId, message: &MessageId) -> String {
    message_uri(channel, message) + FILE
}

/// Returns the path of a channel's page.
pub fn channel_path(channel: &ChannelId) -> String {
    format!("/c/{}", segment(channel.as_str()))
}

/// Returns the path of a message's page. For an id of one or two dots it is that of the channel:
/// browsers take such a part out of any address, however it is escaped.
pub fn message_path(channel: &ChannelId, message: &MessageId) -> String {
    let path = channel_path(channel);
    match message.as_str() {
        "." | ".." => path,
        message => format!("{path}/m/{}", segment(message)),
    }
}

/// Returns a text as a segment of a path.
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod link_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_need_a_public_address_and_carry_any_id() {
        let (channel, message) = ("C1/ü".into(), "import:a?b#c".into());
        let links = Links::new(Some("https://chat.example.org/x"));
        let expected = "https://chat.example.org/x/c/C1%2F%C3%BC/m/import%3Aa%3Fb%23c";
        assert_eq!(links.message(&channel, &message).as_deref(), Some(expected));
        let expected = "https://chat.example.org/x/c/C1%2F%C3%BC";
        assert_eq!(links.channel(&channel).as_deref(), Some(expected));
        assert_eq!(Links::default().message(&channel, &message), None);
        assert_eq!(Links::default().channel(&channel), None);
    }

    #[test]
    fn uris_of_resources_lead_back_to_their_ids() {
        let (channel, message): (ChannelId, MessageId) = ("C1/ü".into(), "import:a?b#c".into());
        let uri = message_uri(&channel, &message);
        assert_eq!(uri, "chatkeep://channel/C1%2F%C3%BC/message/import%3Aa%3Fb%23c");
        let file = file_uri(&channel, &message);
        let ids = (channel.clone(), message.clone());
        assert_eq!(ResourceName::parse(&file), Some(ResourceName::File(ids.0, ids.1)));
        let odd: (ChannelId, MessageId) = ("..".into(), "file".into());
        let odd_uri = message_uri(&odd.0, &odd.1);
        assert_eq!(ResourceName::parse(&odd_uri), Some(ResourceName::Message(odd.0, odd.1)));
        let links = Links::default();
        let target = LinkTarget::Message(channel, message);
        assert_eq!((links.target(&uri), links.target(&file)), (target.clone(), target));
        assert_eq!(links.target("chatkeep://channel/C1"), LinkTarget::Channel("C1".into()));
        for none in ["", "channel/", "c/1/message/2", "channel/C1/message/m1/", "channel/C1?x"] {
            let uri = format!("chatkeep://{none}");
            assert_eq!(links.target(&uri), LinkTarget::OtherPage, "{none}");
        }
        assert_eq!(links.target("chatkeep: the group"), LinkTarget::NoLink);
    }

    #[test]
    fn links_lead_back_to_their_ids() {
        let links = Links::new(Some("https://chat.example.org/x"));
        let (channel, message): (ChannelId, MessageId) = ("C1/ü".into(), "import:a?b#c".into());
        let target = LinkTarget::Message(channel.clone(), message.clone());
        let page = links.message(&channel, &message).unwrap();
        assert_eq!(links.target(&page), target);
        assert_eq!(links.target(&format!("{page}/?a=b#c")), target);
        assert_eq!(links.target(&page.replace("https://chat", "HTTPS://Chat")), target);
        assert_eq!(links.target(&message_path(&channel, &message)), target);
        let own = links.channel(&channel).unwrap();
        assert_eq!(links.target(&own), LinkTarget::Channel(channel.clone()));
        assert_eq!(links.target(&format!("{own}/people")), LinkTarget::Channel(channel));
        assert_eq!(links.target("https://chat.example.org/x/console"), LinkTarget::OtherPage);
        for other in [
            "https://evil.example.org/x/c/C1/m/1",
            "http://chat.example.org/x/c/C1/m/1",
            "https://chat.example.org:8443/x/c/C1/m/1",
            "https://chat.example.org/y/c/C1/m/1",
            "https://chat.example.org/xc/C1/m/1",
            "https://chat.example.org@evil.example.org/x/c/C1/m/1",
        ] {
            assert_eq!(links.target(other), LinkTarget::Elsewhere, "{other}");
            assert_eq!(Links::default().target(other), LinkTarget::Elsewhere, "{other}");
        }
        for none in ["", "m1", "C1", "import:a?b", "mailto:a@b.example", "telegram:-100123"] {
            assert_eq!(links.target(none), LinkTarget::NoLink, "{none}");
        }
        assert_eq!(links.target("/c/"), LinkTarget::OtherPage);
        assert_eq!(links.target("/c/%ff/m/1"), LinkTarget::OtherPage);
        assert_eq!(links.target("/c/C1/m/%00"), LinkTarget::OtherPage);
    }
}
