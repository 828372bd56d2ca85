//! Settings of a channel's backup, and what is and is not kept.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::access::{Admin, Member, Owner, ReadMembers, ReadMessages, WriteBackup};
use chatkeep_services::channels::{BackupChange, ChannelSettings};
use chatkeep_services::{Nullable, ServiceError};
use chatkeep_store::{ChannelStatus, Coverage, MissingMedia};
use chatkeep_view::when::When;
use chrono_tz::TZ_VARIANTS;
use serde::Deserialize;

use super::Console;
use super::bubble::size;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::form::{Done, FormErrors, Posted, Question};
use super::frame::{Frame, rendered_as};
use super::job;
use super::timeline::GapNote;
use super::visitor::Visitor;

/// Times without backup that are shown, the newest ones.
const GAPS: usize = 50;
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Forms of the page: the button that was pressed, and its values.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SettingsForm {
    action: String,
    #[serde(default)]
    zone: String,
    #[serde(default)]
    days: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    confirmed: String,
}

/// Fact about the backup.
struct Fact {
    label: String,
    value: String,
}

#[derive(Template)]
#[template(path = "console/settings.html", whitespace = "minimize")]
struct SettingsPage {
    frame: Frame,
    channel: Heading,
    /// True while the visitor has a subscription.
    subscribed: bool,
    /// Sentence that says whether new messages are backed up.
    state: String,
    /// True for admins, who change the time zone.
    admin: bool,
    /// True for the owner, who decides what is deleted.
    owner: bool,
    zone: String,
    /// Zone in effect without one of the channel's own.
    default_zone: String,
    zones: Vec<&'static str>,
    days: String,
    before: String,
    /// Last day that can be chosen.
    today: String,
    facts: Vec<Fact>,
    gaps: Vec<GapNote>,
    missing: Vec<Fact>,
    errors: FormErrors,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    shown(&console, &visitor, &channel, None).await
}

pub(super) async fn change(
    State(console): State<Console>,
    Path(channel): Path<String>,
    Posted { visitor, form }: Posted<SettingsForm>,
) -> Result<Response, PageError> {
    let act = Act { console: &console, visitor: &visitor, channel: &channel, form: &form };
    let done = match form.action.as_str() {
        "subscribe" => act.subscribe().await,
        "unsubscribe" => act.unsubscribe().await,
        "zone" => act.set_zone().await,
        "retention" => act.set_retention().await,
        "delete" => act.delete().await,
        _ => return Err(PageError::Input),
    };
    match done {
        Ok(response) => Ok(response),
        Err(Refused::Page(error)) => Err(error),
        Err(Refused::Form(errors)) => {
            shown(&console, &visitor, &channel, Some((&form, errors))).await
        }
    }
}

/// Reason for which nothing was changed.
enum Refused {
    /// There is a page about it.
    Page(PageError),
    /// The form says it.
    Form(FormErrors),
}

impl From<PageError> for Refused {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}

/// A form that was sent.
struct Act<'a> {
    console: &'a Console,
    visitor: &'a Visitor,
    channel: &'a str,
    form: &'a SettingsForm,
}

