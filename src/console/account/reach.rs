//! Choice of chats that a key or a webhook is limited to.

use chatkeep_core::id::ChannelId;
use chatkeep_i18n::Language;
use chatkeep_store::Channel;

use super::super::form::FormErrors;
use super::name_of;

/// Choice as a form shows it.
#[derive(Debug)]
pub(super) struct ChatChoice {
    /// True for all chats, later ones included.
    pub(super) all: bool,
    pub(super) chats: Vec<ChatOption>,
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
    pub(super) fn new(own: &[Channel], all: bool, chosen: &[String], language: Language) -> Self {
        let option = |chat: &Channel| ChatOption {
            id: chat.id.to_string(),
            name: name_of(chat, language),
            chosen: chosen.iter().any(|id| id == chat.id.as_str()),
        };
        let known = |id: &&String| own.iter().any(|chat| chat.id.as_str() == **id);
        let others = chosen.iter().filter(|id| !known(id)).map(|id| ChatOption {
            id: id.clone(),
            name: id.clone(),
            chosen: true,
        });
        Self { all, chats: own.iter().map(option).chain(others).collect() }
    }
}

/// Returns the chats that a form names: `reach` is `all` or `chosen`, with a `chat` for each.
///
/// # Errors
/// Returns the sentence about a choice of none.
pub(super) fn chosen(
    reach: &str,
    chats: &[String],
    language: Language,
) -> Result<Option<Vec<String>>, FormErrors> {
    match reach {
        "all" => Ok(None),
        _ if chats.is_empty() => {
            Err(FormErrors::in_field("/channelIds", language.text("reach-none-chosen"), language))
        }
        _ => Ok(Some(chats.to_vec())),
    }
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

    #[test]
    fn a_form_names_all_chats_or_some() {
        let ids = ["C1".to_owned()];
        let all = chosen("all", &ids, Language::English).unwrap();
        let some = chosen("chosen", &ids, Language::English).unwrap();
        assert_eq!((all, some), (None, Some(ids.to_vec())));
        for reach in ["chosen", "", "x"] {
            let errors = chosen(reach, &[], Language::English).unwrap_err();
            assert!(errors.of_field("/channelIds").is_some(), "{reach}");
        }
    }

    #[test]
    fn chosen_chats_that_are_gone_stay_chosen() {
        let choice = ChatChoice::new(&[], false, &["Cgone".to_owned()], Language::English);
        assert!(choice.chats[0].chosen && choice.chats[0].name == "Cgone");
    }
}
