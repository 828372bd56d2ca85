//! `chatkeep completions` and `chatkeep man`: what a shell and `man` read about the command line.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use chatkeep_transfer::out::{note, stdout};
use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;

use super::Cli;

#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    /// Shell whose completions are printed.
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// Folder for the manual pages of all commands; without it, the page of chatkeep itself is
    /// printed.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints the completions of a shell.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    Ok(stdout().write_all(&script)?)
}

/// Prints or writes manual pages.
///
/// # Errors
/// Returns an error if the folder or standard output cannot be written.
pub(super) fn man(args: &ManArgs) -> anyhow::Result<()> {
    let command = Cli::command();
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        return Ok(stdout().write_all(&page)?);
    };
    write(command, folder)
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
    note!("manual pages are in {}", folder.display());
    Ok(())
}

/// Writes a page for each command: `chatkeep.1`, `chatkeep-user.1`, `chatkeep-user-add.1`.
fn write(command: clap::Command, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    // A page about how to get help would be one for each command again.
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)
}
