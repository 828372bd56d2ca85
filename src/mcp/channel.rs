//! Channels as a model names them: an id, a link, or a name.

use std::collections::HashMap;

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_search::names::{self, NameMatch};
use chatkeep_services::access::{ChannelAccess, HasScope, Member, ReadMessages};
use chatkeep_services::{Caller, ServiceError, Services};
use chatkeep_store::{Channel, ChannelName};
use chatkeep_view::LinkTarget;
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::sanitize;

use super::argument;
use super::channel_table::{ChannelEntry, ChannelTable, short_name};
use super::error::{ToolError, echo};
use super::names::{LISTED, SHORT_NAMES, is_short_name, listed};
use super::time::AnswerZone;

/// Name of the argument.
const CHANNEL: &str = "channelId";
/// Maximum length of a name that stands for a channel, in characters.
const NAME: usize = 100;
/// Length of the ids of LINE behind their first letter.
const LINE_ID: usize = 32;

/// Channel that a caller may use, with what answers about it need.
pub(super) struct OpenChannel<S> {
    pub(super) access: ChannelAccess<Member, S>,
    pub(super) zone: AnswerZone,
    /// True if it was not given by its id: then the answer has the id.
    pub(super) is_resolved: bool,
}

impl<S> OpenChannel<S> {
    pub(super) const fn id(&self) -> &ChannelId {
        self.access.without_reading()
    }

    /// Returns its id if it was given otherwise.
    pub(super) fn resolved_id(&self) -> Option<String> {
        self.is_resolved.then(|| self.id().to_string())
    }
}

/// Opens the channel that a text names, for a caller who has the scope `S`.
///
/// # Errors
/// Returns an error without the scope, for a channel that does not exist or that the caller may not
/// see (which of both is not told), and for a name that several have.
pub(super) async fn open<S: HasScope>(
    services: &Services,
    caller: Caller,
    given: &str,
) -> Result<OpenChannel<S>, ToolError> {
    services.access.scoped::<S>(caller.clone())?;
    let NamedChannel { id, hint } = named(services, &caller, given).await?;
    let is_resolved = id.as_str() != given;
    let opened = open_id(services, caller, id).await.map_err(|error| match error {
        ToolError::Service(ServiceError::PermissionDenied) => {
            ToolError::NoChannel { given: given.to_owned(), hint }
        }
        other => other,
    })?;
    Ok(OpenChannel { is_resolved, ..opened })
}

/// Opens the channel of that id, for a caller who has the scope `S`.
///
/// # Errors
/// Those of [`open`]; [`ServiceError::PermissionDenied`] for a channel that does not exist or that
/// the caller may not see.
pub(super) async fn open_id<S: HasScope>(
    services: &Services,
    caller: Caller,
    channel: ChannelId,
) -> Result<OpenChannel<S>, ToolError> {
    let access = services.access.channel::<Member, S>(caller, channel).await?;
    let zone = AnswerZone(services.messages.zone(Some(access.without_reading())).await?);
    Ok(OpenChannel { access, zone, is_resolved: false })
}

/// Channel that a text may mean: whether the caller may see it is not checked.
struct NamedChannel {
    id: ChannelId,
    /// Channels that may be meant instead, as a sentence.
    hint: String,
}

async fn named(
    services: &Services,
    caller: &Caller,
    given: &str,
) -> Result<NamedChannel, ToolError> {
    argument::short(CHANNEL, given)?;
    let sure = |id| Ok(NamedChannel { id, hint: String::new() });
    match services.links.target(given) {
        LinkTarget::Channel(id) | LinkTarget::Message(id, _) => return sure(id),
        LinkTarget::OtherPage => return Err(ToolError::invalid(CHANNEL, NO_CHANNEL_PAGE)),
        LinkTarget::Elsewhere => return Err(elsewhere(services, CHANNEL)),
        LinkTarget::NoLink if is_id(given) => return sure(given.into()),
        LinkTarget::NoLink => {}
    }
    let known = services.channels.names(caller).await?;
    let known = known.into_iter().map(Masked::into_row);
    let known = known.map(|channel| (channel.id, channel.name)).collect();
    match names::find(given, known).await {
        NameMatch::Id(id) | NameMatch::Name(id) => sure(id),
        NameMatch::Names(several) => {
            let tell = last_activity(services, caller, &several).await?;
            let listed = listed(&several, |id| tell.get(id).cloned().unwrap_or_default());
            let why =
                format!("{} is the name of several channels: {listed}. Give an id", echo(given));
            Err(ToolError::invalid(CHANNEL, why))
        }
        NameMatch::Unknown(near) => {
            let hint = match near.as_slice() {
                [] if is_short_name(given) => format!(" Mind that {SHORT_NAMES}."),
                [] => String::new(),
                near => format!(" Did you mean {}?", listed(near, |_| String::new())),
            };
            // The platform may know of a membership that is not stored yet.
            let id = ChannelId::from(given);
            if id.is_possible() {
                return Ok(NamedChannel { id, hint });
            }
            Err(ToolError::NoChannel { given: given.to_owned(), hint })
        }
    }
}

