//! Fields of a rule's form: as a browser sends them, and as a service takes them.

use std::iter;

use chatkeep_core::assistant::{Rule, RuleDraft, limits};
use chatkeep_core::text::prefix;
use chatkeep_i18n::Language;
use chatkeep_index::{KeywordMatcher, fold_phrase};
use chatkeep_services::assistant::RuleUpdate;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use super::super::form::{count, limit_hint, lines, unbroken};
use super::super::visitor::Visitor;

/// Maximum length of a word in bytes.
const LONGEST_WORD: usize = 40;

/// Form of a rule as a browser sends it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RuleForm {
    /// Keywords, one a line.
    pub(super) keywords: String,
    pub(super) question: String,
    pub(super) answer: String,
    /// Texts that it must not answer, one a line.
    /// Absent in a page of an earlier version.
    #[serde(rename = "notFor")]
    pub(super) not_for: Option<String>,
    /// Version of the list that the form was filled with.
    pub(super) version: Option<i64>,
    /// Digest of the rule's texts that the form was filled with; empty in a page of an earlier
    /// version.
    pub(super) seen: String,
    /// `delete` for the button that deletes.
    #[serde(rename = "do")]
    pub(super) action: String,
    pub(super) confirmed: String,
}

/// Texts of an edited rule as addresses have them: an absent answer, and absent texts that it must
/// not answer, are those of the saved rule.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DraftTexts {
    /// True in the address of a form that is to be filled with them.
    pub(super) draft: bool,
    pub(super) keyword: Vec<String>,
    pub(super) question: String,
    pub(super) answer: String,
    #[serde(rename = "notFor")]
    pub(super) not_for: Vec<String>,
    pub(super) version: Option<i64>,
    pub(super) seen: String,
}

impl DraftTexts {
    /// Returns the texts that the query string of an address fills a form with; `None` where it is
    /// not that of an edited rule.
    pub(super) fn in_query(query: &str) -> Option<Self> {
        serde_html_form::from_str(query).ok().filter(|texts: &Self| texts.draft)
    }

    /// Returns the form of the edited rule; `saved` is that of the saved one, or an empty one.
    pub(super) fn over(self, saved: RuleForm) -> RuleForm {
        let not_for = (!self.not_for.is_empty()).then(|| self.not_for.join("\n"));
        RuleForm {
            keywords: self.keyword.join("\n"),
            question: self.question,
            answer: if self.answer.is_empty() { saved.answer } else { self.answer },
            not_for: not_for.or(saved.not_for),
            // Who saves it is told if somebody else has changed the rule since.
            version: saved.version.map(|version| self.version.unwrap_or(version)),
            seen: if self.version.is_some() { self.seen } else { saved.seen },
            ..RuleForm::default()
        }
    }
}

/// Sentences about the limits of the fields.
pub(super) struct RuleHints {
    pub(super) keywords: String,
    pub(super) question: String,
    pub(super) answer: String,
    pub(super) not_for: String,
}

impl RuleForm {
    pub(super) fn of(rule: &Rule, version: i64) -> Self {
        let form = Self {
            keywords: one_a_line(&rule.keywords),
            question: rule.question.clone(),
            answer: rule.answer.clone(),
            not_for: Some(one_a_line(&rule.not_for)),
            version: Some(version),
            ..Self::default()
        };
        Self { seen: form.digest(), ..form }
    }

    /// Returns a digest of its texts.
    fn digest(&self) -> String {
        let RuleDraft { keywords, question, answer, not_for } = self.draft();
        let texts = serde_json::to_vec(&(keywords, question, answer, not_for)).unwrap_or_default();
        hex::encode(&Sha256::digest(texts)[..8])
    }

    pub(super) fn texts(&self) -> RuleUpdate {
        RuleUpdate {
            keywords: Some(lines(&self.keywords)),
            question: Some(unbroken(&self.question)),
            answer: Some(unbroken(&self.answer)),
            not_for: self.not_for.as_deref().map(lines),
        }
    }

    /// Returns the texts of a new rule.
    pub(super) fn draft(&self) -> RuleDraft {
        let RuleUpdate { keywords, question, answer, not_for } = self.texts();
        RuleDraft {
            keywords: keywords.unwrap_or_default(),
            question: question.unwrap_or_default(),
            answer: answer.unwrap_or_default(),
            not_for: not_for.unwrap_or_default(),
        }
    }

    /// Returns the form as a page shows it again.
    pub(super) fn typed(self) -> Self {
        Self {
            keywords: unbroken(&self.keywords),
            question: unbroken(&self.question),
            answer: unbroken(&self.answer),
            not_for: self.not_for.as_deref().map(unbroken),
            ..self
        }
    }

