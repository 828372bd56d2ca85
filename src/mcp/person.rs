//! People as a model names them: an id, or a name.

use std::collections::BTreeMap;

use chatkeep_core::event::PlatformKind;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_search::UnknownName;
use chatkeep_search::names::{self, NameMatch};
use chatkeep_services::Services;
use chatkeep_services::access::{ReadMessages, Scoped, is_me};
use chatkeep_services::members::ChannelSenders;
use chatkeep_view::pseudonyms::Mask;

use super::argument;
use super::channel::last_message;
use super::error::{ToolError, echo, ended};
use super::names::{LISTED, SHORT_NAMES, is_short_name, listed};
use super::shown_id::shown_id;
use super::time::AnswerZone;

/// Name of the argument.
const SENDER: &str = "senderId";

/// Hint for a name that means nobody where only authors are found by theirs.
const OF_AUTHORS: &str = "names of those who wrote are understood, those of others with a key that has \
    the scope read:members";

/// Prefix of the ids of authors of imported messages who are no members.
const IMPORT: &str = "import";

/// Person whose messages are wanted.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) id: UserId,
    /// True if they were given by their name: then the answer has the id.
    pub(super) is_resolved: bool,
}

impl Sender {
    /// Returns the id of a person who was given by their name.
    pub(super) fn resolved_id(sender: Option<&Self>) -> Option<String> {
        sender.filter(|sender| sender.is_resolved).map(|sender| sender.id.to_string())
    }
}

/// Resolves a sender, once the caller is known to read `channels`.
///
/// # Errors
/// Returns an error for a name that several people there have, and for a text that is neither a
/// name nor an id there, with the people who may be meant.
pub(super) async fn sender(
    services: &Services,
    access: &Scoped<ReadMessages>,
    channels: &[ChannelId],
    zone: AnswerZone,
    given: Option<&str>,
) -> Result<Option<Sender>, ToolError> {
    let Some(given) = given else { return Ok(None) };
    argument::short(SENDER, given)?;
    if is_me(given) {
        return Ok(Some(Sender { id: access.caller.user.clone(), is_resolved: true }));
    }
    let as_id = || Some(Sender { id: UserId::from(given), is_resolved: false });
    // A stand-in comes as the id that it stands for, whose form would tell that somebody has it.
    let has_form = !access.caller.mask.is_on();
    if has_form && is_line_id(given) {
        return Ok(as_id());
    }
    let ChannelSenders { mut people, bots } =
        services.members.senders(&access.caller, channels).await?;
    people.extend(bots);
    match names::find(given, people).await {
        NameMatch::Id(id) => Ok(Some(Sender { id, is_resolved: false })),
        NameMatch::Name(id) => Ok(Some(Sender { id, is_resolved: true })),
        NameMatch::Names(several) => {
            let ids: Vec<_> = several.iter().take(LISTED).map(|(id, _)| id.clone()).collect();
            let last = services.members.last_messages(access, channels, &ids).await?;
            let tell = |id: &UserId| last.get(id).map(|at| last_message(zone, *at));
            let listed = listed(&several, |id| tell(id).unwrap_or_default());
            let given = echo(given);
            let why = format!("{given} is the name of several people: {listed}. Give a userId");
            Err(ToolError::invalid(SENDER, why))
        }
        NameMatch::Unknown(_) if has_form && is_other_id(given) => Ok(as_id()),
        NameMatch::Unknown(near) => Err(unknown(access, given, &near)),
    }
}

/// Returns the error about a text that means nobody; names that are close to it are told to whoever may
/// list the members.
fn unknown(access: &Scoped<ReadMessages>, given: &str, near: &[(UserId, String)]) -> ToolError {
    let lists_members = access.caller.bounds.has(Scope::ReadMembers);
    let near = if lists_members { near } else { &[] };
    let hint = match near {
        [] if is_short_name(given) => SHORT_NAMES.to_owned(),
        [] if !lists_members => OF_AUTHORS.to_owned(),
        [] => "get_members lists members, results name the authors of imported messages".to_owned(),
        near => format!("did you mean {}?", listed(near, |_| String::new())),
    };
    let why = format!("{} is nobody's userId or name here: {hint}", echo(given));
    let mask = &access.caller.mask;
    let why = if mask.is_on() { format!("{}{}", ended(&why), stand_ins(mask)) } else { why };
    ToolError::invalid(SENDER, why)
}

