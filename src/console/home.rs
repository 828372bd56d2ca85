//! The visitor's channels, with what needs their attention.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chatkeep_core::http::host_of;
use chatkeep_core::id::UserId;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::access::ReadMessages;
use chatkeep_services::overview::ChannelOverview;
use chatkeep_store::{ChannelStatus, Webhook};
use chrono_tz::Tz;
use serde::Deserialize;

use super::Console;
use super::account;
use super::channel::Heading;
use super::dates::Dates;
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::labels::{name_of, shortened, size, summary, zone_note};
use super::visitor::{Asked, Visitor};

/// Channels of a page.
const LIMIT: u32 = 50;
/// Maximum length of the newest message of a channel in characters.
const NEWEST: usize = 90;
/// Hexadecimal digits of an id of LINE behind its `U`.
const LINE_DIGITS: usize = 32;
/// Percentage from which a quota is shown as a warning.
const WARNING: f64 = 80.0;

#[derive(Debug, Default, Deserialize)]
pub(super) struct HomeQuery {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "console/home.html", whitespace = "minimize")]
struct HomePage {
    frame: Frame,
    channels: Vec<ChannelRow>,
    /// Sentence about the zone of the times, where the channels have several.
    zone: Option<String>,
    notes: Vec<Note>,
    usage: Option<Ring>,
    next: Option<String>,
    /// Sentence in place of channels.
    empty: String,
}

/// A channel in the list.
struct ChannelRow {
    heading: Heading,
    /// Sender and beginning of the newest message, and when it was sent.
    newest: Option<(String, String)>,
    when: Option<(String, String)>,
    /// Sentence in place of a message.
    empty: String,
    /// State that is not as it should be.
    mark: Option<String>,
}

/// Something that needs attention.
struct Note {
    /// Channel, host of a webhook, or part of the account that it is about.
    about: String,
    href: String,
    text: String,
}

/// Usage of the quota as a ring of 100 units.
struct Ring {
    percent: u32,
    /// True from that percentage on at which it is shown as a warning.
    warning: bool,
    label: String,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Asked(query): Asked<HomeQuery>,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ReadMessages>(&console)?;
    let cursor = query.cursor.as_deref();
    let overview = console.services.overview.page(&access, LIMIT, cursor).await?;
    let zone = console.services.messages.zone(None).await?;
    let (language, now) = (visitor.language, console.clock.now());
    let mut notes: Vec<_> = full(&overview.channels, language).into_iter().collect();
    let mut channels = Vec::with_capacity(overview.channels.len());
    let zones = overview.channels.iter().map(|one| one.channel.zone(zone));
    let common = common_zone(zones);
    let shown = Dates { language, zone: common.unwrap_or(zone), now };
    let named = common.is_none().then(|| zone_note(zone, language));
    for one in overview.channels {
        let heading = Heading::new(&one.channel, &visitor);
        notes.extend(attention(&one, &heading, language));
        notes.extend(unanswered(&one, &heading, language));
        channels.push(ChannelRow::new(heading, &one, shown));
    }
    let dates = Dates { language, zone, now };
    notes.extend(overview.failing.iter().map(|webhook| Note::of_webhook(webhook, dates)));
    let usage = overview.usage.map(|usage| {
        let percent = usage.percentage().floor();
        let label = language.format(
            "usage-used",
            &[
                ("percent", Value::from(&percent.to_string())),
                ("quota", Value::from(&size(usage.quota))),
            ],
        );
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
        let percent_shown = percent.clamp(0.0, 100.0) as u32;
        Ring { percent: percent_shown, warning: percent >= WARNING, label }
    });
    let title = language.text("home-title");
    let zone = named.filter(|_| !channels.is_empty());
    let next = overview.next.map(|cursor| format!("/console?cursor={cursor}"));
    let empty = empty(&visitor.caller()?.user, language);
    rendered(&HomePage { frame: visitor.frame(title), channels, zone, notes, usage, next, empty })
}

/// Returns what to do without any channel. Who signed in at a provider whose ids are not those of the
/// platform is in no chat, whatever is said there.
fn empty(user: &UserId, language: Language) -> String {
    if is_line_id(user.as_str()) {
        return language.text("home-empty-text");
    }
    language.format("home-empty-other-text", &[("user", Value::from(user.as_str()))])
}

