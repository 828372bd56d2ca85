//! Rules of a channel's assistant.

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{Rule, RuleDraft, RuleList, limits};
use chatkeep_core::id::{ChannelId, RuleId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::{IfMatch, Setting, fits, locked, revision};
use crate::activity_log::{ChangeKind, NewChange, log_change};
use crate::db::Tx;
use crate::query::{query, query_as};
use crate::{AssistantStore, StoreError, parsed};

#[derive(Debug, sqlx_macros::FromRow)]
struct RuleRow {
    rule_id: String,
    keywords: String,
    question: String,
    answer: String,
    not_for: String,
    created_at: i64,
    created_by: String,
    changed_at: Option<i64>,
    hit_count: i64,
    suppressed_count: i64,
}

const TOUCH_QA: &str = concat!(
    "UPDATE assistants SET qa_at = $2, qa_by = $3, qa_v = qa_v + 1, version = ",
    next_version!("$2"),
    " WHERE channel_id = $1"
);

/// Builds a statement that reads rules.
macro_rules! rules {
    ($rest:literal) => {
        concat!(
            "SELECT rule_id, keywords, question, answer, not_for, created_at, created_by,
                    changed_at, hit_count, suppressed_count
             FROM qa_rules ",
            $rest
        )
    };
}

const RULES: &str = rules!("WHERE channel_id = $1 ORDER BY created_at, rule_id");
const CHOSEN_RULES: &str =
    rules!("WHERE channel_id = $1 AND rule_id IN (SELECT value ->> 'r' FROM json_each($2))");
/// Number of rules, and their bytes. An empty list of texts that a rule must not answer counts
/// nothing: lists from before there were such texts stay within the limit.
const MEASURE: &str = "
    SELECT COUNT(*),
           CAST(COALESCE(SUM(OCTET_LENGTH(keywords) + OCTET_LENGTH(question)
                             + OCTET_LENGTH(answer) + OCTET_LENGTH(not_for) - 2), 0) AS BIGINT)
    FROM qa_rules WHERE channel_id = $1";
const ADD_RULE: &str = "
    INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, not_for, created_at,
                          created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
/// A rule with another answer does not repeat itself: its cooldown ends.
const SET_RULE: &str = "
    UPDATE qa_rules SET
        keywords = $3, question = $4, answer = $5, not_for = $6, changed_at = $7,
        last_hit_at = CASE WHEN answer = $5 THEN last_hit_at ELSE 0 END
    WHERE channel_id = $1 AND rule_id = $2";
const SAME_RULE: &str = "
    SELECT COUNT(*) FROM qa_rules
    WHERE channel_id = $1 AND rule_id = $2 AND keywords = $3 AND question = $4 AND answer = $5
      AND not_for = $6";
const RULE_TEXT: &str = "
    SELECT keywords, question, answer, not_for FROM qa_rules
    WHERE channel_id = $1 AND rule_id = $2";
const DROP_RULE: &str = "DELETE FROM qa_rules WHERE channel_id = $1 AND rule_id = $2";

#[derive(Serialize)]
struct RuleKey<'a> {
    r: &'a str,
}

/// Change to a channel's rules.
#[derive(Clone, Debug)]
pub enum RuleChange<'a> {
    /// Adds a rule.
    Add(&'a RuleId, &'a RuleDraft),
    /// Replaces the contents of a rule.
    Replace(&'a RuleId, &'a RuleDraft),
    /// Removes a rule.
    Remove(&'a RuleId),
}

/// Result of a change to a channel's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleChanged {
    /// Changed.
    Done,
    /// The rule has these contents already; not an edit.
    Unchanged,
    /// There is no such rule.
    NoRule,
    /// The channel has the maximum number of rules.
    TooMany,
    /// The channel's rules would have that many bytes, which is above the limit ([`RULE_BYTES`])
    /// and more than before.
    ///
    /// [`RULE_BYTES`]: chatkeep_core::assistant::limits::RULE_BYTES
    TooLarge(i64),
    /// The version of the rules is not the one that the caller expects.
    Stale,
}