/// Returns hints about names of a query that several people have who wrote there: what is found is of
/// all of them. Stand-ins are of one person each.
///
/// # Errors
/// Returns an error when the store fails.
pub(super) async fn shared(
    services: &Services,
    access: &Scoped<ReadMessages>,
    channels: &[ChannelId],
    named: &BTreeMap<String, Vec<UserId>>,
) -> Result<Vec<String>, ToolError> {
    let mut hints = Vec::new();
    if access.caller.mask.is_on() {
        return Ok(hints);
    }
    for (name, ids) in named.iter().filter(|(_, ids)| ids.len() > 1) {
        let last = services.members.last_messages(access, channels, ids).await?;
        let wrote: Vec<_> = ids.iter().filter(|id| last.contains_key(*id)).collect();
        if wrote.len() > 1 {
            let shown: Vec<_> = wrote.iter().take(LISTED).map(|id| shown_id(id.as_str())).collect();
            let more = if wrote.len() > LISTED { " …" } else { "" };
            hints.push(format!(
                "from:{} is {} people, counted together: {}{more}. senderId takes one of them.",
                echo(name),
                wrote.len(),
                shown.join(", ")
            ));
        }
    }
    Ok(hints)
}

/// Returns names of a query that nobody has, with those close to them if the caller may list the
/// members.
pub(super) fn near(access: &Scoped<ReadMessages>, unknown: &[UnknownName]) -> Vec<UnknownName> {
    let mut unknown = unknown.to_vec();
    if !access.caller.bounds.has(Scope::ReadMembers) {
        for name in &mut unknown {
            name.near.clear();
        }
    }
    unknown
}

/// Returns the sentences about names that nobody has; nothing without any.
pub(super) fn nobody(mask: &Mask, unknown: &[UnknownName]) -> String {
    let sentence = |UnknownName { name, near }: &UnknownName| {
        let name = echo(name);
        match near.as_slice() {
            [] => format!(" Nobody is called {name}."),
            near => {
                let near = listed(near, |_| String::new());
                format!(" Nobody is called {name}: did you mean {near}?")
            }
        }
    };
    let stand_ins = if unknown.is_empty() { "" } else { stand_ins(mask) };
    unknown.iter().map(sentence).chain([stand_ins.to_owned()]).collect()
}

/// Returns what readers who see stand-ins have to know where a name means nobody.
const fn stand_ins(mask: &Mask) -> &'static str {
    if mask.is_on() {
        " This key shows stand-ins in place of people: names of the results are understood, real ones \
         are not."
    } else {
        ""
    }
}

/// Returns true for the form of LINE's ids, which no name has: it needs no lookup, and an unknown one
/// has no results.
fn is_line_id(text: &str) -> bool {
    text.strip_prefix('U').is_some_and(|rest| {
        rest.len() >= 32 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Returns true for the form of other ids, which a name may have, too: those of a platform or of an
/// import. Any other text with a colon is a name, or a link.
fn is_other_id(text: &str) -> bool {
    text.split_once(':').is_some_and(|(prefix, id)| {
        let is_known = prefix == IMPORT || PlatformKind::parse(prefix).is_some();
        let is_whole = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
        is_known && is_whole && !id.starts_with("//")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_ids_are_told_from_names() {
        assert!(is_line_id("U0123456789abcdef0123456789abcdef"));
        for id in ["line:-100123", "import:aa", "import:a/b:c"] {
            assert!(is_other_id(id) && !is_line_id(id), "{id}");
        }
        for name in [
            "Ann",
            "U2",
            "小美",
            "Ann: the first",
            "a:",
            ":",
            "import:",
            "import:a b",
            "Import:aa",
            "Bo:Sales",
            "https://chat.example.org/c/C1",
            "mailto:ann@chat.example.org",
            "line://app/1",
            "import://a",
        ] {
            assert!(!is_line_id(name) && !is_other_id(name), "{name}");
        }
    }
}