/// Returns true for the form of LINE's ids of people.
fn is_line_id(id: &str) -> bool {
    id.strip_prefix('U').is_some_and(|rest| {
        rest.len() == LINE_DIGITS && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Returns the zone of all channels; `None` if they differ. By a clock of its own for each, times in
/// the list would not be in its order.
fn common_zone(mut zones: impl Iterator<Item = Tz>) -> Option<Tz> {
    let first = zones.next()?;
    zones.all(|zone| zone == first).then_some(first)
}

/// Returns the note about the visitor's full storage, if it pauses any of these channels.
fn full(channels: &[ChannelOverview], language: Language) -> Option<Note> {
    channels.iter().any(|one| one.paused && one.subscribed).then(|| Note {
        about: language.text("usage-label"),
        href: account::PATH.to_owned(),
        text: language.text("attention-full"),
    })
}

/// Returns the notes about what needs attention in a channel, but for what [`full`] says. What the
/// settings change or list leads there.
fn attention(one: &ChannelOverview, heading: &Heading, language: Language) -> Vec<Note> {
    let note = |page: &str, text| Note {
        about: heading.name.clone(),
        href: format!("{}{page}", heading.path),
        text,
    };
    let mut notes = Vec::new();
    if one.channel.status == ChannelStatus::Disabled {
        notes.push(note("", language.text("attention-left")));
    } else if !one.backed_up {
        notes.push(note("", language.text("attention-unsubscribed")));
    } else if one.paused && !one.subscribed {
        notes.push(note("/settings", language.text("attention-paused-others")));
    }
    if one.lost_files > 0 {
        let text = language.format("attention-media", &[("count", one.lost_files.into())]);
        notes.push(note("/settings#coverage", text));
    }
    notes
}

/// Returns the note about questions that no rule answers.
fn unanswered(one: &ChannelOverview, heading: &Heading, language: Language) -> Option<Note> {
    let count = i64::try_from(one.unanswered).ok().filter(|count| *count > 0)?;
    Some(Note {
        about: heading.name.clone(),
        href: format!("{}/assistant/unanswered", heading.path),
        text: language.format("attention-unanswered", &[("count", count.into())]),
    })
}

impl ChannelRow {
    fn new(heading: Heading, one: &ChannelOverview, dates: Dates) -> Self {
        let language = dates.language;
        let newest = one.newest.as_ref();
        let mark = match (one.channel.status, one.paused) {
            (ChannelStatus::Disabled, _) => Some("chat-left"),
            (ChannelStatus::Active, true) => Some("chat-paused"),
            (ChannelStatus::Active, false) => None,
        };
        Self {
            heading,
            newest: newest.map(|message| {
                let text = shortened(&summary(message, language), NEWEST);
                (name_of(message, language), text)
            }),
            when: newest.map(|message| (message.sent_at.to_string(), dates.brief(message.sent_at))),
            empty: language.format("chat-messages", &[("count", one.channel.message_count.into())]),
            mark: mark.map(|key| language.text(key)),
        }
    }
}

impl Note {
    fn of_webhook(webhook: &Webhook, dates: Dates) -> Self {
        let language = dates.language;
        let text = match (&webhook.disabled, webhook.failing_since) {
            (None, Some(since)) => {
                let date = dates.date(dates.day(since));
                language.format("attention-webhook-failing", &[("date", Value::from(&date))])
            }
            _ => language.text("attention-webhook-disabled"),
        };
        // The rest of an address may hold a secret.
        let host = host_of(&webhook.url).unwrap_or_default();
        Self { about: host, href: account::webhook_path(&webhook.id), text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_an_id_of_line_is_told_to_go_to_a_group() {
        let of_line = format!("U{}", "0123456789abcdef".repeat(2));
        let longer = format!("{of_line}0");
        for language in Language::ALL {
            let told = |user: &str| empty(&UserId::from(user), language);
            assert_eq!(told(&of_line), language.text("home-empty-text"));
            for other in ["U", "Ursula", "U0123456789abcdef", longer.as_str(), "corp:ann"] {
                assert!(told(other).contains(other), "{other}");
            }
        }
    }
}
