//! Text form of results, for clients that pass text to a model. Texts of people are quoted on one
//! line, so that none can pass for a line of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::{MemberRow, MessageRow, MissingTime, NOTE, PersonRow};
use crate::sanitize::quoted;

/// Formats a message as one line; `dated` where a line above has its day.
pub(super) fn message(row: &MessageRow, dated: bool) -> String {
    let time = if dated { row.time.get(11..19) } else { None }.unwrap_or(&row.time);
    let mut line = time.to_owned();
    for part in [row.channel.as_deref(), row.from.as_deref(), row.bot.then_some("(bot)")] {
        push(&mut line, part.unwrap_or_default());
    }
    let kind = row.kind.as_deref().map(|kind| match &row.media_status {
        Some(status) => format!("[{kind}, {status}]"),
        None => format!("[{kind}]"),
    });
    push(&mut line, &kind.unwrap_or_default());
    push(&mut line, &row.text.as_deref().map(quoted).unwrap_or_default());
    if row.unsent {
        push(&mut line, "[unsent]");
    } else if row.edited {
        push(&mut line, "(edited)");
    }
    if let Some(cut) = &row.cut {
        let how = format!(
            "[{} characters more: get_messages from {} to {} limit 1]",
            cut.characters, cut.from, cut.to
        );
        push(&mut line, &how);
    }
    line
}

fn push(line: &mut String, part: &str) {
    if !part.is_empty() {
        line.push(' ');
        line.push_str(part);
    }
}

/// Formats the part before the lines of messages.
pub(super) fn head(first: &str, people: &BTreeMap<String, PersonRow>) -> String {
    let mut head = format!("{first} Times are UTC. {NOTE}");
    if !people.is_empty() {
        let people = people.iter().map(|(key, person)| {
            format!("{key} = {} ({})", name(person.name.as_deref()), person.user_id)
        });
        head.push_str("\nPeople: ");
        head.push_str(&people.collect::<Vec<_>>().join(", "));
    }
    head
}

/// Formats the address of the messages' pages as a line of the head; nothing without one.
pub(super) fn pages(url: Option<&str>) -> String {
    url.map_or_else(String::new, |url| format!("\nPage of a message: {url}"))
}

/// Formats the part after the lines: gaps, and the cursor of the next page.
pub(super) fn tail(gaps: &[MissingTime], omitted: usize, next: Option<&str>) -> String {
    // Writing to a String cannot fail.
    let mut tail = String::new();
    for gap in gaps {
        let to = gap.to.as_deref().unwrap_or("now");
        let skipped = gap.skipped.map_or_else(String::new, |count| format!(", {count} messages"));
        let what = if gap.reason == "opted_out" { "Partly not" } else { "Not" };
        let (from, reason) = (&gap.from, &gap.reason);
        let _ = write!(tail, "\n{what} stored from {from} to {to} ({reason}{skipped}).");
    }
    if omitted > 0 {
        let _ = write!(tail, "\n{omitted} older gaps are omitted.");
    }
    if let Some(cursor) = next {
        let _ = write!(tail, "\nMore: call again with the same arguments and cursor {cursor}");
    }
    tail
}

/// Formats a person in a channel as one line.
pub(super) fn member(row: &MemberRow) -> String {
    let left = row.left_at.as_deref().map_or_else(String::new, |at| format!(", left {at}"));
    let MemberRow { user_id, role, joined_at, .. } = row;
    let name = name(row.name.as_deref());
    format!("{user_id} {name} {role}, joined {joined_at}{left}")
}

/// Quotes a name; empty quotation marks where it is not known.
pub(super) fn name(name: Option<&str>) -> String {
    quoted(name.unwrap_or_default())
}
