//! The command line.

mod bus;
mod channel;
mod config;
mod context;
mod dead;
mod doctor;
mod export;
mod health;
mod import;
mod key;
mod line;
mod manual;
mod mcp;
mod migrate;
mod model;
mod progress;
mod qa;
mod reindex;
mod search;
mod serve;
mod signals;
mod snapshot;
mod status;
mod table;
mod user;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::BusError;
use chatkeep_core::causes::with_causes;
use chatkeep_core::clock::CorrectedClock;
use chatkeep_core::config::{Config, ConfigError, Override, Sources, UsualFiles};
use chatkeep_core::time::{SharedClock, SystemClock};
use chatkeep_store::StoreError;
use chatkeep_transfer::out::{READER_GONE, is_reader_gone, note, say};
use clap::{Parser, Subcommand};

pub(crate) use signals::on_signal;

use crate::app::PreflightError;
use crate::private::restrict_umask;
use context::{Context, CreatingContext};

/// Exit code of a wrong setting or argument, and of data that this version cannot read.
const USAGE: u8 = 2;
/// Heading in `--help` of the options that every command has.
const SETTINGS: &str = "Settings (every command)";
/// Time for the service's blocking work to end after everything else.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Backs up chat groups, makes them searchable, and replies by rules.
#[derive(Debug, Parser)]
#[command(name = "chatkeep", version)]
struct Cli {
    /// Settings file [default: ./chatkeep.toml, else /etc/chatkeep/chatkeep.toml, where it exists].
    #[arg(long, global = true, value_name = "FILE", help_heading = SETTINGS)]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Command,
}

/// Settings that have a flag; flags take precedence over all other sources.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = SETTINGS)]
struct Settings {
    /// Address to listen on [default: 127.0.0.1:8080].
    #[arg(long, global = true, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Data folder [default: ./data].
    #[arg(long, global = true, value_name = "FOLDER")]
    data: Option<String>,
    /// Database: `sqlite` (in the data folder) or `postgres://…`.
    #[arg(long, global = true, value_name = "DATABASE")]
    database: Option<String>,
    /// Bus: `embedded` or `nats://host[,host…]`.
    #[arg(long, global = true, value_name = "BUS")]
    bus: Option<String>,
    /// Media store: a folder, or `s3://bucket/prefix`.
    #[arg(long, global = true, value_name = "BLOBS")]
    blobs: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the service.
    Serve(serve::ServeArgs),
    /// Runs everything in one process with an emulated LINE and sample groups, to try it out.
    ///
    /// It reads no settings in /etc, and keeps its data in the folder `demo` of the data folder
    /// (./data/demo).
    Demo(crate::demo::DemoArgs),
    /// Migrates the database's schema to this version and exits.
    Migrate(migrate::MigrateArgs),
    /// Prints the API's OpenAPI document.
    Openapi,
    /// Manages users and their plans.
    #[command(subcommand)]
    User(user::UserCommand),
    /// Manages channels and their bots.
    #[command(subcommand)]
    Channel(channel::ChannelCommand),
    /// Manages API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Exports a channel's messages, with media.
    Export(export::ExportArgs),
    /// Imports messages from an export or from the LINE app's own; lists and undoes imports.
    Import(import::ImportArgs),
    /// Shows what runs, waits, fails and expires: processes, stages, dead letters, disks, media,
    /// webhooks, certificate and tokens.
    Status(status::StatusArgs),
    /// Checks that the service on this machine runs; the exit code is 0 if it does.
    Health(health::HealthArgs),
    /// Searches messages.
    Search(search::SearchArgs),
    /// Rebuilds the search index from the store, in every process that has a replica of it.
    Reindex(reindex::ReindexArgs),
    /// Verifies counters, files and the search index against the store, with or without the service
    /// running.
    Doctor(doctor::DoctorArgs),
    /// Makes, lists, checks and restores snapshots of everything that is stored.
    Snapshot(snapshot::SnapshotArgs),
    /// Tests question-and-answer rules.
    #[command(subcommand)]
    Qa(qa::QaCommand),
    /// Manages the model for semantic replies.
    #[command(subcommand)]
    Model(model::ModelCommand),
    /// Manages the durable consumers of the bus.
    #[command(subcommand)]
    Bus(bus::BusCommand),
    /// Manages dead letters: events that no stage could handle.
    #[command(subcommand)]
    Dead(dead::DeadCommand),
    /// Checks the set-up of the bots at LINE.
    #[command(subcommand)]
    Line(line::LineCommand),
    /// Sets up MCP clients, and connects those that support only stdio.
    #[command(subcommand)]
    Mcp(mcp::McpCommand),
    /// Checks and shows the settings.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Prints completions for a shell.
    Completions(manual::CompletionsArgs),
    /// Prints the manual page, or writes those of all commands into a folder.
    Man(manual::ManArgs),
}

