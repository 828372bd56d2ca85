//! Changes of settings, rules and roles: logged in the transaction that makes them.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::named;
use chatkeep_core::text::shortened;
use chatkeep_core::time::Timestamp;
use serde_json::Value;

use super::{ActivityFilter, Actor};
use crate::db::Tx;
use crate::query::{query, query_as};
use crate::{ActivityLogStore, StoreError, parsed};

/// Maximum length of a logged value in characters.
const CUT: usize = 200;

/// Kind of a logged change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A setting of the assistant; the subject is its path.
    Assistant,
    /// A rule; the subject is its id.
    Rule,
    /// The text of the group rules.
    GroupRules,
    /// A role; the subject is the person.
    Role,
    /// Days after which messages are deleted.
    Retention,
    /// Time zone of the channel.
    TimeZone,
    /// Setting for earlier texts of edited messages: `true` (kept) or `false`.
    EarlierTexts,
    /// The backup subscription of the person who changed it.
    Subscription,
    /// Deletion of messages; `after` is the time before which they were sent.
    Deletion,
    /// Erasure of a person's messages; the subject is the person.
    Erasure,
}

named! {
    pub ChangeKind {
        Assistant = "assistant",
        Rule = "rule",
        GroupRules = "group_rules",
        Role = "role",
        Retention = "retention",
        TimeZone = "time_zone",
        EarlierTexts = "earlier_texts",
        Subscription = "subscription",
        Deletion = "deletion",
        Erasure = "erasure",
    }
}

/// Logged change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityChange {
    /// Number, rising with time.
    pub id: i64,
    /// Time of the change.
    pub at: Timestamp,
    /// Author of the change.
    pub by: Actor,
    /// Kind.
    pub kind: ChangeKind,
    /// Object of the change, where the kind does not name it.
    pub subject: Option<String>,
    /// Value before, cut after 200 characters; `None` for none.
    pub before: Option<String>,
    /// Value after, likewise.
    pub after: Option<String>,
}

/// Change to log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewChange<'a> {
    pub(crate) channel: &'a ChannelId,
    pub(crate) by: &'a UserId,
    pub(crate) kind: ChangeKind,
    pub(crate) subject: Option<&'a str>,
    pub(crate) before: Option<&'a str>,
    pub(crate) after: Option<&'a str>,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct ChangeRow {
    change_id: i64,
    at: i64,
    user_id: String,
    display_name: Option<String>,
    kind: String,
    subject: Option<String>,
    old_value: Option<String>,
    new_value: Option<String>,
}

const ADD: &str = "
    INSERT INTO channel_changes (channel_id, at, user_id, kind, subject, old_value, new_value)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const PAGE: &str = "
    SELECT a.change_id, a.at, a.user_id, u.display_name, a.kind, a.subject, a.old_value, a.new_value
    FROM channel_changes a LEFT JOIN users u ON u.user_id = a.user_id
    WHERE a.channel_id = $1 AND a.at <= $2 AND (a.at < $2 OR a.change_id < $3)
      AND a.at >= $5 AND a.at < $6 AND ($7 = '' OR a.kind = $7) AND ($8 = '' OR a.user_id = $8)
    ORDER BY a.at DESC, a.change_id DESC LIMIT $4";

/// Logs a change. Values are cut.
pub(crate) async fn log_change(
    tx: &mut Tx,
    change: NewChange<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (before, after) = (change.before.map(cut), change.after.map(cut));
    tx.execute(
        query(ADD)
            .bind(change.channel.as_str())
            .bind(now.millis())
            .bind(change.by.as_str())
            .bind(change.kind.name())
            .bind(change.subject)
            .bind(before.as_deref())
            .bind(after.as_deref()),
    )
    .await?;
    Ok(())
}

/// Logs each setting of an object that differs, by its path.
pub(crate) async fn log_settings(
    tx: &mut Tx,
    (channel, by): (&ChannelId, &UserId),
    (before, after): (&Value, &Value),
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut differing = Vec::new();
    compare(String::new(), before, after, &mut differing);
    for (path, before, after) in differing {
        let (before, after) = (shown(before), shown(after));
        let change = NewChange {
            channel,
            by,
            kind: ChangeKind::Assistant,
            subject: Some(&path),
            before: before.as_deref(),
            after: after.as_deref(),
        };
        log_change(tx, change, now).await?;
    }
    Ok(())
}

/// Collects the paths at which two objects differ, with both values.
fn compare<'a>(
    path: String,
    before: &'a Value,
    after: &'a Value,
    out: &mut Vec<(String, &'a Value, &'a Value)>,
) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            out.push((path, before, after));
        }
        return;
    };
    for key in new.keys().chain(old.keys().filter(|key| !new.contains_key(*key))) {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let value = |map: &'a serde_json::Map<String, Value>| map.get(key).unwrap_or(&Value::Null);
        compare(inner, value(old), value(new), out);
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn cut(text: &str) -> String {
    shortened(text, CUT).into_owned()
}

impl ActivityLogStore<'_> {
    /// Returns the changes in a channel that pass the filter, newest first, after that position, at
    /// most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn changes(
        &self,
        channel: &ChannelId,
        filter: &ActivityFilter<ChangeKind>,
        after: Option<(Timestamp, i64)>,
        limit: u32,
    ) -> Result<Vec<ActivityChange>, StoreError> {
        let (at, id) = after.map_or((i64::MAX, i64::MAX), |(at, id)| (at.millis(), id));
        let (from, to) = filter.times();
        let page = query_as(PAGE)
            .bind(channel.as_str())
            .bind(at)
            .bind(id)
            .bind(i64::from(limit))
            .bind(from)
            .bind(to)
            .bind(filter.kind.map_or("", ChangeKind::name))
            .bind(filter.person());
        let rows: Vec<ChangeRow> = self.store.db.fetch_all(page).await?;
        rows.into_iter().map(ActivityChange::try_from).collect()
    }
}

impl TryFrom<ChangeRow> for ActivityChange {
    type Error = StoreError;

    fn try_from(row: ChangeRow) -> Result<Self, StoreError> {
        let id = row.change_id.to_string();
        Ok(Self {
            id: row.change_id,
            at: Timestamp::from_millis(row.at),
            by: Actor { user: row.user_id.into(), display_name: row.display_name },
            kind: parsed(ChangeKind::parse(&row.kind), "channel_changes", "kind", &id)?,
            subject: row.subject,
            before: row.old_value,
            after: row.new_value,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_compared_leaf_by_leaf() {
        let before = json!({"enabled": true, "qa": {"mode": "keyword", "reply": null}});
        let after = json!({"enabled": true, "qa": {"mode": "fuzzy", "reply": "hm"}});
        let mut found = Vec::new();
        compare(String::new(), &before, &after, &mut found);
        let found: Vec<_> = found
            .into_iter()
            .map(|(path, before, after)| (path, shown(before), shown(after)))
            .collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                ("qa.mode".to_owned(), text("keyword"), text("fuzzy")),
                ("qa.reply".to_owned(), None, text("hm")),
            ]
        );
        assert_eq!(cut(&"é".repeat(201)).chars().count(), CUT + 1);
    }
}
