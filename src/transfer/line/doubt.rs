//! Lines that begin with a time inside of what somebody wrote: a table or a schedule that was
//! pasted into a message. What they are shows only some lines later, so they wait.

use chrono::NaiveTime;

use super::calendar::DateLine;
use super::{LineReader, ParsedLine, Record, TEXT};

/// Maximum number of lines that wait for a person who is known.
const LINES: usize = 1_000;

/// Reason for a line that may begin a message, or be a part of the one before it.
pub(super) const AMBIGUOUS: &str = "its time is before that of the line above: if it begins a \
                                    message, name its sender with --name";

/// Lines that wait, with their numbers.
#[derive(Debug, Default)]
pub(super) struct WaitingLines {
    lines: Vec<(u64, String)>,
    bytes: usize,
    /// Most evidence of the names that they may begin with.
    evidence: u32,
}

impl WaitingLines {
    fn push(&mut self, number: u64, line: &str) {
        self.bytes += line.len();
        self.lines.push((number, line.to_owned()));
    }

    fn is_full(&self) -> bool {
        self.bytes > TEXT || self.lines.len() >= LINES
    }
}

/// Part of a text in quotation marks that a line may be.
#[derive(Debug, PartialEq, Eq)]
enum Quoted {
    Inside,
    End,
    /// The line has a quotation mark that is neither doubled nor at its end.
    No,
}

impl Quoted {
    fn of(line: &str) -> Self {
        // Phones double the quotation marks inside of a text that they put in quotation marks.
        let rest = line.replace("\"\"", "");
        match rest.matches('"').count() {
            0 => Self::Inside,
            1 if rest.trim_end().ends_with('"') => Self::End,
            _ => Self::No,
        }
    }
}

/// Returns true if a text in quotation marks begins here and does not end.
pub(super) fn opens(text: &str) -> bool {
    text.strip_prefix('"').is_some_and(|rest| Quoted::of(rest) == Quoted::Inside)
}

/// Removes the quotation marks that phones put around a text of several lines.
pub(super) fn unquoted(text: &str) -> String {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match inside.filter(|inside| inside.contains('\n')) {
        Some(inside) => inside.replace("\"\"", "\""),
        None => text.to_owned(),
    }
}

impl LineReader {
    /// Returns true if the quotation marks around the current message are still open.
    pub(super) fn is_quoted(&self) -> bool {
        let text = self.draft.as_ref().map_or("", |draft| &draft.text);
        text.starts_with('"') && text.matches('"').count() % 2 == 1
    }

    /// Takes the next line inside of quotation marks. They may be a typing error: without an end,
    /// the lines are read as if there were none.
    pub(super) fn quoted_line(
        &mut self,
        mut waiting: WaitingLines,
        number: u64,
        line: &str,
        found: &mut Vec<ParsedLine>,
    ) {
        waiting.push(number, line);
        match Quoted::of(line) {
            Quoted::Inside if !waiting.is_full() => self.quoted = Some(waiting),
            Quoted::End if !self.are_messages(&waiting) => {
                for (number, line) in waiting.lines {
                    self.go_on(number, &line, found);
                }
            }
            _ => self.read_again(waiting, found),
        }
    }

    /// Returns true if lines within quotation marks are messages, most of them of people who write
    /// elsewhere, too, and these in their order.
    fn are_messages(&self, waiting: &WaitingLines) -> bool {
        let (mut last, mut sure, mut others) = (self.last, 0, 0);
        for (_, line) in &waiting.lines {
            let Some(Record { time, name, .. }) = self.record(line) else {
                if DateLine::read(line).is_some_and(|date| self.is_of_form(&date)) {
                    last = None;
                }
                continue;
            };
            match name {
                // A row of two columns looks like an event.
                None => {}
                Some(name) if !self.names.is_sure(name) => others += 1,
                Some(_) if Some(time) < last => return false,
                Some(_) => (last, sure) = (Some(time), sure + 1),
            }
        }
        sure > others
    }

    /// Returns true if what begins with that record may belong to the message before it: it names
    /// somebody who is not known and seldom writes.
    pub(super) fn is_doubtful(&self, record: Option<&Record<'_>>) -> bool {
        self.spaced
            && self.draft.is_some()
            && record.is_some_and(|record| self.evidence(record) < u32::MAX)
    }

