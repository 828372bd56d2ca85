//! Plan, usage by chat, language, notices.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chatkeep_core::plan::{Plan, UsageStatus};
use chatkeep_i18n::{Language, Value, grouped};
use chatkeep_services::access::WriteBackup;
use chatkeep_services::account::{AccountUsage, ChannelShare, MonthUsage};
use chatkeep_view::channel_path;
use serde::Deserialize;

use super::super::Console;
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{Done, SubmittedForm};
use super::super::frame::{Frame, rendered};
use super::super::labels::size;
use super::super::visitor::Visitor;
use super::{Section, SectionLink, dates, left_chat, name_of};

/// Maximum number of chats in the table.
const ROWS: usize = 100;
/// Months of the usage over time, the present one included.
const MONTHS: u32 = 12;

#[derive(Template)]
#[template(path = "console/account/overview.html", whitespace = "minimize")]
struct OverviewPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    /// Name of the plan with its quota.
    plan: String,
    used: UsedQuota,
    /// Sentences about the next plan and about more space.
    next: Vec<String>,
    months: Vec<MonthRow>,
    rows: Vec<ShareRow>,
    notices: bool,
}

/// Used part of the quota.
struct UsedQuota {
    /// Percentage for the bar, 0 to 100.
    percent: u32,
    warning: bool,
    label: String,
    remaining: String,
}

/// Usage at the end of a month.
struct MonthRow {
    name: String,
    /// Length of its bar, 0 to 100: the largest month has 100.
    bar: i64,
    size: String,
}

/// Part of a chat.
struct ShareRow {
    name: String,
    place: SharePlace,
    messages: String,
    size: String,
}

/// Place where the space of a chat is freed.
enum SharePlace {
    /// Path of its settings.
    Settings(String),
    /// This page, for a chat of that id that the visitor has left.
    Here(String),
}

/// Forms of the page: that of the notices, or the end of a backup.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AccountForm {
    notices: String,
    action: String,
    /// Chat whose backup ends.
    chat: String,
    confirmed: String,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    let (caller, language) = (visitor.caller()?, visitor.language);
    let account = &console.services.account;
    let user = account.user(&caller).await?;
    let (usage, shares) = account.shares(&caller).await?;
    let months = account.usage_by_month(&caller, MONTHS).await?;
    let dates = dates(&console, &visitor).await?;
    let rows = shares.iter().take(ROWS).map(|share| ShareRow::of(share, language)).collect();
    let page = OverviewPage {
        frame: visitor.frame(language.text("account")),
        sections: Section::Overview.links(language),
        plan: plan(user.plan, language),
        used: UsedQuota::of(&usage, language),
        next: next(user.plan, &usage, language),
        months: MonthRow::of_all(&months, dates),
        rows,
        notices: account.wants_notices(&caller).await?,
    };
    rendered(&page)
}

pub(super) async fn save(
    State(console): State<Console>,
    SubmittedForm { visitor, form }: SubmittedForm<AccountForm>,
) -> Result<Response, PageError> {
    if form.action == left_chat::UNSUBSCRIBE {
        return left_chat::end(&console, &visitor, &form.chat, form.confirmed == "yes").await;
    }
    let access = visitor.scoped::<WriteBackup>(&console)?;
    console.services.account.set_notices(&access, form.notices == "on").await?;
    Ok(Done::Saved.at(Section::Overview.path()))
}

fn plan_name(plan: Plan, language: Language) -> String {
    language.text(&format!("plan-{}", plan.name()))
}

fn plan(plan: Plan, language: Language) -> String {
    let (name, quota) = (plan_name(plan, language), size(plan.quota()));
    let values = [("plan", Value::from(&name)), ("quota", Value::from(&quota))];
    language.format("account-plan", &values)
}

/// Returns what a larger plan offers, and who can change it; where the storage gets full, also how
/// to free some.
fn next(plan: Plan, usage: &AccountUsage, language: Language) -> Vec<String> {
    let is_filling = usage.total.status() != UsageStatus::Ok;
    let free = is_filling.then(|| language.text("account-free"));
    larger(plan, language).into_iter().chain(free).collect()
}

fn larger(plan: Plan, language: Language) -> Vec<String> {
    let Some(next) = plan.next() else { return vec![language.text("account-plan-largest")] };
    let (name, quota) = (plan_name(next, language), size(next.quota()));
    let values = [("plan", Value::from(&name)), ("quota", Value::from(&quota))];
    let mut sentences = vec![language.format("account-plan-next", &values)];
    if next == Plan::Pro {
        sentences.push(language.text("account-plan-semantic"));
    }
    sentences.push(language.text("account-plan-ask"));
    sentences
}

impl UsedQuota {
    fn of(usage: &AccountUsage, language: Language) -> Self {
        let total = usage.total;
        let percent = total.percentage().floor();
        let quota = size(total.quota);
        let text = percent.to_string();
        let values = [("percent", Value::from(&text)), ("quota", Value::from(&quota))];
        let remaining = size(total.remaining());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
        let percent = percent.clamp(0.0, 100.0) as u32;
        Self {
            percent,
            warning: total.status() != UsageStatus::Ok,
            label: language.format("usage-used", &values),
            remaining: if total.remaining() == 0 {
                language.text("account-full")
            } else {
                language.format("account-remaining", &[("size", Value::from(&remaining))])
            },
        }
    }
}

impl MonthRow {
    fn of_all(months: &[MonthUsage], dates: Dates) -> Vec<Self> {
        let largest = months.iter().map(|month| month.bytes).max().unwrap_or_default().max(1);
        let row = |month: &MonthUsage| Self {
            name: dates.month(month.first),
            bar: month.bytes.saturating_mul(100) / largest,
            size: stored(month.bytes),
        };
        months.iter().rev().map(row).collect()
    }
}

/// Returns an amount of storage, which may be none.
fn stored(bytes: i64) -> String {
    if bytes == 0 { "0\u{a0}KB".to_owned() } else { size(bytes) }
}

impl ShareRow {
    fn of(share: &ChannelShare, language: Language) -> Self {
        let channel = share.channel.as_ref();
        Self {
            name: channel
                .map_or_else(|| language.text("account-chat-gone"), |one| name_of(one, language)),
            place: match channel {
                Some(one) => SharePlace::Settings(format!("{}/settings", channel_path(&one.id))),
                None => SharePlace::Here(share.usage.channel.to_string()),
            },
            messages: grouped(share.usage.message_count),
            size: stored(share.counted()),
        }
    }
}
