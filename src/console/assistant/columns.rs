//! Columns of a table of rules, by the names in its first row.

use std::collections::HashMap;

use chatkeep_i18n::Language;
use chatkeep_index::fold_phrase;
use csv::StringRecord;

/// Names of the columns in an export.
pub(super) const COLUMNS: [&str; 6] = ["id", "keywords", "question", "answer", "not_for", "hits"];
/// Texts of the catalogue by which the form of a rule calls the columns.
const FORM: [Option<&str>; COLUMNS.len()] = [
    None,
    Some("rule-keywords"),
    Some("rule-question"),
    Some("rule-answer"),
    Some("rule-not-for"),
    None,
];
/// Further names that people give to the columns.
const FURTHER_NAMES: [&[&str]; COLUMNS.len()] = [
    &[],
    &["keyword", "關鍵詞", "关键字", "关键词", "คำสำคัญ", "คำหลัก", "คีย์เวิร์ด"],
    &["questions", "q", "问题", "問い"],
    &[
        "answers",
        "a",
        "reply",
        "replies",
        "response",
        "responses",
        "回覆",
        "回應",
        "回应",
        "回答",
        "回复",
        "返信",
        "返答",
        "返事",
        "応答",
        "คำตอบ",
        "ตอบ",
        "ตอบกลับ",
    ],
    &[],
    &[],
];

/// Places of the columns in a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub(super) id: Option<usize>,
    pub(super) keywords: Option<usize>,
    pub(super) question: Option<usize>,
    pub(super) answer: Option<usize>,
    pub(super) not_for: Option<usize>,
}

impl Columns {
    /// Returns the columns that a first row names: as in an export, as the form of a rule names
    /// them in one of the languages, or as people call them.
    pub(super) fn named(first: &StringRecord) -> Option<Self> {
        let place =
            |name: &str| first.iter().position(|cell| cell.trim().eq_ignore_ascii_case(name));
        let [id, keywords, question, answer, not_for, _] = COLUMNS.map(place);
        let exported = Self { id, keywords, question, answer, not_for };
        let translated = Language::ALL.into_iter().map(|language| {
            let place = |key| place(&language.text(key));
            let [keywords, question, answer, not_for] =
                ["rule-keywords", "rule-question", "rule-answer", "rule-not-for"].map(place);
            Self { id, keywords, question, answer, not_for }
        });
        let is_named = |columns: &Self| columns.keywords.is_some() && columns.answer.is_some();
        [exported].into_iter().chain(translated).find(is_named).or_else(|| Self::of_names(first))
    }

    /// Returns the columns of a first row whose cells are all names that people give to columns; a
    /// rule may have one of these words. Where no column is that of the answers, every row is
    /// refused, for the first one is no rule either.
    fn of_names(first: &StringRecord) -> Option<Self> {
        let (names, mut places) = (column_names(), [None; COLUMNS.len()]);
        for (place, cell) in first.iter().enumerate().filter(|(_, cell)| !cell.trim().is_empty()) {
            let column = *names.get(&fold_phrase(cell))?;
            places[column] = places[column].or(Some(place));
        }
        let [id, keywords, question, answer, not_for, _] = places;
        let is_named = keywords.is_some() || question.is_some();
        is_named.then_some(Self { id, keywords, question, answer, not_for })
    }

    /// Returns the columns of a table without names.
    pub(super) fn of(first: &StringRecord) -> Self {
        let has_id = first.len() > 3 && first.get(0).is_some_and(|id| id.starts_with("qa_"));
        let start = usize::from(has_id);
        let question = (first.len() > start + 2).then_some(start + 1);
        let answer = Some(if question.is_some() { start + 2 } else { start + 1 });
        Self { id: has_id.then_some(0), keywords: Some(start), question, answer, not_for: None }
    }
}

/// Returns the columns by their names, as they are compared.
fn column_names() -> HashMap<String, usize> {
    let mut names = HashMap::new();
    let columns = COLUMNS.into_iter().zip(FORM).zip(FURTHER_NAMES).enumerate();
    for (column, ((exported, key), further)) in columns {
        let text = |key| Language::ALL.map(|language| fold_phrase(&language.text(key)));
        let others = further.iter().copied().chain([exported]).map(fold_phrase);
        let all = key.into_iter().flat_map(text).chain(others);
        names.extend(all.map(|name| (name, column)));
    }
    names
}