    fn evidence(&self, record: &Record<'_>) -> u32 {
        record.name.map_or(u32::MAX, |name| self.names.evidence(name))
    }

    /// Takes a line that [may belong](Self::is_doubtful) to the message before it, or one after such
    /// a line. The next line of somebody who writes more often decides: time goes on from message
    /// to message, and not within a schedule.
    pub(super) fn doubtful_line(
        &mut self,
        mut waiting: WaitingLines,
        number: u64,
        line: &str,
        found: &mut Vec<ParsedLine>,
    ) {
        let record = self.record(line);
        let evidence = record.as_ref().map_or(0, |record| self.evidence(record));
        let time = record.map(|record| record.time);
        let is_decisive = evidence == u32::MAX || evidence > waiting.evidence;
        let until = time.filter(|_| is_decisive && !waiting.lines.is_empty());
        let another_day = || DateLine::read(line).is_some_and(|date| self.is_of_form(&date));
        if until.is_none() && !another_day() && !waiting.is_full() {
            waiting.evidence = waiting.evidence.max(evidence);
            waiting.push(number, line);
            self.doubtful = Some(waiting);
            return;
        }
        self.decide(waiting, until, found);
        self.line(number, line, found);
    }

    /// Returns true if a line goes back in time and names nobody who is known, after somebody of
    /// whom no more is known.
    pub(super) fn is_ambiguous(&self, line: &str) -> bool {
        let sender = self.draft.as_ref().and_then(|draft| draft.name.as_deref());
        let (Some(sender), Some((time, rest))) = (sender, self.time(line)) else { return false };
        let said = rest.strip_prefix(' ').filter(|_| self.spaced && Some(time) < self.last);
        said.and_then(|said| self.names.split(said.trim_start()))
            .is_some_and(|(name, _)| self.names.evidence(name) >= self.names.evidence(sender))
    }

    /// Reads lines that waited; those with times after `until` belong to the message before them.
    fn decide(
        &mut self,
        waiting: WaitingLines,
        until: Option<NaiveTime>,
        found: &mut Vec<ParsedLine>,
    ) {
        // Beyond a date, even one that cannot be read, time begins anew.
        let has_date = self.held.is_some()
            || waiting.lines.iter().any(|(_, line)| DateLine::read(line).is_some());
        let until = until.filter(|_| !has_date);
        for (number, line) in waiting.lines {
            let time = self.time(&line).map(|(time, _)| time);
            if until.is_some() && time > until {
                self.go_on(number, &line, found);
            } else {
                self.read(number, &line, found);
            }
        }
    }

    fn read_again(&mut self, waiting: WaitingLines, found: &mut Vec<ParsedLine>) {
        for (number, line) in waiting.lines {
            self.line(number, &line, found);
        }
    }