impl AssistantStore<'_> {
    /// Returns a channel's rules, oldest first.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn rules(&self, channel: &ChannelId) -> Result<Setting<RuleList>, StoreError> {
        let row = self.assistant_row(channel).await?;
        let version = row.as_ref().map_or(0, |row| row.qa_v);
        let revision = row.map(|row| revision(row.qa_at, row.qa_by)).unwrap_or_default();
        // Row by row: a large list is neither held twice nor read at once.
        let items = query_as::<RuleRow>(RULES).bind(channel.as_str());
        let items = self.store.db.fetch_mapped(items, Rule::try_from).await?;
        Ok(Setting { version, value: RuleList { revision, items } })
    }

    /// Returns those of a channel's rules that have these ids, in any order.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn chosen_rules(
        &self,
        channel: &ChannelId,
        rules: &[&RuleId],
    ) -> Result<Vec<Rule>, StoreError> {
        let keys: Vec<_> = rules.iter().map(|rule| RuleKey { r: rule.as_str() }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows = query_as::<RuleRow>(CHOSEN_RULES).bind(channel.as_str()).bind(&keys);
        self.store.db.fetch_mapped(rows, Rule::try_from).await
    }

    /// Returns the number of a channel's rules and their total bytes as [`RULE_BYTES`] counts them.
    ///
    /// [`RULE_BYTES`]: chatkeep_core::assistant::limits::RULE_BYTES
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn rule_sizes(&self, channel: &ChannelId) -> Result<(i64, i64), StoreError> {
        Ok(self.store.db.fetch_one(query_as(MEASURE).bind(channel.as_str())).await?)
    }

    /// Adds, replaces or removes a rule.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn change_rule<'s>(
        &'s self,
        channel: &ChannelId,
        change: RuleChange<'s>,
        if_match: IfMatch<'s>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<RuleChanged, StoreError> {
        self.change_rules(channel, &[change], if_match, by, now).await
    }

    /// Changes rules one after another: all of them, or none when one is refused. The result is
    /// that of all changes together; [`RuleChanged::NoRule`] when a rule to change does not exist.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn change_rules<'s>(
        &'s self,
        channel: &ChannelId,
        changes: &[RuleChange<'s>],
        if_match: IfMatch<'s>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<RuleChanged, StoreError> {
        let mut tx = self.store.db.begin().await?;
        if !fits(locked(&mut tx, channel).await?.qa_v, if_match) {
            return Ok(RuleChanged::Stale);
        }
        let before = measure(&mut tx, channel).await?;
        let mut result = RuleChanged::Unchanged;
        for change in changes {
            match logged_change(&mut tx, channel, change, by, now).await? {
                RuleChanged::Unchanged => {}
                RuleChanged::Done => result = RuleChanged::Done,
                refused => return Ok(refused),
            }
        }
        if let Some(refused) = exceeded(before, measure(&mut tx, channel).await?) {
            return Ok(refused);
        }
        if result == RuleChanged::Done {
            let (c, at, by) = (channel.as_str(), now.millis(), by.as_str());
            tx.execute(query(TOUCH_QA).bind(c).bind(at).bind(by)).await?;
            tx.commit().await?;
        }
        Ok(result)
    }
}

/// Returns the number of rules and their bytes.
async fn measure(tx: &mut Tx, channel: &ChannelId) -> Result<(i64, i64), StoreError> {
    Ok(tx.fetch_one(query_as(MEASURE).bind(channel.as_str())).await?)
}

/// Refuses a list that exceeds the limits on its length or size. One that is larger already, from
/// before there was a limit, may be changed as long as it does not grow.
fn exceeded(before: (i64, i64), after: (i64, i64)) -> Option<RuleChanged> {
    let most = i64::try_from(limits::RULES).unwrap_or(i64::MAX);
    if after.0 > most && after.0 > before.0 {
        return Some(RuleChanged::TooMany);
    }
    let too_large = after.1 > limits::RULE_BYTES && after.1 > before.1;
    too_large.then_some(RuleChanged::TooLarge(after.1))
}

/// Changes a rule, and logs the change with its texts before and after.
async fn logged_change(
    tx: &mut Tx,
    channel: &ChannelId,
    change: &RuleChange<'_>,
    by: &UserId,
    now: Timestamp,
) -> Result<RuleChanged, StoreError> {
    let (id, after) = match *change {
        RuleChange::Add(id, draft) | RuleChange::Replace(id, draft) => (id, Some(draft)),
        RuleChange::Remove(id) => (id, None),
    };
    let before = match change {
        RuleChange::Add(..) => None,
        RuleChange::Replace(..) | RuleChange::Remove(_) => rule_texts(tx, channel, id).await?,
    };
    let changed = change_rule_in(tx, channel, change, by, now).await?;
    if changed == RuleChanged::Done {
        let subject = Some(id.as_str());
        let logged = |rule: &RuleDraft| in_one(rule, (before.as_ref(), after));
        let (before, after) = (before.as_ref().map(logged), after.map(logged));
        let (kind, before, after) = (ChangeKind::Rule, before.as_deref(), after.as_deref());
        log_change(tx, NewChange { channel, by, kind, subject, before, after }, now).await?;
    }
    Ok(changed)
}

