//! Question-and-answer rules of a channel.

use std::collections::BTreeSet;
use std::slice;

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{KeywordMatch, Rule, RuleDraft, RuleList, limits};
use chatkeep_core::heavy::CALLERS;
use chatkeep_core::id::RuleId;
use chatkeep_core::random;
use chatkeep_index::keyword::KeywordMatcher;
use chatkeep_index::{duplicates, fold_phrase};
use chatkeep_store::{RuleChange, RuleChanged, Setting};

use super::super::input::{keywords, not_for, text};
use super::super::{Defect, FieldPath, ServiceError};
use super::{AssistantService, SettingRevision, SettingsAccess};

/// Approximate bytes of a rule's JSON beside its texts: names, IDs, times.
const AROUND: i64 = 200;

/// Rules of a channel.
#[derive(Clone, Debug)]
pub struct RuleBook {
    /// Version of the list, which changes may name.
    pub version: i64,
    /// Last change of the list.
    pub revision: SettingRevision,
    /// Rules with their hit counts, oldest first.
    pub rules: Vec<Rule>,
}

/// Rules of a channel with warnings about their keywords.
#[derive(Clone, Debug)]
pub struct ReviewedRules {
    /// The rules.
    pub book: RuleBook,
    /// Keywords that will not do what their editor thinks.
    pub warnings: Vec<KeywordWarning>,
}

/// Warning about a keyword with an unexpected effect.
#[derive(Clone, Debug)]
pub struct KeywordWarning {
    /// Kind of warning.
    pub kind: KeywordWarningKind,
    /// Keyword in the normalized form used for matching.
    pub keyword: String,
    /// Rules with this keyword; the first one answers.
    pub rule_ids: Vec<RuleId>,
}

/// Kind of warning about a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordWarningKind {
    /// Another rule has the same keyword; the oldest answers.
    Shared,
    /// The keyword is a trigger of the group rules or of the link, which take precedence.
    IsTrigger,
    /// The keyword is a single character, or has no letter and no digit, and answers every message
    /// that it occurs in.
    Short,
}

