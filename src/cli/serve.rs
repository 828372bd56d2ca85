//! `chatkeep serve`.

use std::collections::BTreeSet;
use std::convert;

use anyhow::Context as _;
use chatkeep_core::config::Config;
use chatkeep_core::{panics, telemetry};
use chatkeep_workers::StageName;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Context, CreatingContext};
use crate::app::{App, PreflightError, ProcessRoles, Role};

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// Roles of this process: ingress, api, worker, search [default: all].
    #[arg(long, value_delimiter = ',', value_name = "ROLES")]
    roles: Vec<String>,
    /// Stages of its worker role: backup, members, assistant, media (which includes
    /// `external_media`) [default: all].
    #[arg(long, value_delimiter = ',', value_name = "STAGES")]
    stages: Vec<String>,
}

pub(super) async fn run(creator: CreatingContext, args: &ServeArgs) -> anyhow::Result<()> {
    let CreatingContext(Context { config, clock, .. }) = creator;
    telemetry::init(&config.log)?;
    log_settings(&config);
    for warning in &config.warnings {
        warn!("{warning}");
    }
    let process_roles = args.process_roles()?;
    let address = config.listen;
    let app = Box::pin(App::open(config, process_roles, clock)).await?;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address} (CHATKEEP_LISTEN)"))?;
    Box::pin(app.run(listener, convert::identity, on_signal()?)).await
}

/// Logs the settings that decide which data is served, and on which address.
fn log_settings(config: &Config) {
    let metrics = config.metrics.listen.map(|address| address.to_string());
    info!(
        version = env!("CARGO_PKG_VERSION"),
        settings = config.file.as_deref().unwrap_or("none"),
        data = %config.data.display(),
        database = %config.database,
        bus = %config.bus,
        media = %config.blobs,
        listen = %config.listen,
        metrics = metrics.as_deref().unwrap_or("none"),
        base_url = config.api.base_url.as_deref().unwrap_or("not set"),
        time_zone = config.time_zone.name(),
        "chatkeep starts"
    );
}

impl ServeArgs {
    fn process_roles(&self) -> Result<ProcessRoles, PreflightError> {
        let all = ProcessRoles::default();
        Ok(ProcessRoles {
            roles: chosen(
                "--roles",
                &self.roles,
                all.roles,
                Role::parse,
                "ingress, api, worker, search",
            )?,
            stages: chosen(
                "--stages",
                &self.stages,
                all.stages,
                StageName::parse,
                "backup, members, assistant, media (external_media runs with media, and the indexer \
                 is the role search)",
            )?,
        })
    }
}

fn chosen<T: Ord>(
    flag: &str,
    given: &[String],
    all: BTreeSet<T>,
    parse: fn(&str) -> Option<T>,
    allowed: &str,
) -> Result<BTreeSet<T>, PreflightError> {
    if given.is_empty() {
        return Ok(all);
    }
    given
        .iter()
        .map(|name| {
            let unknown =
                || PreflightError(format!("{flag}: unknown value {name:?}; allowed: {allowed}"));
            parse(name.trim()).ok_or_else(unknown)
        })
        .collect()
}

/// Returns a token that SIGTERM, Ctrl-C or the end of the terminal (SIGHUP) cancels; a second
/// SIGTERM or Ctrl-C ends the process at once.
///
/// # Errors
/// Returns an error if the signals cannot be watched.
pub(crate) fn on_signal() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // A process started by nohup outlives its terminal.
    let mut hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
    let stop = CancellationToken::new();
    let told = stop.clone();
    panics::spawn("signals", async move {
        loop {
            let hung_up = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let name = tokio::select! {
                _ = term.recv() => "SIGTERM",
                _ = int.recv() => "SIGINT",
                _ = hung_up => "SIGHUP",
            };
            if !told.is_cancelled() {
                info!(signal = name, "stopping: draining");
                told.cancel();
            } else if name != "SIGHUP" {
                // A terminal that goes away sends its signal more than once.
                warn!("second signal: stopping at once");
                std::process::exit(130);
            }
        }
    });
    Ok(stop)
}

/// Returns whether the process was started so that it outlives its terminal.
fn ignores_hangup() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & HANGUP != 0)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Serve {
        #[command(flatten)]
        args: ServeArgs,
    }

    #[test]
    fn help_and_errors_name_every_role_and_stage() {
        let serve = Serve::command();
        let help = |flag: &str| {
            let arg = serve.get_arguments().find(|arg| arg.get_id() == flag).unwrap();
            arg.get_help().unwrap().to_string()
        };
        let args = |roles: &[&str], stages: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            ServeArgs { roles: owned(roles), stages: owned(stages) }
                .process_roles()
                .unwrap_err()
                .to_string()
        };
        for role in Role::ALL {
            assert!(help("roles").contains(role.name()), "{role:?}");
            assert!(args(&["cook"], &[]).contains(role.name()), "{role:?}");
        }
        for stage in StageName::ALL {
            assert!(help("stages").contains(stage.name()), "{stage}");
            assert!(args(&[], &["indexer"]).contains(stage.name()), "{stage}");
        }
    }
}
