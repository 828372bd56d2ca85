//! `chatkeep line check`: asks LINE whether the bots are set up as chatkeep needs them.

use anyhow::bail;
use chatkeep_i18n::Language;
use chatkeep_services::bot_setup::{BotOperator, BotReport, NoSuchBot, SetupFinding, Severity};
use chatkeep_transfer::out::say;
use serde::Serialize;

use super::{Context, table};
use crate::app::{self, PreflightError};

#[derive(Debug, clap::Subcommand)]
pub(super) enum LineCommand {
    /// Asks LINE about each bot's access token, channel secret, webhook, quota and clock, and names
    /// what is wrong.
    Check(LineCheckArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct LineCheckArgs {
    /// Check only this bot.
    #[arg(long, value_name = "NAME")]
    bot: Option<String>,
    /// First set the webhook address at LINE where none or another one is set.
    #[arg(long)]
    fix: bool,
    /// Print one JSON object per line: each finding.
    #[arg(long)]
    json: bool,
}

/// Questions that LINE did not answer. Ends the program with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotAnswered(String);

/// Finding as programs read it.
#[derive(Serialize)]
struct FindingLine<'a> {
    bot: &'a str,
    severity: &'static str,
    code: &'static str,
    sentence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

pub(super) async fn run(context: &Context, command: LineCommand) -> anyhow::Result<()> {
    let LineCommand::Check(args) = command;
    let service = app::bot_setup(&context.config, &context.clock)?;
    let (operator, name) = (BotOperator::from(&context.operator), args.bot.as_deref());
    let unknown = |error: NoSuchBot| PreflightError(error.to_string());
    let mut unset = 0;
    if args.fix {
        let done = service.set_webhooks(&operator, name).await.map_err(unknown)?;
        unset = count(&done, Severity::Unanswered);
        show(&done, args.json)?;
    }
    let reports = service.check(&operator, name).await.map_err(unknown)?;
    show(&reports, args.json)?;
    match (count(&reports, Severity::Wrong), unset + count(&reports, Severity::Unanswered)) {
        (0, 0) => Ok(()),
        (0, 1) => Err(NotAnswered("LINE did not answer 1 question".to_owned()).into()),
        (0, more) => Err(NotAnswered(format!("LINE did not answer {more} questions")).into()),
        (1, _) => bail!("1 problem found"),
        (wrong, _) => bail!("{wrong} problems found"),
    }
}

fn count(reports: &[BotReport], severity: Severity) -> usize {
    let findings = reports.iter().flat_map(|report| &report.findings);
    findings.filter(|finding| finding.severity() == severity).count()
}

fn show(reports: &[BotReport], json: bool) -> anyhow::Result<()> {
    for BotReport { bot, findings } in reports {
        for finding in findings {
            if json { table::json(&FindingLine::new(bot, finding))? } else { line(bot, finding)? }
        }
    }
    Ok(())
}

/// Prints a finding, and below it where to mend it.
fn line(bot: &str, finding: &SetupFinding) -> anyhow::Result<()> {
    let FindingLine { severity, sentence, place, .. } = FindingLine::new(bot, finding);
    say!("{bot}  {severity:<10}  {sentence}")?;
    if let Some(place) = place {
        say!("{:indent$}→ {place}", "", indent = bot.len() + 14)?;
    }
    Ok(())
}

impl<'a> FindingLine<'a> {
    fn new(bot: &'a str, finding: &SetupFinding) -> Self {
        // Names of accounts may hold anything.
        let plain = |text: String| text.replace(char::is_control, " ");
        Self {
            bot,
            severity: finding.severity().name(),
            code: finding.code(),
            sentence: plain(finding.sentence(Language::English)),
            place: finding.place(Language::English),
        }
    }
}
