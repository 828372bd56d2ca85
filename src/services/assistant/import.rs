//! Import of rules: a plan of what it would do, row by row, and the import itself.

use std::collections::{BTreeSet, HashMap};

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{Rule, RuleDraft, limits};
use chatkeep_core::heavy::CALLERS;
use chatkeep_core::id::RuleId;
use chatkeep_core::random;
use chatkeep_index::fold_phrase;
use chatkeep_store::RuleChange;

use super::super::{Defect, FieldPath, ServiceError};
use super::rules::{self, RuleField, RuleUpdate};
use super::{AssistantService, RuleBook, SettingsAccess};

/// Row of an import.
#[derive(Clone, Debug)]
pub struct ImportRow {
    /// Line at which it begins.
    pub line: u64,
    /// ID of the rule that it replaces; one that the channel does not have is ignored.
    pub id: Option<RuleId>,
    /// Texts of the rule; absent ones stay as they are.
    pub texts: RuleUpdate,
}

/// Rules of a channel and what an import would do to them.
#[derive(Clone, Debug)]
pub struct RuleImportPlan {
    /// Version of the list that the plan is for.
    pub version: i64,
    /// Rows in their order.
    pub rows: Vec<PlannedRow>,
    /// Limit that the rules would be beyond.
    pub beyond: Option<RuleLimit>,
}

/// Row of an import with what becomes of it.
#[derive(Clone, Debug)]
pub struct PlannedRow {
    /// Line at which it begins.
    pub line: u64,
    /// Texts of the rule as they are stored.
    pub draft: RuleDraft,
    /// Fate of the row.
    pub fate: RowFate,
}

/// Fate of a row of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowFate {
    /// A rule is added.
    Added,
    /// A rule is changed.
    Changed(RuleId),
    /// The rule is there already.
    Same(RuleId),
    /// A text is not as it must be.
    Defective(RuleField, Defect),
    /// The row of that line is about the same rule.
    Repeated(u64),
}

/// Limit on a channel's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleLimit {
    /// [`limits::RULES`].
    Count,
    /// [`limits::RULE_BYTES`].
    Bytes,
}

impl RuleImportPlan {
    /// Returns true if the rules can be imported: all rows are good, and some change something.
    pub fn is_possible(&self) -> bool {
        self.refused() == 0 && self.beyond.is_none() && self.added() + self.changed() > 0
    }

    /// Returns the number of rules to add.
    pub fn added(&self) -> usize {
        self.count(|fate| *fate == RowFate::Added)
    }

    /// Returns the number of rules to change.
    pub fn changed(&self) -> usize {
        self.count(|fate| matches!(fate, RowFate::Changed(_)))
    }

    /// Returns the number of rows that change nothing.
    pub fn same(&self) -> usize {
        self.count(|fate| matches!(fate, RowFate::Same(_)))
    }

    /// Returns the number of refused rows.
    pub fn refused(&self) -> usize {
        self.count(RowFate::is_refused)
    }

    fn count(&self, of: impl Fn(&RowFate) -> bool) -> usize {
        self.rows.iter().filter(|row| of(&row.fate)).count()
    }
}

impl RowFate {
    /// Returns true for a row that cannot be imported.
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Defective(..) | Self::Repeated(_))
    }
}

impl AssistantService {
    /// Returns what an import would do. A row is about the rule with its ID, or else about the one
    /// with the same keywords; other rules stay as they are.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn plan_import(
        &self,
        access: &SettingsAccess,
        rows: Vec<ImportRow>,
    ) -> Result<RuleImportPlan, ServiceError> {
        let book = self.rules(access).await?;
        Ok(CALLERS.run(move || RuleImportPlan::new(&book, rows)).await)
    }

    /// Imports rules if the list has that version: all rows, or none.
    ///
    /// # Errors
    /// [`ServiceError::Stale`] for another version, [`ServiceError::Conflict`] when the plan is not
    /// possible.
    #[boxed]
    pub async fn import_rules(
        &self,
        access: &SettingsAccess,
        rows: Vec<ImportRow>,
        expected: i64,
    ) -> Result<RuleImportPlan, ServiceError> {
        let plan = self.plan_import(access, rows).await?;
        if plan.version != expected {
            return Err(ServiceError::Stale);
        }
        if !plan.is_possible() {
            return Err(ServiceError::Conflict("The rules cannot be imported"));
        }
        // Rules are in the order of their time and ID, and new ones in that of their rows.
        let (now, suffix) = (self.clock.now().millis(), random::text(4));
        let ids: Vec<_> = (0..plan.rows.len())
            .map(|row| RuleId::new(format!("qa_{now}_{row:05}{suffix}")))
            .collect();
        let changes = plan.rows.iter().zip(&ids).filter_map(|(row, id)| match &row.fate {
            RowFate::Added => Some(RuleChange::Add(id, &row.draft)),
            RowFate::Changed(id) => Some(RuleChange::Replace(id, &row.draft)),
            _ => None,
        });
        let changes: Vec<_> = changes.collect();
        self.change_rules(access, &changes, Some(&[expected])).await?;
        Ok(plan)
    }
}

