//! Rules of a channel's assistant.

use chatkeep_core::assistant::{Rule, RuleDraft, RuleList, limits};
use chatkeep_core::id::{ChannelId, RuleId, UserId};
use chatkeep_core::time::Timestamp;

use super::{IfMatch, Setting, fits, locked, revision};
use crate::activity::{ChangeKind, NewChange, log_change};
use crate::db::Tx;
use crate::query::{query, query_as};
use crate::{AssistantStore, StoreError, parsed};

#[derive(Debug, sqlx_macros::FromRow)]
struct RuleRow {
    rule_id: String,
    keywords: String,
    question: String,
    answer: String,
    created_at: i64,
    created_by: String,
    hit_count: i64,
    suppressed_count: i64,
}

const TOUCH_QA: &str = "
    UPDATE assistants SET qa_at = $2, qa_by = $3, version = version + 1, qa_v = qa_v + 1
    WHERE channel_id = $1";
const RULES: &str = "
    SELECT rule_id, keywords, question, answer, created_at, created_by, hit_count,
           suppressed_count
    FROM qa_rules WHERE channel_id = $1 ORDER BY created_at, rule_id";
/// Number of rules, and the bytes of all and of one of them.
const MEASURE: &str = "
    SELECT COUNT(*),
           CAST(COALESCE(SUM(OCTET_LENGTH(keywords) + OCTET_LENGTH(question)
                             + OCTET_LENGTH(answer)), 0) AS BIGINT),
           CAST(COALESCE(SUM(CASE WHEN rule_id = $2
                                  THEN OCTET_LENGTH(keywords) + OCTET_LENGTH(question)
                                       + OCTET_LENGTH(answer) END), 0) AS BIGINT)
    FROM qa_rules WHERE channel_id = $1";
const ADD_RULE: &str = "
    INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const SET_RULE: &str = "
    UPDATE qa_rules SET keywords = $3, question = $4, answer = $5
    WHERE channel_id = $1 AND rule_id = $2";
const SAME_RULE: &str = "
    SELECT COUNT(*) FROM qa_rules
    WHERE channel_id = $1 AND rule_id = $2 AND keywords = $3 AND question = $4 AND answer = $5";
const RULE_TEXT: &str =
    "SELECT keywords, answer FROM qa_rules WHERE channel_id = $1 AND rule_id = $2";
const DROP_RULE: &str = "DELETE FROM qa_rules WHERE channel_id = $1 AND rule_id = $2";

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
    pub async fn rules(self, channel: &ChannelId) -> Result<Setting<RuleList>, StoreError> {
        let row = self.assistant_row(channel).await?;
        let version = row.as_ref().map_or(0, |row| row.qa_v);
        let revision = row.map(|row| revision(row.qa_at, row.qa_by)).unwrap_or_default();
        // Row by row: a large list is neither held twice nor read at once.
        let items = query_as::<RuleRow>(RULES).bind(channel.as_str());
        let items = self.store.db.fetch_mapped(items, Rule::try_from).await?;
        Ok(Setting { version, value: RuleList { revision, items } })
    }

    /// Returns the number of a channel's rules and their total bytes as [`RULE_BYTES`] counts them.
    ///
    /// [`RULE_BYTES`]: chatkeep_core::assistant::limits::RULE_BYTES
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn rule_sizes(self, channel: &ChannelId) -> Result<(i64, i64), StoreError> {
        let (count, bytes, _): (i64, i64, i64) =
            self.store.db.fetch_one(query_as(MEASURE).bind(channel.as_str()).bind("")).await?;
        Ok((count, bytes))
    }

    /// Adds, replaces or removes a rule.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn change_rule(
        self,
        channel: &ChannelId,
        change: RuleChange<'_>,
        if_match: IfMatch<'_>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<RuleChanged, StoreError> {
        let mut tx = self.store.db.begin().await?;
        if !fits(locked(&mut tx, channel).await?.qa_v, if_match) {
            return Ok(RuleChanged::Stale);
        }
        let (RuleChange::Add(id, _) | RuleChange::Replace(id, _) | RuleChange::Remove(id)) = change;
        let before = rule_text(&mut tx, channel, id).await?;
        let changed = change_rule_in(&mut tx, channel, change, by, now).await?;
        if changed == RuleChanged::Done {
            let after = rule_text(&mut tx, channel, id).await?;
            let change = NewChange {
                channel,
                by,
                kind: ChangeKind::Rule,
                subject: Some(id.as_str()),
                before: before.as_deref(),
                after: after.as_deref(),
            };
            log_change(&mut tx, change, now).await?;
            let (c, at, by) = (channel.as_str(), now.millis(), by.as_str());
            tx.execute(query(TOUCH_QA).bind(c).bind(at).bind(by)).await?;
            tx.commit().await?;
        }
        Ok(changed)
    }
}

