//! Forms in which an answer has what it says, and what of it is sent: for the budget.

use serde::Serialize;

use super::budget::sent;
use super::message_row::MessageRow;
use super::result_builder::json;

/// Forms in which an answer has its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerForms {
    /// As structured rows and as lines of the text.
    Rows,
    /// As lines of a text that is a field of the structured result and, with this as JSON, of the
    /// text.
    Document,
}

impl AnswerForms {
    /// Returns what is sent of a row and of its lines.
    pub(super) fn of<T: Serialize>(self, row: &T, lines: &str) -> [String; 2] {
        let text = sent(lines);
        match self {
            Self::Rows => [json(row), text],
            Self::Document => {
                let again = sent(&text);
                [text, again]
            }
        }
    }

    /// Returns what is sent of a row whose line has no more than its JSON.
    pub(super) fn of_row<T: Serialize>(self, row: &T) -> [String; 2] {
        self.of(row, &json(row))
    }

    /// Returns what is sent of a message: its row, its line, and its day unless that is the `last`
    /// one; without a last day its line has its whole time.
    pub(super) fn of_message(self, row: &MessageRow, last: Option<&str>) -> [String; 2] {
        let Some(last) = last else { return self.of(row, &row.line()) };
        let (day, line) = row.day_and_line();
        let new_day = if day == last { String::new() } else { day };
        self.of(row, &format!("{new_day}\n{line}"))
    }
}