impl AssistantService {
    /// Returns the approximate size of the rules in bytes, as JSON.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn rules_size(&self, access: &SettingsAccess) -> Result<usize, ServiceError> {
        let (count, bytes) = self.store.assistant().rule_sizes(access.channel()).await?;
        Ok(usize::try_from(bytes + count * AROUND).unwrap_or(usize::MAX))
    }

    /// Returns the rules.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn rules(&self, access: &SettingsAccess) -> Result<RuleBook, ServiceError> {
        let Setting { version, value: RuleList { revision, items } } =
            self.store.assistant().rules(access.channel()).await?;
        let revision = self.revision(access.channel(), revision).await?;
        Ok(RuleBook { version, revision, rules: items })
    }

    /// Adds a rule if the list has one of the `expected` versions; returns its id.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad draft, [`ServiceError::Stale`] for another version,
    /// [`ServiceError::RulesTooLarge`] and [`ServiceError::TooManyRules`] when the channel has as many
    /// rules as it can have.
    #[boxed]
    pub async fn add_rule(
        &self,
        access: &SettingsAccess,
        draft: RuleDraft,
        expected: Option<&[i64]>,
    ) -> Result<RuleId, ServiceError> {
        let draft = checked(draft)?;
        let id = RuleId::new(format!("qa_{}_{}", self.clock.now().millis(), random::text(6)));
        self.change_rule(access, RuleChange::Add(&id, &draft), expected).await?;
        Ok(id)
    }

    /// Replaces a rule if the list has one of the `expected` versions.
    ///
    /// # Errors
    /// Those of [`Self::add_rule`]; [`ServiceError::NotFound`] for an unknown rule.
    #[boxed]
    pub async fn replace_rule(
        &self,
        access: &SettingsAccess,
        rule: &RuleId,
        update: RuleUpdate,
        expected: Option<&[i64]>,
    ) -> Result<(), ServiceError> {
        // Errors of what is given come first.
        update.check()?;
        if update.is_whole() {
            let draft = checked(update.over(RuleDraft::default()))?;
            return self.change_rule(access, RuleChange::Replace(rule, &draft), expected).await;
        }
        loop {
            // What is absent is that of the version that is changed.
            let (listed, version) = self.rule(access, rule).await?;
            let draft = update.clone().over_saved(RuleDraft::from(listed));
            let draft = draft.map_err(|(_, error)| error)?;
            let change = RuleChange::Replace(rule, &draft);
            let versions = expected.unwrap_or(slice::from_ref(&version));
            match self.change_rule(access, change, Some(versions)).await {
                Err(ServiceError::Stale) if expected.is_none() => {}
                done => return done,
            }
        }
    }

    /// Removes a rule if the list has one of the `expected` versions.
    ///
    /// # Errors
    /// [`ServiceError::Stale`] for another version, [`ServiceError::NotFound`] for an unknown rule.
    #[boxed]
    pub async fn remove_rule(
        &self,
        access: &SettingsAccess,
        rule: &RuleId,
        expected: Option<&[i64]>,
    ) -> Result<(), ServiceError> {
        self.change_rule(access, RuleChange::Remove(rule), expected).await
    }

    /// Returns the rules after `rule` was saved, with warnings about its keywords.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn saved_rules(
        &self,
        access: &SettingsAccess,
        rule: RuleId,
    ) -> Result<ReviewedRules, ServiceError> {
        let mut reviewed = self.reviewed_rules(access).await?;
        reviewed.warnings.retain(|warning| warning.rule_ids.contains(&rule));
        Ok(reviewed)
    }

    /// Returns the rules with warnings about all keywords.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn reviewed_rules(
        &self,
        access: &SettingsAccess,
    ) -> Result<ReviewedRules, ServiceError> {
        let book = self.rules(access).await?;
        let config = self.store.assistant().assistant_config(access.channel()).await?;
        let mut triggers = Vec::new();
        if config.rules.enabled {
            triggers.extend(config.rules.trigger_keywords);
        }
        if config.link.enabled {
            triggers.extend(config.link.trigger_keywords);
        }
        let work = move || {
            let warnings = warnings(&book.rules, &triggers, config.qa.keyword_match);
            ReviewedRules { book, warnings }
        };
        Ok(CALLERS.run(work).await)
    }

    /// Returns a rule with the version of the list.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for an unknown rule.
    #[boxed]
    pub async fn rule(
        &self,
        access: &SettingsAccess,
        rule: &RuleId,
    ) -> Result<(Rule, i64), ServiceError> {
        let RuleBook { version, rules, .. } = self.rules(access).await?;
        let rule = rules.into_iter().find(|listed| listed.id == *rule);
        Ok((rule.ok_or(ServiceError::NotFound)?, version))
    }

    async fn change_rule(
        &self,
        access: &SettingsAccess,
        change: RuleChange<'_>,
        expected: Option<&[i64]>,
    ) -> Result<(), ServiceError> {
        self.change_rules(access, &[change], expected).await
    }

    /// Changes rules if the list has one of the `expected` versions: all, or none.
    pub(super) async fn change_rules(
        &self,
        access: &SettingsAccess,
        changes: &[RuleChange<'_>],
        expected: Option<&[i64]>,
    ) -> Result<(), ServiceError> {
        let (channel, now) = (access.channel(), self.clock.now());
        let store = self.store.assistant();
        match store.change_rules(channel, changes, expected, access.user(), now).await? {
            RuleChanged::Done => {
                self.reload(channel).await;
                Ok(())
            }
            RuleChanged::Unchanged => Ok(()),
            RuleChanged::Stale => Err(ServiceError::Stale),
            RuleChanged::NoRule => Err(ServiceError::NotFound),
            RuleChanged::TooLarge(bytes) => Err(ServiceError::RulesTooLarge { bytes }),
            RuleChanged::TooMany => Err(ServiceError::TooManyRules),
        }
    }
}

