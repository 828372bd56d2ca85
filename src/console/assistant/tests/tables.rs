//! Tables of rules at their edges: what is between cells, line ends, marks and numbers of rows.

use chatkeep_core::assistant::limits;
use chatkeep_services::assistant::ImportRow;
use chatkeep_transfer::csv::opened;
use csv::StringRecord;
use proptest::prelude::*;

use super::super::columns::Columns;
use super::super::csv::{TableFault, rows, table};
use super::rule;

/// Returns keywords and answers of a table.
fn read(text: &str) -> Vec<(Vec<String>, String)> {
    let texts = rows(text).unwrap().into_iter().map(|row| row.texts);
    texts.map(|texts| (texts.keywords.unwrap(), texts.answer.unwrap())).collect()
}

fn wifi(answer: &str) -> Vec<(Vec<String>, String)> {
    vec![(vec!["wifi".to_owned()], answer.to_owned())]
}

fn lines(text: &str) -> Vec<u64> {
    rows(text).unwrap().iter().map(|row: &ImportRow| row.line).collect()
}

#[test]
fn cells_are_between_what_the_first_line_has_between_them() {
    for (text, answer) in [
        ("keywords,answer\nwifi,a;b\n", "a;b"),
        ("keywords;answer\nwifi;a, b\n", "a, b"),
        ("keywords\tanswer\nwifi\ta, b; c\n", "a, b; c"),
        ("\n \nkeywords;answer\nwifi;\"a; b\"\n", "a; b"),
        // A comma in the first line says that there is no semicolon between cells.
        ("keywords,answer;\nwifi,a;\n", "a;"),
        ("wifi\ta;b", "a;b"),
        ("wifi;a", "a"),
    ] {
        let found = rows(text).unwrap().remove(0).texts.answer;
        assert_eq!(found.as_deref(), Some(answer), "{text:?}");
    }
}

#[test]
fn a_table_may_end_its_lines_as_any_system_does() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["\u{feff}keywords,answer", "wifi,\"one", "two\"", "", "bus,3"].join(end);
        let expected = [wifi("one\ntwo"), vec![(vec!["bus".to_owned()], "3".to_owned())]].concat();
        assert_eq!(read(&text), expected, "{end:?}");
        let pasted = ["wifi\t\"one", "two\"", "bus\t3", ""].join(end);
        assert_eq!(read(&pasted), expected, "{end:?}");
    }
}

#[test]
fn marks_at_the_beginning_are_no_part_of_a_name() {
    assert_eq!(read("\u{feff}\u{feff}keywords,answer\nwifi,1"), wifi("1"));
    assert_eq!(read("\u{feff}wifi,1"), wifi("1"));
    assert_eq!(rows("\u{feff}").unwrap_err(), TableFault::Empty);
    assert_eq!(rows("\u{feff}\r\n,\r\n").unwrap_err(), TableFault::Empty);
    // The file of a spreadsheet program begins so, and a rule does not.
    assert_eq!(read("PK,1")[0].0, ["PK"]);
    assert_eq!(rows("wifi,\0").unwrap_err(), TableFault::NoText);
}

#[test]
fn a_guarded_formula_is_the_text_that_was_guarded() {
    for (cell, answer) in [
        ("'=1+1", "=1+1"),
        ("''=1+1", "'=1+1"),
        ("'tis", "'tis"),
        ("=1+1", "=1+1"),
        ("'@bot help", "@bot help"),
        ("it's", "it's"),
    ] {
        assert_eq!(read(&format!("wifi,{cell}")), wifi(answer), "{cell}");
    }
    let ids = rows("id,keywords,answer\n'-1,wifi,1\n qa_1 ,bus,2\n  ,car,3\n").unwrap();
    let ids: Vec<_> = ids.into_iter().map(|row| row.id.map(|id| id.to_string())).collect();
    assert_eq!(ids, [Some("-1".to_owned()), Some("qa_1".to_owned()), None]);
}

