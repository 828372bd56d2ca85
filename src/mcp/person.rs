//! Resolution of `senderId` from a model: an id, or a person's name in its place.

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_index::fold;

use crate::heavy::CALLERS;
use crate::sanitize;
use crate::services::{FieldPath, ServiceError, Services};

/// Maximum number of people listed in an error.
const LISTED: usize = 5;
/// Maximum length of a name in an error, in characters.
const NAME: usize = 40;

/// People in a channel: ids with names.
type People = Vec<(UserId, Option<String>)>;

/// Resolves `given` to an id, once the caller is known to read `channels`.
///
/// # Errors
/// Returns an error if it is nobody's id there and does not look like one: lists the people whom it
/// may mean by name.
pub(super) async fn sender(
    services: &Services,
    channels: &[ChannelId],
    given: Option<String>,
) -> Result<Option<UserId>, ServiceError> {
    let Some(given) = given else { return Ok(None) };
    if looks_like_an_id(&given) {
        return Ok(Some(UserId::from(given)));
    }
    let people = services.members.names(channels).await?;
    // As many names as there are people are folded.
    match CALLERS.run(move || known(given, people)).await {
        Ok(id) => Ok(Some(id)),
        Err(why) => Err(ServiceError::invalid_value(FieldPath::body("/senderId"), why)),
    }
}

/// Returns true for the form of a platform's id: it needs no lookup, and an unknown one has no
/// results.
fn looks_like_an_id(text: &str) -> bool {
    let line = text.strip_prefix('U').is_some_and(|rest| {
        rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let other = text.split_once(':').is_some_and(|(platform, id)| {
        !id.is_empty() && !platform.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
    });
    line || other
}

/// Returns the id, if somebody has it; else a remedy.
fn known(given: String, people: People) -> Result<UserId, String> {
    if people.iter().any(|(id, _)| id.as_str() == given) {
        return Ok(UserId::from(given));
    }
    let wanted = fold(&given);
    let mut candidates: Vec<(bool, UserId, String)> = Vec::new();
    for (id, name) in people {
        let Some(name) = name else { continue };
        let folded = fold(&name);
        if !wanted.is_empty() && folded.contains(&wanted) {
            candidates.push((folded != wanted, id, name));
        }
    }
    candidates.sort();
    let quoted = |name: &str| sanitize::quoted(&sanitize::cut(name, NAME).0);
    if candidates.is_empty() {
        let given = quoted(&given);
        return Err(format!(
            "takes a userId, and nobody here has the userId or the name {given}: get_members lists \
             both"
        ));
    }
    let more = if candidates.len() > LISTED { ", and others" } else { "" };
    let listed = candidates.iter().take(LISTED);
    let listed = listed.map(|(_, id, name)| format!("{id} is {}", quoted(name)));
    let listed = listed.collect::<Vec<_>>().join(", ");
    Err(format!("takes a userId, not a name: {listed}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_ids() {
        let people = || -> People {
            vec![
                ("U2".into(), Some("Ann Lee".to_owned())),
                ("U1".into(), Some("ａｎｎ".to_owned())),
                ("U3".into(), None),
                ("import:aa".into(), Some("小美".to_owned())),
            ]
        };
        assert_eq!(known("U3".to_owned(), people()), Ok("U3".into()));
        let ann = known("Ann".to_owned(), people()).unwrap_err();
        assert_eq!(ann, "takes a userId, not a name: U1 is \"ａｎｎ\", U2 is \"Ann Lee\"");
        assert!(known("小美".to_owned(), people()).unwrap_err().contains("import:aa is"));
        let nobody = known("Aiko".to_owned(), people()).unwrap_err();
        assert!(nobody.contains("nobody here") && nobody.contains("get_members"), "{nobody}");
    }

    #[test]
    fn ids_are_not_looked_up() {
        for id in ["U0123456789abcdef0123456789abcdef", "telegram:-100123", "import:aa"] {
            assert!(looks_like_an_id(id), "{id}");
        }
        for name in ["Ann", "U2", "小美", "Ann: the first", "a:", ":"] {
            assert!(!looks_like_an_id(name), "{name}");
        }
    }
}
