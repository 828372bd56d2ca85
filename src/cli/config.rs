//! `chatkeep config`: what is wrong with the settings, and what they are.

use anyhow::bail;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::{Config, EffectiveSetting, Inspection, SettingValue, Sources};
use chatkeep_transfer::out::{note, say};
use serde::Serialize;

use super::serve::RolesArgs;
use super::table;
use crate::app::{address_warnings, known_problems, memory_warning, snapshot_warning};

#[derive(Debug, clap::Subcommand)]
pub(super) enum ConfigCommand {
    /// Reads all settings as `chatkeep serve` does, and lists everything that prevents it from
    /// starting.
    Check(ConfigCheckArgs),
    /// Prints every setting with its value and origin; secrets are not shown.
    Show(ConfigShowArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct ConfigCheckArgs {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    roles: RolesArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct ConfigShowArgs {
    /// Print one JSON object per line: each setting.
    #[arg(long)]
    json: bool,
}

/// Result of a check for programs.
#[derive(Serialize)]
struct ConfigReport {
    problems: Vec<String>,
    warnings: Vec<String>,
}

/// Runs a command on the settings alone: nothing is opened.
///
/// # Errors
/// Returns an error if something is wrong with the settings.
pub(super) fn run(command: &ConfigCommand, sources: Sources) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Check(args) => check(args, sources),
        ConfigCommand::Show(args) => show(args, sources),
    }
}

fn check(args: &ConfigCheckArgs, sources: Sources) -> anyhow::Result<()> {
    let process_roles = args.roles.process_roles()?;
    let Inspection { config, settings, problems: wrong, mut warnings } = Config::inspect(sources);
    let mut problems: Vec<_> = wrong.iter().map(|problem| with_causes(problem)).collect();
    // A setting with a problem has its default here, about which nothing is to be said.
    if let Some(config) = config {
        let is_in_doubt = |setting: &str| wrong.iter().any(|problem| problem.concerns(setting));
        problems.extend(known_problems(&config, &process_roles, is_in_doubt));
        if wrong.is_empty() {
            warnings.extend(address_warnings(&config));
            warnings.extend(config.unused.iter().cloned());
            warnings.extend(memory_warning(&config, &process_roles));
            warnings.extend(snapshot_warning(&config, &process_roles));
        }
    }
    let count = problems.len();
    if args.json {
        table::json(&ConfigReport { problems, warnings })?;
    } else {
        for problem in &problems {
            say!("{problem}")?;
        }
        for warning in &warnings {
            say!("{warning}")?;
        }
    }
    match count {
        0 => note!("{} settings are valid", settings.len()),
        1 => bail!("1 problem prevents the service from starting"),
        count => bail!("{count} problems prevent the service from starting"),
    }
    Ok(())
}

fn show(args: &ConfigShowArgs, sources: Sources) -> anyhow::Result<()> {
    let Inspection { settings, problems, warnings, .. } = Config::inspect(sources);
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem.into());
    }
    for warning in warnings {
        note!("chatkeep: {warning}");
    }
    if args.json {
        return settings.iter().try_for_each(table::json);
    }
    let row = |EffectiveSetting { key, value, origin }: &EffectiveSetting| {
        vec![key.clone(), shown(value), origin.clone()]
    };
    let rows: Vec<_> = settings.iter().map(row).collect();
    table::print(&["SETTING", "VALUE", "ORIGIN"], &rows)
}

/// Formats a value as a settings file has it.
fn shown(value: &SettingValue) -> String {
    match value {
        SettingValue::Text(text) => format!("{text:?}"),
        SettingValue::Number(number) => number.to_string(),
        SettingValue::Decimal(number) => number.to_string(),
        SettingValue::Switch(on) => on.to_string(),
        SettingValue::Secret => "(secret)".to_owned(),
    }
}
