//! Actions of the settings page: subscribing, the time zone, earlier texts, the retention, and deletion.

use axum::response::Response;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::DAY;
use chatkeep_i18n::Value;
use chatkeep_index::fold;
use chatkeep_services::access::{Admin, ChannelAccess, Member, Owner, WriteBackup};
use chatkeep_services::channels::BackupChange;
use chatkeep_services::{Nullable, ServiceError};
use chatkeep_view::when::When;

use super::super::Console;
use super::super::channel::{Heading, dates};
use super::super::dates::day_of;
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, Question};
use super::super::job;
use super::super::labels::size;
use super::super::visitor::Visitor;
use super::SettingsForm;

/// Reason for which nothing was changed.
pub(super) enum SettingsRefusal {
    /// There is a page about it.
    Page(PageError),
    /// The form says it.
    Form(FormErrors),
}

impl From<PageError> for SettingsRefusal {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}

/// Submitted form of the settings page.
pub(super) struct SettingsAction<'a> {
    pub(super) console: &'a Console,
    pub(super) visitor: &'a Visitor,
    pub(super) channel: &'a str,
    pub(super) form: &'a SettingsForm,
}

impl SettingsAction<'_> {
    pub(super) async fn subscribe(&self) -> Result<Response, SettingsRefusal> {
        let access =
            self.visitor.channel::<Member, WriteBackup>(self.console, self.channel).await?;
        let subscribed = self.console.services.subscriptions.subscribe(&access).await;
        subscribed.map_err(|error| self.refused(error))?;
        let now = self.visitor.channel::<Member, WriteBackup>(self.console, self.channel).await?;
        let done = if now.role > access.role { Done::Owner } else { Done::Saved };
        Ok(done.at(&settings_path(access.channel())))
    }

    pub(super) async fn unsubscribe(&self) -> Result<Response, SettingsRefusal> {
        let access =
            self.visitor.channel::<Member, WriteBackup>(self.console, self.channel).await?;
        let path = settings_path(access.channel());
        if self.form.confirmed != "yes" {
            return self.ask("unsubscribe", &access, self.text("unsubscribe-text"), &[]).await;
        }
        let access = &self.console.services.access;
        let reach = access.reaches(self.visitor.caller()?, self.channel.into()).await;
        let reach = reach.map_err(PageError::from)?;
        let ended = self.console.services.subscriptions.unsubscribe(&reach).await;
        ended.map_err(|error| self.refused(error))?;
        Ok(Done::Saved.at(&path))
    }

    pub(super) async fn set_zone(&self) -> Result<Response, SettingsRefusal> {
        let access = self.visitor.channel::<Admin, WriteBackup>(self.console, self.channel).await?;
        let zone = self.form.zone.trim();
        let zone = (!zone.is_empty()).then(|| zone.to_owned());
        let change = BackupChange { time_zone: Nullable::To(zone), ..BackupChange::default() };
        let changed = self.console.services.channels.change_backup(&access, change).await;
        changed.map_err(|error| self.refused_as(error, "/timeZone", "settings-zone-unknown"))?;
        Ok(Done::Saved.at(&settings_path(access.channel())))
    }

    pub(super) async fn set_earlier_texts(&self) -> Result<Response, SettingsRefusal> {
        let access = self.visitor.channel::<Admin, WriteBackup>(self.console, self.channel).await?;
        let (keep, path) = (self.form.earlier == "yes", settings_path(access.channel()));
        let channels = &self.console.services.channels;
        let present = channels.one(&access).await.map_err(|error| self.refused(error))?;
        if present.keeps_earlier_texts && !keep && self.form.confirmed != "yes" {
            return self.ask("earlier", &access, self.text("earlier-text"), &[]).await;
        }
        let change = BackupChange { keep_earlier_texts: Some(keep), ..BackupChange::default() };
        let changed = channels.change_backup(&access, change).await;
        changed.map_err(|error| self.refused(error))?;
        Ok(Done::Saved.at(&path))
    }

    pub(super) async fn set_retention(&self) -> Result<Response, SettingsRefusal> {
        let access = self.visitor.channel::<Owner, WriteBackup>(self.console, self.channel).await?;
        let wrong = || self.wrong("/retentionDays", "settings-days-invalid");
        let days = match self.form.days.trim() {
            "" => None,
            // Chinese and Japanese keyboards may type digits in full width.
            days => Some(fold(days).parse::<u32>().map_err(|_| wrong())?),
        };
        let change = BackupChange { retention_days: Nullable::To(days), ..BackupChange::default() };
        change.check().map_err(|_| wrong())?;
        if let Some(days) = days.filter(|_| self.form.confirmed != "yes") {
            let since = self.console.clock.now().minus(DAY * days);
            let before = When::parse(&since.to_string());
            let estimate =
                self.console.services.deletion.estimate(&access, before.ok_or_else(wrong)?);
            let estimate = estimate.await.map_err(|error| {
                self.refused_as(error, "/retentionDays", "settings-days-invalid")
            })?;
            let values = [("days", i64::from(days).into()), ("count", estimate.messages.into())];
            let text = self.visitor.language.format("retention-text", &values);
            return self.ask("retention", &access, text, &[("days", days.to_string())]).await;
        }
        let admin = self.visitor.channel::<Admin, WriteBackup>(self.console, self.channel).await?;
        let changed = self.console.services.channels.change_backup(&admin, change).await;
        changed
            .map_err(|error| self.refused_as(error, "/retentionDays", "settings-days-invalid"))?;
        Ok(Done::Saved.at(&settings_path(access.channel())))
    }

    pub(super) async fn delete(&self) -> Result<Response, SettingsRefusal> {
        let access = self.visitor.channel::<Owner, WriteBackup>(self.console, self.channel).await?;
        let wrong = || self.wrong("before", "settings-before-invalid");
        let day = day_of(&self.form.before).ok().flatten().ok_or_else(wrong)?;
        let before = When::of_day(day);
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
        self.ask("delete", &access, text, &[("before", day.to_string())]).await
    }

    /// Asks before an action that cannot be taken back.
    async fn ask<R: Sync>(
        &self,
        action: &'static str,
        access: &ChannelAccess<R, WriteBackup>,
        text: String,
        values: &[(&'static str, String)],
    ) -> Result<Response, SettingsRefusal> {
        let (title, button) = match action {
            "unsubscribe" => ("unsubscribe-title", "unsubscribe-button"),
            "earlier" => ("earlier-title", "earlier-button"),
            "retention" => ("retention-title", "retention-button"),
            _ => ("delete-title", "delete-button"),
        };
        let values = values.iter().cloned().chain([("action", action.to_owned())]).collect();
        let chat = Some(Heading::name(self.console, self.visitor, access).await?);
        let back = settings_path(access.channel());
        let (title, button) = (self.text(title), self.text(button));
        Ok(Question { title, text, chat, button, back, values }.page(self.visitor))
    }

    fn text(&self, key: &str) -> String {
        self.visitor.language.text(key)
    }

    fn wrong(&self, field: &str, key: &str) -> SettingsRefusal {
        SettingsRefusal::Form(FormErrors::at(field, self.text(key)))
    }

    fn refused(&self, error: ServiceError) -> SettingsRefusal {
        match FormErrors::of(error, self.visitor.language) {
            Ok(errors) => SettingsRefusal::Form(errors),
            Err(error) => SettingsRefusal::Page(error),
        }
    }

    /// Returns the sentence with that key about an invalid value.
    fn refused_as(&self, error: ServiceError, field: &str, key: &str) -> SettingsRefusal {
        match error {
            ServiceError::Invalid { .. } => self.wrong(field, key),
            error => self.refused(error),
        }
    }
}

/// Returns the path of a channel's settings.
fn settings_path(channel: &ChannelId) -> String {
    format!("{}/settings", chatkeep_view::channel_path(channel))
}
