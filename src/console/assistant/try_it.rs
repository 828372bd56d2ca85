//! Simulated replies to a text, in each mode, with the reasons.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::assistant::QaMode;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::assistant::{
    ModeTrial, SettingsAccess, Trial, TrialCandidate, TrialReason, TrialReport,
};
use chatkeep_store::ReplySource;
use serde::Deserialize;

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::form::{FormErrors, SubmittedForm, query_of, unbroken};
use super::super::frame::{Frame, rendered_as};
use super::super::origin::rule_name;
use super::super::visitor::{Asked, Visitor};
use super::Section;
use super::rule_form::RuleForm;
use super::rules::rules_path;
use super::words::mode_key;

/// Text to try, in an address or in a form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TryForm {
    text: String,
}

#[derive(Template)]
#[template(path = "console/try.html", whitespace = "minimize")]
struct TryPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    text: String,
    errors: FormErrors,
    outcome: Option<Outcome>,
    rules: String,
}

/// Simulated reply as a page shows it.
struct Outcome {
    /// Sentence about what happens now.
    now: String,
    /// Sentence about the reply in the present mode.
    reply: Option<String>,
    /// Path of the rule that says it.
    rule: Option<String>,
    modes: Vec<ModeCard>,
}

/// Simulated reply of one mode.
struct ModeCard {
    name: String,
    about: String,
    is_present: bool,
    needs_plan: bool,
    answers: bool,
    reason: String,
    candidates: Vec<CandidateRow>,
}

/// Rule that comes close to the text.
struct CandidateRow {
    href: String,
    name: String,
    answer: String,
    answers: bool,
    /// True if the rule must not answer such a text.
    excluded: bool,
    percent: u32,
    /// Link to the rule that keeps it from answering such a text, where it does.
    wrong: Option<String>,
    /// Keywords, and whether they occur in the text.
    keywords: Vec<(String, bool)>,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(form): Asked<TryForm>,
) -> Result<Response, PageError> {
    shown(&console, &visitor, &channel, form, false).await
}

pub(super) async fn tried(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<TryForm>,
) -> Result<Response, PageError> {
    shown(&console, &visitor, &channel, form, true).await
}

