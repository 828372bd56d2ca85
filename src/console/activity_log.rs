//! Activity log of a channel, for its owner: who changed what, and who read messages.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::UserId;
use chatkeep_i18n::Language;
use chatkeep_services::access::{ChannelAccess, Owner, ReadMembers};
use chatkeep_services::activity_log::ActivityLogQuery;
use chatkeep_store::{ActivityChange, ActivityRead, ChangeKind, ReadAction};
use chrono::NaiveDate;
use chrono_tz::Tz;
use serde::Deserialize;
use url::form_urlencoded;

use super::Console;
use super::activity_row::{LogRow, PeopleNames, action_key, kind_key};
use super::channel::{Heading, Tab, dates};
use super::dates::{Dates, NoDay, day_of};
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::labels::{PEOPLE, person_name};
use super::visitor::{Asked, Visitor};

/// Rows of a page.
const LIMIT: u32 = 50;

/// Part of the log that is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Part {
    /// Changes of settings, rules and roles.
    #[default]
    Changes,
    /// Reads of messages.
    Reads,
}

/// Form of the filters. Empty fields of a form count as absent.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct LogForm {
    #[serde(default)]
    show: Part,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    person: String,
    #[serde(default)]
    day: String,
    #[serde(default)]
    cursor: String,
}

/// Choice of a filter.
struct LogChoice {
    value: String,
    label: String,
    chosen: bool,
}

/// Link to a part of the log.
struct LogPart {
    href: String,
    label: String,
    current: bool,
}

#[derive(Template)]
#[template(path = "console/activity_log.html", whitespace = "minimize")]
struct LogPage {
    frame: Frame,
    channel: Heading,
    parts: Vec<LogPart>,
    form: LogForm,
    /// Name of the part in addresses.
    part: &'static str,
    kinds: Vec<LogChoice>,
    people: Vec<LogChoice>,
    /// Last day that can be chosen.
    today: String,
    hint: String,
    rows: Vec<LogRow>,
    next: Option<String>,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(form): Asked<LogForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Owner, ReadMembers>(&console, &channel).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let channels = std::slice::from_ref(access.channel());
    let names = console.services.members.names(&access.caller, channels).await?;
    let names: PeopleNames = names.into_iter().collect();
    let people = names.iter().map(|(user, name)| (user.clone(), name.clone())).collect();
    let people =
        console.services.members.latest(access.channel(), people, &form.person, PEOPLE).await?;
    let (rows, next) = form.rows(&console, &access, (dates, &names)).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Settings).await?;
    let language = visitor.language;
    let page = LogPage {
        frame: visitor.frame(language.text("log-title")),
        parts: form.parts(&channel.path, language),
        part: form.show.name(),
        kinds: form.kinds(language),
        people: form.people(people, language),
        today: dates.day(dates.now).to_string(),
        hint: language.text(form.show.hint()),
        next: next.map(|cursor| LogForm { cursor, ..form.clone() }.address(&channel.path)),
        rows,
        channel,
        form,
    };
    rendered(&page)
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Reads => "reads",
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::Changes => "log-changes-hint",
            Self::Reads => "log-reads-hint",
        }
    }
}

impl LogForm {
    /// Returns the filter of the form with kinds of that part.
    fn query<K>(&self, kind: fn(&str) -> Option<K>) -> Result<ActivityLogQuery<K>, PageError> {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(ActivityLogQuery {
            kind: kind(&self.kind),
            user: given(&self.person).map(UserId::from),
            day: day_of(&self.day).map_err(|NoDay| PageError::Input)?,
            limit: LIMIT,
            cursor: given(&self.cursor),
        })
    }

    async fn rows(
        &self,
        console: &Console,
        access: &ChannelAccess<Owner, ReadMembers>,
        (dates, names): (Dates, &PeopleNames),
    ) -> Result<(Vec<LogRow>, Option<String>), PageError> {
        let activity = &console.services.activity_log;
        let mut last = None;
        let mut begins = |day: NaiveDate, dates: Dates| {
            (last.replace(day) != Some(day)).then(|| dates.heading(day))
        };
        match self.show {
            Part::Changes => {
                let query = self.query(ChangeKind::parse)?;
                let (changes, next) = activity.changes(access, &query).await?;
                let row = |change: ActivityChange| {
                    let day = begins(dates.day(change.at), dates);
                    LogRow { day, ..LogRow::of_change(change, (dates, names)) }
                };
                Ok((changes.into_iter().map(row).collect(), next))
            }
            Part::Reads => {
                let query = self.query(ReadAction::parse)?;
                let (reads, next) = activity.reads(access, &query).await?;
                let dates = Dates { zone: Tz::UTC, ..dates };
                let row = |read: ActivityRead| {
                    let day = begins(dates.day(read.day), dates);
                    LogRow { day, ..LogRow::of_read(read, dates.language) }
                };
                Ok((reads.into_iter().map(row).collect(), next))
            }
        }
    }

    fn parts(&self, channel: &str, language: Language) -> Vec<LogPart> {
        let part = |show: Part, label: String| LogPart {
            href: Self { show, ..Self::default() }.address(channel),
            label,
            current: show == self.show,
        };
        vec![
            part(Part::Changes, language.text("log-changes")),
            part(Part::Reads, language.text("log-reads")),
        ]
    }

    fn kinds(&self, language: Language) -> Vec<LogChoice> {
        let choice = |value: &str, key: &str| LogChoice {
            chosen: value == self.kind,
            value: value.to_owned(),
            label: language.text(key),
        };
        match self.show {
            Part::Changes => ChangeKind::ALL
                .into_iter()
                .map(|kind| choice(kind.name(), kind_key(kind)))
                .collect(),
            Part::Reads => ReadAction::ALL
                .into_iter()
                .map(|action| choice(action.name(), action_key(action)))
                .collect(),
        }
    }

    fn people(&self, people: Vec<(UserId, Option<String>)>, language: Language) -> Vec<LogChoice> {
        let choice = |(user, name): (UserId, Option<String>)| LogChoice {
            chosen: user.as_str() == self.person,
            value: user.into_string(),
            label: person_name(name, language),
        };
        let mut people: Vec<_> = people.into_iter().map(choice).collect();
        people.sort_by(|one, other| (&one.label, &one.value).cmp(&(&other.label, &other.value)));
        people
    }

    fn address(&self, channel: &str) -> String {
        let Self { show, kind, person, day, cursor } = self;
        let fields = [("kind", kind), ("person", person), ("day", day), ("cursor", cursor)];
        let filled = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let mut query = form_urlencoded::Serializer::new(String::new());
        let query = query.append_pair("show", show.name()).extend_pairs(filled).finish();
        format!("{channel}/activity-log?{query}")
    }
}