impl Act<'_> {
    async fn subscribe(&self) -> Result<Response, Refused> {
        let access =
            self.visitor.channel::<Member, WriteBackup>(self.console, self.channel).await?;
        let subscribed = self.console.services.subscriptions.subscribe(&access).await;
        subscribed.map_err(|error| self.refused(error))?;
        Ok(Done::Saved.at(&settings_path(access.channel())))
    }

    async fn unsubscribe(&self) -> Result<Response, Refused> {
        let access =
            self.visitor.channel::<Member, WriteBackup>(self.console, self.channel).await?;
        let path = settings_path(access.channel());
        if self.form.confirmed != "yes" {
            return Ok(self.ask("unsubscribe", &path, self.text("unsubscribe-text"), &[]));
        }
        let access = &self.console.services.access;
        let reach = access.reaches(self.visitor.caller()?, self.channel.into()).await;
        let reach = reach.map_err(PageError::from)?;
        let ended = self.console.services.subscriptions.unsubscribe(&reach).await;
        ended.map_err(|error| self.refused(error))?;
        Ok(Done::Saved.at(&path))
    }

    async fn set_zone(&self) -> Result<Response, Refused> {
        let access = self.visitor.channel::<Admin, WriteBackup>(self.console, self.channel).await?;
        let zone = self.form.zone.trim();
        let zone = (!zone.is_empty()).then(|| zone.to_owned());
        let change = BackupChange { time_zone: Nullable::To(zone), ..BackupChange::default() };
        let changed = self.console.services.channels.change_backup(&access, change).await;
        changed.map_err(|error| self.refused_as(error, "/timeZone", "settings-zone-unknown"))?;
        Ok(Done::Saved.at(&settings_path(access.channel())))
    }

    async fn set_retention(&self) -> Result<Response, Refused> {
        let access = self.visitor.channel::<Owner, WriteBackup>(self.console, self.channel).await?;
        let wrong = || self.wrong("/retentionDays", "settings-days-invalid");
        let days = match self.form.days.trim() {
            "" => None,
            days => Some(days.parse::<u32>().map_err(|_| wrong())?),
        };
        let path = settings_path(access.channel());
        let change = BackupChange { retention_days: Nullable::To(days), ..BackupChange::default() };
        change.check().map_err(|_| wrong())?;
        if let Some(days) = days.filter(|_| self.form.confirmed != "yes") {
            let since = self.console.clock.now().millis() - i64::from(days).saturating_mul(DAY);
            let before = When::parse(&Timestamp::from_millis(since).to_string());
            let estimate =
                self.console.services.deletion.estimate(&access, before.ok_or_else(wrong)?);
            let estimate = estimate.await.map_err(|error| {
                self.refused_as(error, "/retentionDays", "settings-days-invalid")
            })?;
            let values = [("days", i64::from(days).into()), ("count", estimate.messages.into())];
            let text = self.visitor.language.format("retention-text", &values);
            return Ok(self.ask("retention", &path, text, &[("days", days.to_string())]));
        }
        let admin = self.visitor.channel::<Admin, WriteBackup>(self.console, self.channel).await?;
        let changed = self.console.services.channels.change_backup(&admin, change).await;
        changed
            .map_err(|error| self.refused_as(error, "/retentionDays", "settings-days-invalid"))?;
        Ok(Done::Saved.at(&settings_path(access.channel())))
    }

    async fn delete(&self) -> Result<Response, Refused> {
        let access = self.visitor.channel::<Owner, WriteBackup>(self.console, self.channel).await?;
        let wrong = || self.wrong("before", "settings-before-invalid");
        let day: chrono::NaiveDate = self.form.before.trim().parse().map_err(|_| wrong())?;
        let before = When::parse(&day.to_string()).ok_or_else(wrong)?;
        let (path, deletion) = (settings_path(access.channel()), &self.console.services.deletion);
        if self.form.confirmed == "yes" {
            let job =
                deletion.delete(&access, before).await.map_err(|error| self.refused(error))?;
            let channel = chatkeep_view::channel_path(access.channel());
            return Ok(job::begun(&job, &channel, &path));
        }
        let found = deletion.estimate(&access, before).await;
        let found = found.map_err(|error| self.refused(error))?;
        if found.messages == 0 {
            return Err(self.wrong("before", "settings-before-nothing"));
        }
        let dates = dates(self.console, self.visitor, &access).await?;
        let (date, bytes) = (dates.date(day), size(found.bytes));
        let values = [
            ("count", found.messages.into()),
            ("date", Value::from(&date)),
            ("size", Value::from(&bytes)),
        ];
        let text = self.visitor.language.format("delete-text", &values);
        Ok(self.ask("delete", &path, text, &[("before", day.to_string())]))
    }

    /// Asks before an action that cannot be taken back.
    fn ask(
        &self,
        action: &'static str,
        path: &str,
        text: String,
        values: &[(&'static str, String)],
    ) -> Response {
        let (title, button) = match action {
            "unsubscribe" => ("unsubscribe-title", "unsubscribe-button"),
            "retention" => ("retention-title", "retention-button"),
            _ => ("delete-title", "delete-button"),
        };
        let values = values.iter().cloned().chain([("action", action.to_owned())]).collect();
        let back = path.to_owned();
        let (title, button) = (self.text(title), self.text(button));
        Question { title, text, button, back, values }.page(self.visitor)
    }

    fn text(&self, key: &str) -> String {
        self.visitor.language.text(key)
    }

    fn wrong(&self, field: &str, key: &str) -> Refused {
        Refused::Form(FormErrors::at(field, self.text(key)))
    }

    fn refused(&self, error: ServiceError) -> Refused {
        match FormErrors::of(error, self.visitor.language) {
            Ok(errors) => Refused::Form(errors),
            Err(error) => Refused::Page(error),
        }
    }

    /// Returns the sentence with that key about an invalid value.
    fn refused_as(&self, error: ServiceError, field: &str, key: &str) -> Refused {
        match error {
            ServiceError::Invalid { .. } => self.wrong(field, key),
            error => self.refused(error),
        }
    }
}

/// Returns the sentence that says whether new messages are backed up, and if not, why.
fn state(settings: &ChannelSettings, subscribed: bool, language: Language) -> String {
    language.text(if settings.channel.status == ChannelStatus::Disabled {
        "attention-left"
    } else if !subscribed {
        "settings-unsubscribed"
    } else if settings.is_paused {
        "attention-paused"
    } else {
        "settings-subscribed"
    })
}

/// Returns the path of a channel's settings.
fn settings_path(channel: &chatkeep_core::id::ChannelId) -> String {
    format!("{}/settings", chatkeep_view::channel_path(channel))
}

/// Renders the page; after a refused form with what was typed.
async fn shown(
    console: &Console,
    visitor: &Visitor,
    channel: &str,
    refused: Option<(&SettingsForm, FormErrors)>,
) -> Result<Response, PageError> {
    let members = visitor.channel::<Member, ReadMembers>(console, channel).await?;
    let messages = visitor.channel::<Member, ReadMessages>(console, channel).await?;
    let services = &console.services;
    let settings = services.channels.settings(&members).await?;
    let coverage = services.channels.coverage(&messages).await?;
    let dates = dates(console, visitor, &messages).await?;
    let (form, errors) = match refused {
        Some((form, errors)) => (Some(form), errors),
        None => (None, FormErrors::default()),
    };
    let typed = |action: &str, value: fn(&SettingsForm) -> &String, present: String| {
        form.filter(|form| form.action == action).map_or(present, |form| value(form).clone())
    };
    let subscribed = services.subscriptions.has(&messages).await?;
    let days = settings.channel.retention_days.map(|days| days.to_string()).unwrap_or_default();
    let zone = settings.channel.time_zone.clone().unwrap_or_default();
    let heading = Heading::of_page(console, visitor, &messages, Tab::Settings).await?;
    let page = SettingsPage {
        frame: visitor.frame(visitor.language.text("tab-settings")),
        channel: heading,
        state: state(&settings, subscribed, visitor.language),
        subscribed,
        admin: members.role >= Role::Admin,
        owner: members.role == Role::Owner,
        zone: typed("zone", |form| &form.zone, zone),
        default_zone: services.channels.default_zone().name().to_owned(),
        zones: TZ_VARIANTS.iter().map(|zone| zone.name()).filter(|zone| is_place(zone)).collect(),
        days: typed("retention", |form| &form.days, days),
        before: typed("delete", |form| &form.before, String::new()),
        today: dates.day(dates.now).to_string(),
        facts: facts(&coverage, dates),
        gaps: coverage.gaps.iter().rev().take(GAPS).map(|gap| GapNote::new(gap, dates)).collect(),
        missing: coverage.media.iter().map(|missing| Fact::lost(missing, dates.language)).collect(),
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

/// Returns true for the name of a zone by a place, such as `Asia/Taipei`.
fn is_place(zone: &str) -> bool {
    const REGIONS: [&str; 9] = [
        "Africa",
        "America",
        "Asia",
        "Atlantic",
        "Australia",
        "Europe",
        "Indian",
        "Pacific",
        "Antarctica",
    ];
    zone.split_once('/').is_some_and(|(region, _)| REGIONS.contains(&region))
}

fn facts(coverage: &Coverage, dates: Dates) -> Vec<Fact> {
    let language = dates.language;
    let date = |at: Timestamp| dates.date(dates.day(at));
    let fact = |key: &str, value: String| Fact { label: language.text(key), value };
    let never = || language.text("coverage-never");
    let mut facts = vec![fact("coverage-since", coverage.since.map_or_else(never, date))];
    if let Some((first, last)) = coverage.messages {
        facts.push(fact("coverage-first", date(first)));
        facts.push(fact("coverage-last", dates.moment(last)));
    }
    if let Some(at) = coverage.retained_from {
        facts.push(fact("coverage-removed", date(at)));
    }
    facts
}

impl Fact {
    fn lost(missing: &MissingMedia, language: Language) -> Self {
        let label = language.text(&format!("media-{}", missing.status));
        let value = language.format("coverage-files", &[("count", missing.count.into())]);
        Self { label, value }
    }
}