/// Returns a rule in one text, for the activity log; `None` if there is none.
async fn rule_text(
    tx: &mut Tx,
    channel: &ChannelId,
    rule: &RuleId,
) -> Result<Option<String>, StoreError> {
    let text = query_as(RULE_TEXT).bind(channel.as_str()).bind(rule.as_str());
    let text: Option<(String, String)> = tx.fetch_optional(text).await?;
    Ok(text.map(|(keywords, answer)| format!("{keywords}: {answer}")))
}

async fn change_rule_in(
    tx: &mut Tx,
    channel: &ChannelId,
    change: RuleChange<'_>,
    by: &UserId,
    now: Timestamp,
) -> Result<RuleChanged, StoreError> {
    let c = channel.as_str();
    let (id, draft, is_new) = match change {
        RuleChange::Add(id, draft) => (id, draft, true),
        RuleChange::Replace(id, draft) => (id, draft, false),
        RuleChange::Remove(id) => {
            return Ok(touched(tx.execute(query(DROP_RULE).bind(c).bind(id.as_str())).await?));
        }
    };
    let keywords = serde_json::to_string(&draft.keywords)?;
    let (question, answer) = (&draft.question, &draft.answer);
    let same: (i64,) = tx
        .fetch_one(
            query_as(SAME_RULE)
                .bind(c)
                .bind(id.as_str())
                .bind(&keywords)
                .bind(question)
                .bind(&draft.answer),
        )
        .await?;
    if !is_new && same.0 > 0 {
        return Ok(RuleChanged::Unchanged);
    }
    let size = keywords.len() + question.len() + answer.len();
    if let Some(refusal) = check_bounds(tx, channel, id, (is_new, size)).await? {
        return Ok(refusal);
    }
    let (id, by, at) = (id.as_str(), by.as_str(), now.millis());
    Ok(touched(if is_new {
        tx.execute(
            query(ADD_RULE)
                .bind(c)
                .bind(id)
                .bind(&keywords)
                .bind(question)
                .bind(answer)
                .bind(at)
                .bind(by),
        )
        .await?
    } else {
        tx.execute(query(SET_RULE).bind(c).bind(id).bind(&keywords).bind(question).bind(answer))
            .await?
    }))
}

const fn touched(rows: u64) -> RuleChanged {
    if rows == 0 { RuleChanged::NoRule } else { RuleChanged::Done }
}

/// Refuses a rule of `size` bytes that exceeds the limits on the list's length or size. A list that
/// is larger already, from before there was a limit, may be changed as long as it does not grow.
async fn check_bounds(
    tx: &mut Tx,
    channel: &ChannelId,
    id: &RuleId,
    (is_new, size): (bool, usize),
) -> Result<Option<RuleChanged>, StoreError> {
    let (count, bytes, before): (i64, i64, i64) =
        tx.fetch_one(query_as(MEASURE).bind(channel.as_str()).bind(id.as_str())).await?;
    if is_new && usize::try_from(count).is_ok_and(|count| count >= limits::RULES) {
        return Ok(Some(RuleChanged::TooMany));
    }
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let after = (bytes - before).saturating_add(size);
    let too_large = after > limits::RULE_BYTES && size > before;
    Ok(too_large.then_some(RuleChanged::TooLarge(after)))
}

impl TryFrom<RuleRow> for Rule {
    type Error = StoreError;

    fn try_from(row: RuleRow) -> Result<Self, StoreError> {
        let keywords = serde_json::from_str(&row.keywords).ok();
        Ok(Self {
            keywords: parsed(keywords, "qa_rules", "keywords", &row.rule_id)?,
            id: row.rule_id.into(),
            question: row.question,
            answer: row.answer,
            created_at: Timestamp::from_millis(row.created_at),
            created_by: row.created_by.into(),
            hit_count: row.hit_count,
            suppressed_count: row.suppressed_count,
        })
    }
}