async fn shown(
    console: &Console,
    visitor: &Visitor,
    channel: &str,
    TryForm { text }: TryForm,
    is_sent: bool,
) -> Result<Response, PageError> {
    let access: SettingsAccess = visitor.channel(console, channel).await?;
    let (service, language) = (&console.services.assistant, visitor.language);
    let heading = Heading::of_page(console, visitor, &access, Tab::Assistant).await?;
    let rules = rules_path(access.channel());
    let text = unbroken(&text);
    let mut errors = FormErrors::default();
    let mut outcome = None;
    if is_sent || !text.is_empty() {
        match service.simulate_modes(&access, text.clone()).await {
            Ok(report) => outcome = Some(Outcome::new(report, (&rules, &text), language)),
            Err(error) => errors = FormErrors::of(error, language)?,
        }
    }
    let page = TryPage {
        frame: visitor.frame(language.text("assistant-try")),
        sections: Section::Try.links(&heading, visitor),
        channel: heading,
        text,
        errors,
        outcome,
        rules,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

impl Outcome {
    fn new(report: TrialReport, (rules, text): (&str, &str), language: Language) -> Self {
        let TrialReport { now, is_on, modes } = report;
        let Trial { reply, source, rule, mode, .. } = now;
        let key = match source {
            Some(ReplySource::Qa) => "try-now-rule",
            Some(ReplySource::Rules) => "try-now-group-rules",
            Some(ReplySource::Link) => "try-now-link",
            Some(ReplySource::NoMatch) => "try-now-no-match",
            None if !is_on => "try-now-off",
            // Nobody gets a welcome for a text.
            Some(ReplySource::Welcome) | None => "try-now-silent",
        };
        let card = |trial| ModeCard::new(trial, (mode, is_on), (rules, text), language);
        Self {
            now: language.text(key),
            reply,
            rule: rule.map(|rule| format!("{rules}/{rule}")),
            modes: modes.into_iter().map(card).collect(),
        }
    }
}

impl ModeCard {
    fn new(
        trial: ModeTrial,
        (present, is_on): (QaMode, bool),
        (rules, text): (&str, &str),
        language: Language,
    ) -> Self {
        let about = match trial.mode {
            QaMode::Keyword if trial.is_whole => "try-mode-keyword-whole-text",
            QaMode::Keyword => "try-mode-keyword-text",
            QaMode::Fuzzy => "try-mode-fuzzy-text",
            QaMode::Semantic => "try-mode-semantic-text",
        };
        let reason = reason(&trial, language);
        let by_rule = matches!(trial.reason, TrialReason::Keyword(_) | TrialReason::Near);
        let least = trial.least_score.unwrap_or(1.0);
        let rows = trial.candidates.into_iter().map(|near| {
            let percent = percent(near.score, least);
            CandidateRow::new(near, percent, (rules, text), language)
        });
        Self {
            name: language.text(mode_key(trial.mode)),
            about: language.text(about),
            is_present: is_on && trial.mode == present,
            needs_plan: !trial.is_included,
            answers: by_rule
                || matches!(trial.reason, TrialReason::Trigger(_) | TrialReason::LinkTrigger(_)),
            reason,
            candidates: rows.filter(|row| row.percent > 0).collect(),
        }
    }
}

/// Returns the sentence about why a mode answers, or why not.
fn reason(trial: &ModeTrial, language: Language) -> String {
    let least = trial.least_score.unwrap_or(1.0);
    let [score, least] = [percent(trial.score, least), needed(least)].map(i64::from);
    let scores = [("score", Value::from(score)), ("least", Value::from(least))];
    match &trial.reason {
        TrialReason::Trigger(word) => {
            language.format("try-reason-trigger", &[("word", Value::from(word))])
        }
        TrialReason::LinkTrigger(word) => {
            language.format("try-reason-link", &[("word", Value::from(word))])
        }
        TrialReason::Keyword(word) => {
            language.format("try-reason-keyword", &[("word", Value::from(word))])
        }
        TrialReason::Near => language.format("try-reason-near", &scores),
        TrialReason::TooFar => language.format("try-reason-far", &scores),
        TrialReason::Excluded => language.text("try-reason-excluded"),
        TrialReason::TooClose => language.text("try-reason-close"),
        TrialReason::Nothing if trial.mode == QaMode::Keyword => language.text(if trial.is_whole {
            "try-reason-no-whole-keyword"
        } else {
            "try-reason-no-keyword"
        }),
        TrialReason::Nothing => language.text("try-reason-nothing"),
    }
}

impl CandidateRow {
    fn new(
        near: TrialCandidate,
        percent: u32,
        (rules, text): (&str, &str),
        language: Language,
    ) -> Self {
        let TrialCandidate { rule, found, answers, excluded, .. } = near;
        let text = RuleForm::of(&rule, 0).part_not_for(text);
        let wrong = || format!("{rules}/{}?{}", rule.id, query_of(&[("notFor", &text)]));
        let wrong = answers.then(wrong);
        let name = rule_name(&rule, language);
        let keywords = rule.keywords.into_iter().map(|word| {
            let is_found = found.contains(&word);
            (word, is_found)
        });
        Self {
            wrong,
            href: format!("{rules}/{}", rule.id),
            name,
            answer: rule.answer,
            answers,
            excluded,
            percent,
            keywords: keywords.collect(),
        }
    }
}

/// Returns a score in whole percent that is below the least one exactly if the score is.
fn percent(score: f32, least: f32) -> u32 {
    let (shown, needed) = ((score * 100.0).floor(), needed(least));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 100"
    )]
    let shown = shown.clamp(0.0, 100.0) as u32;
    if score >= least { shown.max(needed) } else { shown.min(needed.saturating_sub(1)) }
}

/// Returns a least score in whole percent.
fn needed(least: f32) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 100"
    )]
    let needed = (least * 100.0 - 0.01).ceil().clamp(0.0, 100.0) as u32;
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_on_the_right_side_of_the_threshold() {
        for (score, least, shown) in [
            (0.607, 0.605, (61, 61)),
            (0.604, 0.605, (60, 61)),
            (0.599, 0.6, (59, 60)),
            (0.6, 0.6, (60, 60)),
            (1.0, 0.65, (100, 65)),
            (0.0, 0.65, (0, 65)),
            (1.0, 1.0, (100, 100)),
        ] {
            assert_eq!((percent(score, least), needed(least)), shown, "{score} {least}");
        }
    }
}
