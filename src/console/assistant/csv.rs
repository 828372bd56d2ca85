//! Rules as a table for spreadsheets (RFC 4180).
//!
//! One row a rule; its keywords are one cell, one keyword a line, and so are the texts that it must
//! not answer. The table begins with a byte order
//! mark, and texts that a spreadsheet would take for formulas are guarded as in exports of messages.

use chatkeep_core::assistant::{Rule, limits};
use chatkeep_core::id::RuleId;
use chatkeep_services::assistant::{ImportRow, RuleUpdate};
use chatkeep_transfer::csv::{opened, sealed};
use csv::{QuoteStyle, ReaderBuilder, StringRecord, Terminator, WriterBuilder};

use super::super::error::PageError;
use super::columns::{COLUMNS, Columns};

const BOM: char = '\u{feff}';
/// Beginning of the files of spreadsheet programs, which are archives.
const ARCHIVE: &str = "PK\u{3}\u{4}";

/// Reason for which a table cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableFault {
    /// It has no rows.
    Empty,
    /// It is no text: the file of a spreadsheet program, perhaps.
    NoText,
    /// It has more rows than a channel can have rules.
    TooManyRows,
    /// The row of that number has more cells than the first one: a text with a comma, perhaps, that is
    /// in no quotation marks.
    TooManyCells(u64),
}

/// Returns rules as a table.
///
/// # Errors
/// [`PageError::Internal`] when it cannot be written.
pub(super) fn table(rules: &[Rule]) -> Result<Vec<u8>, PageError> {
    write(rules).map_err(|_| PageError::Internal)
}

fn write(rules: &[Rule]) -> csv::Result<Vec<u8>> {
    let mark = BOM.to_string().into_bytes();
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(mark);
    out.write_record(COLUMNS)?;
    for rule in rules {
        let (keywords, not_for) = (list_cell(&rule.keywords)?, list_cell(&rule.not_for)?);
        let (id, hits) = (rule.id.as_str(), rule.hit_count.to_string());
        let cells = [id, &keywords, &rule.question, &rule.answer, &not_for, &hits];
        out.write_record(cells.map(sealed))?;
    }
    Ok(out.into_inner().map_err(csv::IntoInnerError::into_error)?)
}

/// Commas of Chinese and Japanese keyboards.
const WIDE_COMMAS: [char; 2] = ['，', '、'];

/// Returns texts as one cell: a text a line, in quotation marks if it has a comma, a quotation mark or
/// a line break.
fn list_cell(texts: &[String]) -> csv::Result<String> {
    let mut cell = Vec::new();
    for text in texts {
        let style =
            if text.contains(WIDE_COMMAS) { QuoteStyle::Always } else { QuoteStyle::Necessary };
        let mut out = WriterBuilder::new()
            .terminator(Terminator::Any(b'\n'))
            .quote_style(style)
            .from_writer(cell);
        out.write_record([text])?;
        cell = out.into_inner().map_err(csv::IntoInnerError::into_error)?;
    }
    Ok(String::from_utf8_lossy(&cell).trim_end_matches('\n').to_owned())
}

/// Delimiter of texts in a cell: no text that people write has this character.
const DELIMITER: u8 = b'\x1f';

/// Returns the keywords of a cell, which are on lines of their own or between commas.
fn list(cell: &str) -> Vec<String> {
    lines(&delimited(cell))
}

/// Returns a cell with a delimiter for each comma outside of quotation marks, except between two
/// digits, where it is part of a number.
fn delimited(cell: &str) -> String {
    let (mut is_quoted, mut may_open, mut before) = (false, true, None);
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let mut out = String::with_capacity(cell.len());
    let mut rest = cell.chars();
    while let Some(c) = rest.next() {
        let in_number = is_digit(before) && is_digit(rest.clone().next());
        let is_comma = WIDE_COMMAS.contains(&c) || (c == ',' && !in_number);
        let separates = !is_quoted && (is_comma || c == '\n');
        let toggles = c == '"' && (is_quoted || may_open);
        // A doubled quotation mark opens again what its first one closed.
        may_open = separates || (toggles && is_quoted);
        is_quoted ^= toggles;
        out.push(if separates && is_comma { char::from(DELIMITER) } else { c });
        before = Some(c);
    }
    out
}