    /// Reads what still waits at the end of the file.
    pub(super) fn end_waiting(&mut self, found: &mut Vec<ParsedLine>) {
        while let Some(waiting) = self.quoted.take() {
            self.read_again(waiting, found);
        }
        if let Some(waiting) = self.doubtful.take() {
            self.decide(waiting, None, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

    #[test]
    fn quotation_marks_are_doubled_inside() {
        for (line, part) in [
            ("plain", Quoted::Inside),
            ("she said \"\"yes\"\"", Quoted::Inside),
            ("the end\"", Quoted::End),
            ("\"", Quoted::End),
            ("she said \"\"yes\"\"\"", Quoted::End),
            ("she said \"yes\"", Quoted::No),
            ("12\" wide", Quoted::No),
        ] {
            assert_eq!(Quoted::of(line), part, "{line}");
        }
        assert!(opens("\"first") && opens("\"\"\"quoted\"\" first"));
        assert!(!opens("first") && !opens("\"one line\"") && !opens("\"a\" and \"b\""));
    }

    #[test]
    fn a_table_in_quotation_marks_stays_there() {
        let text = "2024/01/05(金)\n09:30\t佐藤\tおはよう\n09:31\t田中\t\"明日の予定です\n\
            10:00\t会議\tA室\n2024/01/06(土)\n13:00\t来客\tB室\n以上\"\n09:35\t佐藤\t了解\n";
        let expected = [
            "05 09:30 佐藤|text|おはよう",
            "05 09:31 田中|text|明日の予定です\n10:00\t会議\tA室\n2024/01/06(土)\n13:00\t来客\tB室\n以上",
            "05 09:35 佐藤|text|了解",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn a_quotation_mark_that_nothing_closes_holds_nothing_back() {
        let text = "2024/01/05(金)\n09:30\tAnn\t\"oops\n09:31\tBob\tfine\n\n2024/01/06(土)\n\
            09:32\tAnn\t\"again\n09:33\tBob\the said \"no\"\n09:34\tAnn\t\"a\nb\"\n09:35\tBob\t\"end\n";
        let expected = [
            "05 09:30 Ann|text|\"oops",
            "05 09:31 Bob|text|fine",
            "06 09:32 Ann|text|\"again",
            "06 09:33 Bob|text|he said \"no\"",
            "06 09:34 Ann|text|a\nb",
            "06 09:35 Bob|text|\"end",
        ];
        assert_eq!(read(text), expected);
        let days = "2024/01/05(金)\n09:00\tBob\t1\n09:01\tBob\t2\n23:50\tAnn\t\"oops\n\n\
            2024/01/06(土)\n08:00\tBob\t3\n08:10\tRare\tx\n08:30\tBob\tthe TV has 55\"\n";
        assert_eq!(read(days).len(), 6, "{:?}", read(days));
        // An inch is no end where people who write elsewhere, too, go on in order.
        let often = "2024/01/05(金)\n09:00\tBob\t1\n09:01\tBob\t2\n09:02\tAnn\t\"oops\n\
            09:03\tBob\tit has 12\"\n09:04\tAnn\tok\n";
        assert_eq!(
            read(often)[2..4],
            ["05 09:02 Ann|text|\"oops", "05 09:03 Bob|text|it has 12\""]
        );
    }

    #[test]
    fn phones_write_tabs_whatever_is_pasted() {
        let text = "2024/01/05(金)\n09:31\t王老師\t\"行程\n10:00 學校門口 集合\n10:30 遊覽車 出發\n\
            12:00 餐廳 午餐\n15:00 博物館 參觀\"\n09:40\t媽媽\t收到\n";
        let expected = [
            "05 09:31 王老師|text|行程\n10:00 學校門口 集合\n10:30 遊覽車 出發\n12:00 餐廳 午餐\n\
             15:00 博物館 參觀",
            "05 09:40 媽媽|text|收到",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn a_schedule_ends_where_a_known_person_goes_back_in_time() {
        let text = "2024.01.05 金曜日\n09:29 佐藤 おはよう\n09:30 佐藤 今日は?\n09:31 田中 明日の予定です\n\
            10:00 会議 A室\n13:00 来客 B室\n以上\n09:35 佐藤 了解\n09:36 鈴木 はい\n";
        let expected = [
            "05 09:29 佐藤|text|おはよう",
            "05 09:30 佐藤|text|今日は?",
            "05 09:31 田中|text|明日の予定です\n10:00 会議 A室\n13:00 来客 B室\n以上",
            "05 09:35 佐藤|text|了解",
            "05 09:36 鈴木|text|はい",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn nothing_is_glued_across_a_date_that_cannot_be_read() {
        let text = "2024.01.05 Friday\n09:30 Ann a\n09:31 Ann b\n09:32 Ann hi\n09:40 Rare x\n\
            2024.01.06\n09:31 Ann c\n";
        assert_eq!(read(text)[3..], ["05 09:40 Rare|text|x", "unknown 6", "unknown 7"]);
    }

    #[test]
    fn a_line_that_may_be_of_two_messages_is_told() {
        let text = "2024.01.05 金曜日\n09:31 田中 明日の予定です\n10:00 会議 A室\n09:35 佐藤 了解\nまた\n\
            2024.01.06 土曜日\n09:00 田中 x\n";
        let expected = [
            "05 09:31 田中|text|明日の予定です",
            "05 10:00 会議|text|A室",
            "unknown 4",
            "unknown 5",
            "06 09:00 田中|text|x",
        ];
        assert_eq!(read(text), expected);
    }
}
