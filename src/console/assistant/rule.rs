//! Form of one rule: a new one, or one to change or delete.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::RuleId;
use chatkeep_i18n::Value;
use chatkeep_services::assistant::SettingsAccess;
use chatkeep_services::{Defect, FieldPath, ServiceError};

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, Question, SubmittedForm};
use super::super::frame::{Frame, rendered_as};
use super::super::idempotent_form::IdempotentForm;
use super::super::origin::rule_name;
use super::super::visitor::{Asked, Visitor};
use super::Section;
use super::rule_form::{RuleForm, RuleHints};
use super::rules::{RulesQuery, rules_path, warnings_about};
use super::switch::compared;
use super::wrong_reply::{MessageReader, WrongReply};

#[derive(Template)]
#[template(path = "console/rule.html", whitespace = "minimize")]
struct RulePage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    /// Address that the form posts to.
    address: String,
    /// Address of the rules.
    back: String,
    form: RuleForm,
    errors: FormErrors,
    hints: RuleHints,
    warnings: Vec<String>,
    /// Present rule, where somebody else has changed it.
    present: Option<RuleForm>,
    is_new: bool,
}

/// Form with all that its page needs.
struct Desk<'a> {
    console: &'a Console,
    visitor: &'a Visitor,
    access: &'a SettingsAccess,
    query: &'a RulesQuery,
    /// Rule to change; `None` for a new one.
    rule: Option<&'a RuleId>,
}

/// Rule as it is saved.
struct SavedRule {
    form: RuleForm,
    warnings: Vec<String>,
}

/// Message of a page beside its form.
#[derive(Default)]
struct Remarks {
    errors: FormErrors,
    warnings: Vec<String>,
    /// Present rule, where somebody else has changed it.
    present: Option<RuleForm>,
}