#[test]
fn rows_have_the_numbers_of_records_whatever_their_height() {
    assert_eq!(lines("keywords,answer\nwifi,1\nbus,2"), [2, 3]);
    assert_eq!(lines("wifi,1\nbus,2"), [1, 2]);
    assert_eq!(lines("keywords,answer\n\"a\nb\nc\",\"1\n2\"\nbus,2"), [2, 3]);
    // A row of empty cells is a row of the spreadsheet, and no rule.
    assert_eq!(lines("keywords,answer\n,\nwifi,1\n , \nbus,2"), [3, 5]);
    let wide = "keywords,answer\n,\nwifi,1,2\n";
    assert_eq!(rows(wide).unwrap_err(), TableFault::TooManyCells(3));
}

#[test]
fn an_empty_line_is_a_row_of_the_spreadsheet() {
    assert_eq!(lines("keywords,answer\n\nwifi,1\n\n\nbus,2\n"), [3, 6]);
    assert_eq!(rows("wifi,1\n\nbus,2,3\n").unwrap_err(), TableFault::TooManyCells(3));
    assert_eq!(lines("\n\r\n\rkeywords,answer\r\n\r\nwifi,1"), [6]);
    assert_eq!(lines("\u{feff}\nwifi\t1\n\n\nbus\t2\n\n"), [2, 5]);
    // Within quotation marks it is a part of a text.
    assert_eq!(lines("\"a\n\n\nb\",1\n\nbus,\"\n\n2\"\n\nlunch,12"), [1, 3, 5]);
}

#[test]
fn as_many_rows_are_read_as_a_chat_can_have_rules() {
    let row = "k,a\n";
    assert_eq!(rows(&row.repeat(limits::RULES)).unwrap().len(), limits::RULES);
    let named = format!("keywords,answer\n{}", row.repeat(limits::RULES));
    assert_eq!(rows(&named).unwrap().len(), limits::RULES, "names are no rule");
    let more = format!("{named} , \n{row}");
    assert_eq!(rows(&more).unwrap_err(), TableFault::TooManyRows);
    let blank = format!("{named}{}", " , \n".repeat(9));
    assert_eq!(rows(&blank).unwrap().len(), limits::RULES, "neither are empty rows");
}

#[test]
fn a_text_that_is_cut_in_two_is_refused() {
    let table = "keywords,answer,\nlunch,12,,\nbus,\"5, 6\"\nparty,Mon at 12, bring food,now\n";
    assert_eq!(rows(table).unwrap_err(), TableFault::TooManyCells(4));
    assert_eq!(rows("wifi,1234\nbus,5, 6\n").unwrap_err(), TableFault::TooManyCells(2));
}

#[test]
fn an_absent_column_says_nothing_of_its_texts() {
    let texts = |table: &str| rows(table).unwrap().remove(0).texts;
    let few = texts("keywords,answer\nwifi,1234\n");
    assert_eq!((few.question, few.not_for), (None, None));
    let all = texts("keywords,question,answer,not_for\nwifi,,1234,\n");
    assert_eq!((all.question, all.not_for), (Some(String::new()), Some(Vec::new())));
    let thai = texts("คีย์เวิร์ด,คำตอบ,ไม่ตอบข้อความเหล่านี้\nwifi,1234,\"a, b\nc\"\n");
    assert_eq!(thai.not_for, Some(vec!["a, b".to_owned(), "c".to_owned()]));
}

#[test]
fn a_table_without_rows_or_with_too_many_is_refused() {
    for empty in ["", " \n ,,\n", "keywords,answer\r\n"] {
        assert_eq!(rows(empty).unwrap_err(), TableFault::Empty, "{empty:?}");
    }
    let many = "k,a\n".repeat(limits::RULES + 1);
    assert_eq!(rows(&many).unwrap_err(), TableFault::TooManyRows);
}

fn places(cells: &[&str]) -> Option<[Option<usize>; 5]> {
    let columns = Columns::named(&StringRecord::from(cells.to_vec()))?;
    let Columns { id, keywords, question, answer, not_for } = columns;
    Some([id, keywords, question, answer, not_for])
}