    /// Adds the texts of an address: `question`, and any number of `keyword`; or, with `draft`, takes
    /// the texts of an edited rule.
    pub(super) fn prefilled(mut self, visitor: &Visitor) -> Self {
        let query = visitor.address.query().unwrap_or_default();
        if let Some(texts) = DraftTexts::in_query(query) {
            return texts.over(self);
        }
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "question" => self.question = value.into_owned(),
                "keyword" => add_line(&mut self.keywords, &value),
                _ => {}
            }
        }
        self
    }

    /// Returns whether a message is a keyword of the rule.
    pub(super) fn has_keyword(&self, text: &str) -> bool {
        let folded = fold_phrase(text);
        self.keywords.lines().any(|keyword| fold_phrase(keyword) == folded)
    }

    /// Returns a message as a text that a rule must not answer: on one line, and as much of it as
    /// such a text may have, without a word that is cut in two. Of one that is longer, it is the
    /// part with a keyword.
    pub(super) fn part_not_for(&self, message: &str) -> String {
        let line = on_one_line(message);
        let start = self.start_of_part(&line).unwrap_or_default();
        beginning_of(&line[start..]).to_owned()
    }

    /// Returns where the first part with a keyword begins; `None` without one, and for a text that
    /// is short enough to be taken whole.
    fn start_of_part(&self, line: &str) -> Option<usize> {
        if prefix(line, limits::NOT_FOR_TEXT).len() == line.len() {
            return None;
        }
        let keywords = KeywordMatcher::build(self.keywords.lines().map(|keyword| (0, keyword)));
        let keywords = keywords.ok()?;
        let next = |at: &usize| Some(at + prefix(&line[*at..], limits::NOT_FOR_TEXT / 2).len());
        let places = iter::successors(Some(0), next).take_while(|at| *at < line.len());
        let mut starts = places.filter_map(|place| word_from(line, place));
        starts.find(|&start| keywords.contains(beginning_of(&line[start..])).is_some())
    }

    /// Adds a text that the rule must not answer.
    pub(super) fn but_not_for(mut self, text: &str) -> Self {
        add_line(self.not_for.get_or_insert_default(), text);
        self
    }

    pub(super) fn has_texts_of(&self, other: &Self) -> bool {
        self.texts() == other.texts()
    }
}

/// Returns a text on one line, with one space between words.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns as much of the beginning of a line as a text may have that a rule must not answer,
/// without a word that is cut in two.
fn beginning_of(line: &str) -> &str {
    let start = prefix(line, limits::NOT_FOR_TEXT);
    let is_whole = start.len() == line.len() || line[start.len()..].starts_with(' ');
    match start.rsplit_once(' ') {
        // What is longer is no word, but a text in a script without spaces.
        Some((words, part)) if !is_whole && part.len() <= LONGEST_WORD => words,
        _ => start.trim_end(),
    }
}

/// Returns where the first word from a place on begins, or the place itself in a text in a script
/// without spaces; `None` if no further word begins.
fn word_from(line: &str, place: usize) -> Option<usize> {
    let (before, rest) = line.split_at(place);
    if before.is_empty() || before.ends_with(' ') {
        return Some(place);
    }
    match rest.find(' ') {
        Some(end) if end <= LONGEST_WORD => Some(place + end + 1),
        None if rest.len() <= LONGEST_WORD => None,
        // A Latin word may stand in such a text.
        _ if before.ends_with(|c: char| c.is_ascii_alphanumeric()) => {
            rest.find(|c: char| !c.is_ascii_alphanumeric()).map(|end| place + end)
        }
        _ => Some(place),
    }
}

/// Adds a line to a field with one text a line, unless it is there.
fn add_line(field: &mut String, line: &str) {
    if field.lines().all(|other| other != line) {
        let joint = if field.is_empty() { "" } else { "\n" };
        field.extend([joint, line]);
    }
}

/// Returns texts one a line. A line break in a text means no more than a space.
pub(super) fn one_a_line(keywords: &[String]) -> String {
    keywords.iter().map(|keyword| on_one_line(keyword)).collect::<Vec<_>>().join("\n")
}