impl Desk<'_> {
    /// Returns the page with a form and what is wrong with it.
    async fn page(&self, form: RuleForm, remarks: Remarks) -> Result<Response, PageError> {
        let Self { console, visitor, access, query, rule } = self;
        let heading = Heading::of_page(console, visitor, access, Tab::Assistant).await?;
        let path = rules_path(access.channel());
        let language = visitor.language;
        let (title, name) = match rule {
            Some(rule) => ("rule-edit-title", rule.as_str()),
            None => ("rule-new-title", "new"),
        };
        let Remarks { errors, warnings, present } = remarks;
        let status = errors.status();
        let page = RulePage {
            frame: visitor.frame(language.text(title)),
            sections: Section::Rules.links(&heading, visitor),
            channel: heading,
            address: query.at(&format!("{path}/{name}")),
            back: query.at(&path),
            form: form.typed(),
            errors,
            hints: RuleHints::new(language),
            warnings,
            present,
            is_new: rule.is_none(),
        };
        Ok(rendered_as(status, &page))
    }

    /// Returns a rule as it is saved; `None` if there is no such rule.
    async fn saved(&self, id: &RuleId) -> Result<Option<SavedRule>, PageError> {
        let service = &self.console.services.assistant;
        let saved = service.saved_rules(self.access, id.clone()).await?;
        let rule = saved.book.rules.iter().find(|rule| rule.id == *id);
        Ok(rule.map(|rule| SavedRule {
            form: RuleForm::of(rule, saved.book.version),
            warnings: warnings_about(rule, &saved.warnings, self.visitor.language),
        }))
    }

    /// Leads to what the rule of a form would have answered.
    async fn compare(&self, form: RuleForm) -> Result<Response, PageError> {
        let mut texts = form.texts();
        let mut warnings = Vec::new();
        if texts.keywords.as_deref().unwrap_or_default().is_empty() {
            let missing = Defect::TooFewKeywords { min: 1 };
            let error = ServiceError::defective(FieldPath::body("/keywords"), missing);
            return self.refused(error, form).await;
        }
        if let Some(rule) = self.rule {
            let Some(saved) = self.saved(rule).await? else { return self.gone(form).await };
            let before = saved.form.texts();
            if before.answer == texts.answer {
                texts.answer = None;
            }
            if before.not_for == texts.not_for {
                texts.not_for = None;
            }
            warnings = saved.warnings;
        }
        if let Some(response) = compared(self.access, self.rule, texts, &form) {
            return Ok(response);
        }
        let errors = FormErrors::all(self.visitor.language.text("rule-compare-too-long"));
        self.page(form, Remarks { errors, warnings, present: None }).await
    }

    /// Returns the page again after a refused change, with what was typed.
    async fn refused(&self, error: ServiceError, form: RuleForm) -> Result<Response, PageError> {
        let language = self.visitor.language;
        let Some(rule) = self.rule else {
            let errors = FormErrors::of(error, language)?;
            return self.page(form, Remarks { errors, ..Remarks::default() }).await;
        };
        let is_stale = error == ServiceError::Stale;
        let Some(SavedRule { form: present, warnings }) = self.saved(rule).await? else {
            return self.gone(form).await;
        };
        let errors = FormErrors::of(error, language)?;
        let shown = is_stale && !form.has_texts_of(&present);
        // The next attempt is against what is shown now.
        let form = if is_stale {
            RuleForm { version: present.version, seen: present.seen.clone(), ..form }
        } else {
            form
        };
        let present = shown.then_some(present);
        self.page(form, Remarks { errors, warnings, present }).await
    }

    /// Offers to add a rule again that somebody else deleted.
    async fn gone(&self, form: RuleForm) -> Result<Response, PageError> {
        let errors = FormErrors::all(self.visitor.language.text("rule-gone"));
        let form = RuleForm { version: None, seen: String::new(), ..form };
        let remarks = Remarks { errors, ..Remarks::default() };
        Desk { rule: None, ..*self }.page(form, remarks).await
    }

    /// Returns the version of the rules that a form may change: the present one if its rule has the
    /// texts that the form was filled with, whatever became of other rules.
    async fn version_for(&self, form: &RuleForm) -> Result<Option<i64>, PageError> {
        let Some(rule) = self.rule.filter(|_| !form.seen.is_empty()) else {
            return Ok(form.version);
        };
        match self.console.services.assistant.rule(self.access, rule).await {
            Ok((rule, version)) => {
                let is_same = RuleForm::of(&rule, version).seen == form.seen;
                Ok(if is_same { Some(version) } else { form.version })
            }
            // Changing it tells so.
            Err(ServiceError::NotFound) => Ok(form.version),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a rule once its admin has said so twice.
    async fn delete(&self, rule: &RuleId, form: &RuleForm) -> Result<Response, PageError> {
        if form.confirmed != "yes" {
            return self.ask_to_delete(rule, form).await;
        }
        let expected = [self.version_for(form).await?.unwrap_or_default()];
        let service = &self.console.services.assistant;
        match service.remove_rule(self.access, rule, Some(&expected)).await {
            Ok(()) | Err(ServiceError::NotFound) => Ok(Done::Deleted.at(&self.list())),
            Err(ServiceError::Stale) if !form.seen.is_empty() => {
                self.ask_to_delete(rule, form).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Asks whether to delete a rule, and says if it has other texts than the form was filled with.
    async fn ask_to_delete(&self, rule: &RuleId, form: &RuleForm) -> Result<Response, PageError> {
        let Self { console, visitor, access, .. } = *self;
        let (present, version) = match console.services.assistant.rule(access, rule).await {
            // Somebody else was faster.
            Err(ServiceError::NotFound) => return Ok(Done::Deleted.at(&self.list())),
            present => present?,
        };
        let (language, seen) = (visitor.language, RuleForm::of(&present, version).seen);
        let is_changed = !form.seen.is_empty() && form.seen != seen;
        let text = if is_changed { "rule-delete-changed" } else { "rule-delete-text" };
        let name = rule_name(&present, language);
        let question = Question {
            title: language.text("rule-delete-title"),
            text: language.format(text, &[("word", Value::from(&name))]),
            button: language.text("rule-delete"),
            chat: Some(Heading::name(console, visitor, access).await?),
            back: format!("{}#rule-{rule}", self.list()),
            values: vec![
                ("do", "delete".to_owned()),
                ("version", version.to_string()),
                ("seen", seen),
            ],
        };
        Ok(question.page(visitor))
    }

    /// Returns the address of the rules.
    fn list(&self) -> String {
        self.query.at(&rules_path(self.access.channel()))
    }
}

/// Returns the form of a rule as it is saved; `None` if there is no such rule.
pub(super) async fn saved_form(
    console: &Console,
    access: &SettingsAccess,
    id: &RuleId,
) -> Result<Option<RuleForm>, PageError> {
    let saved = console.services.assistant.saved_rules(access, id.clone()).await?;
    let rule = saved.book.rules.iter().find(|rule| rule.id == *id);
    Ok(rule.map(|rule| RuleForm::of(rule, saved.book.version)))
}

pub(super) async fn add_page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<RulesQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel(&console, &channel).await?;
    let (console, visitor, query) = (&console, &visitor, &query);
    let desk = Desk { console, visitor, access: &access, query, rule: None };
    desk.page(RuleForm::default().prefilled(visitor), Remarks::default()).await
}

pub(super) async fn add(
    State(console): State<Console>,
    Path(channel): Path<String>,
    Asked(query): Asked<RulesQuery>,
    IdempotentForm { visitor, form, form_key }: IdempotentForm<RuleForm>,
) -> Result<Response, PageError> {
    let access: SettingsAccess = visitor.channel(&console, &channel).await?;
    let (console, visitor, query) = (&console, &visitor, &query);
    let desk = Desk { console, visitor, access: &access, query, rule: None };
    if form.action == "compare" {
        return desk.compare(form).await;
    }
    // Under the other choice it may be on a later page, or on none.
    let newest = RulesQuery::newest(&rules_path(access.channel()));
    let added = form_key.run(console, async {
        match console.services.assistant.add_rule(&access, form.draft(), None).await {
            Ok(id) => Ok(Done::Added.at(&format!("{newest}#rule-{id}"))),
            Err(error) => desk.refused(error, form).await,
        }
    });
    Ok(added.await?.unwrap_or_else(|| Done::AddedBefore.at(&newest)))
}

pub(super) async fn edit_page(
    State(console): State<Console>,
    visitor: Visitor,
    Path((channel, rule)): Path<(String, RuleId)>,
    Asked(query): Asked<RulesQuery>,
) -> Result<Response, PageError> {
    let wrong = WrongReply::in_address(&visitor.address)?;
    let access = visitor.channel(&console, &channel).await?;
    let (console, visitor, query) = (&console, &visitor, &query);
    let desk = Desk { console, visitor, access: &access, query, rule: Some(&rule) };
    let SavedRule { form, mut warnings } = desk.saved(&rule).await?.ok_or(PageError::NoRule)?;
    let reader = MessageReader { console, visitor, access: &access };
    let (form, about) = wrong.excluded_in(form, reader).await?;
    warnings.extend(about.map(|key| visitor.language.text(key)));
    desk.page(form.prefilled(visitor), Remarks { warnings, ..Remarks::default() }).await
}

pub(super) async fn edit(
    State(console): State<Console>,
    Path((channel, rule)): Path<(String, RuleId)>,
    Asked(query): Asked<RulesQuery>,
    SubmittedForm { visitor, form }: SubmittedForm<RuleForm>,
) -> Result<Response, PageError> {
    let access: SettingsAccess = visitor.channel(&console, &channel).await?;
    let (console, visitor, query) = (&console, &visitor, &query);
    let desk = Desk { console, visitor, access: &access, query, rule: Some(&rule) };
    if form.action == "delete" {
        return desk.delete(&rule, &form).await;
    }
    if form.action == "compare" {
        return desk.compare(form).await;
    }
    let expected = desk.version_for(&form).await?.map(|version| [version]);
    let expected = expected.as_ref().map(<[i64; 1]>::as_slice);
    let service = &console.services.assistant;
    match service.replace_rule(&access, &rule, form.texts(), expected).await {
        Ok(()) => Ok(Done::Saved.at(&format!("{}#rule-{rule}", desk.list()))),
        Err(error) => desk.refused(error, form).await,
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::assistant::limits;
    use chatkeep_i18n::Language;

    use super::super::rules::counted;
    use super::*;

    #[test]
    fn a_rule_too_many_is_told() {
        let language = Language::English;
        let errors = FormErrors::of(ServiceError::TooManyRules, language).unwrap();
        assert_eq!(errors.whole, Some(counted("import-too-many", limits::RULES, language)));
        let errors = FormErrors::of(ServiceError::Stale, language).unwrap();
        assert_eq!(errors.whole, Some(language.text("form-stale")));
    }
}