/// New texts of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuleUpdate {
    /// Its keywords; `None` leaves them as they are.
    pub keywords: Option<Vec<String>>,
    /// Its question; `None` leaves it as it is.
    pub question: Option<String>,
    /// Its answer; `None` leaves it as it is.
    pub answer: Option<String>,
    /// Texts that it must not answer; `None` leaves them as they are.
    pub not_for: Option<Vec<String>>,
}

impl RuleUpdate {
    /// Returns the texts of a rule that has those of `before`.
    pub(super) fn over(self, before: RuleDraft) -> RuleDraft {
        RuleDraft {
            keywords: self.keywords.unwrap_or(before.keywords),
            question: self.question.unwrap_or(before.question),
            answer: self.answer.unwrap_or(before.answer),
            not_for: self.not_for.unwrap_or(before.not_for),
        }
    }
}

impl From<RuleDraft> for RuleUpdate {
    fn from(draft: RuleDraft) -> Self {
        let RuleDraft { keywords, question, answer, not_for } = draft;
        Self {
            keywords: Some(keywords),
            question: Some(question),
            answer: Some(answer),
            not_for: Some(not_for),
        }
    }
}

impl RuleUpdate {
    /// Returns true if nothing of a saved rule is left.
    const fn is_whole(&self) -> bool {
        self.keywords.is_some()
            && self.question.is_some()
            && self.answer.is_some()
            && self.not_for.is_some()
    }

    /// Checks the given texts, whatever the others are.
    fn check(&self) -> Result<(), ServiceError> {
        let at = |field: RuleField| field.of(FieldPath::BODY);
        let given = self.clone();
        let check = |words| keywords(at(RuleField::Keywords), words, 1, limits::KEYWORDS);
        let words = given.keywords.map(check).transpose()?.unwrap_or_default();
        if let Some(question) = given.question {
            text(at(RuleField::Question), question, 0, limits::QUESTION)?;
        }
        if let Some(answer) = given.answer {
            text(at(RuleField::Answer), answer, 1, limits::ANSWER)?;
        }
        if let Some(texts) = given.not_for {
            not_for(at(RuleField::NotFor), texts, &words)?;
        }
        Ok(())
    }

    /// Returns the checked texts of a saved rule that has those of `before`. A keyword that is one of
    /// the texts that it must not answer and that the update does not have is the keyword's defect.
    pub(super) fn over_saved(
        self,
        before: RuleDraft,
    ) -> Result<RuleDraft, (RuleField, ServiceError)> {
        if self.not_for.is_none() {
            let not_for: BTreeSet<_> =
                before.not_for.iter().map(|text| fold_phrase(text)).collect();
            let is_one = |keyword: &String| not_for.contains(&fold_phrase(keyword));
            if let Some(index) = self.keywords.iter().flatten().position(is_one) {
                let field = RuleField::Keywords.of(FieldPath::BODY).item(index);
                let error = ServiceError::defective(field, Defect::IsNotFor);
                return Err((RuleField::Keywords, error));
            }
        }
        checked_at(&FieldPath::BODY, self.over(before))
    }
}

/// Text of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleField {
    /// The keywords.
    Keywords,
    /// The question.
    Question,
    /// The answer.
    Answer,
    /// The texts that it must not answer.
    NotFor,
}

impl RuleField {
    /// Returns the location of the text in a rule.
    fn of(self, rule: FieldPath) -> FieldPath {
        rule.member(match self {
            Self::Keywords => "keywords",
            Self::Question => "question",
            Self::Answer => "answer",
            Self::NotFor => "notFor",
        })
    }
}

/// Checks the texts of a rule; duplicate keywords collapse.
pub(super) fn checked(draft: RuleDraft) -> Result<RuleDraft, ServiceError> {
    checked_at(&FieldPath::BODY, draft).map_err(|(_, error)| error)
}