impl RuleImportPlan {
    fn new(book: &RuleBook, rows: Vec<ImportRow>) -> Self {
        let known = RuleLookup::new(&book.rules);
        let (mut rules, mut words) = (HashMap::new(), HashMap::new());
        let mut plan = |row: ImportRow| {
            let ImportRow { line, id, texts } = row;
            let defective = |(draft, field, defect)| PlannedRow {
                line,
                draft,
                fate: RowFate::Defective(field, defect),
            };
            let draft = match checked(texts.clone().over(RuleDraft::default())) {
                Ok(draft) => draft,
                Err(defect) => return defective(defect),
            };
            let key = word_key(&draft.keywords);
            let rule = known.rule(id.as_ref(), &key);
            let draft = match rule.map(|rule| over_saved(texts, rule)) {
                None => draft,
                Some(Ok(draft)) => draft,
                Some(Err(defect)) => return defective(defect),
            };
            let first = *words.entry(key).or_insert(line);
            let first = match rule {
                Some(rule) => first.min(*rules.entry(rule.id.clone()).or_insert(line)),
                None => first,
            };
            let fate = match rule {
                _ if first != line => RowFate::Repeated(first),
                Some(rule) if is_same(rule, &draft) => RowFate::Same(rule.id.clone()),
                Some(rule) => RowFate::Changed(rule.id.clone()),
                None => RowFate::Added,
            };
            PlannedRow { line, draft, fate }
        };
        let rows = rows.into_iter().map(&mut plan).collect();
        let mut plan = Self { version: book.version, rows, beyond: None };
        plan.beyond = plan.limit(&book.rules);
        plan
    }

    /// Returns the limit that the rules would be beyond. What is beyond it already may stay.
    fn limit(&self, rules: &[Rule]) -> Option<RuleLimit> {
        let added = self.added();
        if added > 0 && rules.len() + added > limits::RULES {
            return Some(RuleLimit::Count);
        }
        let by_id: HashMap<_, _> = rules.iter().map(|rule| (&rule.id, rule)).collect();
        let before: i64 = rules.iter().map(size_of_rule).sum();
        let grown = self.rows.iter().map(|row| match &row.fate {
            RowFate::Added => size(&row.draft),
            RowFate::Changed(id) => {
                by_id.get(id).map_or(0, |rule| size(&row.draft) - size_of_rule(rule))
            }
            _ => 0,
        });
        let grown: i64 = grown.sum();
        (grown > 0 && before + grown > limits::RULE_BYTES).then_some(RuleLimit::Bytes)
    }
}

/// Rules of a channel by what a row may name.
struct RuleLookup<'a> {
    by_id: HashMap<&'a str, &'a Rule>,
    /// The oldest rule of those with the same keywords.
    by_words: HashMap<BTreeSet<String>, &'a Rule>,
}

impl<'a> RuleLookup<'a> {
    fn new(rules: &'a [Rule]) -> Self {
        let by_id = rules.iter().map(|rule| (rule.id.as_str(), rule)).collect();
        let by_words = rules.iter().rev().map(|rule| (word_key(&rule.keywords), rule)).collect();
        Self { by_id, by_words }
    }

