//! Import of rules from a table: what it would do, then the import.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::assistant::limits;
use chatkeep_core::heavy::CALLERS;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::ServiceError;
use chatkeep_services::assistant::{
    ImportRow, PlannedRow, RowFate, RuleField, RuleImportPlan, RuleLimit, SettingsAccess,
};
use serde::Deserialize;

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, SubmittedForm, sentence, unbroken};
use super::super::frame::{Frame, rendered_as};
use super::super::visitor::Visitor;
use super::Section;
use super::csv::{TableFault, rows};
use super::rules::{counted, rules_path};

/// Maximum bytes of a form with a table, in which a Chinese character has nine.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum rows of a table that are shown.
const SHOWN: usize = 100;

/// Form of an import as a browser sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ImportForm {
    csv: String,
    /// Version of the rules that was looked at.
    version: Option<i64>,
    confirmed: String,
}

#[derive(Template)]
#[template(path = "console/import.html", whitespace = "minimize")]
struct ImportPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    back: String,
    csv: String,
    errors: FormErrors,
    preview: Option<Preview>,
}

/// Outcome of an import that is not made yet.
struct Preview {
    version: i64,
    is_possible: bool,
    is_refused: bool,
    /// Numbers of rows by what becomes of them.
    counts: Vec<Count>,
    /// Sentence about what to do.
    advice: String,
    rows: Vec<PreviewRow>,
    /// Sentence about the rows that are not shown.
    more: Option<String>,
    button: String,
}

struct Count {
    text: String,
    is_bad: bool,
}

struct PreviewRow {
    line: String,
    label: String,
    is_bad: bool,
    reason: Option<String>,
    keywords: Vec<String>,
    question: String,
    answer: String,
    not_for: Vec<String>,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let access = visitor.channel(&console, &channel).await?;
    shown(&console, &visitor, &access, String::new(), (FormErrors::default(), None)).await
}

pub(super) async fn take(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<ImportForm>,
) -> Result<Response, PageError> {
    let access: SettingsAccess = visitor.channel(&console, &channel).await?;
    let (service, language) = (&console.services.assistant, visitor.language);
    let read = move || {
        let table = unbroken(&form.csv);
        (rows(&table), table)
    };
    let (read, table) = CALLERS.run(read).await;
    let table_rows = match read {
        Ok(rows) => rows,
        Err(fault) => {
            let errors = FormErrors::at("/csv", fault_sentence(fault, language));
            return shown(&console, &visitor, &access, table, (errors, None)).await;
        }
    };
    let mut errors = FormErrors::default();
    if form.confirmed == "yes"
        && let Some(version) = form.version
    {
        match service.import_rules(&access, table_rows.clone(), version).await {
            Ok(_) => return Ok(Done::Imported.at(&rules_path(access.channel()))),
            // What is in the way is in the plan.
            Err(ServiceError::Conflict(_)) => {}
            Err(ServiceError::Stale) => errors = FormErrors::all(language.text("import-stale")),
            Err(error) => errors = FormErrors::of(error, language)?,
        }
    }
    let preview = preview(&console, &access, table_rows, language).await?;
    if preview.is_refused && errors.is_empty() {
        errors = FormErrors::all(preview.advice.clone());
    }
    shown(&console, &visitor, &access, table, (errors, Some(preview))).await
}