impl RuleHints {
    pub(super) fn new(language: Language) -> Self {
        let keywords = [("count", count(limits::KEYWORDS)), ("max", count(limits::KEYWORD))];
        let not_for = [("count", count(limits::NOT_FOR)), ("max", count(limits::NOT_FOR_TEXT))];
        Self {
            keywords: language.format("rule-keywords-hint", &keywords),
            question: limit_hint(limits::QUESTION, language),
            answer: limit_hint(limits::ANSWER, language),
            not_for: language.format("rule-not-for-hint", &not_for),
        }
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_long_message_is_cut_between_words() {
        let cut = |message: &str| RuleForm::default().part_not_for(message);
        assert_eq!(cut("two\n  lines "), "two lines");
        assert_eq!(cut(&"words ".repeat(200)), "words ".repeat(83).trim_end());
        assert_eq!(cut(&"字".repeat(501)), "字".repeat(500));
        let mixed = format!("請問 parking{}", "這裡附近".repeat(200));
        assert_eq!(cut(&mixed).chars().count(), 500, "a script without spaces");
    }

    #[test]
    fn of_a_long_message_the_part_with_the_keyword_is_taken() {
        let form = RuleForm { keywords: "fees\n停車".to_owned(), ..RuleForm::default() };
        let long = format!("{} 停車場施工 {}", "字".repeat(560), "later ".repeat(200));
        let part = form.part_not_for(&long);
        assert!(part.contains("停車場施工") && part.chars().count() <= 500, "{part}");
        assert_eq!(
            form.part_not_for(&"x ".repeat(600)),
            RuleForm::default().part_not_for(&"x ".repeat(600))
        );
        assert_eq!(form.part_not_for("  short\nfees "), "short fees");
    }

    #[test]
    fn a_draft_goes_over_the_saved_rule() {
        let saved = RuleForm {
            keywords: "hours".to_owned(),
            question: "When?".to_owned(),
            answer: "9-18".to_owned(),
            not_for: Some("no".to_owned()),
            version: Some(4),
            seen: "now".to_owned(),
            ..RuleForm::default()
        };
        let draft = |query: &str| -> DraftTexts { serde_html_form::from_str(query).unwrap() };
        let form = draft("draft=true&keyword=a&keyword=b&version=3").over(saved.clone());
        assert_eq!((&*form.keywords, &*form.question, &*form.answer), ("a\nb", "", "9-18"));
        assert_eq!((form.not_for.as_deref(), form.version), (Some("no"), Some(3)));
        assert_eq!(form.seen, "", "what the rule was then is not known");
        let form = draft("draft=true&keyword=a&version=3&seen=then").over(saved.clone());
        assert_eq!(form.seen, "then");
        let form = draft("keyword=a&answer=x&notFor=").over(saved);
        assert_eq!((&*form.answer, form.not_for.as_deref()), ("x", Some("")));
        assert_eq!((form.version, &*form.seen), (Some(4), "now"));
        assert_eq!(draft("keyword=a&version=3").over(RuleForm::default()).version, None);
    }

    #[test]
    fn a_form_has_one_keyword_a_line() {
        let form = RuleForm {
            keywords: " wifi \r\n\r\n密碼, 帳號\r\n".to_owned(),
            answer: "a\r\nb".to_owned(),
            not_for: Some("no, thanks\r\n".to_owned()),
            ..RuleForm::default()
        };
        let draft = form.draft();
        assert_eq!(draft.keywords, ["wifi", "密碼, 帳號"]);
        assert_eq!(draft.answer, "a\nb");
        assert_eq!(draft.not_for, ["no, thanks"]);
        let more = form.clone().but_not_for("two lines").but_not_for("two lines");
        assert_eq!(more.draft().not_for, ["no, thanks", "two lines"]);
        assert_eq!(RuleForm::default().texts().not_for, None, "the page of an earlier version");
        assert!(form.has_keyword("WIFI!") && !form.has_keyword("wifi 密碼"));
        assert_eq!(one_a_line(&["a\n b".to_owned(), "c".to_owned()]), "a b\nc");
        assert!(form.has_texts_of(&RuleForm { version: Some(3), ..form.clone() }));
    }

    #[test]
    fn a_form_knows_the_texts_that_it_was_filled_with() {
        let draft = RuleDraft { answer: "9-18".to_owned(), ..RuleDraft::default() };
        let rule = Rule::new("qa_1".into(), draft, Timestamp::default(), "U1".into());
        let form = RuleForm::of(&rule, 1);
        assert_eq!(RuleForm::of(&rule, 2).seen, form.seen, "another rule was changed");
        let used = Rule { hit_count: 7, ..rule.clone() };
        assert_eq!(RuleForm::of(&used, 1).seen, form.seen);
        for changed in [
            Rule { keywords: vec!["hours".to_owned()], ..rule.clone() },
            Rule { question: "When?".to_owned(), ..rule.clone() },
            Rule { answer: "10-19".to_owned(), ..rule.clone() },
            Rule { not_for: vec!["happy hours".to_owned()], ..rule.clone() },
        ] {
            assert_ne!(RuleForm::of(&changed, 1).seen, form.seen, "{changed:?}");
        }
    }
}
