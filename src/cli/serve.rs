//! `chatkeep serve`.

use std::collections::BTreeSet;
use std::convert;

use anyhow::Context as _;
use chatkeep_core::telemetry;
use chatkeep_workers::StageName;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Context;
use crate::app::{App, Duties, Role, Unfit};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The roles of this process: ingress, api, worker, search [default: all].
    #[arg(long, value_delimiter = ',', value_name = "ROLES")]
    roles: Vec<String>,
    /// The stages of its worker role: backup, members, assistant, media [default: all].
    #[arg(long, value_delimiter = ',', value_name = "STAGES")]
    stages: Vec<String>,
}

pub(super) async fn run(context: Context, args: &Args) -> anyhow::Result<()> {
    let Context { config, clock } = context;
    telemetry::init(&config.log)?;
    for warning in &config.warnings {
        warn!("{warning}");
    }
    let duties = args.duties()?;
    let address = config.listen;
    let app = Box::pin(App::open(config, duties, clock)).await?;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address} (CHATKEEP_LISTEN)"))?;
    app.run(listener, convert::identity, on_signal()?).await
}

impl Args {
    fn duties(&self) -> Result<Duties, Unfit> {
        let all = Duties::default();
        Ok(Duties {
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
                "backup, members, assistant, media (the indexer is the role search now)",
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
) -> Result<BTreeSet<T>, Unfit> {
    if given.is_empty() {
        return Ok(all);
    }
    given
        .iter()
        .map(|name| {
            let unknown = || Unfit(format!("{flag}: there is no {name:?}; allowed: {allowed}"));
            parse(name.trim()).ok_or_else(unknown)
        })
        .collect()
}

/// A token that SIGTERM or Ctrl-C cancels; the second one ends the process at once.
///
/// # Errors
/// When the signals cannot be watched.
pub(crate) fn on_signal() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            if told.is_cancelled() {
                warn!("told twice: stopping at once");
                std::process::exit(130);
            }
            info!("stopping: finishing what is under way");
            told.cancel();
        }
    });
    Ok(stop)
}
