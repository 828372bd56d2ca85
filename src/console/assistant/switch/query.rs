//! Address of the page: the settings to compare with, and what of the result is shown.

use chatkeep_core::assistant::{KeywordMatch, QaMode, Strictness};
use chatkeep_core::id::RuleId;
use chatkeep_i18n::Language;
use chatkeep_services::assistant::{AssistantSettings, ComparisonRequest, RuleEdit, RuleUpdate};
use serde::Deserialize;
use url::form_urlencoded;

use super::super::overview::OverviewForm;
use super::super::rule_form::DraftTexts;
use super::super::words::{match_key, mode_key, strictness_key};

/// Settings to compare with: another mode, matching or strictness, or an edited rule.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SwitchQuery {
    pub(super) mode: Option<QaMode>,
    #[serde(rename = "match")]
    pub(super) keyword_match: Option<KeywordMatch>,
    pub(super) strictness: Option<Strictness>,
    /// Form of the settings that it was opened from; empty without one.
    #[serde(default)]
    pub(super) overview: String,
    /// Rule that is edited; absent for a new one.
    pub(super) rule: Option<String>,
    #[serde(default)]
    pub(super) keyword: Vec<String>,
    #[serde(default)]
    pub(super) question: String,
    #[serde(default)]
    pub(super) answer: String,
    /// Texts that the rule must not answer; none for those that it has, an empty one for none.
    #[serde(default, rename = "notFor")]
    pub(super) not_for: Vec<String>,
    /// Version of the list that the edited rule's form was filled with.
    pub(super) version: Option<i64>,
    /// Digest of the texts that the edited rule's form was filled with.
    #[serde(default)]
    pub(super) seen: String,
    /// `yes` where only the beginning of the answer is here.
    #[serde(default)]
    pub(super) cut: String,
    /// Only messages with that difference.
    pub(super) show: Option<String>,
    #[serde(default)]
    pub(super) page: usize,
}

impl SwitchQuery {
    /// Returns true if it is about an edited rule.
    pub(super) fn has_rule(&self) -> bool {
        self.rule.is_some() || !self.keyword.is_empty()
    }

    /// Returns true if anything differs from the settings.
    pub(super) fn changes(&self, settings: &AssistantSettings) -> bool {
        let qa = &settings.config.qa;
        self.has_rule()
            || self.mode.is_some_and(|mode| mode != qa.mode)
            || self.keyword_match.is_some_and(|one| one != qa.keyword_match)
            || self.strictness.is_some_and(|one| one != qa.strictness)
    }

    pub(super) fn request(&self) -> ComparisonRequest {
        let rule = self.has_rule().then(|| RuleEdit {
            rule: self.rule.as_deref().map(RuleId::from),
            texts: RuleUpdate {
                keywords: Some(self.keyword.clone()),
                question: Some(self.question.clone()),
                answer: Some(self.answer.clone()),
                not_for: self.not_for(),
            },
        });
        let Self { mode, keyword_match, strictness, .. } = *self;
        ComparisonRequest { mode, keyword_match, strictness, rule }
    }

    /// Returns the texts that the rule must not answer, unless they are those that it has.
    fn not_for(&self) -> Option<Vec<String>> {
        let texts = self.not_for.iter().filter(|text| !text.is_empty()).cloned().collect();
        (!self.not_for.is_empty()).then_some(texts)
    }

    /// Returns the name of what is compared with today's settings.
    pub(super) fn name(&self, settings: &AssistantSettings, language: Language) -> String {
        let qa = &settings.config.qa;
        let mode = self.mode.unwrap_or(qa.mode);
        let keyword_match = self.keyword_match.filter(|one| *one != qa.keyword_match);
        let strictness = self.strictness.filter(|one| *one != qa.strictness);
        let keys = [keyword_match.map(match_key), strictness.map(strictness_key)];
        let rule = self.has_rule().then_some("switch-with-rule");
        let has_others = rule.is_some() || keys.iter().any(Option::is_some);
        let mode = (mode != qa.mode || !has_others).then(|| mode_key(mode));
        let names = [rule, mode].into_iter().chain(keys).flatten().map(|key| language.text(key));
        names.collect::<Vec<_>>().join(" · ")
    }

    /// Returns the form that it was opened from, with what is compared; `None` without one.
    pub(super) fn form(&self) -> Option<OverviewForm> {
        let form = OverviewForm::decoded(&self.overview)?;
        Some(form.with(self.mode, self.keyword_match, self.strictness))
    }

    /// Returns the fields of the edited rule, or of the form that it was opened from.
    pub(super) fn draft(&self) -> Vec<(&'static str, String)> {
        let version = self.version.map(|version| version.to_string());
        let rule = self.rule.iter().map(|rule| ("rule", rule));
        let keywords = self.keyword.iter().map(|keyword| ("keyword", keyword));
        let not_for = self.not_for.iter().map(|text| ("notFor", text));
        let texts = [("question", &self.question), ("answer", &self.answer)];
        let others = [("cut", &self.cut), ("seen", &self.seen), ("overview", &self.overview)];
        let texts = texts.into_iter().chain(others);
        let texts = texts.filter(|(_, text)| !text.is_empty());
        let version = version.iter().map(|version| ("version", version));
        let all = rule.chain(keywords).chain(not_for).chain(texts).chain(version);
        all.map(|(name, value)| (name, value.clone())).collect()
    }

    /// Returns the texts of the edited rule; `None` where its answer is not complete.
    pub(super) fn texts(&self) -> Option<DraftTexts> {
        self.cut.is_empty().then(|| DraftTexts {
            draft: true,
            keyword: self.keyword.clone(),
            question: self.question.clone(),
            answer: self.answer.clone(),
            not_for: self.not_for.clone(),
            version: self.version,
            seen: self.seen.clone(),
        })
    }

    /// Returns the address of a page of the result.
    pub(super) fn address(&self, page: &str, show: Option<&str>, number: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(mode) = self.mode {
            query.append_pair("mode", mode.name());
        }
        if let Some(one) = self.keyword_match {
            query.append_pair("match", one.name());
        }
        if let Some(one) = self.strictness {
            query.append_pair("strictness", one.name());
        }
        query.extend_pairs(self.draft());
        if let Some(show) = show {
            query.append_pair("show", show);
        }
        if number > 0 {
            query.append_pair("page", &number.to_string());
        }
        format!("{page}?{}", query.finish())
    }
}