/// Returns the texts of a rule; `None` if there is no such rule.
async fn rule_texts(
    tx: &mut Tx,
    channel: &ChannelId,
    rule: &RuleId,
) -> Result<Option<RuleDraft>, StoreError> {
    let text = query_as(RULE_TEXT).bind(channel.as_str()).bind(rule.as_str());
    let Some((keywords, question, answer, not_for)): Option<(String, String, String, String)> =
        tx.fetch_optional(text).await?
    else {
        return Ok(None);
    };
    let (keywords, not_for) = (serde_json::from_str(&keywords)?, serde_json::from_str(&not_for)?);
    Ok(Some(RuleDraft { keywords, question, answer, not_for }))
}

/// Joins the texts of a rule for the activity log, which has the beginning of what is joined: where
/// nothing else differs `before` and after, only the keywords and the texts that it must not answer.
fn in_one(rule: &RuleDraft, (before, after): (Option<&RuleDraft>, Option<&RuleDraft>)) -> String {
    let has_same_answer = before.zip(after).is_some_and(|(before, after)| {
        (&before.keywords, &before.question, &before.answer)
            == (&after.keywords, &after.question, &after.answer)
    });
    let RuleDraft { keywords, question, answer, not_for } = rule;
    let mut parts = vec![keywords.join(", ")];
    if !has_same_answer {
        parts.extend([question.clone(), answer.clone()]);
    }
    parts.extend(not_for.iter().map(|text| format!("≠ {text}")));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

async fn change_rule_in(
    tx: &mut Tx,
    channel: &ChannelId,
    change: &RuleChange<'_>,
    by: &UserId,
    now: Timestamp,
) -> Result<RuleChanged, StoreError> {
    let (c, at) = (channel.as_str(), now.millis());
    let (id, draft, is_new) = match *change {
        RuleChange::Add(id, draft) => (id.as_str(), draft, true),
        RuleChange::Replace(id, draft) => (id.as_str(), draft, false),
        RuleChange::Remove(id) => {
            return Ok(touched(tx.execute(query(DROP_RULE).bind(c).bind(id.as_str())).await?));
        }
    };
    let keywords = serde_json::to_string(&draft.keywords)?;
    let not_for = serde_json::to_string(&draft.not_for)?;
    let RuleDraft { question, answer, .. } = draft;
    let texts = |sql| {
        let texts = query(sql).bind(c).bind(id).bind(keywords.as_str()).bind(question);
        texts.bind(answer).bind(not_for.as_str())
    };
    if is_new {
        return Ok(touched(tx.execute(texts(ADD_RULE).bind(at).bind(by.as_str())).await?));
    }
    let same = query_as(SAME_RULE).bind(c).bind(id).bind(&keywords).bind(question);
    let same: (i64,) = tx.fetch_one(same.bind(answer).bind(&not_for)).await?;
    if same.0 > 0 {
        return Ok(RuleChanged::Unchanged);
    }
    Ok(touched(tx.execute(texts(SET_RULE).bind(at)).await?))
}

const fn touched(rows: u64) -> RuleChanged {
    if rows == 0 { RuleChanged::NoRule } else { RuleChanged::Done }
}

impl TryFrom<RuleRow> for Rule {
    type Error = StoreError;

    fn try_from(row: RuleRow) -> Result<Self, StoreError> {
        let list = |json: &str, column| {
            parsed(serde_json::from_str(json).ok(), "qa_rules", column, &row.rule_id)
        };
        Ok(Self {
            keywords: list(&row.keywords, "keywords")?,
            not_for: list(&row.not_for, "not_for")?,
            id: row.rule_id.into(),
            question: row.question,
            answer: row.answer,
            created_at: Timestamp::from_millis(row.created_at),
            created_by: row.created_by.into(),
            changed_at: Timestamp::from_millis(row.changed_at.unwrap_or(row.created_at)),
            hit_count: row.hit_count,
            suppressed_count: row.suppressed_count,
        })
    }
}
