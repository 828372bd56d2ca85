//! Channels granted to a client: all of the person's, or chosen ones.

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_store::Channel;
use url::form_urlencoded;

use super::Inner;
use crate::api::ApiError;

/// Maximum number of channels offered on the page.
const OFFERED: u32 = 200;

/// Choice in the form: `reach` is `all` or `chosen`, with a `channel` for each chosen one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChannelGrant {
    All,
    Chosen(Vec<ChannelId>),
}

impl ChannelGrant {
    /// Parses the form; `None` without a choice.
    pub(super) fn of_form(form: &[u8]) -> Option<Self> {
        let mut reach = None;
        let mut chosen = Vec::new();
        for (name, value) in form_urlencoded::parse(form) {
            match &*name {
                "reach" => reach = Some(value),
                "channel" => chosen.push(ChannelId::from(&*value)),
                _ => {}
            }
        }
        match &*reach? {
            "all" => Some(Self::All),
            "chosen" => Some(Self::Chosen(chosen)),
            _ => None,
        }
    }
}

impl Inner {
    /// Returns the channels that a person may grant.
    pub(super) async fn offered(&self, user: &UserId) -> Result<Vec<Channel>, ApiError> {
        Ok(self.store.channels().channels_of(user, None, None, OFFERED).await?)
    }

    /// Returns the chosen channels that the person may grant; `None` for all.
    pub(super) async fn reached(
        &self,
        user: &UserId,
        reach: ChannelGrant,
    ) -> Result<Option<Vec<ChannelId>>, ApiError> {
        let ChannelGrant::Chosen(chosen) = reach else {
            return Ok(None);
        };
        let own = self.store.channels().channels_of(user, Some(&chosen), None, OFFERED).await?;
        Ok(Some(own.into_iter().map(|channel| channel.id).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_says_all_or_which() {
        let chosen = |ids: &[&str]| {
            Some(ChannelGrant::Chosen(ids.iter().map(|&id| ChannelId::from(id)).collect()))
        };
        assert_eq!(ChannelGrant::of_form(b"a=b&reach=all&channel=C1"), Some(ChannelGrant::All));
        assert_eq!(
            ChannelGrant::of_form(b"channel=C1&reach=chosen&channel=C%202"),
            chosen(&["C1", "C 2"])
        );
        assert_eq!(ChannelGrant::of_form(b"reach=chosen"), chosen(&[]));
        assert_eq!(ChannelGrant::of_form(b"channel=C1"), None);
        assert_eq!(ChannelGrant::of_form(b"reach=some"), None);
    }
}
