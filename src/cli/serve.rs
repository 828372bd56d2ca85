//! `chatkeep serve`.

use std::collections::BTreeSet;
use std::convert;
use std::sync::Arc;

use anyhow::Context as _;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::{Config, ConfigError};
use chatkeep_core::time::SharedClock;
use chatkeep_core::{panics, telemetry};
use chatkeep_workers::StageName;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tracing::{error, info, warn};

use super::signals::on_signal_or_reload;
use super::{Context, CreatingContext};
use crate::app::{App, LiveSecrets, PreflightError, ProcessRole, ProcessRoles};

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    roles: RolesArgs,
}

/// Roles and stages of a process.
#[derive(Debug, clap::Args)]
pub(super) struct RolesArgs {
    /// Roles of this process: ingress, api, worker, search [default: all].
    #[arg(long, value_delimiter = ',', value_name = "ROLES")]
    roles: Vec<String>,
    /// Stages of its worker role: backup, members, assistant, media (which includes
    /// `external_media`) [default: all].
    #[arg(long, value_delimiter = ',', value_name = "STAGES")]
    stages: Vec<String>,
}

/// Runs the service; `read` reads its settings again.
pub(super) async fn run(
    creator: CreatingContext,
    args: &ServeArgs,
    read: impl Fn() -> Result<Config, ConfigError> + Send + 'static,
) -> anyhow::Result<()> {
    let CreatingContext(Context { config, clock, .. }) = creator;
    let telemetry = telemetry::init(&config.log, &config.telemetry)?;
    let served = served(config, clock, args, read).await;
    telemetry.finish().await;
    served
}

async fn served(
    config: Config,
    clock: SharedClock,
    args: &ServeArgs,
    read: impl Fn() -> Result<Config, ConfigError> + Send + 'static,
) -> anyhow::Result<()> {
    // Before the start, which may take minutes: a signal without a handler would end the process.
    let reload = Arc::new(Notify::new());
    let stop = on_signal_or_reload(Arc::clone(&reload))?;
    log_settings(&config);
    for warning in &config.warnings {
        warn!("{warning}");
    }
    let process_roles = args.roles.process_roles()?;
    let address = config.listen;
    let app = Box::pin(App::open(config, process_roles, clock));
    let Some(app) = stop.run_until_cancelled(app).await.transpose()? else {
        info!("stopped before the start was complete");
        return Ok(());
    };
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address} (CHATKEEP_LISTEN)"))?;
    panics::spawn("reload", read_again(app.secrets().clone(), reload, read));
    Box::pin(app.run(listener, convert::identity, stop)).await
}

/// Reads the settings again whenever `reload` is notified, and replaces the secrets that differ.
/// The present ones stay where they cannot be read.
async fn read_again(
    secrets: LiveSecrets,
    reload: Arc<Notify>,
    read: impl Fn() -> Result<Config, ConfigError> + Send,
) {
    loop {
        reload.notified().await;
        match read() {
            Ok(config) => secrets.replace(&config),
            Err(error) => {
                let error = with_causes(&error);
                error!(error, "settings cannot be read again; the present secrets stay in use");
            }
        }
    }
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

impl RolesArgs {
    /// Returns what the process runs: all roles and stages, or those that are given.
    ///
    /// # Errors
    /// Returns an error that names a value which is none.
    pub(super) fn process_roles(&self) -> Result<ProcessRoles, PreflightError> {
        let all = ProcessRoles::default();
        let roles = chosen(
            "--roles",
            &self.roles,
            all.roles,
            ProcessRole::parse,
            "ingress, api, worker, search",
        )?;
        if !self.stages.is_empty() && !roles.contains(&ProcessRole::Worker) {
            let why = "--stages chooses stages of the role worker, which --roles leaves out";
            return Err(PreflightError(why.to_owned()));
        }
        Ok(ProcessRoles {
            roles,
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
            RolesArgs { roles: owned(roles), stages: owned(stages) }
                .process_roles()
                .unwrap_err()
                .to_string()
        };
        assert!(args(&["api"], &["media"]).contains("--stages"));
        for role in ProcessRole::ALL {
            assert!(help("roles").contains(role.name()), "{role:?}");
            assert!(args(&["cook"], &[]).contains(role.name()), "{role:?}");
        }
        for stage in StageName::ALL {
            assert!(help("stages").contains(stage.name()), "{stage}");
            assert!(args(&[], &["indexer"]).contains(stage.name()), "{stage}");
        }
    }
}
