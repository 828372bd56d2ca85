//! Lists on a terminal: aligned columns, or JSON for programs.

use chatkeep_transfer::out::say;
use chatkeep_view::sanitize::one_line;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Narrowest last column that is folded: below, the lines would be shreds.
const NARROWEST: usize = 20;
/// Space between two columns.
const GAP: &str = "  ";

/// Prints rows under headings, each column as wide as its widest cell. On a terminal that is too
/// narrow for a last cell, that one is folded.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub(super) fn print(headings: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    for line in lines(headings, rows, terminal_width()) {
        say!("{line}")?;
    }
    Ok(())
}

/// Returns the width of the terminal that standard output is; `None` if it is none.
pub(super) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Returns a text that somebody else wrote as one line that is safe to print: control characters,
/// which a terminal obeys, become spaces, and what is invisible or turns the direction of writing
/// goes.
pub(super) fn plain(text: &str) -> String {
    one_line(&text.replace(char::is_control, " "), usize::MAX)
}

/// Returns the heading and the rows as aligned lines of at most `limit` columns, with [`plain`]
/// cells. East Asian characters take two columns of a terminal.
pub(super) fn lines(headings: &[&str], rows: &[Vec<String>], limit: Option<usize>) -> Vec<String> {
    let heading = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let rows = rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect());
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let before = &widths[..widths.len().saturating_sub(1)];
    let indent: usize = before.iter().map(|width| width + GAP.len()).sum();
    let room = limit.map_or(usize::MAX, |limit| limit.saturating_sub(indent));
    let start = |row: &[String]| {
        let cells = row.iter().zip(before);
        let padded = cells.map(|(cell, width)| {
            format!("{cell}{}{GAP}", " ".repeat(width.saturating_sub(cell.width())))
        });
        padded.collect::<String>()
    };
    let folded = |row: &Vec<String>| {
        let parts = fold(row.get(before.len()).map_or("", String::as_str), room);
        let first = std::iter::once(start(row)).chain(std::iter::repeat(" ".repeat(indent)));
        let lines = first.zip(parts).map(|(start, part)| (start + &part).trim_end().to_owned());
        lines.collect::<Vec<_>>()
    };
    rows.iter().flat_map(folded).collect()
}

/// Folds a text at its spaces into lines of at most `room` columns; a longer word is cut.
fn fold(text: &str, room: usize) -> Vec<String> {
    if text.width() <= room || room < NARROWEST {
        return vec![text.to_owned()];
    }
    let (mut lines, mut line) = (Vec::new(), String::new());
    for mut word in text.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        while word.width() > room {
            let (part, rest) = word.split_at(cut(word, room));
            lines.push(part.to_owned());
            word = rest;
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Returns the length of the longest beginning of at most `room` columns.
fn cut(text: &str, room: usize) -> usize {
    let mut taken = 0;
    let mut fits = |c: char| {
        taken += c.width().unwrap_or_default();
        taken <= room
    };
    text.chars().take_while(|c| fits(*c)).map(char::len_utf8).sum()
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    say!("{}", serde_json::to_string(value)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_not_printed() {
        assert_eq!(plain("a\u{1b}]0;b\u{7}c\u{9b}2Jd"), "a ]0;b c 2Jd");
        assert_eq!(plain("one\ntwo\u{2028}three\tfour"), "one two three four");
        assert_eq!(plain("  \u{202e}Ann\u{2066}\u{200f} 小美 ไทย 👩‍👧"), "  Ann 小美 ไทย 👩‍👧");
    }

    #[test]
    fn columns_align_whatever_the_script() {
        let row = |name: &str| vec!["U1".to_owned(), name.to_owned(), "pro".to_owned()];
        let rows = [row("小美"), row("Ann\u{1b}[2J"), row("")];
        let table = lines(&["USER", "NAME", "PLAN"], &rows, None);
        assert_eq!(
            table,
            [
                "USER  NAME     PLAN",
                "U1    小美     pro",
                "U1    Ann [2J  pro",
                "U1             pro",
            ]
        );
    }

    #[test]
    fn a_last_cell_that_is_too_wide_is_folded_below_its_beginning() {
        let row = |note: &str| vec!["certificate".to_owned(), note.to_owned()];
        let rows = [row("not known"), row("https://example.org/a/very/long/path: no connection")];
        let folded = [
            "WHAT         STATE",
            "certificate  not known",
            "certificate  https://example.org/",
            "             a/very/long/path: no",
            "             connection",
        ];
        assert_eq!(lines(&["WHAT", "STATE"], &rows, Some(33)), folded);
        let wide = lines(&["WHAT", "STATE"], &rows, Some(200));
        assert_eq!(wide, lines(&["WHAT", "STATE"], &rows, None));
        assert_eq!(wide.len(), 3);
        // Where nothing would be left of the cell, the terminal folds.
        assert_eq!(lines(&["WHAT", "STATE"], &rows, Some(30)).len(), 3);
        let chinese = [row("資料庫無法連線資料庫無法連線")];
        assert_eq!(
            lines(&["WHAT", "STATE"], &chinese, Some(34))[1..],
            ["certificate  資料庫無法連線資料庫", "             無法連線"]
        );
    }
}