#[test]
fn columns_are_found_by_their_names_in_any_order() {
    let all = Some([Some(0), Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(places(&["id", "keywords", "question", "answer", "not_for", "hits"]), all);
    assert_eq!(places(&[" ID", "Keywords ", "QUESTION", "Answer", "Not_For"]), all);
    assert_eq!(places(&["answer", "", "keywords"]), Some([None, Some(2), None, Some(0), None]));
    assert_eq!(
        places(&["Ａｎｓｗｅｒ", "keyword"]),
        Some([None, Some(1), None, Some(0), None]),
        "in full width"
    );
    // Of two columns of one name the first one counts.
    assert_eq!(
        places(&["keywords", "answer", "answer"]),
        Some([None, Some(0), None, Some(1), None])
    );
    for cells in [&["wifi", "answer"][..], &["hits", "id"], &["keywords", "x"], &["", ""], &[]] {
        assert_eq!(places(cells), None, "{cells:?}");
    }
    // Every rule of such a table is refused, for it has no answer.
    assert_eq!(places(&["keywords"]), Some([None, Some(0), None, None, None]));
}

#[test]
fn columns_without_names_go_by_their_number() {
    let of = |cells: &[&str]| {
        let columns = Columns::of(&StringRecord::from(cells.to_vec()));
        [columns.id, columns.keywords, columns.question, columns.answer, columns.not_for]
    };
    assert_eq!(of(&["wifi", "1"]), [None, Some(0), None, Some(1), None]);
    assert_eq!(of(&["wifi", "Q", "1"]), [None, Some(0), Some(1), Some(2), None]);
    assert_eq!(of(&["wifi", "Q", "1", "7"]), [None, Some(0), Some(1), Some(2), None]);
    assert_eq!(of(&["qa_1", "wifi", "Q", "1"]), [Some(0), Some(1), Some(2), Some(3), None]);
    // A rule about the words "qa_1" with a question and an answer.
    assert_eq!(of(&["qa_1", "Q", "1"]), [None, Some(0), Some(1), Some(2), None]);
}

#[test]
fn a_table_of_no_rules_has_the_names_of_its_columns() {
    let text = String::from_utf8(table(&[]).unwrap()).unwrap();
    assert_eq!(text, "\u{feff}id,keywords,question,answer,not_for,hits\r\n");
    assert_eq!(rows(&text).unwrap_err(), TableFault::Empty);
}

#[test]
fn a_spreadsheet_executes_nothing_of_a_rule() {
    let texts = ["=HYPERLINK(1)", "+A1", "-A1", "@SUM(1)", "\t=1", "a\n=1", "＝1"];
    for text in texts {
        let written = table(&[rule(text, &[text, "b"], text)]).unwrap();
        let written = String::from_utf8(written).unwrap();
        let mut reader = csv::ReaderBuilder::new().from_reader(written.as_bytes());
        let record = reader.records().next().unwrap().unwrap();
        for cell in record.iter().flat_map(str::lines) {
            let first = cell.trim_start_matches(['"', '\t']).chars().next();
            let is_formula = first.is_some_and(|first| "=+-@＝＋－＠".contains(first));
            assert!(!is_formula, "{text:?}: {cell:?}");
        }
    }
}

/// Returns a cell as spreadsheet programs copy it.
fn copied(cell: &str) -> String {
    if cell.contains(['\t', '\n']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_copied_from_a_spreadsheet_is_what_its_cells_had(
        cells in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "a", "密碼", "รหัส", "👩‍👩‍👧", "\"", ",", ";", "\t", "\n", " ", "，", "=", "''",
                ]),
                0..8,
            ),
            1..6,
        ),
    ) {
        // A quotation mark at the beginning of a cell may as well be that of a quoted one.
        let cells: Vec<_> = cells.iter().map(|parts| format!("x{}", parts.concat())).collect();
        let lines: Vec<_> = cells.iter().map(|cell| format!("k\t{}\n", copied(cell))).collect();
        let text = format!("keywords\tanswer\n{}", lines.concat());
        let found: Vec<_> = read(&text).into_iter().map(|(_, answer)| answer).collect();
        let expected: Vec<_> = cells.iter().map(|cell| opened(cell)).collect();
        prop_assert_eq!(found, expected);
    }
}