/// Returns the texts of the rule at that location as they are stored, or the first that is not as it
/// must be.
pub(super) fn checked_at(
    rule: &FieldPath,
    draft: RuleDraft,
) -> Result<RuleDraft, (RuleField, ServiceError)> {
    let at = |field: RuleField| field.of(rule.clone());
    let of = |field: RuleField| move |error| (field, error);
    let words = keywords(at(RuleField::Keywords), draft.keywords, 1, limits::KEYWORDS);
    let question = text(at(RuleField::Question), draft.question, 0, limits::QUESTION);
    let answer = text(at(RuleField::Answer), draft.answer, 1, limits::ANSWER);
    let keywords = words.map_err(of(RuleField::Keywords))?;
    let not_for = not_for(at(RuleField::NotFor), draft.not_for, &keywords);
    Ok(RuleDraft {
        question: question.map_err(of(RuleField::Question))?,
        answer: answer.map_err(of(RuleField::Answer))?,
        not_for: not_for.map_err(of(RuleField::NotFor))?,
        keywords,
    })
}

/// Returns the keywords that will not do what their editor thinks.
fn warnings(rules: &[Rule], triggers: &[String], wanted: KeywordMatch) -> Vec<KeywordWarning> {
    let words = rules.iter().zip(0_u32..).flat_map(|(rule, ordinal)| {
        rule.keywords.iter().map(move |keyword| (ordinal, keyword.as_str()))
    });
    let id = |ordinal: u32| rules.get(ordinal as usize).map(|rule| rule.id.clone());
    let shared = duplicates(words.clone()).into_iter().map(|shared| {
        let rule_ids: Vec<_> = shared.rules.into_iter().filter_map(id).collect();
        KeywordWarning { kind: KeywordWarningKind::Shared, keyword: shared.keyword, rule_ids }
    });
    let triggers = KeywordMatcher::build(triggers.iter().map(|trigger| (0, trigger.as_str()))).ok();
    let folded = words.map(|(ordinal, keyword)| (ordinal, fold_phrase(keyword)));
    let contains = wanted == KeywordMatch::Contains;
    let is_shadowed = |keyword: &str| {
        let triggers = triggers.as_ref()?;
        triggers.exact(keyword).or_else(|| triggers.contains(keyword).filter(|_| contains))
    };
    let of_one = folded.filter_map(|(ordinal, keyword)| {
        let kind = match is_shadowed(&keyword) {
            Some(_) => KeywordWarningKind::IsTrigger,
            None if contains && is_short(&keyword) => KeywordWarningKind::Short,
            None => return None,
        };
        Some(KeywordWarning { kind, keyword, rule_ids: id(ordinal).into_iter().collect() })
    });
    shared.chain(of_one).collect()
}

/// Returns true for a keyword that occurs in messages about anything: a single character, or signs
/// alone.
fn is_short(keyword: &str) -> bool {
    keyword.chars().nth(1).is_none() || !keyword.contains(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;

    use super::*;

    #[test]
    fn whoever_has_short_keywords_found_in_messages_is_warned() {
        let words = ["?", "１", "e", "車", "👍🎉", "?!", "ok", "c#", "ตา", "rules"];
        let keywords = words.map(str::to_owned).to_vec();
        let draft = RuleDraft { keywords, answer: "a".to_owned(), ..RuleDraft::default() };
        let rules = [Rule::new("qa_1".into(), draft, Timestamp::default(), "U1".into())];
        let warned = |wanted: KeywordMatch, triggers: &[&str]| -> Vec<_> {
            let triggers: Vec<_> = triggers.iter().map(ToString::to_string).collect();
            let warnings = warnings(&rules, &triggers, wanted).into_iter();
            warnings.map(|warning| (warning.kind, warning.keyword)).collect()
        };
        let short = ["?", "1", "e", "車", "👍🎉", "?!"];
        let expected = short.map(|word| (KeywordWarningKind::Short, word.to_owned()));
        assert_eq!(warned(KeywordMatch::Contains, &[]), expected);
        assert!(warned(KeywordMatch::Exact, &[]).is_empty(), "as the whole message they are clear");
        let triggered = warned(KeywordMatch::Contains, &["E", "?"]);
        let short = triggered.iter().map(|(kind, _)| *kind == KeywordWarningKind::Short);
        assert_eq!(short.collect::<Vec<_>>(), [false, true, false, true, true, false]);
    }
}
