//! Messages as a model names them: an id, or the permanent link of one.

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_services::access::HasScope;
use chatkeep_services::{Caller, ServiceError, Services};
use chatkeep_view::LinkTarget;

use super::channel::{self, OpenChannel, elsewhere};
use super::error::{ToolError, echo};
use super::shown_id::shown_id;

/// Reference to a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MessageRef {
    /// Its channel, where a link names it.
    pub(super) channel: Option<ChannelId>,
    pub(super) id: MessageId,
}

/// Reads a reference.
///
/// # Errors
/// Returns an error for the link of another server or of another page.
pub(super) fn read(
    services: &Services,
    argument: &'static str,
    given: &str,
) -> Result<MessageRef, ToolError> {
    match services.links.target(given) {
        LinkTarget::NoLink => Ok(MessageRef { channel: None, id: given.into() }),
        LinkTarget::Message(channel, id) => Ok(MessageRef { channel: Some(channel), id }),
        LinkTarget::Channel(_) | LinkTarget::OtherPage => Err(ToolError::invalid(
            argument,
            "is not the link of a message: those end with /m/ and the id",
        )),
        LinkTarget::Elsewhere => Err(elsewhere(services, argument)),
    }
}

/// Reads a reference to a message of that channel.
///
/// # Errors
/// Those of [`read`]; also for the link of a message of another channel.
pub(super) fn read_in(
    services: &Services,
    argument: &'static str,
    channel: &ChannelId,
    given: &str,
) -> Result<MessageId, ToolError> {
    let MessageRef { channel: named, id } = read(services, argument, given)?;
    match named {
        Some(named) if named != *channel => Err(other_channel(argument)),
        _ => Ok(id),
    }
}

fn other_channel(argument: &'static str) -> ToolError {
    ToolError::invalid(argument, "is the link of a message of another channel than channelId")
}

/// Opens the channel of a message: that of the link, the given one, or the only one of the caller's
/// that has a message of this id.
///
/// # Errors
/// Those of [`read`]; also without the scope `S`, and for a message that does not exist or that the
/// caller may not read: which of both is not told.
pub(super) async fn open<S: HasScope>(
    services: &Services,
    caller: Caller,
    argument: &'static str,
    given: &str,
    channel: Option<&str>,
) -> Result<(OpenChannel<S>, MessageId), ToolError> {
    super::argument::short(argument, given)?;
    let MessageRef { channel: linked, id } = read(services, argument, given)?;
    let opened = match (channel, linked) {
        (Some(channel), linked) => {
            let opened = channel::open(services, caller, channel).await?;
            if linked.is_some_and(|linked| linked != *opened.id()) {
                return Err(other_channel(argument));
            }
            opened
        }
        (None, Some(linked)) => {
            let opened = channel::open_id(services, caller, linked).await;
            opened.map_err(|error| unknown(error, given))?
        }
        (None, None) => {
            let found = only_channel::<S>(services, &caller, argument, given, &id).await?;
            channel::open_id(services, caller, found).await?
        }
    };
    Ok((opened, id))
}

/// Turns the error about a channel of a link into the one about its message: nobody is told which
/// of both does not exist.
fn unknown(error: ToolError, given: &str) -> ToolError {
    match error {
        ToolError::Service(ServiceError::PermissionDenied) => ToolError::no_message(given),
        other => other,
    }
}

/// Returns the only channel of the caller that has a message of that id.
async fn only_channel<S: HasScope>(
    services: &Services,
    caller: &Caller,
    argument: &'static str,
    given: &str,
    id: &MessageId,
) -> Result<ChannelId, ToolError> {
    let access = services.access.scoped::<S>(caller.clone())?;
    let channels = services.channels.names(caller).await?;
    let channels = channels.into_iter().map(|channel| channel.into_row().id);
    let mut found = services.messages.channels_with(&access, channels, id).await?;
    found.sort();
    match found.len() {
        0 => Err(ToolError::no_message(given)),
        1 => Ok(found.swap_remove(0)),
        count => {
            let listed = found.iter().take(5).map(|id| shown_id(id.as_str())).collect::<Vec<_>>();
            let why = format!(
                "{} is the id of a message in {count} channels ({}): give its link",
                echo(given),
                listed.join(", ")
            );
            Err(ToolError::invalid(argument, why))
        }
    }
}
