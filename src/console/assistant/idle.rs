//! Notices of the parts of the assistant that are switched on and send nothing.

use chatkeep_services::assistant::{IdlePart, SettingsAccess};

use super::super::Console;
use super::super::channel::Heading;
use super::super::error::PageError;
use super::super::visitor::Visitor;
use super::Section;

/// Part that sends nothing, as a page shows it.
pub(super) struct IdleNotice {
    pub(super) text: String,
    /// False for what nobody has set up yet.
    pub(super) warns: bool,
    /// Link to the page that gives it what it lacks, if that is another one.
    pub(super) remedy: Option<Remedy>,
}

/// Link to a page that gives a part what it lacks.
pub(super) struct Remedy {
    pub(super) href: String,
    pub(super) label: String,
}

/// Returns the notices for a page of a channel: all for the overview, and otherwise what the page can
/// mend, or nothing can.
///
/// # Errors
/// Returns an error when the store fails.
pub(super) async fn notices(
    console: &Console,
    visitor: &Visitor,
    access: &SettingsAccess,
    channel: &Heading,
    page: Section,
) -> Result<Vec<IdleNotice>, PageError> {
    let parts = console.services.assistant.idle_parts(access).await?;
    let notice = |part: IdlePart| {
        let (key, mends) = keys(part);
        let is_shown = page == Section::Overview || mends.is_none_or(|mends| mends == page);
        let remedy = mends.filter(|mends| *mends != page).map(|mends| {
            let (label, path) = mends.parts();
            Remedy { href: format!("{}{path}", channel.path), label: visitor.language.text(label) }
        });
        is_shown.then(|| IdleNotice {
            text: visitor.language.text(key),
            warns: part != IdlePart::Questions,
            remedy,
        })
    };
    Ok(parts.into_iter().filter_map(notice).collect())
}

/// Returns the key of the sentence about a part, and the page that gives it what it lacks.
const fn keys(part: IdlePart) -> (&'static str, Option<Section>) {
    match part {
        IdlePart::Everything => ("idle-left", None),
        IdlePart::Questions => ("idle-questions", Some(Section::Rules)),
        IdlePart::Welcome => ("idle-welcome", Some(Section::Texts)),
        IdlePart::GroupRules => ("idle-group-rules", Some(Section::Texts)),
        IdlePart::GroupRulesWords => ("idle-group-rules-words", Some(Section::Texts)),
        IdlePart::LinkWords => ("idle-link-words", Some(Section::Texts)),
    }
}
