//! `chatkeep migrate`.

use anyhow::{Context as _, bail};
use chatkeep_transfer::out::{note, say};

use super::{CreatingContext, on_signal};

#[derive(Debug, clap::Args)]
pub(super) struct MigrateArgs {
    /// Only show which migrations would be applied; exit code 1 if there are any.
    #[arg(long)]
    check: bool,
}

pub(super) async fn run(creator: &CreatingContext, args: &MigrateArgs) -> anyhow::Result<()> {
    if args.check {
        return check(creator).await;
    }
    // Aborted in the middle, it removes its copies of what is stored.
    let migrated = on_signal()?.run_until_cancelled(Box::pin(creator.migrated_store())).await;
    migrated.context("interrupted before it was done: run it again")??.close().await;
    note!("the database's schema is up to date");
    Ok(())
}

/// Compares the schema with that of this version, without changing anything.
async fn check(creator: &CreatingContext) -> anyhow::Result<()> {
    let state = creator.0.schema_state().await?;
    let Some(found) = state.found else {
        bail!("there is no database yet; migrating creates it with schema {}", state.known);
    };
    for migration in &state.pending {
        let effect = if migration.changes_data { "changes data" } else { "adds to the schema" };
        say!("{:04} {}: {effect}", migration.version, migration.name)?;
    }
    match state.pending.len() {
        0 => note!("the database's schema is up to date ({found})"),
        count => bail!("schema {found} lacks {count} migrations to {}", state.known),
    }
    Ok(())
}
