//! The rules of a channel's assistant.

use sqlx::{query, query_as};

use super::{IfMatch, Setting, fits, locked, revision};
use crate::assistant::{Rule, RuleDraft, RuleList};
use crate::id::{ChannelId, RuleId, UserId};
use crate::store::db::{Tx, exec, read, run};
use crate::store::{Store, StoreError, parsed};
use crate::time::Timestamp;

#[derive(Debug, sqlx::FromRow)]
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
const COUNT_RULES: &str = "SELECT COUNT(*) FROM qa_rules WHERE channel_id = $1";
const ADD_RULE: &str = "
    INSERT INTO qa_rules (channel_id, rule_id, keywords, question, answer, created_at, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const SET_RULE: &str = "
    UPDATE qa_rules SET keywords = $3, question = $4, answer = $5
    WHERE channel_id = $1 AND rule_id = $2";
const DROP_RULE: &str = "DELETE FROM qa_rules WHERE channel_id = $1 AND rule_id = $2";

/// A change to a channel's rules.
#[derive(Clone, Debug)]
pub enum RuleChange<'a> {
    /// A new rule.
    Add(&'a RuleId, &'a RuleDraft),
    /// New contents of a rule.
    Replace(&'a RuleId, &'a RuleDraft),
    /// A rule goes.
    Remove(&'a RuleId),
}

/// What came of a change to a channel's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleChanged {
    /// It is done.
    Done,
    /// There is no such rule.
    NoRule,
    /// The channel has as many rules as it may.
    TooMany,
    /// The rules are of another version than the caller expects.
    Stale,
}

impl Store {
    /// A channel's rules, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn rules(&self, channel: &ChannelId) -> Result<Setting<RuleList>, StoreError> {
        let row = self.assistant_row(channel).await?;
        let version = row.as_ref().map_or(0, |row| row.qa_v);
        let revision = row.map(|row| revision(row.qa_at, row.qa_by)).unwrap_or_default();
        let rows: Vec<RuleRow> =
            read!(self, c => query_as(RULES).bind(channel.as_str()).fetch_all(c))?;
        let items = rows.into_iter().map(Rule::try_from).collect::<Result<_, _>>()?;
        Ok(Setting { version, value: RuleList { revision, items } })
    }

    /// Adds, replaces or removes a rule.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn change_rule(
        &self,
        channel: &ChannelId,
        change: RuleChange<'_>,
        if_match: IfMatch<'_>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<RuleChanged, StoreError> {
        let mut tx = self.db.begin().await?;
        if !fits(locked(&mut tx, channel).await?.qa_v, if_match) {
            return Ok(RuleChanged::Stale);
        }
        let changed = change_rule_in(&mut tx, channel, change, by, now).await?;
        if changed == RuleChanged::Done {
            let (c, at, by) = (channel.as_str(), now.millis(), by.as_str());
            let tx_ref = &mut tx;
            exec!(tx_ref, query(TOUCH_QA).bind(c).bind(at).bind(by))?;
            tx.commit().await?;
        }
        Ok(changed)
    }
}

async fn change_rule_in(
    tx: &mut Tx,
    channel: &ChannelId,
    change: RuleChange<'_>,
    by: &UserId,
    now: Timestamp,
) -> Result<RuleChanged, StoreError> {
    let c = channel.as_str();
    let touched = match change {
        RuleChange::Add(id, draft) => {
            let (count,): (i64,) = run!(tx, conn => query_as(COUNT_RULES).bind(c).fetch_one(conn))?;
            if usize::try_from(count).is_ok_and(|n| n >= crate::assistant::limits::RULES) {
                return Ok(RuleChanged::TooMany);
            }
            let keywords = serde_json::to_string(&draft.keywords)?;
            exec!(
                tx,
                query(ADD_RULE)
                    .bind(c)
                    .bind(id.as_str())
                    .bind(&keywords)
                    .bind(&draft.question)
                    .bind(&draft.answer)
                    .bind(now.millis())
                    .bind(by.as_str())
            )?
        }
        RuleChange::Replace(id, draft) => {
            let keywords = serde_json::to_string(&draft.keywords)?;
            exec!(
                tx,
                query(SET_RULE)
                    .bind(c)
                    .bind(id.as_str())
                    .bind(&keywords)
                    .bind(&draft.question)
                    .bind(&draft.answer)
            )?
        }
        RuleChange::Remove(id) => exec!(tx, query(DROP_RULE).bind(c).bind(id.as_str()))?,
    };
    Ok(if touched == 0 { RuleChanged::NoRule } else { RuleChanged::Done })
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
