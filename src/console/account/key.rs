//! A new API key: its form.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chatkeep_services::access::ManageKeys;
use chatkeep_services::grants::READING_SCOPES;
use chatkeep_services::keys::{KEY_NAME, KeyDraft};
use chatkeep_view::when::first;
use chrono::{Datelike as _, NaiveDate, NaiveTime};
use chrono_tz::Tz;
use serde::Deserialize;

use super::super::Console;
use super::super::dates::{NoDay, day_of};
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, limit_hint};
use super::super::frame::{Frame, rendered_as};
use super::super::idempotent_form::IdempotentForm;
use super::super::visitor::{Asked, Visitor};
use super::reach::{ChatChoice, SentChats, chosen};
use super::{Section, SectionLink, dates, keys, offered_chats};

/// Key as the form sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct KeyForm {
    name: String,
    scope: Vec<String>,
    reach: String,
    chat: Vec<String>,
    /// Ids or addresses of chats that are not offered.
    others: String,
    /// Last day on which it works.
    end: String,
    /// First day of the messages that it reads.
    since: String,
    /// `yes` for pseudonyms in place of people.
    pseudonyms: String,
}

#[derive(Template)]
#[template(path = "console/account/key.html", whitespace = "minimize")]
struct KeyPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    form: KeyForm,
    errors: FormErrors,
    scopes: Vec<ScopeOption>,
    choice: ChatChoice,
    /// Today, before which no key can end.
    today: String,
    name_hint: String,
}

struct ScopeOption {
    name: &'static str,
    meaning: String,
    chosen: bool,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, PageError> {
    let scopes: &[Scope] = match wanted.purpose.as_deref() {
        Some("reading") => &READING_SCOPES,
        _ => &[],
    };
    let scope = scopes.iter().map(|scope| scope.name().to_owned()).collect();
    let form = KeyForm { reach: "all".to_owned(), scope, ..KeyForm::default() };
    show(&console, &visitor, form, FormErrors::default()).await
}

/// Query of the form: what the key is for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(rename = "for")]
    purpose: Option<String>,
}

async fn show(
    console: &Console,
    visitor: &Visitor,
    form: KeyForm,
    errors: FormErrors,
) -> Result<Response, PageError> {
    let language = visitor.language;
    visitor.scoped::<ManageKeys>(console)?;
    let chats = offered_chats(console, visitor).await?;
    let dates = dates(console, visitor).await?;
    let option = |scope: Scope| ScopeOption {
        name: scope.name(),
        meaning: keys::meaning(scope, language),
        chosen: form.scope.iter().any(|name| name == scope.name()),
    };
    let page = KeyPage {
        frame: visitor.frame(language.text("key-new")),
        sections: Section::Keys.links(language),
        scopes: Scope::ALL.into_iter().map(option).collect(),
        choice: ChatChoice::new(&chats, form.chats(), language),
        today: dates.day(dates.now).to_string(),
        name_hint: limit_hint(KEY_NAME, language),
        form,
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

pub(super) async fn create(
    State(console): State<Console>,
    IdempotentForm { visitor, form, form_key }: IdempotentForm<KeyForm>,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageKeys>(&console)?;
    let dates = dates(&console, &visitor).await?;
    let made = form_key.run(&console, async {
        let errors = match form.draft(dates.zone, visitor.language) {
            Ok(draft) => match console.services.keys.create(&access, draft).await {
                Ok(issued) => return Ok(keys::shown(issued, &visitor, dates)),
                Err(error) => FormErrors::of(error, visitor.language)?,
            },
            Err(errors) => errors,
        };
        show(&console, &visitor, form, errors).await
    });
    Ok(made.await?.unwrap_or_else(|| Done::ShownBefore.at(Section::Keys.path())))
}

impl KeyForm {
    fn chats(&self) -> SentChats<'_> {
        SentChats { reach: &self.reach, ticked: &self.chat, others: &self.others }
    }

    /// Returns the key that the form asks for; its days begin and end in that zone.
    fn draft(&self, zone: Tz, language: Language) -> Result<KeyDraft, FormErrors> {
        let wrong = |field| FormErrors::in_field(field, language.text("defect-no-day"), language);
        let end = key_day(&self.end).map_err(|NoDay| wrong("/expiresAt"))?;
        let since = key_day(&self.since).map_err(|NoDay| wrong("/notBefore"))?;
        let end = end.and_then(|day| day.succ_opt());
        let scopes: Vec<_> = self.scope.iter().filter_map(|name| Scope::parse(name)).collect();
        let pseudonyms = self.pseudonyms == "yes";
        if pseudonyms && !scopes.iter().all(|scope| scope.allows_pseudonyms()) {
            let sentence = language.text("defect-pseudonyms");
            return Err(FormErrors::in_field("/scopes", sentence, language));
        }
        Ok(KeyDraft {
            name: self.name.clone(),
            scopes,
            channels: chosen(self.chats(), language)?,
            not_before: since.and_then(|day| beginning(day, zone)),
            expires_at: end.and_then(|day| beginning(day, zone)),
            pseudonyms: Some(pseudonyms),
        })
    }
}

/// Returns the day of a date field of a key; `None` for an empty one.
fn key_day(text: &str) -> Result<Option<NaiveDate>, NoDay> {
    let is_near = |day: &NaiveDate| day.year() >= 1970;
    match day_of(text)? {
        Some(day) if !is_near(&day) => Err(NoDay),
        day => Ok(day),
    }
}

/// Returns the beginning of a day.
pub(super) fn beginning(day: NaiveDate, zone: Tz) -> Option<Timestamp> {
    first(zone, day.and_time(NaiveTime::MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_works_until_the_end_of_its_last_day() {
        let form = KeyForm {
            reach: "all".to_owned(),
            end: "2026-12-31".to_owned(),
            since: "2026-01-01".to_owned(),
            ..KeyForm::default()
        };
        let draft = form.draft("Asia/Taipei".parse().unwrap(), Language::English).unwrap();
        let [since, end] = [draft.not_before, draft.expires_at].map(|at| at.unwrap().to_string());
        assert_eq!(since, "2025-12-31T16:00:00.000Z");
        assert_eq!(end, "2026-12-31T16:00:00.000Z");
    }

    #[test]
    fn what_is_no_day_is_said_beside_its_field() {
        for wrong in ["soon", "2026-13-01", "12026-01-01", "2026-1-1x"] {
            let form = KeyForm { end: wrong.to_owned(), ..KeyForm::default() };
            let errors = form.draft(Tz::UTC, Language::English).unwrap_err();
            assert!(errors.of_field("/expiresAt").is_some(), "{wrong}");
        }
    }

    #[test]
    fn pseudonyms_and_a_scope_that_writes_are_refused_beside_the_scopes() {
        let form = |scope: Scope, pseudonyms: &str| KeyForm {
            reach: "all".to_owned(),
            scope: vec![scope.name().to_owned()],
            pseudonyms: pseudonyms.to_owned(),
            ..KeyForm::default()
        };
        let language = Language::English;
        for scope in Scope::ALL {
            let draft = form(scope, "yes").draft(Tz::UTC, language);
            assert_eq!(draft.is_ok(), scope.allows_pseudonyms(), "{}", scope.name());
            if let Err(errors) = draft {
                let sentence = language.text("defect-pseudonyms");
                assert_eq!(errors.of_field("/scopes"), Some(sentence.as_str()));
            }
            assert!(form(scope, "").draft(Tz::UTC, language).is_ok(), "{}", scope.name());
        }
    }
}