/// Returns the texts of a cell, which are on lines of their own.
fn lines(cell: &str) -> Vec<String> {
    // A reader drops a byte order mark at the beginning, which here belongs to the text.
    let cell = format!("\n{cell}");
    let mut lines = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(DELIMITER)
        .from_reader(cell.as_bytes());
    let words = lines
        .records()
        .filter_map(Result::ok)
        .flat_map(|record| record.iter().map(|word| word.trim().to_owned()).collect::<Vec<_>>());
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns the table of a spreadsheet, whose cells are between tabs, for a reader of CSV. A cell
/// that begins with a quotation mark is a quoted one only if another mark closes it at its end; a
/// spreadsheet copies others as they are.
fn requoted(table: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(table.len()), table);
    while !rest.is_empty() {
        let quoted = quoted_length(rest);
        let length = quoted.or_else(|| rest.find(['\t', '\n'])).unwrap_or(rest.len());
        let (cell, after) = rest.split_at(length);
        if quoted.is_none() && cell.starts_with('"') {
            out.extend(["\"", &cell.replace('"', "\"\""), "\""]);
        } else {
            out.push_str(cell);
        }
        let mut after = after.chars();
        // The tab or line break behind the cell.
        out.extend(after.next());
        rest = after.as_str();
    }
    out
}

/// Returns the length of the quoted cell at the beginning of a table, if there is one: the first
/// quotation mark in it that is not doubled stands right before a tab or the end of a line.
fn quoted_length(table: &str) -> Option<usize> {
    let mut bytes = table.strip_prefix('"')?.bytes().zip(1..).peekable();
    while let Some((byte, place)) = bytes.next() {
        if byte != b'"' {
            continue;
        }
        match bytes.peek().map(|(next, _)| *next) {
            Some(b'"') => bytes.next(),
            None | Some(b'\t' | b'\n') => return Some(place + 1),
            Some(_) => return None,
        };
    }
    None
}

/// Reads a table: from a file, or copied from a spreadsheet, whose cells are between tabs. Without
/// names of columns these are keywords and answer, or keywords, question and answer.
pub(super) fn rows(table: &str) -> Result<Vec<ImportRow>, TableFault> {
    if table.contains('\0') || table.starts_with(ARCHIVE) {
        return Err(TableFault::NoText);
    }
    let table = table.trim_start_matches(BOM).replace("\r\n", "\n").replace('\r', "\n");
    let delimiter = delimiter(&table);
    let table = if delimiter == b'\t' { requoted(&table) } else { table };
    let mut records = numbered(&table, delimiter)
        .filter(|(_, record)| record.iter().any(|cell| !cell.trim().is_empty()))
        .peekable();
    let (_, first) = records.peek().ok_or(TableFault::Empty)?;
    let width = first.len();
    let columns = match Columns::named(first) {
        Some(named) => {
            records.next();
            named
        }
        None => Columns::of(first),
    };
    let mut rows = Vec::new();
    for (number, record) in records {
        if rows.len() >= limits::RULES {
            return Err(TableFault::TooManyRows);
        }
        if record.iter().skip(width).any(|cell| !cell.trim().is_empty()) {
            return Err(TableFault::TooManyCells(number));
        }
        rows.push(row(columns, number, &record));
    }
    if rows.is_empty() { Err(TableFault::Empty) } else { Ok(rows) }
}

/// Returns the rows of a table whose lines end with `\n`, each with its number from 1, as a
/// spreadsheet has it: there an empty line is a row, too.
fn numbered(table: &str, delimiter: u8) -> impl Iterator<Item = (u64, StringRecord)> {
    let mut empty_lines = 0;
    let records = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(table.as_bytes())
        .into_records()
        // The text is UTF-8, so nothing else can be wrong with a record.
        .filter_map(Result::ok);
    records.map(move |record| {
        let place = record.position();
        let before = place.map_or(0, csv::Position::record);
        let start = place.and_then(|place| usize::try_from(place.byte()).ok());
        // A reader passes over the empty lines before a row; its position is where they begin.
        let rest = start.and_then(|start| table.as_bytes().get(start..)).unwrap_or_default();
        let skipped = rest.iter().take_while(|byte| **byte == b'\n');
        empty_lines += skipped.map(|_| 1_u64).sum::<u64>();
        (before + empty_lines + 1, record)
    })
}

/// Returns what is between the cells of a table, by its first line.
fn delimiter(table: &str) -> u8 {
    let first = table.trim_start().lines().next().unwrap_or_default();
    match first {
        first if first.contains('\t') => b'\t',
        first if first.contains(';') && !first.contains(',') => b';',
        _ => b',',
    }
}

