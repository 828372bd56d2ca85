//! Summary of an import, for people on standard error, for programs on standard output.

use chatkeep_core::text::shortened;
use chatkeep_transfer::import::Summary;
use chatkeep_transfer::out::note;

use super::super::table;

/// Maximum number of people listed at the end.
const PEOPLE: usize = 30;

/// Maximum length of a name in characters.
const NAME: usize = 60;

/// Prints the summary of an import, or of its dry run.
pub(super) fn print(summary: &Summary, dry_run: bool, json: bool) -> anyhow::Result<()> {
    if json {
        return table::json(summary);
    }
    for line in lines(summary, dry_run) {
        note!("{line}");
    }
    Ok(())
}

/// Returns the lines of the summary. Names, lines of the file and the reasons for refusing them are
/// whatever the file holds: here, where all of it passes, a terminal is kept from obeying any.
fn lines(summary: &Summary, dry_run: bool) -> Vec<String> {
    let mut lines = counts(summary, dry_run);
    lines.extend(summary.lines.iter().map(|unknown| {
        let why = unknown.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        format!("  line {}{why}: {}", unknown.line, unknown.text)
    }));
    lines.extend(overview(summary));
    if let Some(import) = summary.import {
        let undo = format!("`chatkeep import undo {import}` removes what it added");
        lines.push(format!("import {import}; {undo}"));
    }
    lines.into_iter().map(|line| table::plain(&line)).collect()
}

/// Returns what became of the messages, files and lines.
fn counts(summary: &Summary, dry_run: bool) -> Vec<String> {
    let would = if dry_run { "would be " } else { "" };
    let mut lines = vec![
        format!("{} messages {would}stored", summary.stored),
        format!("{} already stored", summary.known),
    ];
    for (count, what) in [
        (summary.files, "media files stored"),
        (summary.files_too_large, "media files skipped: larger than media.max_bytes"),
        (summary.files_missing, "media files skipped: the export does not have them"),
        (summary.files_damaged, "media files skipped: they are damaged"),
        (
            summary.erased,
            "skipped: they were erased or deleted, or their sender was erased or had asked not to be \
             kept",
        ),
        (
            summary.replaced,
            "texts and names in which U+FFFD stands for U+0000, which no database stores",
        ),
        (summary.happened, "lines about events in the chat (joined, left, unsent …)"),
        (summary.not_understood, "lines that could not be parsed"),
    ] {
        if count > 0 {
            lines.push(format!("{count} {what}"));
        }
    }
    lines
}

/// Returns a short overview of the file, so that a wrong zone or a cut name is noticed.
fn overview(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(chat) = &summary.chat_name {
        lines.push(format!("chat: {}", shortened(chat, NAME)));
    }
    if let Some(encoding) = &summary.encoding {
        lines.push(format!("encoding: {encoding}"));
    }
    if let Some(zone) = &summary.time_zone {
        lines.push(format!("time zone: {zone}"));
    }
    if let (Some(from), Some(to)) = (summary.from, summary.to) {
        lines.push(format!("sent from {from} to {to}"));
    }
    lines.extend(people(summary));
    lines
}

/// Returns the line about the people of the file, most messages first; `None` without any.
fn people(summary: &Summary) -> Option<String> {
    let people = summary.by_messages();
    let shown = people.iter().take(PEOPLE).map(|(id, person)| {
        let name = person.name.as_deref().unwrap_or(id.as_str());
        format!("{} ({})", shortened(name, NAME), person.messages)
    });
    let more = if people.len() > PEOPLE { ", …" } else { "" };
    let listed = shown.collect::<Vec<_>>().join(", ");
    (!people.is_empty()).then(|| format!("{} people: {listed}{more}", people.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_file_reaches_the_terminal_as_more_than_text() {
        let mut summary = Summary {
            chat_name: Some("Club\u{1b}[2J\u{202e}\n0 messages stored".to_owned()),
            stored: 1,
            ..Summary::default()
        };
        let ann = summary.people.entry("U1".into()).or_default();
        (ann.name, ann.messages) = (Some("\u{9b}31mAnn\r\u{2066}".to_owned()), 2);
        summary.people.entry("U\u{7}2".into()).or_default().messages = 1;
        let said = [
            "1 messages would be stored",
            "0 already stored",
            "chat: Club [2J 0 messages stored",
            "2 people:  31mAnn  (2), U 2 (1)",
        ];
        assert_eq!(lines(&summary, true), said);
    }

    #[test]
    fn long_names_are_cut() {
        let chat_name = Some("早".repeat(5_000));
        let said = lines(&Summary { chat_name, ..Summary::default() }, false);
        assert_eq!(said[2], format!("chat: {}…", "早".repeat(NAME)));
    }
}