impl Settings {
    /// Returns key, value and flag of each setting that is given.
    fn overrides(&self) -> Vec<Override> {
        let given = [
            ("listen", &self.listen),
            ("data", &self.data),
            ("database", &self.database),
            ("bus", &self.bus),
            ("blobs", &self.blobs),
        ];
        given
            .into_iter()
            .filter_map(|(key, value)| {
                let value = value.clone()?;
                Some(Override { key: key.to_owned(), value, flag: format!("--{key}") })
            })
            .collect()
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if is_reader_gone(&error) {
                return ExitCode::from(READER_GONE);
            }
            note!("chatkeep: {}", with_causes(error.as_ref()));
            let usage = error.downcast_ref::<ConfigError>().is_some()
                || error.downcast_ref::<doctor::NotChecked>().is_some()
                || error.downcast_ref::<line::NotAnswered>().is_some()
                || is_wrong(&error);
            if error.downcast_ref::<import::Unimported>().is_some() {
                return ExitCode::from(import::Unimported::CODE);
            }
            if error.downcast_ref::<export::MissingFiles>().is_some() {
                return ExitCode::from(export::MissingFiles::CODE);
            }
            if error.downcast_ref::<snapshot::FilesLeftOut>().is_some() {
                return ExitCode::from(snapshot::FilesLeftOut::CODE);
            }
            if usage { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
        }
    }
}

/// Returns true for an error of the settings, or of data that this program cannot work with: with
/// these it never ends otherwise.
fn is_wrong(error: &anyhow::Error) -> bool {
    error.is::<PreflightError>() || error.chain().any(is_lasting)
}

/// Returns true for an error of the store or the bus that this program meets with these settings each
/// time, so that a service need not be started again: the data of a later version, or an address that
/// is none.
fn is_lasting(error: &(dyn std::error::Error + 'static)) -> bool {
    use StoreError::{BadUrl, Newer, UnknownOption};
    matches!(error.downcast_ref(), Some(Newer { .. } | BadUrl | UnknownOption(_)))
        || matches!(error.downcast_ref(), Some(BusError::Config(_)))
}

fn run(cli: Cli) -> anyhow::Result<()> {
    // Exports and manual pages are the caller's own files, everything else is the service's.
    if !matches!(cli.command, Command::Export(_) | Command::Man(_)) {
        restrict_umask();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let serves = matches!(cli.command, Command::Serve(_) | Command::Demo(_));
    let done = run_on(&runtime, cli);
    if serves {
        // Blocking work cannot be aborted. The service had its time for shutdown.
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    }
    done
}

fn run_on(runtime: &tokio::runtime::Runtime, cli: Cli) -> anyhow::Result<()> {
    let overrides = cli.settings.overrides();
    // The demo has data of its own, never those of the service on this machine.
    let is_demo = matches!(cli.command, Command::Demo(_));
    let usual = if is_demo { UsualFiles::Folder } else { UsualFiles::FolderAndSystem };
    let sources = move || Sources::from_process(cli.config.clone(), overrides.clone(), usual);
    match cli.command {
        Command::Demo(args) => runtime.block_on(crate::demo::run(args, sources()?)),
        Command::Config(command) => config::run(&command, sources()?),
        // Of a process that runs on, while somebody edits its settings or replaces its secrets.
        Command::Health(args) => {
            let listen = health::listen(&Config::inspect(sources()?))?;
            runtime.block_on(health::run(listen, &args))
        }
        Command::Mcp(command) => runtime.block_on(mcp::run(command)),
        Command::Openapi => openapi(),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
        command => run_with(runtime, command, move || Config::load(sources()?)),
    }
}

/// Runs a command that works with valid settings, which `read` reads anew.
fn run_with(
    runtime: &tokio::runtime::Runtime,
    command: Command,
    read: impl Fn() -> Result<Config, ConfigError> + Send + 'static,
) -> anyhow::Result<()> {
    let config = read()?;
    // The service writes them to its log.
    if !matches!(command, Command::Serve(_)) {
        for warning in &config.warnings {
            note!("chatkeep: {warning}");
        }
    }
    let clock: SharedClock = match command {
        Command::Serve(_) => Arc::new(CorrectedClock::new(Arc::new(SystemClock))),
        _ => Arc::new(SystemClock),
    };
    let creator = CreatingContext(Context::new(config, clock));
    runtime.block_on(async move {
        let command = match command {
            Command::Serve(args) => return Box::pin(serve::run(creator, &args, read)).await,
            Command::Migrate(args) => return migrate::run(&creator, &args).await,
            Command::User(command) => return user::run(&creator, command).await,
            Command::Import(args) => return Box::pin(import::run(&creator, &args)).await,
            command => command,
        };
        // From here on, existing data only.
        let CreatingContext(context) = creator;
        match command {
            Command::Channel(command) => channel::run(&context, command).await,
            Command::Key(command) => key::run(&context, command).await,
            Command::Export(args) => export::run(&context, &args).await,
            Command::Status(args) => status::run(&context, &args).await,
            Command::Bus(command) => bus::run(&context, command).await,
            Command::Search(args) => search::run(&context, &args).await,
            Command::Reindex(args) => Box::pin(reindex::run(&context, &args)).await,
            Command::Doctor(args) => Box::pin(doctor::run(&context, &args)).await,
            Command::Snapshot(args) => Box::pin(snapshot::run(&context, args)).await,
            Command::Qa(command) => qa::run(&context, command).await,
            Command::Model(command) => model::run(&context, command).await,
            Command::Dead(command) => dead::run(&context, command).await,
            Command::Line(command) => line::run(&context, command).await,
            // Handled above.
            Command::Serve(_)
            | Command::Demo(_)
            | Command::Health(_)
            | Command::Migrate(_)
            | Command::User(_)
            | Command::Import(_)
            | Command::Config(_)
            | Command::Mcp(_)
            | Command::Openapi
            | Command::Completions(_)
            | Command::Man(_) => Ok(()),
        }
    })
}

fn openapi() -> anyhow::Result<()> {
    Ok(say!("{}", chatkeep_api::openapi().to_pretty_json()?)?)
}

#[cfg(test)]
mod tests;