/// Reads the row of that number of a table with these columns.
fn row(columns: Columns, number: u64, record: &StringRecord) -> ImportRow {
    let cell = |place: Option<usize>| opened(place.and_then(|at| record.get(at)).unwrap_or(""));
    let id = Some(cell(columns.id).trim().to_owned()).filter(|id| !id.is_empty());
    // In a table of questions and answers, the question is the keyword, with its commas.
    let (keywords, question) = match columns.keywords {
        None => (lines(&cell(columns.question)), None),
        keywords => (list(&cell(keywords)), columns.question.map(|_| cell(columns.question))),
    };
    let texts = RuleUpdate {
        keywords: Some(keywords),
        question,
        answer: Some(cell(columns.answer)),
        not_for: columns.not_for.map(|_| lines(&cell(columns.not_for))),
    };
    ImportRow { line: number, id: id.map(RuleId::new), texts }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::assistant::RuleDraft;
    use chatkeep_core::time::Timestamp;
    use proptest::prelude::*;

    use super::*;

    type Texts = (String, Vec<String>, String, String, Vec<String>);

    fn rule((id, keywords, question, answer, not_for): Texts) -> Rule {
        Rule {
            id: RuleId::new(format!("qa_{id}")),
            keywords,
            question,
            answer,
            not_for,
            created_at: Timestamp::default(),
            created_by: "U1".into(),
            changed_at: Timestamp::default(),
            hit_count: 3,
            suppressed_count: 0,
        }
    }

    /// Returns texts with everything that a table and a spreadsheet may stumble over.
    fn text() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "a",
            "密碼",
            "ワイファイ",
            "，",
            "、",
            "รหัส",
            "👨‍👩‍👧",
            " ",
            ",",
            ";",
            "\t",
            "\"",
            "\n",
            "'",
            "=",
            "+",
            "-",
            "@",
            "＝",
            "1",
            "qa_",
            "\u{2028}",
            "\u{feff}",
            "\\",
        ]);
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    fn word() -> impl Strategy<Value = String> {
        text().prop_map(|text| text.trim().to_owned()).prop_filter("empty", |word| !word.is_empty())
    }

    proptest! {
        #[test]
        fn a_table_gives_back_its_rules(
            rules in prop::collection::vec(
                ("[a-z]{1,8}", prop::collection::vec(word(), 1..4), text(), text(),
                 prop::collection::vec(word(), 0..3)), 1..5),
        ) {
            let rules: Vec<_> = rules.into_iter().map(rule).collect();
            let table = String::from_utf8(table(&rules).unwrap()).unwrap();
            let header = "\u{feff}id,keywords,question,answer,not_for,hits\r\n";
            prop_assert!(table.starts_with(header));
            let rows = rows(&table).unwrap();
            prop_assert_eq!(rows.len(), rules.len());
            for (row, rule) in rows.into_iter().zip(rules) {
                prop_assert_eq!(row.id, Some(rule.id.clone()));
                let texts = RuleUpdate::from(RuleDraft::from(rule));
                prop_assert_eq!(row.texts, texts);
            }
        }
    }

    fn read(table: &str) -> Vec<(Vec<String>, String, String)> {
        let rows = rows(table).unwrap().into_iter().map(|row| row.texts);
        rows.map(|texts| {
            let RuleUpdate { keywords, question, answer, .. } = texts;
            (keywords.unwrap(), question.unwrap_or_default(), answer.unwrap())
        })
        .collect()
    }

    #[test]
    fn tables_of_people_are_understood() {
        let expected = |question: &str| {
            let keywords = ["wifi", "密碼"].map(str::to_owned).to_vec();
            vec![(keywords, question.to_owned(), "1234, ok".to_owned())]
        };
        assert_eq!(read("\"wifi, 密碼\",\"1234, ok\""), expected(""));
        assert_eq!(read("wifi,密碼\tQ\t1234, ok\n\n"), expected("Q"));
        assert_eq!(
            read("\u{feff}Answer;X;Keywords\r\n1234, ok;?;\"wifi\r\n密碼\"\r\n")[0].2,
            "1234, ok"
        );
        assert_eq!(read("qa_1,\"wifi\n密碼\",Q,\"1234, ok\",7"), expected("Q"));
        for names in [
            "關鍵字,問題,答案",
            "キーワード,質問,答え",
            "คีย์เวิร์ด,คำถาม,คำตอบ",
            "Keywords,Question,Answer",
        ] {
            let table = format!("{names}\n\"wifi, 密碼\",Q,\"1234, ok\"\n");
            assert_eq!(read(&table), expected("Q"), "{names}");
        }
        for file in ["PK\u{3}\u{4}xl/workbook.xml", "a,b\0"] {
            assert_eq!(rows(file).unwrap_err(), TableFault::NoText);
        }
        let two = rows("keywords,answer\n\"a\nb\",1\nc,2\n").unwrap();
        assert_eq!(two.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn names_of_columns_in_the_words_of_people_are_no_rule() {
        for names in [
            "keyword,answer",
            "Keywords,REPLY",
            "關鍵字,回覆",
            "關鍵字,回應",
            "キーワード,応答",
            "คำสำคัญ,คำตอบ",
            "Keyword,Response",
            "關鍵詞,答案",
            "キーワード,回答",
            "คีย์เวิร์ด,คำตอบ",
            "ＫＥＹＷＯＲＤ：, Answer ",
        ] {
            assert_eq!(read(&format!("{names}\nhours,9-18\n")), only("hours", "9-18"), "{names}");
        }
        for names in ["Question,Answer", "問題,回覆", "質問,回答", "คำถาม,คำตอบ"]
        {
            let table = format!("{names}\n\"Hello, are you open?\",9-18\n");
            assert_eq!(read(&table), only("Hello, are you open?", "9-18"), "{names}");
        }
        let turned = read("Answer\tHits\tQuestion\tKeyword\n9-18\t4\tWhen?\thours\n");
        assert_eq!(turned, [(vec!["hours".to_owned()], "When?".to_owned(), "9-18".to_owned())]);
        // No rule at all: the answers are missing.
        assert_eq!(read("keywords,question\nhours,When?\n")[0].2, "");
        assert_eq!(rows("問題,答案\n").unwrap_err(), TableFault::Empty);
    }

    #[test]
    fn a_row_with_the_name_of_a_column_is_a_rule() {
        for (keyword, answer) in
            [("問題", "請問管理室"), ("reply", "@bot"), ("wifi", "Answer"), ("回覆", "答案")]
        {
            assert_eq!(read(&format!("{keyword},{answer}")), only(keyword, answer));
        }
    }

    fn only(keyword: &str, answer: &str) -> Vec<(Vec<String>, String, String)> {
        vec![(vec![keyword.to_owned()], String::new(), answer.to_owned())]
    }

    #[test]
    fn a_quotation_mark_of_a_pasted_cell_is_a_character_unless_it_is_closed() {
        for (cell, text) in [
            ("\"abc\" is the password", "\"abc\" is the password"),
            ("\"half", "\"half"),
            ("say \"hi\"", "say \"hi\""),
            ("\"two\nlines, \"\"quoted\"\"\"", "two\nlines, \"quoted\""),
            ("\"a\tb\"", "a\tb"),
            ("\"\"\"abc\"\" is it\"", "\"abc\" is it"),
            ("\"", "\""),
        ] {
            let rules = read(&format!("first\t{cell}\nsecond\t\"a\" b\n"));
            let texts: Vec<_> = rules.iter().map(|(_, _, answer)| answer.as_str()).collect();
            assert_eq!(texts, [text, "\"a\" b"], "{cell}");
        }
        let last = read("x\tone\n\"a\"\"\nb\"\ttwo\nc\t\"last\"");
        assert_eq!(last[1].0, ["a\"", "b"]);
        assert_eq!(last[2].2, "last");
    }

    #[test]
    fn keywords_are_between_the_commas_of_any_keyboard() {
        for (cell, keywords) in [
            ("早餐，午餐、晚餐", vec!["早餐", "午餐", "晚餐"]),
            ("\"早餐，午餐\"、晚餐", vec!["早餐，午餐", "晚餐"]),
            ("\"a\"\"，b\"，c", vec!["a\"，b", "c"]),
            ("5\" 管，水", vec!["5\" 管", "水"]),
            ("a, \"b\"\"，c\"\n d ，", vec!["a", "\"b\"\"", "c\"", "d"]),
            // A comma between two digits is part of a number.
            ("1,000元，12,a,3、4,", vec!["1,000元", "12", "a", "3", "4"]),
            ("1, 2,３", vec!["1", "2", "３"]),
        ] {
            assert_eq!(list(cell), keywords, "{cell}");
        }
    }
}
