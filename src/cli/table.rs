//! Lists on a terminal: aligned columns, or JSON for programs.

use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::out::say;

/// Prints rows under headings, each column as wide as its widest cell.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub(super) fn print(headings: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    for line in lines(headings, rows) {
        say!("{line}")?;
    }
    Ok(())
}

/// Returns the heading and the rows as aligned lines. East Asian characters take two columns of a
/// terminal; control characters, which names may contain, become spaces.
fn lines(headings: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let plain = |cell: &str| cell.replace(char::is_control, " ");
    let heading = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let rows = rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect());
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let padded = |(cell, width): (&String, &usize)| {
        format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<_> = row.iter().zip(&widths).map(padded).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
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
    fn columns_align_whatever_the_script() {
        let row = |name: &str| vec!["U1".to_owned(), name.to_owned(), "pro".to_owned()];
        let table = lines(&["USER", "NAME", "PLAN"], &[row("小美"), row("Ann\u{1b}[2J"), row("")]);
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
}
