//! Settings of a channel's backup, and what is and is not kept.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_services::access::{Member, ReadMembers, ReadMessages};
use chatkeep_services::channels::ChannelSettings;
use chatkeep_store::{ChannelStatus, Coverage, MissingMedia};
use chrono_tz::TZ_VARIANTS;
use serde::Deserialize;

use super::Console;
use super::channel::{Heading, Tab, dates, is_ownerless};
use super::dates::Dates;
use super::error::PageError;
use super::form::{FormErrors, SubmittedForm};
use super::frame::{Frame, rendered_as};
use super::labels::lost_key;
use super::timeline::GapNote;
use super::visitor::Visitor;
use action::{SettingsAction, SettingsRefusal};

mod action;
#[cfg(test)]
mod tests;

/// Times without backup that are shown, the newest ones.
const GAPS: usize = 50;

/// Forms of the page: the button that was pressed, and its values.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SettingsForm {
    action: String,
    #[serde(default)]
    zone: String,
    #[serde(default)]
    days: String,
    /// `yes` where earlier texts are to be kept.
    #[serde(default)]
    earlier: String,
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

/// State of the backup as the visitor sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BackupState {
    BotLeft {
        subscribed: bool,
    },
    Unsubscribed,
    /// The visitor has no subscription, and the storage of everybody who has one is full.
    OthersFull,
    StorageFull,
    Running,
}

impl BackupState {
    fn new(settings: &ChannelSettings, subscribed: bool) -> Self {
        if settings.channel.status == ChannelStatus::Disabled {
            Self::BotLeft { subscribed }
        } else if !subscribed && settings.is_paused {
            Self::OthersFull
        } else if !subscribed {
            Self::Unsubscribed
        } else if settings.is_paused {
            Self::StorageFull
        } else {
            Self::Running
        }
    }

    /// Returns the key of the sentence that says whether new messages are backed up, and if not, why.
    fn key(self) -> &'static str {
        match self {
            Self::BotLeft { subscribed: true } => "settings-left-subscribed",
            Self::BotLeft { subscribed: false } => "settings-left",
            Self::Unsubscribed => "settings-unsubscribed",
            Self::OthersFull => "attention-paused-others",
            Self::StorageFull => "attention-paused",
            Self::Running => "settings-subscribed",
        }
    }
}

#[derive(Template)]
#[template(path = "console/settings.html", whitespace = "minimize")]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that may be so or not")]
struct SettingsPage {
    frame: Frame,
    channel: Heading,
    /// True while the visitor has a subscription.
    subscribed: bool,
    state: BackupState,
    /// True while the channel has no owner who is in it: the next one who subscribes becomes it.
    ownerless: bool,
    /// True for admins, who change the time zone and whether earlier texts are kept.
    admin: bool,
    /// True for the owner, who decides what is deleted.
    owner: bool,
    zone: String,
    /// Zone in effect without one of the channel's own.
    default_zone: String,
    zones: Vec<&'static str>,
    /// True if earlier texts of edited messages are kept.
    keeps_earlier_texts: bool,
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
    SubmittedForm { visitor, form }: SubmittedForm<SettingsForm>,
) -> Result<Response, PageError> {
    let action =
        SettingsAction { console: &console, visitor: &visitor, channel: &channel, form: &form };
    let done = match form.action.as_str() {
        "subscribe" => action.subscribe().await,
        "unsubscribe" => action.unsubscribe().await,
        "zone" => action.set_zone().await,
        "earlier" => action.set_earlier_texts().await,
        "retention" => action.set_retention().await,
        "delete" => action.delete().await,
        _ => return Err(PageError::Input),
    };
    match done {
        Ok(response) => Ok(response),
        Err(SettingsRefusal::Page(error)) => Err(error),
        Err(SettingsRefusal::Form(errors)) => {
            shown(&console, &visitor, &channel, Some((&form, errors))).await
        }
    }
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
        state: BackupState::new(&settings, subscribed),
        subscribed,
        ownerless: is_ownerless(console, &members).await?,
        admin: members.role >= Role::Admin,
        owner: members.role == Role::Owner,
        zone: typed("zone", |form| &form.zone, zone),
        default_zone: services.channels.default_zone().name().to_owned(),
        zones: TZ_VARIANTS.iter().map(|zone| zone.name()).filter(|zone| is_place(zone)).collect(),
        keeps_earlier_texts: settings.channel.keeps_earlier_texts,
        days: typed("retention", |form| &form.days, days),
        before: typed("delete", |form| &form.before, String::new()),
        today: dates.day(dates.now).to_string(),
        facts: facts(&coverage, dates),
        gaps: coverage.gaps.iter().rev().take(GAPS).map(|gap| GapNote::new(gap, dates)).collect(),
        missing: lost_files(&coverage.media, dates.language),
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
    if let Some(at) = coverage.removed_before {
        facts.push(fact("coverage-removed", date(at)));
    }
    facts
}

/// Returns the numbers of files that are not stored, by the words for why: several reasons may have
/// the same ones.
fn lost_files(missing: &[MissingMedia], language: Language) -> Vec<Fact> {
    let mut counts: Vec<(String, i64)> = Vec::new();
    for lost in missing {
        let label = language.text(&lost_key(lost.status, lost.reason));
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count = count.saturating_add(lost.count),
            None => counts.push((label, lost.count)),
        }
    }
    let fact = |(label, count): (String, i64)| Fact {
        label,
        value: language.format("coverage-files", &[("count", count.into())]),
    };
    counts.into_iter().map(fact).collect()
}