async fn shown(
    console: &Console,
    visitor: &Visitor,
    access: &SettingsAccess,
    csv: String,
    (errors, preview): (FormErrors, Option<Preview>),
) -> Result<Response, PageError> {
    let channel = Heading::of_page(console, visitor, access, Tab::Assistant).await?;
    let page = ImportPage {
        frame: visitor.frame(visitor.language.text("import-title")),
        sections: Section::Rules.links(&channel, visitor),
        back: rules_path(access.channel()),
        channel,
        csv,
        errors,
        preview,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

fn fault_sentence(fault: TableFault, language: Language) -> String {
    match fault {
        TableFault::Empty => language.text("import-empty"),
        TableFault::NoText => language.text("import-no-text"),
        TableFault::TooManyCells(row) => {
            let row = i64::try_from(row).unwrap_or(i64::MAX);
            language.format("import-too-many-cells", &[("line", row.into())])
        }
        TableFault::TooManyRows => counted("import-too-many", limits::RULES, language),
    }
}

async fn preview(
    console: &Console,
    access: &SettingsAccess,
    rows: Vec<ImportRow>,
    language: Language,
) -> Result<Preview, PageError> {
    let plan = console.services.assistant.plan_import(access, rows).await?;
    Ok(CALLERS.run(move || Preview::new(plan, language)).await)
}

impl Preview {
    fn new(plan: RuleImportPlan, language: Language) -> Self {
        let refused = plan.refused();
        let numbers = [
            ("import-added", plan.added(), false),
            ("import-changed", plan.changed(), false),
            ("import-same", plan.same(), false),
            ("import-refused", refused, true),
        ];
        let counts = numbers.into_iter().filter(|(_, count, _)| *count > 0);
        let counts = counts.map(|(key, count, is_bad)| {
            let text = counted(key, count, language);
            Count { text, is_bad }
        });
        let advice = match plan.beyond {
            _ if refused > 0 => counted("import-nothing-until", refused, language),
            Some(RuleLimit::Count) => counted("import-too-many", limits::RULES, language),
            Some(RuleLimit::Bytes) => language.text("form-rules-too-large"),
            None if plan.is_possible() => language.text("import-ready"),
            None => language.text("import-nothing-to-do"),
        };
        let (version, is_possible) = (plan.version, plan.is_possible());
        let is_refused = refused > 0 || plan.beyond.is_some();
        let (counts, work) = (counts.collect(), plan.added() + plan.changed());
        // What has to be mended, or else what will change.
        let matters = |row: &PlannedRow| match row.fate {
            RowFate::Same(_) => false,
            _ => refused == 0 || row.fate.is_refused(),
        };
        let rows: Vec<_> = plan.rows.into_iter().filter(matters).collect();
        let more = rows.len().saturating_sub(SHOWN);
        let rows = rows.into_iter().take(SHOWN).map(|row| PreviewRow::new(row, language));
        Self {
            version,
            is_possible,
            is_refused,
            counts,
            advice,
            rows: rows.collect(),
            more: (more > 0).then(|| counted("import-more", more, language)),
            button: counted("import-confirm", work, language),
        }
    }
}

impl PreviewRow {
    fn new(row: PlannedRow, language: Language) -> Self {
        let key = match row.fate {
            RowFate::Added => "import-row-added",
            RowFate::Changed(_) => "import-row-changed",
            RowFate::Same(_) => "import-row-same",
            RowFate::Defective(..) | RowFate::Repeated(_) => "import-row-refused",
        };
        let number = |line: u64| Value::from(i64::try_from(line).unwrap_or(i64::MAX));
        let reason = match row.fate {
            RowFate::Defective(field, defect) => {
                let field = language.text(match field {
                    RuleField::Keywords => "rule-keywords",
                    RuleField::Question => "rule-question",
                    RuleField::Answer => "rule-answer",
                    RuleField::NotFor => "rule-not-for",
                });
                let sentence = sentence(defect, language);
                let values = [("field", Value::from(&field)), ("what", Value::from(&sentence))];
                Some(language.format("import-field", &values))
            }
            RowFate::Repeated(line) => {
                Some(language.format("import-repeated", &[("line", number(line))]))
            }
            _ => None,
        };
        Self {
            line: language.format("import-line", &[("line", number(row.line))]),
            label: language.text(key),
            is_bad: row.fate.is_refused(),
            reason,
            keywords: row.draft.keywords,
            question: row.draft.question,
            answer: row.draft.answer,
            not_for: row.draft.not_for,
        }
    }
}
