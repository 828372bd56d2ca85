//! Fields of a rule's form: as a browser sends them, and as a service takes them.

use chatkeep_core::assistant::{Rule, RuleDraft, limits};
use chatkeep_i18n::Language;
use serde::Deserialize;
use url::form_urlencoded;

use super::super::form::{count, limit_hint, lines, unbroken};
use super::super::visitor::Visitor;

/// Form of a rule as a browser sends it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RuleForm {
    /// Keywords, one a line.
    pub(super) keywords: String,
    pub(super) question: String,
    pub(super) answer: String,
    /// Version of the list that the form was filled with.
    pub(super) version: Option<i64>,
    /// `delete` for the button that deletes.
    #[serde(rename = "do")]
    pub(super) action: String,
    pub(super) confirmed: String,
}

/// Sentences about the limits of the fields.
pub(super) struct RuleHints {
    pub(super) keywords: String,
    pub(super) question: String,
    pub(super) answer: String,
}

impl RuleForm {
    pub(super) fn of(rule: &Rule, version: i64) -> Self {
        Self {
            keywords: one_a_line(&rule.keywords),
            question: rule.question.clone(),
            answer: rule.answer.clone(),
            version: Some(version),
            ..Self::default()
        }
    }

    pub(super) fn draft(&self) -> RuleDraft {
        RuleDraft {
            keywords: lines(&self.keywords),
            question: unbroken(&self.question),
            answer: unbroken(&self.answer),
        }
    }

    /// Returns the form as a page shows it again.
    pub(super) fn typed(self) -> Self {
        Self {
            keywords: unbroken(&self.keywords),
            question: unbroken(&self.question),
            answer: unbroken(&self.answer),
            ..self
        }
    }

    /// Adds the texts of an address: `question`, and any number of `keyword`.
    pub(super) fn prefilled(mut self, visitor: &Visitor) -> Self {
        let query = visitor.address.query().unwrap_or_default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "question" => self.question = value.into_owned(),
                "keyword" if self.keywords.lines().all(|line| line != value) => {
                    let joint = if self.keywords.is_empty() { "" } else { "\n" };
                    self.keywords.extend([joint, &value]);
                }
                _ => {}
            }
        }
        self
    }

    pub(super) fn has_texts_of(&self, other: &Self) -> bool {
        let (own, other) = (self.draft(), other.draft());
        own == other
    }
}

/// Returns keywords one a line. A line break in a keyword means no more than a space.
fn one_a_line(keywords: &[String]) -> String {
    let lines = keywords.iter().map(|keyword| keyword.split_whitespace().collect::<Vec<_>>());
    lines.map(|words| words.join(" ")).collect::<Vec<_>>().join("\n")
}

impl RuleHints {
    pub(super) fn new(language: Language) -> Self {
        let keywords = [("count", count(limits::KEYWORDS)), ("max", count(limits::KEYWORD))];
        Self {
            keywords: language.format("rule-keywords-hint", &keywords),
            question: limit_hint(limits::QUESTION, language),
            answer: limit_hint(limits::ANSWER, language),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_one_keyword_a_line() {
        let form = RuleForm {
            keywords: " wifi \r\n\r\n密碼, 帳號\r\n".to_owned(),
            answer: "a\r\nb".to_owned(),
            ..RuleForm::default()
        };
        let draft = form.draft();
        assert_eq!(draft.keywords, ["wifi", "密碼, 帳號"]);
        assert_eq!(draft.answer, "a\nb");
        assert_eq!(one_a_line(&["a\n b".to_owned(), "c".to_owned()]), "a b\nc");
        assert!(form.has_texts_of(&RuleForm { version: Some(3), ..form.clone() }));
    }
}
