//! Addresses of the pages about channels and messages. They are permanent: people keep them.

use std::sync::Arc;

use chatkeep_core::id::{ChannelId, MessageId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters of ids that stand in a path as they are.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Builder of public addresses; without a public address there are none. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Option<Arc<str>>);

impl Links {
    /// Creates it for the public address of the service, without a slash at its end.
    pub(crate) fn new(base: Option<&str>) -> Self {
        Self(base.map(Arc::from))
    }

    /// Returns the address of a channel's page.
    pub(crate) fn channel(&self, channel: &ChannelId) -> Option<String> {
        let base = self.0.as_deref()?;
        Some(format!("{base}{}", channel_path(channel)))
    }

    /// Returns the address of a message's page.
    pub(crate) fn message(&self, channel: &ChannelId, message: &MessageId) -> Option<String> {
        let base = self.0.as_deref()?;
        Some(format!("{base}{}", message_path(channel, message)))
    }

    /// Returns the address of a message's page with `{id}` in place of its id, and `{channelId}` in
    /// place of the channel's unless that is given.
    pub(crate) fn template(&self, channel: Option<&ChannelId>) -> Option<String> {
        let base = self.0.as_deref()?;
        let channel = channel.map_or_else(|| "/c/{channelId}".to_owned(), channel_path);
        Some(format!("{base}{channel}/m/{{id}}"))
    }
}

/// Returns the path of a channel's page.
pub(crate) fn channel_path(channel: &ChannelId) -> String {
    format!("/c/{}", segment(channel.as_str()))
}

/// Returns the path of a message's page.
pub(crate) fn message_path(channel: &ChannelId, message: &MessageId) -> String {
    format!("{}/m/{}", channel_path(channel), segment(message.as_str()))
}

/// Returns a text as a segment of a path.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

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
}