/// End of the error about a link to another page of this service.
const NO_CHANNEL_PAGE: &str = "is not the link of a channel: those have /c/ and the id in them";

/// Creates the error about a link of another server.
pub(super) fn elsewhere(services: &Services, argument: &'static str) -> ToolError {
    match services.links.base() {
        Some(base) => ToolError::invalid(
            argument,
            format!("is a link of another server: those of this one begin with {base}/c/"),
        ),
        None => ToolError::invalid(
            argument,
            "is a link, and this server has no public address for links: give the id",
        ),
    }
}

/// Returns what people may give for each of these channels: its name, where [`open`] takes it for that
/// one, else its id.
pub(super) async fn handles(known: Vec<Masked<ChannelName>>) -> Vec<(Masked<ChannelName>, String)> {
    let names = known.iter().filter_map(|channel| channel.name.clone()).collect();
    let unique = names::unique(names).await;
    let is_plain = |name: &str| {
        !is_id(name) && !name.contains("://") && sanitize::one_line(name, NAME) == name
    };
    let handle = |channel: Masked<ChannelName>| {
        let name = channel.name.as_ref().filter(|name| unique.contains(*name) && is_plain(name));
        let handle = name.cloned().unwrap_or_else(|| channel.id.to_string());
        (channel, handle)
    };
    known.into_iter().map(handle).collect()
}

/// Returns true for the form of LINE's ids, which no name has: it needs no lookup among the names.
fn is_id(text: &str) -> bool {
    text.strip_prefix(['C', 'R', 'U']).is_some_and(|rest| {
        let id = rest.split('~').next().unwrap_or_default();
        id.len() == LINE_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Returns the last activity of channels of the caller in words, as far as they may read it.
async fn last_activity(
    services: &Services,
    caller: &Caller,
    channels: &[(ChannelId, String)],
) -> Result<HashMap<ChannelId, String>, ToolError> {
    let Ok(access) = services.access.scoped::<ReadMessages>(caller.clone()) else {
        return Ok(HashMap::new());
    };
    let ids: Vec<_> = channels.iter().take(LISTED).map(|(id, _)| id.clone()).collect();
    let last = services.channels.last_activity(&access, &ids).await?;
    let zone = default_zone(services);
    let tell = |(id, at): (ChannelId, Timestamp)| (id, last_message(zone, at));
    Ok(last.into_iter().map(tell).collect())
}

/// Formats the time of a last message behind the name of a candidate.
pub(super) fn last_message(zone: AnswerZone, at: Timestamp) -> String {
    format!(" (last message {})", zone.show(at))
}

/// Creates an empty table of channels in an answer that knows this one.
pub(super) fn table_of_one(channel: &Masked<Channel>, zone: AnswerZone) -> ChannelTable {
    ChannelTable::new([entry(&channel.id, channel.name.as_deref(), zone)])
}

/// Creates an empty table of channels in an answer that knows these.
pub(super) fn table_of(services: &Services, channels: &[Masked<ChannelName>]) -> ChannelTable {
    let known = |channel: &Masked<ChannelName>| {
        entry(&channel.id, channel.name.as_deref(), zone_of(services, channel))
    };
    ChannelTable::new(channels.iter().map(known))
}

fn entry(id: &ChannelId, name: Option<&str>, zone: AnswerZone) -> (ChannelId, ChannelEntry) {
    let (name, time_zone) = (short_name(name), zone.name().to_owned());
    (id.clone(), ChannelEntry { channel_id: id.to_string(), name, time_zone })
}

/// Returns the zone of a channel: its own, otherwise the service's.
pub(super) fn zone_of(services: &Services, channel: &ChannelName) -> AnswerZone {
    AnswerZone(channel.zone(default_zone(services).0))
}

/// Returns the service's zone.
pub(super) fn default_zone(services: &Services) -> AnswerZone {
    AnswerZone(services.channels.default_zone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_not_taken_for_names() {
        for id in ["C0123456789abcdef0123456789abcdef", "U0123456789abcdef0123456789abcdef~shop"] {
            assert!(is_id(id), "{id}");
        }
        for name in ["C2", "Cats", "家族", "Rome 2026: plans", "team:alpha", "", "U1~shop"] {
            assert!(!is_id(name), "{name}");
        }
    }
}
