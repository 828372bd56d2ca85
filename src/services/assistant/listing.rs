//! Rules of a channel as its admins look through them: filtered, sorted, page by page.

use std::cmp::Reverse;
use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::Rule;
use chatkeep_core::heavy::CALLERS;
use chatkeep_index::fold;

use super::{AssistantService, KeywordWarning, ReviewedRules, SettingsAccess};
use crate::ServiceError;

/// Rules of a page.
const PAGE: usize = 50;

/// Order of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleOrder {
    /// Oldest first: of rules that fit equally well, the first answers.
    #[default]
    Oldest,
    /// Most hits first.
    Hits,
    /// Newest change first.
    Changed,
}

/// Rules to list.
#[derive(Clone, Debug, Default)]
pub struct RuleQuery {
    /// Text that occurs in a text of the rule; empty for all rules.
    pub text: String,
    /// Order of the rules.
    pub order: RuleOrder,
    /// Number of the page, from 0.
    pub page: usize,
}

/// Page of rules.
#[derive(Clone, Debug)]
pub struct FoundRules {
    /// Number of all rules.
    pub total: usize,
    /// Number of rules with the text.
    pub found: usize,
    /// Rules of the page.
    pub rules: Vec<Rule>,
    /// Warnings about their keywords.
    pub warnings: Vec<KeywordWarning>,
    /// True if another page follows.
    pub has_more: bool,
}

impl AssistantService {
    /// Returns a page of the rules with a text.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn find_rules(
        &self,
        access: &SettingsAccess,
        query: RuleQuery,
    ) -> Result<FoundRules, ServiceError> {
        let reviewed = self.reviewed_rules(access).await?;
        Ok(CALLERS.run(move || FoundRules::new(reviewed, &query)).await)
    }
}

impl FoundRules {
    fn new(reviewed: ReviewedRules, query: &RuleQuery) -> Self {
        let ReviewedRules { book, mut warnings } = reviewed;
        let total = book.rules.len();
        let wanted = fold(&query.text);
        let mut rules = book.rules;
        rules.retain(|rule| wanted.is_empty() || has(rule, &wanted));
        match query.order {
            RuleOrder::Oldest => {}
            RuleOrder::Hits => rules.sort_by_key(|rule| Reverse(rule.hit_count)),
            RuleOrder::Changed => rules.sort_by_key(|rule| Reverse(rule.changed_at)),
        }
        let found = rules.len();
        let skipped = query.page.saturating_mul(PAGE);
        let rules: Vec<_> = rules.into_iter().skip(skipped).take(PAGE).collect();
        let has_more = skipped.saturating_add(rules.len()) < found && !rules.is_empty();
        let shown: HashSet<_> = rules.iter().map(|rule| &rule.id).collect();
        warnings.retain(|warning| warning.rule_ids.iter().any(|id| shown.contains(id)));
        Self { total, found, rules, warnings, has_more }
    }
}

fn has(rule: &Rule, wanted: &str) -> bool {
    let texts = rule.keywords.iter().chain([&rule.question, &rule.answer]).chain(&rule.not_for);
    texts.into_iter().any(|text| fold(text).contains(wanted))
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;

    use super::super::{RuleBook, SettingRevision};
    use super::*;

    fn found(text: &str, order: RuleOrder, page: usize) -> FoundRules {
        let time = Timestamp::from_millis;
        let rule = |number: i64| Rule {
            id: format!("qa_{number}").into(),
            keywords: vec![format!("ＷＩＦＩ{number}")],
            question: "密碼".to_owned(),
            answer: "a".to_owned(),
            not_for: Vec::new(),
            created_at: time(number),
            created_by: "U1".into(),
            changed_at: time(if number == 3 { 1_000 } else { number }),
            hit_count: number % 7,
            suppressed_count: 0,
        };
        let revision = SettingRevision { updated_at: time(0), updated_by: "U1".into() };
        let book = RuleBook { version: 1, revision, rules: (0..120).map(rule).collect() };
        let query = RuleQuery { text: text.to_owned(), order, page };
        FoundRules::new(ReviewedRules { book, warnings: Vec::new() }, &query)
    }

    #[test]
    fn rules_are_found_sorted_and_paged() {
        let ids = |found: &FoundRules| -> Vec<String> {
            found.rules.iter().take(2).map(|rule| rule.id.to_string()).collect()
        };
        let all = found("", RuleOrder::Oldest, 0);
        assert_eq!((all.total, all.found, all.rules.len(), all.has_more), (120, 120, 50, true));
        assert_eq!(ids(&all), ["qa_0", "qa_1"]);
        let last = found("密碼", RuleOrder::Oldest, 2);
        assert_eq!((last.rules.len(), last.has_more), (20, false));
        assert_eq!(ids(&found("", RuleOrder::Hits, 0)), ["qa_6", "qa_13"]);
        assert_eq!(ids(&found("", RuleOrder::Changed, 0)), ["qa_3", "qa_119"]);
        assert_eq!(ids(&found("wifi77", RuleOrder::Hits, 0)), ["qa_77"]);
        let none = found("nowhere", RuleOrder::Oldest, usize::MAX);
        assert_eq!((none.total, none.found, none.has_more), (120, 0, false));
    }
}