    fn rule(&self, id: Option<&RuleId>, words: &BTreeSet<String>) -> Option<&'a Rule> {
        let named = id.and_then(|id| self.by_id.get(id.as_str()));
        named.or_else(|| self.by_words.get(words)).copied()
    }
}

/// Returns what keywords are compared by: the forms that are matched, in any order.
fn word_key(keywords: &[String]) -> BTreeSet<String> {
    keywords.iter().map(|keyword| fold_phrase(keyword)).collect()
}

/// Returns true if a draft has the texts of a rule, but for the kind of its line breaks, which
/// browsers and spreadsheets change.
fn is_same(rule: &Rule, draft: &RuleDraft) -> bool {
    let same = |left: &str, right: &str| broken_alike(left) == broken_alike(right);
    let all = |left: &[String], right: &[String]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
    };
    all(&rule.keywords, &draft.keywords)
        && all(&rule.not_for, &draft.not_for)
        && same(&rule.question, &draft.question)
        && same(&rule.answer, &draft.answer)
}

fn broken_alike(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns the bytes of a rule as [`limits::RULE_BYTES`] counts them.
fn size(rule: &RuleDraft) -> i64 {
    let RuleDraft { keywords, question, answer, not_for } = rule;
    bytes((keywords, question, answer, not_for))
}

fn size_of_rule(rule: &Rule) -> i64 {
    let Rule { keywords, question, answer, not_for, .. } = rule;
    bytes((keywords, question, answer, not_for))
}

fn bytes((keywords, question, answer, not_for): (&[String], &str, &str, &[String])) -> i64 {
    let list = |texts: &[String]| serde_json::to_string(texts).map_or(0, |texts| texts.len());
    let bytes = list(keywords) + question.len() + answer.len();
    let not_for = list(not_for).saturating_sub("[]".len());
    i64::try_from(bytes + not_for).unwrap_or(i64::MAX)
}

/// Checks the texts of a row with those of the rule that it changes.
fn over_saved(texts: RuleUpdate, rule: &Rule) -> Result<RuleDraft, (RuleDraft, RuleField, Defect)> {
    let given = texts.clone().over(rule.clone().into());
    let checked = texts.over_saved(rule.clone().into());
    checked.map_err(|(field, error)| (given, field, defect(&error)))
}

/// Checks the texts of a row; returns them with the first defect of one that is not good.
fn checked(draft: RuleDraft) -> Result<RuleDraft, (RuleDraft, RuleField, Defect)> {
    let given = draft.clone();
    let checked = rules::checked_at(&FieldPath::BODY, draft);
    checked.map_err(|(field, error)| (given, field, defect(&error)))
}

fn defect(error: &ServiceError) -> Defect {
    match error {
        ServiceError::Invalid { defect, .. } => *defect,
        _ => Defect::Other,
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;

    use super::super::SettingRevision;
    use super::*;

    fn rule(id: &str, keywords: &[&str], answer: &str) -> Rule {
        let keywords = keywords.iter().map(ToString::to_string).collect();
        let draft = RuleDraft { keywords, answer: answer.to_owned(), ..RuleDraft::default() };
        Rule::new(id.into(), draft, Timestamp::default(), "U1".into())
    }

    fn plan(rules: Vec<Rule>, rows: &[(Option<&str>, &[&str], &str)]) -> RuleImportPlan {
        let revision =
            SettingRevision { updated_at: Timestamp::default(), updated_by: "U1".into() };
        let rows = (2..).zip(rows).map(|(line, &(id, keywords, answer))| ImportRow {
            line,
            id: id.map(Into::into),
            texts: RuleDraft::from(rule("", keywords, answer)).into(),
        });
        RuleImportPlan::new(&RuleBook { version: 7, revision, rules }, rows.collect())
    }

    fn fates(plan: RuleImportPlan) -> Vec<RowFate> {
        plan.rows.into_iter().map(|row| row.fate).collect()
    }

    #[test]
    fn rows_are_about_rules_by_id_or_by_keywords() {
        let rules = || vec![rule("qa_1", &["wifi", "密碼"], "a\nb"), rule("qa_2", &["hours"], "9")];
        let same = plan(rules(), &[(Some("qa_1"), &["wifi", "密碼"], "a\r\nb")]);
        assert!(!same.is_possible());
        assert_eq!(fates(same), [RowFate::Same("qa_1".into())]);
        let planned = plan(
            rules(),
            &[
                (Some("elsewhere"), &["密碼", "ＷＩＦＩ"], "new"),
                (Some("qa_2"), &["opening"], "9"),
                (None, &["fresh"], "x"),
            ],
        );
        assert!(planned.is_possible());
        assert_eq!((planned.added(), planned.changed(), planned.version), (1, 2, 7));
        let (one, two) = ("qa_1".into(), "qa_2".into());
        let expected = [RowFate::Changed(one), RowFate::Changed(two), RowFate::Added];
        assert_eq!(fates(planned), expected);
    }

    #[test]
    fn absent_texts_stay_as_they_are() {
        let mut before = rule("qa_1", &["wifi"], "old");
        before.not_for = vec!["free wifi".to_owned()];
        let planned = |not_for: Option<Vec<String>>, keyword: &str| {
            let (rules, revision) = (
                vec![before.clone()],
                SettingRevision { updated_at: Timestamp::default(), updated_by: "U1".into() },
            );
            let (keywords, answer) = (Some(vec![keyword.to_owned()]), Some("new".to_owned()));
            let texts = RuleUpdate { keywords, question: None, answer, not_for };
            let row = ImportRow { line: 2, id: Some("qa_1".into()), texts };
            let book = RuleBook { version: 7, revision, rules };
            RuleImportPlan::new(&book, vec![row]).rows.remove(0)
        };
        assert_eq!(planned(None, "wifi").draft.not_for, ["free wifi"]);
        assert!(planned(Some(Vec::new()), "wifi").draft.not_for.is_empty());
        let clash = RowFate::Defective(RuleField::Keywords, Defect::IsNotFor);
        assert_eq!(planned(None, "Free WIFI!").fate, clash);
        let clash = RowFate::Defective(RuleField::NotFor, Defect::IsKeyword);
        assert_eq!(planned(Some(vec!["wifi?".to_owned()]), "wifi").fate, clash);
    }

    #[test]
    fn one_bad_row_refuses_all() {
        let long = "x".repeat(limits::ANSWER + 1);
        let rows: [(Option<&str>, &[&str], &str); 5] = [
            (None, &["a"], "1"),
            (None, &["A!"], "2"),
            (None, &[], "3"),
            (None, &["b"], ""),
            (None, &["c"], &long),
        ];
        let planned = plan(Vec::new(), &rows);
        assert!(!planned.is_possible() && planned.refused() == 4);
        let defects = fates(planned);
        assert_eq!(defects[1], RowFate::Repeated(2));
        let keywords = Defect::TooFewKeywords { min: 1 };
        assert_eq!(defects[2], RowFate::Defective(RuleField::Keywords, keywords));
        assert_eq!(defects[3], RowFate::Defective(RuleField::Answer, Defect::Empty));
        let long = Defect::TooLong { max: limits::ANSWER };
        assert_eq!(defects[4], RowFate::Defective(RuleField::Answer, long));
    }

    #[test]
    fn the_limits_on_all_rules_hold() {
        let many = |count: usize, answer: &str| -> Vec<Rule> {
            (0..count).map(|n| rule(&format!("qa_{n}"), &[&format!("k{n}")], answer)).collect()
        };
        let full = || many(limits::RULES, "x");
        let added = plan(full(), &[(None, &["one more"], "x")]);
        assert_eq!((added.beyond, added.is_possible()), (Some(RuleLimit::Count), false));
        assert!(plan(full(), &[(Some("qa_1"), &["other"], "x")]).is_possible());
        let long = "x".repeat(limits::ANSWER);
        let large = || many(1_670, &long);
        assert!(plan(large(), &[(None, &["new"], "x")]).is_possible());
        let rows: Vec<_> = (0..20).map(|n| format!("new {n}")).collect();
        let rows: Vec<[&str; 1]> = rows.iter().map(|row| [row.as_str()]).collect();
        let rows: Vec<(Option<&str>, &[&str], &str)> =
            rows.iter().map(|row| (None, row.as_slice(), long.as_str())).collect();
        assert_eq!(plan(large(), &rows).beyond, Some(RuleLimit::Bytes));
    }
}
