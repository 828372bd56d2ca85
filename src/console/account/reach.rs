//! Choice of chats that a key or a webhook is limited to.

use chatkeep_core::id::ChannelId;
use chatkeep_i18n::Language;
use chatkeep_store::Channel;
use chatkeep_view::{LinkTarget, Links};

use super::super::form::{FormErrors, count};
use super::{CHATS, OfferedChats, name_of};

/// Choice as a form shows it.
#[derive(Debug)]
pub(super) struct ChatChoice {
    /// True for all chats, later ones included.
    pub(super) all: bool,
    pub(super) chats: Vec<ChatOption>,
    /// Field for chats that are not offered; `None` where all are.
    pub(super) others: Option<OtherChats>,
}

/// Field for ids of chats.
#[derive(Debug)]
pub(super) struct OtherChats {
    pub(super) value: String,
    pub(super) hint: String,
}

/// Chats as a form sends them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentChats<'a> {
    /// `all` or `chosen`.
    pub(super) reach: &'a str,
    /// Ids of those that were ticked.
    pub(super) ticked: &'a [String],
    /// Ids or addresses of others, as typed.
    pub(super) others: &'a str,
}

/// A chat to choose.
#[derive(Debug)]
pub(super) struct ChatOption {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) chosen: bool,
}

impl ChatChoice {
    /// Creates the choice among the visitor's chats. Chosen ones that are not among them stay
    /// chosen, with their id as a name.
    pub(super) fn new(offered: &OfferedChats, sent: SentChats<'_>, language: Language) -> Self {
        let (own, chosen) = (&offered.list, sent.ticked);
        let option = |chat: &Channel| ChatOption {
            id: chat.id.to_string(),
            name: name_of(chat, language),
            chosen: chosen.iter().any(|id| id == chat.id.as_str()),
        };
        let known = |id: &&String| own.iter().any(|chat| chat.id.as_str() == **id);
        let gone = chosen.iter().filter(|id| !known(id)).map(|id| ChatOption {
            id: id.clone(),
            name: id.clone(),
            chosen: true,
        });
        let others = offered.is_cut.then(|| OtherChats {
            value: sent.others.to_owned(),
            hint: language.format("reach-others-text", &[("count", count(CHATS))]),
        });
        let chats = own.iter().map(option).chain(gone).collect();
        Self { all: sent.reach == "all", chats, others }
    }
}

/// Returns the chats that a form names; `None` for all.
///
/// # Errors
/// Returns the sentence about a choice of none.
pub(super) fn chosen(
    sent: SentChats<'_>,
    language: Language,
) -> Result<Option<Vec<String>>, FormErrors> {
    if sent.reach == "all" {
        return Ok(None);
    }
    let mut chats = sent.ticked.to_vec();
    for other in sent.others.split([' ', ',', '\t', '\n', '\r']).map(id_in) {
        if !other.is_empty() && !chats.contains(&other) {
            chats.push(other);
        }
    }
    if chats.is_empty() {
        let sentence = language.text("reach-none-chosen");
        return Err(FormErrors::in_field("/channelIds", sentence, language));
    }
    Ok(Some(chats))
}

/// Returns the id of a chat of which that or the address of a page was typed.
fn id_in(typed: &str) -> String {
    let page = typed.find("/c/").map(|start| Links::default().target(&typed[start..]));
    if let Some(LinkTarget::Channel(chat) | LinkTarget::Message(chat, _)) = page {
        return chat.to_string();
    }
    // The service refuses what names no chat.
    let id = typed.split_once("/c/").map_or(typed, |(_, id)| id);
    id.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
}

/// Returns the names of the chats that something is limited to.
pub(super) fn names(
    only: Option<&[ChannelId]>,
    own: &[Channel],
    language: Language,
) -> Vec<String> {
    let Some(only) = only else { return vec![language.text("reach-all")] };
    if only.is_empty() {
        return vec![language.text("reach-no-chats")];
    }
    let name = |id: &ChannelId| {
        let known = own.iter().find(|chat| chat.id == *id);
        known.map_or_else(|| id.to_string(), |chat| name_of(chat, language))
    };
    only.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent<'a>(reach: &'a str, ticked: &'a [String], others: &'a str) -> SentChats<'a> {
        SentChats { reach, ticked, others }
    }

    #[test]
    fn a_form_names_all_chats_or_some() {
        let ids = ["C1".to_owned()];
        let all = chosen(sent("all", &ids, "C2"), Language::English).unwrap();
        let some = chosen(sent("chosen", &ids, " "), Language::English).unwrap();
        assert_eq!((all, some), (None, Some(ids.to_vec())));
        for reach in ["chosen", "", "x"] {
            let errors = chosen(sent(reach, &[], " "), Language::English).unwrap_err();
            assert!(errors.of_field("/channelIds").is_some(), "{reach}");
        }
    }

    #[test]
    fn chats_that_are_not_offered_are_typed() {
        let typed = "C2, https://chat.test/c/C3/search?q=a\nC1 https://chat.test/c/C4";
        let ids = chosen(sent("chosen", &["C1".to_owned()], typed), Language::English).unwrap();
        assert_eq!(ids.unwrap(), ["C1", "C2", "C3", "C4"]);
    }

    #[test]
    fn chosen_chats_that_are_gone_stay_chosen() {
        let ticked = ["Cgone".to_owned()];
        let offered = |is_cut| OfferedChats { list: Vec::new(), is_cut };
        let choice = |is_cut| {
            ChatChoice::new(&offered(is_cut), sent("chosen", &ticked, "C9"), Language::English)
        };
        let whole = choice(false);
        assert!(whole.chats[0].chosen && whole.chats[0].name == "Cgone");
        assert!(whole.others.is_none());
        let others = choice(true).others.unwrap();
        assert!(others.value == "C9" && others.hint.contains("200"), "{}", others.hint);
    }
}
