//! The pages about what is stored about the visitor, from what the services tell.

use askama::Template;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::my_data::OwnChannel;
use chatkeep_store::{ChannelJob, MemberStatus, OwnMessages};
use chatkeep_view::segment;
use chrono_tz::Tz;

use super::super::channel::Heading;
use super::super::dates::Dates;
use super::super::form::FormErrors;
use super::super::frame::Frame;
use super::super::job::title_and_text;
use super::super::labels::size;
use super::super::visitor::Visitor;
use super::PATH;

/// Channel in the list.
pub(super) struct OwnRow {
    heading: Heading,
    href: String,
    /// Number of messages.
    stored: String,
    kept: bool,
}

/// Fact about what is stored.
pub(super) struct OwnFact {
    label: String,
    value: String,
}

#[derive(Template)]
#[template(path = "console/my_data.html", whitespace = "minimize")]
pub(super) struct MyDataPage {
    pub(super) frame: Frame,
    pub(super) channels: Vec<OwnRow>,
    pub(super) next: Option<String>,
    /// False after opting out of all channels.
    pub(super) kept: bool,
    /// Key of the sentence about that.
    pub(super) out: &'static str,
    /// Name to type for the erasure of everything.
    pub(super) name: String,
    pub(super) typed: String,
    pub(super) errors: FormErrors,
}

#[derive(Template)]
#[template(path = "console/my_data_chat.html", whitespace = "minimize")]
pub(super) struct OwnChannelPage {
    pub(super) frame: Frame,
    pub(super) channel: Heading,
    pub(super) since: Option<String>,
    /// Path of the conversation, if the visitor may read it.
    pub(super) conversation: Option<String>,
    pub(super) facts: Vec<OwnFact>,
    pub(super) kept: bool,
    /// True if there is something to erase.
    pub(super) erasable: bool,
    pub(super) job: Option<OwnJob>,
    pub(super) typed: String,
    pub(super) errors: FormErrors,
}

/// Erasure, as the page tells about it.
pub(super) struct OwnJob {
    pub(super) title: String,
    pub(super) text: String,
    /// Messages that are done, and all of them; `None` when it has ended.
    pub(super) progress: Option<(i64, i64)>,
}

/// Returns the path of what is stored about the visitor in a channel.
pub(super) fn own_path(channel: &ChannelId) -> String {
    format!("{PATH}/chats/{}", segment(channel.as_str()))
}

impl OwnJob {
    pub(super) fn new(job: &ChannelJob, language: Language) -> Self {
        let (title, text) = title_and_text(job, language);
        let progress =
            (!job.status.is_over()).then_some((job.done.min(job.total), job.total.max(1)));
        Self { title, text, progress }
    }
}

/// Returns the key of the sentence about somebody who opted out of all channels, and perhaps into some
/// of these again.
pub(super) fn out_of_all(channels: &[OwnRow]) -> &'static str {
    if channels.iter().any(|channel| channel.kept) {
        "my-data-all-out-but"
    } else {
        "my-data-all-out"
    }
}

impl OwnRow {
    pub(super) fn new(own: &OwnChannel, visitor: &Visitor) -> Self {
        let language = visitor.language;
        Self {
            heading: heading(own, visitor),
            href: own_path(&own.channel.id),
            stored: language.format("my-data-messages", &[("count", own.messages.into())]),
            kept: own.kept,
        }
    }
}

/// Returns the heading of a channel; its picture is for those who may read there.
fn heading(own: &OwnChannel, visitor: &Visitor) -> Heading {
    let heading = Heading::new(&own.channel, visitor);
    let picture = heading.picture.clone().filter(|_| reads(own));
    Heading { picture, ..heading }
}

/// Returns true if the visitor may read in the channel.
fn reads(own: &OwnChannel) -> bool {
    own.status == Some(MemberStatus::Active) && own.role.is_some_and(|role| role >= Role::Member)
}

impl OwnChannelPage {
    /// Creates the page, without what is `stored` while that is being erased.
    pub(super) fn new(
        own: &OwnChannel,
        stored: Option<OwnMessages>,
        visitor: &Visitor,
        (now, zone): (Timestamp, Tz),
    ) -> Self {
        let language = visitor.language;
        let dates = Dates { language, zone, now };
        let channel = heading(own, visitor);
        let since = own.joined_at.filter(|_| own.status == Some(MemberStatus::Active)).map(|at| {
            let date = dates.date(dates.day(at));
            language.format("person-since", &[("date", Value::from(&date))])
        });
        Self {
            frame: visitor.frame(language.text("my-data-title")),
            since,
            conversation: reads(own).then(|| channel.path.clone()),
            facts: facts(own, stored, dates),
            channel,
            kept: own.kept,
            erasable: stored.is_some_and(|stored| stored.messages > 0),
            job: None,
            typed: String::new(),
            errors: FormErrors::default(),
        }
    }
}

fn facts(own: &OwnChannel, stored: Option<OwnMessages>, dates: Dates) -> Vec<OwnFact> {
    let language = dates.language;
    let fact = |key: &str, value: String| OwnFact { label: language.text(key), value };
    let mut facts = vec![fact("tab-messages", own.messages.to_string())];
    if let Some(stored) = stored
        && let Some((first, last)) = stored.sent
    {
        facts.push(fact("my-data-files", stored.files.to_string()));
        facts.push(fact("my-data-size", size(stored.bytes)));
        facts.push(fact("coverage-first", dates.moment(first)));
        facts.push(fact("coverage-last", dates.moment(last)));
    }
    facts
}
