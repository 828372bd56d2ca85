//! Summary of an import, for people on standard error, for programs on standard output.

use chatkeep_transfer::import::Summary;
use chatkeep_transfer::out::note;

use super::super::table;

/// Maximum number of people listed at the end.
const PEOPLE: usize = 30;

/// Prints the summary of an import, or of its dry run.
pub(super) fn print(summary: &Summary, dry_run: bool, json: bool) -> anyhow::Result<()> {
    if json {
        return table::json(summary);
    }
    let would = if dry_run { "would be " } else { "" };
    note!("{} messages {would}stored", summary.stored);
    note!("{} already stored", summary.known);
    if summary.files > 0 {
        note!("{} media files stored", summary.files);
    }
    for (count, what) in [
        (summary.files_too_large, "media files skipped: larger than media.max_bytes"),
        (
            summary.erased,
            "skipped: they were erased or deleted, or their sender was erased or had asked not to be \
             kept",
        ),
        (summary.happened, "lines about events in the chat (joined, left, unsent …)"),
        (summary.not_understood, "lines that could not be parsed"),
    ] {
        if count > 0 {
            note!("{count} {what}");
        }
    }
    for unknown in &summary.lines {
        let why = unknown.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        note!("  line {}{why}: {}", unknown.line, unknown.text);
    }
    print_overview(summary);
    if let Some(import) = summary.import {
        note!("import {import}; `chatkeep import undo {import}` removes what it added");
    }
    Ok(())
}

/// Prints a short overview of the file, so that a wrong zone or a cut name is noticed.
fn print_overview(summary: &Summary) {
    if let Some(chat) = &summary.chat_name {
        note!("chat: {chat}");
    }
    if let Some(encoding) = &summary.encoding {
        note!("encoding: {encoding}");
    }
    if let Some(zone) = &summary.time_zone {
        note!("time zone: {zone}");
    }
    if let (Some(from), Some(to)) = (summary.from, summary.to) {
        note!("sent from {from} to {to}");
    }
    let people = summary.by_messages();
    if people.is_empty() {
        return;
    }
    let shown = people.iter().take(PEOPLE).map(|(id, person)| {
        let name = person.name.as_deref().unwrap_or(id.as_str());
        format!("{name} ({})", person.messages)
    });
    let more = if people.len() > PEOPLE { ", …" } else { "" };
    note!("{} people: {}{more}", people.len(), shown.collect::<Vec<_>>().join(", "));
}
