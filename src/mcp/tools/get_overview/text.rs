//! Text form of an overview.

use super::rows::{HostRow, MoveRow, PersonCount};
use super::{OverviewOutput, Totals};
use crate::channel_table;
use crate::gap::GapRows;
use crate::interpreted::Interpreted;
use crate::message_row::MessageRow;
use crate::result_builder::people_line;
use crate::shown_id::shown_id;

/// Formats an overview.
pub(super) fn of(output: &OverviewOutput, gaps: &GapRows) -> String {
    let OverviewOutput { totals, time_zone, from, note, .. } = output;
    let head = format!(
        "{} messages since {from}. Times are shown in {time_zone}. {note}{}{}{}",
        totals.messages,
        Interpreted::line(output.interpreted.as_ref()),
        people_line(&output.people),
        channel_table::line(&output.channels),
    );
    [head, counts(output), lists(output), limits(output), gaps.lines()].concat()
}

/// Formats the messages by channel, type and person, each as a line.
fn counts(output: &OverviewOutput) -> String {
    let channels = output.by_channel.iter().map(|row| format!("{} {}", row.channel, row.messages));
    let types = output.by_type.iter().map(|(kind, messages)| format!("{kind} {messages}"));
    let person = |row: &PersonCount| {
        let who = if row.bot { "the bot" } else { row.from.as_deref().unwrap_or("unknown") };
        format!("{who} {}", row.messages)
    };
    let people = output.by_person.iter().map(person);
    [
        line("Messages by channel", &channels.collect::<Vec<_>>()),
        line("Messages by type", &types.collect::<Vec<_>>()),
        line(
            &format!("Messages by person ({} wrote)", output.totals.people),
            &people.collect::<Vec<_>>(),
        ),
    ]
    .concat()
}

fn lists(output: &OverviewOutput) -> String {
    let Totals { mentions, questions, asked, links, hosts, edited, unsent, joined, left, .. } =
        &output.totals;
    let messages = |rows: &[MessageRow]| rows.iter().map(MessageRow::line).collect::<Vec<_>>();
    let host = |row: &HostRow| {
        let HostRow { host, messages, id, url, time, channel, from } = row;
        let (channel, from) = (key(channel.as_deref()), key(from.as_deref()));
        let link = url.clone().unwrap_or_else(|| format!("id {}", shown_id(id)));
        format!("{host}: {messages}, first {time}{channel}{from} {link}")
    };
    let move_line = |row: &MoveRow| {
        let channel = key(row.channel.as_deref());
        format!("{}{channel} {}", row.time, row.person)
    };
    let moves = |rows: &[MoveRow]| rows.iter().map(move_line).collect::<Vec<_>>();
    let files = output.by_type.get("file").copied().unwrap_or_default();
    let open = format!(
        "Questions (with ? or the particle of one: 嗎, か, ไหม) after which nobody else wrote, \
         {questions} of {asked}"
    );
    let links = format!("Links, in {links} messages to {hosts} hosts");
    [
        list(&format!("Mentions of the person, {mentions}"), &messages(&output.mentions)),
        if output.questions.is_empty() && *asked > 0 {
            format!("\n{open}.")
        } else {
            String::new()
        },
        list(&open, &messages(&output.questions)),
        list(&links, &output.links.iter().map(host).collect::<Vec<_>>()),
        list(&format!("Files, {files}"), &messages(&output.files)),
        list(&format!("Joined, {}", joined.unwrap_or_default()), &moves(&output.joined)),
        list(&format!("Left, {}", left.unwrap_or_default()), &moves(&output.left)),
        list(&format!("Edited, {edited}"), &messages(&output.edited)),
        list(&format!("Unsent, {unsent}"), &messages(&output.unsent)),
    ]
    .concat()
}

/// Formats a short name behind what a row begins with; nothing without one.
fn key(name: Option<&str>) -> String {
    name.map(|name| format!(" {name}")).unwrap_or_default()
}

/// Formats what was not counted.
fn limits(output: &OverviewOutput) -> String {
    let mut limits = Vec::new();
    if !output.at_least.is_empty() {
        limits.push(format!("There may be more: {}.", output.at_least.join(", ")));
    }
    if let Some(since) = &output.texts_since {
        limits.push(format!("Mentions, questions and links are complete since {since} only."));
    }
    if let Some(since) = &output.people_since {
        limits.push(format!("Messages by person are those since {since}."));
    }
    if output.channels_unexamined > 0 {
        limits.push(format!("{} channels were only counted.", output.channels_unexamined));
    }
    if output.channels_uncounted > 0 {
        limits.push(format!("{} channels were not even counted.", output.channels_uncounted));
    }
    limits.iter().fold(String::new(), |lines, limit| lines + "\n" + limit)
}

fn line(title: &str, parts: &[String]) -> String {
    if parts.is_empty() { String::new() } else { format!("\n{title}: {}", parts.join(", ")) }
}

/// Formats rows below their title, which says how many there are; nothing without any.
fn list(title: &str, rows: &[String]) -> String {
    if rows.is_empty() { String::new() } else { format!("\n{title}:\n{}", rows.join("\n")) }
}
